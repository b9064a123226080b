/// The transformer module of sentence-transformers: what its own file says, and the tokenizer's length.
#ifndef UFORM_CHECKPOINT_TRANSFORMER_MODULE_HPP
#define UFORM_CHECKPOINT_TRANSFORMER_MODULE_HPP

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "uform/checkpoint/fields.hpp"
#include "uform/checkpoint/lengths.hpp"
#include "uform/config.hpp"
#include "uform/file.hpp"
#include "uform/json.hpp"
#include "uform/status.hpp"

namespace uform {

/// What `sentence_bert_config.json` says of the transformer module.
struct TransformerModule {
    std::optional<std::size_t> max_sequence_length; ///< in tokens, special ones included; nothing: the tokenizer's
    bool lowercase_first = false;
};

/// What the transformer module gives to the next.
enum class TransformerTask : std::uint8_t {
    feature_extraction,      ///< the states
    fill_mask,               ///< scores of the vocabulary, by a masked-language head
    sequence_classification, ///< scores of labels
};

/// The task's name in files. Static storage.
[[nodiscard]] inline std::string_view task_name(TransformerTask task) noexcept {
    constexpr std::string_view names[] = {"feature-extraction", "fill-mask", "sequence-classification"};
    return names[static_cast<std::size_t>(task)];
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
/// Keys of sentence-transformers 5 and 6 are taken where they say what plain text through an encoder is; the others are
/// refused by name, as another task or a modality makes other vectors. `fallback` is the task of a file that names
/// none. Lengths of queries and documents go into `roles`; they are refused where that is null.
///
/// Errors  `io`, `corrupt`, `unsupported`, naming the file, the key and the value. No such file is no error.
/// Source  sentence-transformers 6.2, `Transformer.load_config`, `_load_init_kwargs` and the constructor.
[[nodiscard]] UFORM_COLD inline Result<TransformerModule> read_transformer_module(std::string const &folder,
                                                                                  TransformerTask wanted,
                                                                                  TransformerTask fallback,
                                                                                  RoleLengths *roles) {
    TransformerModule module;
    bool is_named = wanted == fallback;
    std::string_view const method_output =
        wanted == TransformerTask::feature_extraction ? "last_hidden_state" : "logits";
    std::string_view const module_output =
        wanted == TransformerTask::sequence_classification ? "scores" : "token_embeddings";
    for (std::string_view const name :
         {"sentence_bert_config.json", "sentence_roberta_config.json", "sentence_distilbert_config.json",
          "sentence_camembert_config.json", "sentence_albert_config.json", "sentence_xlm-roberta_config.json",
          "sentence_xlnet_config.json"}) {
        auto path = join_path(folder, name);
        if (!file_exists(path)) continue;
        auto file = JsonFile::read_object(std::move(path));
        if (!file) return file.error();
        Fields fields = file->fields();
        if (fields.object().size() == 0) continue;

        fields.refuse_others({"max_seq_length", "do_lower_case", "transformer_task", "modality_config",
                              "module_output_name", "processing_kwargs", "unpad_inputs", "query_length",
                              "document_length", "query_expansion", "tokenizer_name_or_path", "model_args",
                              "model_kwargs", "tokenizer_args", "processor_kwargs", "config_args", "config_kwargs"},
                             ": an unknown transformer key");
        is_named |= static_cast<bool>(fields.find("transformer_task"));
        if (is_named && fields.text("transformer_task", task_name(wanted)) != task_name(wanted))
            fields.refuse(Status::unsupported, "transformer_task", " is ", shown(fields.find("transformer_task")),
                          "; \"", task_name(wanted), "\" is served");
        // Without modalities the reference ignores the output's name.
        if (JsonValue const modalities = fields.find("modality_config")) {
            JsonValue const text = modalities.find("text");
            if (modalities.size() != 1 || text.size() != 2 || text.find("method").string() != "forward" ||
                text.find("method_output_name").string() != method_output)
                fields.refuse(Status::unsupported, "modality_config", ": another than text, through forward to ",
                              method_output, ", isn't served");
            if (fields.text("module_output_name", {}) != module_output)
                fields.refuse(Status::unsupported, "module_output_name", " is ",
                              shown(fields.find("module_output_name")), "; \"", module_output, "\" is served");
        }
        if (roles) read_role_lengths(fields, *roles);
        for (std::string_view const key :
             {"query_length", "document_length", "query_expansion", "tokenizer_name_or_path"})
            if (!fields.is_absent(key) && (!roles || key == "tokenizer_name_or_path"))
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
        if (!is_named)
            fields.refuse(Status::unsupported, "transformer_task", " is missing; \"", task_name(wanted),
                          "\" is served");
        if (fields.error()) return *fields.error();
        return module;
    }
    if (!is_named)
        return Error::of(Status::unsupported, join_path(folder, "sentence_bert_config.json"),
                         ": transformer_task is missing; \"", task_name(wanted), "\" is served");
    return module;
}

/// Reads the length that the tokenizer's `tokenizer_config.json` gives; nothing if it gives none, or isn't there.
/// Errors  `io`, `corrupt`.
[[nodiscard]] UFORM_COLD inline Result<std::optional<std::size_t>> read_tokenizer_length(std::string const &folder) {
    using Length = std::optional<std::size_t>;
    auto path = join_path(folder, "tokenizer_config.json");
    if (!file_exists(path)) return Length();
    auto file = JsonFile::read_object(std::move(path));
    if (!file) return file.error();
    Fields fields = file->fields();
    Length const length = read_length(fields, fields.find("model_max_length") ? "model_max_length" : "max_len");
    if (fields.error()) return *fields.error();
    return length;
}

} // namespace uform

#endif // UFORM_CHECKPOINT_TRANSFORMER_MODULE_HPP
