/// Folders of classifiers, of late interaction and of sparse encoders: each layout, each default, each refusal.
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint_files.hpp"
#include "uform/checkpoint/configuration.hpp"
#include "uform/file.hpp"
#include "uform/first_word.hpp"

using uform::Architecture;
using uform::DenseActivation;
using uform::FolderConfiguration;
using uform::HeadInput;
using uform::HiddenActivation;
using uform::ModuleKind;
using uform::ScoreActivation;
using uform::Similarity;
using uform::Status;

namespace {

/// A `config.json` of a small encoder, with members of its own at the end.
std::string config_of(std::string const &saved_from, std::string const &more = "", std::string const &type = "bert") {
    return R"({"architectures":[")" + saved_from + R"("],"model_type":")" + type + R"(","hidden_size":48,
        "num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":100,"pad_token_id":0,
        "max_position_embeddings":64)" +
           (more.empty() ? "" : "," + more) + "}";
}

/// A folder of files that stand in every test's way only where it says so.
struct Folder : TemporaryFolder {
    FolderConfiguration read() const {
        auto configuration = uform::read_configuration(path());
        if (!configuration) FAIL(std::string(configuration.error().message()));
        return *std::move(configuration);
    }
    void write_modules(std::vector<std::pair<std::string, std::string>> const &types_and_paths) {
        std::string list;
        for (auto const &[type, path] : types_and_paths)
            list += std::string(list.empty() ? "" : ",") + R"({"name":")" + std::to_string(list.size()) +
                    R"(","type":")" + type + R"(","path":")" + path + "\"}";
        write("modules.json", "[" + list + "]");
    }
};

std::string const transformer = "sentence_transformers.base.modules.transformer.Transformer",
                  dense = "sentence_transformers.base.modules.dense.Dense",
                  normalize = "sentence_transformers.base.modules.normalize.Normalize",
                  mask = "sentence_transformers.multi_vector_encoder.modules.multi_vector_mask.MultiVectorMask",
                  splade = "sentence_transformers.sparse_encoder.modules.splade_pooling.SpladePooling",
                  pylate_dense = "pylate.models.Dense.Dense",
                  identity = R"(,"activation_function":"torch.nn.modules.linear.Identity")";

/// As transformers stores a classifier.
struct Classifier : Folder {
    explicit Classifier(std::string const &more = "", std::string const &name = "BertForSequenceClassification") {
        write("config.json", config_of(name, more));
    }
};

/// As sentence-transformers 6 stores a cross-encoder.
struct CrossEncoder : Folder {
    explicit CrossEncoder(std::string const &more = R"("id2label":{"0":"LABEL_0"})") {
        write_modules({{transformer, ""}});
        write("config.json", config_of("BertForSequenceClassification", more));
        write("config_sentence_transformers.json",
              R"({"activation_fn":"torch.nn.modules.activation.Sigmoid","default_prompt_name":null,
              "model_type":"CrossEncoder","prompts":{},"__version__":{}})");
        write("sentence_bert_config.json", R"({"transformer_task":"sequence-classification","modality_config":{"text":
              {"method":"forward","method_output_name":"logits"}},"module_output_name":"scores"})");
    }
};

/// As PyLate stores a ColBERT.
struct PyLate : Folder {
    explicit PyLate(std::string const &more = R"("query_length":24,"document_length":40,"query_prefix":"[Q] ",
        "document_prefix":"[D] ","attend_to_expansion_tokens":false,"skiplist_words":["!","."])") {
        write_modules({{"sentence_transformers.models.Transformer", ""}, {pylate_dense, "1_Dense"}});
        write("config.json", config_of("BertModel"));
        write("config_sentence_transformers.json",
              R"({"model_type":"ColBERT","similarity_fn_name":"MaxSim")" + (more.empty() ? "" : "," + more) + "}");
        write("sentence_bert_config.json", R"({"max_seq_length":50,"do_lower_case":false})");
        write("1_Dense/config.json", R"({"in_features":48,"out_features":16,"bias":false)" + identity + "}");
    }
};

/// As sentence-transformers 6 stores late interaction.
struct MultiVector : Folder {
    explicit MultiVector(std::string const &lengths = R"("document_length":40,"query_expansion":
        {"strategy":"fixed","attend":false,"token":null,"length":24})") {
        write_modules({{transformer, ""}, {dense, "1_Dense"}, {mask, "2_Mask"}, {normalize, "3_Normalize"}});
        write("config.json", config_of("BertModel"));
        write("config_sentence_transformers.json",
              R"({"model_type":"MultiVectorEncoder","default_prompt_name":null,"similarity_fn_name":"maxsim",
              "prompts":{"query":"[Q] ","document":"[D] "}})");
        write("sentence_bert_config.json", R"({"transformer_task":"feature-extraction","modality_config":{"text":
              {"method":"forward","method_output_name":"last_hidden_state"}},"module_output_name":"token_embeddings",)" +
                                               lengths + "}");
        write("1_Dense/config.json", R"({"in_features":48,"out_features":16,"bias":false,"module_input_name":
              "token_embeddings","module_output_name":"token_embeddings")" +
                                         identity + "}");
        write("2_Mask/config.json",
              R"({"skiplist_words":["!","?"],"skiplist_tasks":["document"],"keep_only_token_ids":null})");
        write("3_Normalize/config.json",
              R"({"module_input_name":"token_embeddings","module_output_name":"token_embeddings"})");
    }
};

/// As Stanford's code stores a ColBERT, with a projection of a given shape.
struct Stanford : Folder {
    explicit Stanford(std::string const &metadata = "", std::string const &shape = "[2,48]",
                      std::string const &name = "linear.weight") {
        write("config.json", config_of("HF_ColBERT"));
        if (!metadata.empty()) write("artifact.metadata", metadata);
        std::size_t const bytes = shape == "[2,48]" ? 384 : shape == "[2,47]" ? 376 : 8;
        write("model.safetensors", safetensors_bytes("{\"" + name + R"(":{"dtype":"F32","shape":)" + shape +
                                                         R"(,"data_offsets":[0,)" + std::to_string(bytes) + "]}}",
                                                     std::string(bytes, '\0')));
    }
};

/// As sentence-transformers 6 stores a SPLADE.
struct Sparse : Folder {
    explicit Sparse(std::string const &pooling = R"("pooling_strategy":"max","activation_function":"relu",
        "embedding_dimension":null)") {
        write_modules({{transformer, ""}, {splade, "1_SpladePooling"}});
        write("config.json", config_of("BertForMaskedLM"));
        write("config_sentence_transformers.json",
              R"({"model_type":"SparseEncoder","default_prompt_name":null,"prompts":{"query":"","document":""},
              "similarity_fn_name":null})");
        write("sentence_bert_config.json", R"({"transformer_task":"fill-mask","modality_config":{"text":
              {"method":"forward","method_output_name":"logits"}},"module_output_name":"token_embeddings"})");
        write("1_SpladePooling/config.json", "{" + pooling + "}");
    }
};

struct Refusal {
    std::string content;
    Status status;
    std::vector<std::string> words;
};
/// Requires that each content of a file of a folder is refused with its words and the file's path.
template <class Kind> void refuse_each(std::string const &file, std::vector<Refusal> const &refusals) {
    for (auto const &[content, status, words] : refusals) {
        Kind folder;
        folder.write(file, content);
        auto all = words;
        all.push_back(folder / file);
        INFO(content);
        require_error(uform::read_configuration(folder.path()), status, all);
    }
}

auto const corrupt = Status::corrupt, unsupported = Status::unsupported;

} // namespace

TEST_CASE("a classifier's labels are read by their ids") {
    using Labels = std::vector<std::string>;
    struct Case {
        std::string more;
        Labels labels;
    };
    Case const cases[] = {
        {"", {"LABEL_0", "LABEL_1"}}, // transformers' default, which it doesn't store
        {R"("num_labels":3)", {"LABEL_0", "LABEL_1", "LABEL_2"}},
        {R"("id2label":null,"num_labels":1)", {"LABEL_0"}},
        {R"("id2label":{"1":"good","0":"bad"},"label2id":{"good":1,"bad":0},"num_labels":2)", {"bad", "good"}},
        {R"("id2label":{"0":"a"},"label2id":null,"num_labels":null)", {"a"}},
        {R"("id2label":{"0":"x","1":"x"},"label2id":{"x":1})", {"x", "x"}},
        {R"("id2label":{"0":"0","1":"1","2":"2","3":"3","4":"4","5":"5","6":"6","7":"7","8":"8","9":"9","10":"10"})",
         {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"}},
    };
    for (auto const &[more, labels] : cases)
        for (std::string const name : {"BertForSequenceClassification", "BertForTokenClassification"}) {
            INFO(more);
            auto const read = Classifier(more, name).read();
            REQUIRE(read.classifier);
            CHECK(read.classifier->labels == labels);
            CHECK(read.classifier->per_token == (name == "BertForTokenClassification"));
            CHECK(read.gives_embeddings);
            CHECK(read.warnings.size() == 1);
            CHECK(read.max_sequence_length == 64);
        }
    // Weights of other heads, and models that aren't classifiers although weights were once saved from one.
    for (std::string const name : {"BertModel", "BertForMaskedLM", "BertForQuestionAnswering"}) {
        auto const read = Classifier("", name).read();
        CHECK_FALSE(read.classifier);
        CHECK_FALSE(read.sparse);
    }
    Folder second;
    second.write("config.json", config_of(R"(BertModel","BertForSequenceClassification)"));
    CHECK_FALSE(second.read().classifier);
}

TEST_CASE("what a classifier's scores go through follows transformers and CrossEncoder") {
    auto const none = ScoreActivation::none, sigmoid = ScoreActivation::sigmoid, softmax = ScoreActivation::softmax;
    struct Case {
        std::string more;
        ScoreActivation classify, rerank;
    };
    Case const cases[] = {
        {R"("num_labels":3)", softmax, none},
        {R"("num_labels":1)", sigmoid, sigmoid},
        {R"("num_labels":3,"problem_type":null)", softmax, none},
        {R"("num_labels":3,"problem_type":"single_label_classification")", softmax, none},
        {R"("num_labels":3,"problem_type":"multi_label_classification")", sigmoid, none},
        {R"("num_labels":1,"problem_type":"multi_label_classification")", sigmoid, sigmoid},
        {R"("num_labels":1,"problem_type":"regression")", none, sigmoid},
        {R"("num_labels":3,"problem_type":"regression")", none, none},
        {R"("num_labels":1,"sentence_transformers":{"activation_fn":"torch.nn.modules.linear.Identity","version":"4"})",
         sigmoid, none},
        {R"("num_labels":3,"sentence_transformers":{"activation_fn":"torch.nn.modules.activation.Softmax"})", softmax,
         softmax},
        {R"("num_labels":3,"sbert_ce_default_activation_function":"torch.nn.Sigmoid")", softmax, sigmoid},
        {R"("num_labels":1,"sbert_ce_default_activation_function":"torch.nn.modules.linear.Identity")", sigmoid, none},
        {R"("num_labels":1,"sbert_ce_default_activation_function":null)", sigmoid, sigmoid},
        // The newer key counts, though it be null.
        {R"("num_labels":1,"sentence_transformers":{"activation_fn":null},
         "sbert_ce_default_activation_function":"torch.nn.Identity")",
         sigmoid, sigmoid},
        {R"("num_labels":1,"sentence_transformers":{"version":"4"},
         "sbert_ce_default_activation_function":"torch.nn.Identity")",
         sigmoid, none},
    };
    for (auto const &[more, classify, rerank] : cases) {
        INFO(more);
        auto const read = Classifier(more).read();
        REQUIRE(read.classifier);
        CHECK(read.classifier->classify == classify);
        CHECK(read.classifier->rerank == rerank);
    }
    for (std::string const more : {R"("num_labels":1)", R"("problem_type":"multi_label_classification")"})
        CHECK(Classifier(more, "BertForTokenClassification").read().classifier->classify == softmax);
}

TEST_CASE("labels and activations that can't be are refused by key") {
    auto const with = [](std::string const &more) { return config_of("BertForSequenceClassification", more); };
    refuse_each<Classifier>(
        "config.json",
        {
            {with(R"("id2label":{"0":"a","2":"b"})"), corrupt, {"id2label", "\"2\"", "0 to 1"}},
            {with(R"("id2label":{"0":"a","x":"b"})"), corrupt, {"id2label", "\"x\""}},
            {with(R"("id2label":{"0":"a","":"b"})"), corrupt, {"id2label", "\"\""}},
            {with(R"("id2label":{"0":"a","00":"b"})"), corrupt, {"id2label", "\"00\""}},
            {with(R"("id2label":{"0":"a","18446744073709551617":"b"})"), corrupt, {"id2label", "18446744073709551617"}},
            {with(R"("id2label":{"0":"a","1":3})"), corrupt, {"id2label", "1 is 3", "string"}},
            {with(R"("id2label":{})"), corrupt, {"id2label", "1 to 1000000"}},
            {with(R"("id2label":["a"])"), corrupt, {"id2label", "array"}},
            {with(R"("id2label":{"0":"a"},"num_labels":2)"), corrupt, {"num_labels is 2", "id2label has 1"}},
            {with(R"("id2label":{"0":"a","1":"b"},"label2id":{"a":0})"), corrupt, {"label2id has 1", "id2label 2"}},
            {with(R"("label2id":{"a":0,"b":1,"c":2})"), corrupt, {"label2id has 3", "2"}},
            {with(R"("label2id":["a","b"])"), corrupt, {"label2id", "object"}},
            {with(R"("num_labels":0)"), corrupt, {"num_labels", " 0"}},
            {with(R"("num_labels":1000001)"), corrupt, {"num_labels", "1000001"}},
            {with(R"("problem_type":"ranking")"), unsupported, {"problem_type", "\"ranking\"", "regression"}},
            {with(R"("problem_type":1)"), corrupt, {"problem_type", "1", "string"}},
            {with(R"("num_labels":1,"problem_type":"single_label_classification")"),
             corrupt,
             {"problem_type", "one label"}},
            {with(R"("sentence_transformers":{"activation_fn":"torch.nn.modules.activation.Tanh"})"),
             unsupported,
             {"sentence_transformers: activation_fn", "Tanh", "Sigmoid"}},
            {with(R"("sentence_transformers":{"activation_fn":"my.Sigmoid"})"),
             unsupported,
             {"activation_fn", "my.Sigmoid"}},
            {with(R"("sentence_transformers":["x"])"), corrupt, {"sentence_transformers", "object"}},
            {with(R"("sbert_ce_default_activation_function":"torch.sigmoid")"),
             unsupported,
             {"sbert_ce_default_activation_function", "torch.sigmoid"}},
            {with(R"("sbert_ce_default_activation_function":4)"),
             corrupt,
             {"sbert_ce_default_activation_function", "4"}},
        });
}

TEST_CASE("a cross-encoder of sentence-transformers is read through its modules") {
    auto const none = ScoreActivation::none, sigmoid = ScoreActivation::sigmoid;
    CrossEncoder folder;
    folder.write("tokenizer_config.json", R"({"model_max_length":40})");
    auto read = folder.read();
    REQUIRE(read.classifier);
    CHECK(read.classifier->labels == std::vector<std::string>{"LABEL_0"});
    CHECK(read.classifier->rerank == sigmoid);
    CHECK_FALSE(read.gives_embeddings);
    CHECK(read.prompts.empty());
    CHECK(read.warnings.empty());
    CHECK(read.max_sequence_length == 40);
    auto const activation_of = [&](std::string const &members) {
        folder.write("config_sentence_transformers.json", R"({"model_type":"CrossEncoder")" + members + "}");
        return folder.read().classifier->rerank;
    };
    CHECK(activation_of(R"(,"activation_fn":"torch.nn.modules.linear.Identity")") == none);
    CHECK(activation_of("") == sigmoid); // one label
    folder.write("config.json",
                 config_of("BertForSequenceClassification",
                           R"("num_labels":1,"sentence_transformers":{"activation_fn":"torch.nn.Identity"})"));
    CHECK(activation_of(R"(,"activation_fn":null)") == none);
    CHECK(activation_of(R"(,"activation_fn":"torch.nn.Sigmoid")") == sigmoid);
    CHECK(activation_of(R"(,"prompts":{"query":"q: "},"default_prompt_name":"query","keep_in_fp32_modules":["x"])") ==
          none);
    read = folder.read();
    CHECK(read.prompts == uform::Prompts{{"query", "q: "}});
    CHECK(read.default_prompt_name == "query");
    CHECK(read.warnings.empty());

    refuse_each<CrossEncoder>(
        "config_sentence_transformers.json",
        {
            {R"({"model_type":"CrossEncoder","activation_fn":"torch.nn.ReLU"})",
             unsupported,
             {"activation_fn", "ReLU"}},
            {R"({"model_type":"CrossEncoder","default_prompt_name":"query"})",
             corrupt,
             {"default_prompt_name", "query"}},
            {R"({"model_type":"Router"})", unsupported, {"model_type", "\"Router\"", "CrossEncoder", "SparseEncoder"}},
        });
    refuse_each<CrossEncoder>(
        "sentence_bert_config.json",
        {
            {R"({"transformer_task":"text-generation"})",
             unsupported,
             {"transformer_task", "text-generation", "\"sequence-classification\" is served"}},
            {R"({"max_seq_length":32})", unsupported, {"transformer_task is missing"}},
            {R"({"transformer_task":"sequence-classification","modality_config":{"text":{"method":"forward",
             "method_output_name":"last_hidden_state"}},"module_output_name":"scores"})",
             unsupported,
             {"modality_config", "logits"}},
            {R"({"transformer_task":"sequence-classification","modality_config":{"text":{"method":"forward",
             "method_output_name":"logits"}},"module_output_name":"token_embeddings"})",
             unsupported,
             {"module_output_name", "\"scores\""}},
            {R"({"transformer_task":"sequence-classification","query_length":3})", unsupported, {"query_length", "3"}},
        });
    refuse_each<CrossEncoder>("config.json",
                              {{config_of("BertModel"), unsupported, {"architectures", "ForSequenceClassification"}}});
    CrossEncoder longer;
    longer.write_modules({{transformer, ""}, {dense, "1_Dense"}});
    require_error(uform::read_configuration(longer.path()), unsupported,
                  {longer / "modules.json", "module 1", dense, "CrossEncoder",
                   longer / "config_sentence_transformers.json", "alone"});
    CrossEncoder nothing;
    nothing.write("modules.json", "[]");
    require_error(uform::read_configuration(nothing.path()), unsupported, {nothing / "modules.json", "0 modules"});
    CrossEncoder unnamed;
    unnamed.remove("sentence_bert_config.json");
    require_error(uform::read_configuration(unnamed.path()), unsupported,
                  {unnamed / "sentence_bert_config.json", "transformer_task is missing"});
}

TEST_CASE("a folder of PyLate is late interaction") {
    auto const read = PyLate().read();
    REQUIRE(read.late_interaction);
    auto const &late = *read.late_interaction;
    CHECK_FALSE(read.gives_embeddings);
    CHECK(read.similarity == Similarity::max_sim);
    CHECK(read.warnings.empty());
    CHECK(read.max_sequence_length == 40); // of documents, the longer of the two
    REQUIRE(late.projections.size() == 1);
    CHECK(late.projections[0].folder.ends_with("/1_Dense"));
    CHECK(late.projections[0].name == "linear");
    CHECK_FALSE(late.projections[0].has_bias);
    CHECK(late.projections[0].activation == DenseActivation::identity);
    CHECK(late.dimensions() == 16);
    CHECK(late.query.prompt == "[Q] ");
    CHECK(late.query.marker == "[Q] ");
    CHECK(late.document.prompt == "[D] ");
    CHECK(late.document.marker == "[D] ");
    CHECK(late.query.length == 24);
    CHECK(late.document.length == 40);
    CHECK(late.expansion_length == 24);
    CHECK_FALSE(late.attends_to_expansion);
    CHECK(late.expansion_token == "[MASK]");
    CHECK(late.skipped_words == std::vector<std::string>{"!", "."});
    CHECK(late.normalizes);
    CHECK(read.prompts == uform::Prompts{{"query", "[Q] "}, {"document", "[D] "}});

    // PyLate's defaults, which it left out; and what a folder that says nothing of late interaction is.
    auto const marked = PyLate(R"("query_prefix":"[unused0]","document_prefix":null)").read();
    CHECK(marked.late_interaction->query.marker == "[unused0]");
    CHECK(marked.late_interaction->document.marker.empty());
    CHECK(marked.late_interaction->document.prompt.empty());
    CHECK(marked.late_interaction->expansion_length == 32);
    CHECK(marked.late_interaction->query.length == 32);
    CHECK(marked.late_interaction->document.length == 50); // max_seq_length
    CHECK(marked.late_interaction->skipped_words.size() == 32);
    CHECK(marked.late_interaction->skipped_words.front() == "!");
    CHECK(marked.late_interaction->skipped_words.back() == "~");
    auto const bare = PyLate("").read();
    CHECK(bare.late_interaction->expansion_length == 0);
    CHECK(bare.late_interaction->expansion_token.empty());
    CHECK(bare.late_interaction->query.length == 50);
    CHECK(bare.late_interaction->query.prompt.empty());
    CHECK(bare.late_interaction->skipped_words.size() == 32);
    CHECK(bare.max_sequence_length == 50);
}

TEST_CASE("PyLate's keys become prompts, lengths and an expansion") {
    auto const late_of = [](std::string const &more) { return *PyLate(more).read().late_interaction; };
    // A prefix comes before the prompt of its name, unless that begins with it.
    auto late = late_of(R"("query_prefix":"[Q] ","document_prefix":"[D] ","prompts":{"query":"find: ",
        "document":"[D] passage: ","other":"x"})");
    CHECK(late.query.prompt == "[Q] find: ");
    CHECK(late.query.marker == "[Q] ");
    CHECK(late.document.prompt == "[D] passage: ");
    CHECK(late_of(R"("query_prefix":" ")").query.marker.empty()); // no word to be a token
    // Expansion: on unless it is denied, and only where PyLate stored anything.
    CHECK(late_of(R"("do_query_expansion":true)").expansion_length == 32);
    CHECK(late_of(R"("do_query_expansion":null)").expansion_length == 32);
    late = late_of(R"("do_query_expansion":false,"query_length":24)");
    CHECK(late.expansion_length == 0);
    CHECK(late.query.length == 24);
    CHECK(late_of(R"("attend_to_expansion_tokens":true)").attends_to_expansion);
    CHECK(late_of(R"("attend_to_mask_tokens":true)").attends_to_expansion);
    CHECK_FALSE(late_of(R"("attend_to_expansion_tokens":false,"attend_to_mask_tokens":true)").attends_to_expansion);
    CHECK_FALSE(late_of(R"("attend_to_expansion_tokens":null,"attend_to_mask_tokens":true)").attends_to_expansion);
    CHECK(late_of(R"("query_expansion":null,"query_length":24)").expansion_length == 0);
    late =
        late_of(R"("query_expansion":{"strategy":"min","length":12,"attend":true,"token":"[PAD]"},"query_length":20)");
    CHECK(late.expansion_length == 12);
    CHECK(late.query.length == 20);
    CHECK(late.attends_to_expansion);
    CHECK(late.expansion_token == "[PAD]");
    CHECK(late_of(R"("skiplist_words":[])").skipped_words.empty());
    CHECK(late_of(R"("skiplist_words":null)").skipped_words.size() == 32);
    // The transformer's own file wins, null too.
    PyLate folder;
    folder.write("sentence_bert_config.json", R"({"document_length":30,"query_expansion":null})");
    late = *folder.read().late_interaction;
    CHECK(late.document.length == 30);
    CHECK(late.expansion_length == 0);
    folder.write("sentence_bert_config.json", R"({"query_expansion":{"strategy":"fixed","length":30}})");
    CHECK(folder.read().late_interaction->query.length == 30); // PyLate's 24 was of the other expansion
    // A length beyond the positions is cut, with a warning; the reference fails there.
    auto const cut = PyLate(R"("query_length":65,"document_length":66)").read();
    CHECK(cut.late_interaction->query.length == 64);
    CHECK(cut.late_interaction->expansion_length == 64);
    CHECK(cut.late_interaction->document.length == 64);
    REQUIRE(cut.warnings.size() == 2);
    CHECK(cut.warnings[0].find("66") != std::string::npos);
    CHECK(cut.warnings[1].find("65") != std::string::npos);
    CHECK(PyLate(R"("document_length":60)").read().max_sequence_length == 60); // beyond max_seq_length, 50
}

TEST_CASE("queries are filled with the tokenizer's mask token") {
    auto const token_of = [](Folder const &folder) { return folder.read().late_interaction->expansion_token; };
    PyLate folder;
    folder.write("tokenizer_config.json", R"({"mask_token":"<m>","eos_token":"</s>"})");
    CHECK(token_of(folder) == "<m>");
    folder.write("tokenizer_config.json", R"({"mask_token":{"content":"<n>","lstrip":true}})");
    folder.write("special_tokens_map.json", R"({"mask_token":"<o>"})");
    CHECK(token_of(folder) == "<n>");
    folder.write("tokenizer_config.json", R"({"mask_token":null})");
    CHECK(token_of(folder) == "<o>");
    folder.write("special_tokens_map.json", "{}");
    CHECK(token_of(folder) == "[MASK]"); // of BertTokenizer
    folder.write("config.json", config_of("MPNetModel", "", "mpnet"));
    CHECK(token_of(folder) == "<mask>");
    folder.write("config.json", config_of("RobertaModel", "", "roberta"));
    folder.write("sentence_bert_config.json", "{}");
    CHECK(token_of(folder) == "<mask>");
    folder.write("config.json", config_of("ModernBertModel", "", "modernbert"));
    require_error(uform::read_configuration(folder.path()), unsupported,
                  {folder / "tokenizer_config.json", "mask_token", "eos_token"});
    folder.write("special_tokens_map.json", R"({"eos_token":"</s>"})");
    CHECK(token_of(folder) == "</s>");
    folder.write("tokenizer_config.json", R"({"mask_token":3})");
    require_error(uform::read_configuration(folder.path()), corrupt,
                  {folder / "tokenizer_config.json", "mask_token", "3"});
}

TEST_CASE("a folder of MultiVectorEncoder says all in its modules") {
    auto read = MultiVector().read();
    REQUIRE(read.late_interaction);
    auto const &late = *read.late_interaction;
    CHECK_FALSE(read.gives_embeddings);
    CHECK(read.similarity == Similarity::max_sim);
    CHECK(read.warnings.empty());
    CHECK(late.dimensions() == 16);
    CHECK(late.query.prompt == "[Q] ");
    CHECK(late.query.marker.empty()); // tokenizer.json has it
    CHECK(late.document.prompt == "[D] ");
    CHECK(late.query.length == 24);
    CHECK(late.document.length == 40);
    CHECK(late.expansion_length == 24);
    CHECK(late.expansion_token == "[MASK]");
    CHECK(late.skipped_words == std::vector<std::string>{"!", "?"});
    CHECK(late.normalizes);

    auto const lengths = MultiVector(R"("query_length":20)").read();
    CHECK(lengths.late_interaction->query.length == 20);
    CHECK(lengths.late_interaction->expansion_length == 0);
    CHECK(lengths.late_interaction->document.length == 64);
    // "min": a ceiling below the floor can't be; without one it is that of any text.
    auto const at_least = MultiVector(R"("query_expansion":{"strategy":"min","length":24})").read();
    CHECK(at_least.late_interaction->query.length == 64);
    CHECK(at_least.late_interaction->expansion_length == 24);
    MultiVector shorter(R"("query_expansion":{"strategy":"min","length":24})");
    shorter.write("tokenizer_config.json", R"({"model_max_length":20})");
    CHECK(shorter.read().late_interaction->query.length == 24);
    CHECK(shorter.read().late_interaction->document.length == 20);
    require_error(uform::read_configuration(
                      MultiVector(R"("query_length":20,"query_expansion":{"strategy":"min","length":24})").path()),
                  corrupt, {"query_length", "20", "24"});

    MultiVector folder;
    folder.write("config_sentence_transformers.json",
                 R"({"model_type":"MultiVectorEncoder","similarity_fn_name":"meanmaxsim","novelty":1})");
    read = folder.read();
    CHECK(read.similarity == Similarity::mean_max_sim);
    CHECK(read.warnings.size() == 1);
    CHECK(read.late_interaction->query.prompt.empty());

    // A chain of projections, its last without a bias; no rows are skipped, and none is normalised.
    MultiVector chain(R"("document_length":40)");
    chain.write_modules({{transformer, ""}, {dense, "1_Dense"}, {dense, "4_Dense"}});
    chain.write("1_Dense/config.json",
                R"({"in_features":48,"out_features":20,"activation_function":"torch.nn.modules.activation.GELU"})");
    chain.write("4_Dense/config.json", R"({"in_features":20,"out_features":8,"bias":false)" + identity + "}");
    read = chain.read();
    REQUIRE(read.late_interaction->projections.size() == 2);
    CHECK(read.late_interaction->projections[0].has_bias);
    CHECK(read.late_interaction->projections[0].columns == 20);
    CHECK(read.late_interaction->projections[0].activation == DenseActivation::gelu);
    CHECK(read.late_interaction->projections[1].folder == chain / "4_Dense");
    CHECK(read.late_interaction->dimensions() == 8);
    CHECK_FALSE(read.late_interaction->normalizes);
    CHECK(read.late_interaction->skipped_words.empty());
    // The mask's file may be missing, and its place is of no account; PyLate's class may have stayed.
    MultiVector moved;
    moved.write_modules({{transformer, ""}, {mask, "5_Mask"}, {pylate_dense, "1_Dense"}, {normalize, "3_Normalize"}});
    CHECK(moved.read().late_interaction->skipped_words.empty());
    for (std::string const tasks : {R"("document")", R"(["document"])", "null"}) {
        moved.write("5_Mask/config.json",
                    R"({"skiplist_words":["!"],"keep_only_token_ids":[],"skiplist_tasks":)" + tasks + "}");
        CHECK(moved.read().late_interaction->skipped_words.size() == 1);
    }
}

TEST_CASE("late interaction that isn't served is refused by name") {
    auto const bert_file = [](std::string const &members) { return "{" + members + "}"; };
    refuse_each<MultiVector>(
        "sentence_bert_config.json",
        {
            {bert_file(R"("query_expansion":{"strategy":"max","length":3})"),
             unsupported,
             {"strategy", "\"max\"", "fixed"}},
            {bert_file(R"("query_expansion":{"length":3})"), unsupported, {"query_expansion: strategy"}},
            {bert_file(R"("query_expansion":{"strategy":"min"})"), corrupt, {"query_expansion: length is missing"}},
            {bert_file(R"("query_expansion":{"strategy":"min","length":0})"), corrupt, {"length", " 0"}},
            {bert_file(R"("query_expansion":{"strategy":"min","length":3,"attend":"x"})"),
             corrupt,
             {"attend", "\"x\""}},
            {bert_file(R"("query_expansion":{"strategy":"min","length":3,"token":7})"), corrupt, {"token", "7"}},
            {bert_file(R"("query_expansion":{"strategy":"min","length":3,"novelty":7})"), unsupported, {"novelty"}},
            {bert_file(R"("query_expansion":32)"), corrupt, {"query_expansion", "32", "object"}},
            {bert_file(R"("query_length":0)"), corrupt, {"query_length", " 0"}},
            {bert_file(R"("document_length":"x")"), corrupt, {"document_length", "\"x\""}},
            {bert_file(R"("transformer_task":"retrieval")"), unsupported, {"transformer_task", "retrieval"}},
        });
    refuse_each<MultiVector>(
        "2_Mask/config.json",
        {
            {R"({"skiplist_words":["!"],"skiplist_tasks":["query","document"]})",
             unsupported,
             {"skiplist_tasks", "array"}},
            {R"({"skiplist_words":["!"],"skiplist_tasks":["query"]})", unsupported, {"skiplist_tasks", "\"query\""}},
            {R"({"skiplist_words":["!"],"skiplist_tasks":"query"})", unsupported, {"skiplist_tasks", "\"query\""}},
            {R"({"keep_only_token_ids":[5]})", unsupported, {"keep_only_token_ids", "array"}},
            {R"({"skiplist_words":"!"})", corrupt, {"skiplist_words", "\"!\"", "array"}},
            {R"({"skiplist_words":[3]})", corrupt, {"skiplist_words", "3"}},
            {R"({"novelty":[3]})", unsupported, {"novelty"}},
        });
    std::string const columns = R"({"in_features":48,"out_features":16,)";
    refuse_each<MultiVector>(
        "1_Dense/config.json",
        {
            {columns + R"("use_residual":true})", unsupported, {"use_residual"}},
            {columns + R"("module_input_name":"sentence_embedding"})",
             unsupported,
             {"module_input_name", "token_embeddings"}},
            {columns + R"("module_output_name":"scores"})", unsupported, {"module_output_name", "scores"}},
            {columns + R"("activation_function":"torch.nn.Hardtanh"})",
             unsupported,
             {"activation_function", "Hardtanh"}},
            {R"({"in_features":47,"out_features":16})", corrupt, {"in_features", "47", "48"}},
        });
    refuse_each<MultiVector>("3_Normalize/config.json",
                             {{"{}", unsupported, {"module_input_name is missing", "token_embeddings"}},
                              {R"({"module_input_name":"sentence_embedding"})", unsupported, {"sentence_embedding"}}});
    refuse_each<MultiVector>(
        "config_sentence_transformers.json",
        {{R"({"model_type":"MultiVectorEncoder","truncate_dim":8})", unsupported, {"truncate_dim", "8"}}});
    refuse_each<PyLate>(
        "config_sentence_transformers.json",
        {
            {R"({"model_type":"ColBERT","query_prefix":3})", corrupt, {"query_prefix", "3"}},
            {R"({"model_type":"ColBERT","do_query_expansion":"no"})", corrupt, {"do_query_expansion", "\"no\""}},
            {R"({"model_type":"ColBERT","attend_to_expansion_tokens":1})",
             corrupt,
             {"attend_to_expansion_tokens", "1"}},
            {R"({"model_type":"ColBERT","query_length":-1})", corrupt, {"query_length", "-1"}},
            {R"({"model_type":"ColBERT","skiplist_words":[null]})", corrupt, {"skiplist_words", "null"}},
        });

    std::string const pooling =
        "sentence_transformers.multi_vector_encoder.modules.token_pooling.HierarchicalTokenPooling";
    using Chain = std::vector<std::pair<std::string, std::string>>;
    std::pair<Chain, std::string> const chains[] = {
        {{{transformer, ""}, {dense, "1_Dense"}, {pooling, "4"}}, "HierarchicalTokenPooling"},
        {{{transformer, ""}, {normalize, "3_Normalize"}, {dense, "1_Dense"}}, "Dense"},
        {{{transformer, ""}, {dense, "1_Dense"}, {mask, "2_Mask"}, {mask, "4"}}, "MultiVectorMask"},
        {{{transformer, ""}, {dense, "1_Dense"}, {splade, "4"}}, "SpladePooling"},
        {{{transformer, ""}, {"pylate.models.Dense", "1_Dense"}}, "pylate.models.Dense"},
        {{{transformer, ""}, {mask, "2_Mask"}}, "2 modules"},
        {{{transformer, ""}}, "1 modules"},
        {{{dense, "1_Dense"}}, "Dense"},
        {{{transformer, ""}, {dense, "1_Dense"}}, "no MultiVectorMask"}, // queries are expanded
    };
    for (auto const &[chain, word] : chains) {
        MultiVector folder;
        folder.write_modules(chain);
        INFO(word);
        require_error(uform::read_configuration(folder.path()), unsupported, {folder / "modules.json", word});
    }
    for (std::string const &other : {mask, normalize, pooling}) {
        PyLate folder;
        folder.write_modules({{transformer, ""}, {pylate_dense, "1_Dense"}, {other, "4"}});
        require_error(uform::read_configuration(folder.path()), unsupported,
                      {folder / "modules.json", "module 2", other, "ColBERT"});
    }
}

TEST_CASE("a folder of Stanford's code is late interaction") {
    Stanford const plain;
    auto const read = plain.read();
    REQUIRE(read.late_interaction);
    auto const &late = *read.late_interaction;
    CHECK_FALSE(read.gives_embeddings);
    CHECK_FALSE(read.classifier);
    CHECK(read.similarity == Similarity::max_sim);
    CHECK(read.warnings.empty());
    REQUIRE(late.projections.size() == 1);
    CHECK(late.projections[0].folder == plain.path());
    CHECK(late.projections[0].name == "linear");
    CHECK(late.projections[0].activation == DenseActivation::identity);
    CHECK_FALSE(late.projections[0].has_bias);
    CHECK(late.dimensions() == 2); // of the tensor
    CHECK(late.query.marker == "[unused0] ");
    CHECK(late.query.prompt == "[unused0] ");
    CHECK(late.document.marker == "[unused1] ");
    CHECK(uform::first_word(late.document.marker) == "[unused1]");
    CHECK(late.query.length == 32);
    CHECK(late.expansion_length == 32);
    CHECK(late.expansion_token == "[MASK]");
    CHECK_FALSE(late.attends_to_expansion);
    CHECK(late.document.length == 64);
    CHECK(late.skipped_words.size() == 32);
    CHECK(late.normalizes);
    CHECK(read.prompts == uform::Prompts{{"query", "[unused0] "}, {"document", "[unused1] "}});

    Stanford second;
    second.write("config.json", config_of(R"(BertModel","HF_ColBERT)"));
    CHECK(second.read().late_interaction);

    auto const said = Stanford(R"({"query_token_id":"[a]","doc_token_id":"","query_maxlen":12,"doc_maxlen":40,"dim":9,
        "attend_to_mask_tokens":true,"mask_punctuation":false,"lr":1e-5})")
                          .read();
    CHECK(said.late_interaction->query.marker == "[a] ");
    CHECK(said.late_interaction->document.marker == "[unused1] ");
    CHECK(said.late_interaction->query.length == 12);
    CHECK(said.late_interaction->document.length == 40);
    CHECK(said.max_sequence_length == 40);
    CHECK(said.late_interaction->attends_to_expansion);
    CHECK(said.late_interaction->skipped_words.empty());
    CHECK(said.late_interaction->dimensions() == 2);
    auto const null = Stanford(R"({"query_token_id":null,"query_maxlen":null,"doc_maxlen":null,
        "attend_to_mask_tokens":null,"mask_punctuation":null})")
                          .read();
    CHECK(null.late_interaction->query.marker == "[unused0] ");
    CHECK(null.late_interaction->query.length == 32);
    CHECK(null.late_interaction->document.length == 64);
    CHECK(null.late_interaction->skipped_words.empty()); // as Python takes it

    refuse_each<Stanford>("artifact.metadata",
                          {
                              {"[]", corrupt, {"object"}},
                              {R"({"query_maxlen":-3})", corrupt, {"query_maxlen", "-3"}},
                              {R"({"doc_maxlen":"x"})", corrupt, {"doc_maxlen", "\"x\""}},
                              {R"({"query_token_id":7})", corrupt, {"query_token_id", "7"}},
                              {R"({"mask_punctuation":2})", corrupt, {"mask_punctuation", "2"}},
                              {R"({"attend_to_mask_tokens":"y"})", corrupt, {"attend_to_mask_tokens"}},
                          });
    require_error(uform::read_configuration(Stanford("", "[2,48]", "linear.weights").path()), corrupt,
                  {"linear.weight", "HF_ColBERT"});
    require_error(uform::read_configuration(Stanford("", "[2,47]").path()), corrupt, {"linear.weight", "48"});
    require_error(uform::read_configuration(Stanford("", "[2]").path()), corrupt, {"linear.weight", "48"});
    Stanford empty;
    empty.remove("model.safetensors");
    require_error(uform::read_configuration(empty.path()), Status::io, {"no weights"});
    for (std::string const marker : {"", " ", "\n\t"}) CHECK(uform::first_word(marker).empty());
    CHECK(uform::first_word(" [Q]\v x") == "[Q]");
}

TEST_CASE("a folder of a sparse encoder says how scores become weights") {
    Sparse folder;
    auto read = folder.read();
    REQUIRE(read.sparse);
    CHECK_FALSE(read.sparse->sums);
    CHECK_FALSE(read.sparse->twice_logarithm);
    CHECK_FALSE(read.gives_embeddings);
    CHECK(read.similarity == Similarity::dot);
    CHECK(read.warnings.empty());
    CHECK(read.max_sequence_length == 64);
    folder.write("1_SpladePooling/config.json", "{}");
    CHECK_FALSE(folder.read().sparse->sums);
    folder.write("1_SpladePooling/config.json", R"({"pooling_strategy":"sum","activation_function":"log1p_relu",
        "word_embedding_dimension":100,"chunk_size":4})");
    read = folder.read();
    CHECK(read.sparse->sums);
    CHECK(read.sparse->twice_logarithm);
    // In the spelling of the first release, whose transformer needs no file.
    folder.write_modules({{"sentence_transformers.sparse_encoder.models.MLMTransformer", ""},
                          {"sentence_transformers.sparse_encoder.models.SpladePooling", "1_SpladePooling"}});
    folder.remove("sentence_bert_config.json");
    CHECK(folder.read().sparse);
    folder.write("sentence_bert_config.json", R"({"max_seq_length":40,"do_lower_case":false})");
    CHECK(folder.read().max_sequence_length == 40);
    folder.write("config_sentence_transformers.json",
                 R"({"model_type":"SparseEncoder","similarity_fn_name":"cosine","max_active_dims":null})");
    CHECK(folder.read().similarity == Similarity::cosine);

    // ln 2, and ln(1 + ln 2), to more digits than a float has.
    uform::SparseConfiguration const once, twice{.twice_logarithm = true};
    CHECK(std::abs(double(once.weight(1)) - 0.6931471805599453) < 1e-7);
    CHECK(std::abs(double(twice.weight(1)) - 0.5265890341390445) < 1e-7);
    for (auto const &sparse : {once, twice}) CHECK(sparse.weight(-1) == 0);
}

TEST_CASE("a sparse encoder that isn't served is refused by name") {
    refuse_each<Sparse>("1_SpladePooling/config.json",
                        {
                            {R"({"pooling_strategy":"mean"})", unsupported, {"pooling_strategy", "\"mean\"", "sum"}},
                            {R"({"activation_function":"gelu"})", unsupported, {"activation_function", "\"gelu\""}},
                            {R"({"pooling_strategy":null})", corrupt, {"pooling_strategy", "null"}},
                            {R"({"embedding_dimension":99})", corrupt, {"embedding_dimension", "99", "100"}},
                            {R"({"word_embedding_dimension":99})", corrupt, {"word_embedding_dimension", "99"}},
                            {R"({"novelty":1})", unsupported, {"novelty"}},
                        });
    refuse_each<Sparse>(
        "config_sentence_transformers.json",
        {
            {R"({"model_type":"SparseEncoder","max_active_dims":8})", unsupported, {"max_active_dims", "8"}},
            {R"({"model_type":"SparseEncoder","truncate_dim":8})", unsupported, {"truncate_dim", "8"}},
        });
    refuse_each<Sparse>("sentence_bert_config.json",
                        {{R"({"transformer_task":"feature-extraction"})",
                          unsupported,
                          {"transformer_task", "feature-extraction", "\"fill-mask\" is served"}},
                         {R"({"max_seq_length":40})", unsupported, {"transformer_task is missing"}}});
    std::string const modules = "sentence_transformers.sparse_encoder.modules.";
    for (std::string const other : {"SparseAutoEncoder", "sparse_static_embedding.SparseStaticEmbedding", "Router"}) {
        Sparse folder;
        folder.write_modules({{transformer, ""}, {modules + other, "4"}});
        require_error(uform::read_configuration(folder.path()), unsupported,
                      {folder / "modules.json", "module 1", other, "SparseEncoder"});
        folder.write_modules({{modules + other, ""}});
        require_error(uform::read_configuration(folder.path()), unsupported, {"module 0", other});
    }
    Sparse folder;
    folder.write_modules({{transformer, ""}});
    require_error(uform::read_configuration(folder.path()), unsupported, {folder / "modules.json", "1 modules"});
    folder.write_modules({{transformer, ""}, {splade, "1_SpladePooling"}, {normalize, "2"}});
    require_error(uform::read_configuration(folder.path()), unsupported, {"module 2", "Normalize"});
    folder.remove("1_SpladePooling/config.json");
    folder.write_modules({{transformer, ""}, {splade, "1_SpladePooling"}});
    require_error(uform::read_configuration(folder.path()), Status::io, {folder / "1_SpladePooling/config.json"});
}

TEST_CASE("heads are known in every spelling that the reference imports") {
    std::string const library = "sentence_transformers.";
    for (std::string const base :
         {"sparse_encoder.models.", "sparse_encoder.models.MLMTransformer.", "sparse_encoder.models.mlm_transformer.",
          "sparse_encoder.modules.", "sparse_encoder.modules.mlm_transformer."})
        CHECK(uform::module_kind(library + base + "MLMTransformer") == ModuleKind::masked_transformer);
    for (std::string const base :
         {"sparse_encoder.models.", "sparse_encoder.models.SpladePooling.", "sparse_encoder.models.splade_pooling.",
          "sparse_encoder.modules.", "sparse_encoder.modules.splade_pooling."})
        CHECK(uform::module_kind(library + base + "SpladePooling") == ModuleKind::splade_pooling);
    for (std::string const base : {"multi_vector_encoder.modules.", "multi_vector_encoder.modules.multi_vector_mask."})
        CHECK(uform::module_kind(library + base + "MultiVectorMask") == ModuleKind::token_mask);
    for (std::string const base : {"sparse_encoder.models.", "sparse_encoder.modules.", "cross_encoder.modules."}) {
        CHECK(uform::module_kind(library + base + "Transformer") == ModuleKind::transformer);
        CHECK(uform::module_kind(library + base + "Dense") == ModuleKind::dense);
    }
    for (std::string const type :
         {"models.SpladePooling", "cross_encoder.models.Transformer", "multi_vector_encoder.modules.Transformer",
          "base.modules.MLMTransformer", "multi_vector_encoder.models.MultiVectorMask"})
        CHECK_FALSE(uform::module_kind(library + type));
}

TEST_CASE("modules of heads have no place among those of embeddings") {
    MultiVector folder;
    folder.write("config_sentence_transformers.json", "{}");
    for (std::string const &other : {mask, splade, pylate_dense}) {
        folder.write_modules({{transformer, ""}, {"sentence_transformers.models.Pooling", "1_Pooling"}, {other, "2"}});
        require_error(uform::read_configuration(folder.path()), unsupported, {"module 2", other, "served"});
    }
}

TEST_CASE("each family's heads have their own activations") {
    struct Case {
        std::string type, name, more;
        HiddenActivation classifier, masked;
    };
    auto const gelu = HiddenActivation::gelu, relu = HiddenActivation::relu, tanh = HiddenActivation::tanh,
               silu = HiddenActivation::silu;
    Case const cases[] = {
        {"bert", "Bert", R"("hidden_act":"relu")", tanh, relu},
        {"roberta", "Roberta", R"("hidden_act":"relu")", tanh, gelu},
        {"xlm-roberta", "XLMRoberta", R"("hidden_act":"relu")", tanh, gelu},
        {"camembert", "Camembert", R"("hidden_act":"relu")", tanh, gelu},
        {"distilbert", "DistilBert", R"("activation":"silu")", relu, silu},
        {"mpnet", "MPNet", R"("hidden_act":"relu")", tanh, gelu},
        {"modernbert", "ModernBert", R"("hidden_activation":"relu")", gelu, gelu},
        {"modernbert", "ModernBert", R"("hidden_activation":"relu","classifier_activation":"silu")", silu, silu},
        {"nomic_bert", "NomicBert", R"("hidden_act":"silu")", tanh, silu},
    };
    for (auto const &[type, name, more, classifier, masked] : cases) {
        INFO(type << " " << more);
        Folder folder;
        folder.write("config.json", config_of(name + "Model", more, type));
        auto const read = folder.read();
        CHECK(read.encoder.classifier_activation == classifier);
        CHECK(read.encoder.masked_activation == masked);
        CHECK(read.encoder.classifier_input == HeadInput::first_token);
        CHECK(read.encoder.head_bias == (type != "modernbert"));
        CHECK(read.encoder.decoder_bias);
    }
    Folder folder;
    auto const modern = [&](std::string const &more) {
        folder.write("config.json", config_of("ModernBertModel", more, "modernbert"));
        return uform::read_configuration(folder.path());
    };
    auto const read = modern(R"("classifier_pooling":"mean","classifier_bias":true,"decoder_bias":false)");
    REQUIRE(read);
    CHECK(read->encoder.architecture == Architecture::modernbert);
    CHECK(read->encoder.classifier_input == HeadInput::mean);
    CHECK(read->encoder.head_bias);
    CHECK_FALSE(read->encoder.decoder_bias);
    require_error(modern(R"("classifier_pooling":"max")"), unsupported, {"classifier_pooling", "\"max\"", "mean"});
    require_error(modern(R"("classifier_activation":"mish")"), unsupported, {"classifier_activation", "\"mish\""});
    require_error(modern(R"("classifier_bias":"no")"), corrupt, {"classifier_bias", "\"no\""});
    require_error(modern(R"("decoder_bias":0)"), corrupt, {"decoder_bias", "0"});
}

/// Requires that no beginning of a folder's files is taken for the whole.
template <class Kind> void cut_each(std::vector<std::string> const &files) {
    for (auto const &name : files) {
        Kind folder;
        auto const file = uform::File::map(folder / name);
        REQUIRE(file);
        std::string const whole(file->text());
        for (std::size_t size = 0; size != whole.size(); ++size) {
            folder.write(name, whole.substr(0, size));
            INFO(name << " cut at " << size);
            require_error(uform::read_configuration(folder.path()), corrupt, {folder / name});
        }
    }
}

TEST_CASE("every cut of every file of heads is an error") {
    cut_each<PyLate>({"1_Dense/config.json", "config_sentence_transformers.json"});
    cut_each<MultiVector>({"2_Mask/config.json", "3_Normalize/config.json", "sentence_bert_config.json"});
    cut_each<Sparse>({"1_SpladePooling/config.json"});
    struct Metadata : Stanford {
        Metadata() : Stanford(R"({"query_token_id":"[a]","doc_maxlen":40})") {}
    };
    cut_each<Metadata>({"artifact.metadata"});
    struct Labels : Classifier {
        Labels() : Classifier(R"("id2label":{"0":"a","1":"b"},"sentence_transformers":{"activation_fn":null})") {}
    };
    cut_each<Labels>({"config.json"});
}
