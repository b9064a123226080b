/// What a model's folder says of itself, all files together.
#ifndef UFORM_CHECKPOINT_CONFIGURATION_HPP
#define UFORM_CHECKPOINT_CONFIGURATION_HPP

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "uform/architecture.hpp"
#include "uform/checkpoint/classifier_configuration.hpp"
#include "uform/checkpoint/encoder_configuration.hpp"
#include "uform/checkpoint/encoder_families.hpp"
#include "uform/checkpoint/fields.hpp"
#include "uform/checkpoint/late_interaction_configuration.hpp"
#include "uform/checkpoint/lengths.hpp"
#include "uform/checkpoint/modules.hpp"
#include "uform/checkpoint/pooling_configuration.hpp"
#include "uform/checkpoint/sentence_configuration.hpp"
#include "uform/checkpoint/sparse_configuration.hpp"
#include "uform/checkpoint/transformer_module.hpp"
#include "uform/checkpoint/vector_modules.hpp"
#include "uform/config.hpp"
#include "uform/file.hpp"
#include "uform/first_word.hpp"
#include "uform/list.hpp"
#include "uform/status.hpp"

namespace uform {

/// All that is needed to build a model beside its weights and its tokenizer.
struct FolderConfiguration {
    std::string transformer_folder; ///< where the weights and the tokenizer are: the folder, or one inside it
    EncoderConfiguration encoder;
    bool gives_embeddings = true; ///< false: pooling, modules and `normalize` are unused, as no file says them
    PoolingConfiguration pooling;
    List<VectorModule> vector_modules;   ///< what follows the pooling, but for a Normalize at the end
    bool normalize = false;              ///< vectors are divided by their length, at the end
    std::size_t max_sequence_length = 0; ///< in tokens, special ones included; at most the position table's rows
    bool lowercase_first = false;        ///< texts are lower-cased before the tokenizer's own steps
    Prompts prompts = usual_prompts();
    std::optional<std::string> default_prompt_name; ///< put before a text for which no prompt was asked
    Similarity similarity = Similarity::cosine;
    std::optional<ClassifierConfiguration> classifier;
    std::optional<LateInteractionConfiguration> late_interaction;
    std::optional<SparseConfiguration> sparse; ///< through the masked-language head of the weights
    std::vector<std::string> warnings;         ///< what was read otherwise than a reader of the files may think

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

/// Tokens that any text may have: as many as the position table serves. Rotary positions have no table: they go on past
/// what the model was made for, if that is `asked`.
[[nodiscard]] inline std::size_t most_tokens(EncoderConfiguration const &encoder, bool asked) noexcept {
    std::size_t const served = encoder.longest_text();
    return !asked || !encoder.is_rotary() || served > most_rotary_tokens_k ? served : most_rotary_tokens_k;
}

UFORM_COLD inline void warn_of_positions(FolderConfiguration &folder, std::string_view what, std::size_t asked,
                                         std::size_t most) {
    folder.warnings.push_back(joined(folder.transformer_folder, ": ", what, " is ", asked, ", but positions end at ",
                                     most, " tokens: texts are cut to those"));
}

/// The longest input: what sentence-transformers was told, else the tokenizer's length; at most what the positions
/// serve.
UFORM_COLD inline void settle_length(FolderConfiguration &folder, std::optional<std::size_t> asked,
                                     std::optional<std::size_t> tokenizer) {
    std::size_t const most = most_tokens(folder.encoder, asked.has_value());
    std::size_t const wanted = asked ? *asked : tokenizer ? *tokenizer : folder.encoder.longest_text();
    folder.max_sequence_length = wanted < most ? wanted : most;
    if (asked && *asked > most) warn_of_positions(folder, "max_seq_length", *asked, most);
}

/// Reads the modules that follow the pooling, each with what it is given and answers.
///
/// Errors  `io`, `corrupt`, `unsupported`.
[[nodiscard]] UFORM_COLD inline Result<void>
read_vector_modules(std::string const &folder, List<ModulePath> const &paths, FolderConfiguration &configuration) {
    for (ModulePath const &one : paths) {
        auto read = read_vector_module(one.kind, join_path(folder, one.path), configuration.dimensions());
        if (!read) return read.error();
        configuration.vector_modules.push_back(*std::move(read));
    }
    auto &modules = configuration.vector_modules;
    while (!modules.empty() && modules.back().kind == ModuleKind::normalize)
        configuration.normalize = true, modules.pop_back();
    return {};
}

/// Settles the lengths of queries and documents, where `folder.max_sequence_length` is that of any text: it becomes the
/// longer of the two. Lengths that the reference takes as they are, and fails on, are cut to what the positions serve.
///
/// Errors  `corrupt` for queries that are to be filled up to more than they may have.
/// Source  sentence-transformers 6.2, `Transformer.preprocess` and the setter of `query_expansion`.
[[nodiscard]] UFORM_COLD inline Result<void> settle_role_lengths(FolderConfiguration &folder,
                                                                 RoleLengths const &roles) {
    LateInteractionConfiguration &late = *folder.late_interaction;
    auto const settled = [&](std::string_view what, std::optional<std::size_t> asked) {
        std::size_t const most = most_tokens(folder.encoder, true);
        if (asked && *asked > most) warn_of_positions(folder, what, *asked, most);
        return !asked ? folder.max_sequence_length : *asked < most ? *asked : most;
    };
    late.document.length = settled("the length of documents", roles.document);
    if (auto const &expansion = roles.expansion) {
        if (roles.query && *roles.query < expansion->length)
            return Error::of(Status::corrupt, folder.transformer_folder, ": query_length is ", *roles.query,
                             ", and queries are to be filled up to ", expansion->length, " (query_expansion)");
        late.expansion_length = settled("the length of expanded queries", expansion->length);
        late.attends_to_expansion = expansion->attends;
        late.query.length = expansion->is_fixed ? late.expansion_length : settled("the length of queries", roles.query);
        if (late.query.length < late.expansion_length) late.query.length = late.expansion_length;
    } else {
        late.query.length = settled("the length of queries", roles.query);
    }
    folder.max_sequence_length = late.query.length > late.document.length ? late.query.length : late.document.length;
    return {};
}

/// Reads what makes the vectors of tokens. In a folder without modules all of it is as Stanford's code stores it.
///
/// Errors  `io`, `corrupt`, `unsupported`, naming the file, and the key or tensor.
/// Source  sentence-transformers 6.2, `MultiVectorEncoder`, and its `_apply_legacy_fixups`.
[[nodiscard]] UFORM_COLD inline Result<void> read_late_interaction(std::string const &folder, FolderKind kind,
                                                                   ModulePaths const *modules,
                                                                   LateInteractionSettings settings,
                                                                   FolderConfiguration &configuration) {
    LateInteractionConfiguration &late = configuration.late_interaction.emplace();
    std::size_t const columns = configuration.encoder.hidden_size;
    std::string const &place = configuration.transformer_folder;
    configuration.gives_embeddings = false;
    if (modules) {
        auto read = read_token_modules(folder, modules->after, columns, late);
        if (!read) return read;
        bool has_mask = kind == FolderKind::pylate;
        for (ModulePath const &one : modules->after) {
            if (one.kind != ModuleKind::token_mask) continue;
            auto words = read_skipped_words(join_path(join_path(folder, one.path), "config.json"));
            if (!words) return words.error();
            late.skipped_words = *std::move(words), has_mask = true;
        }
        if (!has_mask && settings.roles.expansion)
            return Error::of(Status::unsupported, join_path(folder, "modules.json"),
                             ": no MultiVectorMask, without which the tokens that fill queries (query_expansion) have "
                             "no vectors");
    } else {
        auto projection = read_stanford_projection(place, columns);
        if (!projection) return projection.error();
        late.projections.push_back(*std::move(projection));
        set_prompt(configuration.prompts, "query", settings.query_prefix);
        set_prompt(configuration.prompts, "document", settings.document_prefix);
        configuration.similarity = Similarity::max_sim;
    }
    if (!modules || kind == FolderKind::pylate) {
        late.normalizes = true;
        late.skipped_words = settings.skipped_words ? *std::move(settings.skipped_words) : punctuation_words();
    }
    late.query.prompt = find_prompt(configuration.prompts, "query").value_or(std::string_view());
    late.document.prompt = find_prompt(configuration.prompts, "document").value_or(std::string_view());
    if (!first_word(settings.query_prefix).empty()) late.query.marker = std::move(settings.query_prefix);
    if (!first_word(settings.document_prefix).empty()) late.document.marker = std::move(settings.document_prefix);
    if (auto const &expansion = settings.roles.expansion) {
        auto token = expansion->token ? Result<std::string>(*expansion->token)
                                      : read_expansion_token(place, configuration.encoder.architecture);
        if (!token) return token.error();
        late.expansion_token = *std::move(token);
    }
    return settle_role_lengths(configuration, settings.roles);
}

/// How the classes of transformers end that score whole texts.
inline constexpr std::string_view sequence_classifier_k = "ForSequenceClassification";

/// Whether one of the classes that the weights were saved from ends so.
[[nodiscard]] inline bool was_saved_from(EncoderConfiguration const &encoder, std::string_view class_end) noexcept {
    for (std::string const &name : encoder.architectures)
        if (std::string_view(name).ends_with(class_end)) return true;
    return false;
}

/// Reads the labels and activations of a classifier.
[[nodiscard]] UFORM_COLD inline Result<void> read_classifier(bool per_token, FolderConfiguration &configuration) {
    auto read = read_classifier_configuration(join_path(configuration.transformer_folder, "config.json"), per_token);
    if (!read) return read.error();
    configuration.classifier = *std::move(read);
    return {};
}

/// Reads what a folder of transformers makes of the states: their mean, and what its first class adds to that.
[[nodiscard]] UFORM_COLD inline Result<void> read_without_modules(std::string const &folder,
                                                                  FolderConfiguration &configuration) {
    auto const &classes = configuration.encoder.architectures;
    if (was_saved_from(configuration.encoder, stanford_class_k)) {
        auto settings = read_stanford_metadata(join_path(folder, "artifact.metadata"));
        if (!settings) return settings.error();
        return read_late_interaction(folder, FolderKind::late_interaction, nullptr, *std::move(settings),
                                     configuration);
    }
    configuration.warnings.push_back(folder +
                                     ": no modules.json: embeddings are the mean of the states, not normalised");
    bool const per_token = !classes.empty() && classes[0].ends_with("ForTokenClassification");
    bool const per_text = !classes.empty() && classes[0].ends_with(sequence_classifier_k);
    return per_token || per_text ? read_classifier(per_token, configuration) : Result<void>();
}

/// Reads what the modules after the transformer make of the states.
[[nodiscard]] UFORM_COLD inline Result<void> read_with_modules(std::string const &folder, ModulePaths const &modules,
                                                               SentenceConfiguration sentence,
                                                               FolderConfiguration &configuration) {
    EncoderConfiguration const &encoder = configuration.encoder;
    auto const pooling_path = join_path(join_path(folder, modules.pooling), "config.json");
    configuration.gives_embeddings = sentence.kind == FolderKind::embeddings;
    switch (sentence.kind) {
    case FolderKind::embeddings: {
        auto pooling = read_pooling_configuration(pooling_path, encoder.hidden_size);
        if (!pooling) return pooling.error();
        configuration.pooling = *std::move(pooling);
        return read_vector_modules(folder, modules.after, configuration);
    }
    case FolderKind::cross_encoder: {
        if (!was_saved_from(encoder, sequence_classifier_k))
            return Error::of(Status::unsupported, join_path(configuration.transformer_folder, "config.json"),
                             ": architectures: none is a …", sequence_classifier_k,
                             ", which a CrossEncoder is made of");
        auto read = read_classifier(false, configuration);
        if (read && sentence.activation) configuration.classifier->rerank = *sentence.activation;
        return read;
    }
    case FolderKind::sparse: {
        auto const sparse = read_sparse_configuration(pooling_path, encoder.vocabulary_size);
        if (!sparse) return sparse.error();
        configuration.sparse = *sparse;
        return {};
    }
    case FolderKind::late_interaction:
    case FolderKind::pylate:
        return read_late_interaction(folder, sentence.kind, &modules, std::move(sentence.late), configuration);
    }
    return {};
}

/// Reads a folder as sentence-transformers or transformers publish it.
///
/// With a `modules.json`, its modules say where everything is, and `config_sentence_transformers.json` what they make.
/// Without, the folder is one of transformers: the mean of the states, not normalised, and what its first class adds to
/// that; the files of sentence-transformers aren't looked at, as in the reference. Stanford's ColBERT is a folder
/// without modules, too.
///
/// Errors  `io` for a file that is needed and can't be read; `corrupt` for a damaged one and for values that can't be;
///         `unsupported` for all that this version doesn't serve. Each names the file, the key and the value.
/// Source  sentence-transformers 6.2, `_load_config_modules` and `_load_default_modules`.
[[nodiscard]] UFORM_COLD inline Result<FolderConfiguration> read_configuration(std::string const &folder) {
    FolderConfiguration configuration;
    SentenceConfiguration sentence;
    std::optional<ModulePaths> modules;
    if (auto path = join_path(folder, "modules.json"); file_exists(path)) {
        auto const sentence_path = join_path(folder, "config_sentence_transformers.json");
        if (file_exists(sentence_path)) {
            auto read = read_sentence_configuration(sentence_path, configuration.warnings);
            if (!read) return read.error();
            sentence = *std::move(read);
            configuration.prompts = sentence.prompts, configuration.similarity = sentence.similarity;
            configuration.default_prompt_name = sentence.default_prompt_name;
        }
        auto read = read_modules(std::move(path), sentence.kind, sentence_path);
        if (!read) return read.error();
        modules = *std::move(read);
    }
    auto &place = configuration.transformer_folder;
    place = modules && !modules->transformer.empty() ? join_path(folder, modules->transformer) : folder;

    if (auto adapter = join_path(place, "adapter_config.json"); file_exists(adapter))
        return Error::of(Status::unsupported, adapter, ": adapters aren't served; merge it into the weights");
    auto encoder = read_encoder_configuration(join_path(place, "config.json"));
    if (!encoder) return encoder.error();
    configuration.encoder = *std::move(encoder);

    auto const tokenizer_length = read_tokenizer_length(place);
    if (!tokenizer_length) return tokenizer_length.error();
    std::optional<std::size_t> asked;
    if (modules) {
        auto const task = [](bool fills, bool classifies) {
            return fills        ? TransformerTask::fill_mask
                   : classifies ? TransformerTask::sequence_classification
                                : TransformerTask::feature_extraction;
        };
        FolderKind const kind = sentence.kind;
        bool const is_late = kind == FolderKind::late_interaction || kind == FolderKind::pylate;
        auto const module =
            read_transformer_module(place, task(kind == FolderKind::sparse, kind == FolderKind::cross_encoder),
                                    task(modules->is_masked, false), is_late ? &sentence.late.roles : nullptr);
        if (!module) return module.error();
        asked = module->max_sequence_length, configuration.lowercase_first = module->lowercase_first;
    }
    settle_length(configuration, asked, *tokenizer_length);
    auto read = modules ? read_with_modules(folder, *modules, std::move(sentence), configuration)
                        : read_without_modules(folder, configuration);
    if (!read) return read.error();
    return configuration;
}

} // namespace uform

#endif // UFORM_CHECKPOINT_CONFIGURATION_HPP
