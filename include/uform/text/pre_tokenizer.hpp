/// The pre-tokeniser of a tokenizer: steps that cut a text into words, and change them on the way.
#ifndef UFORM_TEXT_PRE_TOKENIZER_HPP
#define UFORM_TEXT_PRE_TOKENIZER_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "uform/config.hpp"
#include "uform/list.hpp"
#include "uform/text/bert_words.hpp"
#include "uform/text/normalizer.hpp"
#include "uform/text/split_pattern.hpp"
#include "uform/text/traced_text.hpp"

namespace uform {

/// One step of a pre-tokeniser.
struct PreTokenizerStep {
    enum class Kind : std::uint8_t {
        bert,
        split,        ///< at what a pattern fits
        meta_space,   ///< blanks become `replacement`, which may be put before the text and begins each word
        prefix_space, ///< a blank before a text that begins with none
        byte_level    ///< the character of each byte
    };
    enum class Prefix : std::uint8_t { never, first, always };
    Kind kind = Kind::bert;
    SplitPattern pattern;
    SplitBehavior behavior = SplitBehavior::removed;
    bool invert = false;
    std::string replacement;
    Prefix prefix = Prefix::never;
    bool split = true;      ///< whether a meta space begins a word
    std::size_t memory = 0; ///< which text of the scratch it writes
};

/// Cuts texts into words.
///
/// Threads  any may use one at the same time, with a `Scratch` each. Takes time linear in the text for each step.
/// Source   Hugging Face tokenizers 0.23.3, its pre_tokenizers.
class PreTokenizer {
    List<PreTokenizerStep> steps_;
    bool only_bert_ = false, asks_origins_ = false;

    using Kind = PreTokenizerStep::Kind;

  public:
    /// The most steps that change a text.
    static constexpr std::size_t most_changes_k = 8;
    /// Memory of a call, kept by the caller.
    struct Scratch {
        std::array<TracedText, most_changes_k> texts;
    };

    PreTokenizer() = default;
    explicit PreTokenizer(List<PreTokenizerStep> steps) : steps_(std::move(steps)) {
        only_bert_ = steps_.size() == 1 && steps_[0].kind == Kind::bert;
        std::size_t memory = 0;
        for (PreTokenizerStep &step : steps_) {
            if (changes(step)) step.memory = memory++;
            asks_origins_ = asks_origins_ || step.prefix == PreTokenizerStep::Prefix::first;
        }
    }

    [[nodiscard]] List<PreTokenizerStep> const &steps() const noexcept { return steps_; }
    /// Whether a step changes the text, for which it needs one of the scratch's.
    [[nodiscard]] static bool changes(PreTokenizerStep const &step) noexcept {
        return step.kind == Kind::meta_space || step.kind == Kind::prefix_space || step.kind == Kind::byte_level;
    }
    /// Whether it cuts differently where a text doesn't begin at the input's first byte.
    [[nodiscard]] bool asks_origins() const noexcept { return asks_origins_; }

    /// Calls `on_word(TracedPiece)` for each word, in order; `on_word` answers false to stop, and this then does. False
    /// also where there is no memory.
    template <class OnWord>
    [[nodiscard]] UFORM_NEVER_INLINE bool cut(TracedPiece text, Scratch &scratch, OnWord &&on_word) const {
        return run(0, text, scratch, on_word);
    }

  private:
    template <class OnWord>
    [[nodiscard]] bool run(std::size_t index, TracedPiece text, Scratch &scratch, OnWord &on_word) const {
        if (index == steps_.size()) return text.text.empty() || on_word(text);
        if (text.text.empty()) return true;
        PreTokenizerStep const &step = steps_[index];
        switch (step.kind) {
        case Kind::bert: {
            BertWords words(text.text);
            for (BertWords::Word word = words.next(); !word.text.empty(); word = words.next()) {
                auto const first = static_cast<std::size_t>(word.text.data() - text.text.data());
                if (!run(index + 1, text.part(first, word.text.size()), scratch, on_word)) return false;
            }
            return true;
        }
        case Kind::split:
            return split_text(text.text, step.pattern, step.behavior, step.invert,
                              [&](std::size_t first, std::size_t last) {
                                  return run(index + 1, text.part(first, last - first), scratch, on_word);
                              });
        case Kind::meta_space: return meta_space(index, text, scratch, on_word);
        case Kind::prefix_space: {
            if (text.text.front() == ' ') return run(index + 1, text, scratch, on_word);
            TracedText &to = scratch.texts[step.memory];
            Rewriter out(text, to);
            Normalizer::write_with_prefix(" ", text, out);
            return !out.failed() && run(index + 1, to.piece(text.origins != nullptr), scratch, on_word);
        }
        case Kind::byte_level: {
            TracedText &to = scratch.texts[step.memory];
            Rewriter out(text, to);
            Normalizer::write_byte_characters(text, out);
            return !out.failed() && run(index + 1, to.piece(text.origins != nullptr), scratch, on_word);
        }
        }
        return true;
    }

    template <class OnWord>
    [[nodiscard]] bool meta_space(std::size_t index, TracedPiece text, Scratch &scratch, OnWord &on_word) const {
        PreTokenizerStep const &step = steps_[index];
        std::string_view const mark = step.replacement;
        bool const begins = text.text.front() == ' ' || text.text.starts_with(mark);
        bool prefix = !begins && step.prefix == PreTokenizerStep::Prefix::always;
        if (!begins && step.prefix == PreTokenizerStep::Prefix::first) prefix = text.origins->first == 0;
        std::size_t blank = text.text.find(' ');
        if (prefix || blank != text.text.npos) {
            TracedText &to = scratch.texts[step.memory];
            Rewriter out(text, to);
            std::size_t at = 0;
            char const *first = text.text.data();
            char32_t const first_character = utf8::read(first);
            char const *mark_at = mark.data();
            char32_t const mark_character = utf8::read(mark_at);
            if (prefix) {
                out.put(mark_character, 0), out.put(first_character, 1);
                at = static_cast<std::size_t>(first - text.text.data());
            }
            for (; blank != text.text.npos; blank = text.text.find(' ', at)) {
                out.keep(blank - at);
                out.drop(1), out.put(mark_character, 1);
                at = blank + 1;
            }
            out.keep(text.text.size() - at);
            if (out.failed()) return false;
            text = to.piece(text.origins != nullptr);
        }
        if (!step.split) return run(index + 1, text, scratch, on_word);
        // Each mark begins a word.
        for (std::size_t first = 0; first != text.text.size();) {
            std::size_t last =
                text.text.find(mark, first + (text.text.substr(first).starts_with(mark) ? mark.size() : 0));
            if (last == text.text.npos) last = text.text.size();
            if (!run(index + 1, text.part(first, last - first), scratch, on_word)) return false;
            first = last;
        }
        return true;
    }
};

} // namespace uform

#endif // UFORM_TEXT_PRE_TOKENIZER_HPP
