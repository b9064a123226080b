/// The normaliser of a tokenizer: steps that change a text one after the other.
#ifndef UFORM_TEXT_NORMALIZER_HPP
#define UFORM_TEXT_NORMALIZER_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "uform/list.hpp"
#include "uform/text/bert_normalizer.hpp"
#include "uform/text/byte_characters.hpp"
#include "uform/text/character_map.hpp"
#include "uform/text/normal_forms.hpp"
#include "uform/text/split_pattern.hpp"
#include "uform/text/traced_text.hpp"
#include "uform/text/unicode.hpp"
#include "uform/text/unicode_classes.hpp"
#include "uform/text/utf8.hpp"

namespace uform {

/// One step of a normaliser.
struct NormalizerStep {
    enum class Kind : std::uint8_t {
        bert,
        normal_form,
        lowercase,
        strip,         ///< whitespace at the ends
        strip_accents, ///< marks of every kind
        replace,
        prepend,
        character_map,
        nmt,       ///< control characters go, other spaces become blanks
        byte_level ///< the character of each byte
    };
    Kind kind = Kind::lowercase;
    BertNormalizer::Flags bert;
    NormalForm form;
    bool left = false, right = false; ///< which ends are stripped
    SplitPattern pattern;
    std::string content; ///< what replaces the pattern, or is prepended
    std::shared_ptr<CharacterMap const> map;

    /// The most bytes that a byte can become, but for what is put in once a text.
    [[nodiscard]] std::size_t growth() const noexcept {
        if (kind == Kind::character_map) return map->growth();
        if (kind == Kind::byte_level) return 2;
        if (kind == Kind::normal_form) return form.compatible ? 11 : 3; // U+FDFA and U+1D160 grow the most
        if (kind != Kind::replace) return 1;
        std::size_t const least = pattern.least_size();
        return content.size() > least ? (content.size() + least - 1) / least : 1;
    }
};

/// Normalises texts, step by step, and knows where each byte came from if asked.
///
/// Threads  any may use one at the same time, with a `Scratch` each. Takes time linear in the text for each step.
/// Source   Hugging Face tokenizers 0.23.3, its normalizers.
class Normalizer {
    List<NormalizerStep> steps_;
    BertNormalizer fused_; // all steps in one pass, where they are BERT's with a lower-casing on either side
    bool has_fused_ = false;

  public:
    /// Memory of a call, kept by the caller.
    struct Scratch {
        TracedText texts[2];
        BertNormalizer::Scratch bert;
        NormalFormPass::Scratch form;
    };

    Normalizer() = default;
    explicit Normalizer(List<NormalizerStep> steps) : steps_(std::move(steps)) { fuse(); }

    [[nodiscard]] List<NormalizerStep> const &steps() const noexcept { return steps_; }
    [[nodiscard]] bool is_identity() const noexcept { return steps_.empty(); }

    /// Replaces `text` by the normalised one, which lies in the scratch or is what it was. Origins are kept where the
    /// text has some. False: no memory.
    [[nodiscard]] bool normalize(TracedPiece &text, Scratch &scratch) const noexcept {
        if (has_fused_ && !text.origins) {
            if (!fused_.normalize(text.text, scratch.texts[0].bytes, scratch.bert)) return false;
            text = scratch.texts[0].piece(false);
            return true;
        }
        std::size_t turn = 0;
        for (NormalizerStep const &step : steps_)
            if (!run(step, text, scratch, turn)) return false;
        return true;
    }

  private:
    using Kind = NormalizerStep::Kind;

    void fuse() {
        BertNormalizer::Flags flags;
        bool seen_bert = false;
        for (NormalizerStep const &step : steps_) {
            if (step.kind == Kind::lowercase) {
                (seen_bert ? flags.lowercase : flags.lowercase_first) = true;
            } else if (step.kind == Kind::bert && !seen_bert) {
                bool const first = flags.lowercase_first;
                flags = step.bert, flags.lowercase_first = first, seen_bert = true;
            } else {
                return;
            }
        }
        has_fused_ = !steps_.empty();
        fused_ = BertNormalizer(flags);
    }

    // Each step writes into the text that the last one didn't.
    template <class Body>
    [[nodiscard]] static bool rewrite(TracedPiece &text, Scratch &scratch, std::size_t &turn, Body &&body) noexcept {
        TracedText &to = scratch.texts[turn];
        Rewriter out(text, to);
        body(out);
        if (out.failed()) return false;
        text = to.piece(text.origins != nullptr);
        turn ^= 1;
        return true;
    }
    // Writes what `map` makes of each code point, which is one for one.
    template <class Map>
    [[nodiscard]] static bool each(TracedPiece &text, Scratch &scratch, std::size_t &turn, Map &&map) noexcept {
        return rewrite(text, scratch, turn, [&](Rewriter &out) {
            char const *const end = text.text.data() + text.text.size();
            for (char const *at = text.text.data(); at != end;) map(utf8::read(at), out);
        });
    }
    // Drops what `keep` doesn't want.
    template <class Keep>
    [[nodiscard]] static bool filter(TracedPiece &text, Scratch &scratch, std::size_t &turn, Keep &&keep) noexcept {
        return rewrite(text, scratch, turn, [&](Rewriter &out) {
            char const *const end = text.text.data() + text.text.size();
            char const *at = text.text.data();
            bool waits = false;
            char32_t waiting = 0;
            std::size_t dropped = 0;
            while (at != end) {
                char32_t const c = utf8::read(at);
                if (!keep(c)) {
                    ++dropped;
                    continue;
                }
                if (waits) out.put(waiting, -static_cast<std::ptrdiff_t>(dropped));
                else out.drop(dropped);
                waits = true, waiting = c, dropped = 0;
            }
            if (waits) out.put(waiting, -static_cast<std::ptrdiff_t>(dropped));
        });
    }
    [[nodiscard]] static bool lower(TracedPiece &text, Scratch &scratch, std::size_t &turn) noexcept {
        return each(text, scratch, turn, [](char32_t c, Rewriter &out) {
            if (!(unicode::properties(c) & unicode::lowers_k)) return out.put(c, 0);
            std::ptrdiff_t change = 0;
            unicode::lower_case(c, [&](char32_t low) { out.put(low, change), change = 1; });
        });
    }
    [[nodiscard]] static bool bring_into(NormalForm form, TracedPiece &text, Scratch &scratch,
                                         std::size_t &turn) noexcept {
        TracedText &to = scratch.texts[turn];
        NormalFormPass const pass(form, text, to, scratch.form);
        if (!pass.done()) return false;
        text = to.piece(text.origins != nullptr);
        turn ^= 1;
        return true;
    }
    [[nodiscard]] static bool bert(BertNormalizer::Flags flags, TracedPiece &text, Scratch &scratch,
                                   std::size_t &turn) noexcept {
        if (flags.lowercase_first && !lower(text, scratch, turn)) return false;
        if (flags.clean_text) {
            auto const kept = [](char32_t c) { return !(unicode::properties(c) & unicode::removed_k); };
            auto const blank = [](char32_t c, Rewriter &out) {
                out.put(unicode::properties(c) & unicode::whitespace_k ? U' ' : c, 0);
            };
            if (!filter(text, scratch, turn, kept) || !each(text, scratch, turn, blank)) return false;
        }
        if (flags.handle_chinese_chars) {
            auto const spaced = [](char32_t c, Rewriter &out) {
                if (!(unicode::properties(c) & unicode::ideograph_k)) return out.put(c, 0);
                out.put(U' ', 0), out.put(c, 1), out.put(U' ', 1);
            };
            if (!each(text, scratch, turn, spaced)) return false;
        }
        if (flags.strip_accents) {
            auto const kept = [](char32_t c) { return !(unicode::properties(c) & unicode::mark_k); };
            if (!bring_into({}, text, scratch, turn) || !filter(text, scratch, turn, kept)) return false;
        }
        return !flags.lowercase || lower(text, scratch, turn);
    }
    [[nodiscard]] static bool is_space(char32_t c) noexcept {
        return (unicode::properties(c) & unicode::whitespace_k) != 0;
    }
    static void strip(NormalizerStep const &step, TracedPiece &text) noexcept {
        char const *first = text.text.data(), *last = first + text.text.size();
        if (step.left)
            for (char const *next = first; next != last; first = next)
                if (!is_space(utf8::read(next))) break;
        if (step.right)
            for (char const *before = last; before != first; last = before)
                if (!is_space(utf8::read_back(before))) break;
        text = text.part(static_cast<std::size_t>(first - text.text.data()), static_cast<std::size_t>(last - first));
    }
    [[nodiscard]] static bool replace(NormalizerStep const &step, TracedPiece &text, Scratch &scratch,
                                      std::size_t &turn) noexcept {
        if (SplitPattern::Match const match = step.pattern.find(text.text, 0); match.first == match.last) return true;
        return rewrite(text, scratch, turn, [&](Rewriter &out) {
            for (std::size_t at = 0; at != text.text.size();) {
                SplitPattern::Match const match = step.pattern.find(text.text, at);
                out.keep(match.first - at);
                if (match.first == match.last) break;
                out.drop(code_points_of(text.text.substr(match.first, match.last - match.first)));
                for (char const *c = step.content.data(), *const end = c + step.content.size(); c != end;)
                    out.put(utf8::read(c), 1);
                at = match.last;
            }
        });
    }
    [[nodiscard]] static bool nmt(TracedPiece &text, Scratch &scratch, std::size_t &turn) noexcept {
        auto const kept = [](char32_t c) {
            return !((c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F);
        };
        auto const blank = [](char32_t c, Rewriter &out) {
            bool const space = c == 9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 ||
                               (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                               c == 0xFEFF || c == 0xFFFD;
            out.put(space ? U' ' : c, 0);
        };
        return filter(text, scratch, turn, kept) && each(text, scratch, turn, blank);
    }

  public:
    /// Puts a text before another one that is not empty. For pre-tokenisers too.
    static void write_with_prefix(std::string_view prefix, TracedPiece text, Rewriter &out) noexcept {
        std::ptrdiff_t change = 0;
        for (char const *c = prefix.data(), *const end = c + prefix.size(); c != end;)
            out.put(utf8::read(c), change), change = 1;
        char const *at = text.text.data();
        char32_t const next = utf8::read(at);
        out.put(next, 1);
        if (prefix.empty()) out.drop(1);
        out.keep(text.text.size() - static_cast<std::size_t>(at - text.text.data()));
    }
    /// Writes the character of each byte. For pre-tokenisers too.
    static void write_byte_characters(TracedPiece text, Rewriter &out) noexcept {
        for (char const *at = text.text.data(), *const end = at + text.text.size(); at != end;) {
            char const *byte = at;
            utf8::skip(at);
            for (std::ptrdiff_t change = 0; byte != at; ++byte, change = 1)
                out.put(byte_characters[static_cast<unsigned char>(*byte)], change);
        }
    }

  private:
    [[nodiscard]] static bool run(NormalizerStep const &step, TracedPiece &text, Scratch &scratch,
                                  std::size_t &turn) noexcept {
        switch (step.kind) {
        case Kind::bert: return bert(step.bert, text, scratch, turn);
        case Kind::normal_form: return bring_into(step.form, text, scratch, turn);
        case Kind::lowercase: return lower(text, scratch, turn);
        case Kind::strip: strip(step, text); return true;
        case Kind::strip_accents:
            return filter(text, scratch, turn,
                          [](char32_t c) { return !(unicode::class_of(c) & unicode::combining_k); });
        case Kind::replace: return replace(step, text, scratch, turn);
        case Kind::prepend:
            if (text.text.empty()) return true;
            return rewrite(text, scratch, turn, [&](Rewriter &out) { write_with_prefix(step.content, text, out); });
        case Kind::character_map: {
            bool failed = false;
            TracedText &to = scratch.texts[turn];
            if (step.map->apply(text, to, failed)) text = to.piece(text.origins != nullptr), turn ^= 1;
            return !failed;
        }
        case Kind::nmt: return nmt(text, scratch, turn);
        case Kind::byte_level:
            return rewrite(text, scratch, turn, [&](Rewriter &out) { write_byte_characters(text, out); });
        }
        return true;
    }
};

} // namespace uform

#endif // UFORM_TEXT_NORMALIZER_HPP
