/// Reads the special and added tokens that the JSON files beside a vocabulary name.
#ifndef UFORM_TEXT_SPECIAL_TOKENS_HPP
#define UFORM_TEXT_SPECIAL_TOKENS_HPP

#include <array>
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
#include "uform/text/optional_json.hpp"
#include "uform/text/tokenizer_parts.hpp"
#include "uform/text/vocabulary.hpp"

namespace uform {

/// What a special token is for, in the order in which the reference adds them.
enum class TokenRole : std::uint8_t { begin, end, unknown, separator, padding, classifier, mask };

[[nodiscard]] inline bool is_among(List<std::string_view> const &names, std::string_view name) noexcept {
    for (std::string_view const one : names)
        if (one == name) return true;
    return false;
}

/// The special tokens of a folder without tokenizer.json: tokenizer_config.json names them, and where that has no
/// `added_tokens_decoder` special_tokens_map.json goes before it, and added_tokens.json lists further ones.
///
/// Move-only. Source: transformers 5.24.0, `PreTrainedTokenizerBase._from_pretrained` and `TokenizersBackend.__init__`.
class SpecialTokens {
  public:
    static constexpr std::size_t roles_k = 7;
    /// The key of a role in the files.
    [[nodiscard]] static constexpr std::string_view key_of(TokenRole role) noexcept {
        constexpr std::string_view keys[roles_k] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                                    "pad_token", "cls_token", "mask_token"};
        return keys[static_cast<std::size_t>(role)];
    }
    /// What a class of tokenizers has where its files say nothing. Static storage.
    struct Defaults {
        std::array<std::string_view, roles_k> names; ///< empty: none
        bool mask_takes_blanks_before = false;       ///< where the mask is given by its name alone
    };

    /// The names that RoBERTa and its kin give.
    static constexpr std::array<std::string_view, roles_k> roberta_names_k{"<s>",   "</s>", "<unk>", "</s>",
                                                                           "<pad>", "<s>",  "<mask>"};

  private:
    struct Named {
        AddedToken token;      // without content where there is none
        bool is_named = false; // by its name, or by the map: added_tokens.json is read by these
        bool in_map = false;   // which file has a say on it
        bool is_plain = false; // by its name alone
        std::string_view key;  // of one of those with keys
    };
    OptionalJson config_, map_, added_file_;
    Named roles_[roles_k];
    List<Named> customs_; // of other keys that end in _token, and of an object of extra_special_tokens
    List<Named> extras_;
    std::size_t late_extras_ = 0; // of those: called additional only, which added_tokens.json doesn't know yet
    bool lists_extras_ = false;

    static constexpr std::size_t most_keys_k = 1000; // each is compared with those before it

    [[nodiscard]] std::string const &path_of(Named const &named) const noexcept {
        return (named.in_map ? map_ : config_).path;
    }
    // The map counts where the configuration doesn't list the added tokens itself.
    [[nodiscard]] bool reads_map() const noexcept { return !config_.find("added_tokens_decoder"); }

    // A token is written as its name, or as an object with its flags.
    [[nodiscard]] UFORM_COLD static Result<AddedToken> read_token(JsonValue value, bool special, std::string_view what,
                                                                  std::string const &path) {
        AddedToken token;
        token.special = special;
        if (auto const name = value.string()) {
            token.content = *name;
            return token;
        }
        auto const content = json_string(value, "content", path);
        if (!content) return Error::of(Status::corrupt, path, ": '", what, "' is neither a name nor a token");
        token.content = *content;
        auto const single = json_boolean_or(value, "single_word", false, path);
        auto const left = json_boolean_or(value, "lstrip", false, path),
                   right = json_boolean_or(value, "rstrip", false, path);
        auto const is_special = json_boolean_or(value, "special", special, path);
        if (!is_special) return is_special.error();
        token.special = special || *is_special;
        auto const normalized = json_boolean_or(value, "normalized", !token.special, path);
        for (auto const *read : {&single, &left, &right, &normalized})
            if (!*read) return read->error();
        token.single_word = *single, token.lstrip = *left, token.rstrip = *right, token.normalized = *normalized;
        return token;
    }
    // An object of the configuration says itself whether it is special, but for one that has a key of its own.
    [[nodiscard]] UFORM_COLD Result<void> read_named(JsonValue value, std::string_view what, std::string_view key,
                                                     bool in_map, List<Named> &to) const {
        bool const special = in_map || &to == &customs_ || !value.is(JsonKind::object);
        auto token = read_token(value, special, what, (in_map ? map_ : config_).path);
        if (!token) return std::move(token).error();
        std::size_t const most = key.empty() ? most_added_tokens_k : most_keys_k;
        if (to.size() == most)
            return Error::of(Status::unsupported, (in_map ? map_ : config_).path, ": more than ", most,
                             " special tokens");
        bool const is_plain = value.is(JsonKind::string);
        Named named{std::move(*token), in_map || is_plain, in_map, is_plain, key};
        for (Named &other : to) // of one key the later counts, in the earlier's place
            if (!key.empty() && other.key == key) {
                other = std::move(named);
                return {};
            }
        to.push_back(std::move(named));
        return {};
    }
    [[nodiscard]] UFORM_COLD Result<void> read_roles(Defaults const &defaults) {
        for (std::size_t i = 0; i != roles_k; ++i) {
            std::string_view const key = key_of(static_cast<TokenRole>(i));
            Named &role = roles_[i];
            role.in_map = reads_map() && map_.find(key), role.token.special = true;
            JsonValue const value = (role.in_map ? map_ : config_).find(key);
            if (!json_absent(value)) {
                auto token = read_token(value, true, key, path_of(role));
                if (!token) return std::move(token).error();
                role.token = std::move(*token), role.is_named = role.in_map || value.is(JsonKind::string);
            } else if (!value) {
                role.token.content = defaults.names[i];
            }
            role.is_plain = !value.is(JsonKind::object);
            if (static_cast<TokenRole>(i) == TokenRole::mask && defaults.mask_takes_blanks_before && role.is_plain)
                role.token.lstrip = true, role.is_plain = false;
        }
        return {};
    }
    [[nodiscard]] static bool is_role(std::string_view key) noexcept {
        for (std::size_t i = 0; i != roles_k; ++i)
            if (key == key_of(static_cast<TokenRole>(i))) return true;
        return false;
    }
    // Of a key in both files the configuration's name counts, but the map's before the configuration's object, which
    // itself counts where it says that it is a token.
    [[nodiscard]] UFORM_COLD Result<void> read_customs() {
        for (int turn = 0; turn != 3; ++turn) {
            bool const in_map = turn == 1;
            JsonValue const root = !in_map ? config_.root() : reads_map() ? map_.root() : JsonValue();
            for (std::size_t i = 0; i != root.size(); ++i) {
                bool const is_name = root[i].is(JsonKind::string), is_object = root[i].is(JsonKind::object);
                bool const counts = turn == 0   ? is_object && root[i].find("__type")
                                    : turn == 1 ? is_name || is_object
                                                : is_name;
                std::string_view const key = root.key(i);
                if (!counts || !key.ends_with("_token") || is_role(key)) continue;
                if (auto done = read_named(root[i], key, key, in_map, customs_); !done) return done;
            }
        }
        return {};
    }
    [[nodiscard]] UFORM_COLD Result<void> read_list(std::string_view key, bool in_map, List<Named> &to) const {
        OptionalJson const &source = in_map ? map_ : config_;
        JsonValue const list = source.find(key);
        if (!json_absent(list) && !list.is(JsonKind::array) && !list.is(JsonKind::object))
            return Error::of(Status::corrupt, source.path, ": '", key, "' is no list of tokens");
        for (std::size_t i = 0; i != list.size(); ++i)
            if (auto done = read_named(list[i], key, list.key(i), in_map, to); !done) return done;
        return {};
    }
    [[nodiscard]] UFORM_COLD Result<void> read_extras() {
        constexpr std::string_view extra = "extra_special_tokens", additional = "additional_special_tokens";
        if (auto done = read_customs(); !done) return done;
        JsonValue const listed = config_.find(extra);
        std::string_view const key = listed.size() == 0 && config_.find(additional) ? additional : extra;
        bool const is_object = key == extra && listed.is(JsonKind::object);
        lists_extras_ = config_.find(key) && !is_object;
        if (auto done = read_list(key, false, is_object ? customs_ : extras_); !done) return done;
        if (reads_map()) {
            JsonValue const in_map = map_.find(extra);
            bool const is_map_object = in_map.is(JsonKind::object);
            if (is_map_object) extras_.clear(), lists_extras_ = false; // it takes the other's place
            else if (in_map) lists_extras_ = true;
            if (auto done = read_list(extra, true, is_map_object ? customs_ : extras_); !done) return done;
        }
        if (lists_extras_) return {};
        auto done = read_list(additional, reads_map() && map_.find(additional), extras_);
        late_extras_ = extras_.size();
        return done;
    }

    [[nodiscard]] bool has_role(std::string_view content) const noexcept {
        for (Named const &role : roles_)
            if (role.token.content == content) return true;
        for (Named const &custom : customs_)
            if (custom.token.content == content) return true;
        return false;
    }
    // Whether the files call a token special before added_tokens.json is read.
    [[nodiscard]] bool is_named_special(std::string_view content) const noexcept {
        for (Named const &role : roles_)
            if (role.is_named && role.token.content == content) return true;
        for (std::size_t i = 0; i + late_extras_ < extras_.size(); ++i)
            if (extras_[i].is_named && extras_[i].token.content == content) return true;
        return false;
    }
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
                if (!read) return std::move(read).error();
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
        std::pair<OptionalJson *, std::string_view> const files[] = {{&tokens.config_, "tokenizer_config.json"},
                                                                     {&tokens.map_, "special_tokens_map.json"},
                                                                     {&tokens.added_file_, "added_tokens.json"}};
        for (auto const &[file, name] : files) {
            auto json = OptionalJson::read(folder, name);
            if (!json) return std::move(json).error();
            *file = std::move(*json);
        }
        if (auto done = tokens.read_roles(defaults); !done) return done.error();
        if (auto done = tokens.read_extras(); !done) return done.error();
        return tokens;
    }

    /// tokenizer_config.json.
    [[nodiscard]] OptionalJson const &config() const noexcept { return config_; }
    /// The name of the token in a role; empty where there is none.
    [[nodiscard]] std::string_view name_of(TokenRole role) const noexcept {
        return roles_[static_cast<std::size_t>(role)].token.content;
    }
    /// The path of the file that has a say on a role.
    [[nodiscard]] std::string const &path_of(TokenRole role) const noexcept {
        return path_of(roles_[static_cast<std::size_t>(role)]);
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
                parts.warnings.push_back(path_of(roles_[i]) + ": the " +
                                         std::string(key_of(static_cast<TokenRole>(i))) + " '" + name +
                                         "' is not in the vocabulary, and is not sought in texts");
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
    /// Frames texts as RoBERTa does: `begin` a `end`, and `begin` a `end` `end` b `end`, all of segment 0. Errors: as
    /// of `id_of`.
    [[nodiscard]] UFORM_COLD Result<void> frame(TokenizerParts &parts, Vocabulary const &vocabulary, TokenRole begin,
                                                TokenRole end, std::string_view path) const {
        auto const first = id_of(begin, parts, vocabulary, path), last = id_of(end, parts, vocabulary, path);
        if (!first) return first.error();
        if (!last) return last.error();
        using Item = Framing::Item;
        Item const closing{Item::Kind::special, *last, 0};
        parts.framing.single = {{Item::Kind::special, *first, 0}, {Item::Kind::first, 0, 0}, closing};
        parts.framing.pair = parts.framing.single;
        parts.framing.pair.append({closing, {Item::Kind::second, 0, 0}, closing});
        return {};
    }
};

} // namespace uform

#endif // UFORM_TEXT_SPECIAL_TOKENS_HPP
