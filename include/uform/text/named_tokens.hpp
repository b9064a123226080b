/// Reads the special tokens that tokenizer_config.json and special_tokens_map.json name.
#ifndef UFORM_TEXT_NAMED_TOKENS_HPP
#define UFORM_TEXT_NAMED_TOKENS_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "uform/config.hpp"
#include "uform/json.hpp"
#include "uform/list.hpp"
#include "uform/status.hpp"
#include "uform/text/added_tokens.hpp"
#include "uform/text/json_fields.hpp"
#include "uform/text/optional_json.hpp"
#include "uform/text/vocabulary.hpp"

namespace uform {

/// What a special token is for, in the order in which the reference adds them.
enum class TokenRole : std::uint8_t { begin, end, unknown, separator, padding, classifier, mask };

/// The special tokens of a folder by their roles, and further ones: tokenizer_config.json names them, and where that
/// has no `added_tokens_decoder` special_tokens_map.json goes before it.
///
/// Move-only. Source: transformers 5.24.0, `PreTrainedTokenizerBase._from_pretrained`.
class NamedTokens {
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

  protected:
    struct Named {
        AddedToken token;      // without content where there is none
        bool is_named = false; // by its name, or by the map: added_tokens.json is read by these
        bool in_map = false;   // which file has a say on it
        bool is_plain = false; // by its name alone
        std::string_view key;  // of one of those with keys
    };
    OptionalJson config_, map_;
    Named roles_[roles_k];
    List<Named> customs_; // of other keys that end in _token, and of an object of extra_special_tokens
    List<Named> extras_;
    std::size_t late_extras_ = 0; // of those: called additional only, which added_tokens.json doesn't know yet
    bool lists_extras_ = false;

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

  private:
    static constexpr std::size_t most_keys_k = 1000; // each is compared with those before it

    // An object of the configuration says itself whether it is special, but for one that has a key of its own.
    [[nodiscard]] UFORM_COLD Result<void> read_named(JsonValue value, std::string_view what, std::string_view key,
                                                     bool in_map, List<Named> &to) const {
        bool const special = in_map || &to == &customs_ || !value.is(JsonKind::object);
        auto token = read_token(value, special, what, (in_map ? map_ : config_).path);
        if (!token) return token.error();
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
                if (!token) return token.error();
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

  protected:
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
    /// Reads the two files of a folder, each of which may be missing. Errors: `io`, `corrupt`, naming file and key.
    [[nodiscard]] UFORM_COLD Result<void> read_names(std::string const &folder, Defaults const &defaults) {
        std::pair<OptionalJson *, std::string_view> const files[] = {{&config_, "tokenizer_config.json"},
                                                                     {&map_, "special_tokens_map.json"}};
        for (auto const &[file, name] : files) {
            auto json = OptionalJson::read(folder, name);
            if (!json) return json.error();
            *file = std::move(*json);
        }
        if (auto done = read_roles(defaults); !done) return done.error();
        return read_extras();
    }

  public:
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
};

} // namespace uform

#endif // UFORM_TEXT_NAMED_TOKENS_HPP
