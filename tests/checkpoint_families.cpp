/// The configuration of each family: its keys, its defaults, its longest text, and what of it is refused; and the
/// modules after the pooling.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint_files.hpp"
#include "uform/checkpoint/configuration.hpp"

using uform::Architecture;
using uform::DenseActivation;
using uform::FolderConfiguration;
using uform::HiddenActivation;
using uform::ModuleKind;
using uform::Status;

namespace {

/// A folder of transformers with that `config.json`.
struct Folder : TemporaryFolder {
    explicit Folder(std::string_view config) { write("config.json", config); }
    uform::EncoderConfiguration read() const {
        auto configuration = uform::read_configuration(path());
        if (!configuration) FAIL(std::string(configuration.error().message()));
        return configuration->encoder;
    }
};

void refuse(std::string const &config, Status status, std::vector<std::string> words) {
    Folder const folder(config);
    INFO(config);
    words.push_back(folder / "config.json");
    require_error(uform::read_configuration(folder.path()), status, words);
}

std::string module(std::string const &name, std::string const &path, std::string const &kind) {
    return R"({"idx":0,"name":")" + name + R"(","path":")" + path + R"(","type":"sentence_transformers.models.)" +
           kind + "\"}";
}

/// A folder whose vectors have 48 columns before `after`, a list of kinds.
struct Chain : TemporaryFolder {
    explicit Chain(std::vector<std::string> const &after) {
        std::string list = "[" + module("0", "", "Transformer") + "," + module("1", "1_Pooling", "Pooling");
        for (std::size_t i = 0; i != after.size(); ++i)
            list += "," + module(std::to_string(i + 2), std::to_string(i + 2) + "_", after[i]);
        write("modules.json", list + "]");
        write("config.json", R"({"model_type":"bert","hidden_size":48,"num_attention_heads":3})");
        write("1_Pooling/config.json", R"({"embedding_dimension":48,"pooling_mode":"mean"})");
    }
};

} // namespace

TEST_CASE("absent keys of each family have the defaults of transformers") {
    struct Defaults {
        std::string type;
        Architecture architecture;
        std::size_t vocabulary, layers, intermediate, positions, first, types;
        double epsilon;
        HiddenActivation activation;
        std::size_t pad;
    };
    using enum Architecture;
    auto const gelu = HiddenActivation::gelu, silu = HiddenActivation::silu;
    Defaults const all[] = {
        {"bert", bert, 30522, 12, 3072, 512, 0, 2, 1e-12, gelu, 0},
        {"roberta", roberta, 50265, 12, 3072, 512, 2, 2, 1e-12, gelu, 1},
        {"camembert", roberta, 30522, 12, 3072, 512, 2, 2, 1e-12, gelu, 1},
        {"xlm-roberta", roberta, 30522, 12, 3072, 512, 2, 2, 1e-12, gelu, 1},
        {"distilbert", distilbert, 30522, 6, 3072, 512, 0, 0, 1e-12, gelu, 0},
        {"mpnet", mpnet, 30527, 12, 3072, 512, 2, 0, 1e-12, gelu, 1},
        {"modernbert", modernbert, 50368, 22, 1152, 8192, 0, 0, 1e-5, gelu, 50283},
        {"nomic_bert", nomic_bert, 30528, 12, 3072, 2048, 0, 2, 1e-12, silu, 0},
    };
    for (auto const &one : all) {
        INFO(one.type);
        auto const read = Folder(R"({"model_type":")" + one.type + "\"}").read();
        CHECK(read.architecture == one.architecture);
        CHECK(read.vocabulary_size == one.vocabulary);
        CHECK(read.hidden_size == 768);
        CHECK(read.layers == one.layers);
        CHECK(read.heads == 12);
        CHECK(read.intermediate_size == one.intermediate);
        CHECK(read.positions == one.positions);
        CHECK(read.first_position == one.first);
        CHECK(read.token_types == one.types);
        CHECK(read.layer_norm_epsilon == one.epsilon);
        CHECK(read.activation == one.activation);
        CHECK(read.pad_token_id == one.pad);
        CHECK(read.is_rotary() == (one.type == "modernbert" || one.type == "nomic_bert"));
    }
    auto const modern = Folder(R"({"model_type":"modernbert"})").read();
    CHECK(modern.window == 64);
    CHECK(modern.global_theta == 160000);
    CHECK(modern.local_theta == 10000);
    CHECK(modern.local_layers.size() == 22);
    for (std::size_t i = 0; i != 22; ++i) CHECK(modern.local_layers[i] == (i % 3 != 0));
    CHECK_FALSE(modern.norm_bias);
    CHECK_FALSE(modern.attention_bias);
    CHECK_FALSE(modern.feed_forward_bias);
    CHECK(Folder(R"({"model_type":"mpnet"})").read().position_buckets == 32);
    CHECK(Folder(R"({"model_type":"nomic_bert"})").read().global_theta == 1000);
}

TEST_CASE("families have their own spellings of keys") {
    auto read = Folder(R"({"model_type":"distilbert","dim":60,"hidden_dim":70,"n_heads":5,"n_layers":3,
        "activation":"relu","layer_norm_eps":0.5,"intermediate_size":1,"max_position_embeddings":20})")
                    .read();
    CHECK(read.hidden_size == 60);
    CHECK(read.intermediate_size == 70);
    CHECK(read.heads == 5);
    CHECK(read.layers == 3);
    CHECK(read.positions == 20);
    CHECK(read.activation == HiddenActivation::relu);
    CHECK(read.layer_norm_epsilon == 1e-12); // it stands in no file
    CHECK(Folder(R"({"model_type":"distilbert","dim":24,"hidden_size":36})").read().hidden_size == 36);

    read = Folder(R"({"model_type":"modernbert","num_hidden_layers":4,"local_attention":7,"hidden_activation":"silu",
        "global_attn_every_n_layers":2,"global_rope_theta":5.5,"local_rope_theta":70,"norm_bias":true,"mlp_bias":true,
        "attention_bias":true,"norm_eps":0.001})")
               .read();
    CHECK(read.local_layers == std::vector<bool>{false, true, false, true});
    CHECK(read.window == 3);
    CHECK(read.activation == HiddenActivation::silu);
    CHECK(read.global_theta == 5.5);
    CHECK(read.local_theta == 70);
    CHECK(read.norm_bias);
    CHECK(read.attention_bias);
    CHECK(read.feed_forward_bias);
    CHECK(read.layer_norm_epsilon == 0.001);
    read = Folder(R"({"model_type":"modernbert","num_hidden_layers":2,"sliding_window":5,
        "layer_types":["sliding_attention","full_attention"],"rope_parameters":{"full_attention":{"rope_theta":7}},
        "local_rope_theta":9,"global_rope_theta":11})")
               .read();
    CHECK(read.local_layers == std::vector<bool>{true, false});
    CHECK(read.window == 5);
    CHECK(read.global_theta == 7);
    CHECK(read.local_theta == 9);

    read = Folder(R"({"model_type":"nomic_bert","architectures":["NomicBertModel"],"activation_function":"swiglu",
        "n_embd":64,"n_head":4,"n_layer":3,"n_inner":96,"n_positions":8192,"rotary_emb_base":500,"rotary_emb_fraction":1.0,
        "rotary_emb_interleaved":false,"rotary_emb_scale_base":null,"rotary_scaling_factor":null,"prenorm":false,
        "layer_norm_epsilon":1e-5,"qkv_proj_bias":false,"causal":false,"use_rms_norm":false,"parallel_block":false})")
               .read();
    CHECK(read.hidden_size == 64);
    CHECK(read.heads == 4);
    CHECK(read.layers == 3);
    CHECK(read.intermediate_size == 96);
    CHECK(read.positions == 8192);
    CHECK(read.layer_norm_epsilon == 1e-5);
    CHECK(read.global_theta == 500);
    CHECK(read.activation == HiddenActivation::silu);
}

TEST_CASE("the longest text is what is left of the position table") {
    struct Limits {
        std::string config;
        std::string sentence, tokenizer;
        std::size_t limit, warnings;
    };
    std::string const roberta = R"({"model_type":"roberta","max_position_embeddings":10,"pad_token_id":)",
                      modern = R"({"model_type":"modernbert","max_position_embeddings":100})";
    Limits const all[] = {
        {roberta + "1}", "{}", "{}", 8, 0},
        {roberta + "3}", "{}", "{}", 6, 0},
        {roberta + "8}", "{}", "{}", 1, 0},
        {roberta + "1}", "{}", R"({"model_max_length":512})", 8, 0},
        {roberta + "1}", R"({"max_seq_length":9})", "{}", 8, 1},
        {roberta + "1}", R"({"max_seq_length":8})", "{}", 8, 0},
        {R"({"model_type":"roberta","max_position_embeddings":514})", "{}", "{}", 512, 0},
        {R"({"model_type":"xlm-roberta","max_position_embeddings":514})", R"({"max_seq_length":514})", "{}", 512, 1},
        {R"({"model_type":"camembert","max_position_embeddings":514})", "{}", R"({"model_max_length":512})", 512, 0},
        {R"({"model_type":"mpnet","max_position_embeddings":514,"pad_token_id":7})", "{}", "{}", 512, 0},
        {R"({"model_type":"distilbert","max_position_embeddings":40})", "{}", "{}", 40, 0},
        {modern, "{}", "{}", 100, 0},
        {modern, "{}", R"({"model_max_length":300})", 100, 0},
        {modern, R"({"max_seq_length":300})", "{}", 300, 0}, // no table ends
        {modern, R"({"max_seq_length":300000})", "{}", 131072, 1},
    };
    for (auto const &[config, sentence, tokenizer, limit, warnings] : all) {
        INFO(config << sentence << tokenizer);
        Chain folder({});
        auto text = config;
        text.insert(text.size() - 1, R"(,"hidden_size":48,"num_attention_heads":3)");
        folder.write("config.json", text);
        folder.write("sentence_bert_config.json", sentence);
        folder.write("tokenizer_config.json", tokenizer);
        auto const read = uform::read_configuration(folder.path());
        REQUIRE(read);
        CHECK(read->max_sequence_length == limit);
        CHECK(read->warnings.size() == warnings);
    }
}

TEST_CASE("what of a family isn't served is refused by its key") {
    auto const corrupt = Status::corrupt, unsupported = Status::unsupported;
    std::string const modern = R"({"model_type":"modernbert",)", nomic = R"({"model_type":"nomic_bert",)";
    refuse(R"({"model_type":"roberta","architectures":["XRobertaModel"]})", unsupported, {"architectures", "XRoberta"});
    refuse(R"({"model_type":"roberta","architectures":["RobertaForCausalLM"]})", unsupported, {"RobertaForCausalLM"});
    refuse(R"({"model_type":"roberta","is_decoder":true})", unsupported, {"is_decoder"});
    refuse(R"({"model_type":"roberta","position_embedding_type":"relative_key"})", unsupported, {"relative_key"});
    refuse(R"({"model_type":"roberta","pad_token_id":null})", corrupt, {"pad_token_id", "null"});
    refuse(R"({"model_type":"roberta","pad_token_id":-1})", corrupt, {"pad_token_id", "-1"});
    refuse(R"({"model_type":"roberta","pad_token_id":9,"max_position_embeddings":10})", corrupt,
           {"max_position_embeddings", "10", "pad_token_id"});
    refuse(R"({"model_type":"bert","architectures":["JinaBertForMaskedLM"],"position_embedding_type":"alibi"})",
           unsupported, {"JinaBertForMaskedLM"});
    refuse(R"({"model_type":"bert","position_embedding_type":"alibi"})", unsupported, {"alibi"});
    refuse(R"({"model_type":"jina_embeddings_v3"})", unsupported, {"jina_embeddings_v3"});
    refuse(R"({"model_type":"distilbert","dim":25})", corrupt, {"hidden_size", "25"});
    refuse(R"({"model_type":"distilbert","activation":"mish"})", unsupported, {"activation", "mish"});
    refuse(R"({"model_type":"distilbert","hidden_dim":0})", corrupt, {"hidden_dim", "0"});
    refuse(R"({"model_type":"mpnet","relative_attention_num_buckets":16})", corrupt,
           {"relative_attention_num_buckets", "16"});
    refuse(R"({"model_type":"mpnet","max_position_embeddings":2})", corrupt, {"max_position_embeddings"});
    refuse(modern + R"("rope_scaling":{"rope_type":"linear","factor":2.0}})", unsupported, {"rope_scaling"});
    refuse(modern + R"("rope_parameters":{"full_attention":{"rope_type":"yarn"}}})", unsupported,
           {"full_attention", "rope_type", "yarn"});
    refuse(modern + R"("rope_parameters":{"full_attention":{"factor":2}}})", unsupported, {"factor"});
    refuse(modern + R"("rope_parameters":{"rope_theta":2}})", unsupported, {"rope_parameters", "rope_theta"});
    refuse(modern + R"("rope_parameters":3})", corrupt, {"rope_parameters", "3"});
    refuse(modern + R"("rope_parameters":{"full_attention":3}})", corrupt, {"full_attention", "3"});
    refuse(modern + R"("rope_parameters":{"full_attention":{"rope_theta":0}}})", corrupt, {"rope_theta", "0"});
    refuse(modern + R"("global_rope_theta":"x"})", corrupt, {"global_rope_theta", "x"});
    refuse(modern + R"("local_rope_theta":null})", corrupt, {"local_rope_theta", "null"});
    refuse(modern + R"("local_attention":-1})", corrupt, {"local_attention", "-1"});
    refuse(modern + R"("norm_bias":1})", corrupt, {"norm_bias", "1"});
    refuse(modern + R"("hidden_size":36,"num_attention_heads":12})", corrupt, {"hidden_size", "3 columns"});
    refuse(modern + R"("num_hidden_layers":2,"layer_types":["full_attention"]})", corrupt, {"layer_types", "2 layers"});
    refuse(modern + R"("num_hidden_layers":1,"layer_types":["chunked_attention"]})", unsupported,
           {"layer_types", "chunked_attention"});
    refuse(nomic + R"("activation_function":"geglu"})", unsupported, {"activation_function", "geglu"});
    for (std::string const key : {"prenorm", "qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias", "causal",
                                  "rotary_emb_interleaved", "parallel_block", "use_rms_norm"})
        refuse(nomic + R"("n_embd":768,")" + key + "\":true}", unsupported, {key, "true"});
    refuse(nomic + R"("n_embd":768,"rotary_emb_fraction":0.5})", unsupported, {"rotary_emb_fraction", "0.5"});
    refuse(nomic + R"("n_embd":768,"rotary_scaling_factor":2})", unsupported, {"rotary_scaling_factor", "2"});
    refuse(nomic + R"("n_embd":768,"num_experts":8})", unsupported, {"num_experts", "8"});
    refuse(nomic + R"("head_dim":32})", unsupported, {"head_dim", "32", "64"});
    refuse(nomic + R"("rope_parameters":{"rope_type":"dynamic","rope_theta":1000}})", unsupported, {"dynamic"});
}

TEST_CASE("modules after the pooling are read in their order") {
    Chain folder({"Normalize", "Dense", "LayerNorm", "Dense", "Normalize"});
    folder.write("3_/config.json",
                 R"({"in_features":48,"out_features":20,"bias":false,"activation_function":"torch.nn.ReLU"})");
    folder.write("4_/config.json", R"({"dimension":20})");
    folder.write("5_/config.json", R"({"in_features":20,"out_features":64,"use_residual":false,
        "module_input_name":"sentence_embedding","module_output_name":null})");
    auto const read = uform::read_configuration(folder.path());
    REQUIRE(read);
    CHECK(read->normalize);
    CHECK(read->pooled_columns() == 48);
    CHECK(read->dimensions() == 64);
    REQUIRE(read->vector_modules.size() == 4);
    CHECK(read->vector_modules[0].kind == ModuleKind::normalize);
    auto const &dense = read->vector_modules[1];
    CHECK(dense.kind == ModuleKind::dense);
    CHECK(dense.folder == folder / "3_");
    CHECK(dense.columns == 20);
    CHECK_FALSE(dense.has_bias);
    CHECK(dense.activation == DenseActivation::relu);
    CHECK(read->vector_modules[2].kind == ModuleKind::layer_norm);
    CHECK(read->vector_modules[2].columns == 20);
    CHECK(read->vector_modules[3].has_bias);
    CHECK(read->vector_modules[3].activation == DenseActivation::tanh);
}

TEST_CASE("a module that can't be, or isn't served, is refused by its key") {
    auto const corrupt = Status::corrupt, unsupported = Status::unsupported;
    struct Refusal {
        std::string kind, config;
        Status status;
        std::vector<std::string> words;
    };
    std::string const dense = R"({"in_features":48,"out_features":20,)";
    Refusal const all[] = {
        {"Dense", "[]", corrupt, {"object"}},
        {"Dense", R"({"out_features":20})", corrupt, {"in_features", "missing"}},
        {"Dense", R"({"in_features":47,"out_features":20})", corrupt, {"in_features", "47", "48"}},
        {"Dense", R"({"in_features":48})", corrupt, {"out_features", "missing"}},
        {"Dense", R"({"in_features":48,"out_features":0})", corrupt, {"out_features", " 0"}},
        {"Dense", dense + R"("bias":"yes"})", corrupt, {"bias", "yes"}},
        {"Dense", dense + R"("activation_function":null})", corrupt, {"activation_function", "null"}},
        {"Dense",
         dense + R"("activation_function":"torch.nn.modules.activation.Hardtanh"})",
         unsupported,
         {"activation_function", "Hardtanh", "Tanh"}},
        {"Dense", dense + R"("activation_function":"my.Tanh"})", unsupported, {"activation_function", "my.Tanh"}},
        {"Dense",
         dense + R"("activation_function":"torch.nn.modules.activation.Identity"})",
         unsupported,
         {"Identity"}},
        {"Dense", dense + R"("use_residual":true})", unsupported, {"use_residual"}},
        {"Dense", dense + R"("module_input_name":"token_embeddings"})", unsupported, {"module_input_name"}},
        {"Dense", dense + R"("novelty":1})", unsupported, {"novelty"}},
        {"LayerNorm", "{}", corrupt, {"dimension", "missing"}},
        {"LayerNorm", R"({"dimension":20})", corrupt, {"dimension", "20", "48"}},
        {"LayerNorm", R"({"dimension":48,"eps":1e-6})", unsupported, {"eps"}},
        {"Normalize", R"({"module_input_name":"token_embeddings"})", unsupported, {"module_input_name"}},
    };
    for (auto const &[kind, config, status, words] : all) {
        INFO(config);
        Chain folder({kind});
        auto all_words = words;
        all_words.push_back(folder.write("2_/config.json", config));
        require_error(uform::read_configuration(folder.path()), status, all_words);
    }
    Chain const folder({"Dense"});
    require_error(uform::read_configuration(folder.path()), Status::io, {folder / "2_/config.json"});
}
