/// The shape of an encoder, as `config.json` gives it.
#ifndef UFORM_CHECKPOINT_ENCODER_CONFIGURATION_HPP
#define UFORM_CHECKPOINT_ENCODER_CONFIGURATION_HPP

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "uform/architecture.hpp"

namespace uform {

/// The shape of an encoder. All counts are at least 1 unless said otherwise, and `hidden_size` is a multiple of
/// `heads`.
struct EncoderConfiguration {
    Architecture architecture = Architecture::bert;
    std::vector<std::string> architectures; ///< classes that the weights were saved from; may be empty
    std::size_t vocabulary_size = 30522;
    std::size_t hidden_size = 768;
    std::size_t layers = 12;
    std::size_t heads = 12;
    std::size_t intermediate_size = 3072;
    std::size_t positions = 512;    ///< rows of the position table; with rotary positions, what the model was made for
    std::size_t first_position = 0; ///< the row of a text's first token
    std::size_t token_types = 2;    ///< rows of the segment table; 0: there is none
    std::size_t position_buckets = 0; ///< rows of the table of biases by distance; 0: there is none
    double layer_norm_epsilon = 1e-12;
    HiddenActivation activation = HiddenActivation::gelu;
    std::optional<std::size_t> pad_token_id = 0;
    double global_theta = 0;        ///< base of the rotary positions of layers that see all; 0: not rotary
    double local_theta = 0;         ///< of layers that see a window
    std::size_t window = 0;         ///< places to each side that such a layer sees
    std::vector<bool> local_layers; ///< [layers], which see a window; empty: none
    bool attention_bias = true, feed_forward_bias = true, norm_bias = true; ///< which vectors are stored
    HeadInput classifier_input = HeadInput::first_token;                    ///< what a classifier of whole texts reads
    /// Between the two products of a classifier that has two. ModernBERT's classifier of tokens has, others' haven't.
    HiddenActivation classifier_activation = HiddenActivation::tanh;
    HiddenActivation masked_activation = HiddenActivation::gelu; ///< between the two of a masked-language head
    bool head_bias = true;    ///< whether the first product of ModernBERT's heads has a bias
    bool ties_words = true;   ///< whether a masked-language head may take its last weights from the table of words
    bool decoder_bias = true; ///< whether the last product of ModernBERT's masked-language head has a bias

    [[nodiscard]] bool is_rotary() const noexcept { return global_theta != 0; }
    /// Tokens of the longest text that the position table serves; without a table, that the model was made for.
    [[nodiscard]] std::size_t longest_text() const noexcept { return positions - first_position; }
};

} // namespace uform

#endif // UFORM_CHECKPOINT_ENCODER_CONFIGURATION_HPP
