// Encodes a file of texts on command, so that benchmarks/compare.py can time this library beside its peers.
//
//     passages MODEL_FOLDER THREADS TEXTS_FILE [BATCH]
//
// TEXTS_FILE holds a UTF-8 text a line. Commands come on standard input, a line each; each gets one line of answer, and
// the first line, `ready`, comes when the model is loaded.
//
//     run            encodes all texts, from bytes to vectors, BATCH texts a call (256; 0: all)   -> seconds tokens
//     query INDEX    encodes that text alone                                                      -> seconds tokens
//     tokenise       all texts to ids, on the calling thread                                      -> seconds tokens
//     vectors PATH   writes f32 [texts, dimensions]                                               -> ok
//     rss            resident bytes of the process                                                -> bytes
//     version        name and version                                                             -> text
//     quit
//
// With one thread there is no executor: calls run on the main thread. A failure ends the process with status 1 and a
// line on standard error.

#include <uform/uform.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

/// Ends the process with a message.
[[noreturn]] void fail(std::string_view what, std::string_view why) {
    std::cerr << "passages: " << what << ": " << why << '\n';
    std::exit(1);
}

/// The value of a result, or the end of the process.
template <class T> T value_of(uform::Result<T> result, std::string_view what) {
    if (!result) fail(what, result.error().message());
    return std::move(result).value();
}

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Resident bytes of this process, 0 where /proc does not tell.
std::size_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    std::size_t total_pages = 0, resident_pages = 0;
    file >> total_pages >> resident_pages;
    return resident_pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/// The model, its texts and its one arena.
class Bench {
  public:
    Bench(std::string const &folder, std::size_t threads, std::string const &texts_file, std::size_t batch)
        : model_(value_of(uform::Model::load(folder), folder)), batch_(batch) {
        if (threads > 1) executor_.emplace(value_of(uform::Executor<uform::Ram>::with_threads(threads), "threads"));
        std::ifstream file(texts_file);
        if (!file) fail(texts_file, "cannot be opened");
        for (std::string line; std::getline(file, line);) texts_.push_back(line);
        tape_ = value_of(uform::Tape::from(texts_), texts_file);
        if (batch_ == 0) batch_ = std::max<std::size_t>(texts_.size(), 1);
    }

    std::size_t texts() const { return texts_.size(); }

    /// Encodes texts first to first + count; the result lives in the arena until the next call.
    uform::Encoded<uform::Ram> encode(std::size_t first, std::size_t count) {
        uform::TapeView const all = tape_;
        uform::TapeView const part = all.subtape(first, count);
        return executor_ ? value_of(model_.on(*executor_)
                                        .text_encode(part, uform::Outputs::embeddings, uform::Scalar::f32, arena_),
                                    "text_encode")
                         : value_of(model_.text_encode(part, uform::Outputs::embeddings, uform::Scalar::f32, arena_),
                                    "text_encode");
    }

    void run() {
        auto const start = Clock::now();
        for (std::size_t first = 0; first < texts_.size(); first += batch_) (void)encode(first, batch_);
        double const seconds = seconds_since(start);
        answer(seconds, tokens());
    }

    void query(std::size_t index) {
        if (index >= texts_.size()) fail("query", "no such text");
        auto const start = Clock::now();
        (void)encode(index, 1);
        answer(seconds_since(start), 0);
    }

    void tokenise() {
        std::size_t total = 0;
        auto const start = Clock::now();
        for (std::string const &text : texts_) total += value_of(model_.tokenizer().encode(text), "tokenise").size();
        double const seconds = seconds_since(start);
        answer(seconds, total);
    }

    void vectors(std::string const &path) {
        std::ofstream file(path, std::ios::binary);
        for (std::size_t first = 0; first < texts_.size(); first += batch_) {
            auto const encoded = encode(first, batch_);
            std::span<float const> const rows = value_of(encoded.embeddings().values<float>(), "values");
            file.write(reinterpret_cast<char const *>(rows.data()), static_cast<std::streamsize>(rows.size_bytes()));
        }
        file.close();
        if (!file) fail(path, "cannot be written");
        std::cout << "ok" << std::endl;
    }

  private:
    /// Tokens of all texts as encoded, the special ones included and what is cut left out. Counted once, untimed.
    std::size_t tokens() {
        if (!tokens_) {
            tokens_ = 0;
            for (std::string const &text : texts_)
                *tokens_ += std::min(value_of(model_.tokenizer().count(text), "count"), model_.max_sequence_length());
        }
        return *tokens_;
    }

    static void answer(double seconds, std::size_t tokens) {
        std::cout << std::fixed << std::setprecision(9) << seconds << ' ' << tokens << std::endl;
    }

    uform::Model model_;
    std::optional<uform::Executor<uform::Ram>> executor_;
    uform::Arena<uform::Ram> arena_;
    std::vector<std::string> texts_;
    uform::Tape tape_;
    std::size_t batch_;
    std::optional<std::size_t> tokens_;
};

} // namespace

int main(int argument_count, char **arguments) {
    if (argument_count != 4 && argument_count != 5) {
        std::cerr << "usage: passages MODEL_FOLDER THREADS TEXTS_FILE [BATCH]\n";
        return 2;
    }
    std::size_t const batch = argument_count == 5 ? std::strtoul(arguments[4], nullptr, 10) : 256;
    Bench bench(arguments[1], std::strtoul(arguments[2], nullptr, 10), arguments[3], batch);
    std::cout << "ready" << std::endl;
    for (std::string line; std::getline(std::cin, line);) {
        auto const space = line.find(' ');
        std::string const command = line.substr(0, space);
        std::string const argument = space == std::string::npos ? "" : line.substr(space + 1);
        if (command == "run") bench.run();
        else if (command == "query") bench.query(std::strtoul(argument.c_str(), nullptr, 10));
        else if (command == "tokenise") bench.tokenise();
        else if (command == "vectors") bench.vectors(argument);
        else if (command == "rss") std::cout << resident_bytes() << std::endl;
        else if (command == "version") std::cout << "uform " << uform::version << std::endl;
        else if (command == "quit") break;
        else std::cout << '-' << std::endl;
    }
    return 0;
}
