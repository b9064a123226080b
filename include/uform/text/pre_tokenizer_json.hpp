/// Reads the pre_tokenizer of tokenizer.json.
#ifndef UFORM_TEXT_PRE_TOKENIZER_JSON_HPP
#define UFORM_TEXT_PRE_TOKENIZER_JSON_HPP

#include <cstddef>
#include <string_view>
#include <utility>

#include "uform/config.hpp"
#include "uform/json.hpp"
#include "uform/list.hpp"
#include "uform/status.hpp"
#include "uform/text/json_fields.hpp"
#include "uform/text/normalizer_json.hpp"
#include "uform/text/pre_tokenizer.hpp"

namespace uform {

/// Reads one file's pre-tokeniser into steps.
class PreTokenizerReader {
    std::string_view file_;
    List<PreTokenizerStep> steps_;
    using Kind = PreTokenizerStep::Kind;
    using Pattern = SplitPattern::Kind;

    explicit PreTokenizerReader(std::string_view file) : file_(file) {}

    UFORM_COLD void add_split(SplitPattern pattern, SplitBehavior behavior, bool invert = false) {
        PreTokenizerStep step;
        step.kind = Kind::split;
        step.pattern = std::move(pattern), step.behavior = behavior, step.invert = invert;
        steps_.push_back(std::move(step));
    }
    [[nodiscard]] UFORM_COLD Result<SplitBehavior> read_behavior(JsonValue object) const {
        auto const name = json_string(object, "behavior", file_);
        if (!name) return name.error();
        struct Named {
            std::string_view name;
            SplitBehavior behavior;
        };
        static constexpr Named named[] = {{"Removed", SplitBehavior::removed},
                                          {"Isolated", SplitBehavior::isolated},
                                          {"MergedWithPrevious", SplitBehavior::merged_with_previous},
                                          {"MergedWithNext", SplitBehavior::merged_with_next},
                                          {"Contiguous", SplitBehavior::contiguous}};
        for (Named const &one : named)
            if (*name == one.name) return one.behavior;
        return Error::of(Status::unsupported, file_, ": the behavior ", *name, " is not served");
    }
    [[nodiscard]] UFORM_COLD Result<void> read_meta_space(JsonValue object) {
        PreTokenizerStep step;
        step.kind = Kind::meta_space;
        auto const replacement = json_character(object, "replacement", file_);
        if (!replacement) return replacement.error();
        step.replacement = *replacement;
        auto const split = json_boolean_or(object, "split", true, file_);
        if (!split) return split.error();
        step.split = *split;
        // Older files say `add_prefix_space`, and a false one goes with the scheme that it means only.
        auto const old = json_boolean_or(object, "add_prefix_space", true, file_);
        if (!old) return old.error();
        auto scheme = json_string_or_empty(object, "prepend_scheme", file_);
        if (!scheme) return scheme.error();
        if (scheme->empty()) scheme = std::string_view("always");
        if (*scheme != "always" && *scheme != "first" && *scheme != "never")
            return Error::of(Status::unsupported, file_, ": the prepend_scheme ", *scheme, " is not served");
        if (!*old && *scheme != "never")
            return Error::of(Status::corrupt, file_, ": Metaspace with the prepend_scheme ", *scheme,
                             " but without a prefix space");
        step.prefix = *scheme == "always"  ? PreTokenizerStep::Prefix::always
                      : *scheme == "first" ? PreTokenizerStep::Prefix::first
                                           : PreTokenizerStep::Prefix::never;
        steps_.push_back(std::move(step));
        return {};
    }
    [[nodiscard]] UFORM_COLD Result<void> read_byte_level(JsonValue object) {
        auto const prefix = json_boolean(object, "add_prefix_space", file_);
        if (!prefix) return prefix.error();
        auto const cuts = json_boolean_or(object, "use_regex", true, file_);
        if (!cuts) return cuts.error();
        PreTokenizerStep step;
        step.kind = Kind::prefix_space;
        if (*prefix) steps_.push_back(step);
        if (*cuts) add_split(SplitPattern(Pattern::gpt2), SplitBehavior::isolated);
        step.kind = Kind::byte_level;
        steps_.push_back(std::move(step));
        return {};
    }
    [[nodiscard]] UFORM_COLD Result<void> read_split(JsonValue object) {
        auto pattern = read_pattern(object, "Split", file_);
        if (!pattern) return pattern.error();
        auto const behavior = read_behavior(object);
        auto const invert = json_boolean(object, "invert", file_);
        if (!behavior) return behavior.error();
        if (!invert) return invert.error();
        add_split(std::move(*pattern), *behavior, *invert);
        return {};
    }
    [[nodiscard]] UFORM_COLD Result<void> read_one(JsonValue object, std::string_view type) {
        if (type == "ByteLevel") return read_byte_level(object);
        if (type == "Metaspace") return read_meta_space(object);
        if (type == "Split") return read_split(object);
        if (type == "BertPreTokenizer") {
            steps_.push_back({});
        } else if (type == "Whitespace") {
            add_split(SplitPattern(Pattern::words), SplitBehavior::removed, true);
        } else if (type == "WhitespaceSplit") {
            add_split(SplitPattern(Pattern::whitespace), SplitBehavior::removed);
        } else if (type == "Digits") {
            auto const each = json_boolean(object, "individual_digits", file_);
            if (!each) return each.error();
            add_split(SplitPattern(Pattern::numeric), *each ? SplitBehavior::isolated : SplitBehavior::contiguous);
        } else if (type == "Punctuation") {
            SplitBehavior behavior = SplitBehavior::isolated;
            if (object.find("behavior")) {
                auto const read = read_behavior(object);
                if (!read) return read.error();
                behavior = *read;
            }
            add_split(SplitPattern(Pattern::punctuation), behavior);
        } else if (type == "CharDelimiterSplit") {
            auto const delimiter = json_character(object, "delimiter", file_);
            if (!delimiter) return delimiter.error();
            add_split(SplitPattern::literal(*delimiter), SplitBehavior::removed);
        } else {
            return Error::of(Status::unsupported, file_, ": the pre_tokenizer ", type, " is not served");
        }
        return {};
    }
    [[nodiscard]] UFORM_COLD Result<void> read(JsonValue object, std::size_t level) {
        auto const type = json_string(object, "type", file_);
        if (!type) return type.error();
        if (*type == "Sequence") {
            JsonValue const list = object.find("pretokenizers");
            if (!list.is(JsonKind::array))
                return Error::of(Status::corrupt, file_, ": the sequence of pretokenizers is no array");
            if (level == 8)
                return Error::of(Status::unsupported, file_, ": more than 8 sequences of pretokenizers in each other");
            for (std::size_t i = 0; i != list.size(); ++i)
                if (auto done = read(list[i], level + 1); !done) return done;
            return {};
        }
        if (auto done = read_one(object, *type); !done) return done;
        if (steps_.size() > 100)
            return Error::of(Status::unsupported, file_, ": more than 100 pre_tokenizers are not served");
        return {};
    }

  public:
    /// The steps of a pre-tokeniser, none for `null`. Errors: `corrupt` or `unsupported`, naming the file and the step.
    [[nodiscard]] UFORM_COLD static Result<List<PreTokenizerStep>> read(JsonValue object, std::string_view file) {
        PreTokenizerReader reader(file);
        if (!json_absent(object))
            if (auto done = reader.read(object, 0); !done) return done.error();
        std::size_t changes = 0;
        for (PreTokenizerStep const &step : reader.steps_) changes += PreTokenizer::changes(step);
        if (changes > PreTokenizer::most_changes_k)
            return Error::of(Status::unsupported, file, ": more than ", PreTokenizer::most_changes_k,
                             " pre_tokenizers that change the text are not served");
        return std::move(reader.steps_);
    }
};

} // namespace uform

#endif // UFORM_TEXT_PRE_TOKENIZER_JSON_HPP
