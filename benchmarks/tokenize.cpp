/// Measures how fast a checkpoint's tokenizer loads and turns texts into ids on one thread.
///
///     tokenize FOLDER TEXT_FILE [SECONDS]
///     tokenize FOLDER
///
/// Each line of the file is a text. The first prints texts, bytes and ids of one pass, the time to load, and MB/s (10^6
/// bytes) of the median pass; passes repeat for about SECONDS, 3 unless given. The second is asked a line at a time, as
/// compare.py does, and answers a line each:
///
///     load         seconds to load the tokenizer once more
///     texts FILE   how many texts it has, the texts from now on
///     pass         seconds and ids of all texts
///     ids FILE     ids of all texts, in native u32, written there: of each text their count before them
///     version      the library's
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "uform/buffer.hpp"
#include "uform/file.hpp"
#include "uform/text/tokenizer.hpp"
#include "uform/version.hpp"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

[[noreturn]] void fail(std::string_view what) {
    std::cerr << "tokenize: " << what << '\n';
    std::exit(1);
}

template <typename Value> Value value_of(uform::Result<Value> result) {
    if (!result) fail(result.error().what());
    return std::move(*result);
}

/// The lines of a file, which it keeps mapped.
class Texts {
  public:
    explicit Texts(std::string const &path) : file_(value_of(uform::File::map(path))) {
        for (std::string_view rest = file_.text(); !rest.empty();) {
            std::size_t const end = std::min(rest.find('\n'), rest.size());
            lines_.push_back(rest.substr(0, end));
            bytes_ += end;
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
    }

    std::vector<std::string_view> const &lines() const { return lines_; }
    std::size_t bytes() const { return bytes_; }

  private:
    uform::File file_;
    std::vector<std::string_view> lines_;
    std::size_t bytes_ = 0;
};

/// A tokenizer with the memory that it needs again and again.
class Bench {
  public:
    explicit Bench(std::string folder) : folder_(std::move(folder)), tokenizer_(load()) {}

    uform::Tokenizer load() {
        auto const start = Clock::now();
        auto tokenizer = value_of(uform::Tokenizer::load(folder_));
        load_seconds_ = seconds_since(start);
        return tokenizer;
    }

    /// Of the last load.
    double load_seconds() const { return load_seconds_; }

    /// Answers how many ids the texts have, and gives those of each to `use`.
    template <typename Use> std::size_t pass(Texts const &texts, Use const &use) {
        std::size_t total = 0;
        for (std::string_view const text : texts.lines()) {
            ids_.clear();
            (void)value_of(tokenizer_.encode_into(text, SIZE_MAX, ids_, scratch_));
            total += ids_.size();
            use(ids_);
        }
        return total;
    }

    /// Answers how many ids the texts have.
    std::size_t pass(Texts const &texts) {
        return pass(texts, [](uform::Buffer<std::uint32_t> const &) {});
    }

    void write(Texts const &texts, std::string const &path) {
        std::ofstream file(path, std::ios::binary);
        auto const put = [&](std::uint32_t const *values, std::size_t count) {
            file.write(reinterpret_cast<char const *>(values),
                       static_cast<std::streamsize>(count * sizeof(std::uint32_t)));
        };
        pass(texts, [&](uform::Buffer<std::uint32_t> const &ids) {
            auto const count = static_cast<std::uint32_t>(ids.size());
            put(&count, 1), put(ids.data(), ids.size());
        });
        file.close();
        if (!file) fail(path + " cannot be written");
    }

  private:
    std::string folder_;
    double load_seconds_ = 0;
    uform::Tokenizer tokenizer_;
    uform::Buffer<std::uint32_t> ids_;
    uform::TokenizerScratch scratch_;
};

/// Measures for about so many seconds, and prints.
void run(Bench &bench, Texts const &texts, double wanted) {
    std::size_t ids = 0;
    std::vector<double> passes;
    for (auto const start = Clock::now(); passes.size() < 3 || seconds_since(start) < wanted;) {
        auto const begin = Clock::now();
        ids = bench.pass(texts);
        passes.push_back(seconds_since(begin));
    }
    std::sort(passes.begin(), passes.end());
    std::printf("%zu texts, %zu bytes, %zu ids, loaded in %.1f ms, %.1f MB/s\n", texts.lines().size(), texts.bytes(),
                ids, bench.load_seconds() * 1e3, static_cast<double>(texts.bytes()) / passes[passes.size() / 2] / 1e6);
}

/// Answers the lines of standard input until it ends.
void serve(Bench &bench) {
    std::vector<Texts> texts; // one, or none yet
    std::cout << "ready" << std::endl;
    for (std::string line; std::getline(std::cin, line);) {
        auto const space = line.find(' ');
        std::string const command = line.substr(0, space);
        std::string const argument = space == std::string::npos ? "" : line.substr(space + 1);
        if (command == "load") {
            (void)bench.load();
            std::printf("%.9f\n", bench.load_seconds());
        } else if (command == "texts") {
            texts.clear();
            texts.emplace_back(argument);
            std::printf("%zu\n", texts.front().lines().size());
        } else if (command == "pass" && !texts.empty()) {
            auto const start = Clock::now();
            std::size_t const ids = bench.pass(texts.front());
            std::printf("%.9f %zu\n", seconds_since(start), ids);
        } else if (command == "ids" && !texts.empty()) {
            bench.write(texts.front(), argument);
            std::puts("ok");
        } else if (command == "version") {
            std::printf("uform %s\n", uform::version);
        } else {
            std::puts("-");
        }
        std::fflush(stdout);
    }
}

} // namespace

int main(int count, char *arguments[]) {
    if (count < 2 || count > 4) {
        std::cerr << "usage: tokenize FOLDER [TEXT_FILE [SECONDS]]\n";
        return 2;
    }
    Bench bench(arguments[1]);
    if (count == 2) serve(bench);
    else run(bench, Texts(arguments[2]), count > 3 ? std::atof(arguments[3]) : 3.0);
    return 0;
}
