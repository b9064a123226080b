/// The points of the arena's contract on a device, and on host pages with the same words: where a promise holds for
/// both, one test runs on both.
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "child_process.hpp"
#include "cuda_fixture.hpp"
#include "skip.hpp"
#include "uform/config.hpp"

#if UFORM_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

using uform::Arena, uform::Executor, uform::Pinned, uform::Place, uform::Ram, uform::Rows, uform::Status,
    uform::TapeView, uform::Vram;

namespace {

/// The word of the arena that a place is in.
template <class T> std::uint64_t word_of(Place<T> place) {
    return static_cast<uform::Slot const *>(place.arena)->lease.word();
}
using Lease = uform::Lease<uform::PosixPlatform>;

template <class Rows> concept ReadsOnHost = requires(Rows rows) { rows.template values<float>(); };
template <class Rows> concept WaitsOnStream = requires(Rows rows) { rows.stream_wait(nullptr); };
template <class Rows> concept ReleasesOnStream = requires(Pinned<Rows> rows) { rows.release_on(nullptr); };
template <class Writing> concept WritesOnHost = requires(Writing writing) { writing.values(uform::Place<float>()); };

} // namespace

TEST_CASE("contract 1: a device arena says where its outputs land", "[cuda][contract]") {
    FakeDevice const fake;
    fake->set_devices(2);
    auto const first = Executor<Vram>::for_device(0).value(), second = Executor<Vram>::for_device(1).value();
    Arena<Vram> arena(first);
    Arena<Vram> const other(second);
    CHECK(arena.describe() == uform::ArenaDescription{uform::Residency::vram, 0});
    CHECK(other.describe() == uform::ArenaDescription{uform::Residency::vram, 1});
    CHECK(second.device() == 1);
    STATIC_REQUIRE_FALSE(std::is_default_constructible_v<Arena<Vram>>);
}

TEMPLATE_TEST_CASE("contract 2: nothing is allocated until a call writes", "[cuda][contract]", Ram, Vram) {
    World<TestType> world;
    Arena<TestType> arena(world.executor);
    CHECK(arena.capacity() == 0);
    {
        auto draft = arena.begin(world.executor);
        REQUIRE(draft);
        (void)draft->template place<float>(1000, 1000);
    }
    CHECK(arena.capacity() == 0);
    auto const none = fill(world.executor, arena, 0, 8, 0);
    REQUIRE(none);
    CHECK(arena.capacity() == 0);
    CHECK(none->is_current());
    if constexpr (std::is_same_v<TestType, Vram>) CHECK(world.fake.allocations() == 0);
    REQUIRE(fill(world.executor, arena, 10, 10, 1));
    CHECK(arena.capacity() >= 400);
    CHECK(arena.capacity() < 65536);
}

TEMPLATE_TEST_CASE("contract 3: each call rewinds, and a view of an earlier one is refused", "[cuda][contract]", Ram,
                   Vram) {
    World<TestType> world;
    Arena<TestType> arena(world.executor);
    CHECK(is_refused(Rows<TestType>()));
    auto const first = fill(world.executor, arena, 2, 3, 1).value();
    auto const copy = first;
    CHECK(holds(first, 1));
    auto const second = fill(world.executor, arena, 2, 3, 2).value();
    CHECK(is_refused(first));
    CHECK(is_refused(copy));
    CHECK(holds(second, 2));
    CHECK(first.data() == second.data()); // rewound, not moved
    CHECK(first.rows() == 2);
    CHECK(first.columns() == 3);

    auto const ragged = fill_ragged(world.executor, arena, {1, 0, 2}).value();
    CHECK(is_refused(second));
    auto const text = ragged.at(2).value();
    CHECK(text.rows() == 2);
    CHECK(holds(text, 2));
    CHECK(ragged.at(1).value().rows() == 0);
    auto const offsets = ragged.offsets().value(); // the host's, for both
    CHECK(std::vector(offsets.begin(), offsets.end()) == std::vector<std::uint32_t>{0, 1, 1, 3});
    REQUIRE(fill(world.executor, arena, 1, 1, 3));
    CHECK(is_refused(ragged));
    CHECK(is_refused(text));
    STATIC_REQUIRE(std::is_trivially_copyable_v<Rows<TestType>>);
    STATIC_REQUIRE(sizeof(Rows<TestType>) <= 48);
}

TEMPLATE_TEST_CASE("contract 3: views follow a moved arena, and die with a freed one", "[cuda][contract]", Ram, Vram) {
    World<TestType> world;
    std::optional<Arena<TestType>> arena(std::in_place, world.executor);
    auto const rows = fill(world.executor, *arena, 2, 3, 1).value();
    Arena<TestType> moved = std::move(*arena);
    CHECK(holds(rows, 1));
    CHECK(status(arena->begin()) == Status::invalid_argument);
    CHECK(arena->capacity() == 0);
    *arena = std::move(moved);
    CHECK(holds(rows, 1));
    auto const before = rows.data();
    arena.reset();
    CHECK(is_refused(rows));
    Arena<TestType> next(world.executor); // takes the slot, and on a device the memory too
    auto const others = fill(world.executor, next, 2, 3, 2).value();
    CHECK(is_refused(rows));
    CHECK(holds(others, 2));
    if constexpr (std::is_same_v<TestType, Vram>) CHECK(others.data() == before);
}

TEMPLATE_TEST_CASE("contract 4: a refused call leaves the results readable", "[cuda][contract]", Ram, Vram) {
    World<TestType> world;
    Arena<TestType> arena(world.executor);
    auto const rows = fill(world.executor, arena, 2, 3, 1).value();
    auto const capacity = arena.capacity();
    auto const begin = [&] { return arena.begin(world.executor).value(); };

    SECTION("dropped before commit") { (void)begin().template place<float>(100, 100); }
    SECTION("more than can be addressed") {
        auto draft = begin();
        (void)draft.template place<float>(std::size_t{1} << 44, 64);
        CHECK(status(std::move(draft).commit()) == Status::out_of_memory);
    }
    SECTION("over the limit") {
        arena.limit(256);
        CHECK(status(fill(world.executor, arena, 5, 16, 2)) == Status::out_of_memory);
        arena.limit(SIZE_MAX);
    }
    SECTION("a bad shape") {
        auto draft = begin();
        (void)draft.template place<float>(1, std::size_t{1} << 33);
        CHECK(status(std::move(draft).commit()) == Status::invalid_argument);
    }
    SECTION("a reader holds it") {
        auto const pin = rows.pin();
        CHECK(status(arena.begin()) == Status::contended);
    }
    SECTION("larger than before, and pinned in between") {
        auto draft = begin();
        (void)draft.template place<float>(1000, 1000);
        auto const pin = rows.pin();
        CHECK(status(std::move(draft).commit()) == Status::contended);
    }
    if constexpr (std::is_same_v<TestType, Vram>) {
        SECTION("the device has no memory") {
            world.fake->set_memory_limit(1 << 20);
            auto const refused = fill(world.executor, arena, 1000, 1000, 2);
            CHECK(status(refused) == Status::out_of_memory);
            CHECK(refused.error().message().find("4000000 bytes of outputs on device 0") != std::string_view::npos);
        }
        SECTION("the host has no memory for what lies beside") {
            auto draft = begin();
            (void)draft.template place<float>(100'000, 100);
            (void)draft.template place_host<float>(std::size_t{1} << 36, 64);
            CHECK(status(std::move(draft).commit()) == Status::out_of_memory);
        }
        CHECK(arena.capacity() == capacity); // the successor was given back
    }
    CHECK(holds(rows, 1));
    REQUIRE(fill(world.executor, arena, 2, 3, 3));
    CHECK(is_refused(rows));
}

TEMPLATE_TEST_CASE("contract 4: a call that fails after it began writing leaves the rows stale", "[cuda][contract]",
                   Ram, Vram) {
    World<TestType> world;
    Arena<TestType> arena(world.executor);
    auto const old = fill(world.executor, arena, 2, 3, 1).value();
    {
        auto draft = arena.begin(world.executor);
        auto const place = draft->template place<float>(2, 3);
        auto writing = std::move(*draft).commit();
        REQUIRE(store(world.executor, writing->stream(), writing->data(place), 24, 2));
    }
    CHECK(is_refused(old));
    auto const next = fill(world.executor, arena, 2, 3, 3).value();
    CHECK(holds(next, 3));
    auto draft = arena.begin(world.executor);
    auto const place = draft->template place_ragged<float>(1, 2, 3);
    auto writing = std::move(*draft).commit();
    writing->offsets(place)[0] = 0, writing->offsets(place)[1] = 3; // past the place
    CHECK(status(std::move(*writing).publish()) == Status::invalid_argument);
    CHECK(is_refused(next));
    CHECK(holds(fill(world.executor, arena, 1, 1, 4).value(), 4));
}

TEMPLATE_TEST_CASE("contract 5: a second call on a busy arena is contended and touches nothing", "[cuda][contract]",
                   Ram, Vram) {
    World<TestType> world;
    Arena<TestType> arena(world.executor);
    auto const old = fill(world.executor, arena, 2, 3, 1).value();
    auto draft = arena.begin(world.executor);
    auto const place = draft->template place<float>(4, 3);
    auto const all_contended = [&] {
        return status(arena.begin()) == Status::contended && status(arena.reserve(1)) == Status::contended &&
               status(arena.begin(world.executor)) == Status::contended && status(arena.trim()) == Status::contended;
    };
    CHECK(all_contended());
    CHECK(holds(old, 1));
    auto writing = std::move(*draft).commit();
    REQUIRE(store(world.executor, writing->stream(), writing->data(place), 48, 2));
    CHECK(all_contended());
    auto const rows = std::move(*writing).publish().value()[place];
    CHECK(holds(rows, 2));
}

TEMPLATE_TEST_CASE("contract 6: while a pin lives, a call that would rewind is contended", "[cuda][contract]", Ram,
                   Vram) {
    World<TestType> world;
    std::optional<Arena<TestType>> arena(std::in_place, world.executor);
    auto const rows = fill(world.executor, *arena, 2, 3, 1).value();
    {
        auto const pinned = rows.pin().value();
        CHECK(status(arena->begin()) == Status::contended);
        CHECK(status(arena->reserve(1 << 20)) == Status::success); // memory alone may grow
        CHECK(holds(pinned, 1));
        CHECK(status(arena->trim()) == Status::success);
        CHECK(holds(pinned, 1));
    }
    auto pin = fill(world.executor, *arena, 2, 3, 2).value().pin().value();
    CHECK(status(rows.pin()) == Status::invalid_argument);
    auto moved = std::move(pin);
    CHECK(status(arena->begin()) == Status::contended);
    arena.reset();
    CHECK_FALSE(moved.is_current()); // a pin outlives its arena and keeps the bytes
    Arena<TestType> next(world.executor);
    CHECK(fill(world.executor, next, 2, 3, 3).value().data() != moved.data());
    if constexpr (std::is_same_v<TestType, Vram>) {
        auto const *const bytes = static_cast<unsigned char const *>(world.fake->look(device_address(moved.data())));
        REQUIRE(bytes);
        CHECK((bytes[0] == 2 && bytes[23] == 2));
    } else {
        CHECK(*static_cast<unsigned char const *>(moved.data()) == 2);
    }
}

TEST_CASE("contract 8: freeing a device arena waits for the call of another thread", "[cuda][contract][threads]") {
    World<Vram> world;
    for (int round = 0; round != 12; ++round) {
        auto arena = std::make_unique<Arena<Vram>>(world.executor);
        std::atomic<bool> holds_it{false}, ended{false};
        std::thread caller([&] {
            auto draft = arena->begin(world.executor);
            auto const place = draft->place<float>(10, 10);
            auto const until_freed = [&] { // the closer's bit: it is asleep, or about to be
                while (!(word_of(place) & Lease::waiting)) std::this_thread::yield();
                ended = true;
            };
            if (round % 3 == 0) {
                holds_it = true;
                return until_freed(); // refuses
            }
            auto writing = std::move(*draft).commit();
            (void)store(world.executor, writing->stream(), writing->data(place), 400, 1);
            holds_it = true;
            until_freed();
            if (round % 3 == 1) (void)std::move(*writing).publish(); // or fails
        });
        while (!holds_it) std::this_thread::yield();
        arena.reset();
        CHECK(ended);
        caller.join();
    }
}

TEST_CASE("contract 8: freeing a device arena never waits for readers", "[cuda][contract]") {
    World<Vram> world;
    auto arena = std::make_unique<Arena<Vram>>(world.executor);
    auto pinned = fill(world.executor, *arena, 1000, 10, 1).value().pin();
    REQUIRE(pinned);
    arena.reset(); // on the reader's own thread: would hang
    CHECK(world.fake->live().allocations == 1);
    std::thread([last = std::move(*pinned)] {}).join(); // the reader's thread frees
    CHECK(world.fake->live().allocations == 0);

    // Nor for work of a foreign stream that reads the rows, which isn't even started here.
    UserStream const user(world.executor);
    PinnedBytes const to(world.executor, 4000);
    arena = std::make_unique<Arena<Vram>>(world.executor);
    auto read = fill(world.executor, *arena, 100, 10, 7).value().pin();
    world.fake->set_mode(fake_driver::Mode::lazy, 0);
    user.read(*read, to.memory, 4000);
    REQUIRE(read->release_on(user.stream));
    arena.reset();
    CHECK(world.fake.complaint() == "");
    user.synchronize();
    CHECK(static_cast<unsigned char *>(to.memory)[3999] == 7);
}

TEST_CASE("contract 8: a device arena freed by the thread that holds its draft or writing", "[cuda][contract]") {
    World<Vram> world;
    std::optional<Arena<Vram>> arena(std::in_place, world.executor);
    auto const old = fill(world.executor, *arena, 2, 3, 1).value();
    SECTION("a draft") {
        auto draft = arena->begin(world.executor);
        (void)draft->place<float>(2000, 3);
        arena.reset();
        CHECK(status(std::move(*draft).commit()) == Status::invalid_argument);
    }
    SECTION("a writing: the bytes stay until it ends") {
        auto draft = arena->begin(world.executor);
        auto const place = draft->place<float>(2000, 3);
        auto writing = std::move(*draft).commit();
        arena.reset();
        CHECK(store(world.executor, writing->stream(), writing->data(place), 24000, 2));
        CHECK(status(std::move(*writing).publish()) == Status::invalid_argument);
    }
    SECTION("a writing that is dropped") {
        auto draft = arena->begin(world.executor);
        auto writing = std::move(*draft).commit();
        arena.reset();
    }
    CHECK(is_refused(old));
    CHECK(holds(fill(world.executor, arena.emplace(world.executor), 1, 1, 5).value(), 5));
}

TEST_CASE("contract 9: a device arena serves only the executor that made it", "[cuda][contract]") {
    FakeDevice const fake;
    auto const mine = Executor<Vram>::for_device(0).value(), other = Executor<Vram>::for_device(0).value();
    auto const copy = mine; // the same executor
    Arena<Vram> arena(mine);
    auto const rows = fill(copy, arena, 2, 3, 1).value();
    CHECK(status(arena.begin(other)) == Status::invalid_argument);
    CHECK(status(fill(other, arena, 2, 3, 2)) == Status::invalid_argument);
    CHECK(holds(rows, 1));
    CHECK(holds(fill(mine, arena, 2, 3, 3).value(), 3));
    auto taken = arena.begin(mine);
    CHECK(status(arena.begin(other)) == Status::contended); // found first
}

TEST_CASE("contract 9: nor one whose handle has the address of the one that made it", "[cuda][contract]") {
    FakeDevice const fake;
    std::optional<Executor<Vram>> executor(Executor<Vram>::for_device(0).value());
    void const *const address = &*executor;
    Arena<Vram> arena(*executor);
    auto const rows = fill(*executor, arena, 2, 3, 1).value();
    executor.reset();
    executor.emplace(Executor<Vram>::for_device(0).value());
    REQUIRE(&*executor == address);
    CHECK(status(arena.begin(*executor)) == Status::invalid_argument);
    CHECK(holds(rows, 1));
    // What is compared is the core, which the arena keeps: its address can't come back either.
    for (int i = 0; i != 100; ++i)
        CHECK(status(arena.begin(Executor<Vram>::for_device(0).value())) == Status::invalid_argument);
}

TEST_CASE("contract 9: an executor lives as long as its arenas, and what is pinned or detached of them",
          "[cuda][contract]") {
    FakeDevice const fake;
    std::optional<Executor<Vram>> executor(Executor<Vram>::for_device(0).value());
    std::optional<Arena<Vram>> arena(std::in_place, *executor);
    auto const rows = fill(*executor, *arena, 2, 3, 1).value();
    executor.reset();
    CHECK(fake->live().contexts == 1);
    CHECK(holds(rows, 1));
    std::optional<Pinned<Rows<Vram>>> pin(rows.pin().value());
    std::optional<uform::Detached<Vram>> detached(arena->detach().value());
    arena.reset();
    CHECK(fake->live().contexts == 1);
    CHECK(holds(rows, 1));
    detached.reset();
    CHECK(fake->live().contexts == 1);
    CHECK(fake->live().allocations == 1);
    SECTION("the pin ends it") { pin.reset(); }
    SECTION("on another thread") {
        std::thread([last = std::move(*pin)] {}).join();
        pin.reset();
    }
    CHECK(fake.nothing_is_alive());
}

TEST_CASE("contract 9: a host arena serves any executor and outlives them all", "[cuda][contract]") {
    std::optional<Executor<Ram>> executor(Executor<Ram>::with_threads(1).value());
    Arena<Ram> arena(*executor), plain;
    executor.emplace(Executor<Ram>::with_threads(1).value());
    CHECK(holds(fill(*executor, plain, 2, 3, 1).value(), 1));
    auto const rows = fill(*executor, arena, 2, 3, 2).value();
    executor.reset();
    CHECK(holds(rows, 2));
}

TEST_CASE("contract 10: host accessors of device memory don't compile, and data() is the device address",
          "[cuda][contract]") {
    STATIC_REQUIRE(ReadsOnHost<Rows<Ram>>);
    STATIC_REQUIRE_FALSE(ReadsOnHost<Rows<Vram>>);
    STATIC_REQUIRE(WaitsOnStream<Rows<Vram>>);
    STATIC_REQUIRE_FALSE(WaitsOnStream<Rows<Ram>>);
    STATIC_REQUIRE(ReleasesOnStream<Rows<Vram>>);
    STATIC_REQUIRE_FALSE(ReleasesOnStream<Rows<Ram>>);
    STATIC_REQUIRE(WritesOnHost<uform::Writing<Ram>>);
    STATIC_REQUIRE_FALSE(WritesOnHost<uform::Writing<Vram>>);

    World<Vram> world;
    Arena<Vram> arena(world.executor);
    auto const rows = fill(world.executor, arena, 1000, 16, 9).value();
    auto const where = uform::classify(rows.data());
    CHECK(where.device_accessible);
    CHECK_FALSE(where.host_accessible);
    CHECK(where.ordinal == 0);
    CHECK(where.first == device_address(rows.data()));
    CHECK(where.allocation_bytes >= 64000);
    auto const *const bytes = static_cast<unsigned char const *>(world.fake->look(device_address(rows.data())));
    REQUIRE(bytes);
    CHECK((bytes[0] == 9 && bytes[63999] == 9));
}

TEST_CASE("contract 10: a host read or write of device bytes traps", "[cuda][contract]") {
    World<Vram> world;
    Arena<Vram> arena(world.executor);
    auto const rows = fill(world.executor, arena, 100, 16, 9).value();
    auto *const at = static_cast<unsigned char volatile *>(const_cast<void *>(rows.data()));
    static void *expected = nullptr;
    expected = const_cast<unsigned char *>(at + 1234);
    auto const traps_there = [](auto touch) {
        return in_child([&] {
                   struct sigaction action = {};
                   action.sa_flags = SA_SIGINFO;
                   action.sa_sigaction = [](int, siginfo_t *about, void *) { _exit(about->si_addr != expected); };
                   sigaction(SIGSEGV, &action, nullptr);
                   touch();
                   return 2;
               })
            .by_itself;
    };
    CHECK(traps_there([&] { (void)at[1234]; }));
    CHECK(traps_there([&] { at[1234] = 1; }));
    CHECK_FALSE(traps_there([&] { (void)at[1235]; }));
    CHECK_FALSE(traps_there([] {}));
    CHECK(holds(rows, 9));
}

TEST_CASE("contract 10: a tape of device bytes has its offsets on the host, and is classified by its range",
          "[cuda][contract]") {
    World<Vram> world;
    Arena<Vram> source(world.executor);
    auto const bytes = fill(world.executor, source, 16, 16, 'a').value(); // 1024 bytes
    std::uint32_t const offsets[] = {0, 100, 100, 1024};
    auto const tape = TapeView::of(bytes.data(), 1024, offsets).value(); // never looks at the bytes
    CHECK(tape.size() == 3);
    auto const where = uform::classify(tape.data());
    CHECK(where.device_accessible);
    CHECK_FALSE(where.host_accessible);
    auto const first = reinterpret_cast<std::uintptr_t>(tape.data());
    CHECK(where.first <= first);
    CHECK(first + tape.size_bytes() <= where.first + where.allocation_bytes);
    CHECK(uform::classify(offsets).host_accessible);
    CHECK_FALSE(uform::classify(offsets).device_accessible);
    CHECK(status(TapeView::of(bytes.data(), 1000, offsets)) == Status::invalid_argument);
}

TEST_CASE("contract 11: an input that lies in the output's arena is refused", "[cuda][contract]") {
    World<Vram> world;
    Arena<Vram> arena(world.executor), other(world.executor);
    auto const input = fill(world.executor, arena, 64, 64, 1).value(); // 16 KiB: the block has no more
    auto const elsewhere = fill(world.executor, other, 64, 64, 1).value();
    {
        auto const pin = input.pin().value(); // as a verb pins its inputs first
        CHECK(status(arena.begin(world.executor)) == Status::contended);
    }
    auto draft = arena.begin(world.executor);
    auto const *const first = static_cast<std::byte const *>(input.data());
    CHECK(draft->holds(first, 1));
    CHECK(draft->holds(first, 16384));
    CHECK(draft->holds(first + 16383, 1));
    CHECK(draft->holds(first + 100, SIZE_MAX));
    CHECK(draft->holds(first - 8, 9));
    CHECK_FALSE(draft->holds(first - 8, 8));
    CHECK_FALSE(draft->holds(first + 16384, 1));
    CHECK_FALSE(draft->holds(first, 0));
    CHECK_FALSE(draft->holds(elsewhere.data(), 16384));
    CHECK_FALSE(draft->holds(nullptr, 16));
    char const host[16] = {};
    CHECK_FALSE(draft->holds(host, sizeof host));
    // All of the allocation counts, also where its rows don't reach.
    (void)draft->place<float>(1, 1);
    { auto refuses = std::move(*draft); }
    auto const small = fill(world.executor, arena, 1, 1, 2).value();
    auto again = arena.begin(world.executor);
    auto const where = uform::classify(small.data());
    CHECK(again->holds(reinterpret_cast<void const *>(where.first), 1));
    CHECK(again->holds(reinterpret_cast<void const *>(where.first + where.allocation_bytes - 1), 1));
    CHECK_FALSE(again->holds(reinterpret_cast<void const *>(where.first + where.allocation_bytes), 1));
}

TEST_CASE("contract 11: an input that lies in the host's part of the output's arena is refused", "[cuda][contract]") {
    World<Vram> world;
    Arena<Vram> arena(world.executor);
    auto const ragged = fill_ragged(world.executor, arena, {1, 2}).value();
    auto const *const offsets = ragged.offsets().value().data();
    auto draft = arena.begin(world.executor);
    CHECK(draft->holds(offsets, 12));
    CHECK(draft->holds(ragged.flat().data(), 1));
}

TEMPLATE_TEST_CASE("contract 12: capacity, limit, reserve and trim", "[cuda][contract]", Ram, Vram) {
    World<TestType> world;
    Arena<TestType> arena(world.executor);
    constexpr std::size_t row = 64 * 64 * sizeof(float); // 16 KiB
    CHECK(arena.limit() == SIZE_MAX);
    arena.limit(2 * row);
    CHECK(status(arena.reserve(3 * row)) == Status::out_of_memory);
    CHECK(arena.capacity() == 0);
    REQUIRE(arena.reserve(2 * row));
    CHECK(arena.capacity() == 2 * row);
    auto const rows = fill(world.executor, arena, 64, 64, 1).value();
    CHECK(arena.capacity() == 2 * row);
    CHECK(status(fill(world.executor, arena, 3 * 64, 64, 2)) == Status::out_of_memory);
    CHECK(holds(rows, 1));
    arena.limit(SIZE_MAX);
    REQUIRE(arena.reserve(100 * row));
    CHECK(holds(rows, 1));
    CHECK(arena.capacity() >= 100 * row);
    auto const large = fill(world.executor, arena, 100 * 64, 64, 3).value();
    CHECK(holds(large, 3));
    auto const after = fill(world.executor, arena, 64, 64, 4).value();
    REQUIRE(arena.trim());
    CHECK(holds(after, 4)); // never moved
    auto const next = fill(world.executor, arena, 64, 64, 5).value();
    CHECK(arena.capacity() <= 2 * row); // at once, or at the next call
    CHECK(holds(next, 5));
    arena.limit(0); // below what there is
    CHECK(holds(next, 5));
    CHECK(status(fill(world.executor, arena, 1, 1, 6)) == Status::out_of_memory);
    CHECK(holds(next, 5));
    { auto const fails = std::move(*arena.begin(world.executor)).commit(); } // so that no result uses anything
    REQUIRE(arena.trim());
    CHECK(arena.capacity() == 0);
    arena.limit(SIZE_MAX);
    CHECK(holds(fill(world.executor, arena, 64, 64, 7).value(), 7));
}

TEMPLATE_TEST_CASE("contract 13: detach gives the storage away with its views", "[cuda][contract]", Ram, Vram) {
    World<TestType> world;
    Arena<TestType> arena(world.executor);
    arena.limit(1 << 20);
    auto const rows = fill(world.executor, arena, 20, 30, 1).value();
    auto const capacity = arena.capacity();
    auto const pin = rows.pin().value();
    {
        auto const detached = arena.detach().value();
        CHECK(detached.capacity() == capacity);
        CHECK(detached.describe() == arena.describe());
        CHECK(arena.capacity() == 0);
        CHECK(arena.limit() == 1 << 20);
        auto const next = fill(world.executor, arena, 20, 30, 2).value(); // it starts afresh
        CHECK(holds(rows, 1));
        CHECK(holds(next, 2));
        CHECK(rows.data() != next.data());
    }
    CHECK(is_refused(rows)); // but its bytes stay as long as the pin
    auto draft = arena.begin(world.executor);
    CHECK(status(arena.detach()) == Status::contended);
}

TEST_CASE("contract, host rows: ids and counts land in host memory beside device rows", "[cuda][contract]") {
    World<Vram> world;
    Arena<Vram> arena(world.executor);
    for (std::uint32_t round = 1; round != 40; ++round) { // outgrows both blocks
        std::size_t const count = round * round;
        auto draft = arena.begin(world.executor);
        auto const vectors = draft->place<float>(count, 16);
        auto const ids = draft->place_host<std::uint32_t>(count, 1);
        auto const ragged = draft->place_ragged<float>(2, count, 3);
        auto writing = std::move(*draft).commit();
        REQUIRE(writing);
        auto const values = writing->values(ids);
        REQUIRE(values.size() == count);
        for (std::uint32_t i = 0; i != count; ++i) values[i] = i * round;
        auto const offsets = writing->offsets(ragged);
        offsets[0] = 0, offsets[1] = round, offsets[2] = std::uint32_t(count);
        REQUIRE(store(world.executor, writing->stream(), writing->data(vectors), count * 64, int(round)));
        REQUIRE(store(world.executor, writing->stream(), writing->data(ragged), count * 12, int(round + 50)));
        auto const published = std::move(*writing).publish().value();
        Rows<Ram> const read = published[ids];
        auto const read_values = read.values<std::uint32_t>().value();
        bool right = read_values.size() == count;
        for (std::uint32_t i = 0; i != count; ++i) right = right && read_values[i] == i * round;
        CHECK(right);
        CHECK(holds(published[vectors], int(round)));
        CHECK(holds(published[ragged].at(1).value(), int(round + 50)));
        CHECK(published[ragged].offsets().value()[1] == round);
        CHECK_FALSE(uform::classify(read.data()).device_accessible);
        CHECK(uform::classify(published[vectors].data()).device_accessible);
    }
}

TEST_CASE("contract, host rows: a host block that can't grow in place moves at commit, and is given back on refusal",
          "[cuda][contract]") {
    World<Vram> world;
    Arena<Vram> arena(world.executor);
    std::size_t const page = uform::HostPages::page_bytes();
    auto const draft_ids = [&](auto &draft, std::size_t pages) {
        return draft->template place_host<std::uint32_t>(pages * page / 64, 16);
    };
    auto const call = [&](std::size_t pages, std::uint32_t value) {
        auto draft = arena.begin(world.executor);
        auto const ids = draft_ids(draft, pages);
        auto writing = std::move(*draft).commit();
        for (auto &id : writing->values(ids)) id = value;
        return std::move(*writing).publish().value()[ids];
    };
    auto const are = [](Rows<Ram> const &ids, std::uint32_t value) {
        auto const values = ids.values<std::uint32_t>();
        return values && values->front() == value && values->back() == value;
    };
    arena.limit(page); // so that no more is reserved
    auto const first = call(1, 1);
    arena.limit(SIZE_MAX);
    auto const capacity = arena.capacity();
    CHECK(capacity == page);
    {
        auto draft = arena.begin(world.executor);
        (void)draft_ids(draft, 9);
        auto const pin = first.pin();
        CHECK(status(std::move(*draft).commit()) == Status::contended);
    }
    CHECK(arena.capacity() == capacity);
    CHECK(are(first, 1));
    auto const second = call(9, 2);
    CHECK(second.data() != first.data());
    CHECK(are(second, 2));
    CHECK(arena.capacity() == 9 * page);
    CHECK(are(call(9, 3), 3));
}

TEST_CASE("contract, poison: a raw stale pointer into a device arena's host memory traps", "[cuda][contract]") {
#if UFORM_ADDRESS_SANITIZER
    World<Vram> world;
    Arena<Vram> arena(world.executor);
    auto const fill_ids = [&](std::size_t count) {
        auto draft = arena.begin(world.executor);
        auto const ids = draft->place_host<std::uint32_t>(count, 1);
        auto writing = std::move(*draft).commit();
        for (auto &id : writing->values(ids)) id = 1;
        return std::move(*writing).publish().value()[ids];
    };
    auto const first = fill_ids(1000);
    auto const *const raw = first.values<std::uint32_t>().value().data();
    CHECK_FALSE(__asan_address_is_poisoned(raw + 999));
    auto const second = fill_ids(10);
    CHECK(second.data() == raw);
    CHECK(__asan_address_is_poisoned(raw + 999)); // rewound, and not placed again
    CHECK_FALSE(__asan_address_is_poisoned(raw + 9));
    { auto const fails = std::move(*arena.begin(world.executor)).commit(); }
    CHECK(__asan_address_is_poisoned(raw + 9));
#else
    skip_test("only AddressSanitizer knows poisoned bytes");
#endif
}
