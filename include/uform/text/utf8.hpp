/// UTF-8: one code point read or written, the longest valid beginning of a text, and the repair of the rest.
#ifndef UFORM_TEXT_UTF8_HPP
#define UFORM_TEXT_UTF8_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "uform/buffer.hpp"

namespace uform::utf8 {

/// What stands for each part of a text that is not UTF-8.
inline constexpr char32_t replacement_k = 0xFFFD;

/// The code point at `at`, which moves behind it. The text must be valid and not at its end.
[[nodiscard]] inline char32_t read(char const *&at) noexcept {
    auto const byte = [&](int i) { return static_cast<char32_t>(static_cast<unsigned char>(at[i])); };
    char32_t const lead = byte(0);
    if (lead < 0x80) return at += 1, lead;
    if (lead < 0xE0) {
        char32_t const c = (lead & 0x1F) << 6 | (byte(1) & 0x3F);
        return at += 2, c;
    }
    if (lead < 0xF0) {
        char32_t const c = (lead & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
        return at += 3, c;
    }
    char32_t const c = (lead & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
    return at += 4, c;
}

/// The code point that ends at `at`, which moves before it. The text must be valid and not at its beginning.
[[nodiscard]] inline char32_t read_back(char const *&at) noexcept {
    do --at;
    while ((static_cast<unsigned char>(*at) & 0xC0) == 0x80);
    char const *begin = at;
    return read(begin);
}

/// Moves `at` behind the code point that it stands at. The text must be valid and not at its end.
inline void skip(char const *&at) noexcept { (void)read(at); }

/// Moves `at` before the code point that ends there. The text must be valid and not at its beginning.
inline void skip_back(char const *&at) noexcept {
    do --at;
    while ((static_cast<unsigned char>(*at) & 0xC0) == 0x80);
}

/// Writes a scalar value of one to four bytes at `to` and answers the end.
inline char *write(char *to, char32_t c) noexcept {
    auto const byte = [&](char32_t bits) { *to++ = static_cast<char>(static_cast<unsigned char>(bits)); };
    if (c < 0x80) {
        byte(c);
    } else if (c < 0x800) {
        byte(0xC0 | c >> 6), byte(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        byte(0xE0 | c >> 12), byte(0x80 | (c >> 6 & 0x3F)), byte(0x80 | (c & 0x3F));
    } else {
        byte(0xF0 | c >> 18), byte(0x80 | (c >> 12 & 0x3F)), byte(0x80 | (c >> 6 & 0x3F)), byte(0x80 | (c & 0x3F));
    }
    return to;
}

/// How many bytes the well-formed sequence at the beginning of a text has, or its maximal ill-formed part.
///
/// Source  The Unicode Standard, 3.9, tables 3-7 and 3-8: substitution of maximal subparts.
struct Sequence {
    std::size_t size;
    bool valid;
};
[[nodiscard]] inline Sequence sequence_at(char const *text, std::size_t size) noexcept {
    auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    unsigned char const lead = byte(0);
    if (lead < 0x80) return {1, true};
    std::size_t const wanted = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
    if (!wanted) return {1, false};
    // The second byte rules out overlong forms, surrogates, and what is above U+10FFFF.
    unsigned char const low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    unsigned char const high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (size < 2 || byte(1) < low || byte(1) > high) return {1, false};
    for (std::size_t i = 2; i != wanted; ++i)
        if (i == size || (byte(i) & 0xC0) != 0x80) return {i, false};
    return {wanted, true};
}

/// How many bytes of a text come before its first ill-formed part. Reads nothing past the end.
[[nodiscard]] inline std::size_t valid_prefix(std::string_view text) noexcept {
    std::size_t at = 0;
    while (at != text.size()) {
        if (text.size() - at >= 8) {
            std::uint64_t eight;
            std::memcpy(&eight, text.data() + at, 8);
            if (!(eight & 0x8080808080808080u)) {
                at += 8;
                continue;
            }
        }
        Sequence const next = sequence_at(text.data() + at, text.size() - at);
        if (!next.valid) return at;
        at += next.size;
    }
    return at;
}

/// Replaces the content of `to` by the text with U+FFFD for each maximal ill-formed part. False: no memory.
[[nodiscard]] inline bool repair(std::string_view text, Buffer<char> &to) noexcept {
    to.clear();
    if (text.size() > PTRDIFF_MAX / 4 || !to.reserve(text.size())) return false;
    while (!text.empty()) {
        std::size_t const valid = valid_prefix(text);
        if (!to.append(text.data(), valid)) return false;
        text.remove_prefix(valid);
        if (text.empty()) break;
        if (!to.append("\xEF\xBF\xBD", 3)) return false;
        text.remove_prefix(sequence_at(text.data(), text.size()).size);
    }
    return true;
}

} // namespace uform::utf8

#endif // UFORM_TEXT_UTF8_HPP
