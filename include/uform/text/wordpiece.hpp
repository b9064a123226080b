/// The WordPiece model: a word becomes the longest pieces of the vocabulary, or one unknown token.
#ifndef UFORM_TEXT_WORDPIECE_HPP
#define UFORM_TEXT_WORDPIECE_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "uform/list.hpp"
#include "uform/text/trie.hpp"

namespace uform {

/// Greedy longest match over two tries, one for the beginnings of words and one for what follows them.
///
/// Memory  about 8 bytes a byte of the vocabulary, allocated by `build` only.
/// Threads any may read at the same time.
/// Source  Hugging Face tokenizers 0.23.3, `WordPiece`.
class WordPiece {
    Trie beginnings_, continuations_;
    std::uint32_t unknown_ = 0;
    std::size_t most_code_points_ = 0;

  public:
    /// `vocabulary` has every token once; those that begin with `prefix` continue a word, without it.
    /// False: too large for the trie.
    bool build(List<Trie::Entry> const &vocabulary, std::string_view prefix, std::uint32_t unknown,
               std::size_t most_code_points) {
        unknown_ = unknown, most_code_points_ = most_code_points;
        List<Trie::Entry> continuations;
        for (Trie::Entry entry : vocabulary)
            if (entry.key.starts_with(prefix)) continuations.push_back({entry.key.substr(prefix.size()), entry.value});
        // A word may begin with the prefix's characters too, so that the first trie has all tokens.
        return beginnings_.build(vocabulary) && continuations_.build(continuations);
    }

    /// Hands the pieces of a word of so many code points to `sink.take(id, first, last)`, with the bytes of each.
    ///
    /// Errors  false: no memory. Takes time linear in the word for a given vocabulary: each of the pieces, of which
    ///         there are at most as many as bytes, costs at most as many steps as the longest token has bytes.
    template <class Sink>
    [[nodiscard]] bool append(std::string_view word, std::size_t code_points, Sink &sink) const noexcept {
        std::size_t const size = word.size();
        if (code_points > most_code_points_) return sink.take(unknown_, 0, size);
        std::size_t const before = sink.count();
        Trie::Match match = beginnings_.longest(word);
        for (std::size_t at = 0;;) {
            if (match.size == 0) {
                sink.truncate(before);
                return sink.take(unknown_, 0, size);
            }
            if (!sink.take(match.value, at, at + match.size)) return false;
            at += match.size;
            word.remove_prefix(match.size);
            if (word.empty()) return true;
            match = continuations_.longest(word);
        }
    }
};

} // namespace uform

#endif // UFORM_TEXT_WORDPIECE_HPP
