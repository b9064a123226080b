/// Measures what an arena costs: a view's check, a pin, a lease, growth, and a steady loop of random shapes.
///
///     arena [ROUNDS]
///
/// Nanoseconds are medians of ROUNDS (9 unless given) rounds, in which ours and a peer from the standard library take
/// turns: a `std::weak_ptr` that is asked and locked, which is the usual way not to read what has gone, and a vector
/// that grows. Prints each mark with what was measured, and ends with 1 if one is missed.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "../tests/allocations.hpp"
#include "uform/arena.hpp"

using Clock = std::chrono::steady_clock;
using uform::Arena, uform::Ram, uform::Rows;

namespace {

constexpr double no_mark = 0;
int rounds = 9;
bool all_met = true;

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

/// Keeps a value from being optimised away.
template <class T> void keep(T const &value) { asm volatile("" : : "r,m"(value) : "memory"); }

template <class Work> double nanoseconds(std::size_t times, Work work) {
    auto const start = Clock::now();
    for (std::size_t i = 0; i != times; ++i) work();
    std::chrono::duration<double, std::nano> const span = Clock::now() - start;
    return span.count() / static_cast<double>(times);
}

template <class Ours, class Peer>
void compare(char const *name, double mark, char const *peer_name, std::size_t times, Ours ours, Peer peer) {
    std::vector<double> mine, theirs;
    (void)nanoseconds(times, ours), (void)nanoseconds(times, peer);
    for (int i = 0; i != rounds; ++i)
        mine.push_back(nanoseconds(times, ours)), theirs.push_back(nanoseconds(times, peer));
    auto const [least, most] = std::minmax_element(mine.begin(), mine.end());
    std::printf("%-42s %6.2f ns (%.2f to %.2f); %s %.2f ns", name, median(mine), *least, *most, peer_name,
                median(theirs));
    if (mark != no_mark) {
        bool const met = median(mine) <= mark;
        all_met = all_met && met;
        std::printf("; mark %.1f: %s", mark, met ? "met" : "MISSED");
    }
    std::printf("\n");
}

void mark(char const *name, std::size_t value, std::size_t most) {
    all_met = all_met && value <= most;
    std::printf("%-42s %zu, mark %zu: %s\n", name, value, most, value <= most ? "met" : "MISSED");
}

/// One call of `[rows, columns]`, whose first and last values are written.
Rows<Ram> fill(Arena<Ram> &arena, std::size_t rows, std::size_t columns) {
    auto draft = arena.begin().value();
    auto const place = draft.place<float>(rows, columns);
    auto writing = std::move(draft).commit().value();
    auto const values = writing.values(place);
    if (!values.empty()) values.front() = 1, values.back() = 2;
    return std::move(writing).publish().value()[place];
}

std::size_t resident_bytes() {
    std::FILE *const file = std::fopen("/proc/self/statm", "r");
    unsigned long total = 0, resident = 0;
    if (!file || std::fscanf(file, "%lu %lu", &total, &resident) != 2) std::abort();
    std::fclose(file);
    return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::size_t page_faults() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::size_t>(usage.ru_minflt);
}

void measure_costs() {
    constexpr std::size_t times = 2'000'000;
    std::thread([] {}).join(); // from here on a shared_ptr counts atomically, as in any program with threads
    Arena<Ram> arena;
    Rows<Ram> const rows = fill(arena, 4, 8);
    auto const shared = std::make_shared<std::vector<float>>(32);
    std::weak_ptr<std::vector<float>> const weak = shared;

    compare(
        "view check", 1.5, "weak_ptr::expired", times, [&] { keep(rows.is_current()); }, [&] { keep(weak.expired()); });
    compare(
        "view check and span, values<float>()", no_mark, "weak_ptr::lock", times,
        [&] { keep(rows.values<float>()->data()); }, [&] { keep(weak.lock()->data()); });
    compare(
        "pin and unpin", 10, "weak_ptr::lock", times, [&] { keep(rows.pin()->data()); },
        [&] { keep(weak.lock()->data()); });

    compare(
        "whole lease: begin, commit, publish", 30, "malloc and free", times,
        [&] {
            auto draft = arena.begin();
            auto writing = (*std::move(draft)).commit();
            keep(std::move(*writing).publish().has_value());
        },
        [&] {
            void *memory = std::malloc(256);
            keep(memory);
            std::free(memory);
        });
    compare(
        "whole call: one output and its view", no_mark, "make_shared<float[]>", times,
        [&] { keep(fill(arena, 4, 8).data()); }, [&] { keep(std::make_shared_for_overwrite<float[]>(32).get()); });
}

void measure_growth() {
    std::printf("\n");
    Arena<Ram> arena;
    void const *at = nullptr;
    std::size_t moves = 0, bytes = 0;
    auto const start = Clock::now();
    for (std::size_t floats = 1 << 14; floats <= (1 << 26); floats *= 2) { // 64 KiB to 256 MiB
        auto const rows = fill(arena, floats / 64, 64);
        moves += at && at != rows.data(), at = rows.data(), bytes = floats * 4;
    }
    std::chrono::duration<double, std::micro> const ours = Clock::now() - start;
    std::vector<float> peer;
    auto const start_of_peer = Clock::now();
    std::size_t copied = 0;
    for (std::size_t floats = 1 << 14; floats <= (1 << 26); floats *= 2) copied += peer.size() * 4, peer.resize(floats);
    std::chrono::duration<double, std::micro> const theirs = Clock::now() - start_of_peer;
    mark("growth from 64 KiB to 256 MiB: blocks moved", moves, 0);
    std::printf("%-42s 0 of %zu MiB in %.0f us; std::vector copied %zu MiB (and filled) in %.0f us\n",
                "    bytes copied", bytes >> 20, ours.count(), copied >> 20, theirs.count());
}

void measure_shapes() {
    std::printf("\n");
    Arena<Ram> arena;
    auto const call = [&](std::size_t texts, std::size_t tokens) {
        auto draft = arena.begin().value();
        auto const embeddings = draft.place<float>(texts, 384);
        auto const states = draft.place_ragged<float>(texts, texts * tokens, 384);
        auto const ids = draft.place_host<std::uint32_t>(texts * tokens, 1);
        auto writing = std::move(draft).commit().value();
        for (auto const values : {writing.values(embeddings), writing.values(states)})
            for (std::size_t i = 0; i < values.size(); i += 1024) values[i] = 1; // every page is touched
        auto const offsets = writing.offsets(states);
        for (std::size_t i = 0; i != offsets.size(); ++i) offsets[i] = static_cast<std::uint32_t>(i * tokens);
        if (auto const values = writing.values(ids); !values.empty()) values.back() = 3;
        return std::move(writing).publish().value()[states].flat().rows();
    };
    std::mt19937 random(11);
    std::uniform_int_distribution<std::size_t> batch(1, 32), length(1, 512);
    (void)call(32, 512);
    std::size_t const resident = resident_bytes(), faults = page_faults();
    AllocationCounter const counter;
    for (int i = 0; i != 10'000; ++i) keep(call(batch(random), length(random)));
    auto const allocations = counter.count(), more_faults = page_faults() - faults, now = resident_bytes();
    mark("10,000 random shapes: allocations", AllocationCounter::works ? allocations : SIZE_MAX, 0);
    mark("    page faults", more_faults, 8); // of this program's own stack and tables
    mark("    resident bytes gained", now > resident ? now - resident : 0, 65536);
}

} // namespace

int main(int count, char *arguments[]) {
    if (count > 1) rounds = std::max(1, std::atoi(arguments[1]));
    measure_costs();
    measure_growth();
    measure_shapes();
    std::printf("\nRows %zu bytes, RaggedRows %zu bytes; %s\n", sizeof(Rows<Ram>), sizeof(uform::RaggedRows<Ram>),
                all_met ? "all marks met" : "a mark was MISSED");
    return all_met ? 0 : 1;
}
