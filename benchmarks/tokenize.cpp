/// Measures how many megabytes a second a checkpoint's tokenizer turns into ids on one thread.
///
///     tokenize FOLDER TEXT_FILE [SECONDS]
///
/// Each line of the file is a text. Prints texts, bytes and ids of one pass, the time to load, and MB/s (10^6 bytes) of
/// the median pass; passes repeat for about SECONDS, 3 unless given.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "uform/buffer.hpp"
#include "uform/file.hpp"
#include "uform/text/tokenizer.hpp"

using Clock = std::chrono::steady_clock;

static double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

static int fail(uform::Error const &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}

int main(int count, char *arguments[]) {
    if (count < 3) {
        std::fprintf(stderr, "usage: tokenize FOLDER TEXT_FILE [SECONDS]\n");
        return 2;
    }
    double const wanted = count > 3 ? std::atof(arguments[3]) : 3.0;
    auto const loading = Clock::now();
    auto const tokenizer = uform::Tokenizer::load(arguments[1]);
    if (!tokenizer) return fail(tokenizer.error());
    double const load_seconds = seconds_since(loading);
    auto const file = uform::File::map(arguments[2]);
    if (!file) return fail(file.error());

    std::vector<std::string_view> texts;
    for (std::string_view rest = file->text(); !rest.empty();) {
        std::size_t const end = std::min(rest.find('\n'), rest.size());
        texts.push_back(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }

    uform::Buffer<std::uint32_t> ids;
    uform::TokenizerScratch scratch;
    std::size_t bytes = 0, tokens = 0;
    std::vector<double> passes;
    for (auto const start = Clock::now(); passes.size() < 3 || seconds_since(start) < wanted;) {
        auto const pass = Clock::now();
        bytes = tokens = 0;
        for (std::string_view text : texts) {
            ids.clear();
            if (auto const cut = tokenizer->encode_into(text, SIZE_MAX, ids, scratch); !cut) return fail(cut.error());
            bytes += text.size(), tokens += ids.size();
        }
        passes.push_back(seconds_since(pass));
    }
    std::sort(passes.begin(), passes.end());
    double const median = passes[passes.size() / 2];
    std::printf("%zu texts, %zu bytes, %zu ids, loaded in %.1f ms, %.1f MB/s\n", texts.size(), bytes, tokens,
                load_seconds * 1e3, static_cast<double>(bytes) / median / 1e6);
    return 0;
}
