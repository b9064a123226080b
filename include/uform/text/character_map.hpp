/// SentencePiece's precompiled character map, as the reference applies it.
#ifndef UFORM_TEXT_CHARACTER_MAP_HPP
#define UFORM_TEXT_CHARACTER_MAP_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "uform/list.hpp"
#include "uform/text/graphemes.hpp"
#include "uform/text/traced_text.hpp"
#include "uform/text/utf8.hpp"

namespace uform {

/// Replaces clusters and code points of a text.
///
/// A grapheme cluster of fewer than 6 bytes is looked up whole, and the shortest entry that starts it replaces all of
/// it; a longer cluster, or one where nothing starts it, goes code point by code point.
/// Threads  any may use one at the same time.
/// Source   Hugging Face tokenizers 0.23.3, `Precompiled`: a double-array trie (Darts-clone) and texts that end at a
///          zero byte. A zero byte in what is looked up ends the search.
class CharacterMap {
    List<std::uint32_t> units_;
    std::string texts_;
    std::array<bool, 128> plain_{}; // bytes of ASCII that stay as they are, and that nothing but CR LF can join

    [[nodiscard]] static std::uint32_t offset(std::uint32_t unit) noexcept { return unit >> 10 << ((unit & 512) >> 6); }
    [[nodiscard]] static bool has_leaf(std::uint32_t unit) noexcept { return unit >> 8 & 1; }
    [[nodiscard]] static std::uint32_t label(std::uint32_t unit) noexcept { return unit & 0x800000FF; }

    // The text of the shortest entry that `key` begins with.
    [[nodiscard]] std::optional<std::string_view> find(std::string_view key) const noexcept {
        if (units_.empty()) return std::nullopt;
        std::size_t place = offset(units_[0]);
        for (char byte : key) {
            std::uint32_t const wanted = static_cast<unsigned char>(byte);
            if (wanted == 0) break;
            place ^= wanted;
            if (place >= units_.size() || label(units_[place]) != wanted) break;
            std::uint32_t const unit = units_[place];
            place ^= offset(unit);
            if (has_leaf(unit)) return text_at(units_[place] & 0x7FFFFFFF);
        }
        return std::nullopt;
    }
    [[nodiscard]] std::string_view text_at(std::size_t place) const noexcept {
        std::string_view const rest = std::string_view(texts_).substr(place);
        return rest.substr(0, rest.find('\0'));
    }

    // Every node that can be reached must lie in the array, and its text among the texts.
    [[nodiscard]] bool check() const {
        if (units_.empty()) return true;
        // The children of a base lie in its block of 256, each at the base with its label.
        std::size_t const count = units_.size();
        List<std::size_t> child((count + 255) & ~std::size_t{255}), sibling(count); // + 1, as 0 is none
        for (std::size_t place = count; place-- != 0;) {
            std::uint32_t const wanted = label(units_[place]);
            if (wanted == 0 || wanted > 255) continue; // the text of an entry
            sibling[place] = child[place ^ wanted], child[place ^ wanted] = place + 1;
        }
        List<std::size_t> waiting{offset(units_[0])};
        while (!waiting.empty()) {
            std::size_t const base = waiting.back();
            waiting.pop_back();
            if (base >= child.size()) continue; // no child can lie there
            std::size_t next = child[base];
            child[base] = 0; // ends are shared
            for (; next != 0; next = sibling[next - 1]) {
                std::size_t const place = next - 1, below = place ^ offset(units_[place]);
                if (has_leaf(units_[place])) {
                    if (below >= count || (units_[below] & 0x7FFFFFFF) > texts_.size()) return false;
                    std::string_view const text = text_at(units_[below] & 0x7FFFFFFF);
                    if (utf8::valid_prefix(text) != text.size()) return false;
                }
                waiting.push_back(below);
            }
        }
        return true;
    }

    // The code points of `part` become those of `text`; how that counts as changes is the reference's.
    class Changes {
        Rewriter &out_;
        bool has_last_ = false;
        char32_t last_ = 0;
        std::ptrdiff_t change_ = 0;

      public:
        explicit Changes(Rewriter &out) noexcept : out_(out) {}
        void put(char32_t c, std::ptrdiff_t change) noexcept {
            flush();
            has_last_ = true, last_ = c, change_ = change;
        }
        void replace(std::string_view part, std::string_view text) noexcept {
            std::size_t const before = code_points_of(part), now = code_points_of(text);
            std::size_t i = 0;
            char const *const end = text.data() + text.size();
            for (char const *at = text.data(); at != end; ++i) put(utf8::read(at), i < before ? 0 : 1);
            // What was before all that is written can't be counted with anything.
            if (now < before && has_last_) change_ -= static_cast<std::ptrdiff_t>(before - now);
        }
        void flush() noexcept {
            if (has_last_) out_.put(last_, change_);
            has_last_ = false;
        }
    };

  public:
    /// Reads the bytes of a map. False: damaged. Allocates.
    [[nodiscard]] bool read(std::string_view bytes) {
        if (bytes.size() < 4) return false;
        auto const number = [&](std::size_t at) {
            std::uint32_t value = 0;
            for (std::size_t i = 4; i-- != 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
            return value;
        };
        std::size_t const size = number(0);
        if (size == 0 || size > bytes.size() - 4 || size % 4 != 0) return false;
        units_.resize(size / 4);
        for (std::size_t i = 0; i != units_.size(); ++i) units_[i] = number(4 + 4 * i);
        texts_ = bytes.substr(4 + size);
        if (utf8::valid_prefix(texts_) != texts_.size() || !check()) return false;
        for (std::size_t i = 0; i != plain_.size(); ++i) {
            char const byte = static_cast<char>(i);
            plain_[i] = byte != '\r' && byte != '\n' && !find({&byte, 1});
        }
        return true;
    }

    /// The most bytes that a byte can become.
    [[nodiscard]] std::size_t growth() const noexcept {
        std::size_t longest = 1;
        for (std::size_t at = 0; at < texts_.size();) {
            std::size_t const size = text_at(at).size();
            if (size > longest) longest = size;
            at += size + 1;
        }
        return longest;
    }
    /// Answers whether anything changed; `to` then has the new text. `failed`: no memory.
    [[nodiscard]] bool apply(TracedPiece from, TracedText &to, bool &failed) const noexcept {
        char const *const begin = from.text.data(), *const end = begin + from.text.size();
        auto const is_plain = [&](char const *at) {
            auto const byte = static_cast<unsigned char>(*at);
            return byte < 0x80 && plain_[byte];
        };
        // A run of plain ASCII is kept, but for its last byte, which what follows may join.
        auto const run_end = [&](char const *at) {
            while (at != end && is_plain(at)) ++at;
            return at == end || static_cast<unsigned char>(*at) < 0x80 ? at : at - 1;
        };
        char const *at = begin != end && is_plain(begin) ? run_end(begin) : begin;
        if (at == end) return false;
        Rewriter out(from, to);
        Changes changes(out);
        bool changed = false;
        if (at != begin) --at; // a byte of ASCII, which what follows may still be counted with
        if (at != begin) out.copy({begin, static_cast<std::size_t>(at - begin)});
        while (at != end && !out.failed()) {
            if (is_plain(at)) {
                char const *const run = run_end(at);
                if (run - at > 1) { // the last code point before it may still be counted with
                    changes.flush();
                    out.copy({at, static_cast<std::size_t>(run - at - 1)});
                    at = run - 1;
                    changes.put(utf8::read(at), 0);
                    continue;
                }
            }
            char const *const next = Graphemes::next(at, end);
            std::string_view const cluster(at, static_cast<std::size_t>(next - at));
            std::optional<std::string_view> whole;
            if (cluster.size() < 6) whole = find(cluster);
            if (whole) {
                changes.replace(cluster, *whole), changed = true;
            } else {
                while (at != next) {
                    char const *const part = at;
                    char32_t const c = utf8::read(at);
                    std::string_view const bytes(part, static_cast<std::size_t>(at - part));
                    if (auto const text = find(bytes)) changes.replace(bytes, *text), changed = true;
                    else changes.put(c, 0);
                }
            }
            at = next;
        }
        changes.flush();
        failed = out.failed();
        return changed;
    }
};

/// The bytes of a base64 text, or nothing where it is none.
[[nodiscard]] inline std::optional<std::string> base64_bytes(std::string_view text) {
    while (text.ends_with('=')) text.remove_suffix(1);
    if (text.size() % 4 == 1) return std::nullopt;
    std::string bytes;
    bytes.reserve(text.size() / 4 * 3 + 3);
    std::uint32_t bits = 0;
    unsigned count = 0;
    for (char c : text) {
        bool const upper = c >= 'A' && c <= 'Z', lower = c >= 'a' && c <= 'z', digit = c >= '0' && c <= '9';
        if (!upper && !lower && !digit && c != '+' && c != '/') return std::nullopt;
        int const value = upper ? c - 'A' : lower ? c - 'a' + 26 : digit ? c - '0' + 52 : c == '+' ? 62 : 63;
        bits = (bits << 6 | static_cast<std::uint32_t>(value)) & 0xFFFFFF, count += 6;
        if (count >= 8) count -= 8, bytes.push_back(static_cast<char>(static_cast<unsigned char>(bits >> count)));
    }
    return bytes;
}

} // namespace uform

#endif // UFORM_TEXT_CHARACTER_MAP_HPP
