/// What patterns, grapheme clusters and normal forms ask of a code point.
#ifndef UFORM_TEXT_UNICODE_CLASSES_HPP
#define UFORM_TEXT_UNICODE_CLASSES_HPP

#include <cstddef>
#include <cstdint>
#include <iterator> // std::size

#include "uform/sort.hpp"
#include "uform/text/unicode.hpp"
#include "uform/text/unicode_classes_tables.hpp"

namespace uform::unicode {

/// How a code point stands in a grapheme cluster: Grapheme_Cluster_Break, and what rules GB9c and GB11 ask for beside.
enum class Break : std::uint8_t {
    other,
    cr,
    lf,
    control,
    extend,
    zwj,
    spacing_mark,
    prepend,
    l,
    v,
    t,
    lv,
    lvt,
    regional_indicator,
    pictographic, ///< Extended_Pictographic
    consonant,    ///< InCB=Consonant
    linker        ///< InCB=Linker, which extends too
};

/// A set of the constants below, with the `Break` in its low 5 bits.
using Class = std::uint16_t;

inline constexpr Class break_mask_k = 31;
inline constexpr Class letter_k = 32;           ///< `\p{L}` of the patterns; Unicode 16
inline constexpr Class number_k = 64;           ///< `\p{N}` of the patterns; Unicode 16
inline constexpr Class numeric_k = 128;         ///< a digit or number for `Digits`; Unicode 17
inline constexpr Class combining_k = 256;       ///< a mark of any kind, which StripAccents removes; Unicode 9.0
inline constexpr Class compatible_k = 512;      ///< has a compatibility decomposition; Unicode 9.0
inline constexpr Class composes_first_k = 1024; ///< may compose with what follows
inline constexpr Class composes_last_k = 2048;  ///< may compose with what stands before
inline constexpr Class not_composed_k = 4096;   ///< decomposes, and form C has no code point for it

/// The class of a scalar value.
[[nodiscard]] constexpr Class class_of(char32_t c) noexcept {
    std::size_t const spelled = static_cast<unsigned char>(value_in(class_blocks, class_values, c));
    return classes_by_number[spelled - '#' - (spelled > '\\')];
}
[[nodiscard]] constexpr Break break_of(char32_t c) noexcept { return static_cast<Break>(class_of(c) & break_mask_k); }

/// Hands the full compatibility decomposition of `c`, which must be `compatible_k`, to `take`, in order.
template <class Take> constexpr void decompose_compatible(char32_t c, Take &&take) {
    std::uint64_t const key = static_cast<std::uint64_t>(c) << 32;
    std::uint64_t const entry = compatible_places[first_not_below(
        compatible_places, std::size(compatible_places), [=](std::uint64_t place) noexcept { return place < key; })];
    for (std::size_t i = 0, count = entry >> 16 & 0xFFFF; i != count; ++i)
        take(static_cast<char32_t>(compatible_parts[(entry & 0xFFFF) + i]));
}

/// What two code points compose to, or 0.
///
/// Source  Hangul syllables by The Unicode Standard, 3.12, the others from the table.
[[nodiscard]] constexpr char32_t compose(char32_t first, char32_t second) noexcept {
    if (first - 0x1100 < 19 && second - 0x1161 < 21) return 0xAC00 + ((first - 0x1100) * 21 + (second - 0x1161)) * 28;
    if (char32_t const syllable = first - 0xAC00; syllable < 11172 && syllable % 28 == 0 && second - 0x11A8 < 27)
        return first + (second - 0x11A7);
    std::uint64_t const key = static_cast<std::uint64_t>(first) << 42 | static_cast<std::uint64_t>(second) << 21;
    std::size_t const at = first_not_below(composed_pairs, std::size(composed_pairs),
                                           [=](std::uint64_t pair) noexcept { return pair < key; });
    if (at == std::size(composed_pairs) || composed_pairs[at] >> 21 != key >> 21) return 0;
    return static_cast<char32_t>(composed_pairs[at] & 0x1FFFFF);
}

} // namespace uform::unicode

#endif // UFORM_TEXT_UNICODE_CLASSES_HPP
