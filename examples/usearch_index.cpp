/// An index of USearch over the rows of an arena, without a copy: it keeps the addresses, and the arena keeps the rows.
///
///     usearch_index MODEL_FOLDER FILE QUERY…
///
/// Needs USearch's headers, which tools/fetch_usearch.py fetches.
#include <cstdio>

#include <usearch/index.hpp>

#include <usearch/index_dense.hpp>

#include <uform/uform.hpp>

#include "texts.hpp"

namespace us = unum::usearch;

int main(int count, char **arguments) {
    if (count < 4) return std::fprintf(stderr, "usage: usearch_index MODEL_FOLDER FILE QUERY…\n"), 2;
    auto const model = uform::Model::load(arguments[1]).value();
    auto const texts = read_texts(arguments[2]);
    auto const tape = uform::Tape::from(texts).value();
    uform::Arena<uform::Ram> corpus_arena, query_arena;
    auto const embed = [&](uform::TapeView input, uform::Arena<uform::Ram> &arena) {
        return model.text_encode(input, uform::Outputs::embeddings, uform::Scalar::i8, arena).value().embeddings();
    };
    auto const corpus = embed(tape, corpus_arena).pin().value(); // no call rewinds what the index points at
    auto const rows = corpus.matrix<std::int8_t>().value();

    us::metric_punned_t const metric(corpus.columns(), us::metric_kind_t::cos_k, us::scalar_kind_t::i8_k);
    us::index_dense_t index = us::index_dense_t::make(metric).index;
    if (!index.try_reserve(us::index_limits_t(rows.size(), 1))) return std::fprintf(stderr, "no memory\n"), 1;
    for (std::size_t i = 0; i != rows.size(); ++i)
        if (auto const added = index.add(i, rows[i].data(), 0, false); !added) // false: the address, not a copy
            return std::fprintf(stderr, "%s\n", added.error.what()), 1;

    for (int i = 3; i != count; ++i) {
        auto const query = embed(arguments[i], query_arena).row<std::int8_t>(0).value();
        auto const found = index.search(query.data(), 3);
        std::printf("> %s\n", arguments[i]);
        for (std::size_t hit = 0; hit != found.size(); ++hit)
            std::printf("%6.3f  %s\n", 1 - double(found[hit].distance), texts[found[hit].member.key].c_str());
    }
    std::printf("%zu rows of %zu bytes, where the arena has them\n", index.size(), corpus.row_stride_bytes());
}
