/// The tokens of a model and their ids, while a tokenizer is loaded.
#ifndef UFORM_TEXT_VOCABULARY_HPP
#define UFORM_TEXT_VOCABULARY_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "uform/config.hpp"
#include "uform/list.hpp"
#include "uform/status.hpp"
#include "uform/text/added_tokens.hpp"
#include "uform/text/trie.hpp"

namespace uform {

/// The greatest id that a tokenizer may give.
inline constexpr std::uint32_t greatest_id_k = 0x7FFFFFFF;

/// Tokens by name. The names belong to the file or document that was read, and live as long as that.
class Vocabulary {
    List<Trie::Entry> entries_; // by key
    std::size_t size_ = 0;      // tokens as the file lists them, equal names too where they have ids each

    // Of equal names the last stays.
    explicit Vocabulary(List<Trie::Entry> entries) : entries_(std::move(entries)) {
        if (Trie::sort(entries_)) return;
        std::size_t kept = 0;
        for (std::size_t i = 0; i != entries_.size(); ++i)
            if (i + 1 == entries_.size() || entries_[i].key != entries_[i + 1].key) entries_[kept++] = entries_[i];
        entries_.resize(kept);
    }

  public:
    Vocabulary() noexcept = default;
    /// Takes tokens in any order; of equal names the last counts, as in the reference.
    ///
    /// Errors  `corrupt`, naming both tokens, where two share an id.
    [[nodiscard]] static Result<Vocabulary> of(List<Trie::Entry> entries, std::string_view file) {
        Vocabulary result(std::move(entries));
        // A table of indices, open addressing: place n holds the first entry of an id that hashes to n or before.
        List<Trie::Entry> const &kept = result.entries_;
        std::size_t places = 16;
        unsigned bits = 4;
        while (places < 2 * kept.size()) places *= 2, ++bits;
        List<std::size_t> table;
        table.assign(places, kept.size());
        for (std::size_t i = 0; i != kept.size(); ++i) {
            auto place = static_cast<std::size_t>(kept[i].value * std::uint64_t{0x9E3779B97F4A7C15u} >> (64 - bits));
            for (; table[place] != kept.size(); place = (place + 1) & (places - 1))
                if (kept[table[place]].value == kept[i].value)
                    return Error::of(Status::corrupt, file, ": the tokens '", kept[table[place]].key, "' and '",
                                     kept[i].key, "' have the same id ", kept[i].value);
            table[place] = i;
        }
        result.size_ = kept.size();
        return result;
    }
    /// Takes tokens whose ids are their places in a list; of equal names the last counts.
    [[nodiscard]] static Result<Vocabulary> of_list(List<Trie::Entry> entries) {
        std::size_t const size = entries.size();
        Vocabulary result(std::move(entries));
        result.size_ = size;
        return result;
    }

    [[nodiscard]] List<Trie::Entry> const &entries() const noexcept { return entries_; }
    /// How many tokens the model has.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::optional<std::uint32_t> find(std::string_view token) const noexcept {
        std::size_t first = 0, last = entries_.size();
        while (first != last) {
            std::size_t const middle = first + (last - first) / 2;
            if (entries_[middle].key < token) first = middle + 1;
            else last = middle;
        }
        return first != entries_.size() && entries_[first].key == token ? std::optional(entries_[first].value)
                                                                        : std::nullopt;
    }
    /// The token of an id, or nothing.
    [[nodiscard]] std::optional<std::string_view> name_of(std::uint32_t id) const noexcept {
        for (Trie::Entry const &entry : entries_)
            if (entry.value == id) return entry.key;
        return std::nullopt;
    }
};

/// The most added tokens that a file may list: each is compared with those before it.
inline constexpr std::size_t most_added_tokens_k = 20'000;

/// Gives each added token its id and joins those that are listed twice.
///
/// A token that the vocabulary has keeps its id; a new one gets the number of tokens of the vocabulary and of new ones
/// before it, whatever id the file names: a warning tells where these differ. Of equal tokens the last one's flags
/// count, in the first one's place. Tokens without a name are left out.
///
/// Errors  `corrupt` where a new token would get the id of another.
/// Source  Hugging Face tokenizers 0.23.3, asked: its `AddedVocabulary` as it reads tokenizer.json.
class AddedTokenList {
    List<AddedToken> tokens_;
    std::size_t new_ones_ = 0;

  public:
    [[nodiscard]] List<AddedToken> const &tokens() const noexcept { return tokens_; }
    [[nodiscard]] List<AddedToken> take() noexcept { return std::move(tokens_); }

    [[nodiscard]] UFORM_COLD Result<void> add(AddedToken token, std::optional<std::uint64_t> expected,
                                              Vocabulary const &vocabulary, std::string_view file,
                                              std::vector<std::string> &warnings) {
        if (token.content.empty()) return {};
        if (tokens_.size() == most_added_tokens_k)
            return Error::of(Status::unsupported, file, ": more than ", most_added_tokens_k, " added tokens");
        AddedToken *listed = nullptr;
        for (AddedToken &other : tokens_)
            if (other.content == token.content) listed = &other;
        if (listed) {
            token.id = listed->id;
        } else if (auto const id = vocabulary.find(token.content)) {
            token.id = *id;
        } else {
            std::size_t const next = vocabulary.size() + new_ones_;
            if (next > greatest_id_k) return Error::of(Status::unsupported, file, ": too many tokens");
            token.id = static_cast<std::uint32_t>(next);
            if (auto const other = vocabulary.name_of(token.id))
                return Error::of(Status::corrupt, file, ": the added token '", token.content, "' would get the id ",
                                 token.id, " of the token '", *other, "'");
            ++new_ones_;
        }
        if (expected && *expected != token.id)
            warnings.push_back(joined(file, ": the added token '", token.content, "' has the id ", token.id, ", not ",
                                      *expected, " as the file says"));
        if (listed) token.special |= listed->special, *listed = std::move(token); // once special, always
        else tokens_.push_back(std::move(token));
        return {};
    }
};

} // namespace uform

#endif // UFORM_TEXT_VOCABULARY_HPP
