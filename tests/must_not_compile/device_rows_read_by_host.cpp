/// Rows of a residency that the host can't read have no host accessors; their address can be handed on.
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
    return rows.values<float>().has_value();
#endif
}
int main() { return reads({}); }
