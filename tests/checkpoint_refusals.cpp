/// Published folders that can't be right here: families, variants, modules and pickles are refused by their names.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

#include "checkpoint_files.hpp"
#include "skip.hpp"
#include "uform/checkpoint/checkpoint.hpp"
#include "uform/checkpoint/configuration.hpp"

using uform::Status;

namespace {

using Words = std::vector<std::string>;

/// Refuses a folder of that `config.json` as unsupported, with each word and the file's path in the message.
void refuse(std::string const &config, Words words) {
    TemporaryFolder folder;
    words.push_back(folder.write("config.json", config));
    INFO(config);
    require_error(uform::read_configuration(folder.path()), Status::unsupported, words);
}

/// A `config.json` of a family, with more members.
std::string config_of(std::string const &model_type, std::string const &more = "") {
    return R"({"model_type":")" + model_type + R"(","num_hidden_layers":2)" + (more.empty() ? "" : "," + more) + "}";
}

/// The families that are served, each with the key of its activation.
constexpr std::pair<char const *, char const *> families[] = {
    {"bert", "hidden_act"},       {"roberta", "hidden_act"},           {"camembert", "hidden_act"},
    {"mpnet", "hidden_act"},      {"distilbert", "activation"},        {"xlm-roberta", "hidden_act"},
    {"nomic_bert", "hidden_act"}, {"modernbert", "hidden_activation"},
};

/// A folder whose vectors have 48 columns before the modules of `list`, a `modules.json` without its brackets.
struct Chain : TemporaryFolder {
    explicit Chain(std::string const &list) {
        write("modules.json", "[" + list + "]");
        write("config.json", R"({"model_type":"bert","hidden_size":48,"num_attention_heads":3})");
        write("1_Pooling/config.json", R"({"embedding_dimension":48,"pooling_mode":"mean"})");
    }
};

std::string module(std::string const &name, std::string const &path, std::string const &type) {
    return R"({"idx":)" + name + R"(,"name":")" + name + R"(","path":")" + path +
           R"(","type":"sentence_transformers.)" + type + "\"}";
}
std::string const transformer = module("0", "", "models.Transformer"),
                  pooling = module("1", "1_Pooling", "models.Pooling");

/// A Python that has torch and safetensors, or nothing.
std::string python_with_torch() {
    for (std::string const python : {UFORM_SOURCE_ROOT "/build/oracle/bin/python", "python3"})
        if (std::system(("'" + python + "' -c 'import torch, safetensors' >/dev/null 2>&1").c_str()) == 0)
            return python;
    return {};
}

/// Runs a line as a user would paste it, where `python` is the one given.
bool run_line(std::string const &python, std::string const &line) {
    return std::system(("python() { '" + python + "' \"$@\"; }; " + line).c_str()) == 0;
}

/// The floats of a tensor.
std::vector<float> floats(uform::Checkpoint const &checkpoint, std::string_view name) {
    auto const *tensor = checkpoint.find(name);
    INFO(name);
    REQUIRE(tensor);
    std::vector<float> values(tensor->elements());
    REQUIRE(tensor->bytes == values.size() * sizeof(float));
    std::memcpy(values.data(), tensor->data, tensor->bytes);
    return values;
}

} // namespace

TEST_CASE("families that aren't served are refused by their name") {
    for (std::string const type : {"deberta",
                                   "deberta-v2",
                                   "electra",
                                   "albert",
                                   "xlnet",
                                   "new",
                                   "gte",
                                   "gemma3_text",
                                   "gemma2",
                                   "qwen2",
                                   "qwen3",
                                   "t5",
                                   "mt5",
                                   "umt5",
                                   "clip",
                                   "clip_text_model",
                                   "siglip",
                                   "mistral",
                                   "llama",
                                   "phi3",
                                   "roformer",
                                   "mobilebert",
                                   "squeezebert",
                                   "convbert",
                                   "funnel",
                                   "big_bird",
                                   "longformer",
                                   "nystromformer",
                                   "ernie",
                                   "esm",
                                   "luke",
                                   "mra",
                                   "xmod",
                                   "xlm-roberta-xl",
                                   "xlm-roberta-flash",
                                   "roberta-prelayernorm",
                                   "modernbert-decoder",
                                   "nomic_bert_moe",
                                   "jina_embeddings_v3",
                                   "bert-generation",
                                   "megatron-bert",
                                   "ibert",
                                   "bart",
                                   "layoutlm",
                                   "eurobert",
                                   "gpt2",
                                   "BERT",
                                   "distilBert",
                                   "bert ",
                                   ""})
        refuse(config_of(type), {"model_type is \"" + type + "\"", "\"bert\"", "\"modernbert\"", "are served"});
    refuse(R"({"architectures":["DebertaV2Model"],"hidden_size":48})", {"model_type is missing"});
    // A wrong type with a right class, and the reverse.
    refuse(config_of("electra", R"("architectures":["BertModel"])"), {"\"electra\""});
    for (std::string const name : {
             "ElectraModel",
             "AlbertModel",
             "RobertaModel",
             "BertGenerationEncoder",
             "BertLMHeadModelX",
             "NomicBertModel",
             "CamembertModel",
             "DebertaV2Model",
             "Bert",
             "bertModel",
         })
        refuse(config_of("bert", R"("architectures":[")" + name + "\"]"), {"architectures: " + name, "BertModel"});
}

TEST_CASE("models that bring their own code are refused, in each spelling") {
    // As JinaBERT 2 is published: BERT's name over another encoder.
    std::string const jina = R"("attn_implementation":"torch","emb_pooler":"mean","feed_forward_type":"geglu",
        "hidden_act":"gelu","hidden_size":512,"intermediate_size":2048,"layer_norm_eps":1e-12,
        "max_position_embeddings":8192,"num_attention_heads":8,"pad_token_id":0,"type_vocab_size":2,"vocab_size":30528)";
    std::string const map =
        R"("auto_map":{"AutoConfig":"jinaai/jina-bert-implementation--configuration_bert.JinaBertConfig",
        "AutoModel":"jinaai/jina-bert-implementation--modeling_bert.JinaBertModel"})";
    for (std::string const name : {"JinaBertModel", "JinaBertForMaskedLM", "JinaBertForSequenceClassification",
                                   "JinaBertForTokenClassification"})
        refuse(config_of("bert",
                         R"("position_embedding_type":"alibi","architectures":[")" + name + "\"]," + jina + "," + map),
               {"architectures: " + name});
    refuse(config_of("bert", R"("position_embedding_type":"alibi",)" + jina), {"position_embedding_type is \"alibi\""});
    refuse(config_of("bert", jina + "," + map), {"auto_map", "modeling_bert.JinaBertModel", "code"});
    refuse(config_of("bert", R"("architectures":["BertModel"],)" + map), {"auto_map", "JinaBertModel", "code"});
    // XLM-RoBERTa's name over rotary positions and adapters.
    refuse(config_of("xlm-roberta", R"("architectures":["XLMRobertaModel"],"position_embedding_type":"rotary",
        "lora_adaptations":["text-matching"],"rotary_emb_base":20000.0)"),
           {"position_embedding_type is \"rotary\""});
    refuse(config_of("xlm-roberta", R"("architectures":["XLMRobertaLoRA"])"), {"architectures: XLMRobertaLoRA"});
    for (auto const &[family, key] : families)
        for (std::string const name : {"modeling.Own", "x/y--modeling_bert.BertModel", "a.XNomicBertModel", ""})
            refuse(config_of(family, R"("auto_map":{"AutoModel":")" + name + "\"}"), {"auto_map", "\"" + name + "\""});
    // Code of a head or of a configuration alone changes no encoder; NomicBERT's first code is known.
    TemporaryFolder folder;
    for (std::string const map_of_others : {R"({"AutoConfig":"configuration.C"})",
                                            R"({"AutoModelForSequenceClassification":"modeling.Own"})", "null", "{}"}) {
        INFO(map_of_others);
        folder.write("config.json", config_of("bert", R"("auto_map":)" + map_of_others));
        CHECK(uform::read_configuration(folder.path()));
    }
    folder.write("config.json", config_of("nomic_bert", R"("architectures":["NomicBertModel"],"n_embd":768,
        "activation_function":"swiglu","auto_map":{"AutoConfig":"nomic-ai/nomic-bert-2048--configuration.NomicBertConfig",
        "AutoModel":"nomic-ai/nomic-bert-2048--modeling_hf_nomic_bert.NomicBertModel"})"));
    CHECK(uform::read_configuration(folder.path()));
}

TEST_CASE("published variants of served families that would be computed wrongly are refused by key") {
    for (auto const &[family, activation] : families) {
        for (std::string const one : {"gelu_10", "quick_gelu", "mish", "hardswish", "relu2", "relu6", "linear",
                                      "laplace", "leaky_relu", "sigmoid", "sqrtsoftplus", "prelu", "xielu", "GELU", ""})
            refuse(config_of(family, "\"" + std::string(activation) + "\":\"" + one + "\""),
                   {std::string(activation) + " is \"" + one + "\""});
        refuse(config_of(family, R"("is_decoder":true)"), {"is_decoder is true"});
        refuse(config_of(family, R"("add_cross_attention":true)"), {"add_cross_attention is true"});
        refuse(config_of(family, R"("pruned_heads":{"0":[1]})"), {"pruned_heads"});
        for (std::string const method : {"bitsandbytes", "gptq", "awq", "compressed-tensors", "torchao"})
            refuse(config_of(family, R"("quantization_config":{"quant_method":")" + method + "\"}"),
                   {"quantization_config"});
        std::string const first(1, family[0] == 'x' ? 'X' : static_cast<char>(family[0] - 'a' + 'A'));
        refuse(config_of(family, R"("architectures":["CausalModel"])"), {"architectures: CausalModel", first});
    }
    for (std::string const family : {"bert", "roberta", "camembert", "xlm-roberta"})
        for (std::string const one : {"relative_key", "relative_key_query", "alibi", "rotary", "none", "Absolute"})
            refuse(config_of(family, R"("position_embedding_type":")" + one + "\""),
                   {"position_embedding_type is \"" + one + "\""});
    for (std::string const member :
         {R"("rotary_scaling_factor":2.0)", R"("rotary_scaling_factor":"2")", R"("rotary_emb_scale_base":512)",
          R"("rotary_emb_fraction":0.5)", R"("rotary_emb_fraction":0)", R"("rotary_emb_interleaved":true)",
          R"("prenorm":true)", R"("use_rms_norm":true)", R"("causal":true)", R"("parallel_block":true)",
          R"("qkv_proj_bias":true)", R"("mlp_fc1_bias":true)", R"("mlp_fc2_bias":true)", R"("num_experts":8)",
          R"("moe_every_n_layers":2)", R"("scale_attn_by_inverse_layer_idx":true)"}) {
        auto const key = member.substr(1, member.find('"', 1) - 1);
        refuse(config_of("nomic_bert", R"("n_embd":768,)" + member), {key + " is "});
    }
    for (std::string const gate : {"gelu", "geglu", "glu", "silu", "relu"})
        refuse(config_of("nomic_bert", R"("n_embd":768,"activation_function":")" + gate + "\""),
               {"activation_function is \"" + gate + "\""});
    for (std::string const type : {"linear", "dynamic", "yarn", "longrope", "llama3", "proportional"}) {
        std::string const scaled = R"({"rope_type":")" + type + R"(","factor":2.0,"rope_theta":10000.0})";
        for (std::string const family : {"modernbert", "nomic_bert"})
            refuse(config_of(family, R"("rope_scaling":)" + scaled), {"rope_scaling"});
        refuse(config_of("nomic_bert", R"("rope_parameters":)" + scaled), {"rope_parameters"});
        for (std::string const layers : {"full_attention", "sliding_attention"})
            refuse(config_of("modernbert", R"("rope_parameters":{")" + layers + "\":" + scaled + "}"),
                   {"rope_parameters: " + layers});
    }
    for (std::string const family : {"modernbert", "nomic_bert"}) {
        std::string const partial = R"({"rope_type":"default","rope_theta":10.0,"partial_rotary_factor":0.5})";
        refuse(config_of(family, R"("rope_parameters":)" +
                                     (family == "modernbert" ? R"({"full_attention":)" + partial + "}" : partial)),
               {"partial_rotary_factor"});
    }
    for (std::string const kind : {"chunked_attention", "linear_attention", "Full_Attention", ""})
        refuse(config_of("modernbert", R"("layer_types":["full_attention",")" + kind + "\"]"),
               {"layer_types", "\"" + kind + "\""});
}

TEST_CASE("modules that aren't served are refused by their name, wherever they stand") {
    // What sentence-transformers exports besides what is served, in the old and the new spelling.
    for (std::string const name : {"WeightedLayerPooling", "CNN", "LSTM", "WordEmbeddings", "WordWeights", "BoW",
                                   "Asym", "Router", "StaticEmbedding", "CLIPModel", "Dropout", "SparseStaticEmbedding",
                                   "SparseAutoEncoder", "LateInteractionPooling", "Transformers", "pooling", ""})
        for (auto const &package : std::vector<std::string>{
                 "models.", "models." + name + ".", "sentence_transformer.modules.", "base.modules.",
                 "sparse_encoder.models.", "sparse_encoder.modules.", "custom."}) {
            std::string const type = package + name, full = "\"sentence_transformers." + type + "\" isn't served";
            auto const refuse_chain = [&](std::string const &list, std::string const &place) {
                Chain folder(list);
                INFO(list);
                require_error(uform::read_configuration(folder.path()), Status::unsupported,
                              {folder / "modules.json", place, full, "Transformer, Pooling"});
            };
            refuse_chain(module("0", "", type), "module 0");
            refuse_chain(module("0", "", type) + "," + pooling, "module 0");
            refuse_chain(transformer + "," + module("1", "1_", type), "module 1");
            refuse_chain(transformer + "," + pooling + "," + module("2", "2_", type), "module 2");
            refuse_chain(transformer + "," + pooling + "," + module("2", "2_Normalize", "models.Normalize") + "," +
                             module("3", "3_", type),
                         "module 3");
        }
}

TEST_CASE("a Dense whose activation isn't served is refused by its name") {
    std::string const chain = transformer + "," + pooling + "," + module("2", "2_Dense", "models.Dense");
    for (std::string const name : {"Hardtanh",   "Softsign",    "LogSigmoid", "Tanhshrink", "Softshrink",
                                   "Hardshrink", "CELU",        "SELU",       "GLU",        "ReLU6",
                                   "Hardswish",  "Hardsigmoid", "PReLU",      "RReLU",      "Threshold",
                                   "Softmax",    "LogSoftmax",  "tanh",       "Identit",    ""})
        for (std::string const package : {"torch.nn.modules.activation.", "torch.nn.", "my.layers."}) {
            Chain folder(chain);
            auto const path =
                folder.write("2_Dense/config.json",
                             R"({"in_features":48,"out_features":20,"activation_function":")" + package + name + "\"}");
            require_error(uform::read_configuration(folder.path()), Status::unsupported,
                          {path, "activation_function is \"" + package + name + "\"", "Tanh"});
        }
    for (std::string const member : {R"("use_residual":true)", R"("module_input_name":"token_embeddings")",
                                     R"("module_output_name":"token_embeddings")", R"("dropout":0.1)"}) {
        Chain folder(chain);
        auto const path = folder.write("2_Dense/config.json", R"({"in_features":48,"out_features":20,)" + member + "}");
        require_error(uform::read_configuration(folder.path()), Status::unsupported,
                      {path, member.substr(1, member.find('"', 1) - 1)});
    }
}

TEST_CASE("the command that a pickle is refused with converts it, as printed") {
    auto const python = python_with_torch();
    if (python.empty()) return skip_test("no Python with torch and safetensors");
    TemporaryFolder outer;
    // What a shell takes apart, unless it is quoted.
    for (std::string const name : {"plain", "a model's $HOME (1) & \"more\"; echo *"}) {
        for (bool const sharded : {false, true}) {
            INFO(name << (sharded ? ", in shards" : ", whole"));
            std::string const folder = outer.path() + "/" + name + (sharded ? "s" : "");
            std::FILE *const script = std::fopen(outer.write("make.py", "").c_str(), "wb");
            REQUIRE(script);
            // Two names of one tensor, a view that isn't contiguous, and other types, as pickles have them.
            std::fputs(
                "import json, os, sys, torch\n"
                "folder, sharded = sys.argv[1], sys.argv[2] == '1'\n"
                "os.makedirs(folder)\n"
                "a = torch.arange(6, dtype=torch.float32).reshape(2, 3)\n"
                "first = {'bert.a': a, 'bert.tied': a, 'bert.turned': a.t()}\n"
                "second = {'bert.half': a.half(), 'bert.ids': torch.arange(3), 'head.parameter': "
                "torch.nn.Parameter(a + 1)}\n"
                "if sharded:\n"
                "    names = ['pytorch_model-00001-of-00002.bin', 'pytorch_model-00002-of-00002.bin']\n"
                "    for part, name in zip((first, second), names): torch.save(part, os.path.join(folder, name))\n"
                "    index = {key: name for part, name in zip((first, second), names) for key in part}\n"
                "    with open(os.path.join(folder, 'pytorch_model.bin.index.json'), 'w') as out:\n"
                "        json.dump({'metadata': {}, 'weight_map': index}, out)\n"
                "else: torch.save(first | second, os.path.join(folder, 'pytorch_model.bin'))\n",
                script);
            REQUIRE(std::fclose(script) == 0);
            std::string quoted;
            for (char const c : folder) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
            std::string const make = outer / "make.py";
            REQUIRE(run_line(python, "python " + make + " '" + quoted + "' " + (sharded ? "1" : "0")));

            auto const refused = uform::Checkpoint::open(folder);
            require_error(refused, Status::unsupported, {folder, "pytorch_model.bin", "python -c"});
            std::string const message(refused.error().message());
            auto const line = message.substr(message.find("python -c"));
            CHECK(line.find('\n') == line.npos);
            INFO(line);
            CHECK(run_line(python, line));
            auto const opened = uform::Checkpoint::open(folder);
            REQUIRE(opened);
            CHECK(opened->tensors().size() == 6);
            CHECK(floats(*opened, "bert.a") == std::vector<float>{0, 1, 2, 3, 4, 5});
            CHECK(floats(*opened, "bert.tied") == std::vector<float>{0, 1, 2, 3, 4, 5});
            CHECK(floats(*opened, "bert.turned") == std::vector<float>{0, 3, 1, 4, 2, 5});
            CHECK(floats(*opened, "head.parameter") == std::vector<float>{1, 2, 3, 4, 5, 6});
            REQUIRE(opened->find("bert.half"));
            CHECK(opened->find("bert.half")->bytes == 12);
            CHECK(opened->find("bert.ids"));
            CHECK(std::system(("rm -rf '" + quoted + "'").c_str()) == 0);
        }
    }
}
