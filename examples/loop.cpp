/// The loop of the README: batches of texts through one arena, which allocates once.
///
///     loop MODEL_FOLDER
#include <cstdio>
#include <string>
#include <vector>

#include <uform/uform.hpp>

int main(int count, char **arguments) {
    if (count != 2) return std::fprintf(stderr, "usage: loop MODEL_FOLDER\n"), 2;
    auto model = uform::Model::load(arguments[1]).value();
    auto executor = uform::Executor<uform::Ram>::with_threads(2).value();
    auto arena = uform::Arena<uform::Ram>(executor); // nothing is allocated yet

    std::string bytes; // as an Arrow string column has them: bytes end to end, and where each text starts
    std::vector<std::int32_t> offsets{0};
    for (int line = 0; line != 100; ++line) {
        bytes += "line " + std::to_string(line) + " of the corpus";
        offsets.push_back(static_cast<std::int32_t>(bytes.size()));
    }
    auto corpus = uform::TapeView::of(bytes, offsets).value();

    for (std::size_t first = 0; first < corpus.size(); first += 32) {
        auto batch = corpus.subtape(first, 32);
        auto encoded = model.on(executor).text_encode(batch, uform::Outputs::embeddings, uform::Scalar::f32, arena);
        if (!encoded) return std::fprintf(stderr, "%s\n", encoded.error().what()), 1;
        auto rows = encoded->embeddings().matrix<float>().value(); // until the next call rewinds the arena
        std::printf("%zu rows of %zu, the first starts with %g; the arena holds %zu bytes\n", rows.size(),
                    model.dimensions(), static_cast<double>(rows[0][0]), arena.capacity());
    }
}
