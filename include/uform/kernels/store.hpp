/// Writes rows of floats in the scalar that a caller asked for.
#ifndef UFORM_KERNELS_STORE_HPP
#define UFORM_KERNELS_STORE_HPP

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "uform/config.hpp"
#include "uform/kernels/length.hpp"
#include "uform/scalar.hpp"

#if UFORM_FAST_MATH
#error "uform's kernels need NaN and the order of sums: compile the unit that uses a model without -ffast-math"
#endif

namespace uform {

/// Writes `convert(value)`, a `Stored`, for each value, in blocks of fixed size, which compilers vectorise even at -O2.
template <class Stored, class Convert>
inline void store_each(float const *row, std::size_t columns, void *into, Convert const &convert) noexcept {
    constexpr std::size_t block = 64;
    float values[block] = {};
    Stored stored[block];
    auto *to = static_cast<std::byte *>(into);
    for (; columns >= block; columns -= block, row += block, to += sizeof stored) {
        std::memcpy(values, row, sizeof values);
        for (std::size_t i = 0; i < block; ++i) stored[i] = convert(values[i]);
        std::memcpy(to, stored, sizeof stored);
    }
    for (std::size_t i = 0; i < columns; ++i) stored[i] = convert(row[i]);
    std::memcpy(to, stored, columns * sizeof(Stored));
}

/// Writes 127 × the row of unit length, rounded to nearest, of two to the even; see `store_row`.
inline void store_i8(float const *row, std::size_t columns, void *into) noexcept {
    double const divisor = unit_divisor(row, columns);
    store_each<std::int8_t>(row, columns, into, [divisor](float value) noexcept {
        // No value is longer than its row: the quotient is at most 127 and a last bit, which rounds to 127.
        double const quotient = static_cast<double>(value) * 127 / divisor; // the product is exact
        constexpr double integers = 0x1.8p52; // doubles from 2^52 on are integers: adding it rounds
        // A quotient that is NaN gives 0: no float's payload reaches a double's low byte, nor does that of inf / inf.
        return static_cast<std::int8_t>(std::bit_cast<std::uint64_t>(quotient + integers));
    });
}

/// Writes a bit a value, eight to a byte; see `store_row`.
inline void store_b1(float const *row, std::size_t columns, void *into) noexcept {
    auto *const bytes = static_cast<std::uint8_t *>(into);
    auto const is_positive = [row](std::size_t i) noexcept {
        std::uint32_t bits;
        std::memcpy(&bits, row + i, sizeof bits);
        return std::uint32_t{bits - 1 < 0x7f800000u}; // from the smallest subnormal to infinity: no NaN and no zero
    };
    std::size_t const whole = columns / 8;
    for (std::size_t byte = 0; byte < whole; ++byte) {
        std::uint32_t bits = 0;
        for (std::size_t i = 0; i < 8; ++i) bits = bits << 1 | is_positive(byte * 8 + i);
        bytes[byte] = static_cast<std::uint8_t>(bits);
    }
    if (std::size_t const rest = columns % 8) {
        std::uint32_t bits = 0;
        for (std::size_t i = 0; i < rest; ++i) bits = bits << 1 | is_positive(whole * 8 + i);
        bytes[whole] = static_cast<std::uint8_t>(bits << (8 - rest));
    }
}

/// Writes one row of floats in a scalar.
///
/// f16 and bf16 are rounded to nearest, of two to the even one. i8 is 127 × the row of unit length, rounded to nearest,
/// of two to the even, from −127 to 127; a row of zeros gives zeros, and so does one with NaN or infinity.
/// b1 is `value > 0`, the first in the most significant bit, the rest of the last byte zeros.
///
/// Shapes  row   [columns]                     f32; may not overlap `into`
///         into  [row_bytes(scalar, columns)]  bytes of any alignment, overwritten; nothing past them is touched
/// Errors  none: `scalar` is one of f32, f16, bf16, i8 and b1; for others nothing is written.
/// Memory  allocates nothing; 512 bytes of stack. Threads: any, for distinct `into`.
/// Order   the squares of i8's length are added in double precision, as in `normalize`: the bits depend on the row
/// alone. Source  `numpy.packbits` for b1, whose order sentence-transformers and FAISS have too.
UFORM_NEVER_INLINE inline void store_row(Scalar scalar, float const *row, std::size_t columns, void *into) noexcept {
    if (columns == 0) return;
    switch (scalar) {
    case Scalar::f32: std::memcpy(into, row, columns * sizeof(float)); break;
    case Scalar::f16: store_each<F16>(row, columns, into, narrow_to_f16); break;
    case Scalar::bf16: store_each<BF16>(row, columns, into, narrow_to_bf16); break;
    case Scalar::i8: store_i8(row, columns, into); break;
    case Scalar::b1: store_b1(row, columns, into); break;
    case Scalar::u8:
    case Scalar::u32:
    case Scalar::u64: break;
    }
}

} // namespace uform

#endif // UFORM_KERNELS_STORE_HPP
