/// What a folder or a call may get wrong: each has its status and a text that says what and where.
#include <atomic>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "model_folder.hpp"
#include "uform/uform.hpp"

using uform::Outputs, uform::Ram, uform::Scalar, uform::Status;

namespace {

/// Loads a folder that must be refused, with every piece of text in the message.
void check_refused(std::string const &folder, Status status, std::vector<std::string> const &pieces) {
    auto const model = uform::Model::load(folder);
    REQUIRE_FALSE(model);
    INFO(model.error().message());
    CHECK(model.error().status() == status);
    for (auto const &piece : pieces) {
        INFO("must name " << piece);
        CHECK(model.error().message().find(piece) != std::string_view::npos);
    }
}

void put(WrittenTensors &tensors, std::string const &name, std::size_t index, float value) {
    std::memcpy(tensors.at(name).bytes.data() + index * sizeof value, &value, sizeof value);
}

} // namespace

TEST_CASE("bad input: folders that can't be loaded") {
    constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    ModelFolder const folder("tiny");
    SECTION("no folder") { check_refused("/no/such/folder", Status::io, {"/no/such/folder"}); }
    SECTION("an empty name") { check_refused("", Status::invalid_argument, {"empty"}); }
    SECTION("a file for a folder") { check_refused(folder.file("config.json"), Status::io, {"config.json"}); }
    SECTION("no config.json") {
        folder.remove("config.json");
        check_refused(folder.path(), Status::io, {"config.json"});
    }
    SECTION("no tokenizer") {
        folder.remove("tokenizer.json"), folder.remove("vocab.txt");
        check_refused(folder.path(), Status::io, {"tokenizer.json"});
    }
    SECTION("no weights") {
        folder.remove("model.safetensors");
        check_refused(folder.path(), Status::io, {"model.safetensors"});
    }
    SECTION("weights in a pickle alone: the command that converts it") {
        folder.remove("model.safetensors"), folder.write("pytorch_model.bin", "x");
        check_refused(folder.path(), Status::unsupported, {"pytorch_model.bin", "python"});
    }
    SECTION("truncated weights, at every kind of place") {
        auto const whole = folder.read("model.safetensors");
        for (std::size_t const size :
             {std::size_t{0}, std::size_t{4}, std::size_t{8}, std::size_t{100}, whole.size() / 2, whole.size() - 1}) {
            folder.write("model.safetensors", whole.substr(0, size));
            check_refused(folder.path(), Status::corrupt, {"model.safetensors"});
        }
    }
    SECTION("a pointer of Git LFS for weights") {
        folder.write("model.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 90868376\n");
        check_refused(folder.path(), Status::corrupt, {"model.safetensors", "Git LFS"});
    }
    SECTION("a tensor of another shape") {
        folder.change_weights([](WrittenTensors &tensors) {
            tensors.at("encoder.layer.0.output.dense.weight").shape = {96, 48};
        });
        check_refused(folder.path(), Status::corrupt,
                      {"model.safetensors", "encoder.layer.0.output.dense.weight", "96", "48"});
    }
    SECTION("a missing tensor") {
        folder.change_weights(
            [](WrittenTensors &tensors) { tensors.erase("encoder.layer.1.attention.self.key.bias"); });
        check_refused(folder.path(), Status::corrupt, {"encoder.layer.1.attention.self.key.bias"});
    }
    SECTION("integers for weights") {
        folder.change_weights(
            [](WrittenTensors &tensors) { tensors.at("encoder.layer.1.attention.self.key.bias").dtype = "I32"; });
        check_refused(folder.path(), Status::unsupported, {"encoder.layer.1.attention.self.key.bias", "I32"});
    }
    SECTION("NaN and infinity, in every kind of tensor") {
        for (std::string const name : {"embeddings.word_embeddings.weight", "embeddings.position_embeddings.weight",
                                       "embeddings.token_type_embeddings.weight", "embeddings.LayerNorm.weight",
                                       "encoder.layer.0.attention.self.query.weight",
                                       "encoder.layer.1.output.dense.bias", "encoder.layer.1.output.LayerNorm.bias"})
            for (float const value : {nan, infinity, -infinity}) {
                ModelFolder const damaged("tiny");
                damaged.change_weights([&](WrittenTensors &tensors) { put(tensors, name, 5, value); });
                check_refused(damaged.path(), Status::corrupt, {"model.safetensors", name});
            }
    }
    SECTION("an unknown architecture") {
        folder.replace("config.json", "\"model_type\": \"bert\"", "\"model_type\": \"electra\"");
        check_refused(folder.path(), Status::unsupported, {"config.json", "electra", "bert"});
    }
    SECTION("a tensor that isn't there, or a head that doesn't divide: the file is named") {
        folder.change_weights([](WrittenTensors &tensors) { tensors.erase("embeddings.word_embeddings.weight"); });
        check_refused(folder.path(), Status::corrupt, {folder.path(), "embeddings.word_embeddings.weight"});
    }
    SECTION("an unknown activation") {
        folder.replace("config.json", "\"hidden_act\": \"gelu\"", "\"hidden_act\": \"snake\"");
        check_refused(folder.path(), Status::unsupported, {"config.json", "hidden_act", "snake"});
    }
    SECTION("more layers than there are weights") {
        folder.replace("config.json", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3");
        check_refused(folder.path(), Status::corrupt, {"encoder.layer.2"});
    }
    SECTION("heads that don't divide the hidden size") {
        folder.replace("config.json", "\"num_attention_heads\": 3", "\"num_attention_heads\": 5");
        check_refused(folder.path(), Status::corrupt, {"config.json", "48", "5"});
    }
    SECTION("a vocabulary smaller than the tokenizer's ids") {
        auto const config = folder.read("config.json");
        auto const at = config.find("\"vocab_size\": ");
        REQUIRE(at != std::string::npos);
        folder.write("config.json",
                     config.substr(0, at) + "\"vocab_size\": 50" + config.substr(config.find_first_of(",\n}", at)));
        check_refused(folder.path(), Status::corrupt, {"vocab_size", "50"});
    }
    SECTION("an unknown pooling mode") {
        folder.write("1_Pooling/config.json", R"({"embedding_dimension": 48, "pooling_mode": "median"})");
        check_refused(folder.path(), Status::unsupported, {"1_Pooling/config.json", "median"});
    }
    SECTION("an unknown pooling key") {
        folder.write("1_Pooling/config.json",
                     R"({"word_embedding_dimension": 48, "pooling_mode_median_tokens": true})");
        check_refused(folder.path(), Status::unsupported, {"1_Pooling/config.json", "pooling_mode_median_tokens"});
    }
    SECTION("an unknown module") {
        folder.replace("modules.json", "models.Normalize", "models.CNN");
        check_refused(folder.path(), Status::unsupported, {"modules.json", "CNN"});
    }
    SECTION("more positions than a model can have names the folder") {
        folder.replace("config.json", "\"max_position_embeddings\": 40", "\"max_position_embeddings\": 1000000000");
        check_refused(folder.path(), Status::corrupt, {folder.path(), "1000000000"});
    }
    SECTION("no word embeddings at all") {
        folder.change_weights([](WrittenTensors &tensors) { tensors.erase("embeddings.word_embeddings.weight"); });
        check_refused(folder.path(), Status::corrupt, {folder.path(), "embeddings.word_embeddings.weight"});
    }
    SECTION("more prompts, added tokens or pieces of a template than are served") {
        std::string prompts = "{\"prompts\": {\"p\": \"\"";
        for (int i = 0; i != 10'000; ++i) prompts += ", \"" + std::to_string(i) + "\": \"\"";
        folder.write("config_sentence_transformers.json", prompts + "}}");
        check_refused(folder.path(), Status::unsupported, {"config_sentence_transformers.json", "prompts", "10001"});
        ModelFolder const added("tiny"), pieces("tiny");
        std::string tokens;
        for (int i = 0; i != 20'001; ++i)
            tokens += "{\"id\": " + std::to_string(394 + i) + ", \"content\": \"new" + std::to_string(i) +
                      "\", \"single_word\": false, \"lstrip\": false, \"rstrip\": false, \"normalized\": false, "
                      "\"special\": true},";
        added.replace("tokenizer.json", "\"added_tokens\": [", "\"added_tokens\": [" + tokens);
        check_refused(added.path(), Status::unsupported, {"tokenizer.json", "20000 added tokens"});
        std::string many;
        for (int i = 0; i != 1001; ++i) many += "{\"SpecialToken\": {\"id\": \"[CLS]\", \"type_id\": 0}},";
        pieces.replace("tokenizer.json", "\"single\": [", "\"single\": [" + many);
        check_refused(pieces.path(), Status::unsupported, {"tokenizer.json", "template"});
    }
    SECTION("an unknown tokenizer model") {
        folder.replace("tokenizer.json", "\"model\": {\"type\": \"WordPiece\"", "\"model\": {\"type\": \"WordFish\"");
        check_refused(folder.path(), Status::unsupported, {"tokenizer.json", "WordFish"});
    }
    SECTION("brackets, a million deep, in each file of JSON") {
        std::string const brackets(1'000'000, '[');
        for (std::string const name : {"config.json", "modules.json", "tokenizer.json", "1_Pooling/config.json",
                                       "sentence_bert_config.json", "config_sentence_transformers.json"}) {
            ModelFolder const deep("tiny");
            deep.write(name, brackets);
            check_refused(deep.path(), Status::corrupt, {name});
        }
    }
    SECTION("files of JSON that are cut, empty, or no object") {
        for (std::string const name : {"config.json", "modules.json", "tokenizer.json", "1_Pooling/config.json"})
            for (std::string const content : {"", "{", "nul", "{\"a\": 1,}", "17", "{} {}"}) {
                ModelFolder const cut("tiny");
                cut.write(name, content);
                auto const model = uform::Model::load(cut.path());
                INFO(name << " is " << content);
                REQUIRE_FALSE(model);
                CHECK(model.error().message().find(name) != std::string_view::npos);
            }
    }
    SECTION("options that this version doesn't serve") {
        auto const narrow = uform::Model::load(folder.path(), {.compute = Scalar::bf16});
        REQUIRE_FALSE(narrow);
        CHECK(narrow.error().status() == Status::unsupported);
    }
}

TEST_CASE("bad input: calls that are refused leave the old results readable") {
    auto const model = uform::Model::load(data_path("tiny")).value();
    uform::Arena<Ram> arena;
    auto const before = model.text_encode("the model", Outputs::embeddings, Scalar::f32, arena).value().embeddings();
    auto const old = before.values<float>().value();
    std::vector<float> const copy(old.begin(), old.end());
    std::string const two[] = {"a", "the model"};
    auto const tape = uform::Tape::from(two).value();
    auto const check = [&](uform::Result<uform::Encoded<Ram>> const &refused, Status status, std::string_view names) {
        REQUIRE_FALSE(refused);
        INFO(refused.error().message());
        CHECK(refused.error().status() == status);
        CHECK(refused.error().message().find(names) != std::string_view::npos);
        auto const now = before.values<float>();
        REQUIRE(now);
        CHECK(std::memcmp(now->data(), copy.data(), copy.size() * sizeof(float)) == 0);
        auto const again = uform::Arena<Ram>().describe(); // another arena is another matter
        CHECK(again.residency == uform::Residency::ram);
    };
    check(model.text_encode(tape, Outputs{}, Scalar::f32, arena), Status::invalid_argument, "outputs");
    check(model.text_encode(tape, static_cast<Outputs>(1u << 20), Scalar::f32, arena), Status::invalid_argument,
          "outputs");
    for (auto const one : {Outputs::token_vectors, Outputs::probabilities, Outputs::sparse})
        check(model.text_encode(tape, Outputs::embeddings | one, Scalar::f32, arena), Status::unsupported,
              uform::outputs_name(one));
    for (auto const scalar : {Scalar::u8, Scalar::u32, Scalar::u64, static_cast<Scalar>(99)})
        check(model.text_encode(tape, Outputs::embeddings, scalar, arena), Status::unsupported, "scalar");
    check(model.text_encode(tape, Outputs::embeddings, Scalar::f32, arena, {.prompt = "no such"}),
          Status::invalid_argument, "no such");
    check(model.text_encode(tape, Outputs::embeddings, Scalar::f32, arena, {.dimensions = 700}),
          Status::invalid_argument, "dimensions");
    check(model.text_encode(tape, Outputs::embeddings, Scalar::f32, arena, {.tokens_per_call = 1}),
          Status::invalid_argument, "tokens_per_call");
    std::string const long_text(500, 'a');
    std::string const texts[] = {"a", std::string(1000, '!')};
    auto const long_tape = uform::Tape::from(texts).value();
    check(model.text_encode(long_tape, Outputs::embeddings, Scalar::f32, arena, {.truncate = uform::Truncate::refuse}),
          Status::invalid_argument, "text 1");
    std::atomic<bool> cancel{true};
    check(model.text_encode(tape, Outputs::embeddings, Scalar::f32, arena, {.cancel = &cancel}), Status::cancelled,
          "cancel");
    arena.limit(before.values<float>().value().size_bytes());
    check(model.text_encode(tape, Outputs::states, Scalar::f32, arena), Status::out_of_memory, "limit");
    arena.limit(SIZE_MAX);
    {
        auto const pin = before.pin().value();
        check(model.text_encode(tape, Outputs::embeddings, Scalar::f32, arena), Status::contended, "reader");
    }
    {
        auto const draft = arena.begin().value();
        check(model.text_encode(tape, Outputs{}, Scalar::f32, arena), Status::contended,
              "another call"); // and not the outputs
    }
    auto const inside = uform::TapeView(std::string_view(reinterpret_cast<char const *>(before.data()), 8));
    check(model.text_encode(inside, Outputs::embeddings, Scalar::f32, arena), Status::invalid_argument, "arena");
    CHECK(model.text_encode(tape, Outputs::embeddings, Scalar::f32, arena)); // and then a call works
    CHECK_FALSE(before.is_current());

    auto draft = arena.begin().value(); // offsets that lie in the arena are an input in it, too
    auto const place = draft.place<std::uint32_t>(2, 1);
    auto writing = std::move(draft).commit().value();
    writing.values(place)[0] = 0, writing.values(place)[1] = 1;
    auto const offsets = std::move(writing).publish().value()[place];
    auto const own = uform::TapeView::of("a", offsets.values<std::uint32_t>().value()).value();
    auto const refused = model.text_encode(own, Outputs::embeddings, Scalar::f32, arena);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().status() == Status::invalid_argument);
    CHECK(offsets.is_current());
}

TEST_CASE("bad input: offsets that lie never reach a call") {
    std::string const bytes = "some text";
    for (auto const &offsets : std::vector<std::vector<std::int64_t>>{
             {}, {0, 10}, {3, 2}, {-1, 3}, {0, 5, 4, 9}, {0, std::numeric_limits<std::int64_t>::max()}}) {
        auto const tape = uform::TapeView::of(bytes, offsets);
        REQUIRE_FALSE(tape);
        CHECK(tape.error().status() == Status::invalid_argument);
    }
}

TEST_CASE("bad input: odd texts have documented answers") {
    auto const model = uform::Model::load(data_path("tiny")).value();
    uform::Arena<Ram> arena;
    constexpr auto both = Outputs::embeddings | Outputs::states;
    SECTION("an empty tape is an empty result") {
        auto const encoded = model.text_encode(uform::TapeView(), both, Scalar::f32, arena).value();
        CHECK(encoded.texts() == 0);
        CHECK(encoded.embeddings().rows() == 0);
        CHECK(encoded.embeddings().columns() == 48);
        CHECK(encoded.embeddings().values<float>().value().empty());
        CHECK(encoded.states().size() == 0);
        CHECK(encoded.states().offsets().value().size() == 1);
        CHECK(encoded.truncated_tokens().value().empty());
        CHECK(encoded.token_ids().value().empty());
    }
    SECTION("an empty text is its special tokens") {
        auto const encoded = model.text_encode("", both, Scalar::f32, arena).value();
        CHECK(encoded.states().flat().rows() == 2);
        CHECK(encoded.embeddings().rows() == 1);
    }
    SECTION("a text of a megabyte is cut, and says by how much") {
        std::string text;
        while (text.size() < 1'000'000) text += "a! ";
        auto const encoded = model.text_encode(text, both, Scalar::f32, arena).value();
        CHECK(encoded.states().flat().rows() == model.max_sequence_length());
        CHECK(encoded.truncated_tokens().value()[0] ==
              model.tokenizer().count(text).value() - model.max_sequence_length());
        CHECK(encoded.truncated_tokens().value()[0] == text.size() / 3 * 2 + 2 - model.max_sequence_length());
    }
    SECTION("one word of a megabyte is one unknown token") {
        auto const encoded = model.text_encode(std::string(1'000'000, 'a'), both, Scalar::f32, arena).value();
        CHECK(encoded.states().flat().rows() == 3);
    }
    SECTION("bytes that are not UTF-8 count as U+FFFD") {
        auto const ids = [&](std::string_view text) { return model.tokenizer().encode(text).value(); };
        CHECK(ids("ok\xED\xA0\x80"
                  "bad") == ids("ok\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"
                                "bad"));
        CHECK(model.text_encode("\xff\xfe\x80", both, Scalar::f32, arena));
    }
    SECTION("outputs that were not asked for say so") {
        auto const encoded = model.text_encode("a", Outputs::embeddings, Scalar::f32, arena).value();
        CHECK(encoded.states().offsets().error().message().find("not asked for") != std::string_view::npos);
        CHECK(encoded.states().flat().values<float>().error().status() == Status::invalid_argument);
        CHECK_FALSE(encoded.token_ids());
        CHECK_FALSE(encoded.probabilities().is_current());
        CHECK(encoded.truncated_tokens());
    }
}

TEST_CASE("bad input: results that aren't numbers fail the call and leave the arena ready") {
    ModelFolder const folder("tiny");
    folder.change_weights([](WrittenTensors &tensors) { // finite weights whose products overflow
        for (std::size_t i = 0; i != 48; ++i) put(tensors, "encoder.layer.1.output.LayerNorm.weight", i, 3e38f);
        for (std::size_t i = 0; i != 48; ++i) put(tensors, "encoder.layer.1.output.LayerNorm.bias", i, 3e38f);
    });
    auto const broken = uform::Model::load(folder.path()).value(),
               sound = uform::Model::load(data_path("tiny")).value();
    for (auto const outputs : {Outputs::embeddings, Outputs::states, Outputs::embeddings | Outputs::states}) {
        uform::Arena<Ram> arena;
        auto const before = sound.text_encode("a", Outputs::embeddings, Scalar::f32, arena).value().embeddings();
        auto const failed = broken.text_encode("the model", outputs, Scalar::f32, arena);
        REQUIRE_FALSE(failed);
        CHECK(failed.error().status() == Status::corrupt);
        CHECK(failed.error().message().find("text 0") != std::string_view::npos);
        CHECK_FALSE(before.is_current());
        CHECK(sound.text_encode("a", Outputs::embeddings, Scalar::f32, arena));
    }
}
