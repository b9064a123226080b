/// Reads BERT's older files: vocab.txt, a token a line, and the JSON files that stand beside it.
#ifndef UFORM_TEXT_VOCAB_TXT_HPP
#define UFORM_TEXT_VOCAB_TXT_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "uform/config.hpp"
#include "uform/json.hpp"
#include "uform/list.hpp"
#include "uform/status.hpp"
#include "uform/text/json_fields.hpp"
#include "uform/text/special_tokens.hpp"
#include "uform/text/tokenizer_parts.hpp"
#include "uform/text/unicode.hpp"
#include "uform/text/utf8.hpp"

namespace uform {

/// Reads a folder without tokenizer.json as transformers 5 does: vocab.txt, then the flags and tokens that the files
/// beside it name.
class VocabTxt {
    SpecialTokens special_;
    TokenizerParts parts_;

    static constexpr SpecialTokens::Defaults bert_{{"", "", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"}},
        mpnet_{{"<s>", "</s>", "[UNK]", "</s>", "<pad>", "<s>", "<mask>"}, true};

    explicit VocabTxt(SpecialTokens special) : special_(std::move(special)) {}

    [[nodiscard]] UFORM_COLD static Result<List<Trie::Entry>> read_lines(std::string_view text,
                                                                         std::string const &path) {
        if (std::size_t const valid = utf8::valid_prefix(text); valid != text.size())
            return Error::of(Status::corrupt, path, ": byte ", valid, " is not UTF-8");
        List<Trie::Entry> entries;
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

    [[nodiscard]] UFORM_COLD Result<void> read_flags() {
        OptionalJson const &config = special_.config();
        JsonValue const root = config.root();
        auto const lowercase = json_boolean_or(root, "do_lower_case", true, config.path);
        if (!lowercase) return lowercase.error();
        auto const strip = json_boolean_or(root, "strip_accents", *lowercase, config.path);
        auto const spaced = json_boolean_or(root, "tokenize_chinese_chars", true, config.path);
        for (auto const *read : {&strip, &spaced})
            if (!*read) return read->error();
        if (JsonValue const kept = config.find("never_split"); kept.size() != 0)
            return Error::of(Status::unsupported, config.path, ": 'never_split' is not served");
        NormalizerStep step;
        step.kind = NormalizerStep::Kind::bert;
        step.bert = {false, true, *spaced, *strip, *lowercase};
        parts_.normalizer.push_back(std::move(step));
        parts_.pre_tokenizer.push_back({}); // BERT's
        return {};
    }

    [[nodiscard]] UFORM_COLD Result<void> read_all(std::string_view text, std::string const &path, bool is_mpnet) {
        if (auto done = read_flags(); !done) return done;
        auto entries = read_lines(text, path);
        if (!entries) return entries.error();
        auto const vocabulary = Vocabulary::of(std::move(*entries), path);
        if (!vocabulary) return vocabulary.error();
        if (auto done = special_.add_to(parts_, *vocabulary); !done) return done;
        if (auto done =
                special_.frame(parts_, *vocabulary, TokenRole::classifier, TokenRole::separator, path, is_mpnet);
            !done)
            return done;
        parts_.framing.trims_offsets = is_mpnet;
        std::string_view const unknown = special_.name_of(TokenRole::unknown);
        auto const unknown_id = vocabulary->find(unknown);
        if (!unknown_id)
            return Error::of(Status::corrupt, path, ": the unknown token '", unknown, "' is not in the vocabulary");
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
    /// Reads the folder whose vocab.txt has this text, as BERT's class of tokenizers or as MPNet's.
    ///
    /// Errors  `corrupt` for damaged files, and for [UNK], [CLS] or [SEP], or what takes their place, missing from the
    ///         vocabulary; `unsupported` for `never_split`; `io` for a file that can't be read. All name the file.
    [[nodiscard]] UFORM_COLD static Result<TokenizerParts> read(std::string const &folder, std::string_view text,
                                                                std::string const &path, bool is_mpnet) {
        auto special = SpecialTokens::read(folder, is_mpnet ? mpnet_ : bert_);
        if (!special) return special.error();
        VocabTxt reader(std::move(*special));
        if (auto done = reader.read_all(text, path, is_mpnet); !done) return done.error();
        return std::move(reader.parts_);
    }
};

} // namespace uform

#endif // UFORM_TEXT_VOCAB_TXT_HPP
