/// Ids, states and embeddings against the reference: tiny checkpoints, families with tokenizers, and two real models.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "golden.hpp"
#include "model_folder.hpp"
#include "skip.hpp"
#include "uform/uform.hpp"

using uform::Outputs, uform::Ram, uform::Scalar;

namespace {

double largest_difference(std::span<float const> ours, std::span<float const> theirs) {
    REQUIRE(ours.size() == theirs.size());
    double largest = 0;
    for (std::size_t i = 0; i != ours.size(); ++i) {
        double const difference = std::fabs(static_cast<double>(ours[i]) - static_cast<double>(theirs[i]));
        if (!(difference <= largest)) largest = difference; // NaN too
    }
    return largest;
}

/// The instruction sets that this machine has; the others are said to be skipped.
std::vector<uform::InstructionSet> usable_sets() {
    std::vector<uform::InstructionSet> sets;
    for (auto const set : uform::instruction_sets)
        if (uform::supports(set)) sets.push_back(set);
        else skip_part("this machine lacks " + std::string(uform::instruction_set_name(set)));
    return sets;
}

double largest_component(std::span<float const> values) {
    double largest = 0;
    for (float const value : values) largest = std::max(largest, std::fabs(static_cast<double>(value)));
    return largest;
}

/// Compares a folder with its goldens: unit vectors to 2e-6, all else to 1e-5 of its largest component. `states_texts`
/// are those whose states are in the file, empty for all.
void compare(std::string const &folder, std::string const &name, std::string const &embeddings) {
    auto const texts = read_texts(data_path(name + "/texts.jsonl"));
    Golden const golden(data_path(name + "/golden.safetensors"));
    auto const offsets = golden.read<std::uint32_t>("offsets"), ids = golden.read<std::uint32_t>("ids");
    auto const cut = golden.read<std::uint32_t>("cut");
    auto const states = golden.read<float>("states"), vectors = golden.read<float>(embeddings);
    std::vector<std::uint32_t> states_texts(texts.size());
    for (std::size_t i = 0; i != texts.size(); ++i) states_texts[i] = static_cast<std::uint32_t>(i);
    if (golden.find("states_texts")) states_texts = golden.read<std::uint32_t>("states_texts");

    for (auto const set : usable_sets()) {
        INFO(name << " on " << uform::instruction_set_name(set));
        auto const model = uform::Model::load(folder, {.instruction_set = set}).value();
        REQUIRE(model.instruction_set() == set);
        auto const tape = uform::Tape::from(texts).value();
        uform::Arena<Ram> arena;
        auto const encoded = model.text_encode(tape, Outputs::states | Outputs::embeddings, Scalar::f32, arena).value();
        REQUIRE(encoded.texts() == texts.size());
        REQUIRE(std::ranges::equal(encoded.states().offsets().value(), offsets));
        REQUIRE(std::ranges::equal(encoded.token_ids().value(), ids));
        REQUIRE(std::ranges::equal(encoded.truncated_tokens().value(), cut));
        REQUIRE(std::ranges::count_if(cut, [](auto count) { return count != 0; }) > 0); // the cut is tried at all

        double const embeddings_off = largest_difference(encoded.embeddings().values<float>().value(), vectors);
        double states_off = 0;
        std::size_t at = 0;
        for (auto const text : states_texts) {
            auto const rows = encoded.states().at(text).value().values<float>().value();
            REQUIRE(at + rows.size() <= states.size());
            states_off = std::max(states_off, largest_difference(rows, std::span(states).subspan(at, rows.size())));
            at += rows.size();
        }
        REQUIRE(at == states.size());
        std::printf("%s, %s, %s: %zu texts, %zu ids equal, largest difference of states %.2g, of embeddings %.2g\n",
                    name.c_str(), embeddings.c_str(), std::string(uform::instruction_set_name(set)).c_str(),
                    texts.size(), ids.size(), states_off, embeddings_off);
        CHECK(states_off <= 1e-5 * largest_component(states));
        CHECK(embeddings_off <= (model.normalizes() ? 2e-6 : 1e-5 * largest_component(vectors)));
    }
}

} // namespace

TEST_CASE("engine: the tiny checkpoint has the reference's ids, states and embeddings") {
    compare(data_path("tiny"), "tiny", "embeddings");
}

TEST_CASE("engine: the tiny cased checkpoint, cls and not normalised, has the reference's answers") {
    compare(data_path("tiny-cased"), "tiny-cased", "embeddings");
}

TEST_CASE("engine: all-MiniLM-L6-v2 has the reference's ids, states and embeddings") {
    auto const folder = minilm_folder();
    if (folder.empty()) return skip_test("all-MiniLM-L6-v2 was not fetched");
    compare(folder, "minilm", "embeddings");
}

TEST_CASE("engine: all-mpnet-base-v2 has the reference's ids, states and embeddings") {
    std::string const folder = UFORM_SOURCE_ROOT "/models/all-mpnet-base-v2";
    if (!uform::file_exists(folder + "/model.safetensors")) return skip_test("all-mpnet-base-v2 was not fetched");
    compare(folder, "mpnet", "embeddings");
}

TEST_CASE("engine: families with a WordPiece tokenizer have the reference's ids, states and embeddings") {
    for (std::string const name : {"families/distilbert", "families/mpnet"})
        compare(data_path(name), name, "embeddings");
}

TEST_CASE("engine: families with byte-level BPE or Unigram have the reference's ids, states and embeddings") {
    for (std::string const kind : {"roberta", "xlm-roberta", "modernbert"}) {
        std::string const name = "families/" + kind + "-text";
        ModelFolder const folder(name);
        std::filesystem::copy(data_path("text/" + kind + "/tokenizer.json"), folder.path());
        compare(folder.path(), name, "embeddings");
    }
}

TEST_CASE("engine: every pooling, in both spellings, is the reference's") {
    for (std::string const name : {"tiny", "tiny-cased"}) {
        auto const file = uform::File::map(data_path(name + "/poolings.json")).value();
        auto const cases = uform::Json::parse(file.text(), name).value();
        auto const texts = read_texts(data_path(name + "/texts.jsonl"));
        auto const tape = uform::Tape::from(texts).value();
        Golden const golden(data_path(name + "/golden.safetensors"));
        REQUIRE(cases.root().size() >= 3);
        for (std::size_t i = 0; i != cases.root().size(); ++i) {
            auto const one = cases.root()[i];
            auto const title = std::string(one.find("case").string().value());
            INFO(name << ": " << title);
            ModelFolder const folder(name);
            // The case's configuration, cut out of the line that it stands on.
            auto const line_at = file.text().find("\"case\": \"" + title + '"');
            REQUIRE(line_at != std::string_view::npos);
            auto const line = file.text().substr(line_at, file.text().find('\n', line_at) - line_at);
            auto const config_at = line.find("\"config\": ") + 10;
            folder.write("1_Pooling/config.json", std::string(line.substr(config_at, line.rfind('}') - config_at)));
            bool const normalized = one.find("normalize").boolean().value();
            auto const model = uform::Model::load(folder.path()).value();
            uform::Arena<Ram> arena;
            auto const encoded =
                model.text_encode(tape, Outputs::embeddings, Scalar::f32, arena,
                                  {.normalize = normalized ? uform::Normalize::on : uform::Normalize::off});
            auto const expected = golden.read<float>("embeddings." + title);
            REQUIRE(model.dimensions() * texts.size() == expected.size());
            double const off = largest_difference(encoded.value().embeddings().values<float>().value(), expected);
            CHECK(off <= (normalized ? 2e-6 : 1e-5 * largest_component(expected)));
        }
    }
}

TEST_CASE("engine: lower-casing before everything, where sentence_bert_config.json asks for it") {
    ModelFolder const folder("tiny-cased");
    folder.replace("sentence_bert_config.json", "\"do_lower_case\": false", "\"do_lower_case\": true");
    auto const texts = read_texts(data_path("tiny-cased/texts.jsonl"));
    Golden const golden(data_path("tiny-cased/golden.safetensors"));
    auto const model = uform::Model::load(folder.path()).value();
    auto const tape = uform::Tape::from(texts).value();
    uform::Arena<Ram> arena;
    auto const encoded = model.text_encode(tape, Outputs::states, Scalar::f32, arena).value();
    REQUIRE(
        std::ranges::equal(encoded.states().offsets().value(), golden.read<std::uint32_t>("offsets.do_lower_case")));
    REQUIRE(std::ranges::equal(encoded.token_ids().value(), golden.read<std::uint32_t>("ids.do_lower_case")));
    REQUIRE(golden.read<std::uint32_t>("ids.do_lower_case") != golden.read<std::uint32_t>("ids"));
}
