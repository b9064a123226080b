/// Scalars, the widening of every half and bfloat16 against their definition, and sets of outputs.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "catch.hpp"
#include "uform/outputs.hpp"
#include "uform/scalar.hpp"

using namespace uform;

namespace {

struct OwnHalf {
    std::uint16_t bits;
};

std::uint32_t bits_of(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

/// What IEEE 754 says that a binary format's bits are, computed in doubles, which hold all of them exactly.
/// `widened` is compared bit by bit, so that the signs of zeros count too.
bool is_value_of(float widened, std::uint32_t bits, int exponent_bits, int fraction_bits) {
    int const most = (1 << exponent_bits) - 1, bias = most / 2;
    auto const negative = bits >> (exponent_bits + fraction_bits) & 1u;
    int const exponent = static_cast<int>(bits >> fraction_bits) & most;
    auto const fraction = bits & ((1u << fraction_bits) - 1);
    std::uint32_t const got = bits_of(widened);
    if (exponent == most && fraction) // NaN: sign and payload stay
        return got == (negative << 31 | 0x7f800000u | fraction << (23 - fraction_bits));
    double magnitude = std::numeric_limits<double>::infinity();
    if (exponent == 0) magnitude = std::ldexp(double(fraction), 1 - bias - fraction_bits);
    else if (exponent != most)
        magnitude = std::ldexp(double(fraction | 1u << fraction_bits), exponent - bias - fraction_bits);
    return got == bits_of(static_cast<float>(negative ? -magnitude : magnitude));
}

} // namespace

template <> inline constexpr Scalar uform::scalar_of<OwnHalf> = Scalar::f16;

TEST_CASE("every half widens to its value", "[vocabulary]") {
    std::uint32_t wrong = 0;
    for (std::uint32_t bits = 0; bits != 65536; ++bits)
        wrong += !is_value_of(widen(F16{static_cast<std::uint16_t>(bits)}), bits, 5, 10);
    CHECK(wrong == 0);
    // The check itself, on values that anyone can look up.
    CHECK(is_value_of(1.0f, 0x3c00, 5, 10));
    CHECK(is_value_of(-65504.0f, 0xfbff, 5, 10));
    CHECK(is_value_of(0x1p-24f, 0x0001, 5, 10));
    CHECK_FALSE(is_value_of(0.0f, 0x8000, 5, 10));
    CHECK_FALSE(is_value_of(1.0f, 0x3c01, 5, 10));
    STATIC_REQUIRE(widen(F16{0x3c00}) == 1.0f);
    STATIC_REQUIRE(widen(F16{0xc000}) == -2.0f);
    STATIC_REQUIRE(widen(F16{0x0001}) == 0x1p-24f);
    STATIC_REQUIRE(widen(F16{0x03ff}) == 0x3ffp-24f);
}

TEST_CASE("every bfloat16 widens to its value", "[vocabulary]") {
    std::uint32_t wrong = 0;
    for (std::uint32_t bits = 0; bits != 65536; ++bits)
        wrong += !is_value_of(widen(BF16{static_cast<std::uint16_t>(bits)}), bits, 8, 7);
    CHECK(wrong == 0);
    CHECK(is_value_of(1.0f, 0x3f80, 8, 7));
    STATIC_REQUIRE(widen(BF16{0x3f80}) == 1.0f);
}

TEST_CASE("scalars have their widths, and their numbers are those of the C ABI", "[vocabulary]") {
    struct {
        Scalar scalar;
        std::size_t bits;
    } const all[] = {{Scalar::f32, 32}, {Scalar::f16, 16}, {Scalar::bf16, 16}, {Scalar::i8, 8},
                     {Scalar::b1, 1},   {Scalar::u8, 8},   {Scalar::u32, 32},  {Scalar::u64, 64}};
    std::uint8_t number = 0;
    for (auto const &[scalar, bits] : all) {
        CHECK(static_cast<std::uint8_t>(scalar) == number++);
        CHECK(scalar_bits(scalar) == bits);
        CHECK(row_bytes(scalar, 0) == 0);
        CHECK(row_bytes(scalar, 24) == 24 * bits / 8);
        CHECK(row_bytes(scalar, 1) == (bits + 7) / 8);
    }
    CHECK(scalar_bits(no_scalar) == 0);
    CHECK(row_bytes(Scalar::b1, 8) == 1);
    CHECK(row_bytes(Scalar::b1, 9) == 2);
    CHECK(row_bytes(Scalar::b1, 15) == 2);
    CHECK(row_bytes(Scalar::b1, 17) == 3);
}

TEST_CASE("types name their scalar, and a user's own type may", "[vocabulary]") {
    STATIC_REQUIRE(scalar_of<float> == Scalar::f32);
    STATIC_REQUIRE(scalar_of<F16> == Scalar::f16);
    STATIC_REQUIRE(scalar_of<BF16> == Scalar::bf16);
    STATIC_REQUIRE(scalar_of<std::int8_t> == Scalar::i8);
    STATIC_REQUIRE(scalar_of<B1x8> == Scalar::b1);
    STATIC_REQUIRE(scalar_of<std::uint8_t> == Scalar::u8);
    STATIC_REQUIRE(scalar_of<std::uint32_t> == Scalar::u32);
    STATIC_REQUIRE(scalar_of<std::uint64_t> == Scalar::u64);
    STATIC_REQUIRE(scalar_of<OwnHalf> == Scalar::f16);
    STATIC_REQUIRE(RowScalar<OwnHalf>);
    STATIC_REQUIRE_FALSE(RowScalar<double>);
    STATIC_REQUIRE_FALSE(RowScalar<int>);
    STATIC_REQUIRE_FALSE(RowScalar<bool>);
    STATIC_REQUIRE_FALSE(RowScalar<float const>);
    STATIC_REQUIRE(sizeof(F16) == 2);
    STATIC_REQUIRE(sizeof(BF16) == 2);
    STATIC_REQUIRE(sizeof(B1x8) == 1);
    CHECK(F16{1} == F16{1});
    CHECK_FALSE(BF16{1} == BF16{2});
    CHECK(B1x8{0x80} == B1x8{0x80});
}

TEST_CASE("outputs are a set of flags, and their numbers are those of the C ABI", "[vocabulary]") {
    CHECK(static_cast<std::uint32_t>(Outputs::embeddings) == 1);
    CHECK(static_cast<std::uint32_t>(Outputs::states) == 2);
    CHECK(static_cast<std::uint32_t>(Outputs::token_vectors) == 4);
    CHECK(static_cast<std::uint32_t>(Outputs::probabilities) == 8);
    CHECK(static_cast<std::uint32_t>(Outputs::sparse) == 16);
    constexpr Outputs two = Outputs::embeddings | Outputs::states;
    STATIC_REQUIRE(contains(two, Outputs::embeddings));
    STATIC_REQUIRE(contains(two, two));
    STATIC_REQUIRE_FALSE(contains(Outputs::embeddings, two));
    STATIC_REQUIRE_FALSE(contains(two, Outputs::sparse));
    STATIC_REQUIRE((two & Outputs::states) == Outputs::states);
    Outputs grows = Outputs::embeddings;
    grows |= Outputs::sparse;
    CHECK(static_cast<std::uint32_t>(grows) == 17);
    CHECK(outputs_name(Outputs::token_vectors) == "token_vectors");
    CHECK(outputs_name(two) == "none or several");
}
