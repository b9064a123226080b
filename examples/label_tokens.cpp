/// The label of every token of some texts, beside the bytes that it stands for.
///
///     label_tokens MODEL_FOLDER TEXT…
#include <algorithm>
#include <cstdio>
#include <span>
#include <string_view>

#include <uform/uform.hpp>

int main(int count, char **arguments) {
    if (count < 3) return std::fprintf(stderr, "usage: label_tokens MODEL_FOLDER TEXT…\n"), 2;
    auto const model = uform::Model::load(arguments[1]).value();
    std::span const texts(arguments + 2, arguments + count);
    uform::Arena<uform::Ram> arena;
    auto const labelled = model.text_classify(uform::Tape::from(texts).value(), uform::Scalar::f32, arena);
    if (!labelled) return std::fprintf(stderr, "%s\n", labelled.error().what()), 1;

    uform::Buffer<uform::Token> tokens; // the same tokens as the model's, with their places in the text
    uform::TokenizerScratch scratch;
    for (std::size_t i = 0; i != texts.size(); ++i) {
        std::string_view const text = texts[i];
        tokens.clear();
        if (!model.tokenizer().encode_tokens_into(text, model.max_sequence_length(), tokens, scratch)) return 1;
        auto const rows = labelled->token_probabilities().at(i);
        if (!rows) return std::fprintf(stderr, "%s\n", rows.error().what()), 1; // a classifier of whole texts
        auto const scores = rows->matrix<float>().value();
        for (std::size_t token = 0; token != scores.size(); ++token) {
            auto const [id, segment, first, last] = tokens[token];
            if (first == last) continue; // a special token
            auto const best = std::ranges::max_element(scores[token]) - scores[token].begin();
            std::string_view const bytes = text.substr(first, last - first);
            std::printf("%-12s %6.3f  %3zu to %3zu  %.*s\n", model.labels()[static_cast<std::size_t>(best)].c_str(),
                        double(scores[token][static_cast<std::size_t>(best)]), std::size_t{first}, std::size_t{last},
                        static_cast<int>(bytes.size()), bytes.data());
        }
    }
}
