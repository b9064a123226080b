/// Who may go when: handles, arenas, executors and models that end while deferred calls are in flight, on any thread.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <semaphore>
#include <thread>
#include <utility>
#include <vector>

#include "deferred_fixture.hpp"
#include "skip.hpp"

#if UFORM_ADDRESS_SANITIZER
#include <sanitizer/lsan_interface.h>
#endif

using uform::Arena, uform::Outputs, uform::Ram, uform::Scalar, uform::Status;
using Executor = uform::Executor<Ram>;
using namespace std::chrono_literals;

namespace {

uform::Encoded<Ram> blocking(uform::TapeView text, Arena<Ram> &arena) {
    return tiny().text_encode(text, Outputs::embeddings, Scalar::f32, arena).value();
}
/// Never destroyed.
void leak(Handle call) { ::new (std::malloc(sizeof(Handle))) Handle(std::move(call)); }

} // namespace

TEST_CASE("deferred: ending a handle waits for its call") {
    Watchdog const watchdog;
    auto const executor = threads(1);
    Arena<Ram> arena, other;
    auto const before = blocking("before", arena);
    HeldQueue held(executor);
    std::optional<Handle> call = submit(executor, "a", arena).value();
    std::atomic<bool> is_open{false};
    bool was_open = false;
    std::thread ends([&] {
        call.reset();
        was_open = is_open;
    });
    auto second = submit(executor, "b", other).value();
    for (int i = 0; i != 1000; ++i) sched_yield();
    is_open = true;
    held.open();
    ends.join();
    CHECK(was_open);
    CHECK_FALSE(before.is_current()); // it ran
    CHECK(is_free(arena));            // and nobody has its result
    CHECK(second.wait());
}

TEST_CASE("deferred: handles move, and what is assigned over waits") {
    Watchdog const watchdog;
    auto const executor = threads(1);
    Arena<Ram> first, second;
    HeldQueue held(executor);
    auto a = submit(executor, "a", first).value();
    auto b = submit(executor, "b", second).value();
    auto moved = std::move(a);
    auto &same = moved;
    moved = std::move(same);
    REQUIRE_FALSE(moved.ready());
    std::vector<Handle> many;
    for (int i = 0; i != 3; ++i) many.push_back(std::move(i ? many.back() : b)); // grows, and leaves empty ones behind
    REQUIRE_FALSE(many[2].ready());
    CHECK(many[0].ready());
    CHECK(status_of(many[1]) == Status::invalid_argument);
    held.open();
    moved = std::move(many[2]); // waits for the first, whose result goes
    CHECK(is_free(first));
    CHECK(same_bits(embeddings_of(moved.wait().value()), expected_of("b")));
    CHECK(status_of(a) == Status::invalid_argument);
    a = submit(executor, "c", first).value(); // one that was moved from takes another
    CHECK(same_bits(embeddings_of(a.wait().value()), expected_of("c")));
}

TEST_CASE("deferred: an arena may be moved while a call has it") {
    Watchdog const watchdog;
    auto const executor = threads(1);
    Arena<Ram> arena, elsewhere;
    (void)blocking("before", elsewhere);
    HeldQueue held(executor);
    auto call = submit(executor, "a", arena).value();
    Arena<Ram> moved = std::move(arena);
    elsewhere = std::move(moved);
    CHECK_FALSE(is_free(elsewhere));
    held.open();
    {
        auto const result = call.wait();
        REQUIRE(result);
        CHECK(same_bits(embeddings_of(*result), expected_of("a")));
        CHECK_FALSE(is_free(elsewhere));
        arena = std::move(elsewhere);
        CHECK(same_bits(embeddings_of(*result), expected_of("a")));
    }
    CHECK(is_free(arena));
}

TEST_CASE("deferred: ending an arena waits for its call; the result keeps the bytes, and its views are stale") {
    Watchdog const watchdog;
    auto const executor = threads(1);
    std::optional<Arena<Ram>> arena(std::in_place);
    HeldQueue held(executor);
    auto call = submit(executor, "a", *arena).value();
    std::atomic<bool> is_open{false};
    bool was_open = false;
    std::thread ends([&] {
        arena.reset();
        was_open = is_open;
    });
    for (int i = 0; i != 1000; ++i) sched_yield();
    is_open = true;
    held.open();
    ends.join();
    CHECK(was_open);
    auto const result = call.wait();
    REQUIRE(result);
    CHECK_FALSE(result->is_current());
    CHECK(result->embeddings().values<float>().error().status() == Status::invalid_argument);
    auto const *const bytes = static_cast<float const *>(result->embeddings().data());
    CHECK(same_bits({bytes, bytes + 48}, expected_of("a")));
}

TEST_CASE("deferred: a cancel lets an arena's end go on") {
    Watchdog const watchdog;
    auto const executor = threads(1);
    std::optional<Arena<Ram>> arena(std::in_place);
    HeldQueue held(executor);
    auto call = submit(executor, "a", *arena).value();
    std::thread ends([&] { arena.reset(); });
    CHECK(call.cancel());
    ends.join();
    CHECK(status_of(call) == Status::cancelled);
    held.open();
}

TEST_CASE("deferred: in its own continuation everything may end") {
    Watchdog const watchdog;
    struct World {
        std::optional<Executor> executor;
        std::optional<uform::Model> model;
        std::optional<Arena<Ram>> arena;
        std::optional<Handle> call;
        std::function<void(World &)> end;
        std::binary_semaphore over{0};
    };
    using Order = std::function<void(World &)>;
    Order const handle = [](World &w) { w.call.reset(); }, arena = [](World &w) { w.arena.reset(); },
                executor = [](World &w) { w.executor.reset(); }, model = [](World &w) { w.model.reset(); };
    std::vector<std::vector<Order>> const orders = {{handle},
                                                    {arena},
                                                    {executor},
                                                    {model},
                                                    {handle, arena, executor, model},
                                                    {model, executor, arena, handle},
                                                    {executor, handle, model, arena},
                                                    {arena, executor, model, handle}};
    for (std::size_t const count : {1u, 3u})
        for (std::size_t i = 0; i != orders.size(); ++i)
            for (bool const is_queued : {false, true}) {
                INFO("order " << i << ", threads " << count << ", queued " << is_queued);
                World world;
                world.executor.emplace(threads(count));
                world.model.emplace(uform::Model::load(data_path("tiny")).value());
                world.arena.emplace();
                world.end = [&](World &w) {
                    for (auto const &each : orders[i]) each(w);
                };
                std::optional<HeldQueue> held(std::in_place, *world.executor);
                world.call.emplace(world.model->on(*world.executor)
                                       .deferred()
                                       .text_encode("a", Outputs::embeddings, Scalar::f32, *world.arena)
                                       .value());
                auto told = [&] {
                    world.end(world);
                    world.over.release();
                };
                if (is_queued) on_ready(*world.call, told);
                held.reset();
                if (!is_queued) { // on this thread
                    REQUIRE(world.call->wait_for(1h));
                    on_ready(*world.call, told);
                }
                world.over.acquire();
                if (world.call) {
                    auto const result = world.call->wait();
                    REQUIRE(result);
                    CHECK(result->is_current() == world.arena.has_value());
                    if (world.arena) CHECK(same_bits(embeddings_of(*result), expected_of("a")));
                }
            }
}

TEST_CASE("deferred: where the executor's last handle goes with its last call, its thread ends by itself") {
    Watchdog const watchdog;
    for (int round = 0; round != 50; ++round) {
        Arena<Ram> arena;
        std::optional<Handle> call;
        {
            auto const executor = threads(1 + static_cast<std::size_t>(round) % 3);
            call.emplace(submit(executor, "a", arena).value());
        }
        if (round % 2) CHECK(same_bits(embeddings_of(call->wait().value()), expected_of("a")));
        call.reset();
        CHECK(is_free(arena));
    }
}

TEST_CASE("deferred: the executor and the model may go with calls queued, which are run") {
    Watchdog const watchdog;
    std::vector<Arena<Ram>> arenas(6);
    std::vector<Handle> calls;
    {
        std::optional<Executor> executor = threads(2);
        std::optional<uform::Model> model = uform::Model::load(data_path("tiny")).value();
        HeldQueue held(*executor);
        for (std::size_t i = 0; i != arenas.size(); ++i)
            calls.push_back(model->on(*executor)
                                .deferred()
                                .text_encode(tiny_texts()[i], Outputs::embeddings, Scalar::f32, arenas[i])
                                .value());
        executor.reset(), model.reset();
        CHECK(calls[4].cancel());
        CHECK_FALSE(calls[0].ready());
        held.open();
    }
    for (std::size_t i = 0; i != arenas.size(); ++i) {
        auto const result = calls[i].wait();
        if (i == 4) CHECK(result.error().status() == Status::cancelled);
        else CHECK(same_bits(embeddings_of(result.value()), expected_of(tiny_texts()[i])));
    }
}

TEST_CASE("deferred: a continuation that runs keeps the executor, whose last handle goes elsewhere") {
    Watchdog const watchdog;
    for (std::size_t const count : {1u, 2u}) {
        std::optional<Executor> executor = threads(count);
        HeldQueue held(*executor);
        executor.reset(); // doesn't wait for the thread, which waits for this one
        held.open();
    }
}

namespace {

/// A call of the test's own, to look into the moments in which others can only be met by chance.
class Probe final : public uform::DeferredResult<uform::Encoded<Ram>> {
    std::optional<Executor> executor_;

    void run() noexcept override {
        if (at_start) at_start(*this);
        begin_run();
        complete(uform::Error::fixed(Status::io, "probed"));
    }
    bool fills(void const *) const noexcept override { return false; }
    void abandon() noexcept override { complete(uform::Error::fixed(Status::cancelled, "abandoned")); }
    void finish(bool is_told) noexcept override {
        auto executor = std::exchange(executor_, std::nullopt);
        if (at_end) at_end(*this, is_told);
        announce();
    }

  public:
    std::function<void(Probe &)> at_start;     // taken from the queue, but not begun
    std::function<void(Probe &, bool)> at_end; // its result is there, but it isn't ready

    template <class Prepare> static Handle submit(Executor const &executor, Prepare prepare) {
        auto *const probe = executor.states().lend<Probe>();
        REQUIRE(probe);
        REQUIRE(executor.queue().start());
        probe->executor_.emplace(executor);
        prepare(*probe);
        probe->restart();
        probe->enqueue(executor.queue());
        return Handle(probe);
    }
};

} // namespace

TEST_CASE("deferred: a call that was taken from the queue can't be cancelled, although it hasn't begun") {
    Watchdog const watchdog;
    auto const executor = threads(1);
    bool was_cancelled = true;
    auto call = Probe::submit(
        executor, [&](Probe &probe) { probe.at_start = [&](Probe &self) { was_cancelled = self.cancel(); }; });
    CHECK(status_of(call) == Status::io);
    CHECK_FALSE(was_cancelled);
}

TEST_CASE("deferred: who asks to be told while a call ends is told at once, when it is ready") {
    Watchdog const watchdog;
    auto const executor = threads(1);
    std::binary_semaphore settled{0};
    std::atomic<bool> returned{false};
    pid_t const asking = gettid();
    bool was_ready = true, was_told = true;
    auto call = Probe::submit(executor, [&](Probe &probe) {
        probe.at_end = [&](Probe &self, bool is_told) {
            was_ready = self.ready(), was_told = is_told;
            settled.release();
            while (!returned && !sleeps(asking)) sched_yield();
        };
    });
    settled.acquire();
    std::thread::id where;
    auto tell = [&] { where = std::this_thread::get_id(); };
    on_ready(call, tell);
    returned = true;
    CHECK(status_of(call) == Status::io);
    CHECK_FALSE(was_ready);
    CHECK_FALSE(was_told); // so the executor was let go already
    CHECK(where == std::this_thread::get_id());
}

TEST_CASE("deferred: a cancel may end the executor") {
    Watchdog const watchdog;
    for (bool const is_told : {false, true}) {
        Arena<Ram> arena, first;
        std::optional<Executor> executor = threads(1);
        HeldQueue held(*executor);
        auto call = submit(*executor, "a", arena).value();
        int told = 0;
        auto tell = [&] { ++told; };
        if (is_told) on_ready(call, tell);
        executor.reset();
        std::thread opens([&] { held.open(); });
        bool const was_cancelled = call.cancel(); // may be the last that has the executor, or not
        opens.join();
        CHECK((was_cancelled ? Status::cancelled : Status::success) == status_of(call));
        if (was_cancelled) CHECK(told == is_told);
    }
}

TEST_CASE("deferred: in a continuation, a call that is queued behind it can be waited for, dropped and polled") {
    Watchdog const watchdog;
    for (std::size_t const count : {1u, 2u}) {
        auto const executor = threads(count);
        Arena<Ram> first, second, third, fourth, fifth;
        std::vector<float> waited, polled, spun;
        bool is_dropped = false, is_run_between = false;
        on_own_thread(executor, [&] {
            auto before = submit(executor, "before", first).value();
            auto awaited = submit(executor, "awaited", second).value();
            waited = embeddings_of(awaited.wait().value());
            is_run_between = before.ready(); // the awaited one is run first
            { auto const dropped = submit(executor, "dropped", third).value(); }
            is_dropped = is_free(third);
            auto short_spans = submit(executor, "short spans", fourth).value();
            while (!short_spans.wait_for(1ns)) {
            }
            polled = embeddings_of(short_spans.wait().value());
            auto no_spans = submit(executor, "no spans", fifth).value();
            while (!no_spans.wait_for(0s)) {
            }
            spun = embeddings_of(no_spans.wait().value());
        });
        CHECK(same_bits(waited, expected_of("awaited")));
        CHECK_FALSE(is_run_between);
        CHECK(is_dropped);
        CHECK(same_bits(polled, expected_of("short spans")));
        CHECK(same_bits(spun, expected_of("no spans")));
    }
}

TEST_CASE("deferred: while a continuation waits, another one waits for the very same call") {
    Watchdog const watchdog;
    auto const executor = threads(1), other = threads(1);
    Arena<Ram> outer_arena, inner_arena;
    HeldQueue held(other);
    auto inner = submit(other, "inner", inner_arena).value();
    std::vector<float> seen;
    bool was_there = true;
    on_own_thread(executor, [&] {
        auto outer = submit(executor, "outer", outer_arena).value();
        auto told = [&] { // runs in the wait below
            was_there = inner.wait_for(1us);
            held.open();
        };
        on_ready(outer, told);
        seen = embeddings_of(inner.wait().value());
    });
    CHECK_FALSE(was_there);
    CHECK(same_bits(seen, expected_of("inner")));
}

TEST_CASE("deferred: two executors whose continuations wait for each other's calls") {
    Watchdog const watchdog;
    for (int round = 0; round != 20; ++round) {
        auto const a = threads(1), b = threads(1);
        std::vector<Arena<Ram>> arenas(4);
        std::binary_semaphore a_waits{0}, b_waits{0}, over_a{0}, over_b{0};
        // Each holds its own queue, then both submit to the other's, behind the continuation that runs there.
        HeldQueue held_a(a), held_b(b);
        auto first_a = submit(a, "first of a", arenas[0]).value(), first_b = submit(b, "first of b", arenas[1]).value();
        std::vector<float> from_b, from_a;
        auto in_a = [&] {
            a_waits.release(), b_waits.acquire(); // both are in their continuations
            auto call = submit(b, "for a", arenas[2]).value();
            from_b = embeddings_of(call.wait().value());
            over_a.release();
        };
        auto in_b = [&] {
            b_waits.release(), a_waits.acquire();
            auto call = submit(a, "for b", arenas[3]).value();
            from_a = embeddings_of(call.wait().value());
            over_b.release();
        };
        on_ready(first_a, in_a), on_ready(first_b, in_b);
        held_a.open(), held_b.open();
        over_a.acquire(), over_b.acquire();
        CHECK(same_bits(from_b, expected_of("for a")));
        CHECK(same_bits(from_a, expected_of("for b")));
    }
}

TEST_CASE("deferred: a wait on one executor's thread for another's call runs what comes to the first meanwhile") {
    Watchdog const watchdog;
    auto const a = threads(1), b = threads(1);
    Arena<Ram> first, second;
    std::vector<float> seen;
    HeldQueue held(b);
    auto call = submit(b, "of b", first).value();
    std::binary_semaphore waits{0};
    std::thread pushes([&] {
        waits.acquire();
        auto later = submit(a, "of a", second).value();
        seen = embeddings_of(later.wait().value()); // only the thread that waits can run it
        held.open();
    });
    std::vector<float> waited;
    on_own_thread(a, [&] {
        waits.release();
        waited = embeddings_of(call.wait().value());
    });
    pushes.join();
    CHECK(same_bits(seen, expected_of("of a")));
    CHECK(same_bits(waited, expected_of("of b")));
}

TEST_CASE("deferred: in a continuation, an arena ends whose call is queued behind it, here or elsewhere") {
    Watchdog const watchdog;
    auto const executor = threads(1), other = threads(1);
    std::vector<float> first_seen, second_seen;
    bool is_other_left = false;
    on_own_thread(executor, [&] {
        Arena<Ram> kept;
        auto before = submit(executor, "before", kept).value();
        std::optional<Handle> here, there;
        {
            Arena<Ram> arena;
            here.emplace(submit(executor, "here", arena).value());
        }
        is_other_left = !before.ready(); // the arena's own call is run first
        {
            Arena<Ram> elsewhere;
            there.emplace(submit(other, "there", elsewhere).value());
        }
        auto const read = [](Handle &call) {
            auto const result = call.wait();
            auto const *const bytes = static_cast<float const *>(result.value().embeddings().data());
            return std::vector<float>(bytes, bytes + 48);
        };
        first_seen = read(*here), second_seen = read(*there);
        auto over = submit(executor, "over", *std::make_unique<Arena<Ram>>()); // an arena that is gone at once
        CHECK(over.value().ready());
    });
    CHECK(same_bits(first_seen, expected_of("here")));
    CHECK(same_bits(second_seen, expected_of("there")));
    CHECK(is_other_left);
}

TEST_CASE("deferred: in a continuation, a blocking call on the same executor") {
    Watchdog const watchdog;
    for (std::size_t const count : {1u, 3u}) {
        auto const executor = threads(count);
        std::vector<float> seen, own;
        on_own_thread(executor, [&] {
            Arena<Ram> arena;
            seen = embeddings_of(
                tiny().on(executor).text_encode("the model", Outputs::embeddings, Scalar::f32, arena).value());
            own = embeddings_of(tiny().text_encode("the model", Outputs::embeddings, Scalar::f32, arena).value());
        });
        CHECK(same_bits(seen, expected_of("the model")));
        CHECK(same_bits(own, expected_of("the model")));
    }
}

TEST_CASE("deferred: a handle that is leaked leaves its arena contended for good, and hangs nobody") {
    auto const work = [](bool is_queued, bool is_static) {
#if UFORM_ADDRESS_SANITIZER
        __lsan_disable(); // it is the leak that is tested
#endif
        {
            std::optional<Executor> executor = threads(2);
            std::optional<uform::Model> model = uform::Model::load(data_path("tiny")).value();
            Arena<Ram> arena;
            std::optional<HeldQueue> held(std::in_place, *executor);
            auto call =
                model->on(*executor).deferred().text_encode("a", Outputs::embeddings, Scalar::f32, arena).value();
            if (!is_queued) held.reset(), (void)call.wait_for(1h);
            leak(std::move(call));
            if (submit(*executor, "b", arena).error().status() != Status::contended) return 2;
            held.reset();
            Arena<Ram> after;
            auto last = submit(*executor, "c", after).value(); // behind it, and the thread serves on
            if (!last.wait()) return 3;
            if (submit(*executor, "b", arena).error().status() != Status::contended) return 4;
            if (is_static) { // they go at the program's end, or never
                static std::optional<Executor> const kept = *executor;
                leak(submit(*kept, "d", *new Arena<Ram>).value());
            }
        } // the executor, the model and the arena end
        return 7;
    };
    for (bool const is_queued : {false, true})
        for (bool const is_static : {false, true}) {
            INFO("queued: " << is_queued << ", static: " << is_static);
            CHECK(status_of_child([&] { return work(is_queued, is_static); }) == 7);
        }
}

TEST_CASE("deferred: a program ends while calls are in flight") {
    CHECK(status_of_child([] {
              static Executor const executor = threads(2);
              static Arena<Ram> arenas[2];
              static auto first = submit(executor, "a", arenas[0]).value();
              static auto second = submit(executor, "b", arenas[1]).value();
              return 7;
          }) == 7);
}

TEST_CASE("deferred: a program ends in a continuation") {
    CHECK(status_of_child([]() -> int {
              static Executor const executor = threads(1);
              static Arena<Ram> arena;
              static HeldQueue held(executor);
              static auto call = submit(executor, "a", arena).value();
              call.on_ready([](void *) noexcept { std::_Exit(7); }, nullptr);
              held.open();
              (void)call.wait_for(1h);
              for (;;) pause();
          }) == 7);
}

TEST_CASE("deferred: a child that is forked in a continuation leaves its parent's queue alone") {
#if UFORM_THREAD_SANITIZER
    return skip_test("ThreadSanitizer can't start threads in a child of many threads");
#endif
    Watchdog const watchdog;
    Executor const executor = threads(1);
    Arena<Ram> parents;
    std::atomic<int> told = 0;
    auto tell = [&] { ++told; };
    std::optional<Handle> queued;
    int status = -1;
    on_own_thread(executor, [&] {
        queued.emplace(submit(executor, "the parent's", parents).value());
        on_ready(*queued, tell);
        status = status_of_child([&]() -> int {
            {
                Executor const own = threads(2);
                Arena<Ram> arena;
                auto call = submit(own, "own", arena).value();
                if (!same_bits(embeddings_of(call.wait().value()), expected_of("own"))) std::_Exit(1);
            }
            std::_Exit(told == 0 ? 7 : 2);
        });
    });
    CHECK(status == 7);
    CHECK(status_of(*queued) == Status::success);
    while (told == 0) std::this_thread::yield();
    CHECK(told == 1);
}

TEST_CASE("deferred: a forked child is told that nobody serves it, and its destructors don't hang") {
    Watchdog const watchdog;
    std::optional<Executor> executor = threads(2);
    std::optional<Arena<Ram>> done_arena(std::in_place), open_arena(std::in_place), free_arena(std::in_place);
    std::optional<Handle> done = submit(*executor, "done", *done_arena).value();
    REQUIRE(done->wait_for(1h));
    HeldQueue held(*executor);
    std::optional<Handle> open = submit(*executor, "open", *open_arena).value();
    auto const child = [&](auto work) {
        return status_of_child([&] {
            work();
            std::_Exit(7); // what the parent had is not the child's to end
            return 1;
        });
    };
    auto const require = [](bool is_right, int code) {
        if (!is_right) std::_Exit(code);
    };
    CHECK(child([&] { // a new submit
              auto const refused = submit(*executor, "a", *free_arena);
              require(!refused && refused.error().status() == Status::unsupported, 10);
              require(is_free(*free_arena), 11);
          }) == 7);
    CHECK(child([&] { // what was done before the fork
              require(done->ready(), 20);
              int told = 0;
              auto tell = [&] { ++told; };
              on_ready(*done, tell);
              require(told == 1, 21);
              {
                  auto const result = done->wait();
                  require(result && same_bits(embeddings_of(*result), expected_of("done")), 22);
              }
              require(is_free(*done_arena), 23);
          }) == 7);
    CHECK(child([&] { // what never will be
              require(open->wait_for(0s) && open->wait_for(1h) && open->ready(), 30);
              require(!open->cancel(), 31);
              int told = 0;
              auto tell = [&] { ++told; };
              on_ready(*open, tell);
              require(told == 1, 32);
              require(status_of(*open) == Status::unsupported, 33);
          }) == 7);
    CHECK(child([&] { // ends
              open.reset(), done.reset();
              done_arena.reset(), free_arena.reset(), open_arena.reset(); // the last has a call that runs in the parent
              executor.reset();
          }) == 7);
#if UFORM_THREAD_SANITIZER
    skip_part("ThreadSanitizer can't start threads in a child of many threads");
#else
    CHECK(child([&] { // an executor of the child's own
              auto const own = threads(2);
              auto call = submit(own, "own", *free_arena).value();
              require(same_bits(embeddings_of(call.wait().value()), expected_of("own")), 40);
          }) == 7);
#endif
    held.open();
    CHECK(open->wait());
}
