/// Token states with offsets: the state of every token, parted by text, beside the texts' vectors in one call.
///
///     token_states MODEL_FOLDER TEXT…
#include <cstdio>
#include <span>

#include <uform/uform.hpp>

int main(int count, char **arguments) {
    if (count < 3) return std::fprintf(stderr, "usage: token_states MODEL_FOLDER TEXT…\n"), 2;
    auto model = uform::Model::load(arguments[1]).value();
    auto tape = uform::Tape::from(std::span(arguments + 2, arguments + count)).value();
    uform::Arena<uform::Ram> arena; // no executor: calls run on this thread

    auto encoded =
        model.text_encode(tape, uform::Outputs::states | uform::Outputs::embeddings, uform::Scalar::f32, arena);
    if (!encoded) return std::fprintf(stderr, "%s\n", encoded.error().what()), 1;
    auto states = encoded->states();
    auto offsets = states.offsets().value();
    auto ids = encoded->token_ids().value();
    auto cut = encoded->truncated_tokens().value();

    for (std::size_t text = 0; text != states.size(); ++text) {
        auto tokens = states.at(text).value().matrix<float>().value(); // checked once, read many times
        std::printf("text %zu: %zu tokens, %u cut\n", text, tokens.size(), cut[text]);
        for (std::size_t token = 0; token != tokens.size(); ++token)
            std::printf("  id %5u  state %9.5f %9.5f …\n", ids[offsets[text] + token],
                        static_cast<double>(tokens[token][0]), static_cast<double>(tokens[token][1]));
    }
}
