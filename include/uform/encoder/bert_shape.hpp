/// The numbers of an encoder that is built like BERT, and the names that its tensors have.
#ifndef UFORM_ENCODER_BERT_SHAPE_HPP
#define UFORM_ENCODER_BERT_SHAPE_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "uform/architecture.hpp"
#include "uform/checkpoint/encoder_configuration.hpp"

namespace uform {

/// How a family calls its tensors, without `.weight` and `.bias`. Those of a layer follow `layer` and its number.
struct BertNames {
    std::string_view prefix = "bert."; ///< before all of them in files that were saved with a head
    std::string_view words = "embeddings.word_embeddings", positions = "embeddings.position_embeddings",
                     segments = "embeddings.token_type_embeddings", embedding_norm = "embeddings.LayerNorm",
                     distance_bias = "encoder.relative_attention_bias";
    std::string_view layer = "encoder.layer.";
    std::string_view query = ".attention.self.query", key = ".attention.self.key", value = ".attention.self.value";
    std::string_view query_key_value = {}; ///< where the three are stored as one
    std::string_view projection = ".attention.output.dense", after_attention = ".attention.output.LayerNorm";
    std::string_view gate = {}, up = ".intermediate.dense", down = ".output.dense",
                     after_feed_forward = ".output.LayerNorm";
};

/// The names of BERT's own tensors.
inline constexpr BertNames bert_names_k;

/// The numbers of a checkpoint's configuration, and what its positions start at.
struct BertShape {
    std::uint32_t layers = 0, hidden = 0, heads = 0, intermediate = 0;
    std::uint32_t vocabulary = 0, positions = 0, segments = 0; ///< rows of the embedding tables; no segments: no table
    std::uint32_t first_position = 0; ///< row of a text's first token; padding id + 1 in RoBERTa
    double layer_norm_epsilon = 1e-12;
    HiddenActivation activation = HiddenActivation::gelu;
    /// In RoBERTa a token of this id has the row before the first, and none of its own; `no_id` in others.
    std::uint32_t unplaced_id = no_id;
    std::uint32_t distance_buckets = 0; ///< rows of MPNet's table of biases by distance; 0: there is none
    double rotary_base = 0;             ///< of rotary positions, which take the place of the position table; 0: none
    std::uint32_t longest = 0;          ///< tokens of the longest text, for what is computed by position
    bool gated = false;                 ///< the activation is that of gates, which the feed-forward part is times
    bool attention_bias = true, feed_forward_bias = true;
    BertNames const *names = &bert_names_k; ///< static storage

    static constexpr std::uint32_t no_id = UINT32_MAX;

    [[nodiscard]] std::uint32_t head_size() const noexcept { return hidden / heads; }
    /// Tokens of the longest text that the position table serves.
    [[nodiscard]] std::uint32_t longest_text() const noexcept {
        return rotary_base != 0 ? longest : positions - first_position;
    }
};

/// BERT's shape of a configuration, for texts of at most `longest` tokens. What is too large to count becomes the
/// largest number, which loading refuses.
[[nodiscard]] inline BertShape bert_shape(EncoderConfiguration const &configuration, std::size_t longest) noexcept {
    auto const number = [](std::size_t count) {
        return static_cast<std::uint32_t>(count < UINT32_MAX ? count : UINT32_MAX);
    };
    return {.layers = number(configuration.layers),
            .hidden = number(configuration.hidden_size),
            .heads = number(configuration.heads),
            .intermediate = number(configuration.intermediate_size),
            .vocabulary = number(configuration.vocabulary_size),
            .positions = number(configuration.positions),
            .segments = number(configuration.token_types),
            .first_position = number(configuration.first_position),
            .layer_norm_epsilon = configuration.layer_norm_epsilon,
            .activation = configuration.activation,
            .longest = number(longest),
            .attention_bias = configuration.attention_bias,
            .feed_forward_bias = configuration.feed_forward_bias};
}

} // namespace uform

#endif // UFORM_ENCODER_BERT_SHAPE_HPP
