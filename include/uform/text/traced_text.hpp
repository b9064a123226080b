/// A text on its way through a tokenizer, and where each of its bytes came from.
#ifndef UFORM_TEXT_TRACED_TEXT_HPP
#define UFORM_TEXT_TRACED_TEXT_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "uform/buffer.hpp"
#include "uform/text/utf8.hpp"

namespace uform {

/// The bytes of the input that one byte of a changed text stands for.
struct Origin {
    std::size_t first, last;
};

/// A part of a text. `origins` has an entry a byte, or is null where nobody asks.
struct TracedPiece {
    std::string_view text;
    Origin const *origins = nullptr;

    [[nodiscard]] TracedPiece part(std::size_t first, std::size_t size) const noexcept {
        return {text.substr(first, size), origins ? origins + first : nullptr};
    }
};

/// A text that owns its bytes.
struct TracedText {
    Buffer<char> bytes;
    Buffer<Origin> origins; ///< as many as bytes, or none

    [[nodiscard]] TracedPiece piece(bool traced) const noexcept {
        return {{bytes.data(), bytes.size()}, traced ? origins.data() : nullptr};
    }
};

/// Writes a changed text, code point by code point, and keeps the origins as the reference does.
///
/// Source  Hugging Face tokenizers 0.23.3, `NormalizedString::transform_range`: what is inserted shares the origin of
///         the byte before it in the old text, what replaces takes that of the code point it stands for.
class Rewriter {
    TracedPiece from_;
    TracedText &to_;
    std::size_t at_ = 0; // bytes of the old text that are done
    bool failed_ = false;

    void skip() noexcept {
        if (at_ >= from_.text.size()) return;
        std::size_t const size = utf8::sequence_at(from_.text.data() + at_, from_.text.size() - at_).size;
        at_ += size;
    }
    void write(char const *bytes, std::size_t size, Origin origin) noexcept {
        if (!to_.bytes.append(bytes, size)) failed_ = true;
        if (!from_.origins) return;
        for (std::size_t i = 0; i != size; ++i)
            if (!to_.origins.push_back(origin)) failed_ = true;
    }

  public:
    /// `to` is emptied; the old text must not lie in it.
    Rewriter(TracedPiece from, TracedText &to) noexcept : from_(from), to_(to) {
        to.bytes.clear(), to.origins.clear();
        if (!to.bytes.reserve(from.text.size())) failed_ = true;
    }
    [[nodiscard]] bool traced() const noexcept { return from_.origins != nullptr; }
    [[nodiscard]] bool failed() const noexcept { return failed_; }

    /// Copies bytes of the old text that stay as they are.
    void keep(std::size_t size) noexcept {
        if (!to_.bytes.append(from_.text.data() + at_, size)) failed_ = true;
        if (from_.origins && !to_.origins.append(from_.origins + at_, size)) failed_ = true;
        at_ += size;
    }
    /// Writes code points, each for one old one, where what was written may not have been counted right.
    void copy(std::string_view text) noexcept {
        if (!from_.origins) {
            if (!to_.bytes.append(text.data(), text.size())) failed_ = true;
            return;
        }
        for (char const *at = text.data(), *const end = at + text.size(); at != end;) put(utf8::read(at), 0);
    }
    /// Drops code points before anything is written.
    void drop(std::size_t code_points) noexcept {
        for (std::size_t i = 0; i != code_points; ++i) skip();
    }
    /// One code point: `change` 0 replaces the next old one, 1 is inserted, -n replaces one and drops n that follow.
    void put(char32_t c, std::ptrdiff_t change) noexcept {
        Origin origin{0, 0};
        if (from_.origins) {
            std::size_t const last = from_.text.size() - 1;
            std::size_t const first = from_.origins[0].first;
            if (change > 0) origin = at_ == 0 ? Origin{first, first} : from_.origins[at_ - 1 < last ? at_ - 1 : last];
            else origin = from_.origins[at_ < last ? at_ : last];
        }
        if (change <= 0) skip();
        for (; change < 0; ++change) skip();
        char bytes[4];
        write(bytes, static_cast<std::size_t>(utf8::write(bytes, c) - bytes), origin);
    }
};

/// The number of code points of a valid text.
[[nodiscard]] inline std::size_t code_points_of(std::string_view text) noexcept {
    std::size_t count = 0;
    for (char byte : text) count += (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
    return count;
}

} // namespace uform

#endif // UFORM_TEXT_TRACED_TEXT_HPP
