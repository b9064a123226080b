/// The texts of tokens by id.
#ifndef UFORM_TEXT_TOKEN_NAMES_HPP
#define UFORM_TEXT_TOKEN_NAMES_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "uform/list.hpp"
#include "uform/sort.hpp"
#include "uform/text/added_tokens.hpp"
#include "uform/text/trie.hpp"

namespace uform {

/// Read-only once built. Memory: the texts and 16 bytes a token. Threads: any may read at the same time.
class TokenNames {
    struct Name {
        std::uint32_t id, size;
        std::size_t first;
    };
    std::string bytes_;
    List<Name> names_; // by id
    List<std::uint32_t> special_;

    [[nodiscard]] std::size_t place_of(std::uint32_t id) const noexcept {
        return first_not_below(names_.data(), names_.size(), [=](Name const &name) noexcept { return name.id < id; });
    }

  public:
    TokenNames() = default;
    /// Of equal ids the added token's name counts.
    TokenNames(List<Trie::Entry> const &entries, List<AddedToken> const &added) {
        std::size_t bytes = 0;
        for (Trie::Entry const &entry : entries) bytes += entry.key.size();
        bytes_.reserve(bytes);
        names_.reserve(entries.size() + added.size());
        auto const add = [&](std::uint32_t id, std::string_view name) {
            names_.push_back({id, static_cast<std::uint32_t>(name.size()), bytes_.size()});
            bytes_ += name;
        };
        for (AddedToken const &token : added) {
            add(token.id, token.content);
            if (token.special) special_.push_back(token.id);
        }
        for (std::size_t i = 0; i != entries.size(); ++i) {
            Trie::fetch_ahead(entries, i);
            add(entries[i].value, entries[i].key);
        }
        // Ids are mostly 0, 1, 2 and so on, and then each has its place.
        std::size_t const count = entries.size() + added.size();
        List<Name> sorted(count);
        List<bool> taken(count);
        bool dense = true;
        for (Name const &name : names_) {
            if (name.id >= count) dense = false;
            else if (!taken[name.id]) taken[name.id] = true, sorted[name.id] = name;
        }
        if (dense) {
            std::size_t kept = 0;
            for (std::size_t i = 0; i != count; ++i)
                if (taken[i]) sorted[kept++] = sorted[i];
            sorted.resize(kept);
            names_ = std::move(sorted);
        } else {
            merge_sort(names_.data(), sorted.data(), count,
                       [](Name const &a, Name const &b) noexcept { return a.id < b.id; });
        }
        heap_sort(special_.data(), special_.size(), [](std::uint32_t a, std::uint32_t b) noexcept { return a < b; });
    }
    /// The text of a token, or nothing where no token has the id.
    [[nodiscard]] std::optional<std::string_view> find(std::uint32_t id) const noexcept {
        std::size_t const place = id < names_.size() && names_[id].id == id ? id : place_of(id);
        if (place == names_.size() || names_[place].id != id) return std::nullopt;
        return std::string_view(bytes_).substr(names_[place].first, names_[place].size);
    }
    /// The id of a token by its text: of several the smallest. Looks at all.
    [[nodiscard]] std::optional<std::uint32_t> find(std::string_view text) const noexcept {
        for (Name const &name : names_)
            if (name.size == text.size() && std::string_view(bytes_).substr(name.first, name.size) == text)
                return name.id;
        return std::nullopt;
    }
    /// Gives a token that is there another text, under which it is no special one, as in the reference.
    void respell(std::uint32_t id, std::string_view text) {
        std::size_t const place = place_of(id);
        if (place == names_.size() || names_[place].id != id) return;
        names_[place].first = bytes_.size(), names_[place].size = static_cast<std::uint32_t>(text.size());
        bytes_ += text;
        special_.erase_if([=](std::uint32_t special) noexcept { return special == id; });
    }
    [[nodiscard]] bool is_special(std::uint32_t id) const noexcept {
        std::size_t const place = first_not_below(special_.data(), special_.size(),
                                                  [=](std::uint32_t special) noexcept { return special < id; });
        return place != special_.size() && special_[place] == id;
    }
};

} // namespace uform

#endif // UFORM_TEXT_TOKEN_NAMES_HPP
