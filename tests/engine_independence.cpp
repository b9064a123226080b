/// A text's rows are the same bits alone, beside any other text, at any position and on any number of threads.
#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "golden.hpp"
#include "skip.hpp"
#include "uform/uform.hpp"

using uform::Outputs, uform::Ram, uform::Scalar;

namespace {

struct Answer {
    std::vector<std::vector<float>> embeddings, states; // by text
};

template <class Model> Answer encode(Model const &model, std::vector<std::string> const &texts, Outputs outputs) {
    uform::Arena<Ram> arena;
    auto const tape = uform::Tape::from(texts).value();
    auto const encoded = model.text_encode(tape, outputs, Scalar::f32, arena).value();
    Answer answer;
    for (std::size_t i = 0; i != texts.size(); ++i) {
        if (contains(outputs, Outputs::embeddings)) {
            auto const row = encoded.embeddings().template row<float>(i).value();
            answer.embeddings.emplace_back(row.begin(), row.end());
        }
        if (contains(outputs, Outputs::states)) {
            auto const rows = uform::values<float>(encoded.states().at(i).value()).value();
            answer.states.emplace_back(rows.begin(), rows.end());
        }
    }
    return answer;
}

bool same_bits(std::vector<float> const &a, std::vector<float> const &b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// Texts of every length that the model reads, among them the empty one and some that are cut.
std::vector<std::string> some_texts(std::size_t longest, std::size_t step) {
    std::vector<std::string> texts{""};
    std::mt19937 random(7);
    for (std::size_t words = 1; words <= longest + 5; words += step) {
        std::string text;
        for (std::size_t i = 0; i != words; ++i) text += static_cast<char>('a' + random() % 26), text += ' ';
        texts.push_back(text);
    }
    return texts;
}

void check_model(std::string const &folder, std::vector<std::string> const &texts, uform::InstructionSet set) {
    INFO(folder << " on " << uform::instruction_set_name(set));
    constexpr auto both = Outputs::embeddings | Outputs::states;
    auto const model = uform::Model::load(folder, {.instruction_set = set}).value();
    Answer alone;
    for (auto const &text : texts) {
        auto one = encode(model, {text}, both);
        alone.embeddings.push_back(one.embeddings[0]), alone.states.push_back(one.states[0]);
    }
    REQUIRE_FALSE(same_bits(alone.states[1], alone.states[2])); // the comparison can tell
    auto const check = [&](std::string const &how, std::vector<std::size_t> const &order, Answer const &answer) {
        INFO(how);
        std::size_t other = 0;
        for (std::size_t i = 0; i != order.size(); ++i) {
            if (!answer.embeddings.empty()) other += !same_bits(answer.embeddings[i], alone.embeddings[order[i]]);
            if (!answer.states.empty()) other += !same_bits(answer.states[i], alone.states[order[i]]);
        }
        CHECK(other == 0);
    };

    std::vector<std::size_t> order(texts.size());
    for (std::size_t i = 0; i != order.size(); ++i) order[i] = i;
    auto const pick = [&] {
        std::vector<std::string> picked;
        for (auto const i : order) picked.push_back(texts[i]);
        return picked;
    };
    check("together", order, encode(model, pick(), both));
    check("embeddings alone", order, encode(model, pick(), Outputs::embeddings));
    check("states alone", order, encode(model, pick(), Outputs::states));
    std::vector<std::size_t> const backwards(order.rbegin(), order.rend());
    order = backwards;
    check("backwards", order, encode(model, pick(), both));
    std::mt19937 random(11);
    for (std::size_t threads = 1; threads <= 4; ++threads) {
        auto const executor = uform::Executor<Ram>::with_threads(threads).value();
        for (int round = 0; round != 3; ++round) {
            std::shuffle(order.begin(), order.end(), random);
            check("shuffled, threads: " + std::to_string(threads), order, encode(model.on(executor), pick(), both));
        }
        check("one text, threads: " + std::to_string(threads), {3}, encode(model.on(executor), {texts[3]}, both));
    }
    for (std::size_t position = 0; position < 6; ++position) { // a short one at each position among long ones
        order.assign(6, texts.size() - 1), order[position] = 1;
        check("position " + std::to_string(position), order, encode(model, pick(), both));
    }
}

} // namespace

TEST_CASE("engine: a text's bits don't depend on the batch or the threads, tiny checkpoints") {
    for (auto const set : uform::instruction_sets) {
        if (!uform::supports(set)) {
            skip_part("this machine lacks " + std::string(uform::instruction_set_name(set)));
            continue;
        }
        check_model(data_path("tiny"), some_texts(40, 1), set);
        check_model(data_path("tiny-cased"), some_texts(24, 1), set);
    }
}

TEST_CASE("engine: a text's bits don't depend on the batch or the threads, all-MiniLM-L6-v2") {
    auto const folder = minilm_folder();
    if (folder.empty()) return skip_test("all-MiniLM-L6-v2 was not fetched");
    check_model(folder, some_texts(256, 43), uform::best_instruction_set());
}
