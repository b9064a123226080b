/// What stands around an encoder, through `Model`: modules after the pooling, and prompts.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "golden.hpp"
#include "kernels_fixture.hpp"
#include "model_folder.hpp"
#include "skip.hpp"
#include "uform/uform.hpp"

using uform::Outputs, uform::Ram, uform::Scalar;

namespace {

/// How far two lists of numbers are apart at most, and the largest of the second.
struct Difference {
    double largest = 0, scale = 0;
};
Difference difference(std::span<float const> ours, std::span<float const> theirs) {
    REQUIRE(ours.size() == theirs.size());
    Difference answer;
    for (std::size_t i = 0; i != ours.size(); ++i) {
        double const off = std::fabs(static_cast<double>(ours[i]) - static_cast<double>(theirs[i]));
        if (!(off <= answer.largest)) answer.largest = off; // NaN too
        answer.scale = std::max(answer.scale, std::fabs(static_cast<double>(theirs[i])));
    }
    return answer;
}

std::vector<float> embeddings(uform::Model const &model, std::vector<std::string> const &texts,
                              uform::EncodeOptions const &options = {}) {
    auto const tape = uform::Tape::from(texts).value();
    uform::Arena<Ram> arena;
    auto const encoded = model.text_encode(tape, Outputs::embeddings, Scalar::f32, arena, options).value();
    auto const values = encoded.embeddings().values<float>().value();
    return {values.begin(), values.end()};
}

std::vector<uform::InstructionSet> usable_sets() {
    std::vector<uform::InstructionSet> sets;
    for (auto const set : uform::instruction_sets)
        if (uform::supports(set)) sets.push_back(set);
        else skip_part("this machine lacks " + std::string(uform::instruction_set_name(set)));
    return sets;
}

/// The names of the pooling cases, and the whole of their `1_Pooling/config.json`.
std::vector<std::pair<std::string, std::string>> prompt_cases() {
    auto const file = uform::File::map(data_path("families/modules/cases.json")).value();
    auto const cases = uform::Json::parse(file.text(), "cases.json").value();
    std::vector<std::pair<std::string, std::string>> answer;
    for (std::size_t i = 0; i != cases.root().size(); ++i) {
        auto const title = std::string(cases.root()[i].find("case").string().value());
        auto const line_at = file.text().find("\"case\": \"" + title + '"');
        auto const line = file.text().substr(line_at, file.text().find('\n', line_at) - line_at);
        auto const at = line.find("\"config\": ") + 10;
        answer.emplace_back(title, std::string(line.substr(at, line.rfind('}') - at)));
    }
    REQUIRE(answer.size() > 10);
    return answer;
}

} // namespace

TEST_CASE("engine: modules after the pooling are the reference's, in their order") {
    auto const texts = read_texts(data_path("families/modules/texts.jsonl"));
    Golden const golden(data_path("families/modules/golden.safetensors"));
    double worst_unit = 0, worst = 0;
    for (std::string const name : {"tanh", "default", "identity", "relu", "gelu", "sigmoid", "silu", "leaky-relu",
                                   "elu", "softplus", "mish", "chain", "normalize-first", "layer-norm", "all"})
        for (auto const set : usable_sets()) {
            INFO(name << " on " << uform::instruction_set_name(set));
            ModelFolder const folder("tiny");
            std::filesystem::copy(data_path("families/modules/" + name), folder.path(),
                                  std::filesystem::copy_options::recursive |
                                      std::filesystem::copy_options::overwrite_existing);
            auto const model = uform::Model::load(folder.path(), {.instruction_set = set}).value();
            auto const expected = golden.read<float>("embeddings." + name);
            REQUIRE(model.dimensions() * texts.size() == expected.size());
            auto const ours = embeddings(model, texts);
            auto const off = difference(ours, expected);
            double &kept = model.normalizes() ? worst_unit : worst;
            double const now = model.normalizes() ? off.largest : off.largest / off.scale;
            CHECK(now <= (model.normalizes() ? 2e-6 : 1e-5));
            kept = std::max(kept, now);
            std::size_t const columns = model.dimensions();
            for (std::size_t i = 0; i < texts.size(); i += 5) { // alone: the same bits
                auto const alone = embeddings(model, std::vector<std::string>(1, texts[i]));
                CHECK(uform::test::same_bits(alone.data(), ours.data() + i * columns, columns));
            }
        }
    std::printf("modules: unit vectors differ by at most %.2g, others by %.2g of their largest component\n", worst_unit,
                worst);
}

TEST_CASE("engine: a Normalize at the end can be asked for or not, one before others stays") {
    auto const texts = read_texts(data_path("families/modules/texts.jsonl"));
    auto const length = [](std::vector<float> const &vectors, std::size_t columns) {
        double sum = 0;
        for (std::size_t i = 0; i != columns; ++i) sum += std::pow(static_cast<double>(vectors[i]), 2);
        return std::sqrt(sum);
    };
    ModelFolder const folder("tiny");
    std::filesystem::copy(data_path("families/modules/normalize-first"), folder.path(),
                          std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
    auto const model = uform::Model::load(folder.path()).value();
    CHECK_FALSE(model.normalizes());
    auto const published = embeddings(model, texts);
    CHECK(embeddings(model, texts, {.normalize = uform::Normalize::off}) == published);
    CHECK(std::fabs(length(published, 12) - 1) > 0.01);
    CHECK(std::fabs(length(embeddings(model, texts, {.normalize = uform::Normalize::on}), 12) - 1) < 1e-6);
}

TEST_CASE("engine: prompts take part in the pooling or not, as the folder says") {
    auto texts = read_texts(data_path("families/modules/texts.jsonl"));
    Golden const golden(data_path("families/modules/golden.safetensors"));
    auto const file = uform::File::map(data_path("families/modules/prompts.json")).value();
    double worst = 0;
    for (auto const &[name, config] : prompt_cases()) {
        ModelFolder const folder("tiny");
        folder.write("1_Pooling/config.json", config);
        folder.write("config_sentence_transformers.json", std::string(file.text()));
        auto const model = uform::Model::load(folder.path()).value();
        for (std::string const prompt : {"query", "word", "nothing", "long"}) {
            INFO(name << ", prompt " << prompt);
            auto const expected = golden.read<float>("embeddings." + name + "." + prompt);
            texts.resize(expected.size() / model.dimensions());
            auto const ours = embeddings(model, texts, {.prompt = prompt, .normalize = uform::Normalize::as_published});
            // `tiny` normalises; so do the goldens.
            auto const off = difference(ours, expected);
            CHECK(off.largest <= 2e-6);
            worst = std::max(worst, off.largest);
        }
    }
    std::printf("prompts: unit vectors differ by at most %.2g\n", worst);
}

TEST_CASE("engine: the folder's default prompt stands before every text that names none") {
    auto texts = read_texts(data_path("families/modules/texts.jsonl"));
    Golden const golden(data_path("families/modules/golden.safetensors"));
    auto const file = uform::File::map(data_path("families/modules/prompts.json")).value();
    ModelFolder const folder("tiny");
    folder.write("1_Pooling/config.json", R"({"embedding_dimension":48,"pooling_mode":"mean","include_prompt":false})");
    auto config = std::string(file.text());
    config.insert(config.rfind('}'), R"(,"default_prompt_name":"word","similarity_fn_name":"dot")");
    folder.write("config_sentence_transformers.json", config);
    auto const model = uform::Model::load(folder.path()).value();
    CHECK(model.similarity() == uform::Similarity::dot);
    CHECK(std::ranges::count(model.prompts(), "word") == 1);
    for (std::string const prompt : {"", "query"}) {
        auto const expected =
            golden.read<float>("embeddings.mean-without-prompt." + (prompt.empty() ? std::string("word") : prompt));
        texts.resize(expected.size() / 48);
        CHECK(difference(embeddings(model, texts, {.prompt = prompt}), expected).largest <= 2e-6);
    }
}
