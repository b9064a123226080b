/// The first word of a text, as `str.split` of Python finds it.
#ifndef UFORM_FIRST_WORD_HPP
#define UFORM_FIRST_WORD_HPP

#include <cstddef>
#include <string_view>

namespace uform {

/// What stands before the first blank of ASCII that isn't at the beginning; nothing where all is blank.
[[nodiscard]] inline std::string_view first_word(std::string_view text) noexcept {
    constexpr std::string_view blanks = " \t\n\r\v\f";
    std::size_t const begin = text.find_first_not_of(blanks);
    if (begin == text.npos) return {};
    return text.substr(begin, text.find_first_of(blanks, begin) - begin);
}

} // namespace uform

#endif // UFORM_FIRST_WORD_HPP
