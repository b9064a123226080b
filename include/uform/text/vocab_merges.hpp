/// Reads RoBERTa's older files: vocab.json, merges.txt, and the JSON files that stand beside them.
#ifndef UFORM_TEXT_VOCAB_MERGES_HPP
#define UFORM_TEXT_VOCAB_MERGES_HPP

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "uform/config.hpp"
#include "uform/file.hpp"
#include "uform/json.hpp"
#include "uform/list.hpp"
#include "uform/status.hpp"
#include "uform/text/json_fields.hpp"
#include "uform/text/model_json.hpp"
#include "uform/text/special_tokens.hpp"
#include "uform/text/tokenizer_parts.hpp"
#include "uform/text/utf8.hpp"

namespace uform {

/// Reads a folder without tokenizer.json as transformers 5's `RobertaTokenizer` does: byte-level BPE, with
/// `add_prefix_space` and `trim_offsets` of tokenizer_config.json.
class VocabMerges {
    // A line is two tokens; one that begins with #version is none.
    [[nodiscard]] UFORM_COLD static Result<List<NamedMerge>> read_lines(std::string_view text,
                                                                        std::string const &path) {
        if (std::size_t const valid = utf8::valid_prefix(text); valid != text.size())
            return Error::of(Status::corrupt, path, ": byte ", valid, " is not UTF-8");
        List<NamedMerge> merges;
        for (std::size_t line = 1; !text.empty(); ++line) {
            std::size_t const newline = text.find('\n'), end = newline < text.size() ? newline : text.size();
            std::string_view merge = text.substr(0, end);
            if (end != text.size() && merge.ends_with('\r')) merge.remove_suffix(1);
            text.remove_prefix(end == text.size() ? end : end + 1);
            if (merge.starts_with("#version")) continue;
            auto const named = NamedMerge::of(merge, line);
            if (!named)
                return Error::of(Status::corrupt, path, ": the line ", line, ", '", merge, "', is not two tokens");
            merges.push_back(*named);
        }
        return merges;
    }

  public:
    /// Reads a folder.
    ///
    /// Errors  `io` for a file that can't be read, merges.txt too; `corrupt` for damaged files, ids that tokens share,
    ///         merges of tokens that aren't there, and a cls_token or sep_token that isn't; `unsupported` for what is
    ///         too large. All name the file, and the line of a merge.
    [[nodiscard]] UFORM_COLD static Result<TokenizerParts> read(std::string const &folder) {
        auto const special = SpecialTokens::read(folder, {SpecialTokens::roberta_names_k});
        if (!special) return special.error();
        OptionalJson const &config = special->config();
        auto const prefix = json_boolean_or(config.root(), "add_prefix_space", false, config.path);
        auto const trims = json_boolean_or(config.root(), "trim_offsets", true, config.path);
        for (auto const *read : {&prefix, &trims})
            if (!*read) return read->error();

        std::string const path = join_path(folder, "vocab.json"), merges_path = join_path(folder, "merges.txt");
        auto const file = File::map(path), merges_file = File::map(merges_path);
        for (auto const *mapped : {&file, &merges_file})
            if (!*mapped) return mapped->error();
        auto const json = Json::parse(file->text(), path);
        if (!json) return json.error();
        auto const merges = read_lines(merges_file->text(), merges_path);
        if (!merges) return merges.error();

        TokenizerParts parts;
        PreTokenizerStep step;
        step.kind = PreTokenizerStep::Kind::prefix_space;
        if (*prefix) parts.pre_tokenizer.push_back(step);
        step.kind = PreTokenizerStep::Kind::split;
        step.pattern = SplitPattern(SplitPattern::Kind::gpt2), step.behavior = SplitBehavior::isolated;
        parts.pre_tokenizer.push_back(std::move(step));
        parts.pre_tokenizer.push_back({}).kind = PreTokenizerStep::Kind::byte_level;
        auto model = ModelReader::read_bpe(json->root(), *merges, parts.pre_tokenizer, path, merges_path);
        if (!model) return model.error();
        parts.model = std::move(model->model);
        if (auto done = special->add_to(parts, model->vocabulary); !done) return done.error();

        if (auto done = special->frame(parts, model->vocabulary, TokenRole::classifier, TokenRole::separator, path);
            !done)
            return done.error();
        parts.framing.trims_offsets = *trims, parts.framing.prefix_space = *prefix;
        DecoderStep decoder;
        decoder.kind = DecoderStep::Kind::byte_level;
        parts.decoder = Decoder({std::move(decoder)});
        finish_parts(parts, model->vocabulary);
        return parts;
    }
};

} // namespace uform

#endif // UFORM_TEXT_VOCAB_MERGES_HPP
