/// Tests what works on single rows: layer norm, pooling, unit length, activations, and the search for NaN.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "catch.hpp"
#include "kernels_fixture.hpp"
#include "uform/kernels/activation.hpp"
#include "uform/kernels/finite.hpp"
#include "uform/kernels/pooling.hpp"

using namespace uform;
using uform::test::for_each_set;
using uform::test::Guarded;
using uform::test::keep_worst;
using uform::test::random_floats;
using uform::test::same_bits;

TEST_CASE("layer norm equals double precision for any number of columns", "[kernels][layer_norm]") {
    for_each_set([](Kernels const &kernels) {
        for (std::size_t columns : {1u, 2u, 3u, 7u, 8u, 9u, 15u, 16u, 17u, 31u, 33u, 100u, 384u, 768u, 1023u})
            for (float offset : {0.0f, 100.0f}) {
                INFO("columns " << columns << ", offset " << offset);
                std::size_t const rows = 5;
                auto values = random_floats(rows * columns, 1, 3);
                for (float &value : values) value += offset;
                Guarded const in(values, 1), gain(random_floats(columns, 2, 4), 2),
                    bias(random_floats(columns, 1, 5), 3);
                Guarded out(rows * columns, 1);
                float const epsilon = 1e-5f;
                kernels.layer_norm(in.data(), rows, columns, gain.data(), bias.data(), epsilon, out.data());
                double worst = 0;
                for (std::size_t i = 0; i < rows; ++i) {
                    double mean = 0, variance = 0;
                    for (std::size_t j = 0; j < columns; ++j) mean += static_cast<double>(values[i * columns + j]);
                    mean /= static_cast<double>(columns);
                    for (std::size_t j = 0; j < columns; ++j)
                        variance += std::pow(static_cast<double>(values[i * columns + j]) - mean, 2);
                    double const scale = 1 / std::sqrt(variance / static_cast<double>(columns) + 1e-5);
                    for (std::size_t j = 0; j < columns; ++j) {
                        double const exact = (static_cast<double>(values[i * columns + j]) - mean) * scale *
                                                 static_cast<double>(gain.data()[j]) +
                                             static_cast<double>(bias.data()[j]);
                        keep_worst(worst, std::fabs(exact - static_cast<double>(out[i * columns + j])));
                    }
                }
                CHECK(worst < (offset > 0 ? 2e-4 : 3e-6) * (columns < 4 && offset > 0 ? 50 : 1));
                CHECK(out.intact());
                for (std::size_t i = 0; i < rows; ++i) { // each row alone, in place, elsewhere: the same bits
                    Guarded row(std::vector<float>(values.begin() + static_cast<std::ptrdiff_t>(i * columns),
                                                   values.begin() + static_cast<std::ptrdiff_t>((i + 1) * columns)),
                                i);
                    kernels.layer_norm(row.data(), 1, columns, gain.data(), bias.data(), epsilon, row.data());
                    CHECK(same_bits(row.data(), out.data() + i * columns, columns));
                    CHECK(row.intact());
                }
            }
        std::vector<float> const same(64, 3.0f), gain(64, 2.0f), bias(64, 0.5f);
        std::vector<float> out(64);
        kernels.layer_norm(same.data(), 1, 64, gain.data(), bias.data(), 1e-12f, out.data());
        for (float value : out) CHECK(value == 0.5f);
    });
}

TEST_CASE("rotation turns each pair of a head's columns", "[kernels][rotate]") {
    for_each_set([](Kernels const &kernels) {
        for (std::size_t half : {1u, 3u, 8u, 12u, 16u, 17u, 20u, 32u, 48u, 64u}) {
            INFO("half " << half);
            std::size_t const count = 3;
            auto const values = random_floats(count * 2 * half, 2, 9);
            std::vector<float> cos(half), sin(half);
            for (std::size_t i = 0; i < half; ++i) {
                cos[i] = static_cast<float>(std::cos(0.37 * static_cast<double>(i + 1)));
                sin[i] = static_cast<float>(std::sin(0.37 * static_cast<double>(i + 1)));
            }
            Guarded heads(values, 1), cosines(cos, 3), sines(sin, 2);
            kernels.rotate(heads.data(), count, half, cosines.data(), sines.data());
            double worst = 0;
            for (std::size_t head = 0; head < count; ++head)
                for (std::size_t i = 0; i < half; ++i) {
                    auto const x = static_cast<double>(values[head * 2 * half + i]),
                               y = static_cast<double>(values[head * 2 * half + half + i]);
                    auto const c = static_cast<double>(cos[i]), s = static_cast<double>(sin[i]);
                    keep_worst(worst, std::fabs(static_cast<double>(heads[head * 2 * half + i]) - (x * c - y * s)));
                    keep_worst(worst,
                               std::fabs(static_cast<double>(heads[head * 2 * half + half + i]) - (y * c + x * s)));
                }
            CHECK(worst < 5e-7);
            CHECK(heads.intact());
            for (std::size_t head = 0; head < count; ++head) { // a head alone and elsewhere: the same bits
                Guarded one(std::vector<float>(values.begin() + static_cast<std::ptrdiff_t>(head * 2 * half),
                                               values.begin() + static_cast<std::ptrdiff_t>((head + 1) * 2 * half)),
                            head + 2);
                kernels.rotate(one.data(), 1, half, cosines.data(), sines.data());
                CHECK(same_bits(one.data(), heads.data() + head * 2 * half, 2 * half));
            }
        }
    });
}

TEST_CASE("gates multiply element by element", "[kernels][gate]") {
    for_each_set([](Kernels const &kernels) {
        for (std::size_t count = 1; count < 70; ++count) {
            auto const values = random_floats(count, 3, 1), gates = random_floats(count, 2, 2);
            Guarded left(values, 1), right(gates, 2);
            kernels.gate(left.data(), right.data(), count);
            for (std::size_t i = 0; i < count; ++i) CHECK(left[i] == values[i] * gates[i]);
            CHECK(left.intact());
            CHECK(same_bits(right.data(), gates.data(), count));
        }
    });
}

TEST_CASE("pooling answers what its definition says", "[kernels][pooling]") {
    float const states[] = {1, 0, 3, 4, 5, 2}; // three tokens of two columns
    auto const pooled = [&](Pooling way, std::size_t tokens = 3) {
        std::vector<float> vector(2, -1.0f);
        pool(way, states, tokens, 2, vector.data());
        return vector;
    };
    CHECK(pooled(Pooling::cls) == std::vector{1.0f, 0.0f});
    CHECK(pooled(Pooling::max) == std::vector{5.0f, 4.0f});
    CHECK(pooled(Pooling::mean) == std::vector{3.0f, 2.0f});
    CHECK(pooled(Pooling::mean_sqrt_length) ==
          std::vector{static_cast<float>(9 / std::sqrt(3.0)), static_cast<float>(6 / std::sqrt(3.0))});
    CHECK(pooled(Pooling::weighted_mean) == std::vector{static_cast<float>(22.0 / 6), static_cast<float>(14.0 / 6)});
    CHECK(pooled(Pooling::last) == std::vector{5.0f, 2.0f});

    auto const after = [&](Pooling way, std::size_t skipped) {
        std::vector<float> vector(2, -1.0f);
        pool(way, states, 3, 2, vector.data(), skipped);
        return vector;
    };
    CHECK(after(Pooling::cls, 1) == std::vector{3.0f, 4.0f});
    CHECK(after(Pooling::max, 2) == std::vector{5.0f, 2.0f});
    CHECK(after(Pooling::mean, 1) == std::vector{4.0f, 3.0f});
    CHECK(after(Pooling::mean_sqrt_length, 1) ==
          std::vector{static_cast<float>(8 / std::sqrt(2.0)), static_cast<float>(6 / std::sqrt(2.0))});
    CHECK(after(Pooling::weighted_mean, 1) == std::vector{21.0f / 5, 14.0f / 5}); // weights 2 and 3
    CHECK(after(Pooling::last, 2) == std::vector{5.0f, 2.0f});
    CHECK(after(Pooling::cls, 3) == std::vector{1.0f, 0.0f}); // as the reference has it
    for (Pooling const way :
         {Pooling::max, Pooling::mean, Pooling::mean_sqrt_length, Pooling::weighted_mean, Pooling::last})
        CHECK(after(way, 4) == std::vector{0.0f, 0.0f});
    for (Pooling way :
         {Pooling::cls, Pooling::max, Pooling::mean, Pooling::mean_sqrt_length, Pooling::weighted_mean, Pooling::last})
        CHECK(pooled(way, 0) == std::vector{0.0f, 0.0f});

    Pooling const ways[] = {Pooling::mean, Pooling::cls, Pooling::max};
    std::vector<float> all(7, -1.0f);
    pool(ways, states, 3, 2, all.data());
    CHECK(all == std::vector{3.0f, 2.0f, 1.0f, 0.0f, 5.0f, 4.0f, -1.0f});
}

TEST_CASE("pooling of wide and long texts equals double precision", "[kernels][pooling]") {
    for (std::size_t hidden : {1u, 63u, 64u, 65u, 130u})
        for (std::size_t tokens : {1u, 2u, 511u}) {
            Guarded const states(random_floats(tokens * hidden, 3, 8), 1);
            for (Pooling way : {Pooling::mean, Pooling::weighted_mean, Pooling::max}) {
                Guarded vector(hidden, 2);
                pool(way, states.data(), tokens, hidden, vector.data());
                CHECK(vector.intact());
                for (std::size_t i = 0; i < hidden; ++i) {
                    double sum = 0, weights = 0, largest = -1e300;
                    for (std::size_t token = 0; token < tokens; ++token) {
                        double const state = static_cast<double>(states.data()[token * hidden + i]);
                        double const weight = way == Pooling::weighted_mean ? static_cast<double>(token + 1) : 1.0;
                        sum += weight * state, weights += weight, largest = std::fmax(largest, state);
                    }
                    double const exact = way == Pooling::max ? largest : sum / weights;
                    REQUIRE(std::fabs(exact - static_cast<double>(vector[i])) <= 1e-7 * std::fabs(exact) + 1e-9);
                }
            }
        }
    float const with_nan[] = {1, std::nanf(""), 2, 5, std::nanf(""), 3};
    float vector[2];
    pool(Pooling::max, with_nan, 3, 2, vector);
    CHECK(std::isnan(vector[0]));
    CHECK(std::isnan(vector[1]));
}

TEST_CASE("unit length: zeros stay zeros, the rest has length one", "[kernels][pooling]") {
    for (std::size_t count : {1u, 7u, 8u, 9u, 384u})
        for (float scale : {1.0f, 1e-10f, 1e30f, 3e-20f}) {
            INFO("count " << count << ", scale " << scale);
            Guarded vector(random_floats(count, scale, 6), 1);
            double before = 0, after = 0;
            for (std::size_t i = 0; i < count; ++i) before += std::pow(static_cast<double>(vector[i]), 2);
            normalize(vector.data(), count);
            for (std::size_t i = 0; i < count; ++i) after += std::pow(static_cast<double>(vector[i]), 2);
            double const length = std::sqrt(before);
            CHECK(std::sqrt(after) == Approx(length > 1e-12 ? 1 : length / 1e-12).epsilon(1e-6));
            CHECK(vector.intact());
        }
    std::vector<float> zeros(384, 0.0f);
    normalize(zeros.data(), zeros.size());
    for (float value : zeros) REQUIRE(value == 0.0f);
}

TEST_CASE("a NaN or an infinity is found at every place", "[kernels][finite]") {
    CHECK(all_finite(nullptr, 0));
    float const largest = std::numeric_limits<float>::max();
    for (std::size_t count = 1; count <= 70; ++count)
        for (std::size_t shift = 0; shift < 4; ++shift) {
            std::vector<float> values(count, -largest);
            values[count / 2] = std::numeric_limits<float>::denorm_min();
            Guarded block(values, shift); // its guards are NaN: reading past the ends would show
            REQUIRE(all_finite(block.data(), count));
            for (std::size_t bad = 0; bad < count; ++bad)
                for (std::uint32_t bits : {0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffffffffu, 0x7f800001u}) {
                    float const kept = block[bad];
                    std::memcpy(&block[bad], &bits, sizeof bits);
                    REQUIRE_FALSE(all_finite(block.data(), count));
                    block[bad] = kept;
                }
        }
    std::vector<float> long_block(1000, 1.0f);
    for (std::size_t bad = 0; bad < long_block.size(); ++bad) {
        long_block[bad] = -std::numeric_limits<float>::infinity();
        REQUIRE_FALSE(all_finite(long_block.data(), long_block.size()));
        long_block[bad] = 1.0f;
    }
}

TEST_CASE("activations equal double precision", "[kernels][activation]") {
    std::vector<float> inputs = {0.0f, -0.0f, 1e-30f, -1e-30f, 50.0f, -50.0f, 1000.0f, -1000.0f, 1e18f, -1e18f};
    for (int i = -20000; i <= 20000; ++i) inputs.push_back(static_cast<float>(i) * 1e-3f);
    struct Named {
        char const *name;
        HiddenActivation activation;
        double (*exact)(double);
    };
    for (Named const &named :
         {Named{"gelu", HiddenActivation::gelu, [](double x) { return x * 0.5 * std::erfc(-x / std::sqrt(2.0)); }},
          Named{"gelu_new", HiddenActivation::gelu_tanh,
                [](double x) {
                    return 0.5 * x *
                           (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
                }},
          Named{"relu", HiddenActivation::relu, [](double x) { return x < 0 ? 0 : x; }},
          Named{"silu", HiddenActivation::silu, [](double x) { return x / (1 + std::exp(-x)); }},
          Named{"tanh", HiddenActivation::tanh, [](double x) { return std::tanh(x); }}}) {
        INFO(named.name);
        auto values = inputs;
        activate(named.activation, values.data(), values.size());
        double worst = 0;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            double const x = static_cast<double>(inputs[i]);
            double const error = std::fabs(named.exact(x) - static_cast<double>(values[i]));
            if (!(error <= 0)) keep_worst(worst, error / (std::fabs(x) + 1e-37));
        }
        CHECK(worst < 1e-6);
        float nan = std::nanf("");
        activate(named.activation, &nan, 1);
        CHECK(std::isnan(nan));
    }
}

TEST_CASE("instruction sets have names, and the best one is supported", "[kernels]") {
    CHECK(instruction_set_name(InstructionSet::avx512) == "avx512");
    CHECK(instruction_set_name(InstructionSet::portable) == "portable");
    CHECK(supports(InstructionSet::portable));
    CHECK(supports(best_instruction_set()));
    for (InstructionSet set : instruction_sets)
        if (supports(set)) CHECK(set <= best_instruction_set());
}
