/// Self-attention of one text: every token looks at every token of its text, one head after the other.
#ifndef UFORM_KERNELS_ATTENTION_HPP
#define UFORM_KERNELS_ATTENTION_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "uform/config.hpp"
#include "uform/kernels/linear.hpp"
#include "uform/kernels/table.hpp"

namespace uform {

/// One text's queries, keys and values, and where its context goes.
///
/// Shapes  queries, keys, values  [tokens, heads, head_size]  f32, tokens `stride` floats apart; the queries already
///                                                            carry the factor 1 / √head_size
///         context                [tokens, heads, head_size]  f32, tokens `context_stride` floats apart; may be the
///                                                            same memory as `queries`, not as the others
struct AttentionRows {
    std::size_t tokens = 0, heads = 0, head_size = 0;
    float const *queries = nullptr, *keys = nullptr, *values = nullptr;
    std::size_t stride = 0;
    float *context = nullptr;
    std::size_t context_stride = 0;
    /// What is added to a score for the distance from its query to its key, null for nothing: `distance_bias` points to
    /// that of distance 0 in the first head, of distance j − i it stands j − i floats further on, and of the next head
    /// `distance_stride`. There must be floats for distances from 1 − tokens to `reach(tokens)`.
    float const *distance_bias = nullptr;
    std::size_t distance_stride = 0;
    std::size_t window = SIZE_MAX;   ///< a token looks at those at most so many places away
    std::size_t attended = SIZE_MAX; ///< nobody looks at the tokens from here on; they look at others all the same

    /// The distance up to which `distance_bias` is read: past the last token, as whole tiles are computed.
    [[nodiscard]] static constexpr std::size_t reach(std::size_t tokens) noexcept { return tokens + 64; }
    /// How many first tokens anyone looks at.
    [[nodiscard]] std::size_t keys_seen() const noexcept { return attended < tokens ? attended : tokens; }
    /// How many first tokens look at any: those after them have no key within their window.
    [[nodiscard]] std::size_t tokens_seeing() const noexcept {
        std::size_t const seen = keys_seen();
        if (seen == 0) return 0;
        return window < tokens - seen ? seen + window : tokens;
    }
};

/// Which keys a block of queries sees: [begin, end) of them, the begin at a panel's.
struct AttentionSpan {
    std::size_t begin, end;
};

/// Takes the keys outside each query's window out of a block of scores, whose columns begin at key `begin`.
inline void mask_outside(float *scores, std::size_t stride, std::size_t first_row, std::size_t rows, AttentionSpan span,
                         std::size_t window) noexcept {
    for (std::size_t i = 0; i < rows; ++i, scores += stride) {
        std::size_t const query = first_row + i, first = query > window ? query - window : 0;
        for (std::size_t key = span.begin; key < first; ++key) scores[key - span.begin] = -__builtin_inff();
        for (std::size_t key = query + window + 1; key < span.end; ++key) scores[key - span.begin] = -__builtin_inff();
    }
}

/// How the scratch memory of a text is cut: keys and values of one head in panels, scores of one block of queries.
struct AttentionScratch {
    std::size_t keys, values, scores, score_stride; ///< floats, each part a multiple of 16

    AttentionScratch(Kernels const &kernels, std::size_t tokens, std::size_t head_size) noexcept {
        std::size_t const width = kernels.attention.columns;
        auto const rounded = [](std::size_t count, std::size_t step) { return (count + step - 1) / step * step; };
        score_stride = rounded(rounded(tokens, width), 16);
        keys = rounded(rounded(tokens, width) * head_size, 16);
        values = rounded(tokens * rounded(head_size, width), 16);
        scores = score_stride * kernels.attention.rows;
    }
    [[nodiscard]] std::size_t floats() const noexcept { return keys + values + scores; }
};

/// Packs the keys of one head: [tokens, head_size] to [tokens / width, head_size, width], zeros past the last token.
inline void pack_keys(float const *keys, std::size_t stride, std::size_t tokens, std::size_t head_size,
                      std::size_t width, float *UFORM_RESTRICT panels) noexcept {
    for (std::size_t first = 0; first < tokens; first += width, panels += head_size * width) {
        std::size_t const count = tokens - first < width ? tokens - first : width;
        if (count < width) std::memset(panels, 0, head_size * width * sizeof(float));
        for (std::size_t token = 0; token < count; ++token) {
            float const *const key = keys + (first + token) * stride;
            for (std::size_t d = 0; d < head_size; ++d) panels[d * width + token] = key[d];
        }
    }
}

/// Packs the values of one head: [tokens, head_size] to [head_size / width, tokens, width], zeros past the head.
inline void pack_values(float const *values, std::size_t stride, std::size_t tokens, std::size_t head_size,
                        std::size_t width, float *UFORM_RESTRICT panels) noexcept {
    for (std::size_t first = 0; first < head_size; first += width) {
        std::size_t const count = head_size - first < width ? head_size - first : width;
        for (std::size_t token = 0; token < tokens; ++token, panels += width) {
            std::memcpy(panels, values + token * stride + first, count * sizeof(float));
            if (count < width) std::memset(panels + count, 0, (width - count) * sizeof(float));
        }
    }
}

/// Keys whose values are summed in one chain. A text of one word again and again adds equal terms, whose rounding
/// errors don't cancel: chains of 16 keep them about ten times smaller at 512 tokens, for less than 1 % of the encoding
/// time.
inline constexpr std::size_t sum_keys_k = 16;

/// context = softmax(queries · keysᵀ + bias) · values, for each head, within the window and over the keys that are
/// attended to; zeros for a token that sees none.
///
/// Errors  none; `scratch` holds `AttentionScratch(…).floats()` floats, 64-byte aligned for speed.
/// Memory  allocates nothing. Threads: any, for distinct `context` and `scratch`.
/// Order   scores sum over the head, maxima and exponentials run within a row, contexts sum over the tokens in rising
///         order, in chains of `sum_keys_k` that are then added: a row's bits depend on its text alone.
/// Source  Vaswani et al. 2017, Attention Is All You Need, section 3.2.1; the zeros are those of
///         `torch.nn.functional.scaled_dot_product_attention`.
inline void attend(Kernels const &kernels, AttentionRows const &call, float *scratch) noexcept {
    TileShape const &shape = kernels.attention;
    std::size_t const width = shape.columns, head_size = call.head_size;
    std::size_t const key_count = call.keys_seen(), tokens = call.tokens_seeing();
    if (call.tokens == 0) return;
    AttentionScratch const layout(kernels, call.tokens, head_size);
    float *const keys = scratch, *const values = keys + layout.keys, *const scores = values + layout.values;
    std::size_t const tiles = (tokens + shape.rows - 1) / shape.rows;
    float inverse_sums[16];

    for (std::size_t head = 0; head < call.heads; ++head) {
        std::size_t const at = head * head_size;
        pack_keys(call.keys + at, call.stride, key_count, head_size, width, keys);
        pack_values(call.values + at, call.stride, key_count, head_size, width, values);
        float const *const bias = call.distance_bias ? call.distance_bias + head * call.distance_stride : nullptr;
        for (std::size_t t = 0; t < tiles; ++t) {
            std::size_t const first = tokens * t / tiles, rows = tokens * (t + 1) / tiles - first;
            AttentionSpan span = {0, key_count};
            if (call.window < tokens) {
                span.begin = first > call.window ? (first - call.window) / width * width : 0;
                span.end = first + rows + call.window < key_count ? first + rows + call.window : key_count;
            }
            for (std::size_t token = span.begin; token < span.end; token += width)
                shape.multiply[rows - 1](
                    {.left = call.queries + first * call.stride + at,
                     .left_stride = call.stride,
                     .panel = keys + token * head_size,
                     .depth = head_size,
                     .out = scores + (token - span.begin),
                     .out_stride = layout.score_stride,
                     .residual = bias ? bias + (static_cast<std::ptrdiff_t>(token) - static_cast<std::ptrdiff_t>(first))
                                      : nullptr,
                     .residual_stride = -1}); // the next query is one place nearer to the keys after it
            if (call.window < tokens) mask_outside(scores, layout.score_stride, first, rows, span, call.window);
            std::size_t const seen = span.end - span.begin;
            kernels.softmax(scores, layout.score_stride, rows, seen, inverse_sums);
            for (std::size_t d = 0; d < head_size; d += width) { // overwrites no query that is still to be read
                float *const context = call.context + first * call.context_stride + at + d;
                for (std::size_t key = 0; key < seen; key += sum_keys_k)
                    multiply_columns(shape,
                                     {.left = scores + key,
                                      .left_stride = layout.score_stride,
                                      .panel = values + d * key_count + (span.begin + key) * width,
                                      .depth = seen - key < sum_keys_k ? seen - key : sum_keys_k,
                                      .out = context,
                                      .out_stride = call.context_stride,
                                      .row_scales = inverse_sums,
                                      .residual = key ? context : nullptr,
                                      .residual_stride = static_cast<std::ptrdiff_t>(call.context_stride)},
                                     rows, head_size - d);
            }
        }
        for (std::size_t token = tokens; token < call.tokens; ++token)
            std::memset(call.context + token * call.context_stride + at, 0, head_size * sizeof(float));
    }
}

} // namespace uform

#endif // UFORM_KERNELS_ATTENTION_HPP
