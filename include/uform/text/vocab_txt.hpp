/// Reads BERT's older files: vocab.txt, a token a line, and the JSON files that stand beside it.
#ifndef UFORM_TEXT_VOCAB_TXT_HPP
#define UFORM_TEXT_VOCAB_TXT_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "uform/config.hpp"
#include "uform/file.hpp"
#include "uform/json.hpp"
#include "uform/status.hpp"
#include "uform/text/json_fields.hpp"
#include "uform/text/tokenizer_parts.hpp"
#include "uform/text/unicode.hpp"
#include "uform/text/utf8.hpp"

namespace uform {

/// A JSON file of a folder, or nothing where there is none.
struct OptionalJson {
    std::string path;
    std::optional<Json> json;

    [[nodiscard]] UFORM_COLD static Result<OptionalJson> read(std::string const &folder, std::string_view name) {
        OptionalJson result{join_path(folder, name), std::nullopt};
        if (!file_exists(result.path)) return result;
        auto const file = File::map(result.path);
        if (!file) return file.error();
        auto json = Json::parse(file->text(), result.path);
        if (!json) return std::move(json).error();
        if (!json->root().is(JsonKind::object)) return Error::of(Status::corrupt, result.path, ": no object");
        result.json.emplace(std::move(*json));
        return result;
    }
    [[nodiscard]] JsonValue find(std::string_view key) const noexcept {
        return json ? json->root().find(key) : JsonValue();
    }
};

/// Reads a folder without tokenizer.json as transformers 5 does: vocab.txt, then the flags and tokens that
/// tokenizer_config.json names, or special_tokens_map.json and added_tokens.json where that has no
/// added_tokens_decoder.
class VocabTxt {
    OptionalJson config_, map_, added_file_;
    TokenizerParts parts_;
    AddedTokenList added_;

    struct Named {
        std::string_view key, name;
    };
    // In the order in which the reference adds them.
    static constexpr Named named_[] = {{"bos_token", ""},       {"eos_token", ""},      {"unk_token", "[UNK]"},
                                       {"sep_token", "[SEP]"},  {"pad_token", "[PAD]"}, {"cls_token", "[CLS]"},
                                       {"mask_token", "[MASK]"}};

    [[nodiscard]] static Result<std::vector<Trie::Entry>> read_lines(std::string_view text, std::string const &path) {
        if (std::size_t const valid = utf8::valid_prefix(text); valid != text.size())
            return Error::of(Status::corrupt, path, ": byte ", valid, " is not UTF-8");
        std::vector<Trie::Entry> entries;
        while (!text.empty()) {
            std::size_t const newline = text.find('\n'), end = newline < text.size() ? newline : text.size();
            std::string_view token = text.substr(0, end);
            while (!token.empty()) {
                char const *before = token.data() + token.size();
                if (!(unicode::properties(utf8::read_back(before)) & unicode::whitespace_k)) break;
                token = token.substr(0, static_cast<std::size_t>(before - token.data()));
            }
            if (entries.size() > greatest_id_k) return Error::of(Status::unsupported, path, ": too many tokens");
            entries.push_back({token, static_cast<std::uint32_t>(entries.size())});
            text.remove_prefix(end == text.size() ? end : end + 1);
        }
        return entries;
    }

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
        auto const normalized = json_boolean_or(value, "normalized", !*is_special, path);
        for (auto const *read : {&single, &left, &right, &normalized})
            if (!*read) return read->error();
        token.single_word = *single, token.lstrip = *left, token.rstrip = *right, token.normalized = *normalized;
        token.special = special || *is_special;
        return token;
    }

    // Where a key is read from: the map goes before the configuration, unless that lists the added tokens itself.
    [[nodiscard]] OptionalJson const &source_of(std::string_view key) const noexcept {
        bool const old = !config_.find("added_tokens_decoder");
        return old && map_.find(key) ? map_ : config_;
    }
    [[nodiscard]] UFORM_COLD Result<AddedToken> named_token(Named named) const {
        OptionalJson const &source = source_of(named.key);
        JsonValue const value = source.find(named.key);
        if (value && !value.is(JsonKind::null)) return read_token(value, true, named.key, source.path);
        AddedToken token;
        token.content = value ? std::string_view() : named.name;
        token.special = true;
        return token;
    }

    [[nodiscard]] UFORM_COLD Result<void> add(AddedToken token, std::optional<std::uint64_t> id,
                                              Vocabulary const &vocabulary, std::string const &path) {
        return added_.add(std::move(token), id, vocabulary, path, parts_.warnings);
    }

    // Tokens with an id each, by rising ids.
    [[nodiscard]] UFORM_COLD Result<void> add_listed(Vocabulary const &vocabulary) {
        bool const old = !config_.find("added_tokens_decoder");
        if (old && !added_file_.json) return {};
        OptionalJson const &source = old ? added_file_ : config_;
        JsonValue const list = old ? added_file_.json->root() : config_.find("added_tokens_decoder");
        std::vector<AddedToken> tokens; // by id; those of one id in the order of the file
        for (std::size_t i = 0; i != list.size(); ++i) {
            AddedToken token;
            std::uint64_t id = 0;
            if (old) {
                auto const read = json_id(list[i], list.key(i), source.path);
                if (!read) return read.error();
                id = *read, token.content = list.key(i), token.normalized = true;
                for (Named named : named_) {
                    auto const special = named_token(named);
                    if (!special) return special.error();
                    if (special->content == token.content) token.special = true, token.normalized = false;
                }
            } else {
                auto read = read_token(list[i], false, list.key(i), source.path);
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
            auto at = tokens.end();
            while (at != tokens.begin() && (at - 1)->id > token.id) --at;
            tokens.insert(at, std::move(token));
        }
        for (AddedToken &token : tokens) {
            std::uint32_t const id = token.id;
            if (auto done = add(std::move(token), id, vocabulary, source.path); !done) return done;
        }
        return {};
    }

    // The special tokens that have a role, then those that have none. One that the vocabulary lacks is not sought.
    // Of two roles with one token the later's flags count, but those of a list go before all.
    [[nodiscard]] UFORM_COLD Result<void> add_special(Vocabulary const &vocabulary) {
        std::vector<AddedToken> const listed = added_.tokens();
        auto const is_listed = [&](std::string const &content) {
            for (AddedToken const &token : listed)
                if (token.content == content) return true;
            return false;
        };
        for (Named named : named_) {
            auto token = named_token(named);
            if (!token) return std::move(token).error();
            if (is_listed(token->content)) continue;
            if (!token->content.empty() && !vocabulary.find(token->content)) {
                parts_.warnings.push_back(source_of(named.key).path + ": the " + std::string(named.key) + " '" +
                                          token->content + "' is not in the vocabulary, and is not sought in texts");
                continue;
            }
            if (auto done = add(std::move(*token), std::nullopt, vocabulary, source_of(named.key).path); !done)
                return done;
        }
        std::string_view const keys[] = {"extra_special_tokens", "additional_special_tokens"};
        for (std::string_view key : keys) {
            OptionalJson const &source = source_of(key);
            JsonValue const list = source.find(key);
            for (std::size_t i = 0; i != list.size(); ++i) {
                auto token = read_token(list[i], true, key, source.path);
                if (!token) return std::move(token).error();
                if (is_listed(token->content)) continue;
                if (auto done = add(std::move(*token), std::nullopt, vocabulary, source.path); !done) return done;
            }
            if (list.size() != 0) break;
        }
        return {};
    }

    [[nodiscard]] UFORM_COLD Result<void> read_flags() {
        JsonValue const root = config_.json ? config_.json->root() : JsonValue();
        auto const lowercase = json_boolean_or(root, "do_lower_case", true, config_.path);
        if (!lowercase) return lowercase.error();
        auto const strip = json_boolean_or(root, "strip_accents", *lowercase, config_.path);
        auto const spaced = json_boolean_or(root, "tokenize_chinese_chars", true, config_.path);
        for (auto const *read : {&strip, &spaced})
            if (!*read) return read->error();
        if (JsonValue const kept = config_.find("never_split"); kept.size() != 0)
            return Error::of(Status::unsupported, config_.path, ": 'never_split' is not served");
        NormalizerStep step;
        step.kind = NormalizerStep::Kind::bert;
        step.bert = {false, true, *spaced, *strip, *lowercase};
        parts_.normalizer.push_back(std::move(step));
        parts_.pre_tokenizer.emplace_back(); // BERT's
        return {};
    }

    [[nodiscard]] UFORM_COLD Result<void> read_all(std::string_view text, std::string const &path) {
        if (auto done = read_flags(); !done) return done;
        auto entries = read_lines(text, path);
        if (!entries) return std::move(entries).error();
        auto const vocabulary = Vocabulary::of(std::move(*entries), path);
        if (!vocabulary) return vocabulary.error();
        if (auto done = add_listed(*vocabulary); !done) return done;
        if (auto done = add_special(*vocabulary); !done) return done;
        parts_.added = added_.take();
        std::uint32_t begin = 0, end = 0;
        for (auto const &[named, to] : {std::pair(named_[5], &begin), std::pair(named_[3], &end)}) {
            auto const token = named_token(named);
            if (!token) return token.error();
            auto const id = vocabulary->find(token->content);
            if (!id)
                return Error::of(Status::corrupt, path, ": the ", named.key, " '", token->content,
                                 "' is not in the vocabulary");
            *to = *id;
        }
        using Kind = Framing::Item::Kind; // [CLS] a [SEP] b [SEP]
        parts_.framing.single = {{Kind::special, begin, 0}, {Kind::first, 0, 0}, {Kind::special, end, 0}};
        parts_.framing.pair = parts_.framing.single;
        parts_.framing.pair.push_back({Kind::second, 0, 1});
        parts_.framing.pair.push_back({Kind::special, end, 1});
        auto const unknown = named_token(named_[2]);
        if (!unknown) return unknown.error();
        auto const unknown_id = vocabulary->find(unknown->content);
        if (!unknown_id)
            return Error::of(Status::corrupt, path, ": the unknown token '", unknown->content,
                             "' is not in the vocabulary");
        WordPiece model;
        if (!model.build(vocabulary->entries(), "##", *unknown_id, 100))
            return Error::of(Status::unsupported, path, ": the vocabulary is too large");
        parts_.model = WordModel(std::move(model));
        DecoderStep decoder;
        decoder.kind = DecoderStep::Kind::word_piece;
        decoder.text = "##", decoder.flag = true;
        parts_.decoder = Decoder({std::move(decoder)});
        finish_parts(parts_, *vocabulary);
        return {};
    }

  public:
    /// Reads the folder whose vocab.txt has this text.
    ///
    /// Errors  `corrupt` for damaged files, and for [UNK], [CLS] or [SEP] missing from the vocabulary; `unsupported`
    /// for
    ///         `never_split`; `io` for a file that can't be read. All name the file.
    [[nodiscard]] UFORM_COLD static Result<TokenizerParts> read(std::string const &folder, std::string_view text,
                                                                std::string const &path) {
        VocabTxt reader;
        struct NamedFile {
            OptionalJson *file;
            std::string_view name;
        };
        NamedFile const files[] = {{&reader.config_, "tokenizer_config.json"},
                                   {&reader.map_, "special_tokens_map.json"},
                                   {&reader.added_file_, "added_tokens.json"}};
        for (auto const &[file, name] : files) {
            auto json = OptionalJson::read(folder, name);
            if (!json) return std::move(json).error();
            *file = std::move(*json);
        }
        if (auto done = reader.read_all(text, path); !done) return done.error();
        return std::move(reader.parts_);
    }
};

} // namespace uform

#endif // UFORM_TEXT_VOCAB_TXT_HPP
