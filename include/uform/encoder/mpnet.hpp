/// MPNet: BERT without segments, with a bias on scores by the distance of two tokens, one table for all layers.
#ifndef UFORM_ENCODER_MPNET_HPP
#define UFORM_ENCODER_MPNET_HPP

#include <cstddef>
#include <cstdint>

#include "uform/checkpoint/encoder_configuration.hpp"
#include "uform/encoder/bert_shape.hpp"

namespace uform {

inline constexpr BertNames mpnet_names_k = {.prefix = "mpnet.",
                                            .query = ".attention.attn.q",
                                            .key = ".attention.attn.k",
                                            .value = ".attention.attn.v",
                                            .projection = ".attention.attn.o",
                                            .after_attention = ".attention.LayerNorm"};

/// Source  Song et al. 2020, MPNet; `MPNetEmbeddings`, which takes 1 for the padding id whatever the files say.
[[nodiscard]] inline BertShape mpnet_shape(EncoderConfiguration const &configuration, std::size_t longest) noexcept {
    BertShape shape = bert_shape(configuration, longest);
    shape.unplaced_id = 1;
    shape.distance_buckets = static_cast<std::uint32_t>(configuration.position_buckets);
    shape.names = &mpnet_names_k;
    return shape;
}

} // namespace uform

#endif // UFORM_ENCODER_MPNET_HPP
