/// Device memory and its executor: starting and refusing, growth, order on the first stream and towards other streams,
/// copies to the host, what is used again, and threads.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
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

using fake_driver::Mode, fake_driver::has;
using uform::Arena, uform::Executor, uform::Ram, uform::Rows, uform::Status, uform::Vram;
using uform::cuda::Code, uform::cuda::DeviceAttribute, uform::cuda::DevicePointer;

namespace {

std::string message(uform::Result<Executor<Vram>> const &refused) { return std::string(refused.error().message()); }

/// Rows of which each one's bytes are its number's low byte, so that a part that lands elsewhere shows.
uform::Result<Rows<Vram>> fill_numbered(Executor<Vram> const &executor, Arena<Vram> &arena, std::size_t rows,
                                        std::size_t columns) {
    auto draft = arena.begin(executor);
    auto const place = draft->place<float>(rows, columns);
    auto writing = std::move(*draft).commit();
    if (!writing) return writing.error();
    for (std::size_t row = 0; row != rows; ++row)
        if (!store(executor, writing->stream(), writing->data(place) + row * columns, columns * 4, int(row & 255)))
            return uform::Error::fixed(Status::device, "the verb's own work");
    auto published = std::move(*writing).publish();
    if (!published) return published.error();
    return (*published)[place];
}
bool is_numbered(std::span<float const> values, std::size_t columns) {
    auto const bytes = std::as_bytes(values);
    for (std::size_t i = 0; i != bytes.size(); ++i)
        if (bytes[i] != static_cast<std::byte>(i / (columns * 4) & 255)) return false;
    return true;
}

void ramp(fake_driver::LaunchShape const &, float *to, unsigned count) {
    for (unsigned i = 0; i != count; ++i) to[i] = float(i) / 2;
}
fake_driver::HostKernel const ramp_kernel = fake_driver::HostKernelOf<&ramp>::named("ramp");

} // namespace

TEST_CASE("an executor is refused where there is no device that can serve it, with the reason", "[cuda][executor]") {
    FakeDevice const fake;
    SECTION("no device at all") {
        fake->set_devices(0);
        auto const refused = Executor<Vram>::for_device(0);
        CHECK(status(refused) == Status::unsupported);
        CHECK(message(refused) == "starting CUDA: CUDA_ERROR_NO_DEVICE (100)");
    }
    SECTION("none of that ordinal") {
        fake->set_devices(2);
        CHECK(status(Executor<Vram>::for_device(1)) == Status::success);
        CHECK(message(Executor<Vram>::for_device(2)) == "there is no device 2: the machine has 2");
        CHECK(status(Executor<Vram>::for_device(2)) == Status::unsupported);
        CHECK(status(Executor<Vram>::for_device(UINT32_MAX)) == Status::unsupported);
    }
    SECTION("one without stream-ordered pools") {
        fake->set_devices(2);
        fake->set_attribute(DeviceAttribute::memory_pools, 0);
        auto const refused = Executor<Vram>::for_device(1);
        CHECK(status(refused) == Status::unsupported);
        CHECK(message(refused) == "device 1 has no stream-ordered memory pools");
    }
    CHECK(fake.nothing_is_alive());
}

TEST_CASE("without a driver a device is unsupported, with the reason, and everything else works", "[cuda][executor]") {
    auto const ended = in_child([] {
        unsetenv("LD_LIBRARY_PATH");
        execl(UFORM_ARENA_WITHOUT_DRIVER, UFORM_ARENA_WITHOUT_DRIVER, static_cast<char *>(nullptr));
        return 99;
    });
    INFO(ended.output);
    if (has(ended.output, "a device was found")) return skip_test("this machine has a driver and a device of its own");
    CHECK(ended.by_itself);
    CHECK(has(ended.output, "unsupported: "));
    CHECK(has(ended.output, "host pages work\n"));
    if (!has(ended.output, "no CUDA driver")) return skip_part("this machine has a driver of its own");
    std::string const reason = "unsupported: no CUDA driver: libcuda.so.1";
    CHECK(ended.output.find(reason) != ended.output.rfind(reason)); // each time it is asked
}

TEST_CASE("executors are shared handles, each with a stream of its own, and leave nothing behind", "[cuda][executor]") {
    FakeDevice const fake;
    {
        auto const one = Executor<Vram>::for_device(0).value();
        auto const copy = one;
        auto const two = Executor<Vram>::for_device(0).value();
        CHECK(one.stream() == copy.stream());
        CHECK(one.stream() != two.stream());
        CHECK(one.origin() == copy.origin());
        CHECK_FALSE(one.origin() == two.origin());
        CHECK(fake->live().streams == 2);
        CHECK(fake->live().pools == 2);
        CHECK(fake->live().contexts == 2);
        CHECK(fake->live().bytes == 0);
        CHECK(fake->live().host_bytes == 0);
        CHECK(fake->calls("cuMemPoolSetAttribute") == 2);
        auto moved = Executor<Vram>::for_device(0).value();
        moved = one;
        CHECK(fake->live().streams == 2);
    }
    CHECK(fake.nothing_is_alive());
}

TEST_CASE("the caller's context is its own again after every call", "[cuda][executor]") {
    FakeDevice const fake;
    fake->set_devices(2);
    auto const other = Executor<Vram>::for_device(1).value();
    InContext const callers(other);
    auto const current = [&] {
        uform::cuda::Context context = nullptr;
        CHECK(callers.driver.context_current(&context) == Code::success);
        return context;
    };
    auto const before = current();
    REQUIRE(before);
    {
        auto const executor = Executor<Vram>::for_device(0).value();
        CHECK(current() == before);
        Arena<Vram> arena(executor);
        for (std::size_t rows : {1u, 1000u, 10u}) {
            auto const view = fill(executor, arena, rows, 10, 1).value();
            CHECK(current() == before);
            CHECK(holds(view, 1));
            CHECK(current() == before);
        }
        CHECK(status(arena.begin(other)) == Status::invalid_argument);
        UserStream const user(executor);
        auto pin = fill(executor, arena, 1, 1, 1).value().pin();
        CHECK(pin->stream_wait(user.stream));
        CHECK(pin->release_on(user.stream));
        CHECK(current() == before);
        CHECK(arena.trim());
        CHECK(current() == before);
    }
    CHECK(current() == before);
    CHECK(fake->live().contexts == 1);
}

TEST_CASE("growing: half more than before, below the limit, and less where there is no more", "[cuda][vram]") {
    World<Vram> world;
    Arena<Vram> arena(world.executor);
    auto const grow = [&](std::size_t kib) { return status(fill(world.executor, arena, kib, 256, 1)); };
    CHECK(grow(100) == Status::success);
    CHECK(arena.capacity() == 100 << 10);
    CHECK(grow(104) == Status::success);
    CHECK(arena.capacity() == 152 << 10); // 150 KiB, in whole steps of 4 KiB
    CHECK(grow(152) == Status::success);
    CHECK(world.fake->calls("cuMemAllocFromPoolAsync") == 2);
    arena.limit(200 << 10);
    CHECK(grow(160) == Status::success);
    CHECK(arena.capacity() == 160 << 10); // a half more would be over the limit
    arena.limit(SIZE_MAX);
    world.fake->set_memory_limit((160 + 200) << 10);
    CHECK(grow(161) == Status::success); // a half more isn't there, and what is needed is
    CHECK(arena.capacity() == 161 << 10);
    CHECK(grow(200) == Status::out_of_memory); // both live at once
    CHECK(arena.capacity() == 161 << 10);
    CHECK(world.fake->live().allocations == 1);
}

TEST_CASE("a verb of the caller's own launches a kernel on the writing's stream", "[cuda][vram]") {
    World<Vram> world;
    for (Mode mode : {Mode::eager, Mode::slow, Mode::lazy}) {
        world.fake->set_mode(mode, 300);
        Arena<Vram> arena(world.executor);
        auto draft = arena.begin(world.executor);
        auto const place = draft->place<float>(7, 11);
        auto writing = std::move(*draft).commit();
        CHECK(writing->stream() == world.executor.stream());
        float *to = writing->data(place);
        unsigned count = 77;
        void *parameters[] = {&to, &count};
        {
            InContext const in(world.executor);
            REQUIRE(in.driver.launch(ramp_kernel.handle(), 1, 1, 1, 32, 1, 1, 0,
                                     static_cast<uform::cuda::Stream>(writing->stream()), parameters,
                                     nullptr) == Code::success);
        }
        auto const rows = std::move(*writing).publish().value()[place];
        std::array<float, 77> read{};
        REQUIRE(rows.copy_to(std::span(read)));
        bool right = true;
        for (unsigned i = 0; i != count; ++i) right = right && read[i] == float(i) / 2;
        CHECK(right);
    }
}

TEST_CASE("publish returns when the work on the first stream is done", "[cuda][vram]") {
    World<Vram> world;
    Arena<Vram> arena(world.executor);
    for (Mode mode : {Mode::slow, Mode::lazy}) {
        world.fake->set_mode(mode, 3000);
        auto const rows = fill(world.executor, arena, 100, 10, 5).value();
        // A look past the driver: nothing waits here but publish.
        auto const *const bytes = static_cast<unsigned char const *>(world.fake->look(device_address(rows.data())));
        CHECK((bytes[0] == 5 && bytes[3999] == 5));
        REQUIRE(fill(world.executor, arena, 100, 10, 6));
    }
}

TEST_CASE("a call that is dropped with its work queued, and the freed arena, end in the first stream's order",
          "[cuda][vram]") {
    World<Vram> world;
    for (Mode mode : {Mode::slow, Mode::lazy}) {
        world.fake->set_mode(mode, 2000);
        for (bool grows : {false, true}) {
            Arena<Vram> next(world.executor);
            void const *dropped = nullptr;
            {
                Arena<Vram> arena(world.executor);
                REQUIRE(fill(world.executor, arena, 100, 10, 1));
                auto draft = arena.begin(world.executor);
                auto const place = draft->place<float>(grows ? 1000 : 100, 10);
                auto writing = std::move(*draft).commit();
                dropped = writing->data(place);
                REQUIRE(store(world.executor, writing->stream(), writing->data(place), 4000, 2));
            } // freed under the queued work
            auto const rows = fill(world.executor, next, grows ? 1000 : 100, 10, 3).value();
            CHECK(rows.data() == dropped); // reused at once
            CHECK(holds(rows, 3));
            CHECK(world.fake.complaint() == "");
        }
    }
}

TEST_CASE("copy_to: any size through the staging, in one piece", "[cuda][copy]") {
    World<Vram> world;
    Arena<Vram> arena(world.executor);
    constexpr std::size_t half = uform::cuda::Staging::half_bytes / 4;
    for (Mode mode : {Mode::eager, Mode::slow}) {
        world.fake->set_mode(mode, 50);
        for (std::size_t count : {std::size_t{1}, half - 1, half, half + 1, 2 * half, 2 * half + 1, 7 * half + 3}) {
            auto const rows = fill(world.executor, arena, count, 1, 77).value();
            CHECK(status(rows.copy_to(std::span<float>())) == Status::invalid_argument);
            std::vector<float> read(count + 1, -1);
            CHECK(status(rows.copy_to(std::span(read))) == Status::invalid_argument);
            std::vector<std::uint8_t> wrong(count * 4);
            CHECK(status(rows.copy_to(std::span(wrong))) == Status::invalid_argument);
            CHECK(read.front() == -1);
            REQUIRE(rows.copy_to(std::span(read).first(count)));
            CHECK(read.back() == -1); // not one byte more
            CHECK(holds(rows, 77));
        }
        // An odd size, over several turns of both halves.
        auto const rows = fill_numbered(world.executor, arena, 13, 70001).value();
        std::vector<float> read(13 * 70001);
        REQUIRE(rows.copy_to(std::span(read)));
        CHECK(is_numbered(read, 70001));
    }
    CHECK(world.fake->live().host_allocations == 1);
    CHECK(world.fake->live().host_bytes == 1 << 20);
}

TEST_CASE("copy_to: pinned and managed memory takes the bytes without staging", "[cuda][copy]") {
    World<Vram> world;
    Arena<Vram> arena(world.executor);
    auto const rows = fill_numbered(world.executor, arena, 50, 100).value();
    PinnedBytes const pinned(world.executor, 30000);
    long const before = world.fake.allocations();
    world.fake->set_mode(Mode::slow, 500);
    std::span const to(static_cast<float *>(pinned.memory) + 100, 5000);
    REQUIRE(rows.copy_to(to));
    CHECK(is_numbered(to, 100));
    std::vector<float> managed(5000), registered(5000), half_registered(5000);
    world.fake->register_host(managed.data(), 20000, fake_driver::Registered::managed);
    world.fake->register_host(registered.data(), 20000, fake_driver::Registered::pinned);
    for (auto *target : {&managed, &registered}) {
        REQUIRE(rows.copy_to(std::span(*target)));
        CHECK(is_numbered(*target, 100));
    }
    CHECK(world.fake.allocations() == before);
    world.fake->register_host(half_registered.data(), 19996, fake_driver::Registered::pinned);
    REQUIRE(rows.copy_to(std::span(half_registered)));
    CHECK(is_numbered(half_registered, 100));
    CHECK(world.fake.allocations() == before + 1); // not all of it is pinned: through the staging
}

TEST_CASE("stream_wait: a user's stream reads behind what the first stream still writes", "[cuda][order]") {
    World<Vram> world;
    Arena<Vram> arena(world.executor);
    UserStream const user(world.executor);
    PinnedBytes const to(world.executor, 4000);
    for (Mode mode : {Mode::slow, Mode::lazy})
        for (bool waits : {true, false}) {
            auto pin = fill(world.executor, arena, 100, 10, 1).value().pin();
            world.fake->set_mode(mode, 2000);
            // The user goes on writing in place, on the first stream.
            REQUIRE(store(world.executor, world.executor.stream(), const_cast<void *>(pin->data()), 4000, 2));
            if (waits) REQUIRE(pin->stream_wait(user.stream));
            user.read(*pin, to.memory, 4000);
            CHECK(world.fake.complaint() ==
                  (waits ? "" : "cuMemcpyDtoHAsync_v2: not ordered after a write on another stream"));
            REQUIRE(pin->release_on(user.stream));
            user.synchronize();
            if (waits) CHECK(static_cast<unsigned char *>(to.memory)[3999] == 2);
            world.fake->set_mode(Mode::eager, 0);
        }
}

TEST_CASE("release_on: the next call, a growing one too, writes behind what a user's stream still reads",
          "[cuda][order]") {
    World<Vram> world;
    Arena<Vram> arena(world.executor);
    UserStream const user(world.executor);
    PinnedBytes const to(world.executor, 4000);
    std::size_t rows = 100;
    for (Mode mode : {Mode::slow, Mode::lazy})
        for (bool grows : {false, true})
            for (bool announced : {true, false}) {
                auto pin = fill(world.executor, arena, rows, 10, 1).value().pin();
                world.fake->set_mode(mode, 2000);
                user.read(*pin, to.memory, 4000);
                if (announced) {
                    REQUIRE(pin->release_on(user.stream));
                    CHECK(status(pin->release_on(user.stream)) == Status::invalid_argument);
                } else {
                    uform::Pinned<Rows<Vram>> const let_go = *std::move(pin);
                }
                if (grows) rows *= 2;
                REQUIRE(fill(world.executor, arena, rows, 10, 2));
                auto const complaint = world.fake.complaint();
                CHECK((complaint == "") == announced);
                if (!announced) CHECK(has(complaint, "overwrites what another stream may still read"));
                user.synchronize();
                if (announced) CHECK(static_cast<unsigned char *>(to.memory)[3999] == 1);
                world.fake->set_mode(Mode::eager, 0);
                REQUIRE(fill(world.executor, arena, rows, 10, 2));
                world.fake->forget_violations();
            }
}

TEST_CASE("release_on: the free, a trim and a detached storage's end come behind the reader too", "[cuda][order]") {
    World<Vram> world;
    UserStream const user(world.executor);
    PinnedBytes const to(world.executor, 4000);
    for (int how = 0; how != 3; ++how)
        for (bool announced : {true, false}) {
            std::optional<Arena<Vram>> arena(std::in_place, world.executor);
            auto pin = fill(world.executor, *arena, 100, 10, 1).value().pin();
            world.fake->set_mode(Mode::lazy, 0);
            user.read(*pin, to.memory, 4000);
            if (announced) REQUIRE(pin->release_on(user.stream));
            else {
                uform::Pinned<Rows<Vram>> const let_go = *std::move(pin);
            }
            if (how == 0) arena.reset();
            if (how == 1) (void)arena->detach().value();
            if (how == 2) {
                { auto const fails = std::move(*arena->begin(world.executor)).commit(); }
                REQUIRE(arena->trim()); // nothing is current, so all of it goes
                CHECK(arena->capacity() == 0);
            }
            auto const complaint = world.fake.complaint();
            CHECK((complaint == "") == announced);
            user.synchronize();
            if (announced) CHECK(static_cast<unsigned char *>(to.memory)[3999] == 1);
            world.fake->set_mode(Mode::eager, 0);
        }
}

TEST_CASE("release_on: readers of many threads, without a call in between, use few events again and again",
          "[cuda][order][threads]") {
    World<Vram> world;
    Arena<Vram> arena(world.executor);
    auto const rows = fill(world.executor, arena, 100, 10, 1).value();
    std::vector<std::unique_ptr<UserStream>> streams;
    std::vector<std::unique_ptr<PinnedBytes>> targets;
    for (int i = 0; i != 4; ++i) {
        streams.push_back(std::make_unique<UserStream>(world.executor));
        targets.push_back(std::make_unique<PinnedBytes>(world.executor, 4000));
    }
    std::atomic<int> wrong{0};
    std::atomic<bool> stop{false};
    std::vector<std::thread> readers;
    constexpr int rounds = 300;
    for (std::size_t i = 0; i != 4; ++i)
        readers.emplace_back([&, i] {
            for (int round = 0; round != rounds; ++round) {
                auto pin = rows.pin();
                if (!pin) return void(++wrong);
                InContext const in(world.executor);
                wrong += in.driver.copy_out(targets[i]->memory, device_address(rows.data()), 4000,
                                            streams[i]->stream) != Code::success;
                wrong += !pin->release_on(streams[i]->stream);
                if (round % 16 == 0) // the readers' streams keep up, so that their events are done
                    wrong += in.driver.stream_synchronize(streams[i]->stream) != Code::success;
            }
        });
    std::thread owner([&] { // levers on memory are allowed meanwhile
        while (!stop) {
            wrong += status(arena.reserve(1 << 20)) == Status::device;
            wrong += status(arena.trim()) == Status::device;
        }
    });
    for (auto &reader : readers) reader.join();
    stop = true;
    owner.join();
    CHECK(wrong == 0);
    CHECK(world.fake->calls("cuEventCreate") < 4 * rounds / 4);
    CHECK(holds(rows, 1));
    CHECK(holds(fill(world.executor, arena, 100, 10, 2).value(), 2));
    CHECK(world.fake.complaint() == "");
    for (auto const &stream : streams) stream->synchronize();
}

TEST_CASE("a steady loop allocates nothing after its largest shapes, whatever their order", "[cuda][allocations]") {
    World<Vram> world;
    Arena<Vram> arena(world.executor), other(world.executor);
    UserStream const user(world.executor);
    std::vector<float> read(64 * 64);
    std::mt19937 random(1);
    long refused = 0;
    auto const call = [&](std::size_t texts, std::size_t rows, std::size_t columns) noexcept {
        auto draft = arena.begin(world.executor);
        auto const pooled = draft->place<float>(texts, columns);
        auto const ids = draft->place_host<std::uint32_t>(rows, 1);
        auto const states = draft->place_ragged<float>(texts, rows, columns);
        auto writing = std::move(*draft).commit();
        if (!writing) return void(++refused);
        auto const offsets = writing->offsets(states);
        for (std::size_t i = 0; i != offsets.size(); ++i) offsets[i] = static_cast<std::uint32_t>(i * rows / texts);
        std::ranges::fill(writing->values(ids), 7u);
        refused += !store(world.executor, writing->stream(), writing->data(pooled), texts * columns * 4, 3);
        auto published = std::move(*writing).publish();
        if (!published) return void(++refused);
        auto const view = (*published)[pooled];
        refused += !view.copy_to(std::span(read).first(texts * columns));
        auto pin = view.pin();
        refused += !pin->stream_wait(user.stream);
        refused += !pin->release_on(user.stream);
        refused += !fill(world.executor, other, texts, columns, 1);
    };
    call(64, 512, 64); // the largest of all, once, and what is used again from the second call on
    call(64, 512, 64), call(64, 512, 64);
    REQUIRE(refused == 0);
    long const driver_before = world.fake.allocations(), events_before = world.fake->calls("cuEventCreate"),
               frees_before = world.fake->calls("cuMemFreeAsync");
    std::size_t const capacity = arena.capacity() + other.capacity();
    OwnAllocations const own;
    constexpr int calls = 3000;
    for (int i = 0; i != calls; ++i) {
        if (i % 100 == 0) world.fake->set_mode(i % 300 == 0 ? Mode::lazy : Mode::eager, 0);
        call(1 + random() % 64, 1 + random() % 512, 1 + random() % 64);
    }
    long const own_after = own.count();
    CHECK(refused == 0);
    CHECK(world.fake.allocations() == driver_before);
    CHECK(world.fake->calls("cuMemFreeAsync") == frees_before);
    // A reader's event isn't done yet where the next call comes, so a few may be in use at once.
    CHECK(world.fake->calls("cuEventCreate") <= events_before + 2);
    CHECK(arena.capacity() + other.capacity() == capacity);
    CHECK(world.fake.complaint() == "");
    if (!OwnAllocations::works) return skip_part("the host's allocations aren't counted under sanitizers");
    CHECK(own_after == 0);
    {
        auto *volatile block = new int(1); // the counter counts
        delete block;
    }
    CHECK(own.count() == own_after + 1);
}

TEST_CASE("trim gives the pool's memory back to the driver, at once or after the next call", "[cuda][vram]") {
    World<Vram> world;
    Arena<Vram> arena(world.executor);
    auto const trims = [&] { return world.fake->calls("cuMemPoolTrimTo"); };
    REQUIRE(fill(world.executor, arena, 1000, 10, 1));
    auto const rows = fill(world.executor, arena, 10, 10, 1).value();
    REQUIRE(arena.trim());
    CHECK(trims() == 1); // what was outgrown before
    CHECK(holds(rows, 1));
    CHECK(arena.capacity() >= 40000);
    REQUIRE(fill(world.executor, arena, 10, 10, 2));
    CHECK(arena.capacity() == 4096);
    CHECK(trims() == 2); // the old block is gone now
    REQUIRE(fill(world.executor, arena, 10, 10, 2));
    CHECK(trims() == 2);
    REQUIRE(arena.reserve(100'000));
    CHECK(arena.capacity() >= 100'000);
    REQUIRE(arena.trim());
    CHECK(arena.capacity() == 4096);
    CHECK(world.fake->live().bytes == 4096);
    CHECK(trims() == 3);

    // A shrinking call that has no memory for it goes on with what it has.
    REQUIRE(fill(world.executor, arena, 1000, 10, 1));
    REQUIRE(fill(world.executor, arena, 10, 10, 1));
    REQUIRE(arena.trim());
    world.fake->set_memory_limit(world.fake->live().bytes);
    auto const next = fill(world.executor, arena, 10, 10, 4);
    REQUIRE(next);
    CHECK(holds(*next, 4));
}

TEST_CASE("trim gives host memory back too, and capacity counts it", "[cuda][vram]") {
    World<Vram> world;
    Arena<Vram> arena(world.executor);
    auto const call = [&](std::size_t host_rows) {
        auto draft = arena.begin(world.executor);
        (void)draft->place_host<float>(host_rows, 1024);
        REQUIRE(std::move(*std::move(*draft).commit()).publish());
    };
    call(1000);
    CHECK(arena.capacity() >= 4'096'000);
    call(1);
    CHECK(arena.capacity() >= 4'096'000);
    REQUIRE(arena.trim());
    CHECK(arena.capacity() <= 65536);
    CHECK(world.fake.allocations() == 0); // none of it on the device
}

TEST_CASE("reserved memory survives refused calls", "[cuda][vram]") {
    World<Vram> world;
    Arena<Vram> arena(world.executor);
    auto const rows = fill(world.executor, arena, 10, 10, 1).value();
    REQUIRE(arena.reserve(1 << 20));
    auto const capacity = arena.capacity();
    { auto const dropped = arena.begin(world.executor); }
    CHECK(arena.capacity() == capacity);
    REQUIRE(arena.reserve(100)); // fits what is current
    CHECK(holds(rows, 1));
    long const before = world.fake.allocations();
    REQUIRE(fill(world.executor, arena, 1000, 64, 2));
    CHECK(world.fake.allocations() <= before + 1);
}

TEST_CASE("a reserved block that is smaller than what the call needs doesn't take over", "[cuda][vram]") {
    World<Vram> world;
    Arena<Vram> arena(world.executor);
    REQUIRE(fill(world.executor, arena, 64, 64, 1)); // 16 KiB
    REQUIRE(fill(world.executor, arena, 1, 1, 1));
    REQUIRE(arena.trim());
    REQUIRE(arena.reserve(100)); // for a smaller block, as the trim waits for one
    CHECK(arena.capacity() == 16384 + 4096);
    CHECK(holds(fill(world.executor, arena, 64, 64, 2).value(), 2));
    CHECK(arena.capacity() == 16384);
}

TEST_CASE("in a forked child every call on a device is refused, and destructors return", "[cuda][vram]") {
    World<Vram> world;
    Arena<Vram> arena(world.executor);
    auto const rows = fill(world.executor, arena, 10, 10, 1).value();
    auto pin = rows.pin();
    auto const ended = in_child([&] {
        float read[100];
        HOLDS(status(rows.copy_to(std::span(read))) == Status::device);
        HOLDS(status(rows.stream_wait(world.executor.stream())) == Status::device);
        HOLDS(status(pin->release_on(world.executor.stream())) == Status::device);
        { auto const let_go = *std::move(pin); }
        for (std::size_t size : {10u, 1000u}) HOLDS(status(fill(world.executor, arena, size, 10, 2)) == Status::device);
        HOLDS(rows.is_current());
        HOLDS(status(arena.reserve(1 << 20)) == Status::device);
        HOLDS(arena.trim());
        { Arena<Vram> const gone = std::move(arena); }
        HOLDS(!rows.is_current());
        { auto const last = std::move(world.executor); }
        HOLDS(world.fake.complaint() == "");
        return 0;
    });
    INFO(ended.output);
    CHECK(ended.by_itself);
    CHECK(holds(rows, 1)); // the parent's are untouched
}

TEST_CASE("many threads, each with an arena, on one executor's first stream", "[cuda][threads]") {
    World<Vram> world;
    std::atomic<int> wrong{0};
    for (Mode mode : {Mode::eager, Mode::slow}) {
        world.fake->set_mode(mode, 20);
        std::vector<std::thread> threads;
        for (unsigned number = 0; number != 4; ++number)
            threads.emplace_back([&, number] {
                std::mt19937 random(number);
                std::optional<Arena<Vram>> arena(std::in_place, world.executor);
                for (int round = 0; round != 60; ++round) {
                    int const value = static_cast<int>(random() % 256);
                    auto const rows = fill(world.executor, *arena, 1 + random() % 2000, 3, value);
                    wrong += !rows || !holds(*rows, value);
                    if (random() % 8 == 0) arena.emplace(world.executor);
                    if (random() % 8 == 0) wrong += !arena->trim();
                }
            });
        for (auto &thread : threads) thread.join();
    }
    CHECK(wrong == 0);
}

TEST_CASE("readers on threads of their own copy pinned rows while the arena and its executor go", "[cuda][threads]") {
    FakeDevice const fake;
    for (int round = 0; round != 20; ++round) {
        auto executor = std::make_unique<Executor<Vram>>(Executor<Vram>::for_device(0).value());
        std::optional<Arena<Vram>> arena(std::in_place, *executor);
        std::atomic<int> right{0};
        auto const rows = fill(*executor, *arena, 100, 10, 5).value();
        std::vector<std::thread> readers;
        for (int i = 0; i != 3; ++i)
            readers.emplace_back([pin = rows.pin().value(), &right] {
                std::vector<float> read(1000);
                auto const done = pin.copy_to(std::span(read)); // refused once the arena was freed
                auto const bytes = std::as_bytes(std::span(read));
                right += done ? std::ranges::count(bytes, std::byte{5}) == 4000
                              : done.error().status() == Status::invalid_argument;
            });
        arena.reset(), executor.reset();
        for (auto &reader : readers) reader.join();
        CHECK(right == 3);
        CHECK(fake.nothing_is_alive());
    }
}
