/// Reads tokenizer.json: WordPiece with BERT's normaliser and splitting. What it doesn't know it refuses by name.
#ifndef UFORM_TEXT_TOKENIZER_JSON_HPP
#define UFORM_TEXT_TOKENIZER_JSON_HPP

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "uform/json.hpp"
#include "uform/status.hpp"
#include "uform/text/tokenizer_parts.hpp"

namespace uform {

/// Reads one file. Its truncation, padding and decoder have no say in ids, and are not looked at.
class TokenizerJson {
    std::string_view file_;
    TokenizerParts parts_;
    enum class Step { none, lowercase, bert } last_step_ = Step::none;

    explicit TokenizerJson(std::string_view file) : file_(file) {}

    template <class... Parts> [[nodiscard]] Error refuse(Status status, Parts const &...parts) const {
        return Error::of(status, file_, ": ", parts...);
    }
    [[nodiscard]] static bool absent(JsonValue value) noexcept { return !value || value.is(JsonKind::null); }

    // A sequence is served where the order of its steps is that of one BertNormalizer, with a Lowercase on either side.
    [[nodiscard]] Result<void> read_normalizer(JsonValue normalizer, std::size_t level = 0) {
        if (absent(normalizer)) return {};
        auto const type = json_string(normalizer, "type", file_);
        if (!type) return type.error();
        BertNormalizer::Flags &flags = parts_.normalizer;
        if (*type == "Sequence") {
            JsonValue const steps = normalizer.find("normalizers");
            if (!steps.is(JsonKind::array)) return refuse(Status::corrupt, "the sequence of normalizers is no array");
            if (level != 0) return refuse(Status::unsupported, "a sequence of normalizers in another is not served");
            for (std::size_t i = 0; i != steps.size(); ++i)
                if (auto done = read_normalizer(steps[i], level + 1); !done) return done;
            return {};
        }
        if (*type == "Lowercase") {
            (last_step_ == Step::bert ? flags.lowercase : flags.lowercase_first) = true;
            parts_.has_lowercase_step = true;
            if (last_step_ == Step::none) last_step_ = Step::lowercase;
            return {};
        }
        if (*type != "BertNormalizer") return refuse(Status::unsupported, "the normalizer ", *type, " is not served");
        if (last_step_ == Step::bert) return refuse(Status::unsupported, "two BertNormalizers in a row are not served");
        last_step_ = Step::bert;
        auto const clean = json_boolean(normalizer, "clean_text", file_);
        auto const spaced = json_boolean(normalizer, "handle_chinese_chars", file_);
        auto const lowercase = json_boolean(normalizer, "lowercase", file_);
        for (auto const *read : {&clean, &spaced, &lowercase})
            if (!*read) return read->error();
        auto const strip = json_boolean_or(normalizer, "strip_accents", *lowercase, file_);
        if (!strip) return strip.error();
        flags.clean_text = *clean, flags.handle_chinese_chars = *spaced;
        flags.strip_accents = *strip, flags.lowercase = *lowercase;
        return {};
    }

    [[nodiscard]] Result<void> read_pre_tokenizer(JsonValue splitting) {
        if (absent(splitting)) return refuse(Status::unsupported, "a tokenizer without a pre_tokenizer is not served");
        auto const type = json_string(splitting, "type", file_);
        if (!type) return type.error();
        if (*type == "Sequence" && splitting.find("pretokenizers").size() == 1)
            return read_pre_tokenizer(splitting.find("pretokenizers")[0]);
        if (*type != "BertPreTokenizer")
            return refuse(Status::unsupported, "the pre_tokenizer ", *type, " is not served");
        return {};
    }

    [[nodiscard]] Result<void> read_template(JsonValue processor) {
        JsonValue const pieces = processor.find("single"), tokens = processor.find("special_tokens");
        if (!pieces.is(JsonKind::array) || !tokens.is(JsonKind::object))
            return refuse(Status::corrupt, "TemplateProcessing without 'single' or 'special_tokens'");
        constexpr std::size_t most_pieces = 1000;
        if (pieces.size() > most_pieces || tokens.size() > most_pieces)
            return refuse(Status::unsupported, "a template of ", pieces.size(), " pieces and ", tokens.size(),
                          " special tokens; at most ", most_pieces, " of either are served");
        bool seen = false;
        for (std::size_t i = 0; i != pieces.size(); ++i) {
            if (JsonValue const sequence = pieces[i].find("Sequence")) {
                if (seen || sequence.find("id").string() != std::string_view("A"))
                    return refuse(Status::unsupported, "a template whose single text is not $A, once, is not served");
                seen = true;
                continue;
            }
            auto const name = json_string(pieces[i].find("SpecialToken"), "id", file_);
            if (!name) return name.error();
            JsonValue const ids = tokens.find(*name).find("ids");
            if (!ids.is(JsonKind::array))
                return refuse(Status::corrupt, "the template's special token '", *name, "' has no ids");
            for (std::size_t j = 0; j != ids.size(); ++j) {
                auto const id = json_id(ids[j], *name, file_);
                if (!id) return id.error();
                (seen ? parts_.after : parts_.before).push_back(*id);
            }
        }
        if (!seen) return refuse(Status::unsupported, "a template without the text, $A, is not served");
        return {};
    }

    [[nodiscard]] Result<void> read_post_processor(JsonValue processor) {
        if (absent(processor)) return {};
        auto const type = json_string(processor, "type", file_);
        if (!type) return type.error();
        if (*type == "Sequence" && processor.find("processors").size() == 1)
            return read_post_processor(processor.find("processors")[0]);
        if (*type == "TemplateProcessing") return read_template(processor);
        if (*type != "BertProcessing")
            return refuse(Status::unsupported, "the post_processor ", *type, " is not served");
        for (std::string_view key : {"cls", "sep"}) {
            auto const id = json_id(processor.find(key)[1], key, file_);
            if (!id) return id.error();
            (key == "cls" ? parts_.before : parts_.after).push_back(*id);
        }
        return {};
    }

    [[nodiscard]] Result<Vocabulary> read_vocabulary(JsonValue model) const {
        JsonValue const vocabulary = model.find("vocab");
        if (!vocabulary.is(JsonKind::object)) return refuse(Status::corrupt, "the model's 'vocab' is no object");
        std::vector<Trie::Entry> entries;
        entries.reserve(vocabulary.size());
        for (std::size_t i = 0; i != vocabulary.size(); ++i) {
            auto const id = json_id(vocabulary[i], vocabulary.key(i), file_);
            if (!id) return id.error();
            entries.push_back({vocabulary.key(i), *id});
        }
        return Vocabulary::of(std::move(entries), file_);
    }

    [[nodiscard]] Result<void> read_added_tokens(JsonValue list, Vocabulary const &vocabulary) {
        AddedTokenList added;
        if (!absent(list) && !list.is(JsonKind::array)) return refuse(Status::corrupt, "'added_tokens' is no array");
        for (std::size_t i = 0; i != list.size(); ++i) {
            AddedToken token;
            auto const content = json_string(list[i], "content", file_);
            if (!content) return content.error();
            token.content = *content;
            std::pair<std::string_view, bool AddedToken::*> const flags[] = {{"single_word", &AddedToken::single_word},
                                                                             {"lstrip", &AddedToken::lstrip},
                                                                             {"rstrip", &AddedToken::rstrip},
                                                                             {"normalized", &AddedToken::normalized},
                                                                             {"special", &AddedToken::special}};
            for (auto const &[key, flag] : flags) {
                auto const value = json_boolean(list[i], key, file_);
                if (!value) return value.error();
                token.*flag = *value;
            }
            auto const id = json_id(list[i].find("id"), token.content, file_);
            if (!id) return id.error();
            if (auto done = added.add(std::move(token), *id, vocabulary, file_, parts_.warnings); !done) return done;
        }
        parts_.added = added.take();
        return {};
    }

    // The special tokens' ids come from the file as they are; one that no token has would be a row of nothing.
    [[nodiscard]] Result<void> check_special_tokens(Vocabulary const &vocabulary) const {
        for (std::vector<std::uint32_t> const *ids : {&parts_.before, &parts_.after})
            for (std::uint32_t id : *ids) {
                bool known = vocabulary.name_of(id).has_value();
                for (AddedToken const &token : parts_.added) known = known || token.id == id;
                if (!known)
                    return refuse(Status::corrupt, "the post_processor adds the id ", id, ", which no token has");
            }
        return {};
    }

    [[nodiscard]] Result<void> read_all(JsonValue root) {
        if (!root.is(JsonKind::object)) return refuse(Status::corrupt, "no object");
        if (JsonValue const version = root.find("version"); version && version.string() != std::string_view("1.0"))
            return refuse(Status::unsupported, "a version other than 1.0");
        JsonValue const model = root.find("model");
        if (!model.is(JsonKind::object)) return refuse(Status::corrupt, "'model' is no object");
        // Old files don't name the type; only WordPiece has these fields.
        bool const untyped = !model.find("type") && model.find("max_input_chars_per_word") && !model.find("merges");
        if (!untyped) {
            auto const type = json_string(model, "type", file_);
            if (!type) return type.error();
            if (*type != "WordPiece") return refuse(Status::unsupported, "the model ", *type, " is not served");
        }
        auto const unknown = json_string(model, "unk_token", file_);
        auto const prefix = json_string(model, "continuing_subword_prefix", file_);
        for (auto const *read : {&unknown, &prefix})
            if (!*read) return read->error();
        auto const most = model.find("max_input_chars_per_word").natural();
        if (!most) return refuse(Status::corrupt, "'max_input_chars_per_word' is no number from 0 on");

        if (auto done = read_normalizer(root.find("normalizer")); !done) return done;
        if (auto done = read_pre_tokenizer(root.find("pre_tokenizer")); !done) return done;
        if (auto done = read_post_processor(root.find("post_processor")); !done) return done;
        auto const vocabulary = read_vocabulary(model);
        if (!vocabulary) return vocabulary.error();
        if (auto done = read_added_tokens(root.find("added_tokens"), *vocabulary); !done) return done;
        if (auto done = check_special_tokens(*vocabulary); !done) return done;
        return finish_parts(parts_, *vocabulary, *prefix, *unknown, static_cast<std::size_t>(*most), file_);
    }

  public:
    /// Reads the text of a file.
    ///
    /// Errors  `corrupt` for a damaged file, two tokens of one id, an unknown or special token that isn't there;
    ///         `unsupported` for any other model, normalizer, pre_tokenizer or post_processor. All name the file.
    [[nodiscard]] static Result<TokenizerParts> read(std::string_view text, std::string_view file) {
        auto const json = Json::parse(text, file);
        if (!json) return json.error();
        TokenizerJson reader(file);
        if (auto done = reader.read_all(json->root()); !done) return done.error();
        return std::move(reader.parts_);
    }
};

} // namespace uform

#endif // UFORM_TEXT_TOKENIZER_JSON_HPP
