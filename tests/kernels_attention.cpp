/// Tests attention and softmax of every instruction set against double precision, and their bits.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <vector>

#include "catch.hpp"
#include "kernels_fixture.hpp"
#include "uform/kernels/attention.hpp"

using namespace uform;
using uform::test::for_each_set;
using uform::test::Guarded;
using uform::test::keep_worst;
using uform::test::random_floats;
using uform::test::same_bits;

namespace {

/// What is added to the scores of a head for a distance, how far a query sees, and how many first tokens are seen.
struct Sight {
    std::function<float(std::size_t head, std::ptrdiff_t distance)> bias = [](std::size_t, std::ptrdiff_t) {
        return 0.0f;
    };
    std::size_t window = SIZE_MAX;
    std::size_t attended = SIZE_MAX;
};

/// context [tokens, heads, head_size] of packed rows [tokens, 3, heads, head_size], a head at a time in doubles.
std::vector<double> exact_attention(std::vector<float> const &rows, std::size_t tokens, std::size_t heads,
                                    std::size_t size, std::size_t query_step, Sight const &sight = {}) {
    std::size_t const hidden = heads * size, stride = 3 * hidden;
    std::vector<double> context(tokens * hidden), weights(tokens);
    for (std::size_t head = 0; head < heads; ++head)
        for (std::size_t i = 0; i < tokens; i += query_step) {
            double largest = -1e300, sum = 0;
            for (std::size_t j = 0; j < tokens; ++j) {
                weights[j] = 0;
                for (std::size_t d = 0; d < size; ++d)
                    weights[j] += static_cast<double>(rows[i * stride + head * size + d]) *
                                  static_cast<double>(rows[j * stride + hidden + head * size + d]);
                auto const distance = static_cast<std::ptrdiff_t>(j) - static_cast<std::ptrdiff_t>(i);
                weights[j] += static_cast<double>(sight.bias(head, distance));
                if (static_cast<std::size_t>(std::abs(distance)) > sight.window || j >= sight.attended)
                    weights[j] = -HUGE_VAL;
                largest = std::fmax(largest, weights[j]);
            }
            if (largest < -1e299) continue; // sees nothing
            for (double &weight : weights) sum += weight = std::exp(weight - largest);
            for (std::size_t j = 0; j < tokens; ++j)
                for (std::size_t d = 0; d < size; ++d)
                    context[i * hidden + head * size + d] +=
                        weights[j] / sum * static_cast<double>(rows[j * stride + 2 * hidden + head * size + d]);
        }
    return context;
}

void check(Kernels const &kernels, std::size_t tokens, std::size_t heads, std::size_t size, float scale) {
    INFO("tokens " << tokens << ", heads " << heads << ", head size " << size << ", scale " << scale);
    std::size_t const hidden = heads * size, stride = 3 * hidden, step = tokens > 100 ? 37 : 1;
    auto const values = random_floats(tokens * stride, scale, static_cast<std::uint32_t>(tokens));
    Guarded rows(values, 1), context(tokens * hidden, 1);
    Guarded scratch(AttentionScratch(kernels, tokens, size).floats());
    AttentionRows call = {.tokens = tokens,
                          .heads = heads,
                          .head_size = size,
                          .queries = rows.data(),
                          .keys = rows.data() + hidden,
                          .values = rows.data() + 2 * hidden,
                          .stride = stride,
                          .context = context.data(),
                          .context_stride = hidden};
    attend(kernels, call, scratch.data());
    CHECK(same_bits(rows.data(), values.data(), values.size()));
    auto const exact = exact_attention(values, tokens, heads, size, step);
    double worst = 0;
    for (std::size_t i = 0; i < tokens; i += step)
        for (std::size_t d = 0; d < hidden; ++d)
            keep_worst(worst, std::fabs(exact[i * hidden + d] - static_cast<double>(context[i * hidden + d])));
    CHECK(worst < 4e-6 * static_cast<double>(scale) *
                      std::fmax(1, std::pow(static_cast<double>(scale), 2))); // scores round too
    CHECK(context.intact());
    CHECK(scratch.intact());

    call.context = rows.data(), call.context_stride = stride; // in place of the queries: the same bits
    attend(kernels, call, scratch.data());
    bool same = true;
    for (std::size_t i = 0; i < tokens; ++i) {
        same &= same_bits(rows.data() + i * stride, context.data() + i * hidden, hidden);
        same &= same_bits(rows.data() + i * stride + hidden, values.data() + i * stride + hidden, 2 * hidden);
    }
    CHECK(same);
    CHECK(rows.intact());
}

/// Attention with a bias by distance, a window, keys that nobody looks at, or all of them, its queries in place.
void check_sight(Kernels const &kernels, std::size_t tokens, Sight const &sight, bool biased) {
    INFO("tokens " << tokens << ", window " << sight.window << ", attended " << sight.attended << ", biased "
                   << biased);
    std::size_t const heads = 3, size = 24, hidden = heads * size, stride = 3 * hidden;
    auto const values = random_floats(tokens * stride, 1, static_cast<std::uint32_t>(tokens));
    std::size_t const reach = AttentionRows::reach(tokens), row = tokens + reach;
    Guarded table(heads * row); // of distances from 1 - tokens to reach
    for (std::size_t head = 0; head < heads; ++head)
        for (std::size_t at = 0; at < row; ++at)
            table[head * row + at] =
                sight.bias(head, static_cast<std::ptrdiff_t>(at) - static_cast<std::ptrdiff_t>(tokens - 1));
    Guarded rows(values), scratch(AttentionScratch(kernels, tokens, size).floats());
    attend(kernels,
           {.tokens = tokens,
            .heads = heads,
            .head_size = size,
            .queries = rows.data(),
            .keys = rows.data() + hidden,
            .values = rows.data() + 2 * hidden,
            .stride = stride,
            .context = rows.data(),
            .context_stride = stride,
            .distance_bias = biased ? table.data() + tokens - 1 : nullptr,
            .distance_stride = row,
            .window = sight.window,
            .attended = sight.attended},
           scratch.data());
    auto const exact = exact_attention(values, tokens, heads, size, 1, sight);
    double worst = 0;
    for (std::size_t i = 0; i < tokens; ++i)
        for (std::size_t d = 0; d < hidden; ++d)
            keep_worst(worst, std::fabs(exact[i * hidden + d] - static_cast<double>(rows[i * stride + d])));
    CHECK(worst < 4e-6);
    CHECK(rows.intact());
    CHECK(scratch.intact());
}

} // namespace

TEST_CASE("attention adds a bias by distance and looks no further than its window", "[kernels][attention]") {
    auto const bias = [](std::size_t head, std::ptrdiff_t distance) { // not the same to both sides
        return 0.02f * static_cast<float>(head + 1) * static_cast<float>(distance % 13) -
               0.01f * static_cast<float>(std::abs(distance));
    };
    for_each_set([&](Kernels const &kernels) {
        for (std::size_t tokens : {1u, 2u, 7u, 13u, 31u, 32u, 33u, 64u, 65u, 130u, 257u}) {
            check_sight(kernels, tokens, {.bias = bias}, true);
            for (std::size_t window : {0u, 1u, 2u, 7u, 8u, 15u, 16u, 31u, 32u, 33u, 64u, 100u, 256u, 257u}) {
                check_sight(kernels, tokens, {.window = window}, false);
                if (window % 8 == 0) check_sight(kernels, tokens, {.bias = bias, .window = window}, true);
            }
        }
    });
}

TEST_CASE("attention looks at the first tokens only, where it is told how many", "[kernels][attention]") {
    auto const bias = [](std::size_t head, std::ptrdiff_t distance) {
        return 0.03f * static_cast<float>(head + 1) * static_cast<float>(distance % 11);
    };
    for_each_set([&](Kernels const &kernels) {
        for (std::size_t tokens : {1u, 2u, 7u, 31u, 33u, 64u, 100u, 161u})
            for (std::size_t attended :
                 {0u, 1u, 2u, 5u, 8u, 15u, 16u, 17u, 32u, 40u, 63u, 64u, 99u, 100u, 161u, 162u}) {
                check_sight(kernels, tokens, {.attended = attended}, false);
                check_sight(kernels, tokens, {.bias = bias, .attended = attended}, true);
                for (std::size_t window : {0u, 1u, 8u, 20u, 64u, 161u}) // past it tokens see nothing: zeros
                    check_sight(kernels, tokens, {.window = window, .attended = attended}, false);
                check_sight(kernels, tokens, {.bias = bias, .window = 8, .attended = attended}, true);
            }
    });
}

TEST_CASE("tokens that are attended to have the bits of a text without the others", "[kernels][attention]") {
    for_each_set([](Kernels const &kernels) {
        std::size_t const tokens = 90, heads = 2, size = 24, hidden = heads * size, stride = 3 * hidden;
        auto const values = random_floats(tokens * stride, 1, 5);
        for (std::size_t attended : {1u, 7u, 32u, 33u, 64u, 90u, 91u}) {
            INFO("attended " << attended);
            std::size_t const kept = attended < tokens ? attended : tokens;
            Guarded rows(values), context(tokens * hidden), cut(kept * hidden);
            Guarded scratch(AttentionScratch(kernels, tokens, size).floats());
            AttentionRows call = {.tokens = tokens,
                                  .heads = heads,
                                  .head_size = size,
                                  .queries = rows.data(),
                                  .keys = rows.data() + hidden,
                                  .values = rows.data() + 2 * hidden,
                                  .stride = stride,
                                  .context = context.data(),
                                  .context_stride = hidden,
                                  .attended = attended};
            attend(kernels, call, scratch.data());
            call.tokens = kept, call.context = cut.data(), call.attended = SIZE_MAX;
            attend(kernels, call, scratch.data());
            CHECK(same_bits(context.data(), cut.data(), cut.size()));
            for (std::size_t token = kept; token < tokens; ++token) // a NaN there changes nothing
                for (std::size_t i = hidden; i < stride; ++i) rows[token * stride + i] = std::nanf("");
            Guarded again(tokens * hidden);
            call.tokens = tokens, call.context = again.data(), call.attended = attended;
            attend(kernels, call, scratch.data());
            CHECK(same_bits(context.data(), again.data(), again.size()));
            CHECK(context.intact());
            CHECK(scratch.intact());
        }
    });
}

TEST_CASE("attention equals double precision at every length", "[kernels][attention]") {
    for_each_set([](Kernels const &kernels) {
        for (std::size_t tokens = 1; tokens <= 70; ++tokens) check(kernels, tokens, 2, 32, 1.0f);
        for (std::size_t tokens : {511u, 512u, 513u}) check(kernels, tokens, 1, 64, 1.0f);
        for (std::size_t size : {1u, 3u, 8u, 16u, 20u, 24u, 40u, 48u, 64u, 72u, 96u, 128u, 250u, 256u})
            for (std::size_t tokens : {1u, 5u, 31u, 49u}) check(kernels, tokens, 3, size, 0.7f);
        check(kernels, 2111, 1, 32, 1.0f);
        check(kernels, 33, 2, 32, 3.0f); // scores far apart
        check(kernels, 33, 2, 32, 1e-20f);
    });
}

TEST_CASE("attention of 8,192 tokens has a bounded scratch and the right sums", "[kernels][attention]") {
    for_each_set([](Kernels const &kernels) {
        std::size_t const tokens = 8192, size = 32;
        std::vector<float> rows(tokens * 3 * size, 0.0f);
        for (std::size_t i = 0; i < tokens; ++i)
            for (std::size_t d = 0; d < size; ++d) rows[i * 3 * size + 2 * size + d] = static_cast<float>(i % 3);
        Guarded scratch(AttentionScratch(kernels, tokens, size).floats()), context(tokens * size);
        attend(kernels,
               {.tokens = tokens,
                .heads = 1,
                .head_size = size,
                .queries = rows.data(),
                .keys = rows.data() + size,
                .values = rows.data() + 2 * size,
                .stride = 3 * size,
                .context = context.data(),
                .context_stride = size},
               scratch.data());
        double const mean = (0.0 * 2731 + 1.0 * 2731 + 2.0 * 2730) / 8192; // equal scores: the mean of the values
        CHECK(static_cast<double>(context[0]) == Approx(mean).epsilon(1e-6));
        CHECK(static_cast<double>(context[tokens * size - 1]) == Approx(mean).epsilon(1e-6));
        CHECK(scratch.intact());
    });
}

TEST_CASE("softmax is accurate, goes to zero far down and tells NaN", "[kernels][softmax]") {
    for_each_set([](Kernels const &kernels) {
        std::vector<double> far;
        for (double x = 0; x > -87; x -= 0.0137) far.push_back(x);
        std::size_t const tokens = far.size(), stride = (tokens + 31) / 16 * 16;
        for (float top : {0.0f, 60.0f, -60.0f, 3000.0f}) {
            INFO("largest score " << top);
            Guarded scores(std::vector<float>(2 * stride, 7e30f)); // the padding must not count
            std::vector<double> seen;
            for (std::size_t j = 0; j < tokens; ++j) {
                scores[j] = scores[stride + tokens - 1 - j] = top + static_cast<float>(far[j]);
                seen.push_back(static_cast<double>(scores[j]) - static_cast<double>(top));
            }
            float inverse[2];
            kernels.softmax(scores.data(), stride, 2, tokens, inverse);
            double sums[2] = {}, worst = 0;
            for (std::size_t j = 0; j < tokens; ++j) {
                std::size_t const back = stride + tokens - 1 - j; // the same score in the other row
                sums[0] += static_cast<double>(scores[j]), sums[1] += static_cast<double>(scores[back]);
                double const exact = std::exp(seen[j]);
                for (double found :
                     {static_cast<double>(scores[j]) / static_cast<double>(scores[0]),
                      static_cast<double>(scores[back]) / static_cast<double>(scores[stride + tokens - 1])})
                    keep_worst(worst, std::fabs(found - exact) / exact / (1 - seen[j]));
            }
            CHECK(worst < 1.6e-7); // relative to 1 + |distance from the largest|; a common factor cancels
            CHECK(sums[0] * static_cast<double>(inverse[0]) == Approx(1).epsilon(2e-6));
            CHECK(sums[1] * static_cast<double>(inverse[1]) == Approx(1).epsilon(2e-6));
            CHECK(scores.intact());
        }
        for (std::size_t bad = 0; bad < 40; ++bad) {
            std::vector<float> scores(48, 1.0f);
            scores[bad] = std::nanf("");
            float inverse;
            kernels.softmax(scores.data(), 48, 1, 40, &inverse);
            REQUIRE(std::isnan(inverse));
        }
        std::vector<float> scores(16, -200.0f);
        scores[3] = 0.0f;
        float inverse;
        kernels.softmax(scores.data(), 16, 1, 9, &inverse);
        CHECK(inverse == 1.0f);
        CHECK(scores[0] == 0.0f);
        CHECK(scores[3] == 1.0f);
    });
}

TEST_CASE("a text's attention has the same bits wherever it lies", "[kernels][attention]") {
    for_each_set([](Kernels const &kernels) {
        for (std::size_t tokens : {1u, 6u, 13u, 45u, 130u}) {
            std::size_t const size = 32, stride = 3 * size;
            auto const values = random_floats(tokens * stride, 1, 4);
            std::vector<float> first;
            for (std::size_t shift = 0; shift < 17; ++shift) {
                Guarded rows(values, shift), context(tokens * size, shift),
                    scratch(AttentionScratch(kernels, tokens, size).floats(), shift);
                attend(kernels,
                       {.tokens = tokens,
                        .heads = 1,
                        .head_size = size,
                        .queries = rows.data(),
                        .keys = rows.data() + size,
                        .values = rows.data() + 2 * size,
                        .stride = stride,
                        .context = context.data(),
                        .context_stride = size},
                       scratch.data());
                if (shift == 0) first.assign(context.data(), context.data() + context.size());
                REQUIRE(same_bits(first.data(), context.data(), first.size()));
            }
        }
    });
}
