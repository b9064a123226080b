/// The Unigram model: the pieces of a word whose scores add up to the most.
#ifndef UFORM_TEXT_UNIGRAM_HPP
#define UFORM_TEXT_UNIGRAM_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "uform/buffer.hpp"
#include "uform/list.hpp"
#include "uform/text/token_table.hpp"
#include "uform/text/trie.hpp"
#include "uform/text/utf8.hpp"

namespace uform {

/// A Viterbi search over all ways to cut a word into pieces; of equal ones that whose last piece starts first.
///
/// Unknown characters in a row are one token, or with byte fallback the tokens of their bytes.
/// Memory  allocated by `build` only, and the caller's scratch: 16 bytes a byte of the longest word. Threads: any may
///         use one at the same time, with a `Scratch` each.
/// Source  Kudo 2018; Hugging Face tokenizers 0.23.3, `Unigram`.
class Unigram {
    Trie pieces_;
    List<double> scores_; // by id
    double unknown_score_ = 0;
    std::uint32_t unknown_ = 0;
    bool byte_fallback_ = false;
    std::array<std::uint32_t, 256> fallback_{};

    struct End { // the best way to the place behind a byte
        double score;
        std::uint32_t id;
        std::uint32_t size; // bytes of the last piece; 0: no way was found
    };

  public:
    /// Memory of a call, kept by the caller.
    struct Scratch {
        Buffer<End> ends;
    };

    /// `pieces` by id, of which the unknown one is `unknown`; of equal ones the last counts. False: too large.
    [[nodiscard]] bool build(List<Trie::Entry> const &pieces, List<double> scores, std::uint32_t unknown,
                             bool byte_fallback) {
        scores_ = std::move(scores), unknown_ = unknown, byte_fallback_ = byte_fallback;
        double least = 0;
        for (std::size_t i = 0; i != scores_.size(); ++i) least = i == 0 || scores_[i] < least ? scores_[i] : least;
        unknown_score_ = least - 10.0;
        if (!pieces_.build(pieces)) return false;
        static constexpr char digits[] = "0123456789ABCDEF";
        for (std::size_t i = 0; i != 256; ++i) {
            char const spelled[] = {'<', '0', 'x', digits[i / 16], digits[i % 16], '>'};
            fallback_[i] = find({spelled, sizeof spelled});
        }
        return true;
    }

    /// Hands the tokens of a word to `sink.take(id, first, last)`, with the bytes that each stands for.
    ///
    /// Errors  false: no memory. Takes time linear in the word for a given vocabulary.
    template <class Sink>
    [[nodiscard]] bool append(std::string_view word, Sink &sink, Scratch &scratch) const noexcept {
        if (word.empty()) return true;
        if (word.size() >= UINT32_MAX || !scratch.ends.resize(word.size() + 1)) return false;
        End *const ends = scratch.ends.data();
        for (std::size_t i = 0; i <= word.size(); ++i) ends[i].size = 0;
        ends[0].score = 0;
        for (std::size_t at = 0; at != word.size();) {
            double const score = ends[at].score;
            std::size_t const character = utf8::sequence_at(word.data() + at, word.size() - at).size;
            bool single = false;
            auto const offer = [&](std::size_t size, double candidate, std::uint32_t id) {
                End &end = ends[at + size];
                if (end.size == 0 || candidate > end.score) end = {candidate, id, static_cast<std::uint32_t>(size)};
            };
            pieces_.each_prefix(word.substr(at), [&](std::size_t size, std::uint32_t id) {
                offer(size, scores_[id] + score, id);
                single = single || size == character;
            });
            if (!single) offer(character, unknown_score_ + score, unknown_);
            at += character;
        }
        return hand_over(word, sink, ends);
    }

  private:
    [[nodiscard]] std::uint32_t find(std::string_view piece) const noexcept {
        Trie::Match const match = pieces_.longest(piece);
        return match.size == piece.size() && match.size != 0 ? match.value : TokenTable::none_k;
    }
    // Turns the way around, so that it can be walked from the beginning.
    template <class Sink> [[nodiscard]] bool hand_over(std::string_view word, Sink &sink, End *ends) const noexcept {
        std::size_t at = word.size();
        std::uint32_t size = ends[at].size, id = ends[at].id;
        while (at != 0) {
            std::size_t const before = at - size;
            std::uint32_t const next_size = ends[before].size, next_id = ends[before].id;
            ends[before].size = size, ends[before].id = id; // now of the piece that begins there
            at = before, size = next_size, id = next_id;
        }
        while (at != word.size()) {
            std::size_t const first = at;
            id = ends[at].id, at += ends[at].size;
            if (id != unknown_) {
                if (!sink.take(id, first, at)) return false;
                continue;
            }
            while (at != word.size() && ends[at].id == unknown_) at += ends[at].size;
            if (!unknown(word.substr(first, at - first), first, sink)) return false;
        }
        return true;
    }
    template <class Sink>
    [[nodiscard]] bool unknown(std::string_view part, std::size_t first, Sink &sink) const noexcept {
        // What was fused may be a piece, of a score below that of its characters.
        if (std::uint32_t const id = find(part); id != TokenTable::none_k)
            return sink.take(id, first, first + part.size());
        bool falls_back = byte_fallback_;
        for (char byte : part)
            falls_back = falls_back && fallback_[static_cast<unsigned char>(byte)] != TokenTable::none_k;
        if (!falls_back) return sink.take(unknown_, first, first + part.size());
        for (char byte : part)
            if (!sink.take(fallback_[static_cast<unsigned char>(byte)], first, first + part.size())) return false;
        return true;
    }
};

} // namespace uform

#endif // UFORM_TEXT_UNIGRAM_HPP
