/// NomicBERT: BERT with rotary positions and gates, and without biases.
#ifndef UFORM_ENCODER_NOMIC_BERT_HPP
#define UFORM_ENCODER_NOMIC_BERT_HPP

#include <cstddef>

#include "uform/checkpoint/encoder_configuration.hpp"
#include "uform/encoder/bert_shape.hpp"
#include "uform/encoder/weights.hpp"

namespace uform {

/// As transformers 5 spells them.
inline constexpr BertNames nomic_bert_names_k = {.prefix = "nomic_bert.",
                                                 .layer = "layers.",
                                                 .query = ".self_attn.q_proj",
                                                 .key = ".self_attn.k_proj",
                                                 .value = ".self_attn.v_proj",
                                                 .projection = ".self_attn.o_proj",
                                                 .after_attention = ".post_attention_layernorm",
                                                 .gate = ".mlp.gate_proj",
                                                 .up = ".mlp.up_proj",
                                                 .down = ".mlp.down_proj",
                                                 .after_feed_forward = ".post_mlp_layernorm"};

/// As the published files spell them.
inline constexpr BertNames nomic_bert_published_names_k = {.prefix = "bert.",
                                                           .embedding_norm = "emb_ln",
                                                           .layer = "encoder.layers.",
                                                           .query_key_value = ".attn.Wqkv",
                                                           .projection = ".attn.out_proj",
                                                           .after_attention = ".norm1",
                                                           .gate = ".mlp.fc12",
                                                           .up = ".mlp.fc11",
                                                           .down = ".mlp.fc2",
                                                           .after_feed_forward = ".norm2"};

/// Source  Nussbaum et al. 2024, Nomic Embed; `NomicBertModel` of transformers 5.24.
template <WeightSource Source>
[[nodiscard]] BertShape nomic_bert_shape(EncoderConfiguration const &configuration, std::size_t longest,
                                         Source const &source) noexcept {
    BertShape shape = bert_shape(configuration, longest);
    shape.rotary_base = configuration.global_theta;
    shape.gated = true;
    bool const published = source.find("emb_ln.weight") || source.find("bert.emb_ln.weight");
    shape.names = published ? &nomic_bert_published_names_k : &nomic_bert_names_k;
    return shape;
}

} // namespace uform

#endif // UFORM_ENCODER_NOMIC_BERT_HPP
