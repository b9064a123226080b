/// A folder's configuration: what each file means, and each thing in one that is refused.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint_files.hpp"
#include "uform/checkpoint/configuration.hpp"

using uform::FolderConfiguration;
using uform::HiddenActivation;
using uform::Pooling;
using uform::Similarity;
using uform::Status;

namespace {

constexpr char const *config_k =
    R"({"architectures":["BertModel"],"model_type":"bert","hidden_size":48,"num_hidden_layers":2,
    "num_attention_heads":3,"intermediate_size":96,"vocab_size":100,"max_position_embeddings":64,"type_vocab_size":2,
    "layer_norm_eps":1e-12,"hidden_act":"gelu","pad_token_id":0,"position_embedding_type":"absolute","an_unknown":[1]})";
constexpr char const *pooling_k =
    R"({"word_embedding_dimension":48,"pooling_mode_cls_token":false,"pooling_mode_mean_tokens":true,
    "pooling_mode_max_tokens":false,"pooling_mode_mean_sqrt_len_tokens":false})";

std::string module(char const *name, char const *path, char const *type) {
    return std::string(R"({"idx":0,"name":")") + name + R"(","path":")" + path + R"(","type":"sentence_transformers.)" +
           type + "\"}";
}
std::string const transformer = module("0", "", "models.Transformer"),
                  pooling = module("1", "1_Pooling", "models.Pooling"),
                  normalize = module("2", "2_Normalize", "models.Normalize");

/// A folder as sentence-transformers publishes a small BERT.
struct ModelFolder : TemporaryFolder {
    ModelFolder() {
        write("modules.json", "[" + transformer + "," + pooling + "," + normalize + "]");
        write("config.json", config_k);
        write("1_Pooling/config.json", pooling_k);
        write("sentence_bert_config.json", R"({"max_seq_length":32,"do_lower_case":false})");
        write("config_sentence_transformers.json", R"({"__version__":{"sentence_transformers":"2.0.0"}})");
        write("tokenizer_config.json", R"({"model_max_length":50})");
    }
    FolderConfiguration read() const {
        auto configuration = uform::read_configuration(path());
        if (!configuration) FAIL(std::string(configuration.error().message()));
        return *std::move(configuration);
    }
};

/// One text in place of another, the rest of `config.json` as it was.
std::string config_with(std::string_view from, std::string_view to) {
    std::string text = config_k;
    auto const at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
}

struct Refusal {
    std::string content;
    Status status;
    std::vector<std::string> words;
};
/// Requires that each content of a file is refused with its words and the file's path.
void refuse_each(std::string const &file, std::vector<Refusal> const &refusals) {
    for (auto const &[content, status, words] : refusals) {
        ModelFolder folder;
        folder.write(file, content);
        auto all = words;
        all.push_back(folder / file);
        INFO(content);
        require_error(uform::read_configuration(folder.path()), status, all);
    }
}

} // namespace

TEST_CASE("a folder of sentence-transformers says all it needs") {
    ModelFolder const folder;
    auto const read = folder.read();
    CHECK(read.transformer_folder == folder.path());
    CHECK(read.encoder.architectures == std::vector<std::string>{"BertModel"});
    CHECK(read.encoder.vocabulary_size == 100);
    CHECK(read.encoder.hidden_size == 48);
    CHECK(read.encoder.layers == 2);
    CHECK(read.encoder.heads == 3);
    CHECK(read.encoder.intermediate_size == 96);
    CHECK(read.encoder.positions == 64);
    CHECK(read.encoder.token_types == 2);
    CHECK(read.encoder.layer_norm_epsilon == 1e-12);
    CHECK(read.encoder.activation == HiddenActivation::gelu);
    CHECK(read.encoder.pad_token_id == 0u);
    CHECK(read.pooling.modes == std::vector{Pooling::mean});
    CHECK(read.pooling.include_prompt);
    CHECK(read.normalize);
    CHECK(read.max_sequence_length == 32);
    CHECK_FALSE(read.lowercase_first);
    CHECK(read.prompts == uform::Prompts{{"query", ""}, {"document", ""}});
    CHECK_FALSE(read.default_prompt_name);
    CHECK(read.similarity == Similarity::cosine);
    CHECK(read.warnings.empty());
}

TEST_CASE("absent keys of BERT have the defaults of transformers") {
    ModelFolder folder;
    folder.write("config.json", R"({"model_type":"bert"})");
    folder.write("1_Pooling/config.json", R"({"embedding_dimension":768})");
    auto const read = folder.read();
    CHECK(read.encoder.architectures.empty());
    CHECK(read.encoder.vocabulary_size == 30522);
    CHECK(read.encoder.hidden_size == 768);
    CHECK(read.encoder.layers == 12);
    CHECK(read.encoder.heads == 12);
    CHECK(read.encoder.intermediate_size == 3072);
    CHECK(read.encoder.positions == 512);
    CHECK(read.encoder.token_types == 2);
    CHECK(read.encoder.layer_norm_epsilon == 1e-12);
    CHECK(read.encoder.activation == HiddenActivation::gelu);
    CHECK(read.encoder.pad_token_id == 0u);
    CHECK(read.pooling.modes == std::vector{Pooling::mean});
}

TEST_CASE("activations have their names of transformers") {
    std::pair<char const *, HiddenActivation> const names[] = {
        {"gelu", HiddenActivation::gelu},        {"gelu_new", HiddenActivation::gelu_tanh},
        {"relu", HiddenActivation::relu},        {"gelu_pytorch_tanh", HiddenActivation::gelu_tanh},
        {"silu", HiddenActivation::silu},        {"swish", HiddenActivation::silu},
        {"gelu_python", HiddenActivation::gelu}, {"gelu_fast", HiddenActivation::gelu_tanh},
        {"tanh", HiddenActivation::tanh},
    };
    ModelFolder folder;
    for (auto const &[name, activation] : names) {
        INFO(name);
        folder.write("config.json", config_with("\"gelu\"", std::string("\"") + name + "\""));
        CHECK(folder.read().encoder.activation == activation);
    }
}

TEST_CASE("a padding id may be absent, null or any id") {
    ModelFolder folder;
    folder.write("config.json", config_with("\"pad_token_id\":0", "\"pad_token_id\":null"));
    CHECK_FALSE(folder.read().encoder.pad_token_id);
    folder.write("config.json", config_with("\"pad_token_id\":0", "\"pad_token_id\":99"));
    CHECK(folder.read().encoder.pad_token_id == 99u);
    folder.write("config.json", config_with("\"pad_token_id\":0", "\"pad_token_id\":-1"));
    CHECK(folder.read().encoder.pad_token_id == 99u);
}

TEST_CASE("a config.json that isn't served, or can't be, is refused by key and value") {
    auto const bad = [](char const *from, char const *to, Status status, std::vector<std::string> words) {
        return Refusal{config_with(from, to), status, std::move(words)};
    };
    auto const corrupt = Status::corrupt, unsupported = Status::unsupported;
    refuse_each(
        "config.json",
        {
            {"{", corrupt, {"byte 1"}},
            {"[]", corrupt, {"array", "object"}},
            {"{}", unsupported, {"model_type", "missing", "\"bert\""}},
            bad("\"bert\"", "\"t5\"", unsupported, {"model_type", "\"t5\"", "\"bert\"", "\"modernbert\""}),
            bad("\"bert\"", "\"xlm-roberta\"", unsupported, {"architectures", "BertModel", "XLMRobertaModel"}),
            bad("\"bert\"", "7", unsupported, {"model_type", "7"}),
            bad("\"BertModel\"", "\"JinaBertModel\"", unsupported, {"architectures", "JinaBertModel", "BertModel"}),
            bad("\"BertModel\"", "\"BertModel\",\"XForCausalLM\"", unsupported, {"architectures", "XForCausalLM"}),
            bad("[\"BertModel\"]", "\"BertModel\"", corrupt, {"architectures", "array"}),
            bad("\"BertModel\"", "1", corrupt, {"architectures", "strings"}),
            bad("\"absolute\"", "\"relative_key\"", unsupported, {"position_embedding_type", "\"relative_key\""}),
            bad("\"absolute\"", "\"alibi\"", unsupported, {"position_embedding_type", "\"alibi\""}),
            bad("\"an_unknown\":[1]", "\"is_decoder\":true", unsupported, {"is_decoder", "true"}),
            bad("\"an_unknown\":[1]", "\"is_decoder\":1", corrupt, {"is_decoder", "1", "true or false"}),
            bad("\"an_unknown\":[1]", "\"add_cross_attention\":true", unsupported, {"add_cross_attention"}),
            bad("\"an_unknown\":[1]", "\"quantization_config\":{\"bits\":4}", unsupported, {"quantization_config"}),
            bad("\"an_unknown\":[1]", "\"pruned_heads\":{\"0\":[1]}", unsupported, {"pruned_heads"}),
            bad("\"gelu\"", "\"mish\"", unsupported, {"hidden_act", "\"mish\"", "gelu_new"}),
            bad("\"gelu\"", "null", corrupt, {"hidden_act", "null", "string"}),
            bad("\"hidden_size\":48", "\"hidden_size\":0", corrupt, {"hidden_size", " 0", "from 1"}),
            bad("\"hidden_size\":48", "\"hidden_size\":-48", corrupt, {"hidden_size", "-48"}),
            bad("\"hidden_size\":48", "\"hidden_size\":48.0", corrupt, {"hidden_size", "48", "integer"}),
            bad("\"hidden_size\":48", "\"hidden_size\":\"48\"", corrupt, {"hidden_size", "\"48\"", "integer"}),
            bad("\"hidden_size\":48", "\"hidden_size\":null", corrupt, {"hidden_size", "null", "integer"}),
            bad("\"hidden_size\":48", "\"hidden_size\":49", corrupt, {"hidden_size", "49", "num_attention_heads", "3"}),
            bad("\"hidden_size\":48", "\"hidden_size\":18446744073709551615", corrupt,
                {"hidden_size", "18446744073709551615"}),
            bad("\"num_hidden_layers\":2", "\"num_hidden_layers\":0", corrupt, {"num_hidden_layers", " 0"}),
            bad("\"num_hidden_layers\":2", "\"num_hidden_layers\":1000001", corrupt,
                {"num_hidden_layers", "1000001", "1000000"}),
            bad("\"num_attention_heads\":3", "\"num_attention_heads\":0", corrupt, {"num_attention_heads", " 0"}),
            bad("\"intermediate_size\":96", "\"intermediate_size\":-1", corrupt, {"intermediate_size", "-1"}),
            bad("\"vocab_size\":100", "\"vocab_size\":0", corrupt, {"vocab_size", " 0"}),
            bad("\"max_position_embeddings\":64", "\"max_position_embeddings\":0", corrupt,
                {"max_position_embeddings"}),
            bad("\"type_vocab_size\":2", "\"type_vocab_size\":0", corrupt, {"type_vocab_size", " 0"}),
            bad("1e-12", "0", corrupt, {"layer_norm_eps", " 0"}),
            bad("1e-12", "0.0", corrupt, {"layer_norm_eps", " 0"}),
            bad("1e-12", "-1e-12", corrupt, {"layer_norm_eps", "-1e-12"}),
            bad("1e-12", "1e-60", corrupt, {"layer_norm_eps", "1e-60"}),
            bad("1e-12", "2", corrupt, {"layer_norm_eps", " 2"}),
            bad("1e-12", "NaN", corrupt, {"byte"}),
            bad("1e-12", "\"1e-12\"", corrupt, {"layer_norm_eps", "\"1e-12\"", "number"}),
            bad("\"pad_token_id\":0", "\"pad_token_id\":100", corrupt, {"pad_token_id", "100"}),
            bad("\"pad_token_id\":0", "\"pad_token_id\":-101", corrupt, {"pad_token_id", "-101"}),
        });
    ModelFolder folder;
    folder.remove("config.json");
    require_error(uform::read_configuration(folder.path()), Status::io, {folder / "config.json", "No such file"});
    ModelFolder adapted;
    adapted.write("adapter_config.json", "{}");
    require_error(uform::read_configuration(adapted.path()), Status::unsupported, {adapted / "adapter_config.json"});
}

TEST_CASE("pooling is read in both spellings") {
    using Modes = std::vector<Pooling>;
    std::pair<std::string, Modes> const files[] = {
        {R"("pooling_mode":"cls")", {Pooling::cls}},
        {R"("pooling_mode":"max")", {Pooling::max}},
        {R"("pooling_mode":"mean")", {Pooling::mean}},
        {R"("pooling_mode":"mean_sqrt_len_tokens")", {Pooling::mean_sqrt_length}},
        {R"("pooling_mode":"weightedmean")", {Pooling::weighted_mean}},
        {R"("pooling_mode":"lasttoken")", {Pooling::last}},
        {R"("pooling_mode":["mean"])", {Pooling::mean}},
        {R"("pooling_mode":["mean","cls","mean"])", {Pooling::mean, Pooling::cls, Pooling::mean}},
        {R"("pooling_mode_cls_token":true)", {Pooling::cls}},
        {R"("pooling_mode_max_tokens":true)", {Pooling::max}},
        {R"("pooling_mode_mean_tokens":true)", {Pooling::mean}},
        {R"("pooling_mode_mean_sqrt_len_tokens":true)", {Pooling::mean_sqrt_length}},
        {R"("pooling_mode_weightedmean_tokens":true)", {Pooling::weighted_mean}},
        {R"("pooling_mode_lasttoken":true)", {Pooling::last}},
        {R"("pooling_mode_lasttoken":true,"pooling_mode_mean_tokens":true,"pooling_mode_max_tokens":true,"pooling_mode_cls_token":true,)"
         R"("pooling_mode_weightedmean_tokens":true,"pooling_mode_mean_sqrt_len_tokens":true)",
         {Pooling::cls, Pooling::max, Pooling::mean, Pooling::mean_sqrt_length, Pooling::weighted_mean, Pooling::last}},
        {R"("pooling_mode_mean_tokens":false,"pooling_mode_cls_token":false)", {Pooling::mean}},
        {R"("include_prompt":true)", {Pooling::mean}},
        {R"("pooling_mode_cls_token":true,"pooling_mode":"max")", {Pooling::max}}, // the new spelling wins
    };
    ModelFolder folder;
    for (auto const &[fields, modes] : files)
        for (std::string const dimension : {"word_embedding_dimension", "embedding_dimension"}) {
            INFO(fields);
            folder.write("1_Pooling/config.json", "{\"" + dimension + "\":48," + fields + "}");
            CHECK(folder.read().pooling.modes == modes);
        }
    folder.write("1_Pooling/config.json", R"({"word_embedding_dimension":48,"include_prompt":false})");
    CHECK_FALSE(folder.read().pooling.include_prompt);
    folder.write("1_Pooling/config.json", R"({"word_embedding_dimension":1,"embedding_dimension":48})");
    CHECK(folder.read().pooling.modes == Modes{Pooling::mean});
}

TEST_CASE("pooling that isn't known is refused, never guessed") {
    auto const corrupt = Status::corrupt, unsupported = Status::unsupported;
    auto const with = [](char const *fields) {
        return std::string(R"({"word_embedding_dimension":48,)") + fields + "}";
    };
    refuse_each(
        "1_Pooling/config.json",
        {
            {"", corrupt, {"byte 0"}},
            {"{}", corrupt, {"embedding_dimension", "missing"}},
            {R"({"word_embedding_dimension":384})", corrupt, {"word_embedding_dimension", "384", "48"}},
            {R"({"embedding_dimension":"48"})", corrupt, {"embedding_dimension", "\"48\""}},
            {R"({"word_embedding_dimension":48,"embedding_dimension":47})", corrupt, {"embedding_dimension is 47"}},
            {with(R"("pooling_mode":"attention")"), unsupported, {"pooling_mode", "\"attention\"", "lasttoken"}},
            {with(R"("pooling_mode":["mean","MEAN"])"), unsupported, {"pooling_mode", "\"MEAN\""}},
            {with(R"("pooling_mode":[])"), corrupt, {"pooling_mode", "no mode"}},
            {with(R"("pooling_mode":null)"), unsupported, {"pooling_mode", "null"}},
            {with(R"("pooling_mode":7)"), unsupported, {"pooling_mode", "7"}},
            {with(R"("pooling_mode_mean_tokens":1)"), corrupt, {"pooling_mode_mean_tokens", "1", "true or false"}},
            {with(R"("pooling_mode_median_tokens":false)"), unsupported, {"pooling_mode_median_tokens", "unknown"}},
            {with(R"("include_prompt":"no")"), corrupt, {"include_prompt", "\"no\""}},
        });
    ModelFolder folder;
    folder.remove("1_Pooling/config.json");
    require_error(uform::read_configuration(folder.path()), Status::io,
                  {folder / "1_Pooling/config.json", "No such file"});
}

TEST_CASE("modules are known in every spelling that the reference imports") {
    for (std::string const base : {"models.", "models.Transformer.", "base.modules.", "base.modules.transformer.",
                                   "sentence_transformer.modules."})
        CHECK(uform::module_kind("sentence_transformers." + base + "Transformer") == uform::ModuleKind::transformer);
    for (std::string const base :
         {"models.", "models.Pooling.", "sentence_transformer.modules.", "sentence_transformer.modules.pooling."})
        CHECK(uform::module_kind("sentence_transformers." + base + "Pooling") == uform::ModuleKind::pooling);
    for (std::string const base :
         {"models.", "models.Normalize.", "base.modules.", "base.modules.normalize.", "sentence_transformer.modules."})
        CHECK(uform::module_kind("sentence_transformers." + base + "Normalize") == uform::ModuleKind::normalize);
    for (std::string const base :
         {"models.", "models.Dense.", "base.modules.", "base.modules.dense.", "sentence_transformer.modules."})
        CHECK(uform::module_kind("sentence_transformers." + base + "Dense") == uform::ModuleKind::dense);
    for (std::string const base :
         {"models.", "models.LayerNorm.", "sentence_transformer.modules.", "sentence_transformer.modules.layer_norm."})
        CHECK(uform::module_kind("sentence_transformers." + base + "LayerNorm") == uform::ModuleKind::layer_norm);
    for (std::string const type :
         {"", "Pooling", "sentence_transformers.Pooling", "models.Pooling", "sentence_transformers.models.pooling",
          "sentence_transformers.base.modules.Pooling", "sentence_transformers.models.Transformer.Pooling",
          "my_models.Pooling", "sentence_transformers.models.Pooling2", "sentence_transformers.models.Dropout",
          "sentence_transformers.base.modules.LayerNorm", "pylate.models.Dense.Dense"})
        CHECK_FALSE(uform::module_kind(type));
}

TEST_CASE("modules say where files are and whether vectors are normalised") {
    ModelFolder folder;
    folder.write("modules.json", "[" + transformer + "," + pooling + "]");
    CHECK_FALSE(folder.read().normalize);

    // As in folders of the first releases: the transformer in a folder of its own.
    TemporaryFolder old;
    old.write("modules.json", "[" + module("0", "0_BERT", "models.Transformer") + "," + pooling + "," +
                                  module("2", "2_Normalize", "base.modules.normalize.Normalize") + "]");
    old.write("0_BERT/config.json", config_k);
    old.write("0_BERT/sentence_bert_config.json", R"({"max_seq_length":40,"do_lower_case":true})");
    old.write("0_BERT/tokenizer_config.json", "{}");
    old.write("1_Pooling/config.json", pooling_k);
    auto read = uform::read_configuration(old.path());
    REQUIRE(read);
    CHECK(read->transformer_folder == old / "0_BERT");
    CHECK(read->normalize);
    CHECK(read->lowercase_first);
    CHECK(read->max_sequence_length == 40);

    old.write("2_Normalize/config.json",
              R"({"module_input_name":"sentence_embedding","module_output_name":null,"other":1})");
    CHECK(uform::read_configuration(old.path()));
    old.write("2_Normalize/config.json", R"({"module_input_name":"token_embeddings"})");
    require_error(uform::read_configuration(old.path()), Status::unsupported,
                  {old / "2_Normalize/config.json", "module_input_name", "token_embeddings"});
}

TEST_CASE("chains of modules that aren't served are refused by name") {
    auto const corrupt = Status::corrupt, unsupported = Status::unsupported;
    auto const chain = [](std::vector<std::string> const &modules) {
        std::string text = "[";
        for (auto const &one : modules) text += (text.size() > 1 ? "," : "") + one;
        return text + "]";
    };
    auto const lstm = module("2", "2_LSTM", "models.LSTM"), dropout = module("2", "", "models.Dropout"),
               dense = module("1", "2_Dense", "models.Dense");
    refuse_each(
        "modules.json",
        {
            {"{}", corrupt, {"object", "array"}},
            {"[]", unsupported, {"0 modules"}},
            {"[3]", corrupt, {"module 0", "3"}},
            {chain({transformer}), unsupported, {"1 modules", "Pooling"}},
            {chain({transformer, pooling, lstm}), unsupported, {"module 2", "sentence_transformers.models.LSTM"}},
            {chain({transformer, pooling, dropout}), unsupported, {"module 2", "Dropout"}},
            {chain({transformer, dense}), unsupported, {"module 1", "models.Dense", "order"}},
            {chain({transformer, dense, module("2", "", "models.Pooling")}),
             unsupported,
             {"module 1", "models.Dense", "order"}},
            {chain({pooling, transformer}), unsupported, {"module 0", "models.Pooling", "order"}},
            {chain({transformer, normalize, pooling}), unsupported, {"module 1", "models.Normalize", "order"}},
            {chain({transformer, pooling, module("9", "p", "models.Pooling")}),
             unsupported,
             {"module 2", "models.Pooling", "order"}},
            {chain({transformer, module("9", "", "models.Transformer")}),
             unsupported,
             {"module 1", "models.Transformer", "order"}},
            {chain({module("0", "", "sparse_encoder.models.MLMTransformer"), pooling}),
             unsupported,
             {"MLMTransformer"}},
            {chain({R"({"idx":0,"name":"0","path":"","type":"custom_st.Transformer"})", pooling}),
             unsupported,
             {"custom_st.Transformer"}},
            {chain({transformer, module("0", "1_Pooling", "models.Pooling")}), corrupt, {"module 1", "name", "\"0\""}},
            {chain({transformer, R"({"name":"1","type":"sentence_transformers.models.Pooling"})"}),
             corrupt,
             {"module 1", "path", "missing"}},
            {chain({transformer,
                    R"({"name":"1","path":"","kwargs":["task"],"type":"sentence_transformers.models.Pooling"})"}),
             unsupported,
             {"module 1", "kwargs"}},
            {chain({transformer, R"({"name":"1","path":"","weight":2,"type":"sentence_transformers.models.Pooling"})"}),
             unsupported,
             {"module 1", "weight"}},
            {chain({module("0", "..", "models.Transformer"), pooling}), corrupt, {"module 0", "path", "\"..\""}},
            {chain({module("0", "a/../..", "models.Transformer"), pooling}), corrupt, {"path", "inside"}},
            {chain({module("0", "/etc", "models.Transformer"), pooling}), corrupt, {"path", "\"/etc\""}},
            {chain({module("0", "a\\\\..", "models.Transformer"), pooling}), corrupt, {"path"}},
            {chain({module("0", "C:", "models.Transformer"), pooling}), corrupt, {"path"}},
            {chain({module("0", "a\\u0000", "models.Transformer"), pooling}), corrupt, {"path"}},
        });
}

TEST_CASE("the longest input is the one of sentence-transformers") {
    // What sentence_bert_config.json and tokenizer_config.json hold, and the limit; the position table has 64 rows.
    struct Limits {
        std::string sentence, tokenizer;
        std::size_t limit, warnings;
    };
    Limits const all[] = {
        {R"("max_seq_length":32)", R"("model_max_length":50)", 32, 0},
        {R"("max_seq_length":60)", R"("model_max_length":50)", 60, 0}, // not the smaller: the tokenizer is told
        {R"("max_seq_length":64)", "", 64, 0},
        {R"("max_seq_length":65)", "", 64, 1},
        {R"("max_seq_length":null)", R"("model_max_length":50)", 50, 0},
        {R"("do_lower_case":false)", R"("model_max_length":50)", 50, 0},
        {R"("do_lower_case":false)", R"("model_max_length":512)", 64, 0},
        {R"("do_lower_case":false)", R"("model_max_length":1000000000000000019884624838656)", 64, 0},
        {R"("do_lower_case":false)", R"("max_len":20)", 20, 0},
        {R"("do_lower_case":false)", R"("model_max_length":30,"max_len":20)", 30, 0},
        {R"("do_lower_case":false)", "", 64, 0},
        {R"("max_seq_length":1000000000000000019884624838656)", R"("model_max_length":50)", 64, 1},
        {R"("max_seq_length":32,"processor_kwargs":{"model_max_length":16})", "", 16, 0},
        {R"("max_seq_length":32,"tokenizer_args":{"model_max_length":16})", "", 16, 0},
    };
    ModelFolder folder;
    for (auto const &[sentence, tokenizer, limit, warnings] : all) {
        INFO(sentence << " " << tokenizer);
        folder.write("sentence_bert_config.json", "{" + sentence + "}");
        folder.write("tokenizer_config.json", "{" + tokenizer + "}");
        auto const read = folder.read();
        CHECK(read.max_sequence_length == limit);
        CHECK(read.warnings.size() == warnings);
        for (auto const &warning : read.warnings) CHECK(warning.find("64") != std::string::npos);
    }
    folder.remove("tokenizer_config.json");
    folder.remove("sentence_bert_config.json");
    CHECK(folder.read().max_sequence_length == 64);
    folder.write("sentence_bert_config.json", "{}"); // an empty one is passed over
    folder.write("sentence_roberta_config.json", R"({"max_seq_length":12})");
    CHECK(folder.read().max_sequence_length == 12);

    refuse_each("tokenizer_config.json",
                {{"[]", Status::corrupt, {"object"}},
                 {R"({"model_max_length":0})", Status::corrupt, {"model_max_length", " 0"}},
                 {R"({"model_max_length":-1})", Status::corrupt, {"model_max_length", "-1"}},
                 {R"({"model_max_length":"x"})", Status::corrupt, {"model_max_length", "\"x\""}}});
}

TEST_CASE("the transformer's own file is read as far as it is understood") {
    ModelFolder folder;
    // As sentence-transformers 6 writes it for BERT.
    folder.write("sentence_bert_config.json", R"({"transformer_task":"feature-extraction","modality_config":{"text":
        {"method":"forward","method_output_name":"last_hidden_state"}},"module_output_name":"token_embeddings"})");
    CHECK(folder.read().max_sequence_length == 50);
    folder.write("sentence_bert_config.json",
                 R"({"max_seq_length":32,"do_lower_case":true,"processing_kwargs":{},"unpad_inputs":false,
        "query_length":null,"document_length":null,"query_expansion":null,"tokenizer_name_or_path":null,
        "model_args":{"add_pooling_layer":false},"config_args":{"trust_remote_code":true},"tokenizer_args":{}})");
    CHECK(folder.read().lowercase_first);

    auto const corrupt = Status::corrupt, unsupported = Status::unsupported;
    refuse_each(
        "sentence_bert_config.json",
        {
            {"null", corrupt, {"null", "object"}},
            {R"({"max_seq_length":0})", corrupt, {"max_seq_length", " 0"}},
            {R"({"max_seq_length":-5})", corrupt, {"max_seq_length", "-5"}},
            {R"({"max_seq_length":1.5})", corrupt, {"max_seq_length", "1.5"}},
            {R"({"do_lower_case":"yes"})", corrupt, {"do_lower_case", "\"yes\""}},
            {R"({"max_length":32})", unsupported, {"max_length", "unknown"}},
            {R"({"transformer_task":"fill-mask"})", unsupported, {"transformer_task", "\"fill-mask\""}},
            {R"({"modality_config":{"text":{"method":"forward","method_output_name":"last_hidden_state"}}})",
             unsupported,
             {"module_output_name"}},
            {R"({"modality_config":{"text":{"method":"forward","method_output_name":"last_hidden_state"}},"module_output_name":"sentence_embedding"})",
             unsupported,
             {"module_output_name", "\"sentence_embedding\""}},
            {R"({"modality_config":{"text":{"method":"forward","method_output_name":"pooler_output"}},"module_output_name":"token_embeddings"})",
             unsupported,
             {"modality_config"}},
            {R"({"modality_config":{"text":{"method":"forward","method_output_name":"last_hidden_state"},"image":{}},"module_output_name":"token_embeddings"})",
             unsupported,
             {"modality_config"}},
            {R"({"processing_kwargs":{"text":{"padding":true}}})", unsupported, {"processing_kwargs", "text"}},
            {R"({"query_length":32})", unsupported, {"query_length", "32"}},
            {R"({"document_length":180})", unsupported, {"document_length", "180"}},
            {R"({"query_expansion":{"length":32}})", unsupported, {"query_expansion"}},
            {R"({"tokenizer_name_or_path":"other"})", unsupported, {"tokenizer_name_or_path", "\"other\""}},
            {R"({"config_args":{"hidden_act":"relu"}})", unsupported, {"config_args", "hidden_act"}},
            {R"({"model_kwargs":{"subfolder":"x"}})", unsupported, {"model_kwargs", "subfolder"}},
            {R"({"tokenizer_args":{"do_lower_case":true}})", unsupported, {"tokenizer_args", "do_lower_case"}},
            {R"({"tokenizer_args":[]})", corrupt, {"tokenizer_args", "object"}},
            {R"({"tokenizer_args":{"model_max_length":0}})", corrupt, {"tokenizer_args", "model_max_length", " 0"}},
        });
}

TEST_CASE("prompts and the similarity are read") {
    ModelFolder folder;
    folder.write("config_sentence_transformers.json",
                 R"({"model_type":"SentenceTransformer","prompts":{"passage":"passage: ","query":"query: ",
        "empty":null},"default_prompt_name":"query","similarity_fn_name":"dot","truncate_dim":null,"requirements":{"torch":">1"}})");
    auto read = folder.read();
    CHECK(read.prompts ==
          uform::Prompts{{"query", "query: "}, {"document", ""}, {"passage", "passage: "}, {"empty", ""}});
    CHECK(read.default_prompt_name == "query");
    CHECK(read.similarity == Similarity::dot);
    CHECK(read.warnings.empty());

    folder.write("config_sentence_transformers.json",
                 R"({"default_prompt_name":"document","similarity_fn_name":null})");
    read = folder.read();
    CHECK(read.default_prompt_name == "document"); // the reference gives every model this prompt
    CHECK(read.similarity == Similarity::cosine);

    folder.write("config_sentence_transformers.json", R"({"similarity_fn_name":"maxsim","novelty":1})");
    read = folder.read();
    REQUIRE(read.warnings.size() == 2);
    CHECK(read.warnings[0].find("similarity_fn_name is \"maxsim\"") != std::string::npos);
    CHECK(read.warnings[1].find("novelty") != std::string::npos);

    folder.remove("config_sentence_transformers.json");
    CHECK(folder.read().warnings.empty());

    auto const corrupt = Status::corrupt, unsupported = Status::unsupported;
    refuse_each("config_sentence_transformers.json",
                {
                    {"[", corrupt, {"byte 1"}},
                    {R"({"model_type":"SparseEncoder"})", unsupported, {"model_type", "\"SparseEncoder\""}},
                    {R"({"model_type":"ColBERT","novelty":1})", unsupported, {"model_type", "\"ColBERT\""}},
                    {R"({"truncate_dim":24})", unsupported, {"truncate_dim", "24"}},
                    {R"({"prompts":["a"]})", corrupt, {"prompts", "array"}},
                    {R"({"prompts":{"a":1}})", corrupt, {"prompts", "a", "1", "string"}},
                    {R"({"prompts":{"a":"b"},"default_prompt_name":"c"})", corrupt, {"default_prompt_name", "\"c\""}},
                    {R"({"similarity_fn_name":3})", corrupt, {"similarity_fn_name", "3"}},
                });
}

TEST_CASE("a folder of transformers is averaged, not normalised, and says so") {
    ModelFolder folder;
    folder.remove("modules.json");
    // None of these is looked at without a modules.json.
    folder.write("1_Pooling/config.json", R"({"word_embedding_dimension":48,"pooling_mode_cls_token":true})");
    folder.write("config_sentence_transformers.json", R"({"model_type":"SparseEncoder"})");
    auto const read = folder.read();
    CHECK(read.pooling.modes == std::vector{Pooling::mean});
    CHECK_FALSE(read.normalize);
    CHECK(read.max_sequence_length == 50);
    CHECK(read.transformer_folder == folder.path());
    REQUIRE(read.warnings.size() == 1);
    CHECK(read.warnings[0].find(folder.path()) != std::string::npos);
    CHECK(read.warnings[0].find("modules.json") != std::string::npos);
}

TEST_CASE("every cut of every file is an error or a configuration") {
    std::size_t read = 0;
    for (std::string const name : {"modules.json", "config.json", "1_Pooling/config.json", "sentence_bert_config.json",
                                   "config_sentence_transformers.json", "tokenizer_config.json"}) {
        ModelFolder folder;
        auto const file = uform::File::map(folder / name);
        REQUIRE(file);
        std::string const whole(file->text());
        for (std::size_t size = 0; size != whole.size(); ++size) {
            folder.write(name, whole.substr(0, size));
            auto const configuration = uform::read_configuration(folder.path());
            read += configuration.has_value();
            if (!configuration) CHECK(configuration.error().status() == Status::corrupt);
        }
    }
    CHECK(read == 0);
}
