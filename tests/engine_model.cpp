/// What a model says of itself, prompts, normalising, and calls from many threads.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child_process.hpp"
#include "model_folder.hpp"
#include "skip.hpp"
#include "uform/uform.hpp"

using uform::Outputs, uform::Ram, uform::Scalar;

namespace {

std::vector<float> vector_of(uform::Model const &model, std::string_view text,
                             uform::EncodeOptions const &options = {}) {
    uform::Arena<Ram> arena;
    auto const encoded = model.text_encode(text, Outputs::embeddings, Scalar::f32, arena, options).value();
    auto const row = encoded.embeddings().row<float>(0).value();
    return {row.begin(), row.end()};
}
double length(std::vector<float> const &vector) {
    double sum = 0;
    for (float const value : vector) sum += static_cast<double>(value) * static_cast<double>(value);
    return std::sqrt(sum);
}

} // namespace

TEST_CASE("model: it says what was published") {
    auto const tiny = uform::Model::load(data_path("tiny")).value(),
               cased = uform::Model::load(data_path("tiny-cased")).value();
    CHECK(tiny.dimensions() == 48);
    CHECK(tiny.hidden_size() == 48);
    CHECK(tiny.layers() == 2);
    CHECK(tiny.normalizes());
    CHECK_FALSE(cased.normalizes());
    CHECK(cased.dimensions() == 40);
    CHECK(cased.max_sequence_length() == 24);
    CHECK(tiny.outputs() == (Outputs::embeddings | Outputs::states));
    CHECK(tiny.labels().empty());
    CHECK(uform::Model(tiny).dimensions() == 48);
}

TEST_CASE("model: normalising is as published, on or off, and a zero vector stays zero") {
    auto const tiny = uform::Model::load(data_path("tiny")).value();
    CHECK(std::fabs(length(vector_of(tiny, "the model")) - 1) < 1e-6);
    CHECK(length(vector_of(tiny, "the model", {.normalize = uform::Normalize::off})) > 1.5);
    CHECK(vector_of(tiny, "the model", {.normalize = uform::Normalize::on}) == vector_of(tiny, "the model"));

    ModelFolder const folder("tiny");
    folder.change_weights([](WrittenTensors &tensors) {
        for (std::string const name :
             {"encoder.layer.1.output.LayerNorm.weight", "encoder.layer.1.output.LayerNorm.bias"})
            tensors.at(name).bytes.assign(48 * 4, '\0');
    });
    for (float const value : vector_of(uform::Model::load(folder.path()).value(), "the model")) CHECK(value == 0.0f);
}

TEST_CASE("model: a prompt stands before the text, by its name or as the folder's default") {
    ModelFolder const folder("tiny");
    folder.write(
        "config_sentence_transformers.json",
        R"({"prompts": {"query": "the model ", "other": ""}, "default_prompt_name": null, "similarity_fn_name": "cosine"})");
    auto const model = uform::Model::load(folder.path()).value();
    std::vector<std::string> const names(model.prompts().begin(), model.prompts().end());
    CHECK(std::count(names.begin(), names.end(), "query") == 1);
    CHECK(std::count(names.begin(), names.end(), "other") == 1);
    CHECK(vector_of(model, "a", {.prompt = "query"}) == vector_of(model, "the model a"));
    CHECK(vector_of(model, "a", {.prompt = "query"}) != vector_of(model, "a"));
    CHECK(vector_of(model, "a", {.prompt = "other"}) == vector_of(model, "a"));

    folder.replace("config_sentence_transformers.json", "null", "\"query\"");
    CHECK(vector_of(uform::Model::load(folder.path()).value(), "a") == vector_of(model, "the model a"));

    folder.write("1_Pooling/config.json",
                 R"({"embedding_dimension": 48, "pooling_mode": "mean", "include_prompt": false})");
    // The prompt's own tokens, [CLS] among them, are left out: another vector than of the whole.
    CHECK(vector_of(uform::Model::load(folder.path()).value(), "a") != vector_of(model, "the model a"));
}

TEST_CASE("model: a folder of vocab.txt without tokenizer.json gives the same vectors") {
    ModelFolder const folder("tiny");
    folder.remove("tokenizer.json");
    CHECK(vector_of(uform::Model::load(folder.path()).value(), "the model, a Model") ==
          vector_of(uform::Model::load(data_path("tiny")).value(), "the model, a Model"));
}

TEST_CASE("model: many threads share a model, an executor, or both") {
    auto const model = uform::Model::load(data_path("tiny")).value();
    auto const executor = uform::Executor<Ram>::with_threads(2).value();
    auto const texts = read_texts(data_path("tiny/texts.jsonl"));
    std::vector<std::vector<float>> expected;
    for (auto const &text : texts) expected.push_back(vector_of(model, text));
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (std::size_t thread = 0; thread != 4; ++thread)
        threads.emplace_back([&, thread] {
            uform::Arena<Ram> arena;
            for (std::size_t i = 0; i != texts.size(); ++i) {
                auto const at = (i * 7 + thread * 3) % texts.size();
                auto const encoded =
                    thread % 2 ? model.on(executor).text_encode(texts[at], Outputs::embeddings, Scalar::f32, arena)
                               : model.text_encode(texts[at], Outputs::embeddings, Scalar::f32, arena);
                auto const row = encoded.value().embeddings().row<float>(0).value();
                wrong += std::memcmp(row.data(), expected[at].data(), row.size_bytes()) != 0;
            }
        });
    for (auto &thread : threads) thread.join();
    CHECK(wrong == 0);
}

TEST_CASE("model: threads that share one arena meet contended, never a wrong row") {
    auto const model = uform::Model::load(data_path("tiny")).value();
    auto const texts = read_texts(data_path("tiny/texts.jsonl"));
    auto const tape = uform::Tape::from(texts).value();
    uform::Arena<Ram> arena;
    std::vector<float> expected;
    {
        auto const all = model.text_encode(tape, Outputs::embeddings, Scalar::f32, arena)
                             .value()
                             .embeddings()
                             .values<float>()
                             .value();
        expected.assign(all.begin(), all.end());
    }
    std::atomic<int> served{0}, contended{0}, wrong{0};
    std::vector<std::thread> threads;
    for (int thread = 0; thread != 3; ++thread)
        threads.emplace_back([&] {
            for (int round = 0; round != 20; ++round) {
                auto const encoded = model.text_encode(tape, Outputs::embeddings, Scalar::f32, arena);
                if (!encoded) {
                    contended += encoded.error().status() == uform::Status::contended;
                    wrong += encoded.error().status() != uform::Status::contended;
                    continue;
                }
                auto const pinned = encoded->pin(); // another call may have come between
                if (!pinned) continue;
                auto const rows = pinned->embeddings().values<float>().value();
                wrong += std::memcmp(rows.data(), expected.data(), rows.size_bytes()) != 0;
                ++served;
            }
        });
    for (auto &thread : threads) thread.join();
    CHECK(wrong == 0);
    CHECK(served > 0);
}

TEST_CASE("model: a forked child computes on its own thread, also while its parent's executor is at work") {
    auto const model = uform::Model::load(data_path("tiny")).value();
    auto const executor = uform::Executor<Ram>::with_threads(3).value();
    auto const texts = read_texts(data_path("tiny/texts.jsonl"));
    auto const tape = uform::Tape::from(texts).value();
    uform::Arena<Ram> arena;
    auto const expected = vector_of(model, texts[7]);
    for (bool const at_work : {false, true}) {
        std::optional<uform::Executor<Ram>::Session> session;
        if (at_work) session.emplace(executor); // as a call holds it
        auto const ended = in_child([&] {
            alarm(60);
            auto const encoded = model.on(executor).text_encode(tape, Outputs::embeddings, Scalar::f32, arena);
            HOLDS(encoded);
            auto const row = encoded->embeddings().row<float>(7).value();
            HOLDS(std::memcmp(row.data(), expected.data(), row.size_bytes()) == 0);
            auto const deferred =
                model.on(executor).deferred().text_encode(tape, Outputs::embeddings, Scalar::f32, arena);
            HOLDS(!deferred && deferred.error().status() == uform::Status::unsupported);
            HOLDS(encoded->is_current());
            return 0;
        });
        CAPTURE(at_work, ended.output, ended.signal);
        CHECK(ended.by_itself);
    }
    CHECK(model.on(executor).text_encode(tape, Outputs::embeddings, Scalar::f32, arena));
}

TEST_CASE("model: a child forked while other threads call and make arenas isn't held up by their locks") {
    auto const model = uform::Model::load(data_path("tiny")).value();
    auto const expected = vector_of(model, "a");
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int i = 0; i != 2; ++i)
        threads.emplace_back([&] {
            uform::Arena<Ram> own;
            while (!stop) {
                uform::Arena<Ram> const made;
                (void)model.text_encode("", Outputs::embeddings, Scalar::f32, own);
            }
        });
    int hung = 0;
    for (int i = 0; i != 200 && hung == 0; ++i) {
        pid_t const child = fork();
        if (child == 0) {
            std::signal(SIGALRM, SIG_DFL);
            alarm(60);
            _exit(vector_of(model, "a") == expected ? 0 : 1);
        }
        int status = -1;
        hung += child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
    stop = true;
    for (auto &thread : threads) thread.join();
    CHECK(hung == 0);
}

TEST_CASE("model: memory that can't be mapped is out of memory, for a model and a tokenizer") {
    if (UFORM_ADDRESS_SANITIZER || UFORM_THREAD_SANITIZER) return skip_test("a sanitizer needs the address space");
    auto const ended = in_child([] {
        rlimit none{};
        HOLDS(getrlimit(RLIMIT_AS, &none) == 0);
        none.rlim_cur = 1 << 20; // less than is mapped already: nothing more can be
        HOLDS(setrlimit(RLIMIT_AS, &none) == 0);
        auto const model = uform::Model::load(data_path("tiny"));
        auto const tokenizer = uform::Tokenizer::load(data_path("tiny"));
        HOLDS(!model && model.error().status() == uform::Status::out_of_memory);
        HOLDS(!tokenizer && tokenizer.error().status() == uform::Status::out_of_memory);
        return 0;
    });
    CAPTURE(ended.output, ended.signal);
    CHECK(ended.by_itself);
}

TEST_CASE("model: the executor may go before the arena, and the model before its results") {
    uform::Arena<Ram> arena;
    uform::Rows<Ram> rows;
    {
        auto const executor = uform::Executor<Ram>::with_threads(2).value();
        auto const model = uform::Model::load(data_path("tiny")).value();
        rows =
            model.on(executor).text_encode("the model", Outputs::embeddings, Scalar::f32, arena).value().embeddings();
    }
    CHECK(rows.values<float>().value().size() == 48);
}
