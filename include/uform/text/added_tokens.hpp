/// Added tokens: strings that are found in a text before the model sees it, and have an id each.
#ifndef UFORM_TEXT_ADDED_TOKENS_HPP
#define UFORM_TEXT_ADDED_TOKENS_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "uform/config.hpp"
#include "uform/list.hpp"
#include "uform/text/trie.hpp"
#include "uform/text/unicode.hpp"
#include "uform/text/utf8.hpp"

namespace uform {

/// A token as a checkpoint adds it, with how it is sought.
struct AddedToken {
    std::string content;
    std::uint32_t id = 0;
    bool single_word = false; ///< not beside a word character
    bool lstrip = false;      ///< takes the whitespace before it
    bool rstrip = false;      ///< takes the whitespace behind it
    bool normalized = false;  ///< its normalised form is sought in the normalised text
    bool special = false;     ///< of no effect on ids
};

/// Cuts a text at the tokens that stand in it: of two that overlap the one that begins first, then the longer.
///
/// Memory  allocated by `build` only. Threads: any may read at the same time.
/// Source  Hugging Face tokenizers 0.23.3, `AddedVocabulary`.
class AddedTokens {
    Trie patterns_; // the value is an index of `tokens_`
    List<AddedToken> tokens_;
    std::array<bool, 256> begins_{}; // the bytes that patterns begin with
    int only_begin_ = -1;            // the one byte that all patterns begin with

    [[nodiscard]] static bool is(char32_t c, unicode::Properties kind) noexcept {
        return (unicode::properties(c) & kind) != 0;
    }
    // The next place where a pattern may begin.
    [[nodiscard]] std::size_t candidate(std::string_view text, std::size_t at) const noexcept {
        if (only_begin_ >= 0) {
            void const *const found =
                at == text.size() ? nullptr : std::memchr(text.data() + at, only_begin_, text.size() - at);
            return found ? static_cast<std::size_t>(static_cast<char const *>(found) - text.data()) : text.size();
        }
        while (at != text.size() && !begins_[static_cast<unsigned char>(text[at])]) ++at;
        return at;
    }

  public:
    /// A token and the form that it is sought in.
    struct Pattern {
        std::string form;
        AddedToken token;
    };

    /// Replaces the content. Empty forms are left out, of equal forms the first counts. False: too large for the trie.
    UFORM_COLD bool build(List<Pattern> patterns) {
        tokens_.clear(), begins_ = {}, only_begin_ = -1;
        List<Trie::Entry> entries;
        for (Pattern &pattern : patterns) {
            if (pattern.form.empty()) continue;
            auto const first = static_cast<unsigned char>(pattern.form[0]);
            only_begin_ = tokens_.empty() || only_begin_ == first ? first : -2;
            begins_[first] = true;
            entries.push_back({pattern.form, static_cast<std::uint32_t>(tokens_.size())});
            tokens_.push_back(std::move(pattern.token));
        }
        return patterns_.build(std::move(entries));
    }

    /// Adds a token that is sought as it is spelt, to others that are. False: too large for the trie.
    UFORM_COLD bool add(AddedToken token) {
        List<Pattern> patterns{{token.content, token}};
        for (AddedToken const &one : tokens_) patterns.push_back({one.content, one});
        return build(std::move(patterns));
    }

    [[nodiscard]] bool empty() const noexcept { return tokens_.empty(); }

    /// Calls `on_text(std::string_view)` for what stands between tokens and `on_token(id, std::string_view)` for each
    /// token, with what it took of the text, in order;
    /// none for what is empty. Both answer false to stop, and `split` then does. The text must be valid UTF-8.
    ///
    /// Takes time linear in the text, for given tokens. Where the whitespace that one token took is sought again as
    /// part of another, the reference goes on from the later token's end, and so does this; where it then stops with
    /// a panic, because that end lies before what was taken, the later token is left out.
    template <class OnText, class OnToken>
    [[nodiscard]] bool split(std::string_view text, OnText &&on_text, OnToken &&on_token) const {
        if (empty()) return text.empty() || on_text(text);
        char const *const begin = text.data(), *const end = begin + text.size();
        std::size_t from = 0;                         // what comes before is done
        std::size_t spaces_begin = 0, spaces_end = 0; // whitespace that was run through already
        for (std::size_t at = candidate(text, 0); at != text.size(); at = candidate(text, at)) {
            Trie::Match const match = patterns_.longest(text.substr(at));
            if (match.size == 0) {
                ++at;
                continue;
            }
            AddedToken const &token = tokens_[match.value];
            std::size_t start = at, stop = at += match.size;
            if (token.single_word) {
                char const *before = begin + start, *after = begin + stop;
                if (before != begin && is(utf8::read_back(before), unicode::word_k)) continue;
                if (after != end && is(utf8::read(after), unicode::word_k)) continue;
            }
            if (token.lstrip) {
                while (start > from) {
                    char const *before = begin + start;
                    if (!is(utf8::read_back(before), unicode::whitespace_k)) break;
                    start = static_cast<std::size_t>(before - begin);
                }
                if (start < from) start = from;
            }
            if (token.rstrip) {
                if (stop < spaces_begin || stop >= spaces_end) {
                    char const *spaces = begin + stop;
                    while (spaces != end) {
                        char const *after = spaces;
                        if (!is(utf8::read(after), unicode::whitespace_k)) break;
                        spaces = after;
                    }
                    spaces_begin = stop, spaces_end = static_cast<std::size_t>(spaces - begin);
                }
                stop = spaces_end;
            }
            if (start > stop) continue;
            if (from < start && !on_text(text.substr(from, start - from))) return false;
            if (start != stop && !on_token(token.id, text.substr(start, stop - start))) return false;
            from = stop;
        }
        return from >= text.size() || on_text(text.substr(from));
    }
};

} // namespace uform

#endif // UFORM_TEXT_ADDED_TOKENS_HPP
