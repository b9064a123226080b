/// RoBERTa, CamemBERT and XLM-RoBERTa: BERT whose positions start after the padding id.
#ifndef UFORM_ENCODER_ROBERTA_HPP
#define UFORM_ENCODER_ROBERTA_HPP

#include <cstddef>

#include "uform/checkpoint/encoder_configuration.hpp"
#include "uform/encoder/bert_shape.hpp"

namespace uform {

inline constexpr BertNames roberta_names_k = {.prefix = "roberta."};

/// A padding token inside a text takes no position: it has the row of its id, and those after it count on.
///
/// Source  Liu et al. 2019, RoBERTa; `create_position_ids_from_input_ids` of transformers 5.24.
[[nodiscard]] inline BertShape roberta_shape(EncoderConfiguration const &configuration, std::size_t longest) noexcept {
    BertShape shape = bert_shape(configuration, longest);
    shape.unplaced_id = shape.first_position - 1;
    shape.names = &roberta_names_k;
    return shape;
}

} // namespace uform

#endif // UFORM_ENCODER_ROBERTA_HPP
