/// Every call into the driver on the path of a device arena fails, once and from then on, and every allocation of the
/// host's: what is answered, what stays readable, and what is left behind. Then a device and a driver that are gone.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "child_process.hpp"
#include "cuda/fake/host_kernel.hpp"
#include "cuda/own_allocations.hpp"
#include "cuda_fixture.hpp"
#include "skip.hpp"
#include "uform/config.hpp"

using uform::Arena, uform::Executor, uform::Pinned, uform::Rows, uform::Status, uform::Vram;
using uform::cuda::Code;

namespace {

/// Everything that a scenario may need. What is in `rows` at first holds the value 1.
struct Scene {
    FakeDevice fake;
    std::optional<Executor<Vram>> executor;
    std::optional<PinnedBytes> target;
    std::optional<UserStream> user;
    std::optional<Arena<Vram>> arena;
    Rows<Vram> rows;
    std::optional<Pinned<Rows<Vram>>> pin;
    std::vector<float> read = std::vector<float>(100'000);
    bool may_leave_things = false; ///< the driver says that it is gone, or answers nothing but errors

    Scene() = default;
    Scene(Scene const &) = delete;
    Scene &operator=(Scene const &) = delete;
    ~Scene() {
        if (user) user->synchronize(); // before what it reads into goes
    }

    void start() { executor.emplace(Executor<Vram>::for_device(0).value()); }
    void start_arena() { start(), arena.emplace(*executor); }
    void start_rows() { start_arena(), rows = fill(*executor, *arena, 64, 64, 1).value(); } // 16 KiB
    void start_pin() {
        start_rows(), user.emplace(*executor), target.emplace(*executor, 16384);
        pin.emplace(rows.pin().value());
    }
    void start_copied() {
        start_rows();
        REQUIRE(holds(rows, 1));
    }
    /// A reader on the user's stream whose work hasn't begun.
    void start_reader() {
        start_pin();
        fake->set_mode(fake_driver::Mode::lazy, 0);
        user->read(rows, target->memory, 16384);
        REQUIRE(pin->release_on(user->stream));
        pin.reset();
    }
    void start_steady() {
        start_reader();
        REQUIRE(call(64, 1) == Status::success);
    }
    Status call(std::size_t count, int value) {
        auto next = fill(*executor, *arena, count, 64, value);
        if (next) rows = *next;
        return status(next);
    }
};

/// What comes of it when a driver's call fails.
enum class Outcome {
    success, ///< nothing that the caller sees
    refused, ///< what was readable is readable
    failed,  ///< what was readable is stale, as the call had begun to write
};
/// A call into the driver, in their order. `memory`: whether a lack of memory is answered as such. `otherwise`: what is
/// called instead of the next ones where this one fails.
struct Step {
    char const *function;
    Outcome outcome;
    bool memory = false;
    Step const *otherwise = nullptr;
};

long faults_of_driver = 0, faults_of_host = 0;

Step const push_refused{"cuCtxPushCurrent_v2", Outcome::refused}, push_failed{"cuCtxPushCurrent_v2", Outcome::failed},
    push_ignored{"cuCtxPushCurrent_v2", Outcome::success}, pop{"cuCtxPopCurrent_v2", Outcome::success},
    event_made{"cuEventCreate", Outcome::refused, true}, allocated{"cuMemAllocFromPoolAsync", Outcome::refused, true},
    freed{"cuMemFreeAsync", Outcome::success}, written{"cuMemsetD8Async", Outcome::failed},
    recorded{"cuEventRecord", Outcome::failed}, awaited{"cuEventSynchronize", Outcome::failed},
    ordered{"cuStreamWaitEvent", Outcome::failed};

std::vector<Step> steps(std::initializer_list<std::vector<Step>> parts) {
    std::vector<Step> all;
    for (auto const &part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
}
std::vector<Step> const verb{push_failed, written, pop}, finish{push_failed, recorded, awaited, pop},
    grow{push_refused, allocated, pop}, retire{push_ignored, freed, pop}, wait_for_reader{push_failed, ordered, pop};

/// Makes each of the calls fail in turn. `prepare(scene)`, then `act(scene)` answers a status, then `check(scene,
/// outcome)` looks at what is left. When the scene ends, the fake tells what is still alive or was wrong.
template <class Prepare, class Act, class Check>
void fail_each(std::vector<Step> const &expected, Prepare prepare, Act act, Check check) {
    {
        Scene scene;
        prepare(scene);
        auto const calls = [&] { return scene.fake->calls(nullptr) - scene.fake->calls("cuGetErrorName"); };
        long const before = calls();
        REQUIRE(act(scene) == Status::success);
        CHECK(calls() - before == static_cast<long>(expected.size())); // the list is whole
    }
    for (bool forever : {false, true})
        for (Code code : {Code::out_of_memory, Code::illegal_address, Code::deinitialized})
            for (std::size_t i = 0; i != expected.size(); ++i) {
                INFO("call " << i << ", " << expected[i].function << ", answers " << static_cast<int>(code)
                             << (forever ? " from then on" : " once"));
                Scene scene;
                prepare(scene);
                scene.may_leave_things = forever || code == Code::deinitialized;
                scene.fake->fail_call(static_cast<long>(i), code, forever, nullptr);
                Status const answered = act(scene);
                long const failures = scene.fake->failures();
                std::string const function = scene.fake->failed_function();
                scene.fake->fail_none();
                ++faults_of_driver;
                CHECK(failures >= 1);
                if (!forever) CHECK(function == expected[i].function);

                std::size_t decides = i;
                if (forever)
                    while (decides + 1 != expected.size() && expected[decides].outcome == Outcome::success) ++decides;
                Step const &step = forever && expected[i].otherwise ? *expected[i].otherwise : expected[decides];
                CHECK(answered == (step.outcome == Outcome::success             ? Status::success
                                   : step.memory && code == Code::out_of_memory ? Status::out_of_memory
                                                                                : Status::device));
                check(scene, step.outcome);
            }
}

/// After a call that `fail_each` disturbed: what the contract says of the old rows, and that the next call works.
void check_call(Scene &scene, Outcome outcome, Rows<Vram> const &old) {
    if (outcome == Outcome::refused) CHECK(holds(old, 1));
    else CHECK(is_refused(old));
    if (outcome == Outcome::success) CHECK(holds(scene.rows, 2));
    CHECK(scene.call(200, 3) == Status::success);
    CHECK(holds(scene.rows, 3));
    CHECK(scene.fake.complaint() == "");
}

} // namespace

TEST_CASE("driver faults: starting an executor", "[cuda][faults]") {
    auto const step = [](char const *function) { return Step{function, Outcome::refused, true}; };
    fail_each(
        {step("cuInit"), step("cuDeviceGetCount"), step("cuDeviceGet"), step("cuDeviceGetAttribute"),
         step("cuDevicePrimaryCtxRetain"), push_refused, step("cuMemPoolCreate"), step("cuMemPoolSetAttribute"),
         step("cuStreamCreateWithPriority"), pop},
        [](Scene &) {},
        [](Scene &scene) {
            auto made = Executor<Vram>::for_device(0);
            if (made) scene.executor.emplace(*made);
            return status(made);
        },
        [](Scene &scene, Outcome outcome) {
            if (outcome == Outcome::refused && !scene.may_leave_things) CHECK(scene.fake.nothing_is_alive());
            else if (outcome == Outcome::refused) scene.fake->reset(); // what it had made couldn't be given back
            scene.start_rows();
            CHECK(holds(scene.rows, 1));
        });
}

TEST_CASE("driver faults: the first call", "[cuda][faults]") {
    fail_each(
        steps({{push_refused, event_made, allocated, pop}, verb, finish}), [](Scene &scene) { scene.start_arena(); },
        [](Scene &scene) { return scene.call(64, 2); },
        [](Scene &scene, Outcome outcome) {
            if (outcome == Outcome::refused) CHECK(scene.arena->capacity() == 0);
            check_call(scene, outcome == Outcome::refused ? Outcome::failed : outcome, Rows<Vram>());
        });
}

TEST_CASE("driver faults: a growing call", "[cuda][faults]") {
    Rows<Vram> old;
    fail_each(
        steps({grow, retire, verb, finish}), [&](Scene &scene) { scene.start_rows(), old = scene.rows; },
        [](Scene &scene) { return scene.call(128, 2); },
        [&](Scene &scene, Outcome outcome) {
            CHECK(scene.arena->capacity() == (outcome == Outcome::refused ? 16384 : 32768));
            check_call(scene, outcome, old);
        });
}

TEST_CASE("driver faults: a steady call", "[cuda][faults]") {
    Rows<Vram> old;
    fail_each(
        steps({verb, finish}), [&](Scene &scene) { scene.start_rows(), old = scene.rows; },
        [](Scene &scene) { return scene.call(64, 2); },
        [&](Scene &scene, Outcome outcome) { check_call(scene, outcome, old); });
}

TEST_CASE("driver faults: calls that a reader's stream must be waited for", "[cuda][faults]") {
    Rows<Vram> old;
    auto const prepare = [&](Scene &scene) { scene.start_reader(), old = scene.rows; };
    auto const check = [&](Scene &scene, Outcome outcome) {
        CHECK(scene.fake.complaint() == ""); // nothing ran ahead of the reader
        check_call(scene, outcome, old);
        scene.user->synchronize();
        CHECK(static_cast<unsigned char *>(scene.target->memory)[16383] == 1); // it has read what it was promised
    };
    SECTION("steady") {
        fail_each(
            steps({wait_for_reader, verb, finish}), prepare, [](Scene &scene) { return scene.call(64, 2); }, check);
    }
    SECTION("growing") {
        fail_each(
            steps({grow, wait_for_reader, retire, verb, finish}), prepare,
            [](Scene &scene) { return scene.call(128, 2); }, check);
    }
}

TEST_CASE("driver faults: copying to the host", "[cuda][faults]") {
    Step const copied{"cuMemcpyDtoHAsync_v2", Outcome::refused}, asked{"cuPointerGetAttributes", Outcome::success},
        marked{"cuEventRecord", Outcome::refused}, seen{"cuEventSynchronize", Outcome::refused},
        pinned{"cuMemHostAlloc", Outcome::refused, true};
    auto const copy = [](Scene &scene) {
        return status(scene.rows.copy_to(std::span(scene.read).first(scene.rows.rows() * 64)));
    };
    auto const check = [](Scene &scene, Outcome) {
        CHECK(holds(scene.rows, 1)); // a copy that fails takes nothing away
        CHECK(scene.call(64, 2) == Status::success);
        CHECK(holds(scene.rows, 2));
    };
    SECTION("the first") {
        fail_each(
            {push_refused, asked, event_made, event_made, pinned, copied, marked, seen, pop},
            [](Scene &scene) { scene.start_rows(); }, copy, check);
    }
    SECTION("a later one") {
        fail_each(
            {push_refused, asked, copied, marked, seen, pop}, [](Scene &scene) { scene.start_copied(); }, copy, check);
    }
    SECTION("in several parts") { // 1.25 MiB: two whole halves, and half of one
        fail_each(
            {push_refused, asked, copied, marked, copied, marked, seen, copied, marked, seen, seen, pop},
            [](Scene &scene) {
                scene.start_arena(), scene.read.resize(327'680);
                scene.rows = fill(*scene.executor, *scene.arena, 5120, 64, 1).value();
                CHECK(holds(scene.rows, 1));
                scene.fake->set_mode(fake_driver::Mode::lazy, 0);
            },
            copy, check);
    }
    SECTION("to pinned memory") {
        fail_each(
            {push_refused, asked, event_made, copied, marked, seen, pop},
            [](Scene &scene) { scene.start_rows(), scene.target.emplace(*scene.executor, 16384); },
            [](Scene &scene) {
                std::span const to(static_cast<float *>(scene.target->memory), 4096);
                return status(scene.rows.copy_to(to));
            },
            check);
    }
}

TEST_CASE("driver faults: a copy to pinned memory that fails halfway writes nothing after it has answered",
          "[cuda][faults]") {
    for (char const *function : {"cuEventRecord", "cuEventSynchronize"}) {
        Scene scene;
        scene.start_rows(), scene.target.emplace(*scene.executor, 16384);
        scene.fake->set_mode(fake_driver::Mode::slow, 3000);
        scene.fake->fail_call(0, Code::illegal_address, false, function);
        std::span const to(static_cast<float *>(scene.target->memory), 4096);
        CHECK(status(scene.rows.copy_to(to)) == Status::device);
        for (float &value : to) value = 5;
        CHECK(scene.call(64, 2) == Status::success); // behind the copy
        CHECK(std::ranges::count(to, 5.0f) == 4096);
    }
}

TEST_CASE("driver faults: staging that a failed copy may still be writing isn't freed under it", "[cuda][faults]") {
    for (long number : {0, 1}) {
        Scene scene;
        scene.start_arena(), scene.read.resize(327'680);
        scene.rows = fill(*scene.executor, *scene.arena, 5120, 64, 1).value();
        scene.fake->set_mode(fake_driver::Mode::lazy, 0);
        scene.fake->fail_call(number, Code::illegal_address, false, "cuEventRecord");
        CHECK(status(scene.rows.copy_to(std::span(scene.read))) == Status::device);
        scene.arena.reset(), scene.executor.reset(); // the fake complains where a copy is pending
    }
}

TEST_CASE("driver faults: ordering a user's stream behind the first, and leaving its event", "[cuda][faults]") {
    Step const marked{"cuEventRecord", Outcome::refused}, waits{"cuStreamWaitEvent", Outcome::refused};
    SECTION("stream_wait") {
        fail_each(
            {push_refused, event_made, marked, waits, pop}, [](Scene &scene) { scene.start_pin(); },
            [](Scene &scene) { return status(scene.rows.stream_wait(scene.user->stream)); },
            [](Scene &scene, Outcome) {
                CHECK(holds(scene.rows, 1));
                CHECK(scene.rows.stream_wait(scene.user->stream));
                scene.pin.reset();
                CHECK(scene.call(64, 2) == Status::success);
            });
    }
    SECTION("release_on") {
        fail_each(
            {push_refused, event_made, marked, pop},
            [](Scene &scene) {
                scene.start_pin();
                scene.fake->set_mode(fake_driver::Mode::lazy, 0);
                scene.user->read(scene.rows, scene.target->memory, 16384);
            },
            [](Scene &scene) { return status(scene.pin->release_on(scene.user->stream)); },
            [](Scene &scene, Outcome outcome) {
                if (outcome == Outcome::refused) { // the pin is still held
                    CHECK(scene.call(64, 2) == Status::contended);
                    CHECK(scene.pin->release_on(scene.user->stream));
                }
                CHECK(scene.call(64, 2) == Status::success);
                CHECK(holds(scene.rows, 2));
            });
    }
    SECTION("release_on, where an earlier reader's event is used again") {
        fail_each(
            {push_refused, {"cuEventQuery", Outcome::success, false, &event_made}, marked, pop},
            [](Scene &scene) {
                scene.start_reader(), scene.user->synchronize();
                scene.pin.emplace(scene.rows.pin().value());
            },
            [](Scene &scene) { return status(scene.pin->release_on(scene.user->stream)); },
            [](Scene &scene, Outcome outcome) {
                CHECK((scene.call(64, 2) == Status::contended) == (outcome == Outcome::refused));
                scene.pin.reset();
                CHECK(scene.call(64, 2) == Status::success);
            });
    }
}

TEST_CASE("driver faults: trim, detach and the end of an arena", "[cuda][faults]") {
    Step const trimmed{"cuMemPoolTrimTo", Outcome::success}, drained{"cuStreamSynchronize", Outcome::success};
    auto const works = [](Scene &scene, Outcome) {
        if (!scene.arena) scene.arena.emplace(*scene.executor);
        CHECK(scene.call(64, 2) == Status::success);
        CHECK(holds(scene.rows, 2));
        CHECK(scene.fake.complaint() == "");
    };
    SECTION("trim of a part, at the next call") {
        fail_each(
            {push_ignored, trimmed, pop},
            [](Scene &scene) {
                scene.start_rows();
                REQUIRE(scene.call(8, 1) == Status::success);
            },
            [](Scene &scene) { return status(scene.arena->trim()); },
            [&](Scene &scene, Outcome outcome) {
                CHECK(holds(scene.rows, 1));
                works(scene, outcome);
            });
    }
    SECTION("the call after it") {
        Rows<Vram> old;
        Step const smaller{"cuMemAllocFromPoolAsync", Outcome::success}; // it goes on with what it has
        fail_each(
            steps({{push_refused, smaller, pop},
                   retire,
                   verb,
                   {push_failed, recorded, awaited, push_ignored, trimmed, pop, pop}}),
            [&](Scene &scene) {
                scene.start_rows();
                REQUIRE(scene.call(8, 1) == Status::success);
                REQUIRE(scene.arena->trim());
                old = scene.rows;
            },
            [](Scene &scene) { return scene.call(8, 2); },
            [&](Scene &scene, Outcome outcome) { check_call(scene, outcome, old); });
    }
    SECTION("trim of everything, behind a reader") {
        fail_each(
            {push_ignored, {"cuStreamWaitEvent", Outcome::success}, freed, pop, push_ignored, drained, trimmed, pop},
            [](Scene &scene) {
                scene.start_reader();
                scene.fake->fail_call(0, Code::illegal_address, false, "cuStreamWaitEvent");
                CHECK(scene.call(64, 2) == Status::device); // fails: nothing is current, the reader isn't waited for
                scene.fake->fail_none();
            },
            [](Scene &scene) { return status(scene.arena->trim()); },
            [&](Scene &scene, Outcome outcome) {
                works(scene, outcome);
                scene.user->synchronize();
                CHECK(static_cast<unsigned char *>(scene.target->memory)[16383] == 1);
            });
    }
    SECTION("a refused call that had grown") {
        Rows<Vram> old;
        fail_each(
            steps({grow, retire}), [&](Scene &scene) { scene.start_rows(), old = scene.rows; },
            [](Scene &scene) {
                auto draft = scene.arena->begin(*scene.executor);
                (void)draft->place<float>(128, 64);
                Pinned<Rows<Vram>> const reader = scene.rows.pin().value();
                auto const refused = status(std::move(*draft).commit());
                return refused == Status::contended ? Status::success : refused;
            },
            [&](Scene &scene, Outcome) { check_call(scene, Outcome::refused, old); });
    }
    SECTION("detach and its end") {
        fail_each(
            retire, [](Scene &scene) { scene.start_rows(); },
            [](Scene &scene) {
                auto detached = scene.arena->detach();
                return status(detached);
            },
            works);
    }
    SECTION("freeing behind a reader") {
        fail_each(
            {push_ignored, {"cuStreamWaitEvent", Outcome::success}, freed, pop},
            [](Scene &scene) { scene.start_reader(); },
            [](Scene &scene) { return scene.arena.reset(), Status::success; },
            [&](Scene &scene, Outcome outcome) {
                works(scene, outcome);
                scene.user->synchronize();
                CHECK(static_cast<unsigned char *>(scene.target->memory)[16383] == 1);
            });
    }
}

TEST_CASE("driver faults: the end of an executor", "[cuda][faults]") {
    auto const done = [](char const *function) { return Step{function, Outcome::success}; };
    std::vector<Step> const end =
        steps({retire,
               {push_ignored, done("cuMemFreeHost"), done("cuEventDestroy_v2"), done("cuEventDestroy_v2"),
                done("cuEventDestroy_v2"), done("cuStreamDestroy_v2"), done("cuMemPoolDestroy"), pop,
                done("cuDevicePrimaryCtxRelease_v2")}});
    auto const act = [](Scene &scene) { return scene.arena.reset(), scene.executor.reset(), Status::success; };
    auto const prepare = [](Scene &scene) { scene.start_copied(); };
    fail_each(end, prepare, act, [](Scene &scene, Outcome) {
        // Where the context could never be made current, or the driver said it was gone, what is in there is the
        // driver's to end. The fake says so when the context is released with it.
        if (!scene.may_leave_things) return;
        auto const complaint = scene.fake.complaint();
        if (complaint != "") CHECK(complaint.find("things are left in the context") != std::string::npos);
        scene.fake->reset();
    });
}

TEST_CASE("driver faults: a block that couldn't be freed is freed at the executor's end, behind its reader",
          "[cuda][faults]") {
    for (char const *function : {"cuCtxPushCurrent_v2", "cuStreamWaitEvent"}) {
        INFO(function);
        FakeDevice const fake;
        auto const users = Executor<Vram>::for_device(0).value();
        UserStream const user(users); // of the same context, so that it doesn't keep the executor
        PinnedBytes const to(users, 16384);
        {
            auto const executor = Executor<Vram>::for_device(0).value();
            Arena<Vram> arena(executor);
            auto const rows = fill(executor, arena, 64, 64, 1).value();
            auto pin = rows.pin();
            fake->set_mode(fake_driver::Mode::lazy, 0);
            user.read(rows, to.memory, 16384);
            REQUIRE(pin->release_on(user.stream));
            fake->fail_call(0, Code::illegal_address, false, function);
            { Arena<Vram> const gone = std::move(arena); }
            CHECK(fake->failures() == 1);
            CHECK(fake->live().allocations == 1);
        }
        CHECK(fake->live().allocations == 0);
        CHECK(fake->live().events == 0);
        CHECK(fake->violations() == 0); // it came behind the reader
        user.synchronize();
        CHECK(static_cast<unsigned char *>(to.memory)[16383] == 1);
    }
}

TEST_CASE("a driver that is gone halfway through an executor's end is called no more", "[cuda][faults]") {
    for (char const *function : {"cuMemFreeHost", "cuEventDestroy_v2", "cuStreamDestroy_v2", "cuMemPoolDestroy"}) {
        INFO(function);
        Scene scene;
        scene.start_copied();
        scene.arena.reset();
        scene.fake->fail_call(0, Code::deinitialized, false, function);
        auto const calls_but = [&] { // the context is popped all the same
            return scene.fake->calls(nullptr) - scene.fake->calls("cuCtxPopCurrent_v2");
        };
        long const before = calls_but();
        scene.executor.reset();
        CHECK(scene.fake->failures() == 1);
        long made = 1; // the push
        for (char const *step : {"cuMemFreeHost", "cuEventDestroy_v2", "cuEventDestroy_v2", "cuEventDestroy_v2",
                                 "cuStreamDestroy_v2", "cuMemPoolDestroy"}) {
            ++made;
            if (std::string(step) == function) break;
        }
        CHECK(calls_but() - before == made);
        scene.fake->reset();
    }
}

TEST_CASE("driver faults: the count", "[cuda][faults]") {
    CHECK(faults_of_driver > 500);
    std::printf("faults of the driver that were injected: %ld\n", faults_of_driver);
}

namespace {

/// Refuses each of the host's allocations in `act` in turn, one alone and then all from it on.
template <class Prepare, class Act, class Check> void refuse_each(long least, Prepare prepare, Act act, Check check) {
    for (bool all : {false, true})
        for (long blocks = 0;; ++blocks) {
            INFO("after " << blocks << " blocks" << (all ? ", all" : ""));
            REQUIRE(blocks < 1000);
            Scene scene;
            prepare(scene);
            Status answered = Status::success;
            bool const refused = OwnAllocations::refuse_after(blocks, all, [&] { answered = act(scene); });
            faults_of_host += refused;
            CHECK((answered == Status::success || (refused && answered == Status::out_of_memory)));
            check(scene, answered);
            if (refused) continue;
            CHECK(answered == Status::success);
            CHECK(blocks >= least); // the refusals reached what they are meant for
            break;
        }
}
/// Rows on the device, offsets and ids on the host, all grown.
Status call_with_host_rows(Scene &scene, std::size_t count) {
    auto draft = scene.arena->begin(*scene.executor);
    if (!draft) return status(draft);
    auto const place = draft->place<float>(count, 64);
    auto const ids = draft->place_host<std::uint32_t>(count * 1000, 64);
    auto writing = std::move(*draft).commit();
    if (!writing) return status(writing);
    for (auto &id : writing->values(ids)) id = 3;
    if (!store(*scene.executor, writing->stream(), writing->data(place), count * 256, 2)) return Status::device;
    auto published = std::move(*writing).publish();
    if (published) scene.rows = (*published)[place];
    return status(published);
}

} // namespace

TEST_CASE("host out of memory: each allocation of each step", "[cuda][faults]") {
    if (!OwnAllocations::works) return skip_test("the C library's allocations can't be refused under sanitizers");
    auto const works = [](Scene &scene, Status) {
        CHECK(scene.call(300, 4) == Status::success);
        CHECK(holds(scene.rows, 4));
    };
    SECTION("an executor") {
        refuse_each(
            1, [](Scene &) {},
            [](Scene &scene) {
                auto made = Executor<Vram>::for_device(0);
                if (made) scene.executor.emplace(*made);
                return status(made);
            },
            [](Scene &scene, Status answered) {
                if (answered != Status::success) CHECK(scene.fake.nothing_is_alive());
            });
    }
    SECTION("the first call") {
        refuse_each(
            4, [](Scene &scene) { scene.start_arena(); }, [](Scene &scene) { return call_with_host_rows(scene, 10); },
            works);
    }
    SECTION("a growing call") {
        Rows<Vram> old;
        refuse_each(
            2, [&](Scene &scene) { scene.start_rows(), old = scene.rows; },
            [](Scene &scene) { return call_with_host_rows(scene, 128); },
            [&](Scene &scene, Status answered) {
                CHECK(holds(old, 1) == (answered != Status::success));
                works(scene, answered);
            });
    }
    SECTION("a copy to the host") {
        refuse_each(
            3, [](Scene &scene) { scene.start_rows(); },
            [](Scene &scene) { return status(scene.rows.copy_to(std::span(scene.read).first(4096))); },
            [&](Scene &scene, Status answered) {
                CHECK(holds(scene.rows, 1));
                works(scene, answered);
            });
    }
    SECTION("stream_wait") {
        refuse_each(
            1, [](Scene &scene) { scene.start_pin(); },
            [](Scene &scene) { return status(scene.rows.stream_wait(scene.user->stream)); },
            [&](Scene &scene, Status answered) {
                CHECK(holds(scene.rows, 1));
                scene.pin.reset();
                works(scene, answered);
            });
    }
    SECTION("release_on") {
        refuse_each(
            1, [](Scene &scene) { scene.start_pin(); },
            [](Scene &scene) { return status(scene.pin->release_on(scene.user->stream)); },
            [&](Scene &scene, Status answered) {
                CHECK((scene.call(1, 2) == Status::contended) == (answered != Status::success));
                scene.pin.reset();
                works(scene, answered);
            });
    }
    SECTION("a reservation, which keeps what there was") {
        refuse_each(
            1, [](Scene &scene) { scene.start_rows(); },
            [](Scene &scene) { return status(scene.arena->reserve(1 << 20)); },
            [&](Scene &scene, Status answered) {
                CHECK(holds(scene.rows, 1));
                CHECK((scene.arena->capacity() == 16384) == (answered != Status::success));
                works(scene, answered);
            });
    }
    SECTION("a steady call, a trim, a refused call and the end need none") {
        refuse_each(
            0, [](Scene &scene) { scene.start_steady(); },
            [](Scene &scene) {
                Status const answered = scene.call(64, 2);
                { auto const refuses = scene.arena->begin(*scene.executor); }
                bool const trimmed = scene.arena->trim().has_value();
                scene.arena.reset();
                return trimmed ? answered : Status::device;
            },
            [](Scene &scene, Status answered) {
                CHECK(answered == Status::success);
                CHECK(scene.fake->live().allocations == 0);
            });
        CHECK(faults_of_host >= 0);
    }
    SECTION("arenas' slots: out_of_memory at the first call, and at detach") {
        Scene scene;
        scene.start_rows();
        std::vector<Arena<Vram>> others;
        others.reserve(200);
        bool refused = false, detach_refused = false;
        for (int i = 0; i != 100 && !refused; ++i)
            OwnAllocations::refuse_after(0, true, [&] {
                auto &arena = others.emplace_back(*scene.executor);
                auto const answered = arena.begin(*scene.executor);
                refused = status(answered) == Status::out_of_memory;
                if (refused) detach_refused = status(scene.arena->detach()) == Status::out_of_memory;
            });
        ++faults_of_host;
        CHECK(refused);
        CHECK(detach_refused);
        CHECK(holds(scene.rows, 1));
        works(scene, Status::success);
    }
    std::printf("allocations of the host's that were refused so far: %ld\n", faults_of_host);
}

TEST_CASE("a device that faults: the call is refused as the device's, every later one too, and the end comes",
          "[cuda][faults]") {
    Scene scene;
    scene.start_pin();
    Arena<Vram> other(*scene.executor);
    auto const others = fill(*scene.executor, other, 64, 64, 5).value();
    CHECK(holds(others, 5));
    CHECK(scene.pin->release_on(scene.user->stream));
    auto late = others.pin();
    scene.fake->set_sticky(Code::illegal_address);
    CHECK(scene.call(64, 2) == Status::device);
    CHECK(scene.call(6400, 2) == Status::device);
    CHECK(status(others.copy_to(std::span(scene.read).first(4096))) == Status::device);
    CHECK(status(others.stream_wait(scene.user->stream)) == Status::device);
    CHECK(status(late->release_on(scene.user->stream)) == Status::device);
    CHECK(status(scene.arena->reserve(1 << 20)) == Status::device);
    CHECK(status(scene.arena->trim()) == Status::success);
    CHECK(status(Executor<Vram>::for_device(0)) == Status::device);
    { auto const detached = other.detach(); }
    std::thread([last = std::move(*late)] {}).join();
    scene.arena.reset(), scene.executor.reset();
    // The rest of this scene are the user's own calls.
    scene.fake->set_sticky(Code::success);
    scene.user->synchronize();
    scene.target.reset(), scene.user.reset();
}

TEST_CASE("a kernel that faults fails the call that queued it, and those after it", "[cuda][faults]") {
    FakeDevice const fake;
    {
        auto const executor = Executor<Vram>::for_device(0).value();
        Arena<Vram> arena(executor);
        auto const old = fill(executor, arena, 10, 10, 1).value();
        static constexpr std::uint32_t sizes[] = {8, 0};
        static constexpr fake_driver::ParameterKind kinds[] = {fake_driver::ParameterKind::writes};
        static fake_driver::HostKernel const kernel{
            fake_driver::HostKernel::right_mark,
            "faulty",
            1,
            sizes,
            kinds,
            [](fake_driver::HostKernel const *, fake_driver::LaunchShape const &, void **) {}};
        fake->fail_kernel(0);
        auto draft = arena.begin(executor);
        auto const place = draft->place<float>(10, 10);
        auto writing = std::move(*draft).commit();
        void *to = writing->data(place);
        void *parameters[] = {&to};
        {
            InContext const in(executor);
            REQUIRE(in.driver.launch(kernel.handle(), 1, 1, 1, 1, 1, 1, 0, in.first(), parameters, nullptr) ==
                    Code::success);
        }
        auto const published = std::move(*writing).publish();
        CHECK(status(published) == Status::device);
        CHECK(published.error().message().find("CUDA_ERROR_ILLEGAL_ADDRESS (700)") != std::string_view::npos);
        CHECK(is_refused(old));
        CHECK(status(fill(executor, arena, 10, 10, 2)) == Status::device);
    } // returns
    fake->reset();
}

TEST_CASE("a driver that is gone: destructors return, and call nothing more than the push that says so",
          "[cuda][faults]") {
    Scene scene;
    scene.start_pin();
    CHECK(scene.pin->release_on(scene.user->stream));
    CHECK(holds(scene.rows, 1));
    scene.pin.emplace(scene.rows.pin().value());
    scene.user->synchronize();
    scene.target.reset(), scene.user.reset();
    scene.fake->set_sticky(Code::deinitialized);
    long const calls = scene.fake->calls(nullptr), pushes = scene.fake->calls("cuCtxPushCurrent_v2");
    scene.arena.reset();
    std::thread([last = std::move(*scene.pin)] {}).join();
    scene.pin.reset();
    scene.executor.reset();
    CHECK(scene.fake->calls(nullptr) - calls == scene.fake->calls("cuCtxPushCurrent_v2") - pushes);
    CHECK(scene.fake->calls(nullptr) - calls == 2); // the arena's end, and the executor's
    scene.fake->reset();
}

TEST_CASE("arenas and executors that end with the process, after the driver", "[cuda][faults]") {
    if (UFORM_THREAD_SANITIZER) return skip_test("ThreadSanitizer doesn't let a forked child start threads");
    auto const ended = in_child([] {
        static auto const *controls = fake_driver::controls();
        controls->reset();
        static Executor<Vram> const executor = Executor<Vram>::for_device(0).value();
        static Arena<Vram> arena(executor);
        static auto const pin = fill(executor, arena, 10, 10, 1).value().pin().value();
        std::atexit([] { controls->set_sticky(Code::deinitialized); }); // before the statics end
        exit_from_child(pin.is_current() ? 0 : 1);
        return 2;
    });
    INFO(ended.output);
    CHECK(ended.by_itself);
}
