/// Searches text files by meaning: every text becomes a vector, and so does the query; the nearest ones are printed.
///
///     semantic_search MODEL_FOLDER FILE… [--query TEXT]… [--top N] [--threads N] [--paragraphs]
///
/// A text is a line, or with --paragraphs what stands between blank lines or lines of a lone %. Without --query,
/// queries are read from standard input.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include <uform/uform.hpp>

namespace {

struct Text {
    std::string words;
    std::string const *file;
    std::size_t line;
};

struct Options {
    std::string model;
    std::vector<std::string> files, queries;
    std::size_t top = 5, threads = 0;
    bool paragraphs = false;
};

int report(uform::Error const &error) {
    std::cerr << "semantic_search: " << error.status() << ": " << error.message() << '\n';
    return 1;
}

bool read_options(int count, char **arguments, Options &options) {
    auto const number = [](char const *text, std::size_t &value) {
        char *end = nullptr;
        value = std::strtoul(text, &end, 10);
        return end != text && *end == '\0';
    };
    for (int i = 1; i < count; ++i) {
        std::string_view const argument = arguments[i];
        bool const has_value = i + 1 < count;
        if (argument == "--paragraphs") options.paragraphs = true;
        else if (argument == "--query" && has_value) options.queries.emplace_back(arguments[++i]);
        else if (argument == "--top" && has_value && number(arguments[i + 1], options.top)) ++i;
        else if (argument == "--threads" && has_value && number(arguments[i + 1], options.threads)) ++i;
        else if (argument.starts_with("--")) return false;
        else if (options.model.empty()) options.model = argument;
        else options.files.emplace_back(argument);
    }
    return !options.model.empty() && !options.files.empty();
}

bool read_texts(std::string const &file, bool paragraphs, std::vector<Text> &texts) {
    std::ifstream in(file);
    if (!in) return false;
    bool starts = true;
    std::size_t line = 0;
    for (std::string words; std::getline(in, words);) {
        ++line;
        bool const blank = words.find_first_not_of(" \t\r") == std::string::npos;
        if (blank || (paragraphs && words == "%")) starts = true;
        else if (starts || !paragraphs) texts.push_back({words, &file, line}), starts = false;
        else texts.back().words += '\n' + words;
    }
    return !in.bad(); // a folder opens, and can't be read
}

/// Encodes the corpus batch by batch through one arena; answers its rows end to end.
uform::Result<std::vector<float>> encode(uform::BoundModel<uform::Ram> const &model, std::vector<Text> const &texts,
                                         uform::Arena<uform::Ram> &arena) {
    constexpr std::size_t batch_size = 256;
    bool const shows_progress = isatty(STDERR_FILENO);
    std::vector<float> index;
    uform::Tape tape;
    for (std::size_t first = 0; first < texts.size(); first += batch_size) {
        std::size_t const last = std::min(first + batch_size, texts.size());
        std::vector<std::string_view> batch;
        for (std::size_t i = first; i != last; ++i) batch.push_back(texts[i].words);
        if (auto done = tape.assign(batch); !done) return done.error();

        auto encoded = model.text_encode(tape, uform::Outputs::embeddings, uform::Scalar::f32, arena);
        if (!encoded) return encoded.error();
        auto rows = encoded->embeddings().values<float>(); // until the next call rewinds the arena
        if (!rows) return rows.error();
        index.insert(index.end(), rows->begin(), rows->end());
        if (shows_progress) std::cerr << "\r" << last << " of " << texts.size() << " texts encoded" << std::flush;
    }
    if (shows_progress) std::cerr << '\n';
    return index;
}

uform::Result<void> answer(uform::BoundModel<uform::Ram> const &model, std::string const &query, Options const &options,
                           std::vector<Text> const &texts, std::vector<float> const &index,
                           uform::Arena<uform::Ram> &arena) {
    auto encoded = model.text_encode(query, uform::Outputs::embeddings, uform::Scalar::f32, arena);
    if (!encoded) return encoded.error();
    auto vector = encoded->embeddings().row<float>(0);
    if (!vector) return vector.error();

    std::vector<float> scores(texts.size()); // the rows are of unit length, so the dot product is the cosine
    for (std::size_t i = 0; i != texts.size(); ++i)
        scores[i] = std::inner_product(vector->begin(), vector->end(), index.data() + i * vector->size(), 0.0f);
    std::vector<std::size_t> order(texts.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    auto const best = order.begin() + static_cast<std::ptrdiff_t>(std::min(options.top, order.size()));
    std::partial_sort(order.begin(), best, order.end(), [&](auto a, auto b) { return scores[a] > scores[b]; });

    std::cout << "\n> " << query << '\n';
    for (auto hit = order.begin(); hit != best; ++hit) {
        Text const &text = texts[*hit];
        char score[16];
        std::snprintf(score, sizeof score, "%6.3f", static_cast<double>(scores[*hit]));
        std::cout << score << "  " << *text.file << ':' << text.line << '\n';
        for (std::size_t at = 0; at < text.words.size();) { // the text, indented
            std::size_t const end = std::min(text.words.find('\n', at), text.words.size());
            std::cout << "        " << std::string_view(text.words).substr(at, end - at) << '\n';
            at = end + 1;
        }
    }
    return {};
}

} // namespace

int main(int count, char **arguments) {
    Options options;
    if (!read_options(count, arguments, options)) {
        std::cerr
            << "usage: semantic_search MODEL_FOLDER FILE… [--query TEXT]… [--top N] [--threads N] [--paragraphs]\n";
        return 2;
    }
    std::vector<Text> texts;
    for (auto const &file : options.files)
        if (!read_texts(file, options.paragraphs, texts)) {
            std::cerr << "semantic_search: " << file << " can't be read\n";
            return 1;
        }
    if (texts.empty()) {
        std::cerr << "semantic_search: the files hold no text\n";
        return 1;
    }

    auto model = uform::Model::load(options.model);
    if (!model) return report(model.error());
    auto executor = uform::Executor<uform::Ram>::with_threads(options.threads);
    if (!executor) return report(executor.error());
    auto arena = uform::Arena<uform::Ram>(*executor);
    auto const bound = model->on(*executor);

    auto index = encode(bound, texts, arena);
    if (!index) return report(index.error());
    std::cerr << texts.size() << " texts, " << model->dimensions() << " dimensions, " << arena.capacity() / 1024
              << " KiB of arena\n";

    for (auto const &query : options.queries)
        if (auto done = answer(bound, query, options, texts, *index, arena); !done) return report(done.error());
    if (!options.queries.empty()) return 0;
    for (std::string query; std::cerr << "\nquery: " << std::flush, std::getline(std::cin, query);)
        if (!query.empty())
            if (auto done = answer(bound, query, options, texts, *index, arena); !done) return report(done.error());
    std::cerr << '\n';
}
