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
#include "uform/checkpoint/encoder_families.hpp"
#include "uform/checkpoint/fields.hpp"
#include "uform/checkpoint/modules.hpp"
#include "uform/checkpoint/pooling_configuration.hpp"
#include "uform/checkpoint/sentence_configuration.hpp"
#include "uform/checkpoint/vector_modules.hpp"
#include "uform/config.hpp"
#include "uform/file.hpp"
#include "uform/status.hpp"

namespace uform {

/// All that is needed to build a model beside its weights and its tokenizer.
struct FolderConfiguration {
    std::string transformer_folder; ///< where the weights and the tokenizer are: the folder, or one inside it
    EncoderConfiguration encoder;
    PoolingConfiguration pooling;
    std::vector<VectorModule> vector_modules; ///< what follows the pooling, but for a Normalize at the end
    bool normalize = false;                   ///< vectors are divided by their length, at the end
    std::size_t max_sequence_length = 0;      ///< in tokens, special ones included; at most the position table's rows
    bool lowercase_first = false;             ///< texts are lower-cased before the tokenizer's own steps
    Prompts prompts = SentenceConfiguration{}.prompts;
    std::optional<std::string> default_prompt_name; ///< put before a text for which no prompt was asked
    Similarity similarity = Similarity::cosine;
    std::vector<std::string> warnings; ///< what was read otherwise than a reader of the files may think

    /// Columns of the pooled vectors.
    [[nodiscard]] std::size_t pooled_columns() const noexcept { return encoder.hidden_size * pooling.modes.size(); }
    /// Columns of the embeddings.
    [[nodiscard]] std::size_t dimensions() const noexcept {
        return vector_modules.empty() ? pooled_columns() : vector_modules.back().columns;
    }
};

/// Tokens that a text may have where no position table ends, and sentence-transformers asks for more than the model was
/// made for.
inline constexpr std::size_t most_rotary_tokens_k = 131'072;

/// The longest input: what sentence-transformers was told, else the tokenizer's length; at most what the position table
/// serves. Rotary positions have no table: they go on past what the model was made for, if that is asked.
inline void settle_length(FolderConfiguration &folder, std::optional<std::size_t> asked,
                          std::optional<std::size_t> tokenizer) {
    std::size_t const served = folder.encoder.longest_text();
    std::size_t const most = !asked || !folder.encoder.is_rotary() ? served
                             : served < most_rotary_tokens_k       ? most_rotary_tokens_k
                                                                   : served;
    std::size_t const wanted = asked ? *asked : tokenizer ? *tokenizer : served;
    folder.max_sequence_length = wanted < most ? wanted : most;
    if (asked && *asked > most)
        folder.warnings.push_back(folder.transformer_folder + ": max_seq_length is " + std::to_string(*asked) +
                                  ", but positions end at " + std::to_string(most) + " tokens: texts are cut to those");
}

/// Reads the modules that follow the pooling, each with what it is given and answers.
///
/// Errors  `io`, `corrupt`, `unsupported`.
[[nodiscard]] UFORM_COLD inline Result<void> read_vector_modules(std::string const &folder,
                                                                 std::vector<ModulePath> const &paths,
                                                                 FolderConfiguration &configuration) {
    for (ModulePath const &one : paths) {
        auto read = read_vector_module(one.kind, join_path(folder, one.path), configuration.dimensions());
        if (!read) return std::move(read).error();
        configuration.vector_modules.push_back(*std::move(read));
    }
    auto &modules = configuration.vector_modules;
    while (!modules.empty() && modules.back().kind == ModuleKind::normalize)
        configuration.normalize = true, modules.pop_back();
    return {};
}

/// Reads a folder as sentence-transformers or transformers publish it.
///
/// With a `modules.json`, its modules say where everything is. Without, the folder is one of transformers: the mean of
/// the states, not normalised, and the files of sentence-transformers aren't looked at, as in the reference.
///
/// Errors  `io` for a file that is needed and can't be read; `corrupt` for a damaged one and for values that can't be;
///         `unsupported` for all that this version doesn't serve. Each names the file, the key and the value.
/// Source  sentence-transformers 6.2, `_load_config_modules` and `_load_default_modules`.
[[nodiscard]] UFORM_COLD inline Result<FolderConfiguration> read_configuration(std::string const &folder) {
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
        auto after = read_vector_modules(folder, modules->after, configuration);
        if (!after) return std::move(after).error();
    } else {
        configuration.warnings.push_back(folder +
                                         ": no modules.json: vectors are the mean of the states, not normalised");
    }
    settle_length(configuration, asked, *tokenizer_length);
    return configuration;
}

} // namespace uform

#endif // UFORM_CHECKPOINT_CONFIGURATION_HPP
