/// Labels that no one trained: the label whose sentence is nearest to a text, of a classifier of pairs where the folder
/// is one ("a premise entails a hypothesis"), else by the cosine of embeddings.
///
///     zero_shot MODEL_FOLDER FILE LABEL…
#include <strings.h>

#include <cstdio>

#include <uform/uform.hpp>

#include "texts.hpp"

int main(int count, char **arguments) {
    if (count < 4) return std::fprintf(stderr, "usage: zero_shot MODEL_FOLDER FILE LABEL…\n"), 2;
    auto const model = uform::Model::load(arguments[1]).value();
    auto const texts = read_texts(arguments[2]);
    std::vector<std::string> hypotheses;
    for (int i = 3; i != count; ++i) hypotheses.push_back(std::string("This text is about ") + arguments[i] + ".");
    auto const labels = uform::Tape::from(hypotheses).value();
    uform::Arena<uform::Ram> label_arena, arena;

    bool const has_pairs = contains(model.outputs(), uform::Outputs::probabilities);
    std::size_t entailment = model.labels().size(); // the label's number, by its name
    for (std::size_t i = 0; i != model.labels().size(); ++i)
        if (strcasecmp(model.labels()[i].c_str(), "entailment") == 0) entailment = i;
    if (has_pairs && entailment == model.labels().size())
        return std::fprintf(stderr, "zero_shot: the classifier has no label called entailment\n"), 1;
    auto const embed = [&](uform::TapeView tape, uform::Arena<uform::Ram> &into) {
        return model
            .text_encode(tape, uform::Outputs::embeddings, uform::Scalar::f32, into,
                         {.normalize = uform::Normalize::on})
            .value()
            .embeddings();
    };
    auto const label_rows = has_pairs ? uform::Rows<uform::Ram>() : embed(labels, label_arena);
    for (auto const &text : texts) {
        std::vector<float> scores;
        if (has_pairs) {
            auto const rows = model.text_classify(text, labels, uform::Scalar::f32, arena).value().probabilities();
            for (auto const row : rows.matrix<float>().value()) scores.push_back(row[entailment]);
        } else {
            auto const vector = embed(text, arena).row<float>(0).value();
            for (auto const row : label_rows.matrix<float>().value())
                scores.push_back(std::inner_product(row.begin(), row.end(), vector.begin(), 0.0f));
        }
        auto const hit = best(scores, 1)[0];
        std::printf("%6.3f  %-12s %s\n", double(scores[hit]), arguments[3 + hit], text.c_str());
    }
}
