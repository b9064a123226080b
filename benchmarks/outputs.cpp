// What a narrower scalar costs beside float32: embeddings, and the states of every token, of one model.
//
//     outputs MODEL_FOLDER TEXTS_FILE [ROUNDS]
//
// TEXTS_FILE holds a UTF-8 text a line. One thread. The scalars take turns within a round; printed are medians over the
// rounds, of each scalar's time over that of f32 in the same round.

#include <uform/uform.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

using uform::Outputs, uform::Scalar;

static double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

int main(int count, char **arguments) {
    if (count < 3) return std::fprintf(stderr, "usage: outputs MODEL_FOLDER TEXTS_FILE [ROUNDS]\n"), 2;
    auto const rounds = count > 3 ? std::strtoul(arguments[3], nullptr, 10) : 9;
    auto const model = uform::Model::load(arguments[1]).value();
    std::vector<std::string> lines;
    std::ifstream file(arguments[2]);
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    auto const tape = uform::Tape::from(lines).value();
    uform::Arena<uform::Ram> arena;

    constexpr Scalar scalars[] = {Scalar::f32, Scalar::f16, Scalar::bf16, Scalar::i8, Scalar::b1};
    std::printf("%zu texts, %s\n\n| output | scalar | of f32's time | spread |\n|---|---|---|---|\n", lines.size(),
                std::string(uform::instruction_set_name(model.instruction_set())).c_str());
    for (Outputs const outputs : {Outputs::embeddings, Outputs::states}) {
        std::vector<double> ratios[std::size(scalars)];
        for (std::size_t round = 0; round != rounds + 1; ++round) { // the first warms up
            double seconds[std::size(scalars)];
            for (std::size_t i = 0; i != std::size(scalars); ++i) {
                auto const start = std::chrono::steady_clock::now();
                if (auto const done = model.text_encode(tape, outputs, scalars[i], arena); !done)
                    return std::fprintf(stderr, "%s\n", done.error().what()), 1;
                seconds[i] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
            }
            if (round == 0) continue;
            for (std::size_t i = 0; i != std::size(scalars); ++i) ratios[i].push_back(seconds[i] / seconds[0]);
        }
        for (std::size_t i = 1; i != std::size(scalars); ++i) {
            auto const [least, most] = std::minmax_element(ratios[i].begin(), ratios[i].end());
            std::printf("| %s | %s | %.3f | %.3f to %.3f |\n", std::string(uform::outputs_name(outputs)).c_str(),
                        std::string(uform::scalar_name(scalars[i])).c_str(), median(ratios[i]), *least, *most);
        }
    }
}
