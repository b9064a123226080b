/// What a late-interaction folder says of its token vectors: projection, prompts, lengths, expansion, skipped words.
#ifndef UFORM_CHECKPOINT_LATE_INTERACTION_CONFIGURATION_HPP
#define UFORM_CHECKPOINT_LATE_INTERACTION_CONFIGURATION_HPP

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "uform/architecture.hpp"
#include "uform/checkpoint/checkpoint.hpp"
#include "uform/checkpoint/fields.hpp"
#include "uform/checkpoint/lengths.hpp"
#include "uform/checkpoint/sentence_configuration.hpp"
#include "uform/checkpoint/vector_modules.hpp"
#include "uform/config.hpp"
#include "uform/file.hpp"
#include "uform/json.hpp"
#include "uform/list.hpp"
#include "uform/status.hpp"

namespace uform {

/// A Dense on the state of each token: activation(W · state + bias).
struct TokenProjection {
    std::string folder;          ///< whose safetensors hold its weights
    std::string name = "linear"; ///< of its tensors: `name.weight` [columns, inputs], and `name.bias` where it has one
    std::size_t columns = 0;     ///< of what it answers; never 0 in what `read_configuration` answers
    bool has_bias = false;
    DenseActivation activation = DenseActivation::identity;
};

/// How a text of one role becomes ids.
///
/// The reference tokenises `prompt` + text as one string, with the special tokens around it, after it has made the
/// marker a special token of the tokenizer. So a marker that the vocabulary has is one id, first after the leading
/// special tokens, and one that it hasn't is plain text.
struct LateInteractionRole {
    std::string prompt; ///< put before each text, the marker at its beginning included; it may end with a blank
    /// With which `prompt` begins, as published: "[unused0] ", "[Q] "; empty where nothing is to be made a token.
    ///
    /// Of the marker, and of its first word (up to a blank), the first that the vocabulary has as a token is one id
    /// wherever it stands in a text, before any normalising. Where the vocabulary has neither, or the tokenizer makes
    /// that one token of it as it is, nothing is changed.
    std::string marker;
    std::size_t length = 0; ///< the most tokens, special ones and the marker included: the text's end is cut
};

/// The vectors of single tokens, as a ColBERT compares them.
///
/// Documents have a row for every token, special ones and the marker included, but for those of `skipped_words`;
/// queries have one for every token, of skipped words too, and for every token that they were expanded by.
struct LateInteractionConfiguration {
    List<TokenProjection> projections; ///< one after the other, at least one
    LateInteractionRole query, document;
    /// Queries of fewer tokens, special ones included, get `expansion_token` after the last special token, up to this
    /// many; 0: they aren't expanded. At most `query.length`.
    std::size_t expansion_length = 0;
    /// Whether other tokens look at those. Where not, they themselves still look at all tokens of the text (at nothing
    /// else), and have vectors. Their positions count on; their segment is 0.
    bool attends_to_expansion = false;
    std::string expansion_token; ///< its text, "[MASK]"; empty where queries aren't expanded
    /// Of documents: each that is a token of the vocabulary by itself, spelt just so, and isn't the unknown token
    /// (unless it is spelt as that one), has no row, wherever its id stands. The others are left out.
    std::vector<std::string> skipped_words;
    bool normalizes = false; ///< rows are divided by their length, or by 1e-12 where that is larger

    [[nodiscard]] std::size_t dimensions() const noexcept {
        return projections.empty() ? 0 : projections.back().columns;
    }
};

/// The marks that PyLate and Stanford's code skip in documents unless told otherwise: `string.punctuation` of Python.
[[nodiscard]] UFORM_COLD inline std::vector<std::string> punctuation_words() {
    std::vector<std::string> words;
    for (char const mark : std::string_view("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"))
        words.push_back(std::string(1, mark));
    return words;
}

/// Reads the Dense and Normalize modules of a folder whose first takes states of `columns`, in their order.
///
/// Errors  `io`, `corrupt`, `unsupported`, naming the file and the key.
[[nodiscard]] UFORM_COLD inline Result<void> read_token_modules(std::string const &folder,
                                                                List<ModulePath> const &paths, std::size_t columns,
                                                                LateInteractionConfiguration &late) {
    constexpr std::string_view input = "token_embeddings";
    for (ModulePath const &one : paths) {
        if (one.kind != ModuleKind::dense && one.kind != ModuleKind::normalize) continue;
        auto place = join_path(folder, one.path);
        if (one.kind == ModuleKind::normalize) { // without the key it would read a vector that isn't there
            auto file = JsonFile::read_object(join_path(place, "config.json"));
            if (!file) return file.error();
            if (!file->fields().find("module_input_name"))
                return Error::of(Status::unsupported, file->path, ": module_input_name is missing; \"", input,
                                 "\" is served");
        }
        auto module = read_vector_module(one.kind, std::move(place), columns, input);
        if (!module) return module.error();
        late.normalizes |= one.kind == ModuleKind::normalize;
        if (one.kind == ModuleKind::normalize) continue;
        columns = module->columns;
        late.projections.push_back({.folder = std::move(module->folder),
                                    .columns = module->columns,
                                    .has_bias = module->has_bias,
                                    .activation = module->activation});
    }
    return {};
}

/// Reads a MultiVectorMask's `config.json`: the words that have no rows in documents. No such file names none.
///
/// Errors  `io`, `corrupt`, `unsupported`, naming the file and the key.
/// Source  sentence-transformers 6.2, `MultiVectorMask`.
[[nodiscard]] UFORM_COLD inline Result<std::vector<std::string>> read_skipped_words(std::string path) {
    if (!file_exists(path)) return std::vector<std::string>();
    auto file = JsonFile::read_object(std::move(path));
    if (!file) return file.error();
    Fields fields = file->fields();
    fields.refuse_others({"skiplist_words", "skiplist_tasks", "keep_only_token_ids"},
                         ": an unknown key of a MultiVectorMask");
    auto words = read_words(fields, "skiplist_words").value_or(std::vector<std::string>());
    JsonValue const tasks = fields.find("skiplist_tasks"), kept = fields.find("keep_only_token_ids");
    bool const is_document = fields.is_absent("skiplist_tasks") || tasks.string() == "document" ||
                             (tasks.is(JsonKind::array) && tasks.size() == 1 && tasks[0].string() == "document");
    if (!is_document && !words.empty())
        fields.refuse(Status::unsupported, "skiplist_tasks", " is ",
                      tasks.size() == 1 ? joined(shown(tasks[0]), " in an array") : shown(tasks),
                      "; [\"document\"] is served");
    if (!fields.is_absent("keep_only_token_ids") && !(kept.is(JsonKind::array) && kept.size() == 0))
        fields.refuse(Status::unsupported, "keep_only_token_ids", " is ", shown(kept), ", which isn't served");
    if (fields.error()) return *fields.error();
    return words;
}

/// The text of a special token as `tokenizer_config.json` or `special_tokens_map.json` give it.
[[nodiscard]] UFORM_COLD inline Result<std::optional<std::string>> read_special_token(std::string const &folder,
                                                                                      std::string_view key) {
    using Text = std::optional<std::string>;
    for (std::string_view const name : {"tokenizer_config.json", "special_tokens_map.json"}) {
        auto path = join_path(folder, name);
        if (!file_exists(path)) continue;
        auto file = JsonFile::read_object(std::move(path));
        if (!file) return file.error();
        Fields fields = file->fields();
        if (fields.is_absent(key)) continue;
        JsonValue const value = fields.find(key);
        auto const text = value.is(JsonKind::object) ? value.find("content").string() : value.string();
        if (!text) fields.refuse_type(key, "a token");
        if (fields.error()) return *fields.error();
        return Text(*text);
    }
    return Text();
}

/// The token that queries are filled with where the folder names none: the tokenizer's mask token, else its end.
///
/// Source  sentence-transformers 6.2, `Transformer.preprocess`; transformers 5.24, the tokenizers of each family, whose
///         mask token stands in no file where it is the usual one.
[[nodiscard]] UFORM_COLD inline Result<std::string> read_expansion_token(std::string const &folder,
                                                                         Architecture architecture) {
    auto mask = read_special_token(folder, "mask_token");
    if (!mask) return mask.error();
    if (*mask) return **std::move(mask);
    switch (architecture) {
    case Architecture::bert:
    case Architecture::distilbert:
    case Architecture::nomic_bert: return std::string("[MASK]");
    case Architecture::roberta:
    case Architecture::mpnet: return std::string("<mask>");
    case Architecture::modernbert: break; // its tokenizer's class has no tokens of its own
    }
    auto end = read_special_token(folder, "eos_token");
    if (!end) return end.error();
    if (*end) return **std::move(end);
    return Error::of(Status::unsupported, join_path(folder, "tokenizer_config.json"),
                     ": neither mask_token nor eos_token is there, and one of them is to fill queries");
}

/// Reads Stanford's `artifact.metadata`, or takes what stands in its place: markers, lengths, skipped words. Prompts
/// are the markers, with a blank after each.
///
/// Errors  `io`, `corrupt`, naming the file, the key and the value.
/// Source  sentence-transformers 6.2, `MultiVectorEncoder._maybe_load_stanford_metadata`.
[[nodiscard]] UFORM_COLD inline Result<LateInteractionSettings> read_stanford_metadata(std::string path) {
    LateInteractionSettings late;
    late.query_prefix = "[unused0] ", late.document_prefix = "[unused1] ";
    late.roles.expansion.emplace();
    late.skipped_words = punctuation_words();
    if (!file_exists(path)) return late;
    auto file = JsonFile::read_object(std::move(path));
    if (!file) return file.error();
    Fields fields = file->fields();
    auto const marker = [&](std::string_view key, std::string &prefix) {
        if (fields.is_absent(key)) return;
        if (auto const text = fields.text(key, {}); !text.empty()) prefix = joined(text, " ");
    };
    marker("query_token_id", late.query_prefix), marker("doc_token_id", late.document_prefix);
    late.roles.document = read_length(fields, "doc_maxlen");
    late.roles.expansion->length = read_length(fields, "query_maxlen").value_or(32);
    if (!fields.is_absent("attend_to_mask_tokens"))
        late.roles.expansion->attends = fields.boolean("attend_to_mask_tokens", false);
    bool const skips =
        fields.find("mask_punctuation").is(JsonKind::null) ? false : fields.boolean("mask_punctuation", true);
    if (!skips) late.skipped_words->clear();
    if (fields.error()) return *fields.error();
    return late;
}

/// Finds the projection that Stanford's code stores beside the encoder's weights.
///
/// Errors  those of `Checkpoint::open`; `corrupt` where it isn't there, or takes no states of `columns`.
/// Source  sentence-transformers 6.2, `MultiVectorEncoder._build_stanford_projection`.
[[nodiscard]] UFORM_COLD inline Result<TokenProjection> read_stanford_projection(std::string const &folder,
                                                                                 std::size_t columns) {
    auto checkpoint = Checkpoint::open(folder);
    if (!checkpoint) return checkpoint.error();
    TensorView const *const weight = checkpoint->find("linear.weight");
    if (!weight)
        return Error::of(Status::corrupt, folder,
                         ": tensor \"linear.weight\" isn't there, the projection of an HF_ColBERT");
    if (weight->shape.size() != 2 || weight->shape[0] == 0 || weight->shape[1] != columns)
        return Error::of(Status::corrupt, checkpoint->file_of(*weight),
                         ": tensor \"linear.weight\" isn't [dimensions, ", columns, "], hidden_size of config.json");
    return TokenProjection{.folder = folder, .columns = static_cast<std::size_t>(weight->shape[0])};
}

} // namespace uform

#endif // UFORM_CHECKPOINT_LATE_INTERACTION_CONFIGURATION_HPP
