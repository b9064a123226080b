/// Gives a folder's tokenizer the special and added tokens that the JSON files beside its vocabulary list.
#ifndef UFORM_TEXT_SPECIAL_TOKENS_HPP
#define UFORM_TEXT_SPECIAL_TOKENS_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "uform/config.hpp"
#include "uform/json.hpp"
#include "uform/list.hpp"
#include "uform/status.hpp"
#include "uform/text/added_tokens.hpp"
#include "uform/text/framing.hpp"
#include "uform/text/json_fields.hpp"
#include "uform/text/named_tokens.hpp"
#include "uform/text/optional_json.hpp"
#include "uform/text/tokenizer_parts.hpp"
#include "uform/text/vocabulary.hpp"

namespace uform {

[[nodiscard]] inline bool is_among(List<std::string_view> const &names, std::string_view name) noexcept {
    for (std::string_view const one : names)
        if (one == name) return true;
    return false;
}

/// The special tokens of a folder without tokenizer.json. Where tokenizer_config.json lists no added tokens itself,
/// added_tokens.json does.
///
/// Move-only. Source: transformers 5.24.0, `TokenizersBackend.__init__`.
class SpecialTokens : public NamedTokens {
    OptionalJson added_file_;

    // Tokens with an id each, by rising ids; those of one id in the order of the file.
    [[nodiscard]] UFORM_COLD Result<void> add_listed(AddedTokenList &added, TokenizerParts &parts,
                                                     Vocabulary const &vocabulary) const {
        bool const old = reads_map();
        if (old && !added_file_.json) return {};
        OptionalJson const &source = old ? added_file_ : config_;
        JsonValue const list = old ? added_file_.root() : config_.find("added_tokens_decoder");
        if (list.size() > most_added_tokens_k)
            return Error::of(Status::unsupported, source.path, ": more than ", most_added_tokens_k, " added tokens");
        List<AddedToken> tokens;
        for (std::size_t i = 0; i != list.size(); ++i) {
            AddedToken token;
            std::uint64_t id = 0;
            if (old) {
                auto const read = json_id(list[i], list.key(i), source.path);
                if (!read) return read.error();
                id = *read, token.content = list.key(i);
                token.normalized = !is_named_special(token.content);
                token.special = !token.normalized || has_role(token.content);
            } else {
                auto const content = list[i].find("content").string();
                auto read = read_token(list[i], content && has_role(*content), list.key(i), source.path);
                if (!read) return read.error();
                token = std::move(*read);
                for (char digit : list.key(i)) {
                    if (digit < '0' || digit > '9' || id > greatest_id_k)
                        return Error::of(Status::corrupt, source.path, ": '", list.key(i),
                                         "' is no id of an added token");
                    id = id * 10 + static_cast<std::uint64_t>(digit - '0');
                }
            }
            if (id > greatest_id_k)
                return Error::of(Status::unsupported, source.path, ": the id of '", token.content, "' is above ",
                                 greatest_id_k);
            token.id = static_cast<std::uint32_t>(id);
            std::size_t at = tokens.size(); // by id, those of one id in the order of the file
            while (at != 0 && tokens[at - 1].id > token.id) --at;
            tokens.insert(at, std::move(token));
        }
        for (AddedToken &token : tokens) {
            std::uint32_t const id = token.id;
            if (auto done = added.add(std::move(token), id, vocabulary, source.path, parts.warnings); !done)
                return done;
        }
        return {};
    }

  public:
    /// Reads the three files of a folder, each of which may be missing.
    ///
    /// Errors  `io`, `corrupt`, naming the file and the key.
    [[nodiscard]] UFORM_COLD static Result<SpecialTokens> read(std::string const &folder, Defaults const &defaults) {
        SpecialTokens tokens;
        if (auto done = tokens.read_names(folder, defaults); !done) return done.error();
        auto added = OptionalJson::read(folder, "added_tokens.json");
        if (!added) return added.error();
        tokens.added_file_ = std::move(*added);
        return tokens;
    }

    /// Gives `parts` the added tokens: the listed ones, those with a role, then the others. `pieces` are the special
    /// ones of the vocabulary's own file, which count where the JSON files list no extra ones; null: it has none.
    ///
    /// One with a role that neither the vocabulary nor another list has is not sought in texts, and a warning says so.
    /// Of two roles with one token the later's flags count, but those of a list go before all.
    /// Errors  as of `AddedTokenList`.
    [[nodiscard]] UFORM_COLD Result<void> add_to(TokenizerParts &parts, Vocabulary const &vocabulary,
                                                 List<AddedToken> const *pieces = nullptr) const {
        AddedTokenList added;
        if (auto done = add_listed(added, parts, vocabulary); !done) return done;
        List<AddedToken> const listed = added.tokens();
        auto const is_listed = [&](std::string_view content) {
            for (AddedToken const &other : listed)
                if (other.content == content) return true;
            return false;
        };
        List<std::string_view> plain;
        auto const add = [&](AddedToken token, std::string_view path) -> Result<void> {
            if (is_listed(token.content)) return {};
            token.special = token.special || has_role(token.content);
            for (AddedToken const &other : added.tokens()) // once special, always special
                token.special = token.special || (other.special && other.content == token.content);
            return added.add(std::move(token), std::nullopt, vocabulary, path, parts.warnings);
        };
        auto const add_named = [&](Named const &named) -> Result<void> {
            if (named.is_plain) { // a name counts once, so that flags given between stay
                if (is_among(plain, named.token.content)) return {};
                plain.push_back(named.token.content);
            }
            return add(named.token, path_of(named));
        };
        bool const from_pieces = pieces && !lists_extras_;
        auto const is_sought = [&](std::string_view content) { // beside its role
            for (auto const *list : {&customs_, &extras_})
                for (Named const &one : *list)
                    if (one.token.content == content && (list == &customs_ || !from_pieces)) return true;
            for (std::size_t i = 0; from_pieces && i != pieces->size(); ++i)
                if ((*pieces)[i].content == content) return true;
            return is_listed(content) || vocabulary.find(content);
        };
        List<std::string_view> unsought; // they take an id all the same, since those behind them do
        for (std::size_t i = 0; i != roles_k; ++i) {
            std::string const &name = roles_[i].token.content;
            bool const lacks = !name.empty() && !is_sought(name);
            if (lacks) {
                unsought.push_back(name);
                parts.warnings.push_back(joined(path_of(roles_[i]), ": the ", key_of(static_cast<TokenRole>(i)), " '",
                                                name, "' is not in the vocabulary, and is not sought in texts"));
            }
            if (auto done = add_named(roles_[i]); !done && !lacks) return done;
        }
        for (Named const &custom : customs_)
            if (auto done = add_named(custom); !done) return done;
        for (std::size_t i = 0; from_pieces && i != pieces->size(); ++i)
            if (auto done = add((*pieces)[i], config_.path); !done) return done;
        for (std::size_t i = 0; !from_pieces && i != extras_.size(); ++i)
            if (auto done = add_named(extras_[i]); !done) return done;
        parts.added = added.take();
        parts.added.erase_if([&](AddedToken const &token) { return is_among(unsought, token.content); });
        return {};
    }

    /// The id of the token in a role, which must have one. `path` is the vocabulary's.
    [[nodiscard]] UFORM_COLD Result<std::uint32_t> id_of(TokenRole role, TokenizerParts const &parts,
                                                         Vocabulary const &vocabulary, std::string_view path) const {
        std::string_view const name = name_of(role);
        if (auto const id = vocabulary.find(name); id && !name.empty()) return *id;
        for (AddedToken const &token : parts.added)
            if (token.content == name) return token.id;
        return Error::of(Status::corrupt, path, ": the ", key_of(role), " '", name, "' is not in the vocabulary");
    }
    /// Frames texts by the tokens of two roles, as `Framing::put_between` says. Errors: as of `id_of`.
    [[nodiscard]] UFORM_COLD Result<void> frame(TokenizerParts &parts, Vocabulary const &vocabulary, TokenRole begin,
                                                TokenRole end, std::string_view path, bool roberta = true) const {
        auto const first = id_of(begin, parts, vocabulary, path), last = id_of(end, parts, vocabulary, path);
        if (!first) return first.error();
        if (!last) return last.error();
        parts.framing.put_between(*first, *last, roberta);
        return {};
    }
};

} // namespace uform

#endif // UFORM_TEXT_SPECIAL_TOKENS_HPP
