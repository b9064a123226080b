/// The heads of every family against the reference, their spellings, and the projection of single tokens.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "golden.hpp"
#include "kernels_fixture.hpp"
#include "model_folder.hpp"
#include "uform/checkpoint/checkpoint.hpp"
#include "uform/checkpoint/encoder_families.hpp"
#include "uform/encoder/head.hpp"
#include "uform/encoder/projection.hpp"
#include "uform/kernels/pooling.hpp"

using namespace uform;
using uform::test::Guarded;
using uform::test::random_floats;
using uform::test::same_bits;

namespace {

constexpr std::size_t texts_k = 3, tokens_k = 4, hidden_k = 12, vocabulary_k = 37;

struct HeadCase {
    std::string name;
    HeadKind kind;
    std::size_t outputs;
};

std::vector<HeadCase> head_cases() {
    std::vector<HeadCase> cases;
    for (std::string const family :
         {"bert", "roberta", "camembert", "xlm-roberta", "distilbert", "mpnet", "modernbert", "nomic-bert"}) {
        cases.push_back({family + "-classifier", HeadKind::classifier, 3});
        cases.push_back({family + "-token-classifier", HeadKind::token_classifier, 3});
        cases.push_back({family + "-masked", HeadKind::masked_language, vocabulary_k});
    }
    cases.push_back({"bert-classifier-one", HeadKind::classifier, 1});
    cases.push_back({"bert-masked-untied", HeadKind::masked_language, vocabulary_k});
    cases.push_back({"distilbert-masked-relu", HeadKind::masked_language, vocabulary_k});
    cases.push_back({"modernbert-classifier-mean", HeadKind::classifier, 3});
    cases.push_back({"modernbert-masked-biased", HeadKind::masked_language, vocabulary_k});
    return cases;
}

Result<Head> load(HeadCase const &one, std::string const &folder, InstructionSet set = best_instruction_set()) {
    auto const configuration = read_encoder_configuration(folder + "/config.json");
    if (!configuration) return configuration.error();
    auto const checkpoint = Checkpoint::open(folder);
    if (!checkpoint) return checkpoint.error();
    return Head::load(one.kind, *configuration, one.outputs, *checkpoint, set, folder);
}

std::vector<float> golden_states(HeadCase const &one) {
    return Golden(data_path("heads/" + one.name + "/golden.safetensors")).read<float>("states");
}

/// The rows that a head reads of texts of four tokens.
std::vector<float> rows_of(HeadInput input, std::vector<float> const &states) {
    if (input == HeadInput::each_token) return states;
    std::vector<float> rows(texts_k * hidden_k);
    for (std::size_t text = 0; text != texts_k; ++text)
        pool(input == HeadInput::mean ? Pooling::mean : Pooling::cls, &states[text * tokens_k * hidden_k], tokens_k,
             hidden_k, &rows[text * hidden_k]);
    return rows;
}

/// The scores of rows that stand `stride` floats apart, between guards.
std::vector<float> scores_of(Head const &head, std::vector<float> const &rows, std::size_t stride = hidden_k) {
    std::size_t const count = rows.size() / hidden_k;
    Guarded states(count * stride), scratch(head.scratch_floats(count)), scores(count * head.outputs());
    for (std::size_t i = 0; i != rows.size(); ++i) states[i / hidden_k * stride + i % hidden_k] = rows[i];
    head.apply(states.data(), stride, count, scratch.data(), scores.data());
    CHECK(scratch.intact());
    CHECK(scores.intact());
    return {scores.data(), scores.data() + scores.size()};
}

/// The scores of a folder's head, which may be a changed copy of the case's.
std::vector<float> scores_in(HeadCase const &one, std::string const &folder) {
    auto const head = load(one, folder).value();
    return scores_of(head, rows_of(head.input(), golden_states(one)));
}

double relative_difference(std::vector<float> const &ours, std::vector<float> const &theirs) {
    REQUIRE(ours.size() == theirs.size());
    double largest = 0, scale = 0;
    for (std::size_t i = 0; i != ours.size(); ++i) {
        uform::test::keep_worst(largest, std::fabs(static_cast<double>(ours[i]) - static_cast<double>(theirs[i])));
        scale = std::max(scale, std::fabs(static_cast<double>(theirs[i])));
    }
    return largest / scale;
}

} // namespace

TEST_CASE("every family's heads give the reference's scores", "[heads]") {
    std::size_t folders = 0;
    for (auto const &entry : std::filesystem::directory_iterator(data_path("heads"))) folders += entry.is_directory();
    CHECK(folders == head_cases().size());
    double worst = 0;
    for (auto const &one : head_cases())
        uform::test::for_each_set([&](Kernels const &kernels) {
            INFO(one.name);
            Golden const golden(data_path("heads/" + one.name + "/golden.safetensors"));
            auto const head = load(one, data_path("heads/" + one.name), kernels.set).value();
            auto const rows = rows_of(head.input(), golden.read<float>("states"));
            CHECK(head.outputs() == one.outputs);
            CHECK((head.input() == HeadInput::each_token) == (one.kind != HeadKind::classifier));
            auto const ours = scores_of(head, rows);
            double const off = relative_difference(ours, golden.read<float>("scores"));
            CHECK(off <= 1e-6);
            worst = std::max(worst, off);
            // A row alone, and rows apart from each other: the same bits.
            auto const apart = scores_of(head, rows, hidden_k + 5);
            CHECK(same_bits(apart.data(), ours.data(), ours.size()));
            for (std::size_t row = 0; row != rows.size() / hidden_k; ++row) {
                auto const *const first = rows.data() + row * hidden_k;
                auto const alone = scores_of(head, {first, first + hidden_k});
                CHECK(same_bits(alone.data(), ours.data() + row * one.outputs, one.outputs));
            }
        });
    std::printf("%zu heads: scores differ by at most %.2g of the largest\n", head_cases().size(), worst);
}

TEST_CASE("many rows at once have the scores of each, in a head of a vocabulary", "[heads]") {
    HeadCase const one = {"bert-masked", HeadKind::masked_language, vocabulary_k};
    auto const head = load(one, data_path("heads/bert-masked")).value();
    auto const rows = random_floats(3 * Head::most_rows_k * hidden_k, 1, 4);
    auto const together = scores_of(head, rows);
    for (std::size_t row = 0; row < 3 * Head::most_rows_k; row += 7) {
        auto const *const first = rows.data() + row * hidden_k;
        auto const alone = scores_of(head, {first, first + hidden_k});
        CHECK(same_bits(alone.data(), &together[row * vocabulary_k], vocabulary_k));
    }
}

TEST_CASE("the spellings of a head's tensors give the same bits", "[heads]") {
    auto const changed = [](HeadCase const &one, std::function<void(WrittenTensors &)> const &change) {
        ModelFolder const folder("heads/" + one.name);
        folder.change_weights(change);
        return scores_in(one, folder.path());
    };
    for (auto const &one : head_cases()) {
        INFO(one.name);
        auto const expected = scores_in(one, data_path("heads/" + one.name));
        auto const same = [&](std::vector<float> const &scores) {
            return scores.size() == expected.size() && same_bits(scores.data(), expected.data(), scores.size());
        };
        CHECK(same(changed(one, [](WrittenTensors &tensors) { // what isn't the head's is not looked at
            tensors["a"] = {"U8", {1}, "x"};                  // and what follows lies unaligned
            tensors["encoder.layer.0.output.dense.weight"] = {"F32", {3}, std::string(12, '\xff')};
        })));
        std::string words, prefix, decoder, decoder_bias, bias, norm;
        for (auto const &[name, tensor] : read_safetensors(data_path("heads/" + one.name + "/model.safetensors"))) {
            if (name.ends_with("word_embeddings.weight") || name.ends_with("tok_embeddings.weight")) words = name;
            if (name.ends_with("LayerNorm.weight")) norm = name.substr(0, name.size() - 6);
            if (name == "cls.predictions.bias" || name == "lm_head.bias") bias = name;
        }
        if (!norm.empty()) // as the first checkpoints of BERT have them
            CHECK(same(changed(one, [&](WrittenTensors &tensors) {
                tensors[norm + "gamma"] = tensors.at(norm + "weight"), tensors.erase(norm + "weight");
                tensors[norm + "beta"] = tensors.at(norm + "bias"), tensors.erase(norm + "bias");
            })));
        if (!bias.empty()) { // the last layer's own bias goes first
            decoder_bias = bias.substr(0, bias.size() - 4) + "decoder.bias";
            CHECK(same(changed(one, [&](WrittenTensors &tensors) {
                tensors[decoder_bias] = tensors.at(bias);
                tensors[bias].bytes.assign(tensors[bias].bytes.size(), '\0');
            })));
            CHECK(same(changed(
                one, [&](WrittenTensors &tensors) { tensors[decoder_bias] = tensors.at(bias), tensors.erase(bias); })));
        }
        if (!words.empty() && one.name != "bert-masked-untied") { // and its own weights
            bool const modern = words.find("tok_embeddings") != words.npos;
            decoder = modern                                                  ? "decoder.weight"
                      : one.name.starts_with("distilbert")                    ? "vocab_projector.weight"
                      : bias.substr(0, bias.size() - 4) == "cls.predictions." ? "cls.predictions.decoder.weight"
                                                                              : "lm_head.decoder.weight";
            CHECK(same(changed(one, [&](WrittenTensors &tensors) {
                tensors[decoder] = tensors.at(words);
                tensors[words].bytes.assign(tensors[words].bytes.size(), '\0');
            })));
            CHECK(same(changed(one, [&](WrittenTensors &tensors) { // an encoder saved without its prefix
                tensors[words.substr(words.find("embeddings."))] = tensors.at(words), tensors.erase(words);
            })));
        }
        if (one.name == "nomic-bert-classifier" || one.name == "nomic-bert-masked") // as the published files call it
            CHECK(same(changed(one, [&](WrittenTensors &tensors) {
                WrittenTensors renamed;
                for (auto &[name, tensor] : tensors)
                    renamed[name.starts_with("nomic_bert.") ? name.substr(6) : name] = tensor;
                if (one.kind == HeadKind::classifier) // by which the prefix is known
                    renamed["bert.embeddings.word_embeddings.weight"] = {"F32", {1}, std::string(4, '\0')};
                tensors = std::move(renamed);
            })));
    }
}

TEST_CASE("a head's tensor that is missing, misshapen or not of numbers is refused by name", "[heads]") {
    for (auto const &one : head_cases()) {
        ModelFolder const folder("heads/" + one.name);
        auto const whole = read_safetensors(folder.file("model.safetensors"));
        auto const refused = [&](WrittenTensors const &tensors, HeadCase const &asked, std::string const &words) {
            write_safetensors(folder.file("model.safetensors"), tensors);
            auto const head = load(asked, folder.path());
            REQUIRE_FALSE(head);
            std::string const message(head.error().message());
            INFO(message);
            CHECK(head.error().status() == Status::corrupt);
            CHECK(message.find(words) != message.npos);
            CHECK(message.starts_with(folder.path()));
        };
        for (auto const &[name, tensor] : whole) {
            INFO(one.name << ": " << name);
            if (one.name == "bert-masked-untied" && name.find("word_embeddings") != name.npos)
                continue; // not the head's
            auto changed = whole;
            changed.erase(name);
            // Without the table of words the encoder's tensors are looked for without a prefix.
            bool const prefixed = name.find("embeddings") != name.npos || name.find("pooler") != name.npos;
            // Where the last layer has nothing of its own, what is shared is looked for.
            bool const replaced = name.ends_with("decoder.weight") || name.ends_with("decoder.bias");
            bool const has_words = one.name == "bert-masked-untied" && name.ends_with("decoder.weight");
            if (!has_words) refused(changed, one, prefixed || replaced ? "is missing" : "\"" + name + "\" is missing");
            changed[name] = tensor;
            changed[name].shape.back() += 1;
            changed[name].bytes.resize(tensor.bytes.size() / tensor.shape.back() * (tensor.shape.back() + 1));
            refused(changed, one, "\"" + name + "\" has the shape");
            for (std::size_t const at : {std::size_t{0}, tensor.bytes.size() - 4}) {
                changed[name] = tensor;
                float const bad = at ? -HUGE_VALF : std::nanf("");
                std::memcpy(changed[name].bytes.data() + at, &bad, sizeof bad);
                refused(changed, one, "\"" + name + "\" holds NaN");
            }
            changed[name] = tensor;
            changed[name].dtype = "I32";
            write_safetensors(folder.file("model.safetensors"), changed);
            auto const head = load(one, folder.path());
            REQUIRE_FALSE(head);
            CHECK(head.error().status() == Status::unsupported);
        }
        for (std::size_t const outputs : {one.outputs + 1, one.outputs - 1}) { // as many labels as the head has not
            if (outputs) refused(whole, {one.name, one.kind, outputs}, "has the shape");
            else refused(whole, {one.name, one.kind, outputs}, "asks for 0 scores");
        }
    }
}

TEST_CASE("a projection of tokens is the product of its weights, with a bias or without", "[heads]") {
    std::size_t const inputs = 33, outputs = 21, count = 9, stride = 40;
    auto const weights = random_floats(inputs * outputs, 1, 1), bias = random_floats(outputs, 1, 2),
               values = random_floats(count * stride, 1, 3);
    ModelFolder const folder("heads/bert-classifier");
    auto const bytes = [](std::vector<float> const &floats) {
        return std::string(reinterpret_cast<char const *>(floats.data()), floats.size() * sizeof(float));
    };
    write_safetensors(folder.file("model.safetensors"), {{"linear.weight", {"F32", {outputs, inputs}, bytes(weights)}},
                                                         {"linear.bias", {"F32", {outputs}, bytes(bias)}}});
    auto const checkpoint = Checkpoint::open(folder.path()).value();
    uform::test::for_each_set([&](Kernels const &kernels) {
        for (bool const biased : {false, true})
            for (auto const activation : {DenseActivation::identity, DenseActivation::tanh, DenseActivation::relu}) {
                auto const projection = Projection::load(checkpoint, "linear", inputs, outputs, biased, activation,
                                                         kernels.set, folder.path())
                                            .value();
                CHECK(projection.inputs() == inputs);
                CHECK(projection.outputs() == outputs);
                Guarded const rows(values);
                Guarded into(count * outputs);
                projection.apply(rows.data(), stride, count, into.data());
                CHECK(into.intact());
                double worst = 0;
                for (std::size_t row = 0; row != count; ++row)
                    for (std::size_t i = 0; i != outputs; ++i) {
                        double sum = biased ? static_cast<double>(bias[i]) : 0;
                        for (std::size_t k = 0; k != inputs; ++k)
                            sum += static_cast<double>(values[row * stride + k]) *
                                   static_cast<double>(weights[i * inputs + k]);
                        if (activation == DenseActivation::tanh) sum = std::tanh(sum);
                        if (activation == DenseActivation::relu) sum = std::max(sum, 0.0);
                        uform::test::keep_worst(worst, std::fabs(sum - static_cast<double>(into[row * outputs + i])));
                    }
                CHECK(worst < 4e-6);
            }
    });
    auto const refused = [&](std::string const &name, std::size_t wanted, std::string const &words) {
        auto const projection = Projection::load(checkpoint, name, inputs, wanted, true, DenseActivation::identity,
                                                 best_instruction_set(), folder.path());
        REQUIRE_FALSE(projection);
        std::string const message(projection.error().message());
        INFO(message);
        CHECK(projection.error().status() == Status::corrupt);
        CHECK(message.starts_with(folder.path()));
        CHECK(message.find(words) != message.npos);
    };
    refused("other", outputs, "\"other.weight\" is missing");
    refused("linear", outputs + 1, "\"linear.weight\" has the shape");
    refused("linear", 0, "asks for 0 outputs");
}
