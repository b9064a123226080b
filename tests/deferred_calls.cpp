/// What deferred calls answer: the blocking call's bits, pinned results, waiting, refusals, cancelling, and
/// continuations.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <pthread.h>
#include <unistd.h>

#include "allocations.hpp"
#include "deferred_fixture.hpp"
#include "model_folder.hpp"
#include "skip.hpp"

using uform::Arena, uform::Outputs, uform::Ram, uform::Scalar, uform::Status, uform::Tape;
using namespace std::chrono_literals;

TEST_CASE("deferred: the bits are those of the blocking call, for every output and number of threads") {
    Watchdog const watchdog;
    auto const tape = Tape::from(tiny_texts()).value();
    Arena<Ram> alone, arena;
    constexpr Outputs all = Outputs::embeddings | Outputs::states;
    auto const expected = tiny().text_encode(tape, all, Scalar::f32, alone).value();
    for (std::size_t const count : {1u, 2u, 3u}) {
        INFO("threads: " << count);
        auto const executor = threads(count);
        auto call = tiny().on(executor).deferred().text_encode(tape, all, Scalar::f32, arena).value();
        auto const result = call.wait();
        REQUIRE(result);
        CHECK(result->texts() == tape.size());
        CHECK(result->outputs() == all);
        auto const same = [](auto const &a, auto const &b) {
            return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
        };
        CHECK(same(result->embeddings().values<float>().value(), expected.embeddings().values<float>().value()));
        CHECK(same(result->states().flat().values<float>().value(), expected.states().flat().values<float>().value()));
        CHECK(same(result->states().offsets().value(), expected.states().offsets().value()));
        CHECK(same(result->token_ids().value(), expected.token_ids().value()));
        CHECK(same(result->truncated_tokens().value(), expected.truncated_tokens().value()));
    }
}

TEST_CASE("deferred: a tape of no texts and one of narrow offsets that don't start at 0") {
    Watchdog const watchdog;
    auto const executor = threads(1);
    Arena<Ram> arena;
    {
        auto none = submit(executor, uform::TapeView(), arena).value();
        CHECK(none.wait().value().texts() == 0);
    }
    std::int32_t const offsets[] = {3, 6, 6, 12};
    auto call = submit(executor, uform::TapeView::of("xx the model", std::span(offsets)).value(), arena).value();
    auto const result = call.wait();
    REQUIRE(result);
    CHECK(same_bits(embeddings_of(*result), expected_of(Tape::from(std::vector{"the", "", " model"}).value())));
}

TEST_CASE("deferred: of a call that is held back, ready and wait_for answer no, and yes when it is done") {
    Watchdog const watchdog;
    auto const executor = threads(1);
    Arena<Ram> arena;
    HeldQueue held(executor);
    auto call = submit(executor, "the model", arena).value();
    CHECK_FALSE(call.ready());
    CHECK_FALSE(call.wait_for(0s));
    CHECK_FALSE(call.wait_for(-1s));
    CHECK_FALSE(call.wait_for(std::chrono::hours::min()));
    CHECK_FALSE(call.wait_for(1ns));
    CHECK_FALSE(call.wait_for(1us));
    CHECK_FALSE(call.wait_for(1ms));
    CHECK_FALSE(call.wait_for(std::chrono::duration<float>(0.001f)));
    CHECK_FALSE(call.wait_for(std::chrono::duration<double, std::micro>(0.25)));
    CHECK_FALSE(call.wait_for(std::chrono::duration<float>(std::numeric_limits<float>::quiet_NaN())));
    CHECK_FALSE(call.wait_for(std::chrono::duration<float>(-std::numeric_limits<float>::infinity())));
    CHECK_FALSE(call.ready());
    held.open();
    CHECK(call.wait_for(std::chrono::hours(1)));
    CHECK(call.ready());
    CHECK(call.wait_for(0s));
    CHECK(call.wait_for(std::chrono::duration<float>(std::numeric_limits<float>::quiet_NaN())));
    CHECK(call.wait());
    CHECK(call.ready());
}

namespace {

template <class Duration> void check_huge(uform::Executor<Ram> const &executor, Duration span) {
    Arena<Ram> arena;
    HeldQueue held(executor);
    auto call = submit(executor, "the model", arena).value();
    std::atomic<bool> returned{false};
    pid_t const waiting = gettid();
    std::thread opener([&] {
        while (!returned && !sleeps(waiting)) sched_yield();
        held.open();
    });
    bool const is_there = call.wait_for(span);
    returned = true;
    opener.join();
    CHECK(is_there);
}

} // namespace

TEST_CASE("deferred: huge spans wait") {
    Watchdog const watchdog;
    auto const executor = threads(1);
    check_huge(executor, std::chrono::hours(24 * 365));
    check_huge(executor, std::chrono::nanoseconds::max());
    check_huge(executor, std::chrono::milliseconds::max());
    check_huge(executor, std::chrono::hours::max());
    check_huge(executor, std::chrono::duration<float>(std::numeric_limits<float>::infinity()));
    check_huge(executor, std::chrono::duration<double, std::ratio<31'556'952>>(1e300));
}

TEST_CASE("deferred: the result is taken once, and a handle that was moved from has none") {
    Watchdog const watchdog;
    auto const executor = threads(1);
    Arena<Ram> arena;
    auto call = submit(executor, "the model", arena).value();
    auto const first = call.wait();
    REQUIRE(first);
    CHECK(status_of(call) == Status::invalid_argument);
    CHECK(status_of(call) == Status::invalid_argument);
    CHECK(same_bits(embeddings_of(*first), expected_of("the model")));

    auto const moved = std::move(call);
    CHECK(call.ready());
    CHECK(call.wait_for(-1s));
    CHECK_FALSE(call.cancel());
    bool told = false;
    auto tell = [&] { told = true; };
    on_ready(call, tell);
    CHECK_FALSE(told);
    CHECK(status_of(call) == Status::invalid_argument);
}

TEST_CASE("deferred: the result is born pinned, and the pin goes with it") {
    Watchdog const watchdog;
    auto const executor = threads(1);
    Arena<Ram> arena;
    auto const contends = [&] {
        auto const blocking = tiny().text_encode("another", Outputs::embeddings, Scalar::f32, arena);
        auto const deferred = submit(executor, "another", arena);
        return !blocking && blocking.error().status() == Status::contended && !deferred &&
               deferred.error().status() == Status::contended && !is_free(arena);
    };
    SECTION("queued") {
        HeldQueue held(executor);
        auto call = submit(executor, "the model", arena).value();
        CHECK(contends());
        held.open();
    }
    SECTION("between completion and the first read") {
        auto call = submit(executor, "the model", arena).value();
        REQUIRE(call.wait_for(1h));
        CHECK(contends());
        auto const result = call.wait();
        REQUIRE(result);
        CHECK(same_bits(embeddings_of(*result), expected_of("the model")));
    }
    SECTION("while the result lives, and no longer") {
        std::optional<Handle> call = submit(executor, "the model", arena).value();
        std::optional<uform::Pinned<uform::Encoded<Ram>>> result = call->wait().value();
        CHECK(contends());
        call.reset();
        CHECK(contends());
        auto const kept = *std::move(result);
        result.reset();
        CHECK(contends());
        CHECK(same_bits(embeddings_of(kept), expected_of("the model")));
    }
    SECTION("the result ends before its handle") {
        auto call = submit(executor, "the model", arena).value();
        (void)call.wait().value();
        CHECK(is_free(arena));
        CHECK(status_of(call) == Status::invalid_argument);
    }
    SECTION("a result that nobody took goes with the handle") {
        std::optional<Handle> call = submit(executor, "the model", arena).value();
        REQUIRE(call->wait_for(1h));
        CHECK(contends());
        call.reset();
        CHECK(is_free(arena));
    }
    CHECK(is_free(arena));
    auto again = submit(executor, "another", arena).value();
    CHECK(same_bits(embeddings_of(again.wait().value()), expected_of("another")));
}

TEST_CASE("deferred: inputs are consumed at submit") {
    Watchdog const watchdog;
    ModelFolder const folder("tiny");
    folder.write(
        "config_sentence_transformers.json",
        R"({"prompts": {"query": "the model ", "other": ""}, "default_prompt_name": null, "similarity_fn_name": "cosine"})");
    auto const model = uform::Model::load(folder.path()).value();
    auto const executor = threads(1);
    Arena<Ram> arena;
    std::optional<HeldQueue> held(std::in_place, executor);
    auto call = [&] {
        auto const texts = std::make_unique<std::string>("the search of a vector and a great many words");
        auto const offsets = std::make_unique<std::vector<std::uint32_t>>(std::vector<std::uint32_t>{0, 10, 24, 45});
        auto const prompt = std::make_unique<std::string>("query");
        auto const options = std::make_unique<uform::EncodeOptions>(uform::EncodeOptions{.prompt = *prompt});
        auto submitted = model.on(executor).deferred().text_encode(uform::TapeView::of(*texts, *offsets).value(),
                                                                   Outputs::embeddings, Scalar::f32, arena, *options);
        std::fill(texts->begin(), texts->end(), 'x');
        std::fill(offsets->begin(), offsets->end(), 0xffffffffu);
        std::fill(prompt->begin(), prompt->end(), 'y');
        return std::move(submitted).value();
    }();
    held.reset();
    auto const expected = expected_of(
        Tape::from(std::vector{"the model the search", "the model  of a vector a", "the model nd a great many words"})
            .value());
    CHECK(same_bits(embeddings_of(call.wait().value()), expected));
}

TEST_CASE("deferred: a refused submit leaves the old results readable, and the arena and the queue free") {
    Watchdog const watchdog;
    auto const executor = threads(1);
    Arena<Ram> arena;
    auto const before = tiny().text_encode("the model", Outputs::embeddings, Scalar::f32, arena).value();
    auto const expected = expected_of("the model");
    auto const deferred = tiny().on(executor).deferred();
    struct Case {
        char const *name;
        Status expected;
        Outputs outputs = Outputs::embeddings;
        Scalar scalar = Scalar::f32;
        uform::EncodeOptions options = {};
    };
    std::atomic<bool> const cancel{true};
    Case const cases[] = {
        {"no output", Status::invalid_argument, Outputs{}},
        {"an unknown output", Status::invalid_argument, static_cast<Outputs>(1u << 20)},
        {"an output that isn't served", Status::unsupported, Outputs::sparse},
        {"a scalar", Status::unsupported, Outputs::embeddings, Scalar::u8},
        {"a prompt", Status::invalid_argument, Outputs::embeddings, Scalar::f32, {.prompt = "nobody's"}},
        {"dimensions", Status::invalid_argument, Outputs::embeddings, Scalar::f32, {.dimensions = 700}},
        {"tokens", Status::invalid_argument, Outputs::embeddings, Scalar::f32, {.tokens_per_call = 1}},
        {"cancelled before", Status::cancelled, Outputs::embeddings, Scalar::f32, {.cancel = &cancel}},
    };
    for (auto const &each : cases) {
        INFO(each.name);
        auto const refused = deferred.text_encode("a", each.outputs, each.scalar, arena, each.options);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().status() == each.expected);
        CHECK(same_bits(embeddings_of(before), expected));
        CHECK(is_free(arena));
    }
    {
        auto const rows = static_cast<char const *>(before.embeddings().data());
        auto const refused = deferred.text_encode(std::string_view(rows, 8), Outputs::embeddings, Scalar::f32, arena);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().status() == Status::invalid_argument);
        CHECK(same_bits(embeddings_of(before), expected));
        CHECK(is_free(arena));
        auto const pinned = before.pin().value();
        auto const contended = deferred.text_encode(std::string_view(rows, 8), Outputs::embeddings, Scalar::f32, arena);
        REQUIRE_FALSE(contended);
        CHECK(contended.error().status() == Status::contended);
    }
    SECTION("a busy arena is found first") {
        HeldQueue held(executor);
        auto call = submit(executor, "the model", arena).value();
        for (auto const &each : cases) {
            INFO(each.name);
            auto const refused = deferred.text_encode("a", each.outputs, each.scalar, arena, each.options);
            REQUIRE_FALSE(refused);
            CHECK(refused.error().status() == Status::contended);
        }
        CHECK(same_bits(embeddings_of(before), expected)); // it is still queued
        held.open();
    }
    SECTION("an arena that was moved from") {
        Arena<Ram> const elsewhere = std::move(arena);
        auto const refused = submit(executor, "a", arena);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().status() == Status::invalid_argument);
        CHECK(same_bits(embeddings_of(before), expected));
        arena = Arena<Ram>();
    }
    auto call = submit(executor, "another", arena).value();
    CHECK(same_bits(embeddings_of(call.wait().value()), expected_of("another")));
}

TEST_CASE("deferred: where the system gives no thread, the submit answers out of memory, and a later one starts it") {
    Watchdog const watchdog;
    auto const executor = threads(1);
    Arena<Ram> arena;
    auto const before = tiny().text_encode("the model", Outputs::embeddings, Scalar::f32, arena).value();
    pthread_attr_t normal, huge;
    REQUIRE(pthread_getattr_default_np(&normal) == 0);
    REQUIRE(pthread_attr_init(&huge) == 0);
    REQUIRE(pthread_attr_setstacksize(&huge, std::size_t{1} << 47) == 0); // more than there are addresses
    REQUIRE(pthread_setattr_default_np(&huge) == 0);
    auto const refused = submit(executor, "a", arena);
    REQUIRE(pthread_setattr_default_np(&normal) == 0);
    pthread_attr_destroy(&huge), pthread_attr_destroy(&normal);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().status() == Status::out_of_memory);
    CHECK(same_bits(embeddings_of(before), expected_of("the model")));
    CHECK(is_free(arena));
    auto call = submit(executor, "another", arena).value();
    CHECK(same_bits(embeddings_of(call.wait().value()), expected_of("another")));
}

TEST_CASE("deferred: what is known only when it runs is answered by the result, and the old results stay") {
    Watchdog const watchdog;
    auto const executor = threads(1);
    Arena<Ram> arena;
    auto const before = tiny().text_encode("the model", Outputs::embeddings, Scalar::f32, arena).value();
    {
        std::string const text(10'000, 'a'), many = [] {
            std::string words;
            for (int i = 0; i != 5000; ++i) words += "the ";
            return words;
        }();
        auto call = submit(executor, many, arena, {.truncate = uform::Truncate::refuse}).value();
        CHECK(status_of(call) == Status::invalid_argument);
        CHECK(same_bits(embeddings_of(before), expected_of("the model")));
        CHECK(is_free(arena)); // an error has no pin
    }
    {
        arena.limit(arena.capacity() + 1);
        std::vector<std::string> const many(10'000, "a");
        auto call = submit(executor, Tape::from(many).value(), arena).value();
        CHECK(status_of(call) == Status::out_of_memory);
        CHECK(same_bits(embeddings_of(before), expected_of("the model")));
        arena.limit(SIZE_MAX);
    }
    std::atomic<bool> cancel{false};
    HeldQueue held(executor);
    auto call = submit(executor, "a", arena, {.cancel = &cancel}).value();
    cancel = true;
    held.open();
    CHECK(status_of(call) == Status::cancelled);
    CHECK(same_bits(embeddings_of(before), expected_of("the model")));
    CHECK(is_free(arena));
}

TEST_CASE("deferred: a call that waits for its turn can be cancelled, and then never ran") {
    Watchdog const watchdog;
    auto const executor = threads(1);
    constexpr std::size_t count = 5;
    for (std::size_t gone = 0; gone != count; ++gone) { // the first, the last, and those between
        INFO("cancelled: " << gone);
        std::vector<Arena<Ram>> arenas(count);
        std::vector<uform::Encoded<Ram>> before;
        std::vector<Handle> calls;
        for (auto &arena : arenas)
            before.push_back(tiny().text_encode("before", Outputs::embeddings, Scalar::f32, arena).value());
        HeldQueue held(executor);
        for (std::size_t i = 0; i != count; ++i)
            calls.push_back(submit(executor, tiny_texts()[i + 1], arenas[i]).value());
        CHECK(calls[gone].cancel());
        CHECK(calls[gone].ready());
        CHECK_FALSE(calls[gone].cancel());
        CHECK(is_free(arenas[gone])); // while the others wait
        held.open();
        for (std::size_t i = 0; i != count; ++i) {
            auto const result = calls[i].wait();
            CHECK_FALSE(calls[i].cancel());
            if (i == gone) {
                REQUIRE_FALSE(result);
                CHECK(result.error().status() == Status::cancelled);
                CHECK(same_bits(embeddings_of(before[i]), expected_of("before")));
                CHECK(status_of(calls[i]) == Status::invalid_argument);
                continue;
            }
            REQUIRE(result);
            CHECK(same_bits(embeddings_of(*result), expected_of(tiny_texts()[i + 1])));
            CHECK_FALSE(before[i].is_current());
        }
    }
}

TEST_CASE("deferred: what the end of a queue was is still the end after a cancel") {
    Watchdog const watchdog;
    auto const executor = threads(1);
    Arena<Ram> first, second, third;
    HeldQueue held(executor);
    auto a = submit(executor, "a", first).value();
    auto b = submit(executor, "b", second).value();
    CHECK(b.cancel());
    CHECK(a.cancel());
    auto c = submit(executor, "c", third).value();
    held.open();
    CHECK(same_bits(embeddings_of(c.wait().value()), expected_of("c")));
    CHECK(status_of(a) == Status::cancelled);
    CHECK(status_of(b) == Status::cancelled);
}

TEST_CASE("deferred: calls run in the order of their submits, one thread after the other") {
    Watchdog const watchdog;
    auto const executor = threads(2);
    std::vector<Arena<Ram>> arenas(8);
    std::vector<Handle> calls;
    std::vector<std::size_t> order;
    std::vector<std::thread::id> where;
    struct Told {
        std::vector<std::size_t> *order;
        std::vector<std::thread::id> *where;
        std::size_t number;
        void operator()() const { order->push_back(number), where->push_back(std::this_thread::get_id()); }
    };
    std::vector<Told> told(arenas.size());
    HeldQueue held(executor);
    for (std::size_t i = 0; i != arenas.size(); ++i) {
        calls.push_back(submit(executor, tiny_texts()[i], arenas[i]).value());
        told[i] = {&order, &where, i};
        on_ready(calls[i], told[i]);
    }
    held.open();
    Arena<Ram> last;
    auto after = submit(executor, "after", last).value();
    REQUIRE(after.wait()); // so all continuations are over
    CHECK(order == std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 6, 7});
    CHECK(std::count(where.begin(), where.end(), where[0]) == 8);
    CHECK(where[0] != std::this_thread::get_id());
}

TEST_CASE("deferred: on_ready tells once, before or after the end, on a cancelled call, and the last one asked") {
    Watchdog const watchdog;
    auto const executor = threads(1);
    Arena<Ram> arena;
    int first = 0, second = 0;
    std::thread::id where;
    bool was_ready = false;
    auto tell_first = [&] { ++first; };
    auto tell_second = [&] { ++second, where = std::this_thread::get_id(); };
    auto const finish = [&] { // so all continuations are over
        Arena<Ram> last;
        auto after = submit(executor, "after", last).value();
        REQUIRE(after.wait());
    };
    SECTION("before, on the executor's thread") {
        HeldQueue held(executor);
        auto call = submit(executor, "a", arena).value();
        auto tell = [&] { ++second, was_ready = call.ready(), where = std::this_thread::get_id(); };
        on_ready(call, tell);
        held.open();
        finish();
        CHECK(second == 1);
        CHECK(was_ready);
        CHECK(where != std::this_thread::get_id());
        CHECK(call.wait());
    }
    SECTION("after, at once on this thread, each time") {
        auto call = submit(executor, "a", arena).value();
        REQUIRE(call.wait_for(1h));
        on_ready(call, tell_second);
        CHECK(second == 1);
        CHECK(where == std::this_thread::get_id());
        CHECK(call.wait());
        on_ready(call, tell_first);
        CHECK(first == 1);
        CHECK(second == 1);
    }
    SECTION("replaced") {
        HeldQueue held(executor);
        auto call = submit(executor, "a", arena).value();
        on_ready(call, tell_first);
        on_ready(call, tell_second);
        held.open();
        finish();
        CHECK(first == 0);
        CHECK(second == 1);
    }
    SECTION("taken back, and null of one that is ready") {
        HeldQueue held(executor);
        auto call = submit(executor, "a", arena).value();
        on_ready(call, tell_first);
        call.on_ready(nullptr, nullptr);
        held.open();
        finish();
        CHECK(first == 0);
        call.on_ready(nullptr, nullptr);
        CHECK(call.wait());
    }
    SECTION("cancelled: on the thread that cancels") {
        HeldQueue held(executor);
        auto call = submit(executor, "a", arena).value();
        on_ready(call, tell_second);
        CHECK(call.cancel());
        CHECK(second == 1);
        CHECK(where == std::this_thread::get_id());
        CHECK(status_of(call) == Status::cancelled);
        held.open();
        finish();
        CHECK(second == 1);
    }
    SECTION("cancelled before it was asked") {
        HeldQueue held(executor);
        auto call = submit(executor, "a", arena).value();
        CHECK(call.cancel());
        on_ready(call, tell_second);
        CHECK(second == 1);
    }
    SECTION("the call fails") {
        std::atomic<bool> cancel{false};
        HeldQueue held(executor);
        auto call = submit(executor, "a", arena, {.cancel = &cancel}).value();
        on_ready(call, tell_second);
        cancel = true;
        held.open();
        finish();
        CHECK(second == 1);
        CHECK(status_of(call) == Status::cancelled);
    }
}

namespace {

/// Rounds of calls in flight, of changing shapes; asserts nothing, as assertions allocate.
std::size_t steady_rounds(uform::Executor<Ram> const &executor, std::vector<Arena<Ram>> &arenas,
                          std::vector<std::optional<Handle>> &calls, std::vector<Tape> const &tapes, std::size_t rounds,
                          std::size_t &next) {
    std::size_t failed = 0;
    for (std::size_t round = 0; round != rounds; ++round) {
        std::size_t const in_flight = 1 + round % calls.size();
        for (std::size_t i = 0; i != in_flight; ++i) {
            auto call = submit(executor, tapes[next++ % tapes.size()], arenas[i]);
            if (call) calls[i].emplace(*std::move(call));
            else ++failed;
        }
        for (std::size_t i = 0; i != in_flight; ++i) {
            if (!calls[i]) continue;
            switch ((round + i) % 4) {
            case 0: calls[i]->cancel(); break; // done or not
            case 1: break;                     // dropped
            default: failed += !calls[i]->wait();
            }
            calls[i].reset();
        }
    }
    return failed;
}

} // namespace

TEST_CASE("deferred: a steady loop of calls in flight allocates nothing") {
    if (!AllocationCounter::works) return skip_test("allocations can't be counted under a sanitizer");
    Watchdog const watchdog;
    for (std::size_t const depth : {1u, 4u, 9u}) {
        INFO("in flight: " << depth);
        auto const executor = threads(2);
        std::vector<Arena<Ram>> arenas(depth);
        std::vector<std::optional<Handle>> calls(depth);
        std::vector<Tape> tapes;
        for (std::size_t const texts : {41u, 1u, 17u, 5u})
            tapes.push_back(Tape::from(std::span(tiny_texts()).first(texts)).value());
        std::size_t failed = 0, next = 0;
        {
            HeldQueue held(executor); // all of the largest at once
            for (std::size_t i = 0; i != depth; ++i) calls[i].emplace(submit(executor, tapes[0], arenas[i]).value());
            held.open();
            for (auto &call : calls) failed += !call->wait(), call.reset();
        }
        AllocationCounter const counter;
        failed += steady_rounds(executor, arenas, calls, tapes, 600, next);
        std::size_t const allocations = counter.count();
        CHECK(failed == 0);
        CHECK(allocations == 0);
    }
}

TEST_CASE("deferred: after the largest call was seen, each state of a call in flight grows once") {
    if (!AllocationCounter::works) return skip_test("allocations can't be counted under a sanitizer");
    Watchdog const watchdog;
    constexpr std::size_t depth = 6;
    auto const executor = threads(1);
    std::vector<Arena<Ram>> arenas(depth);
    for (auto &arena : arenas) CHECK(arena.reserve(1 << 20));
    auto const tape = [](std::size_t texts) { return Tape::from(std::span(tiny_texts()).first(texts)).value(); };
    Tape const largest = tape(41), smallest = tape(1);
    std::vector<Tape> middle;
    for (std::size_t texts = 2; texts != 41; ++texts) middle.push_back(tape(texts));
    std::vector<std::optional<Handle>> calls(depth);
    std::size_t failed = 0;
    auto const all_at_once = [&](auto tape_of) {
        for (std::size_t i = 0; i != depth; ++i) {
            auto call = submit(executor, tape_of(i), arenas[i]);
            if (call) calls[i].emplace(*std::move(call));
            else ++failed;
        }
        for (auto &call : calls) failed += !call->wait(), call.reset();
    };
    for (std::size_t alone = 0; alone != depth; ++alone) // every arena, and the workspace
        failed += !submit(executor, largest, arenas[alone]).value().wait();
    all_at_once([&](std::size_t) -> Tape const & { return smallest; });
    AllocationCounter const counter;
    for (std::size_t round = 0; round != middle.size(); ++round)
        all_at_once([&](std::size_t i) -> Tape const & { return middle[(round + i) % middle.size()]; });
    std::size_t const allocations = counter.count();
    CHECK(failed == 0);
    CHECK(allocations == 0);
}
