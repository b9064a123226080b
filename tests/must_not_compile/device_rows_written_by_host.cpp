/// A writing over memory that the host can't touch answers addresses, but no spans.
// REASON: host_accessible
#include "uform/arena.hpp"

/// A device's memory, as far as this needs it.
struct Device {
    static constexpr bool host_accessible = false;
    static constexpr uform::Residency residency = uform::Residency::vram;
    using Block = uform::HostBlock;
};

bool write(uform::Writing<Device> const &writing, uform::Place<float> place) {
#if defined(PASSING)
    return writing.data(place) != nullptr;
#else
    return writing.values(place).empty();
#endif
}
int main() {}
