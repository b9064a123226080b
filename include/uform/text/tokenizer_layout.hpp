/// Finds which files of a folder hold its tokenizer, and reads them.
#ifndef UFORM_TEXT_TOKENIZER_LAYOUT_HPP
#define UFORM_TEXT_TOKENIZER_LAYOUT_HPP

#include <string>
#include <string_view>
#include <utility>

#include "uform/config.hpp"
#include "uform/file.hpp"
#include "uform/json.hpp"
#include "uform/status.hpp"
#include "uform/text/json_fields.hpp"
#include "uform/text/optional_json.hpp"
#include "uform/text/sentencepiece_folder.hpp"
#include "uform/text/tokenizer_config.hpp"
#include "uform/text/tokenizer_json.hpp"
#include "uform/text/tokenizer_parts.hpp"
#include "uform/text/vocab_merges.hpp"
#include "uform/text/vocab_txt.hpp"

namespace uform {

/// Reads tokenizer.json, and where there is none the older files of the folder's class of tokenizers.
///
/// Source  transformers 5.24.0, `AutoTokenizer.from_pretrained`.
class TokenizerLayout {
    // The class that tokenizer_config.json or config.json names, or that the model type has; empty where none is named.
    [[nodiscard]] UFORM_COLD static Result<std::string> class_of(std::string const &folder) {
        std::string name, type;
        for (std::string_view const file : {"tokenizer_config.json", "config.json"}) {
            auto const json = OptionalJson::read(folder, file);
            if (!json) return json.error();
            auto const named = json_string_or_empty(json->root(), "tokenizer_class", json->path);
            if (!named) return named.error();
            if (name.empty()) name = *named;
            if (file == "config.json") type = json->find("model_type").string().value_or("");
        }
        if (name.ends_with("Fast")) name.resize(name.size() - 4);
        if (!name.empty()) return name;
        static constexpr std::pair<std::string_view, std::string_view> types[] = {
            {"roberta", "RobertaTokenizer"},     {"xlm-roberta", "XLMRobertaTokenizer"},
            {"camembert", "CamembertTokenizer"}, {"mpnet", "MPNetTokenizer"},
            {"bert", "BertTokenizer"},           {"distilbert", "BertTokenizer"},
            {"nomic_bert", "BertTokenizer"}};
        for (auto const &[known, of_type] : types)
            if (type == known) name = of_type;
        return name;
    }
    // Whether a class reads vocab.txt as BERT's does; where none is named, it is taken for BERT's.
    [[nodiscard]] static bool is_bert(std::string_view name) noexcept {
        for (std::string_view const one :
             {"", "BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "MobileBertTokenizer",
              "ConvBertTokenizer", "SqueezeBertTokenizer", "LayoutLMTokenizer", "LxmertTokenizer",
              "DPRContextEncoderTokenizer", "DPRQuestionEncoderTokenizer"})
            if (one == name) return true;
        return false;
    }
    [[nodiscard]] UFORM_COLD static Result<TokenizerParts>
    read_sentencepiece(std::string const &folder, std::string const &name, std::string &path) {
        bool const is_camembert = name == "CamembertTokenizer";
        for (std::string_view const file : {"tokenizer.model", "sentencepiece.bpe.model"}) {
            path = join_path(folder, file);
            if (file_exists(path)) return SentencePieceFolder::read(folder, path, is_camembert);
        }
        if (std::string const other = join_path(folder, "spiece.model"); file_exists(other))
            return Error::of(Status::unsupported, other, ": not served without a tokenizer.json, as ", name,
                             " reads tokenizer.model or sentencepiece.bpe.model");
        return SentencePieceFolder::read(folder, path, is_camembert); // says what can't be opened
    }

  public:
    /// Reads the tokenizer of a folder. `path` becomes the file that holds its vocabulary.
    ///
    /// Errors  as of the files' readers; `unsupported` where the class of the tokenizer is none of those served, and
    ///         where vocab.json or a sentencepiece model stands alone and no class is named.
    [[nodiscard]] UFORM_COLD static Result<TokenizerParts> read(std::string const &folder, std::string &path) {
        std::string const json = path = join_path(folder, "tokenizer.json");
        if (file_exists(path)) {
            auto const file = File::map(path);
            if (!file) return file.error();
            auto parts = TokenizerJson::read(file->text(), path);
            if (!parts) return parts;
            if (auto done = compare_with_config(folder, *parts); !done) return done.error();
            return parts;
        }
        auto const name = class_of(folder);
        if (!name) return name.error();
        if (*name == "RobertaTokenizer") {
            path = join_path(folder, "vocab.json");
            return VocabMerges::read(folder);
        }
        if (*name == "XLMRobertaTokenizer" || *name == "CamembertTokenizer")
            return read_sentencepiece(folder, *name, path);
        bool const is_mpnet = *name == "MPNetTokenizer";
        path = join_path(folder, "vocab.txt");
        if (file_exists(path) && (is_mpnet || is_bert(*name))) {
            auto const file = File::map(path);
            if (!file) return file.error();
            return VocabTxt::read(folder, file->text(), path, is_mpnet);
        }
        for (std::string_view const file :
             {"vocab.txt", "vocab.json", "sentencepiece.bpe.model", "spiece.model", "tokenizer.model"}) {
            if (path = join_path(folder, file); !file_exists(path)) continue;
            if (name->empty())
                return Error::of(Status::unsupported, path, ": neither ", join_path(folder, "tokenizer_config.json"),
                                 " nor config.json beside it says which class of tokenizers it belongs to: write "
                                 "{\"tokenizer_class\": \"RobertaTokenizer\"} there, or XLMRobertaTokenizer, "
                                 "CamembertTokenizer");
            return Error::of(Status::unsupported, path, ": not served without a tokenizer.json for the class ", *name,
                             ", only for BertTokenizer, MPNetTokenizer, RobertaTokenizer, XLMRobertaTokenizer and "
                             "CamembertTokenizer");
        }
        path = json;
        return Error::of(Status::io, path,
                         ": can't open, and neither vocab.txt, vocab.json with merges.txt nor a "
                         "sentencepiece model is beside it");
    }
};

} // namespace uform

#endif // UFORM_TEXT_TOKENIZER_LAYOUT_HPP
