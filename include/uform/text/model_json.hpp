/// Reads the model of tokenizer.json: WordPiece, BPE, Unigram or WordLevel.
#ifndef UFORM_TEXT_MODEL_JSON_HPP
#define UFORM_TEXT_MODEL_JSON_HPP

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
#include "uform/text/byte_characters.hpp"
#include "uform/text/json_fields.hpp"
#include "uform/text/pre_tokenizer.hpp"
#include "uform/text/reference_number.hpp"
#include "uform/text/vocabulary.hpp"
#include "uform/text/word_model.hpp"

namespace uform {

/// A merge as a file spells it. The names belong to the file.
struct NamedMerge {
    std::string_view left, right;
    std::size_t place; ///< in the file, as messages count it

    /// Two names with one blank between them, or nothing.
    [[nodiscard]] static std::optional<NamedMerge> of(std::string_view text, std::size_t place) noexcept {
        std::size_t const blank = text.find(' ');
        if (blank == text.npos || text.find(' ', blank + 1) != text.npos) return std::nullopt;
        return NamedMerge{text.substr(0, blank), text.substr(blank + 1), place};
    }
};

/// Reads one file's model. The vocabulary's names belong to the JSON document.
class ModelReader {
    JsonValue model_;
    std::string_view file_;
    Vocabulary vocabulary_;
    List<double> scores_; // of a Unigram's pieces, by id
    std::string_view type_;

    ModelReader(JsonValue model, std::string_view file) : model_(model), file_(file) {}

    [[nodiscard]] UFORM_COLD Error refuse(Status status, MessagePart const &a, MessagePart const &b = no_part,
                                          MessagePart const &c = no_part, MessagePart const &d = no_part,
                                          MessagePart const &e = no_part, MessagePart const &f = no_part,
                                          MessagePart const &g = no_part, MessagePart const &h = no_part,
                                          MessagePart const &i = no_part) const {
        return Error::of(status, file_, ": ", a, b, c, d, e, f, g, h, i);
    }
    // Old files don't name the type; some fields tell.
    [[nodiscard]] UFORM_COLD Result<void> read_type() {
        if (!model_.is(JsonKind::object)) return refuse(Status::corrupt, "'model' is no object");
        if (!model_.find("type")) {
            if (model_.find("merges")) type_ = "BPE";
            else if (model_.find("max_input_chars_per_word")) type_ = "WordPiece";
            else if (model_.find("vocab").is(JsonKind::array)) type_ = "Unigram";
        }
        if (type_.empty()) {
            auto const type = json_string(model_, "type", file_);
            if (!type) return type.error();
            type_ = *type;
        }
        if (type_ != "WordPiece" && type_ != "BPE" && type_ != "Unigram" && type_ != "WordLevel")
            return refuse(Status::unsupported, "the model ", type_, " is not served");
        return {};
    }
    // `what` names the list in messages.
    [[nodiscard]] Result<void> read_vocabulary(JsonValue list, std::string_view what) {
        bool const unigram = type_ == "Unigram";
        if (!list.is(unigram ? JsonKind::array : JsonKind::object))
            return refuse(Status::corrupt, what, " is no ", unigram ? "array" : "object");
        if (list.size() == 0) return refuse(Status::corrupt, what, " is empty");
        if (list.size() > greatest_id_k) return refuse(Status::unsupported, "too many tokens");
        List<Trie::Entry> entries;
        entries.reserve(list.size());
        if (unigram) scores_.reserve(list.size());
        for (std::size_t i = 0; i != list.size(); ++i) {
            if (!unigram) {
                auto const id = json_id(list[i], list.key(i), file_);
                if (!id) return id.error();
                entries.push_back({list.key(i), *id});
                continue;
            }
            JsonValue const pair = list[i];
            auto const piece = pair[0].string();
            auto const score = reference_number(pair[1]);
            if (!pair.is(JsonKind::array) || pair.size() != 2 || !piece || !score)
                return refuse(Status::corrupt, "the piece ", i, " of 'vocab' is no text with a score");
            entries.push_back({*piece, static_cast<std::uint32_t>(i)});
            scores_.push_back(*score);
        }
        auto vocabulary = unigram ? Vocabulary::of_list(std::move(entries)) : Vocabulary::of(std::move(entries), file_);
        if (!vocabulary) return vocabulary.error();
        vocabulary_ = std::move(*vocabulary);
        return {};
    }
    [[nodiscard]] Error too_large() const { return refuse(Status::unsupported, "the vocabulary is too large"); }

    // The id of the unknown token, which must be there.
    [[nodiscard]] UFORM_COLD Result<std::uint32_t> read_unknown() const {
        auto const name = json_string(model_, "unk_token", file_);
        if (!name) return name.error();
        auto const id = vocabulary_.find(*name);
        if (!id) return refuse(Status::corrupt, "the unknown token '", *name, "' is not in the vocabulary");
        return *id;
    }
    [[nodiscard]] UFORM_COLD Result<WordModel> word_piece() const {
        auto const prefix = json_string(model_, "continuing_subword_prefix", file_);
        if (!prefix) return prefix.error();
        auto const most = model_.find("max_input_chars_per_word").natural();
        if (!most) return refuse(Status::corrupt, "'max_input_chars_per_word' is no number from 0 on");
        auto const unknown = read_unknown();
        if (!unknown) return unknown.error();
        WordPiece model;
        if (!model.build(vocabulary_.entries(), *prefix, *unknown, static_cast<std::size_t>(*most))) return too_large();
        return WordModel(std::move(model));
    }
    [[nodiscard]] UFORM_COLD Result<WordModel> word_level() const {
        auto const unknown = read_unknown();
        if (!unknown) return unknown.error();
        WordLevel model;
        if (!model.build(vocabulary_.entries(), *unknown)) return too_large();
        return WordModel(std::move(model));
    }
    [[nodiscard]] UFORM_COLD Result<WordModel> unigram() {
        auto const fallback = json_boolean_or(model_, "byte_fallback", false, file_);
        if (!fallback) return fallback.error();
        if (json_absent(model_.find("unk_id")))
            return refuse(Status::unsupported, "a Unigram model without an 'unk_id' is not served");
        auto const unknown = json_id(model_.find("unk_id"), "unk_id", file_);
        if (!unknown) return unknown.error();
        if (*unknown >= scores_.size())
            return refuse(Status::corrupt, "the 'unk_id' ", *unknown, " is none of the ", scores_.size(), " pieces");
        Unigram model;
        if (!model.build(vocabulary_.entries(), std::move(scores_), *unknown, *fallback)) return too_large();
        return WordModel(std::move(model));
    }

    // A merge is two names, as an array or with a blank between them.
    [[nodiscard]] Result<List<NamedMerge>> read_merges() const {
        JsonValue const list = model_.find("merges");
        if (!list.is(JsonKind::array)) return refuse(Status::corrupt, "the model's 'merges' is no array");
        List<NamedMerge> merges;
        merges.reserve(list.size());
        for (std::size_t i = 0; i != list.size(); ++i) {
            if (auto const text = list[i].string()) {
                if (text->starts_with("#version")) continue;
                auto const merge = NamedMerge::of(*text, i);
                if (!merge) return refuse(Status::corrupt, "the merge ", i, ", '", *text, "', is not two tokens");
                merges.push_back(*merge);
                continue;
            }
            auto const first = list[i][0].string(), second = list[i][1].string();
            if (!list[i].is(JsonKind::array) || list[i].size() != 2 || !first || !second)
                return refuse(Status::corrupt, "the merge ", i, " is not two tokens");
            merges.push_back({*first, *second, i});
        }
        return merges;
    }
    [[nodiscard]] Result<List<MergeTable::Merge>> find_merges(List<NamedMerge> const &named, std::size_t prefix_size,
                                                              std::string_view file, std::string_view what) const {
        TokenTable names;
        if (!names.build(vocabulary_.entries())) return too_large();
        List<MergeTable::Merge> merges;
        merges.reserve(named.size());
        std::string made;
        for (auto const &[left, right, place] : named) {
            made.assign(left);
            if (right.size() >= prefix_size) made += right.substr(prefix_size);
            std::uint32_t const ids[] = {names.find(left), names.find(right), names.find(made)};
            std::string_view const tokens[] = {left, right, made};
            for (std::size_t j = 0; j != 3; ++j)
                if (ids[j] == TokenTable::none_k || right.size() < prefix_size)
                    return Error::of(Status::corrupt, file, ": the ", what, " ", place, " of '", left, "' and '", right,
                                     "' needs '", tokens[j], "', which is not in the vocabulary");
            merges.push_back({ids[0], ids[1], static_cast<std::uint32_t>(merges.size()), ids[2]});
        }
        return merges;
    }
    [[nodiscard]] UFORM_COLD Result<WordModel> bpe(List<PreTokenizerStep> &steps) {
        if (auto const dropout = model_.find("dropout"); !json_absent(dropout) && dropout.number() != 0.0)
            return refuse(Status::unsupported, "a BPE model with 'dropout' is not served");
        BpeOptions options;
        struct Flag {
            std::string_view key;
            bool BpeOptions::*flag;
        };
        static constexpr Flag flags[] = {{"fuse_unk", &BpeOptions::fuse_unknown},
                                         {"byte_fallback", &BpeOptions::byte_fallback},
                                         {"ignore_merges", &BpeOptions::ignore_merges}};
        for (auto const &[key, flag] : flags) {
            auto const value = json_boolean_or(model_, key, false, file_);
            if (!value) return value.error();
            options.*flag = *value;
        }
        struct Text {
            std::string_view key;
            std::string BpeOptions::*text;
        };
        static constexpr Text texts[] = {{"continuing_subword_prefix", &BpeOptions::prefix},
                                         {"end_of_word_suffix", &BpeOptions::suffix}};
        for (auto const &[key, text] : texts) {
            auto const value = json_string_or_empty(model_, key, file_);
            if (!value) return value.error();
            options.*text = *value;
        }
        auto const unknown = json_string_or_empty(model_, "unk_token", file_);
        if (!unknown) return unknown.error();
        auto const named = read_merges();
        if (!named) return named.error();
        auto const merges = find_merges(*named, options.prefix.size(), file_, "merge");
        if (!merges) return merges.error();
        auto const unknown_id = vocabulary_.find(*unknown);
        if (unknown_id && !json_absent(model_.find("unk_token"))) options.unknown = *unknown_id;

        Bpe model;
        if (!build(model, *merges, std::move(options), steps)) return too_large();
        if (!unknown->empty() && !unknown_id && !model.knows_all_bytes())
            return refuse(Status::corrupt, "the unknown token '", *unknown, "' is not in the vocabulary");
        return WordModel(std::move(model));
    }
    // Where each byte became a character last, the model takes the bytes instead.
    [[nodiscard]] bool build(Bpe &model, List<MergeTable::Merge> const &merges, BpeOptions options,
                             List<PreTokenizerStep> &steps) const {
        std::string bytes;
        List<Trie::Entry> tokens = vocabulary_.entries();
        if (!steps.empty() && steps.back().kind == PreTokenizerStep::Kind::byte_level && options.prefix.empty() &&
            options.suffix.empty() && !options.byte_fallback) {
            options.bytes = true;
            steps.pop_back();
            tokens.clear();
            std::size_t most = 0; // a character takes more bytes than what it stands for: `bytes` stays in place
            for (Trie::Entry const &entry : vocabulary_.entries()) most += entry.key.size();
            bytes.reserve(most);
            for (Trie::Entry const &entry : vocabulary_.entries()) {
                std::size_t const first = bytes.size();
                if (append_bytes_of(entry.key, bytes))
                    tokens.push_back({{bytes.data() + first, bytes.size() - first}, entry.value});
                else bytes.resize(first); // no text becomes it
            }
        }
        return model.build(tokens, merges, std::move(options));
    }

  public:
    struct Read {
        WordModel model;
        Vocabulary vocabulary;
    };
    /// Reads a model. `steps` are the pre-tokeniser's, whose last may become part of the model.
    ///
    /// Errors  `corrupt` or `unsupported`, naming the file and what is wrong.
    [[nodiscard]] UFORM_COLD static Result<Read> read(JsonValue model, List<PreTokenizerStep> &steps,
                                                      std::string_view file) {
        ModelReader reader(model, file);
        if (auto done = reader.read_type(); !done) return done.error();
        if (auto done = reader.read_vocabulary(model.find("vocab"), "the model's 'vocab'"); !done) return done.error();
        auto made = reader.type_ == "WordPiece"   ? reader.word_piece()
                    : reader.type_ == "BPE"       ? reader.bpe(steps)
                    : reader.type_ == "WordLevel" ? reader.word_level()
                                                  : reader.unigram();
        if (!made) return made.error();
        return Read{std::move(*made), std::move(reader.vocabulary_)};
    }
    /// Reads a BPE model without an unknown token whose vocabulary and merges stand in files of their own: an object of
    /// ids, and merges by their lines. `steps` as above.
    ///
    /// Errors  `corrupt` or `unsupported`, naming the file that is wrong, and the line of a merge.
    [[nodiscard]] UFORM_COLD static Result<Read> read_bpe(JsonValue vocabulary, List<NamedMerge> const &merges,
                                                          List<PreTokenizerStep> &steps,
                                                          std::string_view vocabulary_file,
                                                          std::string_view merges_file) {
        ModelReader reader(JsonValue(), vocabulary_file);
        reader.type_ = "BPE";
        if (auto done = reader.read_vocabulary(vocabulary, "the vocabulary"); !done) return done.error();
        auto const found = reader.find_merges(merges, 0, merges_file, "merge in line");
        if (!found) return found.error();
        Bpe model;
        if (!reader.build(model, *found, {}, steps)) return reader.too_large();
        return Read{WordModel(std::move(model)), std::move(reader.vocabulary_)};
    }
};

} // namespace uform

#endif // UFORM_TEXT_MODEL_JSON_HPP
