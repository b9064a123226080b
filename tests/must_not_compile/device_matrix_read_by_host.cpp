/// Nor have they a matrix of spans for the host.
// REASON: host_accessible
#include "uform/arena.hpp"

/// A device's memory, as far as this needs it.
struct Device {
    static constexpr bool host_accessible = false;
    static constexpr uform::Residency residency = uform::Residency::vram;
    using Block = uform::HostBlock;
};
static_assert(uform::AnyResidency<Device>);

bool reads(uform::Rows<Device> const &rows) {
#if defined(PASSING)
    return rows.data() != nullptr;
#else
    return rows.matrix<float>().has_value();
#endif
}
int main() { return reads({}); }
