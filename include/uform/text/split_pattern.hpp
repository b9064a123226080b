/// The patterns that texts are split at: literal texts, kinds of code points, and published regular expressions.
#ifndef UFORM_TEXT_SPLIT_PATTERN_HPP
#define UFORM_TEXT_SPLIT_PATTERN_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "uform/text/unicode.hpp"
#include "uform/text/unicode_classes.hpp"
#include "uform/text/utf8.hpp"

namespace uform {

/// What a pattern asks of a code point.
enum class PatternKind : std::uint8_t { letter, number, space, other };

[[nodiscard]] constexpr PatternKind pattern_kind_of(char32_t c) noexcept {
    if (unicode::properties(c) & unicode::whitespace_k) return PatternKind::space;
    unicode::Class const is = unicode::class_of(c);
    if (is & unicode::letter_k) return PatternKind::letter;
    return is & unicode::number_k ? PatternKind::number : PatternKind::other;
}

/// The kinds of ASCII's bytes.
inline constexpr auto ascii_pattern_kinds = [] {
    std::array<PatternKind, 128> kinds{};
    for (std::size_t i = 0; i != kinds.size(); ++i) kinds[i] = pattern_kind_of(static_cast<char32_t>(i));
    return kinds;
}();

/// Finds where a pattern fits, from left to right and without overlaps. Texts must be valid UTF-8.
///
/// Regular expressions are known by their text: each has a scanner here that takes time linear in the text.
/// Source  Hugging Face tokenizers 0.23.3 and its regular expressions; the patterns as the checkpoints publish them.
class SplitPattern {
  public:
    enum class Kind : std::uint8_t {
        literal,
        whitespace,  ///< each whitespace character
        punctuation, ///< each mark, as BERT takes them
        numeric,     ///< each digit or number
        words,       ///< runs of word characters, and runs of what is neither these nor whitespace
        spaces,      ///< runs of whitespace
        two_spaces,  ///< runs of two blanks or more
        gpt2,        ///< contractions, and runs of letters, numbers and others with a blank before them
        cl100k,      ///< contractions in any case, one to three digits, any sign before letters, line breaks apart
        one_digit,   ///< the same with one digit
        clip         ///< contractions, runs of letters, single digits, runs of others, and no whitespace
    };
    struct Match {
        std::size_t first, last; ///< equal: there is none
    };

    SplitPattern() = default;
    explicit SplitPattern(Kind kind) : kind_(kind) {}
    [[nodiscard]] static SplitPattern literal(std::string_view text) {
        SplitPattern pattern(Kind::literal);
        pattern.text_ = text;
        return pattern;
    }
    /// The pattern of a published regular expression, or nothing.
    [[nodiscard]] static std::optional<SplitPattern> of_expression(std::string_view text) {
        struct Published {
            std::string_view text;
            Kind kind;
        };
        static constexpr Published published[] = {
            {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", Kind::gpt2},
            {R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", Kind::gpt2},
            {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
             Kind::cl100k},
            {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
             Kind::one_digit},
            {R"('s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+)", Kind::clip},
            {R"(\s+)", Kind::spaces},
            {" {2,}", Kind::two_spaces},
        };
        for (Published const &one : published)
            if (one.text == text) return SplitPattern(one.kind);
        return std::nullopt;
    }

    [[nodiscard]] Kind kind() const noexcept { return kind_; }
    /// Bytes of the shortest text that it fits, or a bound below.
    [[nodiscard]] std::size_t least_size() const noexcept { return kind_ == Kind::literal ? text_.size() : 1; }

    /// The first place at or behind `from` where it fits.
    [[nodiscard]] Match find(std::string_view text, std::size_t from) const noexcept {
        if (kind_ == Kind::literal) {
            std::size_t const at = text.find(text_, from);
            return at == text.npos || text_.empty() ? Match{text.size(), text.size()} : Match{at, at + text_.size()};
        }
        char const *const begin = text.data(), *const end = begin + text.size();
        for (char const *at = begin + from; at != end;) {
            char const *const last = match(at, end);
            if (last != at) return {static_cast<std::size_t>(at - begin), static_cast<std::size_t>(last - begin)};
            utf8::skip(at);
        }
        return {text.size(), text.size()};
    }

  private:
    Kind kind_ = Kind::literal;
    std::string text_;

    [[nodiscard]] static PatternKind kind_at(char const *&at) noexcept {
        auto const byte = static_cast<unsigned char>(*at);
        return byte < 0x80 ? (++at, ascii_pattern_kinds[byte]) : pattern_kind_of(utf8::read(at));
    }
    [[nodiscard]] static char const *run(char const *at, char const *end, PatternKind kind) noexcept {
        while (at != end) {
            char const *after = at;
            if (kind_at(after) != kind) break;
            at = after;
        }
        return at;
    }
    [[nodiscard]] static bool is_break(char c) noexcept { return c == '\r' || c == '\n'; }

    // The end of a contraction, or `at`. In any case U+017F is an s too.
    [[nodiscard]] static char const *contraction(char const *at, char const *end, bool any_case) noexcept {
        if (end - at < 2 || *at != '\'') return at;
        auto const lower = [&](char c) {
            return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
        };
        char const first = lower(at[1]), second = end - at > 2 ? lower(at[2]) : '\0';
        if (first == 's' || first == 't' || first == 'm' || first == 'd') return at + 2;
        if ((first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l'))
            return at + 3;
        if (any_case && end - at > 2 && at[1] == '\xC5' && at[2] == '\xBF') return at + 3;
        return at;
    }
    // Whitespace up to its last character, which stays for what follows; all of it at the end of the text.
    [[nodiscard]] static char const *spaces(char const *at, char const *end) noexcept {
        char const *const last = run(at, end, PatternKind::space);
        if (last == end || last == at) return last;
        char const *before = last;
        utf8::skip_back(before);
        return before == at ? last : before;
    }
    [[nodiscard]] static char const *match_gpt2(char const *at, char const *end) noexcept {
        if (*at == '\'')
            if (char const *const last = contraction(at, end, false); last != at) return last;
        char const *after = at;
        if (*at == ' ') {
            ++after;
            if (after == end) return end;
            char const *behind = after;
            PatternKind const kind = kind_at(behind);
            return kind == PatternKind::space ? spaces(at, end) : run(behind, end, kind);
        }
        PatternKind const kind = kind_at(after);
        return kind == PatternKind::space ? spaces(at, end) : run(after, end, kind);
    }
    [[nodiscard]] static char const *match_cl100k(char const *at, char const *end, int most_digits) noexcept {
        if (*at == '\'')
            if (char const *const last = contraction(at, end, true); last != at) return last;
        char const *after = at;
        PatternKind kind = kind_at(after);
        if (kind == PatternKind::letter) return run(after, end, kind);
        if (kind == PatternKind::number) {
            for (int i = 1; i != most_digits && after != end; ++i) {
                char const *next = after;
                if (kind_at(next) != PatternKind::number) break;
                after = next;
            }
            return after;
        }
        if (!is_break(*at) && after != end) {
            char const *next = after;
            if (kind_at(next) == PatternKind::letter) return run(next, end, PatternKind::letter);
        }
        char const *others = at;
        if (*at == ' ') others = after;
        char const *last = run(others, end, PatternKind::other);
        if (last != others) {
            while (last != end && is_break(*last)) ++last;
            return last;
        }
        char const *const blank = run(at, end, PatternKind::space);
        for (last = blank; last != at; --last)
            if (is_break(last[-1])) return last;
        if (blank == end) return blank;
        return spaces(at, end);
    }
    [[nodiscard]] static char const *match_clip(char const *at, char const *end) noexcept {
        if (char const *const last = contraction(at, end, false); last != at) return last;
        char const *after = at;
        PatternKind const kind = kind_at(after);
        if (kind == PatternKind::space) return at;
        return kind == PatternKind::number ? after : run(after, end, kind);
    }
    [[nodiscard]] static char const *match_words(char const *at, char const *end) noexcept {
        auto const kind = [](char32_t c) {
            unicode::Properties const is = unicode::properties(c);
            return is & unicode::word_k ? 1 : is & unicode::whitespace_k ? 0 : 2;
        };
        char const *after = at;
        int const first = kind(utf8::read(after));
        if (first == 0) return at;
        for (char const *next = after; after != end; after = next)
            if (kind(utf8::read(next)) != first) break;
        return after;
    }

    // The end of what fits at `at`, or `at`.
    [[nodiscard]] char const *match(char const *at, char const *end) const noexcept {
        char const *after = at;
        switch (kind_) {
        case Kind::gpt2: return match_gpt2(at, end);
        case Kind::cl100k: return match_cl100k(at, end, 3);
        case Kind::one_digit: return match_cl100k(at, end, 1);
        case Kind::clip: return match_clip(at, end);
        case Kind::words: return match_words(at, end);
        case Kind::spaces: return run(at, end, PatternKind::space);
        case Kind::two_spaces:
            while (after != end && *after == ' ') ++after;
            return after - at < 2 ? at : after;
        case Kind::whitespace: return unicode::properties(utf8::read(after)) & unicode::whitespace_k ? after : at;
        case Kind::punctuation: return unicode::properties(utf8::read(after)) & unicode::punctuation_k ? after : at;
        case Kind::numeric: return unicode::class_of(utf8::read(after)) & unicode::numeric_k ? after : at;
        default: return at;
        }
    }
};

/// What becomes of the matches of a split.
enum class SplitBehavior : std::uint8_t { removed, isolated, merged_with_previous, merged_with_next, contiguous };

/// Cuts a text at what a pattern fits, or with `invert` at what stands between. Calls `on_part(first, last)` for each
/// part that is not empty, in order, which answers false to stop; `split_text` then does.
///
/// Source  Hugging Face tokenizers 0.23.3, `NormalizedString::split`.
template <class OnPart>
[[nodiscard]] bool split_text(std::string_view text, SplitPattern const &pattern, SplitBehavior behavior, bool invert,
                              OnPart &&on_part) {
    std::size_t first = 0, last = 0; // what waits to be handed over
    bool waits = false, before = false;
    auto const flush = [&] {
        bool const go_on = !waits || first == last || on_part(first, last);
        waits = false;
        return go_on;
    };
    auto const item = [&](std::size_t from, std::size_t to, bool matched) {
        bool joins = false;
        switch (behavior) {
        case SplitBehavior::removed:
            if (matched) return true;
            break;
        case SplitBehavior::isolated: break;
        case SplitBehavior::merged_with_previous: joins = matched && !before && waits; break;
        case SplitBehavior::merged_with_next: joins = !matched && before && waits; break;
        case SplitBehavior::contiguous: joins = matched == before && waits; break;
        }
        before = matched;
        if (joins) {
            last = to;
            return true;
        }
        if (!flush()) return false;
        first = from, last = to, waits = true;
        return true;
    };
    for (std::size_t at = 0; at != text.size();) {
        SplitPattern::Match const match = pattern.find(text, at);
        if (match.first != at && !item(at, match.first, invert)) return false;
        if (match.first == match.last) break;
        if (!item(match.first, match.last, !invert)) return false;
        at = match.last;
    }
    return flush();
}

} // namespace uform

#endif // UFORM_TEXT_SPLIT_PATTERN_HPP
