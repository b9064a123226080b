/// Deferred calls that coroutines await: on the executor's own thread, or where the user says.
#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <semaphore>
#include <thread>
#include <utility>
#include <vector>

#include "deferred_fixture.hpp"

using uform::Arena, uform::Outputs, uform::Ram, uform::Result, uform::Scalar, uform::Status;
using Executor = uform::Executor<Ram>;
using Awaited = Result<uform::Pinned<uform::Encoded<Ram>>>;
using namespace std::chrono_literals;

namespace {

/// A coroutine that starts at once and frees itself at its end, then tells so.
struct Task {
    struct promise_type {
        std::binary_semaphore *over = nullptr;
        template <class... Arguments>
        explicit promise_type(std::binary_semaphore &at_end, Arguments const &...) : over(&at_end) {}
        template <class Lambda, class... Arguments>
        explicit promise_type(Lambda const &, std::binary_semaphore &at_end, Arguments const &...) : over(&at_end) {}
        Task get_return_object() noexcept { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        struct End {
            std::binary_semaphore *over;
            bool await_ready() noexcept { return false; }
            void await_suspend(std::coroutine_handle<> coroutine) noexcept {
                auto *const kept = over;
                coroutine.destroy();
                kept->release();
            }
            void await_resume() noexcept {}
        };
        End final_suspend() noexcept { return {over}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
    };
};

/// A coroutine that its owner destroys.
struct OwnedTask {
    struct promise_type {
        OwnedTask get_return_object() noexcept { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
    };
    std::coroutine_handle<promise_type> coroutine;
};

struct Seen {
    std::vector<float> values;
    Status status = Status::device; // which no call here answers
    std::thread::id where;

    void note(Awaited const &result) {
        where = std::this_thread::get_id();
        status = result ? Status::success : result.error().status();
        if (result) values = embeddings_of(*result);
    }
};

Task await_lvalue(std::binary_semaphore &, Executor const &executor, Arena<Ram> &arena, Seen &seen) {
    auto call = submit(executor, "lvalue", arena).value();
    auto const result = co_await call;
    seen.note(result);
}
Task await_temporary(std::binary_semaphore &, Executor const &executor, Arena<Ram> &arena, Seen &seen) {
    auto const result = co_await submit(executor, "temporary", arena).value();
    seen.note(result);
}
Task await_result(std::binary_semaphore &, Executor const &executor, Arena<Ram> &arena, Seen &seen,
                  uform::EncodeOptions options) {
    auto call = submit(executor, "result", arena, options);
    auto const result = co_await call;
    seen.note(result);
}
Task await_temporary_result(std::binary_semaphore &, Executor const &executor, Arena<Ram> &arena, Seen &seen,
                            uform::EncodeOptions options) {
    seen.note(co_await submit(executor, "temporary result", arena, options));
}
Task await_handle(std::binary_semaphore &, Handle &call, Seen &seen) {
    auto const result = co_await call;
    seen.note(result);
}

} // namespace

TEST_CASE("deferred: a coroutine awaits handles and submits, and goes on on the executor's own thread") {
    Watchdog const watchdog;
    for (std::size_t const count : {1u, 2u}) {
        auto const executor = threads(count);
        std::thread::id own;
        on_own_thread(executor, [&] { own = std::this_thread::get_id(); });
        Arena<Ram> arena;
        using Start = void (*)(std::binary_semaphore &, Executor const &, Arena<Ram> &, Seen &);
        std::pair<char const *, Start> const forms[] = {
            {"lvalue", [](auto &over, auto const &on, auto &in, auto &seen) { await_lvalue(over, on, in, seen); }},
            {"temporary",
             [](auto &over, auto const &on, auto &in, auto &seen) { await_temporary(over, on, in, seen); }},
            {"result", [](auto &over, auto const &on, auto &in, auto &seen) { await_result(over, on, in, seen, {}); }},
            {"temporary result",
             [](auto &over, auto const &on, auto &in, auto &seen) { await_temporary_result(over, on, in, seen, {}); }},
        };
        for (auto const &[name, start] : forms) {
            INFO(name);
            Seen seen;
            std::binary_semaphore over{0};
            HeldQueue held(executor); // so that it isn't done before it is awaited
            start(over, executor, arena, seen);
            CHECK(seen.status == Status::device);
            held.open();
            over.acquire();
            CHECK(seen.status == Status::success);
            CHECK(same_bits(seen.values, expected_of(std::string_view(name))));
            CHECK(seen.where == own);
            CHECK(is_free(arena));
        }
    }
}

TEST_CASE("deferred: a coroutine goes on at once where the call is done, was taken, or is nobody's") {
    Watchdog const watchdog;
    auto const executor = threads(1);
    Arena<Ram> arena;
    std::binary_semaphore over{0};
    Seen first, second, third;
    auto call = submit(executor, "lvalue", arena).value();
    REQUIRE(call.wait_for(1h));
    await_handle(over, call, first);
    REQUIRE(over.try_acquire());
    CHECK(same_bits(first.values, expected_of("lvalue")));
    CHECK(first.where == std::this_thread::get_id());
    await_handle(over, call, second);
    REQUIRE(over.try_acquire());
    CHECK(second.status == Status::invalid_argument);
    auto const moved = std::move(call);
    await_handle(over, call, third);
    REQUIRE(over.try_acquire());
    CHECK(third.status == Status::invalid_argument);
}

TEST_CASE("deferred: a coroutine isn't suspended where the call is done between the question and the suspending") {
    Watchdog const watchdog;
    auto const executor = threads(1);
    Arena<Ram> arena;
    HeldQueue held(executor);
    auto call = submit(executor, "lvalue", arena).value();
    auto awaiter = call.operator co_await();
    CHECK_FALSE(awaiter.await_ready());
    held.open();
    REQUIRE(call.wait_for(1h));
    CHECK_FALSE(awaiter.await_suspend(std::noop_coroutine()));
    CHECK(awaiter.await_resume());
}

TEST_CASE("deferred: a refused submit is awaited like any other, and a cancelled call goes on where it was cancelled") {
    Watchdog const watchdog;
    auto const executor = threads(1);
    Arena<Ram> arena;
    std::binary_semaphore over{0};
    Seen lvalue, temporary, cancelled;
    await_result(over, executor, arena, lvalue, {.prompt = "nobody's"});
    REQUIRE(over.try_acquire());
    CHECK(lvalue.status == Status::invalid_argument);
    await_temporary_result(over, executor, arena, temporary, {.tokens_per_call = 1});
    REQUIRE(over.try_acquire());
    CHECK(temporary.status == Status::invalid_argument);
    CHECK(is_free(arena));

    HeldQueue held(executor);
    auto call = submit(executor, "lvalue", arena).value();
    await_handle(over, call, cancelled);
    CHECK(cancelled.status == Status::device);
    CHECK(call.cancel());
    REQUIRE(over.try_acquire());
    CHECK(cancelled.status == Status::cancelled);
    CHECK(cancelled.where == std::this_thread::get_id());
    held.open();
}

namespace {

/// A user's loop of events.
struct Events {
    std::mutex mutex;
    std::deque<std::coroutine_handle<>> waiting;
    std::counting_semaphore<> count{0};
    std::atomic<int> scheduled{0};

    static void schedule(std::coroutine_handle<> coroutine, void *self) noexcept {
        auto &events = *static_cast<Events *>(self);
        {
            std::scoped_lock const lock(events.mutex);
            events.waiting.push_back(coroutine);
        }
        ++events.scheduled;
        events.count.release();
    }
    void run_one() {
        count.acquire();
        std::coroutine_handle<> next;
        {
            std::scoped_lock const lock(mutex);
            next = waiting.front();
            waiting.pop_front();
        }
        next.resume();
    }
};

Task await_elsewhere(std::binary_semaphore &, Executor const &executor, Arena<Ram> &arena, Events &events, Seen &seen) {
    auto call = submit(executor, "elsewhere", arena).value();
    auto const result = co_await call.resume_on(Events::schedule, &events);
    seen.note(result);
}
Task await_temporary_elsewhere(std::binary_semaphore &, Executor const &executor, Arena<Ram> &arena, Events &events,
                               Seen &seen) {
    seen.note(co_await submit(executor, "elsewhere", arena).value().resume_on(Events::schedule, &events));
}

} // namespace

TEST_CASE("deferred: a coroutine goes on where the user says") {
    Watchdog const watchdog;
    auto const executor = threads(1);
    Events events;
    Arena<Ram> arena;
    for (bool const is_temporary : {false, true}) {
        Seen seen;
        std::binary_semaphore over{0};
        HeldQueue held(executor);
        if (is_temporary) await_temporary_elsewhere(over, executor, arena, events, seen);
        else await_elsewhere(over, executor, arena, events, seen);
        CHECK(events.scheduled == is_temporary);
        held.open();
        events.run_one();
        REQUIRE(over.try_acquire()); // on this thread
        CHECK(same_bits(seen.values, expected_of("elsewhere")));
        CHECK(seen.where == std::this_thread::get_id());
        CHECK(is_free(arena));
    }
}

namespace {

Task end_everything(std::binary_semaphore &, std::optional<Executor> executor, std::optional<uform::Model> model,
                    Seen &seen) {
    std::optional<Arena<Ram>> arena(std::in_place);
    for (int i = 0; i != 3; ++i) {
        auto const result =
            co_await model->on(*executor).deferred().text_encode("end", Outputs::embeddings, Scalar::f32, *arena);
        seen.note(result);
    }
    auto last = model->on(*executor).deferred().text_encode("end", Outputs::embeddings, Scalar::f32, *arena);
    executor.reset(), model.reset();
    auto const result = co_await last;
    seen.note(result);
    arena.reset();
}

} // namespace

TEST_CASE("deferred: a coroutine that has everything ends it at its end") {
    Watchdog const watchdog;
    for (int round = 0; round != 50; ++round) {
        Seen seen;
        std::binary_semaphore over{0};
        end_everything(over, threads(1 + static_cast<std::size_t>(round) % 2),
                       uform::Model::load(data_path("tiny")).value(), seen);
        over.acquire();
        CHECK(same_bits(seen.values, expected_of("end")));
    }
}

namespace {

/// Where a function's frame lies, about.
__attribute__((noinline)) std::uintptr_t stack_address() noexcept {
    return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
}

struct Depth {
    std::uintptr_t lowest = UINTPTR_MAX, highest = 0;
    std::size_t served = 0;
    std::thread::id where;
};

Task await_often(std::binary_semaphore &, Executor const &executor, Arena<Ram> &arena, std::size_t times,
                 Depth &depth) {
    (void)co_await submit(executor, "first", arena); // the others are on the executor's thread, or at once
    for (std::size_t i = 0; i != times; ++i) {
        auto const result = co_await submit(executor, "x", arena);
        depth.served += result.has_value();
        if (depth.where == std::thread::id()) depth.where = std::this_thread::get_id();
        if (depth.where != std::this_thread::get_id()) continue;
        auto const at = stack_address();
        depth.lowest = at < depth.lowest ? at : depth.lowest, depth.highest = at > depth.highest ? at : depth.highest;
    }
}

} // namespace

TEST_CASE("deferred: a loop of awaits doesn't grow the stack") {
    Watchdog const watchdog;
    auto const executor = threads(1);
    Arena<Ram> arena;
    Depth depth;
    std::binary_semaphore over{0};
    HeldQueue held(executor);
    constexpr std::size_t times = 10'000;
    await_often(over, executor, arena, times, depth);
    held.open();
    over.acquire();
    CHECK(depth.served == times);
    CHECK(depth.highest - depth.lowest < 16'384);
}

namespace {

OwnedTask await_for_ever(Executor const &executor, Arena<Ram> &arena, int &resumed) {
    (void)co_await submit(executor, "for ever", arena);
    ++resumed;
}
OwnedTask await_for_ever_elsewhere(Executor const &executor, Arena<Ram> &arena, Events &events, int &resumed) {
    (void)co_await submit(executor, "for ever", arena).value().resume_on(Events::schedule, &events);
    ++resumed;
}

} // namespace

TEST_CASE("deferred: a coroutine that is destroyed while it waits isn't resumed") {
    Watchdog const watchdog;
    auto const executor = threads(1);
    Arena<Ram> arena;
    Events events;
    int resumed = 0;
    on_own_thread(executor, [&] { // where nothing can resume it meanwhile
        auto const task = await_for_ever(executor, arena, resumed);
        task.coroutine.destroy();
        auto const other = await_for_ever_elsewhere(executor, arena, events, resumed);
        other.coroutine.destroy();
    });
    CHECK(resumed == 0);
    CHECK(events.scheduled == 0);
    CHECK(is_free(arena));
    auto after = submit(executor, "after", arena).value();
    CHECK(same_bits(embeddings_of(after.wait().value()), expected_of("after")));
}

TEST_CASE("deferred: a coroutine may destroy others that wait, while their calls complete") {
    Watchdog const watchdog;
    auto const executor = threads(1);
    std::vector<Arena<Ram>> arenas(8);
    int resumed = 0;
    on_own_thread(executor, [&] {
        std::vector<OwnedTask> tasks;
        for (auto &arena : arenas) tasks.push_back(await_for_ever(executor, arena, resumed));
        for (auto const &task : tasks) task.coroutine.destroy(); // each waits for its own call, run first
    });
    CHECK(resumed == 0);
    for (auto &arena : arenas) CHECK(is_free(arena));
}

TEST_CASE("deferred: in a forked child an awaited call answers, and nobody sleeps for ever") {
    Watchdog const watchdog;
    auto const executor = threads(1);
    Arena<Ram> arena, other;
    HeldQueue held(executor);
    auto call = submit(executor, "lvalue", arena).value();
    int const answer = status_of_child([&] {
        std::binary_semaphore over{0};
        Seen seen, refused;
        await_handle(over, call, seen);
        if (!over.try_acquire() || seen.status != Status::unsupported) std::_Exit(2);
        await_temporary_result(over, executor, other, refused, {});
        std::_Exit(over.try_acquire() && refused.status == Status::unsupported ? 7 : 3);
        return 1;
    });
    CHECK(answer == 7);
    held.open();
}
