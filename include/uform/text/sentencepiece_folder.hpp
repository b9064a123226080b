/// Reads folders whose vocabulary stands in a sentencepiece model: XLM-RoBERTa's and CamemBERT's older files.
#ifndef UFORM_TEXT_SENTENCEPIECE_FOLDER_HPP
#define UFORM_TEXT_SENTENCEPIECE_FOLDER_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "uform/config.hpp"
#include "uform/file.hpp"
#include "uform/list.hpp"
#include "uform/status.hpp"
#include "uform/text/character_map.hpp"
#include "uform/text/json_fields.hpp"
#include "uform/text/sentencepiece_model.hpp"
#include "uform/text/special_tokens.hpp"
#include "uform/text/tokenizer_parts.hpp"

namespace uform {

/// Reads a folder without tokenizer.json as transformers 5's `XLMRobertaTokenizer` and `CamembertTokenizer` do: a
/// Unigram model of the pieces behind the ids that fairseq gives the special tokens, and the mask as the last.
class SentencePieceFolder {
    SpecialTokens special_;
    TokenizerParts parts_;
    List<Trie::Entry> entries_; // by id
    List<double> scores_;

    explicit SentencePieceFolder(SpecialTokens special) : special_(std::move(special)) {}

    void push(std::string_view name, double score) {
        entries_.push_back({name, static_cast<std::uint32_t>(entries_.size())});
        scores_.push_back(score);
    }
    void list_pieces(SentencePieceModel const &model, bool is_camembert) {
        auto const role = [&](TokenRole which) { push(special_.name_of(which), 0); };
        if (is_camembert) push("<s>NOTUSED", 0);
        else role(TokenRole::begin);
        role(TokenRole::padding);
        if (is_camembert) push("</s>NOTUSED", 0);
        else role(TokenRole::end);
        role(TokenRole::unknown);
        if (is_camembert) push("<unk>NOTUSED", -100);
        // The first pieces are sentencepiece's own special ones.
        for (std::size_t i = is_camembert ? 1 : 3; i < model.pieces.size(); ++i)
            push(model.pieces[i].text, static_cast<double>(model.pieces[i].score));
        role(TokenRole::mask);
    }
    [[nodiscard]] UFORM_COLD Result<void> read_normalizer(SentencePieceModel const &model, std::string const &path) {
        if (model.character_map.empty()) return {};
        auto map = std::make_shared<CharacterMap>();
        if (!map->read(model.character_map))
            return Error::of(Status::corrupt, path, ": the precompiled_charsmap of the normalizer_spec is damaged");
        NormalizerStep step;
        step.kind = NormalizerStep::Kind::character_map, step.map = std::move(map);
        parts_.normalizer.push_back(std::move(step));
        return {};
    }
    [[nodiscard]] UFORM_COLD Result<void> read_all(std::string_view bytes, std::string const &path, bool is_camembert) {
        OptionalJson const &config = special_.config();
        auto const prefix = json_boolean_or(config.root(), "add_prefix_space", true, config.path);
        if (!prefix) return prefix.error();
        // The reference would make a piece "None" of them.
        for (TokenRole const role :
             {TokenRole::begin, TokenRole::end, TokenRole::unknown, TokenRole::padding, TokenRole::mask})
            if (special_.name_of(role).empty())
                return Error::of(Status::unsupported, special_.path_of(role), ": a sentencepiece model without a ",
                                 SpecialTokens::key_of(role), " is not served");
        auto const model = SentencePieceModel::read(bytes, path);
        if (!model) return model.error();
        if (model->algorithm != SentencePieceModel::unigram_k)
            return Error::of(Status::unsupported, path, ": a sentencepiece model of the type ", model->algorithm, ", ",
                             model->algorithm_name(), ", is not served; only 1, Unigram, is");
        if (auto done = read_normalizer(*model, path); !done) return done;
        list_pieces(*model, is_camembert);
        std::uint32_t unknown = 3;
        if (is_camembert) // whichever has the name first
            for (std::uint32_t i = 3; i-- != 0;)
                if (entries_[i].key == special_.name_of(TokenRole::unknown)) unknown = i;
        auto const vocabulary = Vocabulary::of_list(std::move(entries_));
        if (!vocabulary) return vocabulary.error();
        Unigram unigram;
        if (!unigram.build(vocabulary->entries(), std::move(scores_), unknown, false))
            return Error::of(Status::unsupported, path, ": the vocabulary is too large");
        parts_.model = WordModel(std::move(unigram));

        List<AddedToken> added;
        for (SentencePieceModel::Piece const &piece : model->pieces) {
            bool const control = piece.type == SentencePieceModel::Type::control;
            if (!control && piece.type != SentencePieceModel::Type::user_defined) continue;
            AddedToken &token = added.push_back({});
            token.content = piece.text, token.special = control;
        }
        if (auto done = special_.add_to(parts_, *vocabulary, &added); !done) return done;
        if (auto done = special_.frame(parts_, *vocabulary, TokenRole::begin, TokenRole::end, path); !done) return done;

        PreTokenizerStep step;
        step.kind = PreTokenizerStep::Kind::split;
        step.pattern = SplitPattern(SplitPattern::Kind::whitespace), step.behavior = SplitBehavior::removed;
        parts_.pre_tokenizer.push_back(std::move(step));
        PreTokenizerStep &marks = parts_.pre_tokenizer.push_back({});
        marks.kind = PreTokenizerStep::Kind::meta_space, marks.replacement = mark_;
        marks.prefix = *prefix ? PreTokenizerStep::Prefix::always : PreTokenizerStep::Prefix::never;
        DecoderStep decoder;
        decoder.kind = DecoderStep::Kind::meta_space, decoder.text = mark_, decoder.flag = *prefix;
        parts_.decoder = Decoder({std::move(decoder)});
        finish_parts(parts_, *vocabulary);
        return {};
    }
    static constexpr std::string_view mark_ = "\xE2\x96\x81"; // U+2581

  public:
    /// Reads a folder whose model stands in the file `path`.
    ///
    /// Errors  `io` for a file that can't be read; `corrupt` for a damaged one, with the byte; `unsupported` for a
    /// model
    ///         that isn't Unigram, and for a special token that the JSON files set to `null`. All name the file.
    [[nodiscard]] UFORM_COLD static Result<TokenizerParts> read(std::string const &folder, std::string const &path,
                                                                bool is_camembert) {
        auto special = SpecialTokens::read(folder, {SpecialTokens::roberta_names_k, is_camembert});
        if (!special) return special.error();
        auto const file = File::map(path);
        if (!file) return file.error();
        SentencePieceFolder reader(std::move(*special));
        if (auto done = reader.read_all(file->text(), path, is_camembert); !done) return done.error();
        return std::move(reader.parts_);
    }
};

} // namespace uform

#endif // UFORM_TEXT_SENTENCEPIECE_FOLDER_HPP
