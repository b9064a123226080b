/// Tests the narrowing of floats and the rows of every scalar against NumPy, PyTorch and the formats' definitions.
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "catch.hpp"
#include "golden.hpp"
#include "kernels_fixture.hpp"
#include "sha256.hpp"
#include "uform/kernels/pooling.hpp"
#include "uform/kernels/store.hpp"

using namespace uform;
using uform::test::random_floats;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

/// Bytes between two guards, at any distance from an alignment.
class GuardedBytes {
    static constexpr std::size_t guard = 64;
    std::vector<std::uint8_t> storage_;
    std::size_t begin_, size_;

  public:
    explicit GuardedBytes(std::size_t size, std::size_t shift = 0)
        : storage_(size + 2 * guard + shift, 0xa5), begin_(guard + shift), size_(size) {}
    std::uint8_t *data() { return storage_.data() + begin_; }
    std::size_t size() const { return size_; }
    template <class T> T at(std::size_t i) {
        T value;
        std::memcpy(&value, data() + i * sizeof value, sizeof value);
        return value;
    }
    bool intact() const {
        for (std::size_t i = 0; i < storage_.size(); ++i)
            if ((i < begin_ || i >= begin_ + size_) && storage_[i] != 0xa5) return false;
        return true;
    }
};

/// The numbers of a narrow format, of either sign, and what a float between two of them must become.
template <class Narrow, class Function> void check_neighbours(std::uint16_t largest, Function const &narrow) {
    std::uint32_t wrong = 0;
    for (std::uint32_t bits = 0; bits <= largest; ++bits) {
        float const low = widen(Narrow{static_cast<std::uint16_t>(bits)});
        auto const next = static_cast<std::uint16_t>(bits + 1); // infinity above the largest, of the next power's value
        double const high = bits < largest
                                ? static_cast<double>(widen(Narrow{next}))
                                : 2 * static_cast<double>(low) -
                                      static_cast<double>(widen(Narrow{static_cast<std::uint16_t>(bits - 1)}));
        double const middle = (static_cast<double>(low) + high) / 2;
        auto const tie = static_cast<float>(middle);
        REQUIRE(static_cast<double>(tie) == middle); // neither format is as fine as float
        std::uint16_t const below = static_cast<std::uint16_t>(bits), even = bits % 2 ? next : below;
        for (std::uint16_t const sign : {std::uint16_t{0}, std::uint16_t{0x8000}}) {
            auto const is = [&](float value, std::uint16_t expected) {
                wrong += narrow(sign ? -value : value).bits != static_cast<std::uint16_t>(expected | sign);
            };
            is(low, below);
            is(std::nextafter(tie, 0.0f), below);
            is(tie, even);
            is(std::nextafter(tie, infinity), next);
            if (bits) is(std::nextafter(low, 0.0f), below), is(std::nextafter(low, infinity), below);
        }
    }
    CHECK(wrong == 0);
}

/// Whether a row is stored as each value alone is, at any place, and touches nothing else.
template <class Narrow, class Function> void check_rows(Scalar scalar, Function const &narrow) {
    bool same = true;
    for (std::size_t columns = 0; columns < 200; ++columns)
        for (std::size_t const shift : {0u, 1u, 2u, 3u}) {
            auto row = random_floats(columns, columns % 3 ? 1.0f : 1e-6f, static_cast<std::uint32_t>(columns));
            if (columns > 3) row[1] = -0.0f, row[2] = infinity, row[3] = std::nanf("");
            GuardedBytes into(row_bytes(scalar, columns), shift);
            store_row(scalar, row.data(), columns, into.data());
            for (std::size_t i = 0; i < columns; ++i) same = same && into.at<Narrow>(i) == narrow(row[i]);
            same = same && into.intact();
        }
    CHECK(same);
}

} // namespace

TEST_CASE("every half and bfloat16 narrows to itself", "[kernels][store]") {
    std::uint32_t wrong = 0;
    for (std::uint32_t bits = 0; bits != 65536; ++bits) {
        F16 const half = {static_cast<std::uint16_t>(bits)};
        BF16 const brain = {static_cast<std::uint16_t>(bits)};
        // A NaN comes back quiet, which is the first bit of its payload.
        bool const half_is_nan = (bits & 0x7fff) > 0x7c00, brain_is_nan = (bits & 0x7fff) > 0x7f80;
        wrong += narrow_to_f16(widen(half)).bits != (bits | (half_is_nan ? 0x200u : 0u));
        wrong += narrow_to_bf16(widen(brain)).bits != (bits | (brain_is_nan ? 0x40u : 0u));
    }
    CHECK(wrong == 0);
    STATIC_REQUIRE(narrow_to_f16(1.0f) == F16{0x3c00});
    STATIC_REQUIRE(narrow_to_f16(0x1p-24f) == F16{0x0001});
    STATIC_REQUIRE(narrow_to_bf16(-2.0f) == BF16{0xc000});
}

TEST_CASE("floats between two halves or bfloat16 go to the nearer, of two to the even", "[kernels][store]") {
    check_neighbours<F16>(0x7bff, narrow_to_f16); // 65504
    // Past the largest bfloat16 the tie is a float still, and the neighbour would be 2^128.
    check_neighbours<BF16>(0x7f7f, narrow_to_bf16);
}

TEST_CASE("what no half or bfloat16 can hold becomes infinity, zero or NaN", "[kernels][store]") {
    CHECK(narrow_to_f16(65519.996f) == F16{0x7bff});
    CHECK(narrow_to_f16(65520.0f) == F16{0x7c00});
    for (float const value : {65536.0f, 1e6f, 3.4e38f, infinity}) {
        CHECK(narrow_to_f16(value) == F16{0x7c00});
        CHECK(narrow_to_f16(-value) == F16{0xfc00});
    }
    CHECK(narrow_to_f16(0x1p-25f) == F16{0x0000}); // a tie between 0 and the smallest
    CHECK(narrow_to_f16(std::nextafter(0x1p-25f, 1.0f)) == F16{0x0001});
    CHECK(narrow_to_f16(-1e-45f) == F16{0x8000});
    CHECK(narrow_to_bf16(1e-45f) == BF16{0x0000});
    CHECK(narrow_to_bf16(std::numeric_limits<float>::max()) == BF16{0x7f80});
    CHECK(narrow_to_bf16(-infinity) == BF16{0xff80});
    for (std::uint32_t const bits : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xff800001u, 0x7fffffffu, 0xffa5a5a5u}) {
        INFO("bits " << bits);
        float const nan = std::bit_cast<float>(bits);
        CHECK(std::isnan(widen(narrow_to_f16(nan))));
        CHECK(std::isnan(widen(narrow_to_bf16(nan))));
        CHECK((bits_of(widen(narrow_to_f16(nan))) & 0x80400000u) == ((bits & 0x80000000u) | 0x400000u)); // quiet
        CHECK((bits_of(widen(narrow_to_bf16(nan))) & 0x80400000u) == ((bits & 0x80000000u) | 0x400000u));
    }
}

TEST_CASE("1.3 million floats narrow as in NumPy and PyTorch", "[kernels][store]") {
    Golden const golden(data_path("scalars/golden.safetensors"));
    auto const lower = golden.read<std::uint32_t>("lower");
    Sha256 digest;
    for (std::uint32_t upper = 0; upper != 65536; ++upper)
        for (std::uint32_t const bits : lower) {
            float const value = std::bit_cast<float>(upper << 16 | bits);
            if (value != value) continue;
            digest.take_u32(narrow_to_f16(value).bits | std::uint32_t{narrow_to_bf16(value).bits} << 16);
        }
    std::string expected;
    for (std::uint8_t const byte : golden.read<std::uint8_t>("narrowed"))
        for (int const digit : {byte >> 4, byte & 15}) expected += "0123456789abcdef"[digit];
    CHECK(digest.hex() == expected);
}

TEST_CASE("rows of f32, f16 and bf16 hold each value as it is alone", "[kernels][store]") {
    check_rows<F16>(Scalar::f16, narrow_to_f16);
    check_rows<BF16>(Scalar::bf16, narrow_to_bf16);
    for (std::size_t columns = 0; columns < 100; ++columns) {
        auto const row = random_floats(columns, 1, 3);
        GuardedBytes into(4 * columns, columns % 4);
        store_row(Scalar::f32, row.data(), columns, into.data());
        CHECK((columns == 0 || std::memcmp(into.data(), row.data(), 4 * columns) == 0));
        CHECK(into.intact());
    }
    float const row[] = {1, 2, 3};
    for (Scalar const scalar : {Scalar::u8, Scalar::u32, Scalar::u64, no_scalar}) { // no rows of these
        GuardedBytes into(0);
        store_row(scalar, row, 3, into.data());
        CHECK(into.intact());
    }
}

TEST_CASE("rows of i8 and b1 are NumPy's", "[kernels][store]") {
    Golden const golden(data_path("scalars/golden.safetensors"));
    auto const offsets = golden.read<std::uint32_t>("offsets");
    auto const rows = golden.read<float>("rows");
    auto const bytes = golden.read<std::int8_t>("i8");
    auto const bits = golden.read<std::uint8_t>("b1");
    std::size_t at = 0;
    for (std::size_t text = 0; text + 1 < offsets.size(); ++text) {
        std::size_t const columns = offsets[text + 1] - offsets[text];
        float const *const row = &rows[offsets[text]];
        INFO("row " << text << " of " << columns);
        GuardedBytes packed(row_bytes(Scalar::b1, columns), text % 3), into(columns, text % 3);
        store_row(Scalar::b1, row, columns, packed.data());
        CHECK(std::memcmp(packed.data(), &bits[at], packed.size()) == 0);
        CHECK(packed.intact());
        at += packed.size();
        store_row(Scalar::i8, row, columns, into.data());
        CHECK(into.intact());
        std::vector<std::int8_t> const zeros(columns); // what the last row becomes, which has NaN
        bool const is_last = text + 2 == offsets.size();
        CHECK(std::memcmp(into.data(), is_last ? zeros.data() : &bytes[offsets[text]], columns) == 0);
    }
    CHECK(at == bits.size());
}

TEST_CASE("an i8 row is that of the normalised row, and knows no NaN", "[kernels][store]") {
    std::size_t apart = 0, values = 0;
    for (std::size_t columns : {1u, 5u, 64u, 384u, 1000u}) {
        auto const row = random_floats(columns, 40, static_cast<std::uint32_t>(columns));
        auto unit = row;
        normalize(unit.data(), columns);
        GuardedBytes of_row(columns), of_unit(columns);
        store_row(Scalar::i8, row.data(), columns, of_row.data());
        store_row(Scalar::i8, unit.data(), columns, of_unit.data());
        for (std::size_t i = 0; i < columns; ++i, ++values) {
            apart += of_row.at<std::int8_t>(i) != of_unit.at<std::int8_t>(i);
            CHECK(of_row.at<std::int8_t>(i) == std::lrint(127 * static_cast<double>(unit[i])));
        }
    }
    CHECK(values == 1454);
    CHECK(apart == 0); // no value of these rows lies within a rounding of a tie
    for (float const bad : {infinity, -infinity, std::nanf("")})
        for (std::size_t const place : {0u, 3u, 70u}) {
            std::vector<float> row(71, 0.5f);
            row[place] = bad;
            GuardedBytes into(71);
            store_row(Scalar::i8, row.data(), 71, into.data());
            for (std::size_t i = 0; i < 71; ++i) CHECK(into.data()[i] == 0);
        }
}
