/// What the system refuses: every request for memory on the path of a call, alone and from then on; address space; and
/// epochs and pins at their limits. After each, the status, the old results, the next call and what is left are as the
/// contract says.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "allocations.hpp"
#include "arena_fixture.hpp"
#include "catch.hpp"
#include "child_process.hpp"
#include "skip.hpp"
#include "uform/arena.hpp"
#include "uform/config.hpp"

using uform::Arena, uform::Detached, uform::Draft, uform::Error, uform::Pinned, uform::Place, uform::Published,
    uform::Ram, uform::Result, uform::Rows, uform::Slot, uform::Slots, uform::Status;
using Lease = uform::Lease<uform::PosixPlatform>;

namespace {

constexpr Status success = Status::success, no_memory = Status::out_of_memory, bad = Status::invalid_argument;

/// An arena with results, and what a call on it answered.
struct Scene {
    std::optional<Arena<Ram>> arena{std::in_place};
    Rows<Ram> old, made;
    std::optional<Detached<Ram>> detached;
    std::optional<Error> error;
    std::size_t capacity = 0; // before the call
    std::int64_t mapped = 0;  // before the call, by the process
    bool refused = false;     // a request of the call

    /// Runs a call that makes rows.
    Status take(Result<Rows<Ram>> const &result) {
        if (result) made = *result;
        return answer(result);
    }
    template <class T> Status answer(Result<T> const &result) {
        if (!result) error.emplace(result.error());
        return status(result);
    }
    /// Results of one value in a block that grows.
    void grows(std::size_t pages) { old = fill(*arena, pages * page, 1).value(); }
    /// Results in a block that is full and can't grow in place: its limit was raised after the addresses were had.
    void moves(std::size_t pages) {
        arena->limit(page);
        if (fill(*arena, page, 0)) arena->limit(SIZE_MAX);
        old = fill(*arena, pages * page, 1).value();
    }
};

/// A request for memory, by its letter, and what the call answers where it is refused: alone, or with all after it.
struct Request {
    char kind;
    Status alone, with_all;
};
/// What a call on an arena asks for, one request after the other, and answers.
struct Faults {
    char const *name;
    std::function<void(Scene &)> prepare;
    std::function<Status(Scene &)> call;
    std::vector<Request> requests;
    Status granted = success; // what it answers where nothing is refused
    /// Whether the old results are stale once the call has answered that.
    bool rewinds = true;
    /// What else must hold after each, whatever was refused.
    std::function<bool(Scene &)> also = {};
};

long injected = 0;

/// The first thing that is wrong after a call with these requests refused; null where all is right. Asserts nothing, as
/// assertions allocate.
char const *wrong_after(Faults const &faults, long first, AllocationFaults::Refuses refuses, Status expected,
                        std::string &kinds) {
    Scene scene;
    faults.prepare(scene);
    scene.capacity = scene.arena->capacity(), scene.mapped = mapped_bytes_of_process.load();
    std::uint8_t const old_value = scene.old.rows() ? 1 : 0;
    Status answered;
    {
        AllocationFaults const plan(first, refuses);
        answered = faults.call(scene);
        kinds = plan.kinds();
        injected += plan.refused(), scene.refused = plan.refused() != 0;
        if (first != AllocationFaults::none && plan.refused() == 0) return "nothing was refused";
    }
    if (answered != expected) return "the status is another";
    bool const rewound = expected == faults.granted && faults.rewinds;
    if (scene.error && scene.error->message().empty()) return "an error without a message";
    if (old_value && !rewound && !holds(scene.old, old_value)) return "the old results aren't readable";
    if (rewound && scene.old.is_current()) return "the old results aren't stale";
    if (scene.made.rows() && !holds(scene.made, 2)) return "the new results are wrong";
    if (faults.also && !faults.also(scene)) return "what else must hold doesn't";
    if (scene.arena->begin().has_value() != true) return "the arena isn't idle";
    if (auto const small = fill(*scene.arena, 64, 7); !small || !holds(*small, 7)) return "the next call fails";
    if (scene.old.is_current() && !scene.detached) return "the next call left the old results";
    if (auto const same = fill(*scene.arena, 16 * page, 8, 6); !same || !holds(*same, 8)) return "a large call fails";
    if (!scene.arena->trim() || !scene.arena->reserve(20 * page)) return "the levers fail";
    return nullptr;
}

void check(Faults const &faults) {
    INFO(faults.name);
    std::string kinds, expected_kinds;
    kinds.reserve(300);
    for (auto const &request : faults.requests) expected_kinds += request.kind;
    auto const checked = [&](long first, AllocationFaults::Refuses refuses, Status expected) {
        long const blocks = live_blocks_of_process.load();
        auto const bytes = mapped_bytes_of_process.load();
        char const *wrong = wrong_after(faults, first, refuses, expected, kinds);
        bool const leaks = live_blocks_of_process.load() != blocks || mapped_bytes_of_process.load() != bytes;
        INFO("request " << first << (refuses == AllocationFaults::Refuses::one ? " alone" : " and all after it")
                        << " of " << kinds << ": "
                        << (wrong   ? wrong
                            : leaks ? "something leaks"
                                    : "right"));
        CHECK((!wrong && !leaks));
    };
    (void)wrong_after(faults, AllocationFaults::none, AllocationFaults::Refuses::one, faults.granted, kinds); // a slab
    checked(AllocationFaults::none, AllocationFaults::Refuses::one, faults.granted);
    CHECK(kinds == expected_kinds);
    if (kinds != expected_kinds) return;
    for (std::size_t i = 0; i != faults.requests.size(); ++i) {
        checked(static_cast<long>(i), AllocationFaults::Refuses::one, faults.requests[i].alone);
        checked(static_cast<long>(i), AllocationFaults::Refuses::all_from_there_on, faults.requests[i].with_all);
    }
}

/// Arenas that hold every slot there is, so that the next one asks for a slab. Slabs are kept for ever.
class AllSlots {
    std::vector<Arena<Ram>> arenas_;

  public:
    AllSlots() {
        arenas_.reserve(10'000);
        AllocationCounter const counter;
        while (counter.count() == 0) arenas_.emplace_back();
        for (int i = 0; i != 31; ++i) arenas_.emplace_back();
    }
};

bool faults_can_be_injected() {
    if (AllocationCounter::works) return true;
    skip_test("memory can't be refused under a sanitizer, or without glibc");
    return false;
}
void report(char const *what) {
    std::printf("injected faults, %s: %ld\n", what, std::exchange(injected, 0));
    std::fflush(stdout);
}

} // namespace

TEST_CASE("faults: every request of a call, refused alone and with all after it", "[arena][faults]") {
    if (!faults_can_be_injected()) return;
    auto const call = [](std::size_t bytes, int outputs = 1) {
        return [=](Scene &s) { return s.take(fill(*s.arena, bytes, 2, outputs)); };
    };
    auto const fresh = [](Scene &) {};
    auto const kept = [](Scene &s) {
        return s.arena->capacity() == s.capacity && mapped_bytes_of_process.load() == s.mapped;
    };
    auto const kept_unless_made = [&](Scene &s) { return !s.error || kept(s); }; // not even addresses

    check({.name = "a first call of three outputs: the table, addresses, pages, and the table of the call after it",
           .prepare = fresh,
           .call = call(page, 3),
           .requests = {{'a', no_memory, no_memory},
                        {'a', no_memory, no_memory},
                        {'a', no_memory, no_memory},
                        {'p', success, no_memory}, // a block that can't grow in place stands in
                        {'w', no_memory, no_memory},
                        {'a', success, success}},
           .also = kept_unless_made});
    check({.name = "a call that grows the block far",
           .prepare = [](Scene &s) { s.grows(2); },
           .call = call(8 * page),
           .requests = {{'w', no_memory, no_memory}},
           .also = [](Scene &s) { return s.arena->capacity() == (s.made.rows() ? 8 * page : s.capacity); }});
    check({.name = "a call that grows the block a little: less is asked for where much isn't granted",
           .prepare = [](Scene &s) { s.grows(10); },
           .call = call(11 * page),
           .requests = {{'w', success, no_memory}}});
    check({.name = "a call that needs another block",
           .prepare = [](Scene &s) { s.moves(2); },
           .call = call(8 * page),
           .requests = {{'p', no_memory, no_memory}, {'w', no_memory, no_memory}},
           .also = [](Scene &s) { return s.arena->capacity() == (s.made.rows() ? 8 * page : s.capacity); }});
    check({.name = "a call of more outputs",
           .prepare = [](Scene &s) { s.grows(1); },
           .call = call(64, 3),
           .requests = {{'a', no_memory, no_memory}, {'a', no_memory, no_memory}, {'a', success, success}}});
    check({.name = "a call as before asks for nothing",
           .prepare = [](Scene &s) { s.grows(3); },
           .call = call(3 * page),
           .requests = {}});
    check({.name = "a trimmed block that can't shrink in place stays where no smaller one can be had",
           .prepare =
               [](Scene &s) {
                   s.moves(8);
                   s.old = fill(*s.arena, page, 1).value();
                   (void)s.arena->trim();
               },
           .call = call(2 * page),
           .requests = {{'p', success, success}, {'w', success, success}}});

    check({.name = "reserve, at first",
           .prepare = fresh,
           .call = [](Scene &s) { return s.answer(s.arena->reserve(10 * page)); },
           .requests = {{'p', success, no_memory}, {'w', no_memory, no_memory}},
           .rewinds = false,
           .also = kept_unless_made});
    check({.name = "reserve, in place",
           .prepare = [](Scene &s) { s.grows(2); },
           .call = [](Scene &s) { return s.answer(s.arena->reserve(100 * page)); },
           .requests = {{'w', no_memory, no_memory}},
           .rewinds = false,
           .also = [](Scene &s) { return s.arena->capacity() == (s.error ? s.capacity : 100 * page); }});
    check({.name = "reserve, in another block",
           .prepare = [](Scene &s) { s.moves(2); },
           .call = [](Scene &s) { return s.answer(s.arena->reserve(100 * page)); },
           .requests = {{'p', no_memory, no_memory}, {'w', no_memory, no_memory}},
           .rewinds = false,
           .also = [](Scene &s) { return s.arena->capacity() == (s.error ? s.capacity : 102 * page); }});
    check({.name = "trim: pages that can't be protected stay counted",
           .prepare =
               [](Scene &s) {
                   s.grows(10);
                   s.old = fill(*s.arena, page, 1).value();
               },
           .call = [](Scene &s) { return s.answer(s.arena->trim()); },
           .requests = {{'w', success, success}},
           .rewinds = false,
           .also = [](Scene &s) { return s.arena->capacity() == (s.refused ? 10 * page : page); }});

    check({.name = "detach asks for nothing where a slot is free",
           .prepare = [](Scene &s) { s.grows(2); },
           .call =
               [](Scene &s) {
                   auto detached = s.arena->detach();
                   if (detached) s.detached.emplace(*std::move(detached));
                   return s.answer(detached);
               },
           .requests = {},
           .rewinds = false});

    // Messages: a fixed one stands in, and the status is the same.
    auto const stands_in = [](Scene &s) {
        return s.error && (s.error->message() == "no memory was left for the message" ||
                           s.error->message().find_first_of("0123456789") != std::string_view::npos);
    };
    check({.name = "a call over the limit",
           .prepare = [](Scene &s) { s.grows(2); },
           .call =
               [](Scene &s) {
                   s.arena->limit(page);
                   Status const answered = s.take(fill(*s.arena, 2 * page, 2));
                   s.arena->limit(SIZE_MAX);
                   return answered;
               },
           .requests = {{'m', no_memory, no_memory}},
           .granted = no_memory,
           .rewinds = false,
           .also = [&](Scene &s) { return stands_in(s) && kept(s); }});
    check({.name = "a call larger than all addresses",
           .prepare = [](Scene &s) { s.grows(2); },
           .call =
               [](Scene &s) {
                   auto draft = s.arena->begin();
                   (void)draft->place<std::uint8_t>(std::size_t{1} << 52, 1);
                   return s.answer(std::move(*draft).commit());
               },
           .requests = {{'p', no_memory, no_memory}, {'m', no_memory, no_memory}},
           .granted = no_memory,
           .rewinds = false,
           .also = [&](Scene &s) { return stands_in(s) && kept(s); }});
    check({.name = "a shape that can't be",
           .prepare = [](Scene &s) { s.grows(2); },
           .call =
               [](Scene &s) {
                   auto draft = s.arena->begin();
                   (void)draft->place<std::uint8_t>(1, std::size_t{1} << 33);
                   return s.answer(std::move(*draft).commit());
               },
           .requests = {{'m', bad, bad}},
           .granted = bad,
           .rewinds = false,
           .also = stands_in});
    check({.name = "keep of too many rows fails the call",
           .prepare = [](Scene &s) { s.grows(2); },
           .call =
               [](Scene &s) {
                   auto draft = s.arena->begin();
                   auto const place = draft->place<std::uint8_t>(3, 1);
                   auto writing = std::move(*draft).commit();
                   if (writing) writing->keep(place, 4);
                   return s.answer(std::move(*writing).publish());
               },
           .requests = {{'m', bad, bad}},
           .granted = bad,
           .also = stands_in});
    check({.name = "offsets past their place fail the call",
           .prepare = [](Scene &s) { s.grows(2); },
           .call =
               [](Scene &s) {
                   auto draft = s.arena->begin();
                   auto const place = draft->place_ragged<std::uint8_t>(1, 3, 1);
                   auto writing = std::move(*draft).commit();
                   if (writing) writing->offsets(place)[0] = 0, writing->offsets(place)[1] = 4;
                   return s.answer(std::move(*writing).publish());
               },
           .requests = {{'m', bad, bad}},
           .granted = bad,
           .also = stands_in});
    check({.name = "reserve over the limit",
           .prepare = [](Scene &s) { s.grows(2); },
           .call =
               [](Scene &s) {
                   s.arena->limit(page);
                   auto const reserved = s.arena->reserve(8 * page);
                   s.arena->limit(SIZE_MAX);
                   return s.answer(reserved);
               },
           .requests = {{'m', no_memory, no_memory}},
           .granted = no_memory,
           .rewinds = false,
           .also = [&](Scene &s) { return stands_in(s) && kept(s); }});
    check({.name = "a row that isn't there, and another scalar",
           .prepare = [](Scene &s) { s.grows(2); },
           .call =
               [](Scene &s) {
                   if (s.old.values<float>()) return success;
                   return s.answer(s.old.row<std::uint8_t>(1 << 20));
               },
           .requests = {{'m', bad, bad}, {'m', bad, bad}},
           .granted = bad,
           .rewinds = false,
           .also = stands_in});
    report("calls");
}

TEST_CASE("faults: an arena whose slot can't be had, and a detach that can't have one", "[arena][faults]") {
    if (!faults_can_be_injected()) return;
    for (auto const refuses : {AllocationFaults::Refuses::one, AllocationFaults::Refuses::all_from_there_on}) {
        AllSlots const all;
        std::optional<Arena<Ram>> without;
        Status answers[5]{};
        std::size_t limit = 0, capacity = 1;
        bool described = false;
        std::string kinds;
        kinds.reserve(300);
        long const blocks = live_blocks_of_process.load();
        {
            AllocationFaults const plan(0, refuses);
            without.emplace();
            kinds = plan.kinds();
            injected += plan.refused();
            answers[0] = status(without->begin()), answers[1] = status(without->reserve(1));
            answers[2] = status(without->trim()), answers[3] = status(without->detach());
            without->limit(1), limit = without->limit(), capacity = without->capacity();
            described = without->describe() == uform::ArenaDescription{};
            Arena<Ram> const moved = std::move(*without);
            answers[4] = status(without->begin());
            (void)moved;
        }
        without.reset();
        long const left = live_blocks_of_process.load();
        CHECK(left == blocks);
        CHECK(kinds == "a");
        for (int i = 0; i != 4; ++i) CHECK(answers[i] == no_memory);
        CHECK(answers[4] == bad);
        CHECK(limit == SIZE_MAX);
        CHECK(capacity == 0);
        CHECK(described);
        CHECK(status(fill(without.emplace(), 64, 1)) == success); // a new one may have more luck
    }
    AllSlots const all;
    Arena<Ram> arena; // of a new slab, whose other slots go too
    std::vector<Arena<Ram>> rest(31);
    auto const rows = fill(arena, 2 * page, 1).value();
    auto const pin = rows.pin().value();
    for (auto const refuses : {AllocationFaults::Refuses::one, AllocationFaults::Refuses::all_from_there_on}) {
        arena.limit(12345);
        Status refused = success;
        {
            AllocationFaults const plan(0, refuses);
            refused = status(arena.detach());
            injected += plan.refused();
        }
        CHECK(refused == no_memory); // and nothing changed
        CHECK(holds(rows, 1));
        CHECK(arena.limit() == 12345);
        CHECK(arena.capacity() >= 2 * page);
        CHECK(status(arena.begin()) == Status::contended);
    }
    auto const detached = arena.detach();
    CHECK(status(detached) == success);
    CHECK(arena.limit() == 12345);
    CHECK(holds(rows, 1));
    report("slots");
}

TEST_CASE("faults: a call goes on where its table for the next one can't be had, time and again", "[arena][faults]") {
    if (!faults_can_be_injected()) return;
    Arena<Ram> arena;
    bool right = true;
    for (int outputs = 1; outputs != 40; ++outputs) {
        long requests = 0;
        {
            AllocationFaults const count(AllocationFaults::none, AllocationFaults::Refuses::one);
            Arena<Ram> same; // asks for as much as the other one will
            (void)fill(same, 64, 1, outputs);
            requests = count.requests();
        }
        AllocationFaults const plan(requests - 1, AllocationFaults::Refuses::all_from_there_on);
        Arena<Ram> other;
        auto const rows = fill(other, 64, 2, outputs); // the last request is for the next call
        right = right && rows && holds(*rows, 2) && plan.refused() == 1;
        injected += plan.refused();
    }
    CHECK(right);
    CHECK(status(fill(arena, 64, 1)) == success);
    report("tables of the next call");
}

TEST_CASE("faults: nothing is left, whoever goes last", "[arena][faults]") {
    if (!faults_can_be_injected()) return;
    auto const draft_of = [](Arena<Ram> &arena) {
        auto draft = arena.begin().value();
        (void)draft.place<std::uint8_t>(64, page);
        return draft;
    };
    std::vector<std::pair<char const *, std::function<bool(Scene &)>>> const ends{
        {"a pin outlives the arena",
         [](Scene &s) {
             auto const pin = s.old.pin();
             s.arena.reset();
             return pin.has_value();
         }},
        {"two pins, and the arena between them",
         [](Scene &s) {
             auto first = std::optional(s.old.pin().value());
             auto second = std::optional(s.old.pin().value());
             first.reset(), s.arena.reset(), second.reset();
             return true;
         }},
        {"a draft outlives the arena, and is dropped",
         [&](Scene &s) {
             auto const draft = draft_of(*s.arena);
             s.arena.reset();
             return true;
         }},
        {"a draft outlives the arena, and is committed",
         [&](Scene &s) {
             auto draft = draft_of(*s.arena);
             s.arena.reset();
             return status(std::move(draft).commit()) == bad;
         }},
        {"a writing outlives the arena, and is dropped",
         [&](Scene &s) {
             auto const writing = draft_of(*s.arena).commit();
             s.arena.reset();
             return writing.has_value();
         }},
        {"a writing outlives the arena, and is published",
         [&](Scene &s) {
             auto writing = draft_of(*s.arena).commit();
             s.arena.reset();
             return status(std::move(*writing).publish()) == bad;
         }},
        {"a writing outlives the arena, and is published pinned",
         [&](Scene &s) {
             auto writing = draft_of(*s.arena).commit();
             s.arena.reset();
             return status(std::move(*writing).publish_pinned()) == bad;
         }},
        {"a writing outlives the arena, and its publishing is refused",
         [&](Scene &s) {
             auto draft = draft_of(*s.arena);
             auto const place = draft.place<float>(1, 1);
             auto writing = std::move(draft).commit();
             s.arena.reset();
             writing->keep(place, 2);
             return status(std::move(*writing).publish()) == bad;
         }},
        {"detached, with a pin that goes last",
         [](Scene &s) {
             auto detached = std::optional(s.arena->detach().value());
             auto const pin = s.old.pin();
             detached.reset(), s.arena.reset();
             return pin.has_value();
         }},
        {"detached, and ended before the arena",
         [](Scene &s) { return s.arena->detach().has_value() && fill(*s.arena, page, 3).has_value(); }},
        {"assigned over, and moved about",
         [](Scene &s) {
             Arena<Ram> other;
             bool const filled = fill(other, page, 3).has_value();
             *s.arena = std::move(other);
             Arena<Ram> third = std::move(*s.arena);
             other = std::move(third);
             return filled && fill(other, page, 4).has_value();
         }},
        {"reserved again and again, and refused",
         [&](Scene &s) {
             for (std::size_t pages : {16u, 40u, 20u, 80u})
                 if (!s.arena->reserve(pages * page)) return false;
             { auto const refused = draft_of(*s.arena); }
             if (!s.arena->reserve(100 * page) || !s.arena->trim()) return false;
             auto const pin = s.old.pin();
             return pin.has_value();
         }},
        {"grown and trimmed",
         [](Scene &s) {
             bool right = true;
             for (std::size_t pages : {16u, 2u, 64u, 1u, 0u, 8u})
                 right = right && fill(*s.arena, pages * page, 3) && s.arena->trim();
             return right;
         }},
    };
    for (auto const &[name, end] : ends)
        for (bool const moves : {false, true}) {
            auto const run = [&, &ending = end] {
                Scene scene;
                if (moves) scene.moves(4);
                else scene.grows(4);
                return ending(scene);
            };
            bool right = run(); // a slab
            long const blocks = live_blocks_of_process.load();
            auto const bytes = mapped_bytes_of_process.load();
            long slabs = 0;
            for (int i = 0; i != 40; ++i) right = right && run(); // a slot that isn't given back shows as a slab
            slabs = live_blocks_of_process.load() - blocks;
            bool const unmapped = mapped_bytes_of_process.load() == bytes;
            INFO(name << (moves ? ", a block that moves" : ", a block that grows"));
            CHECK(right);
            CHECK(slabs == 0);
            CHECK(unmapped);
        }
}

TEST_CASE("faults: a program under a small ulimit -v", "[.rationed-child]") {
    // Run by the next test, in a process of its own: from its first moment it has little address space.
    std::vector<Arena<Ram>> arenas(1000);
    std::vector<Rows<Ram>> rows;
    bool right = true;
    for (std::size_t i = 0; i != arenas.size(); ++i) {
        auto const filled = fill(arenas[i], 256, static_cast<std::uint8_t>(i));
        REQUIRE(filled);
        rows.push_back(*filled);
    }
    auto const all_right = [&](std::size_t step) {
        for (std::size_t i = 0; i < rows.size(); i += step)
            right = right && rows[i].is_current() && holds(rows[i], static_cast<std::uint8_t>(i));
        return right;
    };
    CHECK(all_right(1));
    // Until nothing is left; every result stays.
    std::vector<Arena<Ram>> large(200);
    std::size_t served = 0;
    for (; served != large.size(); ++served)
        if (auto const filled = fill(large[served], 4 << 20, 5); !filled) {
            CHECK(filled.error().status() == no_memory);
            break;
        }
    CHECK(served > 0);
    CHECK(served < large.size());
    CHECK(all_right(1));
    CHECK(status(fill(arenas[0], 16 << 20, 1)) == no_memory);
    CHECK(holds(rows[0], 0));
    // And what is given back serves again, for the arena that was refused too.
    large[0] = Arena<Ram>();
    CHECK(status(fill(large[served], 4 << 20, 6)) == success);
    large.clear();
    CHECK(status(fill(arenas[0], 16 << 20, 1)) == success);
    rows[0] = fill(arenas[0], 256, 0).value();
    CHECK(all_right(1));
}

TEST_CASE("faults: a small ulimit -v, a thousand arenas, and addresses that run out", "[arena][faults]") {
    if (UFORM_ADDRESS_SANITIZER || UFORM_THREAD_SANITIZER) {
        skip_test("addresses can't be rationed under a sanitizer, which maps terabytes");
        return;
    }
    char path[4096];
    ssize_t const length = readlink("/proc/self/exe", path, sizeof path - 1);
    REQUIRE(length > 0);
    path[length] = '\0';
    auto const ended = in_child([&] {
        return execl("/bin/sh", "sh", "-c", "ulimit -v 131072 && exec \"$0\" \"[.rationed-child]\"", path, nullptr);
    });
    INFO(ended.output);
    CHECK(ended.by_itself);
    CHECK(ended.output.find("All tests passed") != std::string::npos);
}

TEST_CASE("faults: addresses run out, and are there again", "[arena][faults]") {
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
        rlimit now{};
        HOLDS(getrlimit(RLIMIT_AS, &now) == 0);
        Arena<Ram> roomy; // has its addresses already
        auto rows = fill(roomy, page, 1);
        HOLDS(rows);
        rlimit rationed = now;
        rationed.rlim_cur = pages * page; // less than there are by now
        HOLDS(setrlimit(RLIMIT_AS, &rationed) == 0);
        Arena<Ram> late;
        HOLDS(status(fill(late, page, 2)) == no_memory && status(late.reserve(page)) == no_memory);
        HOLDS(late.capacity() == 0 && holds(*rows, 1));
        rows = fill(roomy, 8 << 20, 3); // grows within what it has
        HOLDS(rows && holds(*rows, 3));
        HOLDS(setrlimit(RLIMIT_AS, &now) == 0);
        HOLDS(holds(fill(late, page, 4).value(), 4) && holds(*rows, 3));
        HOLDS(holds(fill(late, 8 << 20, 5).value(), 5));
        return 0;
    });
    INFO(ended.output);
    CHECK(ended.by_itself);
}

// Epochs and pins at their limits.

namespace {

/// Puts a free slot first in the list, with the word of one that had many calls, so that the next arena has it.
void *make_worn_slot(std::uint64_t epoch) {
    Slot *slot = Slots::instance().take();
    REQUIRE(slot);
    std::destroy_at(&slot->lease);
    ::new (static_cast<void *>(&slot->lease)) Lease(epoch << 16 | Lease::closed);
    slot->construct<uform::ArenaStorage<Ram>>(Ram::Block::Origin());
    Slots::instance().recycle(*slot);
    return slot;
}
/// The slot that an arena has.
void const *slot_of(Arena<Ram> &arena) { return arena.begin().value().slot(); }

} // namespace

TEST_CASE("faults: an arena whose epochs are spent keeps its results, and a new arena or detach helps",
          "[arena][faults]") {
    // An arena takes an epoch as it opens, and a call needs three: its own, that of its failure, and that of the end.
    for (auto const &[calls, detaches] : std::vector<std::pair<std::uint64_t, bool>>{
             {1, false}, {1, true}, {2, false}, {2, true}, {5, false}, {5, true}}) {
        INFO(calls << " calls");
        void const *const worn = make_worn_slot(Lease::last_epoch - 3 - calls);
        std::optional<Arena<Ram>> arena(std::in_place);
        arena->limit(1 << 20);
        REQUIRE(slot_of(*arena) == worn);
        Rows<Ram> rows;
        for (std::uint64_t i = 0; i != calls; ++i) {
            auto const next = fill(*arena, 2 * page, static_cast<std::uint8_t>(i + 1));
            REQUIRE(next);
            CHECK_FALSE(rows.is_current());
            rows = *next;
        }
        auto const value = static_cast<std::uint8_t>(calls);
        auto const spent = [&] {
            auto const refused = arena->begin();
            return status(refused) == no_memory && status(arena->reserve(1)) == no_memory &&
                   status(arena->trim()) == no_memory && holds(rows, value) && rows.pin().has_value() &&
                   refused.error().message().find("epochs are spent") != std::string_view::npos;
        };
        CHECK(spent());
        CHECK(spent());
        CHECK(arena->limit() == 1 << 20);
        CHECK(arena->capacity() >= 2 * page);
        {
            auto const pin = rows.pin().value(); // a reader is found first
            CHECK(status(arena->begin()) == Status::contended);
        }
        if (!detaches) {
            Arena<Ram> other;
            CHECK(status(fill(other, page, 9)) == success);
            CHECK(holds(rows, value));
            arena.emplace();
            CHECK_FALSE(rows.is_current());
        } else {
            auto detached = std::optional(arena->detach().value());
            CHECK(arena->limit() == 1 << 20);
            CHECK(holds(fill(*arena, page, 9).value(), 9));
            CHECK(holds(rows, value));
            detached.reset();
            CHECK_FALSE(rows.is_current());
        }
        // The slot is retired: no arena has it again.
        std::vector<Arena<Ram>> others(100);
        bool again = slot_of(*arena) == worn;
        for (auto &other : others) again = again || slot_of(other) == worn;
        CHECK_FALSE(again);
        CHECK(status(rows.values<std::uint8_t>()) == bad);
    }
}

TEST_CASE("faults: the last epochs of a slot, by calls that fail and by an end in the middle of one",
          "[arena][faults]") {
    void const *const worn = make_worn_slot(Lease::last_epoch - 4);
    std::optional<Arena<Ram>> arena(std::in_place);
    REQUIRE(slot_of(*arena) == worn); // refused: takes no epoch
    SECTION("a call that fails takes two") {
        {
            auto draft = arena->begin();
            auto const writing = std::move(*draft).commit();
            REQUIRE(writing);
        }
        CHECK(status(arena->begin()) == no_memory);
        CHECK(Lease::epoch_of(static_cast<Slot const *>(worn)->lease.word()) == Lease::last_epoch - 1);
        arena.reset();
        CHECK(Lease::epoch_of(static_cast<Slot const *>(worn)->lease.word()) == Lease::last_epoch);
    }
    SECTION("an end by the thread that writes") {
        auto draft = arena->begin();
        (void)draft->place<float>(1, 1);
        auto writing = std::move(*draft).commit();
        arena.reset();
        CHECK(status(std::move(*writing).publish()) == bad);
        CHECK(Lease::epoch_of(static_cast<Slot const *>(worn)->lease.word()) == Lease::last_epoch - 1);
    }
    auto const word = static_cast<Slot const *>(worn)->lease.word();
    CHECK(Lease::state_of(word) == Lease::closed);
    CHECK(Lease::pins_of(word) == 0);
}

TEST_CASE("faults: at 4,094 pins everything but another pin goes on", "[arena][faults]") {
    std::optional<Arena<Ram>> arena(std::in_place);
    auto draft = arena->begin();
    auto const place = draft->place<std::uint8_t>(1, 64);
    auto writing = std::move(*draft).commit();
    std::ranges::fill(writing->values(place), std::uint8_t{6});
    std::vector<Pinned<Rows<Ram>>> pins;
    auto published = std::optional(std::move(*writing).publish_pinned().value());
    Published<Ram> const plain = *published;
    auto const rows = (*published)[place];
    pins.reserve(4094);
    while (pins.size() != 4093) pins.push_back(rows.pin().value());
    CHECK(status(rows.pin()) == Status::contended);
    CHECK(rows.pin().error().message() == "the arena holds 4,094 pins, the most it can count");
    CHECK(holds(rows, 6));
    CHECK(holds((*published)[place], 6)); // has a pin already
    CHECK(plain[place].rows() == 0);      // can't look now
    CHECK_FALSE(plain[place].is_current());
    CHECK(status(arena->begin()) == Status::contended);
    CHECK(status(arena->reserve(8 * page)) == success);
    CHECK(status(arena->trim()) == success);

    SECTION("one less") {
        pins.pop_back();
        CHECK(holds(plain[place], 6));
        CHECK(status(rows.pin()) == success);
    }
    SECTION("the arena's end") {
        arena.reset();
        CHECK(status(rows.pin()) == bad);
        CHECK(*static_cast<std::uint8_t const *>(rows.data()) == 6);
    }
    SECTION("the end by a thread whose own call has it: the holder counts as one more") {
        pins.clear(), published.reset();
        auto next = std::optional(arena->begin().value());
        void const *const slot = next->slot();
        for (int i = 0; i != 4094; ++i) pins.push_back(rows.pin().value());
        CHECK(status(rows.pin()) == Status::contended);
        arena.reset();
        CHECK(Lease::pins_of(static_cast<Slot const *>(slot)->lease.word()) == 4095);
        CHECK(status(std::move(*next).commit()) == bad);
        CHECK(*static_cast<std::uint8_t const *>(rows.data()) == 6);
        CHECK(Lease::pins_of(static_cast<Slot const *>(slot)->lease.word()) == 4094);
        pins.clear();
        CHECK(Lease::pins_of(static_cast<Slot const *>(slot)->lease.word()) == 0);
    }
}
