/// Many threads on shared arenas: calls, pins, moves of views and ends, with every byte checked. Bounded, and without a
/// clock.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "child_process.hpp"
#include "uform/arena.hpp"

using uform::Arena, uform::Pinned, uform::Place, uform::Published, uform::Ram, uform::Result, uform::Rows,
    uform::Status;

namespace {

/// What the threads saw. Counted, as assertions aren't for many threads.
struct Tally {
    std::atomic<int> published{0}, contended{0}, read{0}, stale{0}, torn{0}, unexpected{0};
};

/// Whether all of some rows is the number that their first value has.
bool is_whole(Rows<Ram> const &rows) {
    auto const *values = static_cast<std::uint32_t const *>(rows.data());
    return std::all_of(values, values + rows.rows() * rows.columns(), [&](std::uint32_t v) { return v == values[0]; });
}

/// A mailbox of the newest rows, and the places that they came from.
struct Mailbox {
    std::mutex mutex;
    Rows<Ram> rows;
    Published<Ram> published;
    Place<std::uint32_t> place;

    void put(Published<Ram> const &new_published, Place<std::uint32_t> new_place) {
        Rows<Ram> const new_rows = new_published[new_place];
        std::scoped_lock const lock(mutex);
        rows = new_rows, published = new_published, place = new_place;
    }
};

/// One call of some size, which may be refused at every step.
void call(Arena<Ram> &arena, std::uint32_t number, Mailbox &mailbox, Tally &tally) {
    auto draft = arena.begin();
    if (!draft) {
        (draft.error().status() == Status::contended ? tally.contended : tally.unexpected)++;
        return;
    }
    (void)draft->place<std::uint8_t>(number % 7, 100);
    auto const place = draft->place<std::uint32_t>(1 + number % 50, 1 + number % 20);
    if (number % 5 == 0) return; // refused
    auto writing = std::move(*draft).commit();
    if (!writing) {
        (writing.error().status() == Status::contended ? tally.contended : tally.unexpected)++;
        return;
    }
    std::ranges::fill(writing->values(place), number);
    if (number % 11 == 0) return; // failed
    auto published = std::move(*writing).publish_pinned();
    if (!published) {
        ++tally.unexpected;
        return;
    }
    ++tally.published;
    mailbox.put(*published, place);
    auto const rows = (*published)[place];
    auto const values = rows.values<std::uint32_t>(); // pinned: nobody can have rewound it
    if (!values) ++tally.unexpected;
    else if ((*values)[0] != number || !is_whole(rows)) ++tally.torn;
}

/// Reads the newest rows under a pin, by view or by place.
void read(std::uint32_t number, Mailbox &mailbox, Tally &tally) {
    Rows<Ram> rows;
    Published<Ram> published;
    Place<std::uint32_t> place;
    {
        std::scoped_lock const lock(mailbox.mutex);
        rows = mailbox.rows, published = mailbox.published, place = mailbox.place;
    }
    if (number % 2) rows = published[place]; // stale, or the same
    auto const pin = rows.pin();
    if (!pin) {
        (pin.error().status() == Status::invalid_argument ? tally.stale : tally.unexpected)++;
        return;
    }
    ++tally.read;
    if (!is_whole(*pin)) ++tally.torn;
}

} // namespace

TEST_CASE("threads share an arena: every call and every pinned read is whole", "[arena][threads]") {
    Tally tally;
    for (std::uint32_t round = 0; round != 30; ++round) {
        auto arena = std::make_unique<Arena<Ram>>();
        if (round % 3 == 0) arena->limit(1 << 20);
        Mailbox mailbox;
        std::vector<std::thread> callers, readers;
        for (std::uint32_t k = 0; k != 3; ++k)
            callers.emplace_back([&, k] {
                for (std::uint32_t i = 0; i != 100; ++i) {
                    call(*arena, round * 1000 + k * 331 + i, mailbox, tally);
                    if (i % 25 == 7) (void)arena->reserve((i + k) * 4096);
                    if (i % 25 == 19) (void)arena->trim();
                    if (arena->capacity() > std::size_t{64} << 20) ++tally.unexpected;
                }
            });
        for (int k = 0; k != 2; ++k)
            readers.emplace_back([&] {
                for (std::uint32_t i = 0; i != 300; ++i) read(i, mailbox, tally);
            });
        for (auto &thread : callers) thread.join();
        arena.reset(); // while readers go on
        for (auto &thread : readers) thread.join();
        CHECK_FALSE(mailbox.rows.is_current());
    }
    CHECK(tally.torn == 0);
    CHECK(tally.unexpected == 0);
    CHECK(tally.published > 0);
    CHECK(tally.read > 0);
}

TEST_CASE("arenas come and go on many threads, and slots are used again", "[arena][threads]") {
    Tally tally;
    Mailbox mailbox;
    std::vector<std::thread> threads;
    for (std::uint32_t k = 0; k != 4; ++k)
        threads.emplace_back([&, k] {
            std::vector<Pinned<Rows<Ram>>> pins;
            for (std::uint32_t i = 0; i != 150; ++i) {
                Arena<Ram> arena;
                call(arena, k * 1000 + i, mailbox, tally);
                read(i, mailbox, tally); // of any thread's arena, alive or not
                std::scoped_lock const lock(mailbox.mutex);
                if (auto pin = mailbox.rows.pin(); pin && i % 3 == 0) pins.push_back(*std::move(pin));
                if (pins.size() == 5) pins.clear();
            }
            for (auto const &pin : pins) tally.torn += !is_whole(pin);
        });
    for (auto &thread : threads) thread.join();
    CHECK(tally.torn == 0);
    CHECK(tally.unexpected == 0);
    CHECK(tally.contended == 0); // pins of an arena that its own thread calls but once
}

TEST_CASE("the last pin and the end of an arena meet", "[arena][threads]") {
    std::atomic<int> torn{0};
    for (std::uint32_t round = 0; round != 200; ++round) {
        Tally tally;
        Mailbox mailbox;
        auto arena = std::make_unique<Arena<Ram>>();
        call(*arena, 1, mailbox, tally); // a number that is published
        auto pin = mailbox.rows.pin();
        std::atomic<bool> go{false};
        std::thread reader([&] {
            while (!go) {
            }
            if (pin && !is_whole(*pin)) ++torn;
            auto const dropped = std::move(pin);
        });
        go = true;
        arena.reset();
        reader.join();
    }
    CHECK(torn == 0);
}

TEST_CASE("a draft and a writing may go to another thread", "[arena][threads]") {
    Arena<Ram> arena;
    auto draft = arena.begin();
    auto const place = draft->place<std::uint32_t>(10, 10);
    std::optional<Result<Published<Ram>>> published;
    std::thread([&, taken = std::move(*draft)]() mutable {
        auto writing = std::move(taken).commit();
        if (!writing) return;
        std::ranges::fill(writing->values(place), 9u);
        published.emplace(std::move(*writing).publish());
    }).join();
    REQUIRE(published);
    REQUIRE(*published);
    CHECK((**published)[place].values<std::uint32_t>().value()[99] == 9);
    CHECK(arena.begin().has_value());
}

TEST_CASE("the end of an arena waits while a stream of calls of other threads runs", "[arena][threads]") {
    for (std::uint32_t round = 0; round != 50; ++round) {
        auto arena = std::make_unique<Arena<Ram>>();
        std::atomic<bool> under_way{false}, ended{false};
        std::thread caller([&, target = arena.get()] {
            auto draft = target->begin();
            auto const place = draft->place<std::uint32_t>(1000, 1);
            auto writing = std::move(*draft).commit();
            under_way = true; // from here on the arena may be freed
            std::ranges::fill(writing->values(place), round);
            ended = true;
            if (round % 2 == 0) (void)std::move(*writing).publish();
        });
        while (!under_way) std::this_thread::yield();
        arena.reset();
        CHECK(ended);
        caller.join();
    }
}

TEST_CASE("the end of an arena by the thread whose own call has it waits for nothing", "[arena][threads]") {
    auto const ended = in_child([] {
        alarm(30); // a wait for itself would never end
        for (bool const writes : {false, true}) {
            std::optional<Arena<Ram>> arena(std::in_place);
            auto draft = std::optional(arena->begin().value());
            if (!writes) {
                arena.reset();
                continue;
            }
            auto const writing = std::move(*draft).commit();
            HOLDS(writing);
            arena.reset();
        }
        return 0;
    });
    INFO(ended.output);
    CHECK(ended.signal == 0);
    CHECK(ended.by_itself);
}

TEST_CASE("a call that no thread holds is waited for by the thread that began it", "[arena][threads]") {
    using Lease = uform::Lease<uform::PosixPlatform>;
    for (int round = 0; round != 20; ++round) {
        auto arena = std::make_unique<Arena<Ram>>();
        auto draft = arena->begin(uform::Holder::none);
        auto const place = draft->place<std::uint32_t>(100, 10);
        std::atomic<bool> ended{false};
        std::atomic<int> wrong{0};
        std::thread other([&, taken = std::optional(*std::move(draft))]() mutable {
            auto writing = std::move(*taken).commit();
            taken.reset();
            auto const &word = static_cast<uform::Slot const *>(place.arena)->lease;
            while (!(word.word() & Lease::waiting)) std::this_thread::yield(); // the closer sleeps, or is about to
            if (!writing) return void(++wrong);
            std::ranges::fill(writing->values(place), 5u);
            ended = true;
            auto const published = std::move(*writing).publish_pinned();
            if (!published) return void(++wrong);
            auto const rows = (*published)[place];
            if (rows.rows() != 100 || !is_whole(rows)) ++wrong;
        });
        arena.reset();
        CHECK(ended);
        other.join();
        CHECK(wrong == 0);
    }
}
