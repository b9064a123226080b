/// What searching eight-bit and one-bit rows loses: each text of a file is a query, and the share of its ten nearest in
/// float32 that are among its ten nearest in the narrow rows is printed.
///
///     narrow_search MODEL_FOLDER FILE
#include <bit>
#include <cstdio>

#include <uform/uform.hpp>

#include "texts.hpp"

/// How alike two rows of the same scalar are; the larger, the more.
static float likeness(std::span<float const> a, std::span<float const> b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0f);
}
static float likeness(std::span<std::int8_t const> a, std::span<std::int8_t const> b) {
    return static_cast<float>(std::inner_product(a.begin(), a.end(), b.begin(), 0)); // 127² is the cosine of 1
}
static float likeness(std::span<uform::B1x8 const> a, std::span<uform::B1x8 const> b) {
    int differ = 0;
    for (std::size_t i = 0; i != a.size(); ++i) differ += std::popcount(static_cast<unsigned>(a[i].bits ^ b[i].bits));
    return static_cast<float>(-differ);
}

/// The ten nearest other rows of each row.
template <class T> static std::vector<std::vector<std::size_t>> neighbours(uform::Rows<uform::Ram> rows) {
    auto const matrix = rows.matrix<T>().value();
    std::vector<std::vector<std::size_t>> all;
    for (std::size_t i = 0; i != matrix.size(); ++i) {
        std::vector<float> scores;
        for (auto const row : matrix) scores.push_back(likeness(matrix[i], row));
        scores[i] = -1e30f;
        all.push_back(best(scores, 10));
    }
    return all;
}

int main(int count, char **arguments) {
    if (count != 3) return std::fprintf(stderr, "usage: narrow_search MODEL_FOLDER FILE\n"), 2;
    auto const model = uform::Model::load(arguments[1]).value();
    auto const tape = uform::Tape::from(read_texts(arguments[2])).value();
    uform::Arena<uform::Ram> arena;
    auto const rows = [&](uform::Scalar scalar) {
        return model.text_encode(tape, uform::Outputs::embeddings, scalar, arena).value().embeddings();
    };
    auto const exact = neighbours<float>(rows(uform::Scalar::f32));
    auto const report = [&](char const *name, uform::Rows<uform::Ram> narrow, auto const &found) {
        std::size_t kept = 0, all = 0;
        for (std::size_t i = 0; i != exact.size(); ++i, all += exact[i - 1].size())
            for (auto const one : found[i]) kept += std::ranges::count(exact[i], one) != 0;
        std::printf("%s: %zu bytes a row, %.1f %% of the ten nearest kept\n", name, narrow.row_stride_bytes(),
                    100 * static_cast<double>(kept) / static_cast<double>(all));
    };
    auto const bytes = rows(uform::Scalar::i8);
    report("i8", bytes, neighbours<std::int8_t>(bytes));
    auto const bits = rows(uform::Scalar::b1);
    report("b1", bits, neighbours<uform::B1x8>(bits));
}
