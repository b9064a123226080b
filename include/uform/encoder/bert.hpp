/// The BERT encoder and those built like it: from token ids to the states of the last layer.
#ifndef UFORM_ENCODER_BERT_HPP
#define UFORM_ENCODER_BERT_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "uform/config.hpp"
#include "uform/encoder/bert_weights.hpp"
#include "uform/encoder/widen.hpp"
#include "uform/kernels/attention.hpp"
#include "uform/kernels/instruction_set.hpp"
#include "uform/kernels/kernels.hpp"
#include "uform/kernels/linear.hpp"
#include "uform/status.hpp"

namespace uform {

/// An encoder with a norm after each of attention and feed-forward, its weights packed for one instruction set: BERT,
/// and what differs from it in names, in how positions come in, or in gates. Move-only.
///
/// Memory  that of its `BertWeights`; the checkpoint's mapping must outlive it. `forward` allocates nothing.
/// Threads `forward` may be called from any threads at once, each with a workspace of its own.
/// Order   a text's states depend on its ids and the instruction set, not on what is beside it nor on the chunk.
/// Source  Devlin et al. 2018, BERT; the order of operations is that of Hugging Face's `BertModel`.
class BertEncoder {
    /// Where each part of a workspace begins, in floats.
    struct WorkspaceLayout {
        std::size_t query_key_value, mixed, intermediate, attention, end;
    };

    static constexpr std::size_t block_rows_k = 64; ///< of what follows attention, whose activations are the widest

    BertShape shape_;
    Kernels const *kernels_;
    BertWeights weights_;

    BertEncoder(BertShape const &shape, Kernels const &kernels, BertWeights &&weights) noexcept
        : shape_(shape), kernels_(&kernels), weights_(std::move(weights)) {}
    void embed(std::span<std::uint32_t const> ids, std::span<std::uint32_t const> offsets,
               std::span<std::uint8_t const> segments, float *states) const noexcept;
    void attend_texts(std::span<std::uint32_t const> offsets, std::span<std::uint32_t const> attended,
                      float *query_key_value, float *scratch) const noexcept;
    void feed_forward(BertLayer const &layer, std::size_t rows, float *states, float *mixed,
                      float *intermediate) const noexcept;
    [[nodiscard]] WorkspaceLayout layout(std::size_t tokens, std::size_t longest_text) const noexcept;

  public:
    BertEncoder(BertEncoder &&) noexcept = default;
    BertEncoder &operator=(BertEncoder &&) noexcept = default;

    /// Loads the weights for an instruction set that this machine has; the errors are those of `BertWeights::load`.
    ///
    /// Memory  reads all tensors, the embeddings too: after it the mapping's pages may be dropped.
    template <WeightSource Source>
    [[nodiscard]] UFORM_COLD static Result<BertEncoder> load(BertShape const &shape, Source const &source,
                                                             InstructionSet set = best_instruction_set(),
                                                             std::string_view place = "the checkpoint") noexcept {
        Kernels const &kernels = kernels_for(set);
        auto weights = BertWeights::load(shape, kernels, source, place);
        if (!weights) return weights.error();
        return BertEncoder(shape, kernels, *std::move(weights));
    }

    [[nodiscard]] BertShape const &shape() const noexcept UFORM_LIFETIMEBOUND { return shape_; }
    [[nodiscard]] InstructionSet instruction_set() const noexcept { return kernels_->set; }

    /// Bytes of the workspace that `forward` needs for a chunk of `tokens`, whose longest text has `longest_text`.
    /// It rises with both, so that the largest of each serves all chunks.
    [[nodiscard]] std::size_t workspace_bytes(std::size_t tokens, std::size_t longest_text) const noexcept {
        return layout(tokens, longest_text).end * sizeof(float);
    }

    /// Computes the states of some texts that stand end to end, without padding.
    ///
    /// Shapes  ids        [all tokens]         u32, each below the vocabulary; text t has those from offsets[t] on
    ///         offsets    [texts + 1]          u32, rising, counted in tokens of `ids`; the first need not be 0
    ///         states     [tokens, hidden]     f32, tight, overwritten; its first row belongs to ids[offsets[0]]
    ///         workspace  [workspace_bytes(…)] 64-byte aligned, holds anything before and after
    ///         segments   [all tokens]         u8, as `ids` are indexed, each below the number of segments; empty for
    ///                                         zeros, and not looked at where there is no choice
    ///         attended   [texts]              u32, how many first tokens of each text are looked at; the others have
    ///                                         states too; empty for all
    /// Errors  none: the caller has checked the ids, and that no text is longer than the positions.
    void forward(std::span<std::uint32_t const> ids, std::span<std::uint32_t const> offsets, float *states,
                 std::span<std::byte> workspace, std::span<std::uint8_t const> segments = {},
                 std::span<std::uint32_t const> attended = {}) const noexcept;
};

inline BertEncoder::WorkspaceLayout BertEncoder::layout(std::size_t tokens, std::size_t longest_text) const noexcept {
    auto const rounded = [](std::size_t floats) { return (floats + 15) / 16 * 16; };
    std::size_t const hidden = shape_.hidden, rows = tokens < block_rows_k ? tokens : block_rows_k;
    WorkspaceLayout parts{};
    parts.query_key_value = 0;
    parts.mixed = rounded(tokens * 3 * hidden);
    parts.intermediate = parts.mixed + rounded(rows * hidden);
    parts.attention = parts.intermediate + rounded(rows * shape_.intermediate * (shape_.gated ? 2 : 1));
    parts.end = parts.attention + rounded(AttentionScratch(*kernels_, longest_text, shape_.head_size()).floats());
    return parts;
}

inline void BertEncoder::embed(std::span<std::uint32_t const> ids, std::span<std::uint32_t const> offsets,
                               std::span<std::uint8_t const> segments, float *states) const noexcept {
    std::size_t const hidden = shape_.hidden;
    bool const segmented = shape_.segments > 1 && !segments.empty();
    for (std::size_t text = 0; text + 1 < offsets.size(); ++text) {
        std::size_t row = shape_.first_position; // of the position table
        for (std::size_t token = offsets[text]; token < offsets[text + 1]; ++token) {
            float const *const word = weights_.words + std::size_t{ids[token]} * hidden;
            float *const state = states + (token - offsets[0]) * hidden;
            float const *added[2] = {}; // in the order in which the reference adds them
            std::size_t count = 0;
            if (weights_.segments) added[count++] = weights_.segments + (segmented ? segments[token] : 0) * hidden;
            if (weights_.positions)
                added[count++] = weights_.positions +
                                 (ids[token] == shape_.unplaced_id ? shape_.first_position - 1 : row++) * hidden;
            if (count == 2)
                for (std::size_t i = 0; i < hidden; ++i) state[i] = word[i] + added[0][i] + added[1][i];
            else if (count == 1)
                for (std::size_t i = 0; i < hidden; ++i) state[i] = word[i] + added[0][i];
            else std::memcpy(state, word, hidden * sizeof(float));
        }
    }
    kernels_->layer_norm(states, offsets.back() - offsets.front(), hidden, weights_.embedding_norm.gain,
                         weights_.embedding_norm.bias, static_cast<float>(shape_.layer_norm_epsilon), states);
}

inline void BertEncoder::attend_texts(std::span<std::uint32_t const> offsets, std::span<std::uint32_t const> attended,
                                      float *query_key_value, float *scratch) const noexcept {
    std::size_t const hidden = shape_.hidden, stride = 3 * hidden;
    for (std::size_t text = 0; text + 1 < offsets.size(); ++text) {
        float *const rows = query_key_value + (offsets[text] - offsets[0]) * stride;
        std::size_t const tokens = offsets[text + 1] - offsets[text];
        if (weights_.rotary.cos) weights_.rotary.turn(*kernels_, rows, stride, tokens, 2 * shape_.heads);
        attend(*kernels_,
               {.tokens = tokens,
                .heads = shape_.heads,
                .head_size = shape_.head_size(),
                .queries = rows,
                .keys = rows + hidden,
                .values = rows + 2 * hidden,
                .stride = stride,
                .context = rows,
                .context_stride = stride, // the context takes the place of its queries
                .distance_bias = weights_.distance_bias.zero,
                .distance_stride = weights_.distance_bias.stride,
                .attended = attended.empty() ? SIZE_MAX : attended[text]},
               scratch);
    }
}

inline void BertEncoder::feed_forward(BertLayer const &layer, std::size_t rows, float *states, float *mixed,
                                      float *intermediate) const noexcept {
    std::size_t const hidden = shape_.hidden, wide = shape_.intermediate;
    widen(*kernels_, shape_.activation, shape_.gated ? layer.gate : layer.up, shape_.gated ? &layer.up : nullptr, rows,
          states, intermediate);
    apply_linear(*kernels_, layer.down,
                 {.rows = rows,
                  .input = intermediate,
                  .input_stride = wide,
                  .output = mixed,
                  .output_stride = hidden,
                  .residual = states,
                  .residual_stride = hidden});
    kernels_->layer_norm(mixed, rows, hidden, layer.after_feed_forward.gain, layer.after_feed_forward.bias,
                         static_cast<float>(shape_.layer_norm_epsilon), states);
}

inline void BertEncoder::forward(std::span<std::uint32_t const> ids, std::span<std::uint32_t const> offsets,
                                 float *states, std::span<std::byte> workspace, std::span<std::uint8_t const> segments,
                                 std::span<std::uint32_t const> attended) const noexcept {
    if (offsets.size() < 2 || offsets.back() == offsets.front()) return;
    std::size_t const hidden = shape_.hidden, tokens = offsets.back() - offsets.front();
    auto const epsilon = static_cast<float>(shape_.layer_norm_epsilon);
    auto *const memory = reinterpret_cast<float *>(workspace.data());
    WorkspaceLayout const parts = layout(tokens, 0);
    float *const query_key_value = memory + parts.query_key_value, *const mixed = memory + parts.mixed;
    float *const intermediate = memory + parts.intermediate, *const attention = memory + parts.attention;
    std::size_t const stride = 3 * hidden, blocks = (tokens + block_rows_k - 1) / block_rows_k;

    embed(ids, offsets, segments, states);
    for (BertLayer const &layer : weights_.layers) {
        apply_linear(*kernels_, layer.query_key_value,
                     {.rows = tokens,
                      .input = states,
                      .input_stride = hidden,
                      .output = query_key_value,
                      .output_stride = stride});
        attend_texts(offsets, attended, query_key_value, attention);
        for (std::size_t block = 0; block < blocks; ++block) {
            std::size_t const first = tokens * block / blocks, rows = tokens * (block + 1) / blocks - first;
            float *const state = states + first * hidden;
            apply_linear(*kernels_, layer.projection,
                         {.rows = rows,
                          .input = query_key_value + first * stride,
                          .input_stride = stride,
                          .output = mixed,
                          .output_stride = hidden,
                          .residual = state,
                          .residual_stride = hidden});
            kernels_->layer_norm(mixed, rows, hidden, layer.after_attention.gain, layer.after_attention.bias, epsilon,
                                 state);
            feed_forward(layer, rows, state, mixed, intermediate);
        }
    }
}

} // namespace uform

#endif // UFORM_ENCODER_BERT_HPP
