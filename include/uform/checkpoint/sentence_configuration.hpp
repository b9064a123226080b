/// What sentence-transformers stores beside a model: the longest input, lower-casing, prompts, the similarity.
#ifndef UFORM_CHECKPOINT_SENTENCE_CONFIGURATION_HPP
#define UFORM_CHECKPOINT_SENTENCE_CONFIGURATION_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "uform/checkpoint/fields.hpp"
#include "uform/config.hpp"
#include "uform/file.hpp"
#include "uform/json.hpp"
#include "uform/status.hpp"

namespace uform {

/// How two of a model's vectors are meant to be compared. The vectors are the same whatever it says.
enum class Similarity : std::uint8_t { cosine, dot, euclidean, manhattan };

/// What `sentence_bert_config.json` says of the transformer module.
struct TransformerModule {
    std::optional<std::size_t> max_sequence_length; ///< in tokens, special ones included; nothing: the tokenizer's
    bool lowercase_first = false;
};

/// Names with their texts, in the order of the file.
struct Prompt {
    std::string name, text;
    [[nodiscard]] bool operator==(Prompt const &) const = default;
};
using Prompts = std::vector<Prompt>;

/// What `config_sentence_transformers.json` says of the whole model.
struct SentenceConfiguration {
    Prompts prompts = {{"query", ""}, {"document", ""}}; ///< the reference gives every model these two
    std::optional<std::string> default_prompt_name;
    Similarity similarity = Similarity::cosine;
};

/// The largest length in tokens that a file may give; what is larger counts as this.
inline constexpr std::size_t most_tokens_k = 1'000'000'000;

/// The most prompts that a file may name: each is compared with those before it.
inline constexpr std::size_t most_prompts_k = 10'000;

/// A length in tokens, nothing if the key is absent or `null`. What says that there is no limit (1e30) is
/// `most_tokens_k`.
[[nodiscard]] inline std::optional<std::size_t> read_length(Fields &fields, std::string_view key) {
    if (fields.is_absent(key)) return {};
    auto const number = fields.find(key).number();
    if (number && *number > static_cast<double>(most_tokens_k)) return most_tokens_k;
    return fields.count(key, 1, most_tokens_k);
}

/// Reads the members that load the transformer otherwise: each may only hold keys that change no vector.
UFORM_COLD inline void read_loading(Fields &fields, std::string_view key,
                                    std::initializer_list<std::string_view> harmless) {
    JsonValue const value = fields.find(key);
    if (!value) return;
    if (!value.is(JsonKind::object)) return fields.refuse_type(key, "an object");
    for (std::size_t i = 0; i != value.size(); ++i) {
        bool known = false;
        for (std::string_view const one : harmless) known |= one == value.key(i);
        if (!known) fields.refuse(Status::unsupported, key, ": ", value.key(i), " isn't served");
    }
}

/// Reads the transformer module's own file, the first there is of its seven names that isn't an empty object.
///
/// Keys of sentence-transformers 5 and 6 are taken where they say what plain text through BERT is; the others are
/// refused by name, as a task, a modality or a query expansion makes other vectors.
///
/// Errors  `io`, `corrupt`, `unsupported`, naming the file, the key and the value. No such file is no error.
/// Source  sentence-transformers 6.2, `Transformer.load_config`, `_load_init_kwargs` and the constructor.
[[nodiscard]] UFORM_COLD inline Result<TransformerModule> read_transformer_module(std::string const &folder) {
    TransformerModule module;
    for (std::string_view const name :
         {"sentence_bert_config.json", "sentence_roberta_config.json", "sentence_distilbert_config.json",
          "sentence_camembert_config.json", "sentence_albert_config.json", "sentence_xlm-roberta_config.json",
          "sentence_xlnet_config.json"}) {
        auto path = join_path(folder, name);
        if (!file_exists(path)) continue;
        auto file = JsonFile::read_object(std::move(path));
        if (!file) return std::move(file).error();
        Fields fields = file->fields();
        if (fields.object().size() == 0) continue;

        fields.refuse_others({"max_seq_length", "do_lower_case", "transformer_task", "modality_config",
                              "module_output_name", "processing_kwargs", "unpad_inputs", "query_length",
                              "document_length", "query_expansion", "tokenizer_name_or_path", "model_args",
                              "model_kwargs", "tokenizer_args", "processor_kwargs", "config_args", "config_kwargs"},
                             ": an unknown transformer key");
        if (fields.text("transformer_task", "feature-extraction") != "feature-extraction")
            fields.refuse(Status::unsupported, "transformer_task", " is ", shown(fields.find("transformer_task")),
                          "; \"feature-extraction\" is served");
        // Without modalities the reference ignores the output's name.
        if (JsonValue const modalities = fields.find("modality_config")) {
            JsonValue const text = modalities.find("text");
            if (modalities.size() != 1 || text.size() != 2 || text.find("method").string() != "forward" ||
                text.find("method_output_name").string() != "last_hidden_state")
                fields.refuse(Status::unsupported, "modality_config",
                              ": another than text, through forward to last_hidden_state, isn't served");
            if (fields.text("module_output_name", {}) != "token_embeddings")
                fields.refuse(Status::unsupported, "module_output_name", " is ",
                              shown(fields.find("module_output_name")), "; \"token_embeddings\" is served");
        }
        for (std::string_view const key :
             {"query_length", "document_length", "query_expansion", "tokenizer_name_or_path"})
            if (!fields.is_absent(key))
                fields.refuse(Status::unsupported, key, " is ", shown(fields.find(key)), ", which isn't served");
        if (!fields.is_absent("processing_kwargs")) read_loading(fields, "processing_kwargs", {});
        for (std::string_view const key : {"model_args", "model_kwargs"})
            read_loading(fields, key,
                         {"add_pooling_layer", "attn_implementation", "dtype", "torch_dtype", "trust_remote_code"});
        for (std::string_view const key : {"config_args", "config_kwargs"})
            read_loading(fields, key, {"trust_remote_code"});

        module.max_sequence_length = read_length(fields, "max_seq_length");
        for (std::string_view const key : {"tokenizer_args", "processor_kwargs"}) {
            read_loading(fields, key, {"model_max_length", "trust_remote_code"});
            Fields inner(file->path, fields.find(key), key);
            if (inner.find("model_max_length")) module.max_sequence_length = read_length(inner, "model_max_length");
            if (inner.error() && !fields.error()) return *inner.error();
        }
        module.lowercase_first = fields.boolean("do_lower_case", false);
        if (fields.error()) return *fields.error();
        break;
    }
    return module;
}

/// Reads the length that the tokenizer's `tokenizer_config.json` gives; nothing if it gives none, or isn't there.
/// Errors  `io`, `corrupt`.
[[nodiscard]] UFORM_COLD inline Result<std::optional<std::size_t>> read_tokenizer_length(std::string const &folder) {
    using Length = std::optional<std::size_t>;
    auto path = join_path(folder, "tokenizer_config.json");
    if (!file_exists(path)) return Length();
    auto file = JsonFile::read_object(std::move(path));
    if (!file) return std::move(file).error();
    Fields fields = file->fields();
    Length const length = read_length(fields, fields.find("model_max_length") ? "model_max_length" : "max_len");
    if (fields.error()) return *fields.error();
    return length;
}

/// Reads a `config_sentence_transformers.json`. A key that it doesn't know makes a warning: the reference ignores it.
///
/// Errors  `io`; `corrupt`, also for a default prompt that isn't among the prompts; `unsupported` for another kind of
///         model, and for vectors that are to be cut (`truncate_dim`).
/// Source  sentence-transformers 6.2, `_get_model_type` and `_parse_model_config`.
[[nodiscard]] UFORM_COLD inline Result<SentenceConfiguration>
read_sentence_configuration(std::string path, std::vector<std::string> &warnings) {
    auto file = JsonFile::read_object(std::move(path));
    if (!file) return std::move(file).error();
    Fields fields = file->fields();
    SentenceConfiguration configuration;
    if (fields.text("model_type", "SentenceTransformer") != "SentenceTransformer")
        fields.refuse(Status::unsupported, "model_type", " is ", shown(fields.find("model_type")),
                      "; \"SentenceTransformer\" is served");
    if (!fields.is_absent("truncate_dim"))
        fields.refuse(Status::unsupported, "truncate_dim", " is ", shown(fields.find("truncate_dim")),
                      ": vectors that are cut aren't served");

    JsonValue const prompts = fields.find("prompts");
    if (prompts && !prompts.is(JsonKind::object)) fields.refuse_type("prompts", "an object");
    if (prompts.size() > most_prompts_k)
        fields.refuse(Status::unsupported, "prompts", ": ", prompts.size(), " of them; at most ", most_prompts_k,
                      " are served");
    for (std::size_t i = 0; i != prompts.size() && !fields.error(); ++i) {
        auto const name = prompts.key(i);
        if (!prompts[i].is(JsonKind::string) && !prompts[i].is(JsonKind::null))
            fields.refuse(Status::corrupt, "prompts", ": ", name, " is ", shown(prompts[i]), ", not a string");
        std::string const text(prompts[i].string().value_or(std::string_view()));
        auto known = configuration.prompts.begin();
        while (known != configuration.prompts.end() && known->name != name) ++known;
        if (known != configuration.prompts.end()) known->text = text;
        else configuration.prompts.push_back({std::string(name), text});
    }
    if (!fields.is_absent("default_prompt_name")) {
        configuration.default_prompt_name = fields.text("default_prompt_name", {});
        bool known = false;
        for (auto const &prompt : configuration.prompts) known |= prompt.name == *configuration.default_prompt_name;
        if (!known) fields.refuse_type("default_prompt_name", "a name among the prompts");
    }
    if (!fields.is_absent("similarity_fn_name")) {
        constexpr std::string_view names[] = {"cosine", "dot", "euclidean", "manhattan"};
        auto const name = fields.text("similarity_fn_name", {});
        std::size_t at = 0;
        while (at != std::size(names) && names[at] != name) ++at;
        if (at != std::size(names)) configuration.similarity = static_cast<Similarity>(at);
        else
            warnings.push_back(file->path + ": similarity_fn_name is " + shown(fields.find("similarity_fn_name")) +
                               ", which is none of one vector a text; cosine stands in its place");
    }
    if (fields.error()) return *fields.error();
    for (std::size_t i = 0; i != fields.object().size(); ++i) {
        auto const key = fields.object().key(i);
        bool known = false;
        for (std::string_view const one : {"__version__", "requirements", "model_type", "truncate_dim", "prompts",
                                           "default_prompt_name", "similarity_fn_name"})
            known |= one == key;
        if (!known) warnings.push_back(file->path + ": " + std::string(key) + " isn't known, and is left alone");
    }
    return configuration;
}

} // namespace uform

#endif // UFORM_CHECKPOINT_SENTENCE_CONFIGURATION_HPP
