/// The model of a tokenizer, whichever it is: what makes tokens of a word.
#ifndef UFORM_TEXT_WORD_MODEL_HPP
#define UFORM_TEXT_WORD_MODEL_HPP

#include <cstdint>
#include <string_view>
#include <utility>

#include "uform/text/bpe.hpp"
#include "uform/text/traced_text.hpp"
#include "uform/text/unigram.hpp"
#include "uform/text/word_level.hpp"
#include "uform/text/wordpiece.hpp"

namespace uform {

/// One of the four models. Threads: any may use one at the same time, with a `Scratch` each.
class WordModel {
    enum class Kind : std::uint8_t { word_piece, bpe, unigram, word_level } kind_ = Kind::word_piece;
    // The others are empty: four of a few hundred bytes read better, and compile quicker, than a `std::variant`.
    WordPiece word_piece_;
    Bpe bpe_;
    Unigram unigram_;
    WordLevel word_level_;

  public:
    /// Memory of a call, kept by the caller.
    struct Scratch {
        Bpe::Scratch bpe;
        Unigram::Scratch unigram;
    };

    WordModel() = default;
    explicit WordModel(WordPiece model) : word_piece_(std::move(model)) {}
    explicit WordModel(Bpe model) : kind_(Kind::bpe), bpe_(std::move(model)) {}
    explicit WordModel(Unigram model) : kind_(Kind::unigram), unigram_(std::move(model)) {}
    explicit WordModel(WordLevel model) : kind_(Kind::word_level), word_level_(std::move(model)) {}

    /// The WordPiece model, or null where it is another.
    [[nodiscard]] WordPiece const *word_piece() const noexcept {
        return kind_ == Kind::word_piece ? &word_piece_ : nullptr;
    }

    /// Hands the tokens of a word to `sink.take(id, first, last)`, with the bytes of the word that each stands for.
    /// False: no memory.
    template <class Sink>
    [[nodiscard]] bool append(std::string_view word, Sink &sink, Scratch &scratch) const noexcept {
        switch (kind_) {
        case Kind::bpe: return bpe_.append(word, sink, scratch.bpe);
        case Kind::unigram: return unigram_.append(word, sink, scratch.unigram);
        case Kind::word_level: return word_level_.append(word, sink);
        case Kind::word_piece: break;
        }
        return word_piece_.append(word, code_points_of(word), sink);
    }
};

} // namespace uform

#endif // UFORM_TEXT_WORD_MODEL_HPP
