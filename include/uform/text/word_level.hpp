/// The WordLevel model: a word is a token of the vocabulary, or the unknown one.
#ifndef UFORM_TEXT_WORD_LEVEL_HPP
#define UFORM_TEXT_WORD_LEVEL_HPP

#include <cstdint>
#include <string_view>

#include "uform/list.hpp"
#include "uform/text/token_table.hpp"

namespace uform {

/// Threads  any may use one at the same time. Source: Hugging Face tokenizers 0.23.3, `WordLevel`.
class WordLevel {
    TokenTable tokens_;
    std::uint32_t unknown_ = 0;

  public:
    /// False: too large.
    [[nodiscard]] bool build(List<Trie::Entry> const &tokens, std::uint32_t unknown) {
        unknown_ = unknown;
        return tokens_.build(tokens);
    }
    /// Hands the token of a word to `sink.take(id, first, last)`. False: no memory.
    template <class Sink> [[nodiscard]] bool append(std::string_view word, Sink &sink) const noexcept {
        std::uint32_t const id = tokens_.find(word);
        return sink.take(id == TokenTable::none_k ? unknown_ : id, 0, word.size());
    }
};

} // namespace uform

#endif // UFORM_TEXT_WORD_LEVEL_HPP
