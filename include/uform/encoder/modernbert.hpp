/// ModernBERT: norms before attention and feed-forward, rotary positions, gates, and layers that see a window only.
#ifndef UFORM_ENCODER_MODERNBERT_HPP
#define UFORM_ENCODER_MODERNBERT_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "uform/buffer.hpp"
#include "uform/checkpoint/encoder_configuration.hpp"
#include "uform/config.hpp"
#include "uform/encoder/rotary.hpp"
#include "uform/encoder/weight_block.hpp"
#include "uform/encoder/weight_packer.hpp"
#include "uform/encoder/weights.hpp"
#include "uform/encoder/widen.hpp"
#include "uform/kernels/attention.hpp"
#include "uform/kernels/instruction_set.hpp"
#include "uform/kernels/kernels.hpp"
#include "uform/kernels/linear.hpp"
#include "uform/math.hpp"
#include "uform/status.hpp"

namespace uform {

/// The numbers of a ModernBERT.
struct ModernBertShape {
    std::uint32_t layers = 0, hidden = 0, heads = 0, intermediate = 0, vocabulary = 0;
    std::uint32_t longest = 0;                                         ///< tokens of the longest text
    double layer_norm_epsilon = 1e-5, global_base = 0, local_base = 0; ///< the bases are those of rotary positions
    HiddenActivation activation = HiddenActivation::gelu;
    std::size_t window = 0; ///< places to each side that a local layer sees
    bool attention_bias = false, feed_forward_bias = false, norm_bias = false;

    [[nodiscard]] std::uint32_t head_size() const noexcept { return hidden / heads; }
};

/// One layer's weights; queries, keys and values as in `BertLayer`. The first layer has no norm before its attention.
struct ModernBertLayer {
    LayerNormWeights before_attention, before_feed_forward;
    PackedLinear query_key_value, projection, gate, up, down;
    bool local = false;
};

/// A ModernBERT encoder with its weights packed for one instruction set. Move-only.
///
/// Memory  one block for what is packed; the table of words stays in the checkpoint's mapping where it is float32,
/// which
///         must outlive the encoder. `forward` allocates nothing.
/// Threads and Order  as `BertEncoder`.
/// Source  Warner et al. 2024, Smarter, Better, Faster, Longer; the order of operations is that of `ModernBertModel` in
///         transformers 5.24.
class ModernBertEncoder {
    /// Where each part of a workspace begins, in floats.
    struct WorkspaceLayout {
        std::size_t query_key_value, normed, mixed, intermediate, attention, end;
    };

    static constexpr std::size_t block_rows_k = 64; ///< of what is computed row by row

    ModernBertShape shape_;
    Kernels const *kernels_;
    float const *words_ = nullptr; // table of rows of [hidden]
    LayerNormWeights embedding_norm_, final_norm_;
    Buffer<ModernBertLayer> layers_;
    RotaryTable global_, local_;
    WeightBlock block_;

    ModernBertEncoder(ModernBertShape const &shape, Kernels const &kernels) noexcept
        : shape_(shape), kernels_(&kernels) {}
    [[nodiscard]] static Result<void> check(ModernBertShape const &shape, std::string_view place) noexcept;
    template <WeightSource Source>
    void list(EncoderConfiguration const &configuration, WeightPacker<Source> &packer) noexcept;
    [[nodiscard]] WorkspaceLayout layout(std::size_t tokens, std::size_t longest_text) const noexcept;
    void norm(float const *in, std::size_t rows, LayerNormWeights const &weights, float *out) const noexcept {
        kernels_->layer_norm(in, rows, shape_.hidden, weights.gain, weights.bias,
                             static_cast<float>(shape_.layer_norm_epsilon), out);
    }
    void attend_texts(ModernBertLayer const &layer, std::span<std::uint32_t const> offsets,
                      std::span<std::uint32_t const> attended, float *query_key_value, float *scratch) const noexcept;
    void feed_forward(ModernBertLayer const &layer, std::size_t rows, float const *mixed, float *normed,
                      float *intermediate, float *states) const noexcept;

  public:
    ModernBertEncoder(ModernBertEncoder &&) noexcept = default;
    ModernBertEncoder &operator=(ModernBertEncoder &&) noexcept = default;

    /// Loads the weights for texts of at most `longest` tokens; the errors are those of `BertWeights::load`.
    template <WeightSource Source>
    [[nodiscard]] UFORM_COLD static Result<ModernBertEncoder> load(EncoderConfiguration const &configuration,
                                                                   std::size_t longest, Source const &source,
                                                                   InstructionSet set, std::string_view place) noexcept;

    [[nodiscard]] ModernBertShape const &shape() const noexcept UFORM_LIFETIMEBOUND { return shape_; }
    [[nodiscard]] InstructionSet instruction_set() const noexcept { return kernels_->set; }
    /// As `BertEncoder::workspace_bytes`.
    [[nodiscard]] std::size_t workspace_bytes(std::size_t tokens, std::size_t longest_text) const noexcept {
        return layout(tokens, longest_text).end * sizeof(float);
    }
    /// As `BertEncoder::forward`; there are no segments, and those given are not looked at. A token that sees no
    /// attended one within its window gets nothing from such a layer's attention, as in the reference.
    void forward(std::span<std::uint32_t const> ids, std::span<std::uint32_t const> offsets, float *states,
                 std::span<std::byte> workspace, std::span<std::uint8_t const> segments = {},
                 std::span<std::uint32_t const> attended = {}) const noexcept;
};

UFORM_COLD inline Result<void> ModernBertEncoder::check(ModernBertShape const &shape, std::string_view place) noexcept {
    constexpr std::uint32_t most = 1u << 24; // keeps every product below within 64 bits
    for (auto const &[number, name] :
         {std::pair{shape.layers, "layers"}, std::pair{shape.hidden, "hidden columns"}, std::pair{shape.heads, "heads"},
          std::pair{shape.intermediate, "intermediate columns"}, std::pair{shape.vocabulary, "vocabulary entries"},
          std::pair{shape.longest, "positions"}})
        if (number == 0 || number > most)
            return Error::of(Status::corrupt, place, ": the configuration asks for ", number, " ", name);
    if (shape.hidden % (2 * std::size_t{shape.heads}))
        return Error::of(Status::corrupt, place, ": the configuration asks for ", shape.hidden,
                         " hidden columns, which are no multiple of ", shape.heads, " heads of pairs");
    return {};
}

template <WeightSource Source>
void ModernBertEncoder::list(EncoderConfiguration const &configuration, WeightPacker<Source> &packer) noexcept {
    std::uint32_t const hidden = shape_.hidden, wide = shape_.intermediate;
    bool const norm_bias = shape_.norm_bias;
    float const query_scale = 1.0f / math::sqrt(static_cast<float>(shape_.head_size()));

    packer.table(words_, shape_.vocabulary, hidden, TensorName("embeddings.tok_embeddings.weight"));
    packer.norm(embedding_norm_, hidden, TensorName("embeddings.norm"), norm_bias);
    packer.layers(layers_, shape_.layers, [&](ModernBertLayer &layer, std::uint32_t number) noexcept {
        auto const part = [&](std::string_view name) { return TensorName("layers.", number, name); };
        if (number) packer.norm(layer.before_attention, hidden, part(".attn_norm"), norm_bias);
        packer.linear(layer.query_key_value, hidden,
                      {{part(".attn.Wqkv"), hidden, query_scale, 0, 3 * hidden},
                       {part(".attn.Wqkv"), 2 * hidden, 1, hidden, 3 * hidden}},
                      shape_.attention_bias);
        packer.linear(layer.projection, hidden, {{part(".attn.Wo"), hidden}}, shape_.attention_bias);
        packer.norm(layer.before_feed_forward, hidden, part(".mlp_norm"), norm_bias);
        packer.linear(layer.gate, hidden, {{part(".mlp.Wi"), wide, 1, 0, 2 * wide}}, shape_.feed_forward_bias);
        packer.linear(layer.up, hidden, {{part(".mlp.Wi"), wide, 1, wide, 2 * wide}}, shape_.feed_forward_bias);
        packer.linear(layer.down, wide, {{part(".mlp.Wo"), hidden}}, shape_.feed_forward_bias);
        layer.local = number < configuration.local_layers.size() && configuration.local_layers[number];
    });
    packer.norm(final_norm_, hidden, TensorName("final_norm"), norm_bias);
    std::size_t const half = shape_.head_size() / 2, floats = RotaryTable::floats(shape_.longest, half);
    float *const global = packer.room(floats), *const local = packer.room(floats);
    if (global) global_ = RotaryTable::fill(global, shape_.longest, half, shape_.global_base);
    if (local) local_ = RotaryTable::fill(local, shape_.longest, half, shape_.local_base);
}

template <WeightSource Source>
Result<ModernBertEncoder> ModernBertEncoder::load(EncoderConfiguration const &configuration, std::size_t longest,
                                                  Source const &source, InstructionSet set,
                                                  std::string_view place) noexcept {
    auto const number = [](std::size_t count) {
        return static_cast<std::uint32_t>(count < UINT32_MAX ? count : UINT32_MAX);
    };
    ModernBertShape const shape = {.layers = number(configuration.layers),
                                   .hidden = number(configuration.hidden_size),
                                   .heads = number(configuration.heads),
                                   .intermediate = number(configuration.intermediate_size),
                                   .vocabulary = number(configuration.vocabulary_size),
                                   .longest = number(longest),
                                   .layer_norm_epsilon = configuration.layer_norm_epsilon,
                                   .global_base = configuration.global_theta,
                                   .local_base = configuration.local_theta,
                                   .activation = configuration.activation,
                                   .window = configuration.window,
                                   .attention_bias = configuration.attention_bias,
                                   .feed_forward_bias = configuration.feed_forward_bias,
                                   .norm_bias = configuration.norm_bias};
    if (auto checked = check(shape, place); !checked) return checked.error();
    Kernels const &kernels = kernels_for(set);
    Weights<Source> const tensors(source, {"", "model."}, "embeddings.tok_embeddings.weight", place);
    ModernBertEncoder encoder(shape, kernels);
    auto block = WeightPacker<Source>(tensors, kernels).pack([&](WeightPacker<Source> &packer) noexcept {
        encoder.list(configuration, packer);
    });
    if (!block) return block.error();
    encoder.block_ = *std::move(block);
    return encoder;
}

inline ModernBertEncoder::WorkspaceLayout ModernBertEncoder::layout(std::size_t tokens,
                                                                    std::size_t longest_text) const noexcept {
    auto const rounded = [](std::size_t floats) { return (floats + 15) / 16 * 16; };
    std::size_t const hidden = shape_.hidden, rows = tokens < block_rows_k ? tokens : block_rows_k;
    WorkspaceLayout parts{};
    parts.query_key_value = 0;
    parts.normed = rounded(tokens * 3 * hidden);
    parts.mixed = parts.normed + rounded(rows * hidden);
    parts.intermediate = parts.mixed + rounded(rows * hidden);
    parts.attention = parts.intermediate + rounded(rows * shape_.intermediate * 2);
    parts.end = parts.attention + rounded(AttentionScratch(*kernels_, longest_text, shape_.head_size()).floats());
    return parts;
}

inline void ModernBertEncoder::attend_texts(ModernBertLayer const &layer, std::span<std::uint32_t const> offsets,
                                            std::span<std::uint32_t const> attended, float *query_key_value,
                                            float *scratch) const noexcept {
    std::size_t const hidden = shape_.hidden, stride = 3 * hidden;
    RotaryTable const &rotary = layer.local ? local_ : global_;
    for (std::size_t text = 0; text + 1 < offsets.size(); ++text) {
        float *const rows = query_key_value + (offsets[text] - offsets[0]) * stride;
        std::size_t const tokens = offsets[text + 1] - offsets[text];
        rotary.turn(*kernels_, rows, stride, tokens, 2 * shape_.heads);
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
                .window = layer.local ? shape_.window : SIZE_MAX,
                .attended = attended.empty() ? SIZE_MAX : attended[text]},
               scratch);
    }
}

inline void ModernBertEncoder::feed_forward(ModernBertLayer const &layer, std::size_t rows, float const *mixed,
                                            float *normed, float *intermediate, float *states) const noexcept {
    std::size_t const hidden = shape_.hidden, wide = shape_.intermediate;
    norm(mixed, rows, layer.before_feed_forward, normed);
    widen(*kernels_, shape_.activation, layer.gate, &layer.up, rows, normed, intermediate);
    apply_linear(*kernels_, layer.down,
                 {.rows = rows,
                  .input = intermediate,
                  .input_stride = wide,
                  .output = states,
                  .output_stride = hidden,
                  .residual = mixed,
                  .residual_stride = hidden});
}

inline void ModernBertEncoder::forward(std::span<std::uint32_t const> ids, std::span<std::uint32_t const> offsets,
                                       float *states, std::span<std::byte> workspace, std::span<std::uint8_t const>,
                                       std::span<std::uint32_t const> attended) const noexcept {
    if (offsets.size() < 2 || offsets.back() == offsets.front()) return;
    std::size_t const hidden = shape_.hidden, tokens = offsets.back() - offsets.front();
    auto *const memory = reinterpret_cast<float *>(workspace.data());
    WorkspaceLayout const parts = layout(tokens, 0);
    float *const query_key_value = memory + parts.query_key_value, *const normed = memory + parts.normed;
    float *const mixed = memory + parts.mixed, *const intermediate = memory + parts.intermediate;
    std::size_t const stride = 3 * hidden, blocks = (tokens + block_rows_k - 1) / block_rows_k;

    for (std::size_t token = 0; token < tokens; ++token)
        std::memcpy(states + token * hidden, words_ + std::size_t{ids[offsets[0] + token]} * hidden,
                    hidden * sizeof(float));
    norm(states, tokens, embedding_norm_, states);
    for (ModernBertLayer const &layer : layers_) {
        for (std::size_t block = 0; block < blocks; ++block) {
            std::size_t const first = tokens * block / blocks, rows = tokens * (block + 1) / blocks - first;
            float const *input = states + first * hidden;
            if (layer.before_attention.gain) norm(input, rows, layer.before_attention, normed), input = normed;
            apply_linear(*kernels_, layer.query_key_value,
                         {.rows = rows,
                          .input = input,
                          .input_stride = hidden,
                          .output = query_key_value + first * stride,
                          .output_stride = stride});
        }
        attend_texts(layer, offsets, attended, query_key_value, memory + parts.attention);
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
            feed_forward(layer, rows, mixed, normed, intermediate, state);
        }
    }
    norm(states, tokens, final_norm_, states);
}

} // namespace uform

#endif // UFORM_ENCODER_MODERNBERT_HPP
