/// What a tokenizer is made of, as the readers of its files hand it over.
#ifndef UFORM_TEXT_TOKENIZER_PARTS_HPP
#define UFORM_TEXT_TOKENIZER_PARTS_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "uform/config.hpp"
#include "uform/list.hpp"
#include "uform/status.hpp"
#include "uform/text/added_tokens.hpp"
#include "uform/text/decoder.hpp"
#include "uform/text/framing.hpp"
#include "uform/text/normalizer.hpp"
#include "uform/text/pre_tokenizer.hpp"
#include "uform/text/token_names.hpp"
#include "uform/text/vocabulary.hpp"
#include "uform/text/word_model.hpp"

namespace uform {

/// Owns all that it points at.
struct TokenizerParts {
    List<NormalizerStep> normalizer;
    List<PreTokenizerStep> pre_tokenizer;
    WordModel model;
    Framing framing;
    Decoder decoder;
    List<AddedToken> added; ///< each name once
    TokenNames names;
    std::size_t vocabulary_size = 0; ///< the greatest id + 1
    std::vector<std::string> warnings;

    /// BERT's step of the normaliser, or null.
    [[nodiscard]] NormalizerStep const *bert() const noexcept {
        for (NormalizerStep const &step : normalizer)
            if (step.kind == NormalizerStep::Kind::bert) return &step;
        return nullptr;
    }
    /// Whether a step of the normaliser does nothing but lower-case.
    [[nodiscard]] bool has_lowercase_step() const noexcept {
        for (NormalizerStep const &step : normalizer)
            if (step.kind == NormalizerStep::Kind::lowercase) return true;
        return false;
    }
};

/// Names the tokens and finds the greatest id, once the added tokens and the framing are in the parts.
UFORM_COLD inline void finish_parts(TokenizerParts &parts, Vocabulary const &vocabulary) {
    std::size_t size = 0;
    auto const take = [&](std::uint32_t id) { size = id < size ? size : std::size_t{id} + 1; };
    for (Trie::Entry const &entry : vocabulary.entries()) take(entry.value);
    for (AddedToken const &token : parts.added) take(token.id);
    for (auto const *items : {&parts.framing.single, &parts.framing.pair})
        for (Framing::Item const &item : *items)
            if (item.kind == Framing::Item::Kind::special) take(item.id);
    parts.vocabulary_size = size;
    parts.names = TokenNames(vocabulary.entries(), parts.added);
}

} // namespace uform

#endif // UFORM_TEXT_TOKENIZER_PARTS_HPP
