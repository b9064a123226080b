/// The shape of an encoder, as `config.json` gives it.
#ifndef UFORM_CHECKPOINT_ENCODER_CONFIGURATION_HPP
#define UFORM_CHECKPOINT_ENCODER_CONFIGURATION_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "uform/architecture.hpp"
#include "uform/checkpoint/fields.hpp"
#include "uform/json.hpp"
#include "uform/status.hpp"

namespace uform {

/// The shape of an encoder. All counts are at least 1, and `hidden_size` is a multiple of `heads`.
/// Source  transformers 5.24, `BertConfig`, with its defaults.
struct EncoderConfiguration {
    std::vector<std::string> architectures; ///< classes that the weights were saved from; may be empty
    std::size_t vocabulary_size = 30522;
    std::size_t hidden_size = 768;
    std::size_t layers = 12;
    std::size_t heads = 12;
    std::size_t intermediate_size = 3072;
    std::size_t positions = 512; ///< rows of the position table
    std::size_t token_types = 2; ///< rows of the segment table
    double layer_norm_epsilon = 1e-12;
    HiddenActivation activation = HiddenActivation::gelu;
    std::optional<std::size_t> pad_token_id = 0;
};

/// Reads the classes that the weights were saved from, and refuses those that aren't BERT under another name: some
/// folders say `"model_type": "bert"` and bring code of their own.
inline void read_architectures(Fields &fields, EncoderConfiguration &encoder) {
    if (fields.is_absent("architectures")) return;
    constexpr std::string_view known[] = {"BertModel",
                                          "BertForMaskedLM",
                                          "BertForPreTraining",
                                          "BertForNextSentencePrediction",
                                          "BertForSequenceClassification",
                                          "BertForTokenClassification",
                                          "BertForQuestionAnswering",
                                          "BertForMultipleChoice",
                                          "BertLMHeadModel"};
    JsonValue const list = fields.find("architectures");
    if (!list.is(JsonKind::array)) return fields.refuse_type("architectures", "an array");
    for (std::size_t i = 0; i != list.size(); ++i) {
        auto const name = list[i].string();
        if (!name) return fields.refuse_type("architectures", "an array of strings");
        bool is_known = false;
        for (std::string_view const one : known) is_known |= one == *name;
        if (!is_known)
            return fields.refuse(Status::unsupported, "architectures", ": ", *name,
                                 " isn't served; BertModel and the BertFor… classes are");
        encoder.architectures.emplace_back(*name);
    }
}

/// Source  the table `ACT2FN` of transformers 5.24: what has one formula there is one activation here.
[[nodiscard]] inline HiddenActivation read_activation(Fields &fields) {
    constexpr std::pair<std::string_view, HiddenActivation> known[] = {
        {"gelu", HiddenActivation::gelu},
        {"gelu_python", HiddenActivation::gelu},
        {"gelu_new", HiddenActivation::gelu_tanh},
        {"gelu_pytorch_tanh", HiddenActivation::gelu_tanh},
        {"gelu_python_tanh", HiddenActivation::gelu_tanh},
        {"gelu_fast", HiddenActivation::gelu_tanh},
        {"gelu_accurate", HiddenActivation::gelu_tanh},
        {"relu", HiddenActivation::relu},
        {"silu", HiddenActivation::silu},
        {"swish", HiddenActivation::silu},
        {"tanh", HiddenActivation::tanh},
    };
    auto const name = fields.text("hidden_act", "gelu");
    for (auto const &[spelling, activation] : known)
        if (spelling == name) return activation;
    fields.refuse(Status::unsupported, "hidden_act", " is \"", name,
                  "\", which isn't served; gelu, gelu_new, gelu_pytorch_tanh, relu, silu, swish and tanh are");
    return HiddenActivation::gelu;
}

/// Reads and checks a `config.json`.
///
/// Errors  `io`; `corrupt` for what isn't JSON, values of a wrong type, of 0 or less, beyond any model, or that
///         contradict each other; `unsupported` for another architecture, activation or position embedding, a
///         decoder, and quantised weights. Each names the file, the key and the value.
[[nodiscard]] inline Result<EncoderConfiguration> read_encoder_configuration(std::string path) {
    auto file = JsonFile::read_object(std::move(path));
    if (!file) return std::move(file).error();
    Fields fields = file->fields();
    EncoderConfiguration encoder;

    if (fields.find("model_type").string() != "bert")
        fields.refuse(Status::unsupported, "model_type", " is ", shown(fields.find("model_type")),
                      "; \"bert\" is served");
    read_architectures(fields, encoder);
    if (!fields.is_absent("position_embedding_type") &&
        fields.text("position_embedding_type", {}) != std::string_view("absolute"))
        fields.refuse(Status::unsupported, "position_embedding_type", " is ",
                      shown(fields.find("position_embedding_type")), "; \"absolute\" is served");
    for (std::string_view const key : {"is_decoder", "add_cross_attention"})
        if (fields.boolean(key, false)) fields.refuse(Status::unsupported, key, " is true; only encoders are served");
    if (!fields.is_absent("quantization_config"))
        fields.refuse(Status::unsupported, "quantization_config", ": quantised weights aren't served");
    if (fields.find("pruned_heads").size() != 0)
        fields.refuse(Status::unsupported, "pruned_heads", ": pruned heads aren't served");
    encoder.activation = read_activation(fields);

    constexpr std::size_t million = 1'000'000, billion = 1'000'000'000;
    encoder.vocabulary_size = fields.count("vocab_size", encoder.vocabulary_size, billion);
    encoder.hidden_size = fields.count("hidden_size", encoder.hidden_size, million);
    encoder.layers = fields.count("num_hidden_layers", encoder.layers, million);
    encoder.heads = fields.count("num_attention_heads", encoder.heads, million);
    encoder.intermediate_size = fields.count("intermediate_size", encoder.intermediate_size, 100 * million);
    encoder.positions = fields.count("max_position_embeddings", encoder.positions, billion);
    encoder.token_types = fields.count("type_vocab_size", encoder.token_types, million);
    if (encoder.hidden_size % encoder.heads != 0)
        fields.refuse(Status::corrupt, "hidden_size", " is ", encoder.hidden_size,
                      ", not a multiple of num_attention_heads, ", encoder.heads);

    encoder.layer_norm_epsilon = fields.number("layer_norm_eps", encoder.layer_norm_epsilon);
    if (!(encoder.layer_norm_epsilon >= 1e-30 && encoder.layer_norm_epsilon <= 1)) // below, a float squares to 0
        fields.refuse_type("layer_norm_eps", "between 1e-30 and 1");

    if (JsonValue const pad = fields.find("pad_token_id")) { // an index as of Python: one below 0 counts from the end
        encoder.pad_token_id = pad.natural();
        auto const vocabulary = static_cast<std::int64_t>(encoder.vocabulary_size);
        bool const from_end = pad.integer() && *pad.integer() < 0 && *pad.integer() >= -vocabulary;
        if (from_end) encoder.pad_token_id = static_cast<std::size_t>(*pad.integer() + vocabulary);
        if (!pad.is(JsonKind::null) && (!encoder.pad_token_id || *encoder.pad_token_id >= encoder.vocabulary_size))
            fields.refuse_type("pad_token_id", "an id of the vocabulary");
    }
    if (fields.error()) return *fields.error();
    return encoder;
}

} // namespace uform

#endif // UFORM_CHECKPOINT_ENCODER_CONFIGURATION_HPP
