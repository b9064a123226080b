/// DistilBERT: BERT without segments, under other names.
#ifndef UFORM_ENCODER_DISTILBERT_HPP
#define UFORM_ENCODER_DISTILBERT_HPP

#include <cstddef>

#include "uform/checkpoint/encoder_configuration.hpp"
#include "uform/encoder/bert_shape.hpp"

namespace uform {

inline constexpr BertNames distilbert_names_k = {.prefix = "distilbert.",
                                                 .layer = "transformer.layer.",
                                                 .query = ".attention.q_lin",
                                                 .key = ".attention.k_lin",
                                                 .value = ".attention.v_lin",
                                                 .projection = ".attention.out_lin",
                                                 .after_attention = ".sa_layer_norm",
                                                 .up = ".ffn.lin1",
                                                 .down = ".ffn.lin2",
                                                 .after_feed_forward = ".output_layer_norm"};

/// Source  Sanh et al. 2019, DistilBERT; the epsilon of its norms is 1e-12 in code and stands in no file.
[[nodiscard]] inline BertShape distilbert_shape(EncoderConfiguration const &configuration,
                                                std::size_t longest) noexcept {
    BertShape shape = bert_shape(configuration, longest);
    shape.layer_norm_epsilon = 1e-12;
    shape.names = &distilbert_names_k;
    return shape;
}

} // namespace uform

#endif // UFORM_ENCODER_DISTILBERT_HPP
