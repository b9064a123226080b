/// The instruction sets that kernels are written for, and which of them this machine has.
#ifndef UFORM_KERNELS_INSTRUCTION_SET_HPP
#define UFORM_KERNELS_INSTRUCTION_SET_HPP

#include <cstdint>
#include <string_view>

#include "uform/config.hpp"

namespace uform {

/// What a kernel's code asks of the processor. On one machine and build, a set gives the same bits in every call.
enum class InstructionSet : std::uint8_t {
    portable, ///< plain C++, whatever the compiler was told to build for
    avx2,     ///< AVX2, FMA and F16C
    avx512,   ///< AVX-512 F, BW, VL and DQ: Skylake-X, Zen 4 and later
};

/// Every set, the narrowest first, for loops over them.
inline constexpr InstructionSet instruction_sets[] = {InstructionSet::portable, InstructionSet::avx2,
                                                      InstructionSet::avx512};

/// The set's name, as it is spelt in the enumeration. Static storage.
[[nodiscard]] constexpr std::string_view instruction_set_name(InstructionSet set) noexcept {
    switch (set) {
    case InstructionSet::portable: return "portable";
    case InstructionSet::avx2: return "avx2";
    case InstructionSet::avx512: return "avx512";
    }
    return "unknown";
}

/// Whether both the processor and the operating system, which must save the wide registers, have the set.
[[nodiscard]] inline bool supports(InstructionSet set) noexcept {
#if UFORM_X86
    __builtin_cpu_init(); // a static constructor may run before the compiler's own
    bool const avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    switch (set) {
    case InstructionSet::portable: return true;
    case InstructionSet::avx2: return avx2;
    case InstructionSet::avx512:
        return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
    }
    return false;
#else
    return set == InstructionSet::portable;
#endif
}

/// The fastest set that this machine has.
[[nodiscard]] inline InstructionSet best_instruction_set() noexcept {
    if (supports(InstructionSet::avx512)) return InstructionSet::avx512;
    if (supports(InstructionSet::avx2)) return InstructionSet::avx2;
    return InstructionSet::portable;
}

} // namespace uform

#endif // UFORM_KERNELS_INSTRUCTION_SET_HPP
