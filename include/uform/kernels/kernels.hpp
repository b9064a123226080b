/// Picks the table of kernels for an instruction set.
#ifndef UFORM_KERNELS_KERNELS_HPP
#define UFORM_KERNELS_KERNELS_HPP

#include "uform/config.hpp"
#include "uform/kernels/avx2.hpp"
#include "uform/kernels/avx512.hpp"
#include "uform/kernels/portable.hpp"
#include "uform/kernels/table.hpp"

namespace uform {

/// The kernels of `set`, which the machine must have (`supports`); portable ones where this build has none for it.
[[nodiscard]] inline Kernels const &kernels_for(InstructionSet set) noexcept {
    switch (set) {
#if UFORM_X86
    case InstructionSet::avx512: return avx512::kernels;
    case InstructionSet::avx2: return avx2::kernels;
#else
    case InstructionSet::avx512:
    case InstructionSet::avx2:
#endif
    case InstructionSet::portable: break;
    }
    return portable::kernels;
}

} // namespace uform

#endif // UFORM_KERNELS_KERNELS_HPP
