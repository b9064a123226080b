/// Tokens with the bytes of the input that each stands for.
#ifndef UFORM_TEXT_TOKEN_SINK_HPP
#define UFORM_TEXT_TOKEN_SINK_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "uform/buffer.hpp"
#include "uform/text/token_names.hpp"
#include "uform/text/traced_text.hpp"
#include "uform/text/unicode.hpp"
#include "uform/text/utf8.hpp"

namespace uform {

/// A token of a text.
struct Token {
    std::uint32_t id;
    std::uint32_t segment;   ///< 0, or what the post-processor says
    std::size_t first, last; ///< bytes of the text that it stands for; both 0 for a special token
};

/// How the bytes of tokens leave out blanks at their ends, which byte-level tokens spell U+0120.
struct TokenTrimming {
    std::string_view input;            ///< the text that the tokens are of
    TokenNames const *names = nullptr; ///< null: nothing is trimmed
    bool keeps_first = false;          ///< one blank before the first token stays, since it was put there
};

/// Counts tokens and appends at most `limit` of them to a buffer. Threads: one at a time.
///
/// Source  Hugging Face tokenizers 0.23.3, `Encoding` and the offsets of its `ByteLevel`.
class TokenSink {
    Buffer<Token> &tokens_;
    TokenTrimming trimming_;
    std::size_t first_, limit_, count_ = 0;
    std::uint32_t segment_;
    TracedPiece piece_;
    bool added_ = false;

    void trim(Token &token) const noexcept {
        auto const is_blank = [](char32_t c) {
            return c == 0x120 || (unicode::properties(c) & unicode::whitespace_k) != 0;
        };
        std::string_view const name = added_ ? piece_.text : trimming_.names->find(token.id).value_or("");
        std::size_t leading = 0, trailing = 0;
        char const *const begin = name.data(), *const end = begin + name.size();
        for (char const *at = begin; at != end && is_blank(utf8::read(at));) ++leading;
        for (char const *at = end; at != begin && is_blank(utf8::read_back(at));) ++trailing;
        if (leading == 1 && trimming_.keeps_first && (count_ == 0 || token.first == 0)) leading = 0;
        std::string_view const input = trimming_.input;
        for (; leading != 0 && token.first < token.last; --leading)
            token.first += utf8::sequence_at(input.data() + token.first, input.size() - token.first).size;
        for (; trailing != 0 && token.last > token.first; --trailing) { // to the beginning of a code point
            do --token.last;
            while (token.last > token.first && (static_cast<unsigned char>(input[token.last]) & 0xC0) == 0x80);
        }
    }

  public:
    TokenSink(Buffer<Token> &tokens, std::size_t limit, std::uint32_t segment, TokenTrimming trimming) noexcept
        : tokens_(tokens), trimming_(trimming), first_(tokens.size()), limit_(limit), segment_(segment) {}

    /// The tokens taken, kept or not.
    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    /// A word begins, or an added token, which must be traced.
    void begin(TracedPiece piece, bool added) noexcept { piece_ = piece, added_ = added; }
    /// Takes the token of bytes `first` to `last` of the word. False: no memory.
    [[nodiscard]] bool take(std::uint32_t id, std::size_t first, std::size_t last) noexcept {
        if (count_ < limit_) {
            Token token{id, segment_, first, last};
            if (first < last && last <= piece_.text.size())
                token.first = piece_.origins[first].first, token.last = piece_.origins[last - 1].last;
            if (trimming_.names) trim(token);
            if (!tokens_.push_back(token)) return false;
        }
        ++count_;
        return true;
    }
    /// Forgets all but the first `count` tokens.
    void truncate(std::size_t count) noexcept {
        count_ = count;
        tokens_.truncate(first_ + count);
    }
};

} // namespace uform

#endif // UFORM_TEXT_TOKEN_SINK_HPP
