/// Many threads with deferred calls on shared executors: every row is checked. Bounded, and without a clock.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <semaphore>
#include <thread>
#include <utility>
#include <vector>

#include "deferred_fixture.hpp"

using uform::Arena, uform::Outputs, uform::Ram, uform::Scalar, uform::Status;
using namespace std::chrono_literals;

namespace {

#if UFORM_THREAD_SANITIZER || UFORM_ADDRESS_SANITIZER
constexpr int rounds = 150;
#else
constexpr int rounds = 1500;
#endif

/// What each of the tiny texts gives.
std::vector<std::vector<float>> const &all_expected() {
    static auto const all = [] {
        std::vector<std::vector<float>> rows;
        for (auto const &text : tiny_texts()) rows.push_back(expected_of(std::string_view(text)));
        return rows;
    }();
    return all;
}

/// Counted, as assertions aren't for many threads.
struct Tally {
    std::atomic<int> served{0}, cancelled{0}, told{0}, to_tell{0}, wrong{0};
};

/// A call in flight and what belongs to it. Its continuation may come after the handle has gone.
struct Flight {
    Arena<Ram> arena;
    std::optional<Handle> call;
    std::size_t text = 0;
    std::atomic<bool> was_told{true};
    Tally *tally = nullptr;
};

void launch(Flight &flight, uform::Executor<Ram> const &executor, std::size_t text, bool is_told, Tally &tally) {
    auto call = submit(executor, std::string_view(tiny_texts()[text]), flight.arena);
    if (!call) {
        ++tally.wrong;
        return;
    }
    flight.call.emplace(*std::move(call));
    flight.text = text, flight.tally = &tally;
    if (!is_told) return;
    flight.was_told = false, ++tally.to_tell;
    flight.call->on_ready(
        [](void *given) noexcept {
            auto &self = *static_cast<Flight *>(given);
            ++self.tally->told;
            self.was_told = true;
            self.was_told.notify_one();
        },
        &flight);
}

void land(Flight &flight, unsigned how, Tally &tally) {
    if (!flight.call) return;
    switch (how % 5) {
    case 0: {
        bool const was_cancelled = flight.call->cancel();
        auto const result = flight.call->wait();
        if (was_cancelled) {
            ++tally.cancelled;
            tally.wrong += result || result.error().status() != Status::cancelled;
        } else tally.wrong += !result || !same_bits(embeddings_of(*result), all_expected()[flight.text]);
        break;
    }
    case 1: break; // dropped, done or not
    case 2:
        while (!flight.call->ready()) sched_yield();
        [[fallthrough]];
    case 3:
        while (!flight.call->wait_for(1us)) {
        }
        [[fallthrough]];
    default: {
        auto const result = flight.call->wait();
        tally.wrong += !result || !same_bits(embeddings_of(*result), all_expected()[flight.text]);
        ++tally.served;
    }
    }
    flight.call.reset();
    flight.was_told.wait(false); // the flight is its context
}

} // namespace

TEST_CASE("deferred: many calls in flight from many threads on a shared executor") {
    Watchdog const watchdog(300);
    (void)all_expected();
    for (std::size_t const count : {1u, 2u}) {
        auto const executor = threads(count);
        Tally tally;
        std::vector<std::thread> callers;
        for (unsigned caller = 0; caller != 4; ++caller)
            callers.emplace_back([&, caller] {
                std::mt19937 random(caller);
                std::vector<Flight> flights(5);
                for (int round = 0; round != rounds / 5; ++round) {
                    for (auto &flight : flights)
                        launch(flight, executor, random() % tiny_texts().size(), random() % 2, tally);
                    for (auto &flight : flights) land(flight, static_cast<unsigned>(random()), tally);
                    for (auto &flight : flights) tally.wrong += !is_free(flight.arena);
                }
            });
        for (auto &caller : callers) caller.join();
        CHECK(tally.wrong == 0);
        CHECK(tally.served > 0);
        CHECK(tally.told == tally.to_tell);
    }
}

TEST_CASE("deferred: blocking and deferred calls share an executor") {
    Watchdog const watchdog(300);
    (void)all_expected();
    auto const executor = threads(2);
    Tally tally;
    std::vector<std::thread> callers;
    for (unsigned caller = 0; caller != 3; ++caller)
        callers.emplace_back([&, caller] {
            std::mt19937 random(caller);
            Flight flight;
            for (int round = 0; round != rounds / 2; ++round) {
                std::size_t const text = random() % tiny_texts().size();
                if (caller != 0) {
                    launch(flight, executor, text, false, tally);
                    land(flight, static_cast<unsigned>(random()), tally);
                    continue;
                }
                auto const encoded = tiny().on(executor).text_encode(std::string_view(tiny_texts()[text]),
                                                                     Outputs::embeddings, Scalar::f32, flight.arena);
                tally.wrong += !encoded || !same_bits(embeddings_of(*encoded), all_expected()[text]);
            }
        });
    for (auto &caller : callers) caller.join();
    CHECK(tally.wrong == 0);
}

TEST_CASE("deferred: a cancel races with the start: it either never ran, or it is served") {
    Watchdog const watchdog(300);
    auto const executor = threads(1);
    auto const before_bits = expected_of("before"), bits = expected_of("a");
    Arena<Ram> arena;
    int cancelled = 0, served = 0, wrong = 0;
    std::atomic<int> told{0};
    auto tell = [&] { ++told; };
    for (int round = 0; round != rounds; ++round) {
        auto const before = tiny().text_encode("before", Outputs::embeddings, Scalar::f32, arena).value();
        auto call = submit(executor, "a", arena).value();
        if (round % 2) on_ready(call, tell);
        for (int i = 0; i != round % 40; ++i) sched_yield();
        bool const was_cancelled = call.cancel();
        if (was_cancelled) {
            ++cancelled;
            wrong += status_of(call) != Status::cancelled || !same_bits(embeddings_of(before), before_bits);
        } else {
            ++served;
            auto const result = call.wait();
            wrong += !result || !same_bits(embeddings_of(*result), bits) || before.is_current();
        }
    }
    { // so all continuations are over
        Arena<Ram> other;
        CHECK(submit(executor, "after", other).value().wait());
    }
    CHECK(wrong == 0);
    CHECK(told == rounds / 2);
    CHECK(cancelled + served == rounds);
}

TEST_CASE("deferred: a call is cancelled by its option while it runs, or not") {
    Watchdog const watchdog(300);
    auto const executor = threads(2);
    auto const tape = uform::Tape::from(tiny_texts()).value();
    auto const bits = expected_of(tape);
    Arena<Ram> arena;
    int wrong = 0;
    for (int round = 0; round != rounds / 3; ++round) {
        std::atomic<bool> cancel{false};
        auto call = submit(executor, tape, arena, {.cancel = &cancel}).value();
        for (int i = 0; i != round % 60; ++i) sched_yield();
        cancel = true;
        auto const result = call.wait();
        wrong += result ? !same_bits(embeddings_of(*result), bits) : result.error().status() != Status::cancelled;
    }
    CHECK(wrong == 0);
    CHECK(is_free(arena));
}

TEST_CASE("deferred: handles, executors and arenas end at the moment of completion") {
    Watchdog const watchdog(300);
    (void)all_expected();
    std::mt19937 random(3);
    int wrong = 0;
    std::atomic<int> told{0};
    int to_tell = 0;
    for (int round = 0; round != rounds / 3; ++round) {
        std::optional<uform::Executor<Ram>> executor = threads(1 + random() % 2);
        std::optional<Arena<Ram>> arena(std::in_place);
        std::size_t const text = random() % tiny_texts().size();
        std::optional<Handle> call = submit(*executor, std::string_view(tiny_texts()[text]), *arena).value();
        struct Told {
            std::atomic<int> *told;
            std::atomic<bool> is_over;
        } context{&told, false};
        bool const is_told = random() % 2;
        if (is_told) {
            ++to_tell;
            call->on_ready(
                [](void *given) noexcept {
                    auto &self = *static_cast<Told *>(given);
                    ++*self.told;
                    self.is_over = true;
                    self.is_over.notify_one();
                },
                &context);
        }
        if (random() % 2) executor.reset();
        for (auto i = random() % 40; i-- != 0;) sched_yield();
        switch (random() % 4) {
        case 0: arena.reset(); break;
        case 1: call.reset(); break;
        case 2: executor.reset(); break;
        default: {
            auto const result = call->wait();
            wrong += !result || !same_bits(embeddings_of(*result), all_expected()[text]);
        }
        }
        arena.reset(), call.reset(), executor.reset();
        if (is_told) context.is_over.wait(false);
    }
    CHECK(wrong == 0);
    CHECK(told == to_tell);
}

TEST_CASE("deferred: continuations of two executors wait for each other's calls, from many threads") {
    Watchdog const watchdog(300);
    (void)all_expected();
    auto const a = threads(1), b = threads(2);
    std::atomic<int> wrong{0}, nested{0};
    struct Flown {
        uform::Executor<Ram> const *other;
        std::atomic<int> *wrong, *nested;
        std::size_t text;
        std::binary_semaphore over{0};
    };
    std::vector<std::thread> callers;
    for (unsigned caller = 0; caller != 4; ++caller)
        callers.emplace_back([&, caller] {
            std::mt19937 random(caller);
            Arena<Ram> arena;
            for (int round = 0; round != rounds / 6; ++round) {
                bool const is_first = random() % 2;
                Flown flown{is_first ? &b : &a, &wrong, &nested, random() % tiny_texts().size()};
                auto call = submit(is_first ? a : b, "outer", arena).value();
                call.on_ready(
                    [](void *given) noexcept {
                        auto &self = *static_cast<Flown *>(given);
                        Arena<Ram> own;
                        auto inner = submit(*self.other, std::string_view(tiny_texts()[self.text]), own).value();
                        auto const result = inner.wait();
                        *self.wrong += !result || !same_bits(embeddings_of(*result), all_expected()[self.text]);
                        ++*self.nested;
                        self.over.release();
                    },
                    &flown);
                flown.over.acquire();
                wrong += !call.wait();
            }
        });
    for (auto &caller : callers) caller.join();
    CHECK(wrong == 0);
    CHECK(nested == 4 * (rounds / 6));
}
