/// Reads `config.json` of each family of encoders: its keys, its defaults, and what of it isn't served.
#ifndef UFORM_CHECKPOINT_ENCODER_FAMILIES_HPP
#define UFORM_CHECKPOINT_ENCODER_FAMILIES_HPP

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "uform/architecture.hpp"
#include "uform/checkpoint/encoder_configuration.hpp"
#include "uform/checkpoint/fields.hpp"
#include "uform/config.hpp"
#include "uform/json.hpp"
#include "uform/status.hpp"

namespace uform {

/// How a family spells the keys of the numbers that all have, where the plain ones aren't there.
struct EncoderKeys {
    std::string_view hidden_size = "hidden_size", layers = "num_hidden_layers", heads = "num_attention_heads",
                     intermediate_size = "intermediate_size", positions = "max_position_embeddings";
};

/// A family of published encoders.
struct EncoderFamily {
    std::string_view model_type, class_prefix; ///< as in `"model_type"`, and of the classes in `"architectures"`
    void (*read)(Fields &fields, EncoderConfiguration &encoder);
};

/// Reads a count that may be spelt in two ways; the older spelling counts where the first isn't there.
[[nodiscard]] UFORM_COLD inline std::size_t read_count(Fields &fields, std::string_view key, std::string_view older,
                                                       std::size_t fallback, std::size_t most) {
    bool const is_older = !fields.find(key) && fields.find(older);
    return fields.count(is_older ? older : key, fallback, most);
}

/// The class of Stanford's ColBERT, of any family: an encoder and a projection of its states.
inline constexpr std::string_view stanford_class_k = "HF_ColBERT";

/// Reads the classes that the weights were saved from, and refuses those of another family: some folders have a known
/// `"model_type"` and bring code of their own.
UFORM_COLD inline void read_architectures(Fields &fields, std::string_view prefix, EncoderConfiguration &encoder) {
    if (fields.is_absent("architectures")) return;
    constexpr std::string_view known[] = {"Model",
                                          "ForMaskedLM",
                                          "ForPreTraining",
                                          "ForNextSentencePrediction",
                                          "ForSequenceClassification",
                                          "ForTokenClassification",
                                          "ForQuestionAnswering",
                                          "ForMultipleChoice",
                                          "LMHeadModel"};
    JsonValue const list = fields.find("architectures");
    if (!list.is(JsonKind::array)) return fields.refuse_type("architectures", "an array");
    for (std::size_t i = 0; i != list.size(); ++i) {
        auto const name = list[i].string();
        if (!name) return fields.refuse_type("architectures", "an array of strings");
        bool is_known = false;
        if (name->starts_with(prefix))
            for (std::string_view const one : known) is_known |= one == name->substr(prefix.size());
        is_known |= *name == stanford_class_k;
        if (!is_known)
            return fields.refuse(Status::unsupported, "architectures", ": ", *name, " isn't served; ", prefix,
                                 "Model and the ", prefix, "For… classes are");
        encoder.architectures.push_back(std::string(*name));
    }
}

/// Source  the table `ACT2FN` of transformers 5.24: what has one formula there is one activation here.
[[nodiscard]] UFORM_COLD inline HiddenActivation read_activation(Fields &fields, std::string_view key,
                                                                 std::string_view fallback) {
    struct Spelling {
        std::string_view spelling;
        HiddenActivation activation;
    };
    static constexpr Spelling known[] = {
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
    auto const name = fields.text(key, fallback);
    for (auto const &[spelling, activation] : known)
        if (spelling == name) return activation;
    fields.refuse(Status::unsupported, key, " is \"", name,
                  "\", which isn't served; gelu, gelu_new, gelu_pytorch_tanh, relu, silu, swish and tanh are");
    return HiddenActivation::gelu;
}

/// Reads a layer norm's epsilon, which is added to a variance.
[[nodiscard]] UFORM_COLD inline double read_epsilon(Fields &fields, std::string_view key, double fallback) {
    double const epsilon = fields.number(key, fallback);
    if (!(epsilon >= 1e-30 && epsilon <= 1)) fields.refuse_type(key, "between 1e-30 and 1"); // below, a float is 0
    return epsilon;
}

/// Reads the counts that every family has, over the defaults in `encoder`.
UFORM_COLD inline void read_counts(Fields &fields, EncoderKeys const &keys, EncoderConfiguration &encoder) {
    constexpr std::size_t million = 1'000'000, billion = 1'000'000'000;
    constexpr EncoderKeys plain;
    encoder.vocabulary_size = fields.count("vocab_size", encoder.vocabulary_size, billion);
    encoder.hidden_size = read_count(fields, plain.hidden_size, keys.hidden_size, encoder.hidden_size, million);
    encoder.layers = read_count(fields, plain.layers, keys.layers, encoder.layers, million);
    encoder.heads = read_count(fields, plain.heads, keys.heads, encoder.heads, million);
    encoder.intermediate_size =
        read_count(fields, plain.intermediate_size, keys.intermediate_size, encoder.intermediate_size, 100 * million);
    encoder.positions = read_count(fields, plain.positions, keys.positions, encoder.positions, billion);
    if (encoder.hidden_size % encoder.heads != 0)
        fields.refuse(Status::corrupt, "hidden_size", " is ", encoder.hidden_size,
                      ", not a multiple of num_attention_heads, ", encoder.heads);
}

/// Reads the padding id: any id, or `null`, or an index as of Python, one below 0 counting from the end.
UFORM_COLD inline void read_padding(Fields &fields, EncoderConfiguration &encoder) {
    JsonValue const pad = fields.find("pad_token_id");
    if (!pad) return;
    encoder.pad_token_id = pad.natural();
    auto const vocabulary = static_cast<std::int64_t>(encoder.vocabulary_size);
    bool const from_end = pad.integer() && *pad.integer() < 0 && *pad.integer() >= -vocabulary;
    if (from_end) encoder.pad_token_id = static_cast<std::size_t>(*pad.integer() + vocabulary);
    if (!pad.is(JsonKind::null) && (!encoder.pad_token_id || *encoder.pad_token_id >= encoder.vocabulary_size))
        fields.refuse_type("pad_token_id", "an id of the vocabulary");
}

UFORM_COLD inline void refuse_relative_positions(Fields &fields) {
    if (!fields.is_absent("position_embedding_type") &&
        fields.text("position_embedding_type", {}) != std::string_view("absolute"))
        fields.refuse(Status::unsupported, "position_embedding_type", " is ",
                      shown(fields.find("position_embedding_type")), "; \"absolute\" is served");
}

/// Source  transformers 5.24, `BertConfig`.
UFORM_COLD inline void read_bert(Fields &fields, EncoderConfiguration &encoder) {
    encoder.architecture = Architecture::bert;
    refuse_relative_positions(fields);
    encoder.activation = encoder.masked_activation = read_activation(fields, "hidden_act", "gelu");
    read_counts(fields, {}, encoder);
    encoder.token_types = fields.count("type_vocab_size", encoder.token_types, 1'000'000);
    encoder.layer_norm_epsilon = read_epsilon(fields, "layer_norm_eps", encoder.layer_norm_epsilon);
    read_padding(fields, encoder);
}

/// Positions start at the padding id + 1, so it has to be one, and the table must be longer.
///
/// Source  transformers 5.24, `XLMRobertaConfig`, `CamembertConfig` and `create_position_ids_from_input_ids`.
UFORM_COLD inline void read_xlm_roberta(Fields &fields, EncoderConfiguration &encoder) {
    encoder.pad_token_id = 1;
    read_bert(fields, encoder);
    encoder.architecture = Architecture::roberta;
    encoder.masked_activation = HiddenActivation::gelu; // whatever hidden_act is
    JsonValue const pad = fields.find("pad_token_id");
    if (pad && !pad.natural()) fields.refuse_type("pad_token_id", "an id of the vocabulary");
    encoder.first_position = encoder.pad_token_id.value_or(0) + 1;
    if (encoder.first_position >= encoder.positions)
        fields.refuse(Status::corrupt, "max_position_embeddings", " is ", encoder.positions,
                      ", and positions start at pad_token_id + 1, ", encoder.first_position);
}

/// Source  transformers 5.24, `RobertaConfig`.
UFORM_COLD inline void read_roberta(Fields &fields, EncoderConfiguration &encoder) {
    encoder.vocabulary_size = 50265;
    read_xlm_roberta(fields, encoder);
}

/// The epsilon stands in no file. A table of sinusoids is stored like any other.
///
/// Source  transformers 5.24, `DistilBertConfig` with its `attribute_map`, and `TransformerBlock`.
UFORM_COLD inline void read_distilbert(Fields &fields, EncoderConfiguration &encoder) {
    encoder.architecture = Architecture::distilbert;
    encoder.layers = 6, encoder.token_types = 0;
    encoder.activation = encoder.masked_activation = read_activation(fields, "activation", "gelu");
    encoder.classifier_activation = HiddenActivation::relu;
    read_counts(fields, {.hidden_size = "dim", .layers = "n_layers", .heads = "n_heads"}, encoder);
    encoder.intermediate_size = fields.count("hidden_dim", 3072, 100'000'000);
    read_padding(fields, encoder);
}

/// Positions start at 2, whatever the padding id is; distances fall into 32 buckets, however many the table has.
///
/// Source  transformers 5.24, `MPNetConfig`, `MPNetEmbeddings` and `MPNetEncoder.compute_position_bias`.
UFORM_COLD inline void read_mpnet(Fields &fields, EncoderConfiguration &encoder) {
    encoder.architecture = Architecture::mpnet;
    encoder.vocabulary_size = 30527, encoder.token_types = 0, encoder.pad_token_id = 1, encoder.first_position = 2;
    encoder.activation = read_activation(fields, "hidden_act", "gelu");
    read_counts(fields, {}, encoder);
    encoder.layer_norm_epsilon = read_epsilon(fields, "layer_norm_eps", encoder.layer_norm_epsilon);
    encoder.position_buckets = fields.count("relative_attention_num_buckets", 32, 1'000'000);
    if (encoder.position_buckets < 32) fields.refuse_type("relative_attention_num_buckets", "32 or more");
    if (encoder.positions <= encoder.first_position) fields.refuse_type("max_position_embeddings", "3 or more");
    read_padding(fields, encoder);
}

/// Reads the base of rotary positions, which must turn all columns at the plain frequencies.
[[nodiscard]] UFORM_COLD inline double read_rotary_base(Fields &fields, std::string_view key, double fallback) {
    double const base = fields.number(key, fallback);
    if (!(base > 1 && base < 1e12)) fields.refuse_type(key, "above 1 and below 1e12");
    return base;
}

/// Reads an object of rotary parameters, `{"rope_type": "default", "rope_theta": …}`; the fallback where it is absent.
UFORM_COLD inline double read_rotary_parameters(Fields &outer, JsonValue object, std::string_view path,
                                                std::string const &place, double fallback) {
    if (!object || object.is(JsonKind::null)) return fallback;
    Fields fields(path, object, place);
    if (!object.is(JsonKind::object)) outer.refuse(Status::corrupt, place, " is ", shown(object), ", not an object");
    fields.refuse_others({"rope_type", "type", "rope_theta"}, ": scaled rotary positions aren't served");
    for (std::string_view const key : {"rope_type", "type"})
        if (fields.text(key, "default") != "default")
            fields.refuse(Status::unsupported, key, " is ", shown(fields.find(key)), "; \"default\" is served");
    double const base = read_rotary_base(fields, "rope_theta", fallback);
    if (fields.error()) outer.adopt(*fields.error());
    return base;
}

UFORM_COLD inline void refuse_odd_heads(Fields &fields, EncoderConfiguration const &encoder) {
    if (encoder.hidden_size / encoder.heads % 2 != 0)
        fields.refuse(Status::corrupt, "hidden_size", " is ", encoder.hidden_size, ", which leaves ",
                      encoder.hidden_size / encoder.heads, " columns to a head: rotary positions need pairs");
}

/// Which layers see a window: the list, else all but every third.
UFORM_COLD inline void read_local_layers(Fields &fields, EncoderConfiguration &encoder) {
    std::size_t const every = fields.count("global_attn_every_n_layers", 3, 1'000'000);
    if (fields.is_absent("layer_types")) {
        if (fields.error()) return;
        encoder.local_layers = std::vector<bool>(encoder.layers);
        for (std::size_t i = 0; i != encoder.layers; ++i) encoder.local_layers[i] = i % every != 0;
        return;
    }
    JsonValue const list = fields.find("layer_types");
    if (!list.is(JsonKind::array) || list.size() != encoder.layers)
        return fields.refuse_type("layer_types",
                                  joined("an array of one kind for each of the ", encoder.layers, " layers"));
    encoder.local_layers = std::vector<bool>(list.size());
    for (std::size_t i = 0; i != list.size(); ++i) {
        bool const local = list[i].string() == "sliding_attention";
        if (!local && list[i].string() != "full_attention")
            return fields.refuse(Status::unsupported, "layer_types", ": ", shown(list[i]),
                                 " isn't served; full_attention and sliding_attention are");
        encoder.local_layers[i] = local;
    }
}

/// Source  transformers 5.24, `ModernBertConfig`, in the spelling of published files and of its own.
UFORM_COLD inline void read_modernbert(Fields &fields, EncoderConfiguration &encoder) {
    encoder.architecture = Architecture::modernbert;
    encoder.vocabulary_size = 50368, encoder.layers = 22, encoder.intermediate_size = 1152;
    encoder.positions = 8192, encoder.token_types = 0, encoder.pad_token_id = 50283;
    encoder.activation = read_activation(fields, "hidden_activation", "gelu");
    read_counts(fields, {}, encoder);
    refuse_odd_heads(fields, encoder);
    encoder.layer_norm_epsilon = read_epsilon(fields, "norm_eps", 1e-5);
    encoder.classifier_activation = encoder.masked_activation =
        read_activation(fields, "classifier_activation", "gelu");
    if (auto const pooling = fields.text("classifier_pooling", "cls"); pooling == "mean")
        encoder.classifier_input = HeadInput::mean;
    else if (pooling != "cls")
        fields.refuse(Status::unsupported, "classifier_pooling", " is \"", pooling,
                      "\"; \"cls\" and \"mean\" are served");
    encoder.head_bias = fields.boolean("classifier_bias", false);
    encoder.decoder_bias = fields.boolean("decoder_bias", true);
    encoder.norm_bias = fields.boolean("norm_bias", false);
    encoder.attention_bias = fields.boolean("attention_bias", false);
    encoder.feed_forward_bias = fields.boolean("mlp_bias", false);
    encoder.window = fields.count("local_attention", 128, 1'000'000'000) / 2;
    if (fields.find("sliding_window")) // by which transformers overwrites it
        encoder.window = fields.count("sliding_window", 64, 1'000'000'000);
    encoder.global_theta = read_rotary_base(fields, "global_rope_theta", 160000);
    encoder.local_theta = read_rotary_base(fields, "local_rope_theta", 10000);
    if (!fields.is_absent("rope_scaling"))
        fields.refuse(Status::unsupported, "rope_scaling", ": scaled rotary positions aren't served");
    JsonValue const parameters = fields.find("rope_parameters");
    if (parameters && !parameters.is(JsonKind::null)) {
        if (!parameters.is(JsonKind::object)) fields.refuse_type("rope_parameters", "an object");
        for (std::size_t i = 0; i != parameters.size(); ++i)
            if (parameters.key(i) != "full_attention" && parameters.key(i) != "sliding_attention")
                fields.refuse(Status::unsupported, "rope_parameters", ": ", parameters.key(i), " isn't served");
        encoder.global_theta = read_rotary_parameters(fields, parameters.find("full_attention"), fields.path(),
                                                      "rope_parameters: full_attention: ", encoder.global_theta);
        encoder.local_theta = read_rotary_parameters(fields, parameters.find("sliding_attention"), fields.path(),
                                                     "rope_parameters: sliding_attention: ", encoder.local_theta);
    }
    if (!fields.error()) read_local_layers(fields, encoder);
    read_padding(fields, encoder);
}

/// In the spelling of transformers 5, and in that of the first published files, which brought code of their own: what
/// that code would do otherwise is refused.
///
/// Source  transformers 5.24, `NomicBertConfig`.
UFORM_COLD inline void read_nomic_bert(Fields &fields, EncoderConfiguration &encoder) {
    encoder.architecture = Architecture::nomic_bert;
    encoder.vocabulary_size = 30528, encoder.positions = 2048;
    encoder.attention_bias = encoder.feed_forward_bias = false;
    bool const first_spelling = fields.find("n_embd") || fields.find("activation_function");
    if (first_spelling) {
        if (auto const gate = fields.text("activation_function", "swiglu"); gate != "swiglu")
            fields.refuse(Status::unsupported, "activation_function", " is \"", gate, "\"; \"swiglu\" is served");
        for (std::string_view const key :
             {"prenorm", "qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias", "causal", "rotary_emb_interleaved",
              "parallel_block", "use_rms_norm", "scale_attn_by_inverse_layer_idx"})
            if (fields.boolean(key, false)) fields.refuse(Status::unsupported, key, " is true, which isn't served");
        for (std::string_view const key :
             {"rotary_emb_scale_base", "rotary_scaling_factor", "moe_every_n_layers", "num_experts"})
            if (!fields.is_absent(key) && fields.find(key).number() != 0.0)
                fields.refuse(Status::unsupported, key, " is ", shown(fields.find(key)), ", which isn't served");
        if (fields.number("rotary_emb_fraction", 1) != 1)
            fields.refuse(Status::unsupported, "rotary_emb_fraction", " is ", shown(fields.find("rotary_emb_fraction")),
                          "; 1 is served");
        encoder.activation = HiddenActivation::silu;
    } else encoder.activation = read_activation(fields, "hidden_act", "silu");
    read_counts(fields,
                {.hidden_size = "n_embd",
                 .layers = "n_layer",
                 .heads = "n_head",
                 .intermediate_size = "n_inner",
                 .positions = "n_positions"},
                encoder);
    if (!fields.is_absent("head_dim") && fields.find("head_dim").natural() != encoder.hidden_size / encoder.heads)
        fields.refuse(Status::unsupported, "head_dim", " is ", shown(fields.find("head_dim")),
                      "; hidden_size / heads, ", encoder.hidden_size / encoder.heads, ", is served");
    encoder.masked_activation = encoder.activation;
    refuse_odd_heads(fields, encoder);
    encoder.token_types = fields.count("type_vocab_size", encoder.token_types, 1'000'000);
    encoder.layer_norm_epsilon =
        read_epsilon(fields, first_spelling && !fields.find("layer_norm_eps") ? "layer_norm_epsilon" : "layer_norm_eps",
                     encoder.layer_norm_epsilon);
    encoder.global_theta = read_rotary_base(fields, first_spelling ? "rotary_emb_base" : "rope_theta", 1000);
    if (!fields.is_absent("rope_scaling"))
        fields.refuse(Status::unsupported, "rope_scaling", ": scaled rotary positions aren't served");
    encoder.global_theta = read_rotary_parameters(fields, fields.find("rope_parameters"), fields.path(),
                                                  "rope_parameters: ", encoder.global_theta);
    read_padding(fields, encoder);
}

/// Every family that is served.
inline constexpr EncoderFamily encoder_families_k[] = {
    {"bert", "Bert", read_bert},
    {"roberta", "Roberta", read_roberta},
    {"camembert", "Camembert", read_xlm_roberta},
    {"xlm-roberta", "XLMRoberta", read_xlm_roberta},
    {"distilbert", "DistilBert", read_distilbert},
    {"mpnet", "MPNet", read_mpnet},
    {"modernbert", "ModernBert", read_modernbert},
    {"nomic_bert", "NomicBert", read_nomic_bert},
};

/// Refuses a model that is a class of the folder's own code, which may compute anything, whatever the other keys say.
/// That of NomicBERT's first files is known.
inline void refuse_own_code(Fields &fields, EncoderFamily const &family) noexcept {
    JsonValue const model = fields.find("auto_map").find("AutoModel");
    auto const name = model.string().value_or(std::string_view());
    if (!model || (family.read == read_nomic_bert && name.ends_with(".NomicBertModel"))) return;
    fields.refuse(Status::unsupported, "auto_map", ": AutoModel is \"", name,
                  "\", code of the folder's own, which isn't run");
}

/// Reads and checks a `config.json`.
///
/// Errors  `io`; `corrupt` for what isn't JSON, values of a wrong type, of 0 or less, beyond any model, or that
///         contradict each other; `unsupported` for another architecture, activation or position embedding, code of
///         the folder's own, a decoder, and quantised weights. Each names the file, the key and the value.
[[nodiscard]] UFORM_COLD inline Result<EncoderConfiguration> read_encoder_configuration(std::string path) {
    auto file = JsonFile::read_object(std::move(path));
    if (!file) return file.error();
    Fields fields = file->fields();
    EncoderConfiguration encoder;

    EncoderFamily const *family = nullptr;
    std::string served;
    for (EncoderFamily const &one : encoder_families_k) {
        if (fields.find("model_type").string() == one.model_type) family = &one;
        served += joined(served.empty() ? "\"" : ", \"", one.model_type, "\"");
    }
    if (!family)
        return Error::of(Status::unsupported, file->path, ": model_type is ", shown(fields.find("model_type")), "; ",
                         served, " are served");
    read_architectures(fields, family->class_prefix, encoder);
    refuse_own_code(fields, *family);
    encoder.ties_words = fields.boolean("tie_word_embeddings", true);
    for (std::string_view const key : {"is_decoder", "add_cross_attention"})
        if (fields.boolean(key, false)) fields.refuse(Status::unsupported, key, " is true; only encoders are served");
    if (!fields.is_absent("quantization_config"))
        fields.refuse(Status::unsupported, "quantization_config", ": quantised weights aren't served");
    if (fields.find("pruned_heads").size() != 0)
        fields.refuse(Status::unsupported, "pruned_heads", ": pruned heads aren't served");
    family->read(fields, encoder);
    if (fields.error()) return *fields.error();
    return encoder;
}

} // namespace uform

#endif // UFORM_CHECKPOINT_ENCODER_FAMILIES_HPP
