/// The scalars that rows are made of, the exact widening of the narrow floats, and the narrowing to them.
#ifndef UFORM_SCALAR_HPP
#define UFORM_SCALAR_HPP

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace uform {

/// What one element of a row is. Verbs write the first five; ids and a user's own verb use the others too.
enum class Scalar : std::uint8_t { f32, f16, bf16, i8, b1, u8, u32, u64 };

/// IEEE 754 binary16, as its bits.
struct F16 {
    std::uint16_t bits;
    bool operator==(F16 const &) const = default;
};
/// bfloat16, the upper half of a float, as its bits.
struct BF16 {
    std::uint16_t bits;
    bool operator==(BF16 const &) const = default;
};
/// Eight one-bit scalars, the first in the most significant bit.
struct B1x8 {
    std::uint8_t bits;
    bool operator==(B1x8 const &) const = default;
};

/// Bits of one scalar; 0 for a value that names none.
[[nodiscard]] constexpr std::size_t scalar_bits(Scalar scalar) noexcept {
    switch (scalar) {
    case Scalar::f32: return 32;
    case Scalar::f16: return 16;
    case Scalar::bf16: return 16;
    case Scalar::i8: return 8;
    case Scalar::b1: return 1;
    case Scalar::u8: return 8;
    case Scalar::u32: return 32;
    case Scalar::u64: return 64;
    }
    return 0;
}

/// The scalar's name, as it is spelt in the enumeration. Static storage.
[[nodiscard]] constexpr std::string_view scalar_name(Scalar scalar) noexcept {
    constexpr std::string_view names[] = {"f32", "f16", "bf16", "i8", "b1", "u8", "u32", "u64"};
    auto const index = static_cast<std::size_t>(scalar);
    return index < sizeof names / sizeof *names ? names[index] : std::string_view("unknown");
}

/// Stands in `scalar_of` for a type that no row is made of.
inline constexpr Scalar no_scalar = static_cast<Scalar>(255);

/// The scalar that a C++ type holds. May be specialised for a user's own type of the same bits.
template <class T> inline constexpr Scalar scalar_of = no_scalar;
template <> inline constexpr Scalar scalar_of<float> = Scalar::f32;
template <> inline constexpr Scalar scalar_of<F16> = Scalar::f16;
template <> inline constexpr Scalar scalar_of<BF16> = Scalar::bf16;
template <> inline constexpr Scalar scalar_of<std::int8_t> = Scalar::i8;
template <> inline constexpr Scalar scalar_of<B1x8> = Scalar::b1;
template <> inline constexpr Scalar scalar_of<std::uint8_t> = Scalar::u8;
template <> inline constexpr Scalar scalar_of<std::uint32_t> = Scalar::u32;
template <> inline constexpr Scalar scalar_of<std::uint64_t> = Scalar::u64;

/// A type that rows can be read as.
template <class T> concept RowScalar = scalar_of<T>
!= no_scalar;

/// Bytes of a row of `columns` scalars; one-bit scalars fill whole bytes.
[[nodiscard]] constexpr std::size_t row_bytes(Scalar scalar, std::size_t columns) noexcept {
    return scalar == Scalar::b1 ? columns / 8 + (columns % 8 != 0) : columns * (scalar_bits(scalar) / 8);
}

/// Widens exactly: every bfloat16 is a float.
[[nodiscard]] constexpr float widen(BF16 value) noexcept {
    return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

/// Widens exactly: every half, subnormal ones too, is a float. NaN keeps its payload.
[[nodiscard]] constexpr float widen(F16 value) noexcept {
    std::uint32_t const sign = static_cast<std::uint32_t>(value.bits & 0x8000u) << 16;
    std::uint32_t exponent = (value.bits >> 10) & 0x1fu;
    std::uint32_t fraction = value.bits & 0x3ffu;
    if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
    if (exponent == 0) {
        if (fraction == 0) return std::bit_cast<float>(sign);
        auto const shift =
            static_cast<std::uint32_t>(std::countl_zero(fraction)) - 21u; // the leading one goes to bit 10
        fraction = (fraction << shift) & 0x3ffu, exponent = 1u - shift;   // may wrap below 0, and back
    }
    return std::bit_cast<float>(sign | (exponent + 112u) << 23 | fraction << 13);
}

/// Narrows to the nearest bfloat16, of two to the even one; from 2^128 − 2^119 on to infinity. NaN stays a quiet NaN
/// with its sign and the upper bits of its payload. Has no branches, so that loops over it vectorise.
[[nodiscard]] constexpr BF16 narrow_to_bf16(float value) noexcept {
    std::uint32_t const bits = std::bit_cast<std::uint32_t>(value);
    std::uint32_t const rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16, quiet = bits >> 16 | 0x40u;
    bool const is_number = (bits & 0x7fffffffu) <= 0x7f800000u;
    return {static_cast<std::uint16_t>(is_number ? rounded : quiet)};
}

/// Narrows to the nearest half, of two to the even one; from 65520 on to infinity, subnormals as exactly as others. NaN
/// stays a quiet NaN with its sign and the upper bits of its payload. Has no branches, so that loops over it vectorise.
///
/// Needs  the processor's usual rounding, to nearest, where the half is subnormal.
[[nodiscard]] constexpr F16 narrow_to_f16(float value) noexcept {
    std::uint32_t const bits = std::bit_cast<std::uint32_t>(value);
    auto const magnitude = static_cast<std::int32_t>(bits & 0x7fffffffu); // of signed integers, which SSE2 compares
    std::int32_t const odd = magnitude >> 13 & 1;
    std::int32_t const normal = (magnitude - (112 << 23) + 0xfff + odd) >> 13; // the exponent's bias becomes 15
    // A float of [0.5, 1) counts in steps of 2^-24, as the subnormal halves do: the sum is rounded to one of them.
    float const sum = std::bit_cast<float>(magnitude) + 0.5f;
    std::int32_t const subnormal = std::bit_cast<std::int32_t>(sum) - (126 << 23);
    std::int32_t const quiet = 0x7e00 | (magnitude >> 13 & 0x3ff);
    auto const select = [](bool condition, std::int32_t yes, std::int32_t no) {
        std::int32_t const mask = -std::int32_t{condition}; // a ?: becomes a jump here in GCC 12
        return (yes & mask) | (no & ~mask);
    };
    std::int32_t half = select(magnitude < 113 << 23, subnormal, normal);
    half = select(magnitude >= 143 << 23, 0x7c00, half); // from 65536 on; what rounds up to it has carried already
    half = select(magnitude > 255 << 23, quiet, half);
    return {static_cast<std::uint16_t>(static_cast<std::uint32_t>(half) | (bits >> 16 & 0x8000u))};
}

} // namespace uform

#endif // UFORM_SCALAR_HPP
