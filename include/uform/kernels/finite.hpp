/// Finds out whether a block of floats holds numbers only.
#ifndef UFORM_KERNELS_FINITE_HPP
#define UFORM_KERNELS_FINITE_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "uform/config.hpp"

namespace uform {

/// Whether none of `count` floats is infinite or NaN.
///
/// Looks at the bits, so that it holds under -ffast-math too: an exponent of all ones overflows into the sign bit when
/// one is added to it. Any alignment. Memory  allocates nothing. Threads: any.
[[nodiscard]] UFORM_NEVER_INLINE inline bool all_finite(float const *values, std::size_t count) noexcept {
    constexpr std::size_t block = 64; // of fixed size, so that compilers vectorise it even at -O2
    constexpr std::uint32_t magnitude = 0x7fffffffu, one_exponent = 0x00800000u;
    std::uint32_t bits[block] = {}, overflows = 0;
    std::size_t i = 0;
    for (; i + block <= count; i += block) {
        std::memcpy(bits, values + i, sizeof bits);
        for (std::size_t lane = 0; lane < block; ++lane) overflows |= (bits[lane] & magnitude) + one_exponent;
    }
    for (; i < count; ++i) {
        std::memcpy(bits, values + i, sizeof(float));
        overflows |= (bits[0] & magnitude) + one_exponent;
    }
    return overflows >> 31 == 0;
}

} // namespace uform

#endif // UFORM_KERNELS_FINITE_HPP
