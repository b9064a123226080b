/// The user's levers on memory, the block that grows in place and the one that can't.
#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <set>
#include <utility>
#include <vector>

#include "arena_fixture.hpp"
#include "catch.hpp"
#include "child_process.hpp"
#include "skip.hpp"
#include "uform/arena.hpp"
#include "uform/config.hpp"

using uform::Arena, uform::Ram, uform::Result, uform::Rows, uform::Status;

namespace {

/// An arena whose block is full and can't grow in place: its limit was raised after the addresses were reserved.
Arena<Ram> make_full(std::size_t pages, std::uint8_t value, Rows<Ram> &rows) {
    Arena<Ram> arena;
    arena.limit(page);
    REQUIRE(fill(arena, page, 0));
    arena.limit(SIZE_MAX);
    rows = fill(arena, pages * page, value).value();
    return arena;
}

} // namespace

TEST_CASE("contract 12: a limit refuses the call that needs more, and acts at the next call", "[arena][memory]") {
    Arena<Ram> arena;
    CHECK(arena.limit() == SIZE_MAX);
    arena.limit(1024);
    CHECK(arena.limit() == 1024);
    auto const rows = fill(arena, 1024, 1).value();
    CHECK(status(fill(arena, 1088, 2)) == Status::out_of_memory);
    CHECK(holds(rows, 1));
    arena.limit(512); // below what is current
    CHECK(holds(rows, 1));
    CHECK(status(fill(arena, 1024, 2)) == Status::out_of_memory);
    CHECK(holds(rows, 1));
    CHECK(holds(fill(arena, 512, 3).value(), 3));
    arena.limit(0);
    CHECK(status(fill(arena, 64, 4)) == Status::out_of_memory);
    CHECK(status(fill(arena, 0, 4)) == Status::success);
    arena.limit(SIZE_MAX);
    CHECK(holds(fill(arena, 100 * page, 5).value(), 5)); // beyond what the first limit reserved
}

TEST_CASE("growth by more than a call needs stays below the limit", "[arena][memory]") {
    Arena<Ram> arena;
    REQUIRE(fill(arena, 10 * page, 1));
    arena.limit(12 * page);
    REQUIRE(fill(arena, 11 * page, 1));
    CHECK(arena.capacity() >= 11 * page);
    CHECK(arena.capacity() <= 12 * page);
}

TEST_CASE("a call that needs more than the machine can ever have is refused while sizing", "[arena][memory]") {
    int overcommit = -1;
    if (std::FILE *file = std::fopen("/proc/sys/vm/overcommit_memory", "r")) {
        if (std::fscanf(file, "%d", &overcommit) != 1) overcommit = -1;
        std::fclose(file);
    }
    if (overcommit != 0 && overcommit != 2) {
        skip_test("this system grants memory that it doesn't have (vm.overcommit_memory is 1, or can't be read)");
        return;
    }
    Arena<Ram> arena;
    auto const rows = fill(arena, page, 1).value();
    for (std::size_t bytes : {std::size_t{1} << 44, std::size_t{1} << 45}) { // addresses for it could be had
        auto draft = arena.begin();
        (void)draft->place<std::uint8_t>(bytes / 64, 64);
        CHECK(status(std::move(*draft).commit()) == Status::out_of_memory);
        CHECK(status(arena.reserve(bytes)) == Status::out_of_memory);
    }
    CHECK(holds(rows, 1));
}

TEST_CASE("contract 12: reserve makes room before it is needed, and touches no results", "[arena][memory]") {
    Arena<Ram> arena;
    REQUIRE(arena.reserve(10 * page));
    CHECK(arena.capacity() == 10 * page);
    auto const rows = fill(arena, 2 * page, 1).value();
    CHECK(arena.capacity() == 10 * page);
    REQUIRE(arena.reserve(50 * page));
    CHECK(arena.capacity() >= 50 * page);
    CHECK(holds(rows, 1));
    auto const capacity = arena.capacity();
    REQUIRE(arena.reserve(3 * page)); // less than there is
    CHECK(arena.capacity() == capacity);
    REQUIRE(fill(arena, 50 * page, 2));
    CHECK(arena.capacity() == capacity);

    auto const current = fill(arena, page, 3).value();
    arena.limit(60 * page);
    CHECK(status(arena.reserve(60 * page + 1)) == Status::out_of_memory);
    CHECK(status(arena.reserve(60 * page)) == Status::success);
    CHECK(status(arena.reserve(SIZE_MAX)) == Status::out_of_memory);
    arena.limit(SIZE_MAX);
    CHECK(status(arena.reserve(SIZE_MAX)) == Status::out_of_memory);
    CHECK(status(arena.reserve(SIZE_MAX - page)) == Status::out_of_memory);
    CHECK(status(arena.reserve(std::size_t{1} << 50)) == Status::out_of_memory);
    CHECK(status(arena.reserve(0)) == Status::success);
    CHECK(holds(current, 3));
}

TEST_CASE("capacity counts what a call that was refused has had in place", "[arena][memory]") {
    Arena<Ram> arena;
    auto const rows = fill(arena, 2 * page, 1).value();
    CHECK(arena.capacity() == 2 * page);
    auto draft = arena.begin();
    (void)draft->place<std::uint8_t>(16, page);
    auto const pin = rows.pin().value();
    CHECK(status(std::move(*draft).commit()) == Status::contended);
    CHECK(arena.capacity() == 16 * page);
    REQUIRE(arena.trim());
    CHECK(arena.capacity() == 2 * page);
    CHECK(holds(rows, 1));
}

TEST_CASE("contract 12: trim gives back what the current results don't use", "[arena][memory]") {
    Arena<Ram> arena;
    REQUIRE(arena.trim());
    CHECK(arena.capacity() == 0);
    REQUIRE(fill(arena, 100 * page, 1));
    auto const rows = fill(arena, 3 * page, 2).value();
    CHECK(arena.capacity() == 100 * page);
    auto const pin = rows.pin().value(); // readers don't stand in the way
    REQUIRE(arena.trim());
    CHECK(arena.capacity() == 3 * page);
    CHECK(holds(rows, 2));
    REQUIRE(arena.trim());
    CHECK(arena.capacity() == 3 * page);
    REQUIRE(arena.reserve(100 * page)); // and it grows again, in place
    CHECK(holds(rows, 2));
    CHECK(rows.data() == pin.data());
}

TEST_CASE("contract 12: trim gives the pages back to the system", "[arena][memory]") {
    if (UFORM_ADDRESS_SANITIZER || UFORM_THREAD_SANITIZER) {
        skip_test("a sanitizer has pages of its own");
        return;
    }
    auto const resident = [] {
        std::size_t all = 0, pages = 0;
        std::FILE *file = std::fopen("/proc/self/statm", "r");
        REQUIRE(file);
        int const read = std::fscanf(file, "%zu %zu", &all, &pages);
        std::fclose(file);
        REQUIRE(read == 2);
        return pages * page;
    };
    Arena<Ram> arena;
    REQUIRE(fill(arena, 64 << 20, 1));
    auto const rows = fill(arena, page, 2).value();
    auto const before = resident();
    REQUIRE(arena.trim());
    auto const after = resident();
    CHECK(before - after > 60 << 20);
    CHECK(holds(rows, 2));
    Arena<Ram> other; // and growth touches no page that no row needs
    REQUIRE(other.reserve(64 << 20));
    CHECK(resident() < after + (4 << 20));
}

TEST_CASE("trim after a failed call gives all back", "[arena][memory]") {
    Arena<Ram> arena;
    {
        auto draft = arena.begin();
        (void)draft->place<std::uint8_t>(100, page);
        auto const writing = std::move(*draft).commit();
        REQUIRE(writing);
    }
    CHECK(arena.capacity() == 100 * page);
    REQUIRE(arena.trim());
    CHECK(arena.capacity() == 0);
    CHECK(holds(fill(arena, 10 * page, 1).value(), 1));
}

TEST_CASE("growth moves no row and copies no byte", "[arena][memory]") {
    for (std::size_t limit : {std::size_t{SIZE_MAX}, std::size_t{256} << 20}) {
        Arena<Ram> arena;
        arena.limit(limit);
        auto rows = fill(arena, page, 1).value();
        void const *const address = rows.data();
        for (std::size_t bytes = 2 * page; bytes <= std::size_t{4} << 20; bytes *= 2) {
            REQUIRE(arena.reserve(bytes)); // under the current rows
            CHECK(holds(rows, 1));
            auto const next = fill(arena, bytes, 1);
            REQUIRE(next);
            rows = *next;
            CHECK(rows.data() == address);
        }
        REQUIRE(arena.reserve(std::size_t{200} << 20));
        CHECK(rows.data() == address);
        CHECK(holds(rows, 1));
        CHECK(arena.capacity() <= limit);
        REQUIRE(arena.trim());
        CHECK(fill(arena, std::size_t{1} << 20, 2).value().data() == address);
    }
}

TEST_CASE("a block that can't grow in place: old results are readable until the next call commits", "[arena][memory]") {
    Rows<Ram> rows;
    Arena<Ram> arena = make_full(8, 1, rows);
    CHECK(arena.capacity() == 8 * page);

    SECTION("a larger call takes over") {
        auto draft = arena.begin();
        auto const place = draft->place<std::uint8_t>(16, page);
        CHECK(holds(rows, 1));
        auto writing = std::move(*draft).commit();
        REQUIRE(writing);
        CHECK(writing->values(place).size() == 16 * page);
        CHECK_FALSE(rows.is_current());
        std::ranges::fill(writing->values(place), std::uint8_t{2});
        CHECK(holds(std::move(*writing).publish().value()[place], 2));
        CHECK(arena.capacity() == 16 * page);
    }
    SECTION("a larger call that is refused leaves nothing behind") {
        auto draft = arena.begin();
        (void)draft->place<std::uint8_t>(16, page);
        {
            auto const pin = rows.pin().value();
            CHECK(status(std::move(*draft).commit()) == Status::contended);
        }
        CHECK(holds(rows, 1));
        CHECK(arena.capacity() == 8 * page);
    }
    SECTION("reserve holds a second block for the next call, through refusals") {
        {
            auto const pin = rows.pin().value();
            REQUIRE(arena.reserve(32 * page));
        }
        CHECK(arena.capacity() == 40 * page);
        CHECK(holds(rows, 1));
        { auto const refused = arena.begin(); }
        CHECK(arena.capacity() == 40 * page);
        CHECK(holds(rows, 1));
        CHECK(holds(fill(arena, page, 2).value(), 2)); // also a small call takes it over
        CHECK(arena.capacity() == 32 * page);
        CHECK(holds(fill(arena, 32 * page, 3).value(), 3));
        CHECK(arena.capacity() == 32 * page);
    }
    SECTION("what reserve held was taken over: a later call that is refused leaves nothing behind") {
        REQUIRE(arena.reserve(32 * page));
        auto const current = fill(arena, page, 2).value();
        CHECK(arena.capacity() == 32 * page);
        auto draft = arena.begin();
        (void)draft->place<std::uint8_t>(64, page);
        auto const pin = current.pin().value();
        CHECK(status(std::move(*draft).commit()) == Status::contended);
        CHECK(arena.capacity() == 32 * page);
        CHECK(holds(current, 2));
    }
    SECTION("reserve that grows twice, and one that fails") {
        REQUIRE(arena.reserve(10 * page));
        REQUIRE(arena.reserve(20 * page));
        CHECK(status(arena.reserve(std::size_t{1} << 50)) == Status::out_of_memory);
        CHECK(arena.capacity() == 28 * page);
        CHECK(holds(rows, 1));
        CHECK(holds(fill(arena, 20 * page, 2).value(), 2));
        CHECK(arena.capacity() == 20 * page);
    }
    SECTION("a call larger than what reserve holds") {
        REQUIRE(arena.reserve(10 * page));
        CHECK(holds(fill(arena, 12 * page, 2).value(), 2));
        CHECK(arena.capacity() == 12 * page);
    }
    SECTION("trim acts at the next call") {
        auto const small = fill(arena, page, 2).value();
        REQUIRE(arena.trim());
        CHECK(arena.capacity() == 8 * page);
        CHECK(holds(small, 2));
        auto const shrunk = fill(arena, 2 * page, 3).value();
        CHECK(holds(shrunk, 3));
        CHECK(arena.capacity() == 2 * page);
        CHECK(fill(arena, page, 4).value().data() == shrunk.data()); // once, and not with every smaller call
        CHECK(arena.capacity() == 2 * page);
    }
    SECTION("trim where there are no results gives all back at once") {
        {
            auto draft = arena.begin();
            auto const writing = std::move(*draft).commit();
            REQUIRE(writing);
        }
        REQUIRE(arena.trim());
        CHECK(arena.capacity() == 0);
        CHECK(holds(fill(arena, 2 * page, 3).value(), 3));
    }
    SECTION("trim, then a call as large as before") {
        REQUIRE(fill(arena, page, 2));
        REQUIRE(arena.trim());
        auto const same = fill(arena, 8 * page, 3).value();
        CHECK(holds(same, 3));
        CHECK(same.data() == rows.data()); // no other block is had for as much
        CHECK(arena.capacity() == 8 * page);
    }
    SECTION("trim, then reserve less than there is, then a call that needs all") {
        for (std::size_t pages : {2u, 5u, 7u, 8u, 9u}) {
            REQUIRE(fill(arena, page, 2));
            REQUIRE(arena.trim());
            REQUIRE(arena.reserve(2 * page));
            CHECK(holds(fill(arena, pages * page, 3).value(), 3)); // would write past a block of two pages
            REQUIRE(fill(arena, 8 * page, 4));
        }
    }
    SECTION("trim, then reserve more, then a small call: the room stays") {
        REQUIRE(fill(arena, page, 2));
        REQUIRE(arena.trim());
        REQUIRE(arena.reserve(40 * page));
        REQUIRE(fill(arena, page, 3));
        CHECK(arena.capacity() == 40 * page);
    }
    SECTION("trim drops what reserve held") {
        REQUIRE(arena.reserve(32 * page));
        REQUIRE(arena.trim());
        CHECK(arena.capacity() == 8 * page);
        CHECK(holds(rows, 1));
    }
}

TEST_CASE("a thousand arenas at once", "[arena][memory]") {
    std::vector<Arena<Ram>> arenas(1000);
    std::vector<Rows<Ram>> rows;
    for (std::size_t i = 0; i != arenas.size(); ++i) {
        auto filled = fill(arenas[i], 256, static_cast<std::uint8_t>(i));
        REQUIRE(filled);
        rows.push_back(*filled);
    }
    bool whole = true;
    for (std::size_t i = 0; i != rows.size(); ++i) whole = whole && holds(rows[i], static_cast<std::uint8_t>(i));
    CHECK(whole);
    for (std::size_t i = 0; i < arenas.size(); i += 2) arenas[i] = Arena<Ram>();
    bool right = true;
    for (std::size_t i = 0; i != rows.size(); ++i) right = right && rows[i].is_current() == (i % 2 == 1);
    CHECK(right);
}

TEST_CASE("where addresses are rationed, a block that can't grow in place stands in", "[arena][memory]") {
    if (UFORM_ADDRESS_SANITIZER || UFORM_THREAD_SANITIZER) {
        skip_test("RLIMIT_AS can't be set under a sanitizer, which maps terabytes");
        return;
    }
    auto const ended = in_child([] {
        std::size_t pages = 0; // of addresses that this process has
        if (std::FILE *file = std::fopen("/proc/self/statm", "r")) {
            HOLDS(std::fscanf(file, "%zu", &pages) == 1);
            std::fclose(file);
        }
        rlim_t const most = pages * page + (64 << 20);
        rlimit const rationed{most, most};
        HOLDS(setrlimit(RLIMIT_AS, &rationed) == 0);
        std::size_t const mib = 1 << 20;
        Arena<Ram> arena;
        auto rows = fill(arena, mib, 1);
        HOLDS(rows && holds(*rows, 1));
        HOLDS(arena.capacity() == mib);
        for (std::size_t size = 2; size <= 16; size *= 2) {
            auto draft = arena.begin();
            HOLDS(draft);
            auto const place = draft->place<std::uint8_t>(size, mib);
            HOLDS(rows->is_current() && holds(*rows, static_cast<std::uint8_t>(size / 2)));
            auto writing = std::move(*draft).commit();
            HOLDS(writing && !rows->is_current());
            std::ranges::fill(writing->values(place), static_cast<std::uint8_t>(size));
            rows = std::move(*writing).publish().value()[place];
            HOLDS(holds(*rows, static_cast<std::uint8_t>(size)));
        }
        auto const refused = fill(arena, 100 * mib, 3);
        HOLDS(!refused && refused.error().status() == Status::out_of_memory);
        HOLDS(holds(*rows, 16));
        HOLDS(status(arena.reserve(100 * mib)) == Status::out_of_memory);
        HOLDS(holds(*rows, 16));
        auto const small = fill(arena, mib, 5);
        HOLDS(small && arena.trim() && holds(*small, 5));
        HOLDS(holds(fill(arena, mib, 6).value(), 6) && arena.capacity() == mib);
        for (int i = 0; i != 20; ++i) { // addresses come back, also those of calls that were refused
            Arena<Ram> other;
            HOLDS(fill(other, 8 * mib, 7) && fill(other, 9 * mib, 8) && !fill(other, 100 * mib, 9));
            HOLDS(other.reserve(10 * mib));
        }
        return 0;
    });
    INFO(ended.output);
    CHECK(ended.by_itself);
}

TEST_CASE("contract 12: trim gives back what isn't published, though it was asked for", "[arena][memory]") {
    Arena<Ram> arena;
    bool const is_ragged = GENERATE(false, true);
    auto draft = arena.begin();
    uform::Place<float> rows;
    if (is_ragged) rows = draft->place<float>(1, 1); // the large one comes last
    auto const ragged = draft->place_ragged<float>(1, is_ragged ? 1 << 20 : 1, 1);
    if (!is_ragged) rows = draft->place<float>(1 << 20, 1);
    auto writing = std::move(*draft).commit().value();
    writing.values(rows)[0] = 7, writing.values(ragged)[0] = 8;
    writing.keep(rows, 1);
    writing.offsets(ragged)[0] = 0, writing.offsets(ragged)[1] = 1;
    auto const published = std::move(writing).publish().value();
    CHECK(arena.capacity() >= 4 << 20);
    REQUIRE(arena.trim());
    CHECK(arena.capacity() <= 4 * page);
    CHECK(published[rows].values<float>().value()[0] == 7);
    CHECK(published[ragged].flat().values<float>().value()[0] == 8);
}

TEST_CASE("a block that can't grow in place grows by more than is needed, within the limit", "[arena][memory]") {
    Arena<Ram> arena;
    arena.limit(1 << 20); // all of its addresses
    REQUIRE(fill(arena, 1 << 20, 1));
    arena.limit(64 << 20);
    std::set<void const *> blocks;
    for (std::size_t i = 0; i != 200; ++i) blocks.insert(fill(arena, (1 << 20) + (i << 16), 1).value().data());
    CHECK(blocks.size() <= 12); // half as much again each time: 1 MiB to 13.5 MiB in 7
    CHECK(arena.capacity() <= 64 << 20);
}
