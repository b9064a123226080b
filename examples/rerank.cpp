/// Two stages of search: an encoder finds candidates among all texts, and a cross-encoder puts them in order.
///
///     rerank ENCODER_FOLDER RERANKER_FOLDER FILE QUERY
#include <cstdio>

#include <uform/uform.hpp>

#include "texts.hpp"

int main(int count, char **arguments) {
    if (count != 5) return std::fprintf(stderr, "usage: rerank ENCODER_FOLDER RERANKER_FOLDER FILE QUERY\n"), 2;
    auto const encoder = uform::Model::load(arguments[1]).value(), reranker = uform::Model::load(arguments[2]).value();
    auto const texts = read_texts(arguments[3]);
    auto const tape = uform::Tape::from(texts).value();
    uform::Arena<uform::Ram> corpus_arena, query_arena, pair_arena;
    auto const embed = [&](uform::TapeView input, uform::Arena<uform::Ram> &arena) {
        return encoder.text_encode(input, uform::Outputs::embeddings, uform::Scalar::f32, arena).value().embeddings();
    };
    auto const corpus = embed(tape, corpus_arena).matrix<float>().value();
    auto const query = embed(arguments[4], query_arena).row<float>(0).value();
    std::vector<float> cosines; // of vectors of unit length
    for (auto const row : corpus) cosines.push_back(std::inner_product(row.begin(), row.end(), query.begin(), 0.0f));

    auto const candidates = best(cosines, 10);
    std::vector<std::string> documents;
    for (auto const candidate : candidates) documents.push_back(texts[candidate]);
    auto const scored = reranker.text_rerank(arguments[4], uform::Tape::from(documents).value(), uform::Scalar::f32,
                                             pair_arena); // one query for all
    if (!scored) return std::fprintf(stderr, "%s\n", scored.error().what()), 1;
    auto const scores = scored->probabilities().values<float>().value();
    for (auto const hit : best(scores, scores.size()))
        std::printf("%7.4f  was %2zu with %6.3f  %s\n", double(scores[hit]), hit + 1, double(cosines[candidates[hit]]),
                    documents[hit].c_str());
}
