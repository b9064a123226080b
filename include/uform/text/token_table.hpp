/// The ids of whole tokens: a table of byte strings that is asked for equality only.
#ifndef UFORM_TEXT_TOKEN_TABLE_HPP
#define UFORM_TEXT_TOKEN_TABLE_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "uform/list.hpp"
#include "uform/text/trie.hpp"

namespace uform {

/// Mixes a byte string into 64 bits, for tables that no attacker fills.
[[nodiscard]] inline std::uint64_t hash_of(std::string_view text) noexcept {
    constexpr std::uint64_t odd = 0x9E3779B97F4A7C15u;
    std::uint64_t hash = text.size() * odd;
    auto const mix = [&](std::uint64_t bits) {
        hash = (hash ^ bits) * odd;
        hash ^= hash >> 32;
    };
    char const *at = text.data();
    std::size_t size = text.size();
    for (; size >= 8; at += 8, size -= 8) {
        std::uint64_t bits;
        std::memcpy(&bits, at, 8);
        mix(bits);
    }
    if (size != 0) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, at, size);
        mix(bits);
    }
    return hash;
}

/// Open addressing over copies of the tokens. Read-only once built.
///
/// Memory  the tokens' bytes and 16 to 32 bytes a token, allocated by `build` only. Threads: any may read at the same
///         time.
class TokenTable {
    struct Place {
        std::uint32_t first = 0, size = free_k, id = 0, tag = 0;
    };
    static constexpr std::uint32_t free_k = UINT32_MAX, marked_k = 1u << 31; // ids are below it
    std::string bytes_;
    List<Place> places_{1};

  public:
    static constexpr std::uint32_t none_k = UINT32_MAX;

    /// Replaces the content; of equal keys the last counts. False: more than 2^31 bytes.
    [[nodiscard]] bool build(List<Trie::Entry> const &entries) {
        std::size_t bytes = 0, places = 16;
        for (Trie::Entry const &entry : entries) bytes += entry.key.size();
        if (bytes > 0x7FFFFFFF) return false;
        while (places < 2 * entries.size()) places *= 2;
        bytes_.clear(), bytes_.reserve(bytes);
        places_.assign(places, Place{});
        for (Trie::Entry const &entry : entries) {
            Place &place = places_[place_of(entry.key)];
            if (place.size == free_k) {
                place = {static_cast<std::uint32_t>(bytes_.size()), static_cast<std::uint32_t>(entry.key.size()), 0,
                         static_cast<std::uint32_t>(hash_of(entry.key) >> 32)};
                bytes_ += entry.key;
            }
            place.id = entry.value;
        }
        return true;
    }
    /// The id of a token, or `none_k`.
    [[nodiscard]] std::uint32_t find(std::string_view token) const noexcept {
        Place const &place = places_[place_of(token)];
        return place.size == free_k ? none_k : place.id & ~marked_k;
    }
    struct Found {
        std::uint32_t id; ///< or `none_k`
        bool marked;
    };
    [[nodiscard]] Found find_marked(std::string_view token) const noexcept {
        Place const &place = places_[place_of(token)];
        return place.size == free_k ? Found{none_k, false} : Found{place.id & ~marked_k, (place.id & marked_k) != 0};
    }
    /// Marks a token that is there.
    void mark(std::string_view token) noexcept { places_[place_of(token)].id |= marked_k; }

  private:
    [[nodiscard]] std::size_t place_of(std::string_view token) const noexcept {
        std::uint64_t const hash = hash_of(token);
        auto const tag = static_cast<std::uint32_t>(hash >> 32);
        std::size_t place = static_cast<std::size_t>(hash) & (places_.size() - 1);
        for (;; place = (place + 1) & (places_.size() - 1)) {
            Place const &one = places_[place];
            if (one.size == free_k) return place;
            if (one.tag == tag && one.size == token.size() &&
                std::memcmp(bytes_.data() + one.first, token.data(), token.size()) == 0)
                return place;
        }
    }
};

} // namespace uform

#endif // UFORM_TEXT_TOKEN_TABLE_HPP
