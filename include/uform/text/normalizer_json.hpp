/// Reads the normalizer of tokenizer.json.
#ifndef UFORM_TEXT_NORMALIZER_JSON_HPP
#define UFORM_TEXT_NORMALIZER_JSON_HPP

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include "uform/config.hpp"
#include "uform/json.hpp"
#include "uform/list.hpp"
#include "uform/status.hpp"
#include "uform/text/character_map.hpp"
#include "uform/text/json_fields.hpp"
#include "uform/text/normalizer.hpp"

namespace uform {

/// The pattern of a `Split` or `Replace`. Errors: `unsupported` for a regular expression that is none of the published
/// ones and for an empty text; `corrupt` for anything else.
[[nodiscard]] UFORM_COLD inline Result<SplitPattern> read_pattern(JsonValue object, std::string_view what,
                                                                  std::string_view file) {
    JsonValue const pattern = object.find("pattern");
    if (auto const text = pattern.find("String").string()) {
        if (text->empty())
            return Error::of(Status::unsupported, file, ": an empty pattern of ", what, " is not served");
        return SplitPattern::literal(*text);
    }
    auto const expression = pattern.find("Regex").string();
    if (!expression)
        return Error::of(Status::corrupt, file, ": the pattern of ", what, " is neither a String nor a Regex");
    if (auto known = SplitPattern::of_expression(*expression)) return std::move(*known);
    return Error::of(Status::unsupported, file, ": the regular expression ", *expression, " of ", what,
                     " is not served");
}

/// Reads one file's normaliser into steps.
class NormalizerReader {
    std::string_view file_;
    List<NormalizerStep> steps_;
    std::size_t growth_ = 1;
    static constexpr std::size_t most_growth_k = 100'000;
    using Kind = NormalizerStep::Kind;

    explicit NormalizerReader(std::string_view file) : file_(file) {}

    [[nodiscard]] UFORM_COLD Result<NormalizerStep> read_bert(JsonValue normalizer) const {
        NormalizerStep step;
        step.kind = Kind::bert;
        auto const clean = json_boolean(normalizer, "clean_text", file_);
        auto const spaced = json_boolean(normalizer, "handle_chinese_chars", file_);
        auto const lowercase = json_boolean(normalizer, "lowercase", file_);
        for (auto const *read : {&clean, &spaced, &lowercase})
            if (!*read) return read->error();
        auto const strip = json_boolean_or(normalizer, "strip_accents", *lowercase, file_);
        if (!strip) return strip.error();
        step.bert = {false, *clean, *spaced, *strip, *lowercase};
        return step;
    }
    [[nodiscard]] UFORM_COLD Result<NormalizerStep> read_map(JsonValue normalizer) const {
        NormalizerStep step;
        step.kind = Kind::character_map;
        auto const text = json_string(normalizer, "precompiled_charsmap", file_);
        if (!text) return text.error();
        auto map = std::make_shared<CharacterMap>();
        auto const bytes = base64_bytes(*text);
        if (!bytes || !map->read(*bytes))
            return Error::of(Status::corrupt, file_, ": the 'precompiled_charsmap' of the normalizer is damaged");
        step.map = std::move(map);
        return step;
    }
    [[nodiscard]] UFORM_COLD Result<NormalizerStep> read_one(JsonValue normalizer, std::string_view type) const {
        NormalizerStep step;
        if (type == "BertNormalizer") return read_bert(normalizer);
        if (type == "Precompiled") return read_map(normalizer);
        if (type == "NFC" || type == "NFD" || type == "NFKC" || type == "NFKD") {
            step.kind = Kind::normal_form;
            step.form = {type.back() == 'C', type.size() == 4};
        } else if (type == "Lowercase") {
            step.kind = Kind::lowercase;
        } else if (type == "StripAccents") {
            step.kind = Kind::strip_accents;
        } else if (type == "Nmt") {
            step.kind = Kind::nmt;
        } else if (type == "ByteLevel") {
            step.kind = Kind::byte_level;
        } else if (type == "Strip") {
            step.kind = Kind::strip;
            auto const left = json_boolean(normalizer, "strip_left", file_);
            auto const right = json_boolean(normalizer, "strip_right", file_);
            for (auto const *read : {&left, &right})
                if (!*read) return read->error();
            step.left = *left, step.right = *right;
        } else if (type == "Prepend") {
            step.kind = Kind::prepend;
            auto const content = json_string(normalizer, "prepend", file_);
            if (!content) return content.error();
            step.content = *content;
        } else if (type == "Replace") {
            step.kind = Kind::replace;
            auto pattern = read_pattern(normalizer, "Replace", file_);
            auto const content = json_string(normalizer, "content", file_);
            if (!pattern) return pattern.error();
            if (!content) return content.error();
            if (pattern->kind() != SplitPattern::Kind::literal && content->find('$') != content->npos)
                return Error::of(Status::unsupported, file_, ": a Replace with groups of its Regex is not served");
            step.pattern = std::move(*pattern), step.content = *content;
        } else {
            return Error::of(Status::unsupported, file_, ": the normalizer ", type, " is not served");
        }
        return step;
    }
    [[nodiscard]] UFORM_COLD Result<void> read(JsonValue normalizer, std::size_t level) {
        auto const type = json_string(normalizer, "type", file_);
        if (!type) return type.error();
        if (*type == "Sequence") {
            JsonValue const list = normalizer.find("normalizers");
            if (!list.is(JsonKind::array))
                return Error::of(Status::corrupt, file_, ": the sequence of normalizers is no array");
            if (level == 8)
                return Error::of(Status::unsupported, file_, ": more than 8 sequences of normalizers in each other");
            for (std::size_t i = 0; i != list.size(); ++i)
                if (auto done = read(list[i], level + 1); !done) return done;
            return {};
        }
        auto step = read_one(normalizer, *type);
        if (!step) return step.error();
        if (steps_.size() == 1000)
            return Error::of(Status::unsupported, file_, ": more than 1000 normalizers are not served");
        // Each may make a text longer: the product is limited, so that no short text takes all memory.
        std::size_t const growth = step->growth(); // a map looks at all its texts
        growth_ *= growth <= most_growth_k ? growth : most_growth_k + 1;
        if (growth_ > most_growth_k)
            return Error::of(Status::unsupported, file_, ": normalizers that can make a text more than ", most_growth_k,
                             " times as long are not served");
        steps_.push_back(std::move(*step));
        return {};
    }

  public:
    /// The steps of a normaliser, none for `null`. Errors: `corrupt` or `unsupported`, naming the file and the step.
    [[nodiscard]] UFORM_COLD static Result<List<NormalizerStep>> read(JsonValue normalizer, std::string_view file) {
        NormalizerReader reader(file);
        if (!json_absent(normalizer))
            if (auto done = reader.read(normalizer, 0); !done) return done.error();
        return std::move(reader.steps_);
    }
};

} // namespace uform

#endif // UFORM_TEXT_NORMALIZER_JSON_HPP
