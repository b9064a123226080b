/// BERT's pre-tokeniser: words are what stands between whitespace, and each punctuation mark is one.
#ifndef UFORM_TEXT_BERT_WORDS_HPP
#define UFORM_TEXT_BERT_WORDS_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "uform/config.hpp"
#include "uform/text/unicode.hpp"
#include "uform/text/utf8.hpp"

namespace uform {

/// What a code point does to a word: it is part of one, ends one, or is one.
enum class WordKind : std::uint8_t { letter, space, mark };

[[nodiscard]] constexpr WordKind word_kind(char32_t c) noexcept {
    unicode::Properties const is = unicode::properties(c);
    if (is & unicode::whitespace_k) return WordKind::space;
    return is & unicode::punctuation_k ? WordKind::mark : WordKind::letter;
}

/// The kinds of ASCII's bytes.
inline constexpr auto ascii_word_kinds = [] {
    std::array<WordKind, 128> kinds{};
    for (std::size_t i = 0; i != kinds.size(); ++i) kinds[i] = word_kind(static_cast<char32_t>(i));
    return kinds;
}();

/// Answers the words of a text one after the other. The text must be valid UTF-8 and outlive it.
///
/// Memory  allocates nothing. Takes time linear in the text.
/// Source  Hugging Face tokenizers 0.23.3, `BertPreTokenizer`.
class BertWords {
    char const *at_, *end_;

  public:
    struct Word {
        std::string_view text; ///< empty: there is no more
        std::size_t code_points = 0;
    };

    explicit BertWords(std::string_view text) noexcept : at_(text.data()), end_(text.data() + text.size()) {}

    [[nodiscard]] UFORM_ALWAYS_INLINE Word next() noexcept {
        char const *begin = at_;
        std::size_t code_points = 0;
        while (at_ != end_) {
            char const *after = at_;
            auto const byte = static_cast<unsigned char>(*at_);
            WordKind const kind = byte < 0x80 ? (++after, ascii_word_kinds[byte]) : word_kind(utf8::read(after));
            if (kind == WordKind::letter) {
                at_ = after, ++code_points;
                continue;
            }
            if (code_points != 0) break; // what ends the word is looked at again
            if (kind == WordKind::mark) {
                at_ = after, code_points = 1;
                break;
            }
            begin = at_ = after;
        }
        return {std::string_view(begin, static_cast<std::size_t>(at_ - begin)), code_points};
    }
};

} // namespace uform

#endif // UFORM_TEXT_BERT_WORDS_HPP
