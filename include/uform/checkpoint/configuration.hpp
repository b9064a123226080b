/// What a model's folder says of itself, all files together.
#ifndef UFORM_CHECKPOINT_CONFIGURATION_HPP
#define UFORM_CHECKPOINT_CONFIGURATION_HPP

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "uform/checkpoint/encoder_configuration.hpp"
#include "uform/checkpoint/fields.hpp"
#include "uform/checkpoint/modules.hpp"
#include "uform/checkpoint/pooling_configuration.hpp"
#include "uform/checkpoint/sentence_configuration.hpp"
#include "uform/file.hpp"
#include "uform/status.hpp"

namespace uform {

/// All that is needed to build a model beside its weights and its tokenizer.
struct FolderConfiguration {
    std::string transformer_folder; ///< where the weights and the tokenizer are: the folder, or one inside it
    EncoderConfiguration encoder;
    PoolingConfiguration pooling;
    bool normalize = false;              ///< vectors are divided by their length
    std::size_t max_sequence_length = 0; ///< in tokens, special ones included; at most the position table's rows
    bool lowercase_first = false;        ///< texts are lower-cased before the tokenizer's own steps
    Prompts prompts = SentenceConfiguration{}.prompts;
    std::optional<std::string> default_prompt_name; ///< put before a text for which no prompt was asked
    Similarity similarity = Similarity::cosine;
    std::vector<std::string> warnings; ///< what was read otherwise than a reader of the files may think
};

/// Checks that a normalising module works on the vector of the text. Other keys are left alone, as in the reference.
/// Errors  `io`, `corrupt`, `unsupported`.
[[nodiscard]] inline Result<void> check_normalize(std::string path) {
    if (!file_exists(path)) return {};
    auto file = JsonFile::read_object(std::move(path));
    if (!file) return std::move(file).error();
    Fields fields = file->fields();
    for (std::string_view const key : {"module_input_name", "module_output_name"})
        if (!fields.is_absent(key) && fields.text(key, {}) != "sentence_embedding")
            fields.refuse(Status::unsupported, key, " is ", shown(fields.find(key)),
                          "; \"sentence_embedding\" is served");
    if (fields.error()) return *fields.error();
    return {};
}

/// The longest input: what sentence-transformers was told, else the tokenizer's length; at most the position table's.
inline void settle_length(FolderConfiguration &folder, std::optional<std::size_t> asked,
                          std::optional<std::size_t> tokenizer) {
    std::size_t const positions = folder.encoder.positions;
    std::size_t const wanted = asked ? *asked : tokenizer ? *tokenizer : positions;
    folder.max_sequence_length = wanted < positions ? wanted : positions;
    if (asked && *asked > positions)
        folder.warnings.push_back(folder.transformer_folder + ": max_seq_length is " + std::to_string(*asked) +
                                  ", but the position table has " + std::to_string(positions) +
                                  " rows: texts are cut to those");
}

/// Reads a folder as sentence-transformers or transformers publish it.
///
/// With a `modules.json`, its modules say where everything is. Without, the folder is one of transformers: the mean of
/// the states, not normalised, and the files of sentence-transformers aren't looked at, as in the reference.
///
/// Errors  `io` for a file that is needed and can't be read; `corrupt` for a damaged one and for values that can't be;
///         `unsupported` for all that this version doesn't serve. Each names the file, the key and the value.
/// Source  sentence-transformers 6.2, `_load_config_modules` and `_load_default_modules`.
[[nodiscard]] inline Result<FolderConfiguration> read_configuration(std::string const &folder) {
    FolderConfiguration configuration;
    std::optional<ModulePaths> modules;
    if (auto path = join_path(folder, "modules.json"); file_exists(path)) {
        // A model of another kind has modules of its own: say so, rather than name the first of them.
        if (auto sentence_path = join_path(folder, "config_sentence_transformers.json"); file_exists(sentence_path)) {
            auto sentence = read_sentence_configuration(std::move(sentence_path), configuration.warnings);
            if (!sentence) return std::move(sentence).error();
            configuration.prompts = std::move(sentence->prompts), configuration.similarity = sentence->similarity;
            configuration.default_prompt_name = std::move(sentence->default_prompt_name);
        }
        auto read = read_modules(std::move(path));
        if (!read) return std::move(read).error();
        modules = *std::move(read);
    }
    auto &place = configuration.transformer_folder;
    place = modules && !modules->transformer.empty() ? join_path(folder, modules->transformer) : folder;

    if (auto adapter = join_path(place, "adapter_config.json"); file_exists(adapter))
        return Error::of(Status::unsupported, adapter, ": adapters aren't served; merge it into the weights");
    auto encoder = read_encoder_configuration(join_path(place, "config.json"));
    if (!encoder) return std::move(encoder).error();
    configuration.encoder = *std::move(encoder);

    auto const tokenizer_length = read_tokenizer_length(place);
    if (!tokenizer_length) return tokenizer_length.error();
    std::optional<std::size_t> asked;
    if (modules) {
        auto const module = read_transformer_module(place);
        if (!module) return module.error();
        asked = module->max_sequence_length, configuration.lowercase_first = module->lowercase_first;
        auto pooling = read_pooling_configuration(join_path(join_path(folder, modules->pooling), "config.json"),
                                                  configuration.encoder.hidden_size);
        if (!pooling) return std::move(pooling).error();
        configuration.pooling = *std::move(pooling);
        if (modules->normalize) {
            configuration.normalize = true;
            auto checked = check_normalize(join_path(join_path(folder, *modules->normalize), "config.json"));
            if (!checked) return std::move(checked).error();
        }
    } else {
        configuration.warnings.push_back(folder +
                                         ": no modules.json: vectors are the mean of the states, not normalised");
    }
    settle_length(configuration, asked, *tokenizer_length);
    return configuration;
}

} // namespace uform

#endif // UFORM_CHECKPOINT_CONFIGURATION_HPP
