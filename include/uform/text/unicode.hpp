/// What BERT's tokenizer asks of a code point: its properties, combining class, decomposition and lower case.
#ifndef UFORM_TEXT_UNICODE_HPP
#define UFORM_TEXT_UNICODE_HPP

#include <cstddef>
#include <cstdint>
#include <iterator> // std::size

#include "uform/text/unicode_tables.hpp"

namespace uform::unicode {

/// The properties of one code point, a set of the constants below; its combining class stands in the high byte.
using Properties = std::uint16_t;

inline constexpr Properties mark_k = 1;          ///< a nonspacing mark, which strip_accents removes; Unicode 8.0
inline constexpr Properties removed_k = 2;       ///< clean_text removes it: control, format, private use; Unicode 8.0
inline constexpr Properties whitespace_k = 4;    ///< White_Space
inline constexpr Properties punctuation_k = 8;   ///< a word of its own: P* of Unicode 8.0 and ASCII's marks and signs
inline constexpr Properties ideograph_k = 16;    ///< in the ranges that handle_chinese_chars spaces
inline constexpr Properties decomposes_k = 32;   ///< has a canonical decomposition, Hangul syllables too; Unicode 9.0
inline constexpr Properties lowers_k = 64;       ///< is not its own lower case; Unicode 17
inline constexpr Properties word_k = 128;        ///< a word character of the reference's patterns; Unicode 16
inline constexpr unsigned combining_shift_k = 8; ///< where the canonical combining class stands; Unicode 9.0

/// Looks a scalar value up in a table of two stages.
template <class Number, class Value, std::size_t blocks, std::size_t values>
[[nodiscard]] constexpr Value value_in(Number const (&first)[blocks], Value const (&second)[values],
                                       char32_t c) noexcept {
    std::size_t const block = c >> block_bits_k;
    std::size_t const number = first[block < blocks ? block : blocks - 1];
    return second[(number << block_bits_k) + (c & ((1u << block_bits_k) - 1))];
}

/// The properties of a scalar value.
[[nodiscard]] constexpr Properties properties(char32_t c) noexcept {
    return kinds[value_in(kind_blocks, kind_values, c)];
}

/// Hands the code points of the full canonical decomposition of `c` to `take`, in order. `c` must decompose.
///
/// Source  Hangul syllables by The Unicode Standard, 3.12, the others from the table.
template <class Take> constexpr void decompose(char32_t c, Take &&take) {
    if (char32_t const syllable = c - 0xAC00; syllable < 11172) {
        take(char32_t{0x1100} + syllable / 588);
        take(char32_t{0x1161} + syllable % 588 / 28);
        if (syllable % 28) take(char32_t{0x11A7} + syllable % 28);
        return;
    }
    std::uint32_t const *const parts = decompositions + value_in(decomposition_blocks, decomposition_values, c);
    std::size_t const count = *parts >> 24;
    take(static_cast<char32_t>(*parts & 0xFFFFFF));
    for (std::size_t i = 1; i < count; ++i) take(static_cast<char32_t>(parts[i]));
}

/// Hands the lower case of `c` to `take`: one code point, or for U+0130 two. `c` must have one.
template <class Take> constexpr void lower_case(char32_t c, Take &&take) {
    std::size_t const change = value_in(lower_blocks, lower_values, c);
    take(static_cast<char32_t>(static_cast<std::int32_t>(c) + lower_changes[change]));
    if (change + 1 == std::size(lower_changes)) take(char32_t{0x307});
}

} // namespace uform::unicode

#endif // UFORM_TEXT_UNICODE_HPP
