/// Reads tokenizer.json. What it doesn't know it refuses by name.
#ifndef UFORM_TEXT_TOKENIZER_JSON_HPP
#define UFORM_TEXT_TOKENIZER_JSON_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "uform/config.hpp"
#include "uform/json.hpp"
#include "uform/status.hpp"
#include "uform/text/decoder_json.hpp"
#include "uform/text/framing_json.hpp"
#include "uform/text/json_fields.hpp"
#include "uform/text/model_json.hpp"
#include "uform/text/normalizer_json.hpp"
#include "uform/text/pre_tokenizer_json.hpp"
#include "uform/text/tokenizer_parts.hpp"

namespace uform {

/// Reads one file. Its truncation and padding have no say, and are not looked at.
class TokenizerJson {
    std::string_view file_;
    TokenizerParts parts_;

    explicit TokenizerJson(std::string_view file) : file_(file) {}

    [[nodiscard]] UFORM_COLD Error refuse(Status status, MessagePart const &a, MessagePart const &b = no_part,
                                          MessagePart const &c = no_part, MessagePart const &d = no_part,
                                          MessagePart const &e = no_part, MessagePart const &f = no_part) const {
        return Error::of(status, file_, ": ", a, b, c, d, e, f);
    }
    [[nodiscard]] UFORM_COLD Result<void> read_added_tokens(JsonValue list, Vocabulary const &vocabulary) {
        AddedTokenList added;
        if (!json_absent(list) && !list.is(JsonKind::array))
            return refuse(Status::corrupt, "'added_tokens' is no array");
        for (std::size_t i = 0; i != list.size(); ++i) {
            AddedToken token;
            auto const content = json_string(list[i], "content", file_);
            if (!content) return content.error();
            token.content = *content;
            struct Flag {
                std::string_view key;
                bool AddedToken::*flag;
            };
            static constexpr Flag flags[] = {{"single_word", &AddedToken::single_word},
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
    [[nodiscard]] UFORM_COLD Result<void> check_special_tokens() const {
        for (auto const *items : {&parts_.framing.single, &parts_.framing.pair})
            for (Framing::Item const &item : *items)
                if (item.kind == Framing::Item::Kind::special && !parts_.names.find(item.id))
                    return refuse(Status::corrupt, "the post_processor adds the id ", item.id, ", which no token has");
        return {};
    }
    [[nodiscard]] UFORM_COLD Result<void> read_all(JsonValue root) {
        if (!root.is(JsonKind::object)) return refuse(Status::corrupt, "no object");
        if (JsonValue const version = root.find("version"); version && version.string() != std::string_view("1.0"))
            return refuse(Status::unsupported, "a version other than 1.0");
        auto normalizer = NormalizerReader::read(root.find("normalizer"), file_);
        if (!normalizer) return normalizer.error();
        auto pre_tokenizer = PreTokenizerReader::read(root.find("pre_tokenizer"), file_);
        if (!pre_tokenizer) return pre_tokenizer.error();
        auto framing = FramingReader::read(root.find("post_processor"), file_);
        if (!framing) return framing.error();
        auto model = ModelReader::read(root.find("model"), *pre_tokenizer, file_);
        if (!model) return model.error();
        parts_.normalizer = std::move(*normalizer), parts_.pre_tokenizer = std::move(*pre_tokenizer);
        parts_.framing = std::move(*framing), parts_.model = std::move(model->model);
        parts_.decoder = DecoderReader::read(root.find("decoder"), file_);
        if (auto done = read_added_tokens(root.find("added_tokens"), model->vocabulary); !done) return done;
        finish_parts(parts_, model->vocabulary);
        return check_special_tokens();
    }

  public:
    /// Reads the text of a file.
    ///
    /// Errors  `corrupt` for a damaged file, two tokens of one id, a merge of tokens that aren't there, an unknown or
    ///         special token that isn't there; `unsupported` for any other component, option or regular expression. All
    ///         name the file.
    [[nodiscard]] UFORM_COLD static Result<TokenizerParts> read(std::string_view text, std::string_view file) {
        auto const json = Json::parse(text, file);
        if (!json) return json.error();
        TokenizerJson reader(file);
        if (auto done = reader.read_all(json->root()); !done) return done.error();
        return std::move(reader.parts_);
    }
};

} // namespace uform

#endif // UFORM_TEXT_TOKENIZER_JSON_HPP
