/// The post-processor of a tokenizer: special tokens around a text or a pair, and their segments.
#ifndef UFORM_TEXT_FRAMING_HPP
#define UFORM_TEXT_FRAMING_HPP

#include <cstddef>
#include <cstdint>

#include "uform/config.hpp"
#include "uform/list.hpp"

namespace uform {

/// How a text too long is cut to the limit.
enum class PairTruncation : std::uint8_t {
    longest_first, ///< the longer of the two, down to the shorter, then both
    only_first,    ///< the first, of which something must be left
    only_second    ///< the second, of which something must be left
};

/// Where special tokens stand, and which segment each token belongs to.
///
/// Source  Hugging Face tokenizers 0.23.3, its post_processors.
struct Framing {
    struct Item {
        enum class Kind : std::uint8_t { special, first, second };
        Kind kind;
        std::uint32_t id;      ///< of a special token
        std::uint32_t segment; ///< `token_type_ids` of the item's tokens
    };
    List<Item> single{{Item::Kind::first, 0, 0}};                           ///< one text, once
    List<Item> pair{{Item::Kind::first, 0, 0}, {Item::Kind::second, 0, 1}}; ///< two texts, once each
    bool serves_pairs = true;   ///< false: the file's template leaves a text of a pair out, or repeats it
    bool trims_offsets = false; ///< the bytes of a token leave out blanks at its ends
    bool prefix_space = false;  ///< but for one blank before the first token

    /// Frames as BERT does, `begin` a `end` b `end` with b and what follows of segment 1; or as RoBERTa does, with two
    /// ends between and all of segment 0.
    UFORM_COLD void put_between(std::uint32_t begin, std::uint32_t end, bool roberta) {
        std::uint32_t const second = roberta ? 0 : 1;
        Item const first_end{Item::Kind::special, end, 0};
        single = {{Item::Kind::special, begin, 0}, {Item::Kind::first, 0, 0}, first_end};
        pair = single;
        if (roberta) pair.push_back(first_end);
        pair.append({{Item::Kind::second, 0, second}, {Item::Kind::special, end, second}});
    }
    [[nodiscard]] static std::size_t specials_of(List<Item> const &items) noexcept {
        std::size_t count = 0;
        for (Item const &item : items) count += item.kind == Item::Kind::special;
        return count;
    }
};

/// How many tokens of two texts are kept.
struct KeptTokens {
    std::size_t first, second;
    bool possible = true; ///< false: the text to cut is too short for that
};

/// Shares `most` tokens among two texts of `first` and `second`.
///
/// Source  Hugging Face tokenizers 0.23.3, `truncate_encodings`.
[[nodiscard]] inline KeptTokens share_tokens(std::size_t first, std::size_t second, std::size_t most,
                                             PairTruncation truncation) noexcept {
    if (most == 0) return {0, 0}; // whatever the truncation
    if (first <= most && second <= most - first) return {first, second};
    if (truncation == PairTruncation::longest_first) {
        bool const swapped = first > second;
        std::size_t shorter = swapped ? second : first, longer = swapped ? first : second;
        if (shorter > most / 2) shorter = most / 2, longer = most - most / 2;
        else longer = most - shorter;
        return swapped ? KeptTokens{longer, shorter} : KeptTokens{shorter, longer};
    }
    bool const cuts_first = truncation == PairTruncation::only_first;
    std::size_t const other = cuts_first ? second : first;
    if (other >= most) return {first, second, false};
    return cuts_first ? KeptTokens{most - other, second} : KeptTokens{first, most - other};
}

} // namespace uform

#endif // UFORM_TEXT_FRAMING_HPP
