/// A steady loop: after one call of the largest shape, no call allocates anything, and the resident size is flat.
#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include <unistd.h>

#include "allocations.hpp"
#include "golden.hpp"
#include "skip.hpp"
#include "uform/uform.hpp"

using uform::Outputs, uform::Ram, uform::Scalar;

namespace {

std::size_t resident_bytes() {
    std::size_t all = 0, resident = 0;
    std::FILE *file = std::fopen("/proc/self/statm", "r");
    REQUIRE(file);
    int const read = std::fscanf(file, "%zu %zu", &all, &resident);
    std::fclose(file);
    REQUIRE(read == 2);
    return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/// One call; asserts nothing, as assertions allocate.
template <class Bound>
bool call(Bound const &bound, uform::Tape &tape, std::span<std::string const> texts, Outputs outputs,
          uform::Arena<Ram> &arena) {
    if (!tape.assign(texts)) return false;
    auto const encoded = bound.text_encode(tape, outputs, Scalar::f32, arena);
    if (!encoded || encoded->texts() != texts.size()) return false;
    bool read = static_cast<bool>(encoded->truncated_tokens());
    if (contains(outputs, Outputs::embeddings)) read = read && encoded->embeddings().template values<float>();
    if (contains(outputs, Outputs::states)) read = read && encoded->states().offsets() && encoded->states().pin();
    return read;
}

/// Calls of random shapes after one of the largest. The texts have up to `words` words, in several scripts.
void check_steady(std::string const &folder, std::size_t calls, std::size_t words, std::size_t threads) {
    INFO(folder << ", threads: " << threads);
    auto const model = uform::Model::load(folder).value();
    std::mt19937 random(5);
    // Texts that cross every path: plain, composed and decomposed accents, ideographs, and bytes that are not UTF-8.
    char const *const pieces[] = {"word ",     "naïve ",  "e\xCC\x81t ", "漢字",
                                  "\xff\x80 ", "[MASK] ", "…",           "\xF0\x9F\x98\x80 "};
    std::vector<std::string> texts(32), longest; // the longest is larger than each of the others in every count
    for (auto &text : texts)
        for (std::size_t i = random() % (8 * words); i-- != 0;) text += pieces[random() % 8];
    for (std::string text : texts) {
        for (std::size_t i = 0; i != 8 * words; ++i) text += pieces[i % 8];
        longest.push_back(text);
    }
    std::string all;
    for (auto const &text : texts) all = text.size() > all.size() ? text : all;
    for (auto &text : longest) text += all;
    uform::Arena<Ram> arena;
    uform::Tape tape;
    auto const executor = uform::Executor<Ram>::with_threads(threads ? threads : 1).value();
    auto const bound = model.on(executor);
    constexpr Outputs sets[] = {Outputs::embeddings, Outputs::states, Outputs::embeddings | Outputs::states};

    auto const run = [&](std::span<std::string const> some, Outputs outputs) {
        return threads ? call(bound, tape, some, outputs, arena) : call(model, tape, some, outputs, arena);
    };
    REQUIRE(run(longest, sets[2]));
    auto const resident = resident_bytes();
    AllocationCounter const counter;
    std::size_t failed = 0;
    for (std::size_t i = 0; i != calls; ++i) {
        std::size_t const first = random() % 32, count = random() % (32 - first) + 1;
        failed += !run(std::span(texts).subspan(first, count), sets[random() % 3]);
    }
    failed += !run(longest, sets[2]);
    std::size_t const allocations = counter.count(), grown = resident_bytes();
    CHECK(failed == 0);
    CHECK(allocations == 0);
    // Whichever thread takes a chunk touches its own workspace, so pages may come until all threads saw the largest.
    CHECK(grown <= resident + (std::size_t{4} << 20) * (threads + 1));
}

} // namespace

TEST_CASE("engine: a steady loop of mixed shapes allocates nothing, tiny checkpoints") {
    if (!AllocationCounter::works) return skip_test("allocations can't be counted under a sanitizer");
    for (std::size_t const threads : {0, 1, 2, 3}) {
        check_steady(data_path("tiny"), 700, 5, threads);
        check_steady(data_path("tiny-cased"), 300, 5, threads);
    }
}

TEST_CASE("engine: a steady loop of mixed shapes allocates nothing, all-MiniLM-L6-v2") {
    if (!AllocationCounter::works) return skip_test("allocations can't be counted under a sanitizer");
    auto const folder = minilm_folder();
    if (folder.empty()) return skip_test("all-MiniLM-L6-v2 was not fetched");
    check_steady(folder, 12, 12, 2);
}
