/// The characters that stand for bytes in byte-level vocabularies.
#ifndef UFORM_TEXT_BYTE_CHARACTERS_HPP
#define UFORM_TEXT_BYTE_CHARACTERS_HPP

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "uform/text/utf8.hpp"

namespace uform {

/// The character of each byte: itself where it is a visible sign of Latin-1, else the next from U+0100 on.
///
/// Source  Radford et al. 2019, GPT-2's `bytes_to_unicode`.
inline constexpr auto byte_characters = [] {
    std::array<char32_t, 256> characters{};
    char32_t next = 0x100;
    for (std::size_t byte = 0; byte != 256; ++byte) {
        bool const visible = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte != 0xAD);
        characters[byte] = visible ? static_cast<char32_t>(byte) : next++;
    }
    return characters;
}();

/// The byte that a character stands for, or -1.
[[nodiscard]] constexpr int byte_of_character(char32_t c) noexcept {
    if (c < 0x100) return byte_characters[c] == c ? static_cast<int>(c) : -1;
    if (c > 0x143) return -1;
    int const n = static_cast<int>(c) - 0x100; // bytes that are no visible sign, in order
    return n < 0x21 ? n : n < 0x21 + 0x22 ? 0x7F + (n - 0x21) : 0xAD;
}

/// Appends the bytes that a token's characters stand for. False: it has another character.
[[nodiscard]] inline bool append_bytes_of(std::string_view token, std::string &bytes) {
    for (char const *at = token.data(), *const end = at + token.size(); at != end;) {
        int const byte = byte_of_character(utf8::read(at));
        if (byte < 0) return false;
        bytes.push_back(static_cast<char>(static_cast<unsigned char>(byte)));
    }
    return true;
}

} // namespace uform

#endif // UFORM_TEXT_BYTE_CHARACTERS_HPP
