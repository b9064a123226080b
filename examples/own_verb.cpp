/// A verb of one's own: the rows of a corpus within a radius of each query, of a count that only the call knows. It
/// takes any rows, a model's or those of another verb, and keeps the same promises as the library's own.
///
///     own_verb [MODEL_FOLDER]      finds equal texts by a model's vectors; without one, neighbours on a circle
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numbers>
#include <string>
#include <vector>

#include <uform/uform.hpp>

using Arena = uform::Arena<uform::Ram>;
using Rows = uform::Rows<uform::Ram>;

struct Neighbours {
    uform::RaggedRows<uform::Ram> ids, distances; // [queries + 1] offsets, [found, 1] each
};

/// The rows of `corpus` within `radius` (a squared distance) of each query, by their ids.
static uform::Result<Neighbours> within(Rows queries, Rows corpus, float radius, Arena &arena) {
    auto const queries_pin = queries.pin(), corpus_pin = corpus.pin(); // if one lies in `arena`, `begin` is contended
    if (!queries_pin) return queries_pin.error();
    if (!corpus_pin) return corpus_pin.error();
    auto draft = arena.begin(); // what is refused from here to `commit` leaves the old results as they are
    if (!draft) return draft.error();
    auto const from = queries.matrix<float>(), to = corpus.matrix<float>(); // checked once, read many times
    if (!from || !to || queries.columns() != corpus.columns())
        return uform::Error(uform::Status::invalid_argument,
                            "neighbours are sought in two f32 matrices of equal width");

    std::size_t const most = from->size() * to->size(); // an upper bound: pages that aren't touched cost nothing
    auto const ids = draft->place_ragged<std::uint32_t>(from->size(), most, 1);
    auto const distances = draft->place_ragged<float>(from->size(), most, 1);
    auto writing = std::move(*draft).commit(); // from here on the old results are stale
    if (!writing) return writing.error();

    auto const id = writing->values(ids);
    auto const distance = writing->values(distances);
    auto const ends = writing->offsets(ids);
    std::uint32_t found = ends[0] = 0;
    for (std::size_t i = 0; i != from->size(); ends[++i] = found)
        for (std::size_t j = 0; j != to->size(); ++j) {
            float sum = 0;
            for (std::size_t k = 0; k != queries.columns(); ++k)
                sum += ((*from)[i][k] - (*to)[j][k]) * ((*from)[i][k] - (*to)[j][k]);
            if (sum <= radius) id[found] = static_cast<std::uint32_t>(j), distance[found++] = sum;
        }
    std::ranges::copy(ends, writing->offsets(distances).begin());
    auto const done = std::move(*writing).publish();
    if (!done) return done.error();
    return Neighbours{(*done)[ids], (*done)[distances]};
}

/// Another verb: `count` points evenly on the unit circle.
static uform::Result<Rows> circle(std::size_t count, Arena &arena) {
    auto draft = arena.begin();
    if (!draft) return draft.error();
    auto const place = draft->place<float>(count, 2);
    auto writing = std::move(*draft).commit();
    if (!writing) return writing.error();
    for (std::size_t i = 0; i != count; ++i) {
        double const angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(count);
        writing->values(place)[2 * i] = static_cast<float>(std::cos(angle));
        writing->values(place)[2 * i + 1] = static_cast<float>(std::sin(angle));
    }
    auto const done = std::move(*writing).publish();
    if (!done) return done.error();
    return (*done)[place];
}

static uform::Result<Rows> embed(uform::Model const &model, std::vector<std::string> const &texts, Arena &arena) {
    auto const tape = uform::Tape::from(texts);
    if (!tape) return tape.error();
    return model.text_encode(*tape, uform::Outputs::embeddings, uform::Scalar::f32, arena)
        .transform([](uform::Encoded<uform::Ram> encoded) { return encoded.embeddings(); });
}

int main(int count, char **arguments) {
    Arena corpus_arena, query_arena, arena;
    Rows corpus, queries;
    if (count > 1) {
        auto const model = uform::Model::load(arguments[1]).value();
        corpus = embed(model, {"flour, water, salt", "the birds", "flour, water, salt", "ash"}, corpus_arena).value();
        queries = embed(model, {"flour, water, salt", "ash"}, query_arena).value();
    } else {
        corpus = circle(12, corpus_arena).value();
        queries = circle(3, query_arena).value();
    }
    float const radius = count > 1 ? 1e-6f : 0.3f;

    auto const found = within(queries, corpus, radius, arena).value();
    for (std::size_t query = 0; query != found.ids.size(); ++query) {
        std::printf("query %zu:", query);
        for (auto const id : found.ids.at(query).value().values<std::uint32_t>().value()) std::printf(" %u", id);
        std::printf("\n");
    }

    auto const own = within(queries, corpus, radius, corpus_arena);
    std::printf("into the corpus' own arena: %s, and the corpus is %s\n", own.error().what(),
                corpus.is_current() ? "current" : "stale");
    arena.limit(16);
    auto const refused = within(queries, corpus, radius, arena);
    std::printf("over the limit: %s, and what was found is %s\n", refused.error().what(),
                found.ids.is_current() ? "current" : "stale");
    arena.limit(4096);
    auto const next = within(queries, corpus, 0, arena).value();
    std::printf("after the next call what was found is %s; the arena holds %zu bytes\n",
                found.ids.is_current() ? "current" : "stale", arena.capacity());
    return next.ids.is_current() ? 0 : 1;
}
