/// The model of a tokenizer, whichever it is: what makes tokens of a word.
#ifndef UFORM_TEXT_WORD_MODEL_HPP
#define UFORM_TEXT_WORD_MODEL_HPP

#include <string_view>
#include <utility>
#include <variant>

#include "uform/text/bpe.hpp"
#include "uform/text/traced_text.hpp"
#include "uform/text/unigram.hpp"
#include "uform/text/word_level.hpp"
#include "uform/text/wordpiece.hpp"

namespace uform {

/// One of the four models. Threads: any may use one at the same time, with a `Scratch` each.
class WordModel {
    std::variant<WordPiece, Bpe, Unigram, WordLevel> model_;

  public:
    /// Memory of a call, kept by the caller.
    struct Scratch {
        Bpe::Scratch bpe;
        Unigram::Scratch unigram;
    };

    WordModel() = default;
    template <class Model> explicit WordModel(Model model) : model_(std::move(model)) {}

    /// The WordPiece model, or null where it is another.
    [[nodiscard]] WordPiece const *word_piece() const noexcept { return std::get_if<WordPiece>(&model_); }

    /// Hands the tokens of a word to `sink.take(id, first, last)`, with the bytes of the word that each stands for.
    /// False: no memory.
    template <class Sink>
    [[nodiscard]] bool append(std::string_view word, Sink &sink, Scratch &scratch) const noexcept {
        if (auto const *bpe = std::get_if<Bpe>(&model_)) return bpe->append(word, sink, scratch.bpe);
        if (auto const *unigram = std::get_if<Unigram>(&model_)) return unigram->append(word, sink, scratch.unigram);
        if (auto const *words = std::get_if<WordLevel>(&model_)) return words->append(word, sink);
        return std::get_if<WordPiece>(&model_)->append(word, code_points_of(word), sink);
    }
};

} // namespace uform

#endif // UFORM_TEXT_WORD_MODEL_HPP
