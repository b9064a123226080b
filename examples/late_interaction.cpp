/// ColBERT search: token vectors of a query and of documents, and a verb of one's own that compares them.
///
///     late_interaction MODEL_FOLDER FILE QUERY…
#include <cstdio>

#include <uform/uform.hpp>

#include "texts.hpp"

using Arena = uform::Arena<uform::Ram>;
using Encoded = uform::Encoded<uform::Ram>;

/// `[queries, documents]`: for each token of a query the best token of a document, summed over the query.
static uform::Result<uform::Rows<uform::Ram>> max_sim(Encoded const &queries, Encoded const &documents, Arena &arena) {
    auto const queries_pin = queries.pin(), documents_pin = documents.pin(); // the inputs stay while this reads them
    if (!queries_pin) return queries_pin.error();
    if (!documents_pin) return documents_pin.error();
    auto draft = arena.begin();
    if (!draft) return draft.error();
    auto const place = draft->place<float>(queries.texts(), documents.texts());
    auto writing = std::move(*draft).commit();
    if (!writing) return writing.error();
    float *score = writing->data(place);
    for (std::size_t query = 0; query != queries.texts(); ++query) {
        auto const left = queries.token_vectors().at(query).value().matrix<float>().value();
        for (std::size_t document = 0; document != documents.texts(); ++document, ++score) {
            auto const right = documents.token_vectors().at(document).value().matrix<float>().value();
            *score = 0;
            for (auto const token : left) {
                float most = -1e30f;
                for (auto const other : right)
                    most = std::max(most, std::inner_product(token.begin(), token.end(), other.begin(), 0.0f));
                *score += most;
            }
        }
    }
    return std::move(*writing).publish().transform([&](auto const &published) { return published[place]; });
}

int main(int count, char **arguments) {
    if (count < 4) return std::fprintf(stderr, "usage: late_interaction MODEL_FOLDER FILE QUERY…\n"), 2;
    auto const model = uform::Model::load(arguments[1]).value();
    auto const texts = read_texts(arguments[2]);
    Arena document_arena, query_arena, arena;
    auto const encode = [&](auto const &range, uform::Role role, Arena &into) {
        return model
            .text_encode(uform::Tape::from(range).value(), uform::Outputs::token_vectors, uform::Scalar::f32, into,
                         {.role = role})
            .value();
    };
    auto const documents = encode(texts, uform::Role::document, document_arena);
    auto const queries = encode(std::span(arguments + 3, arguments + count), uform::Role::query, query_arena);
    auto const scores = max_sim(queries, documents, arena).value();
    for (std::size_t query = 0; query != scores.rows(); ++query) {
        auto const row = scores.row<float>(query).value();
        std::printf("> %s\n", arguments[3 + query]);
        for (auto const hit : best(row, 3)) std::printf("%8.4f  %s\n", double(row[hit]), texts[hit].c_str());
    }
}
