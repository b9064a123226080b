/// The state word, row by row of its table: what each step needs, what it makes, what refuses it, at chosen words too.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "uform/lease.hpp"

using uform::Lease, uform::LeaseStep, uform::PosixPlatform, uform::Readers;

namespace {

using Posix = Lease<PosixPlatform>;
using Word = std::uint64_t;

// The layout that the contract fixes, written down again: epoch : 48 | pins : 12 | spare : 1 | waiting : 1 | state : 2.
constexpr Word idle = 0, reserved = 1, writing = 2, closed = 3;
constexpr Word last_epoch = 0xffff'ffff'ffff;
constexpr Word word(Word epoch, Word pins, Word waiting, Word state) {
    return epoch << 16 | pins << 4 | waiting << 2 | state;
}

/// Runs one step on a word and says what became of it.
template <class Step> Word after(Word before, LeaseStep expected, Step step) {
    Posix lease(before);
    CHECK(step(lease) == expected);
    return lease.word();
}
Word reserve(Word before, LeaseStep expected, Readers readers = Readers::refused) {
    return after(before, expected, [&](auto &lease) { return lease.reserve(readers); });
}
Word pin(Word before, LeaseStep expected, Word epoch) {
    return after(before, expected, [&](auto &lease) { return lease.pin(epoch); });
}
Word commit(Word before, LeaseStep expected) {
    return after(before, expected, [](auto &lease) { return lease.commit(); });
}

/// A platform on one thread whose calls into the system run what a test gives: steps of others at a chosen moment.
struct Scripted {
    template <class T> using Atomic = std::atomic<T>;
    static inline std::uintptr_t thread = 1;
    static inline std::string events;
    static inline std::function<void()> on_wait, on_this_thread;

    static void reset() { thread = 1, events.clear(), on_wait = on_this_thread = nullptr; }
    struct Mutex {
        void lock() noexcept { events += "lock "; }
        void unlock() noexcept { events += "unlock "; }
    };
    struct Condition {
        void wait(Mutex &) noexcept {
            events += "wait ";
            if (on_wait) on_wait();
        }
        void notify_all() noexcept { events += "notify "; }
    };
    static std::uintptr_t this_thread() noexcept {
        auto const hook = std::exchange(on_this_thread, nullptr);
        if (hook) hook();
        return thread;
    }
};

} // namespace

TEST_CASE("the word's layout", "[arena][lease]") {
    CHECK(Posix::last_epoch == last_epoch);
    CHECK(Posix::most_pins == 4094);
    CHECK(Posix::epoch_of(word(77, 4095, 1, closed)) == 77);
    CHECK(Posix::epoch_of(word(last_epoch, 4095, 1, closed)) == last_epoch);
    CHECK(Posix::pins_of(word(last_epoch, 1234, 1, closed)) == 1234);
    CHECK(Posix::state_of(word(last_epoch, 4095, 1, writing)) == writing);
    CHECK(Posix().word() == word(0, 0, 0, closed));
}

TEST_CASE("reserve: idle, no pins, not waiting", "[arena][lease]") {
    CHECK(reserve(word(5, 0, 0, idle), LeaseStep::done) == word(5, 0, 0, reserved));
    CHECK(reserve(word(0, 0, 0, idle), LeaseStep::done) == word(0, 0, 0, reserved));
    for (Word pins : {1u, 2u, 4094u, 4095u})
        CHECK(reserve(word(5, pins, 0, idle), LeaseStep::pinned) == word(5, pins, 0, idle));
    for (Word pins : {0u, 3u}) CHECK(reserve(word(5, pins, 1, idle), LeaseStep::busy) == word(5, pins, 1, idle));
    for (Word state : {reserved, writing})
        for (Word waits : {0u, 1u})
            CHECK(reserve(word(5, 0, waits, state), LeaseStep::busy) == word(5, 0, waits, state));
    CHECK(reserve(word(5, 2, 0, reserved), LeaseStep::busy) == word(5, 2, 0, reserved));
    for (Word pins : {0u, 2u}) CHECK(reserve(word(5, pins, 0, closed), LeaseStep::closed) == word(5, pins, 0, closed));
}

TEST_CASE("reserve for memory alone: pins are allowed, and nothing else", "[arena][lease]") {
    for (Word pins : {0u, 1u, 4094u})
        CHECK(reserve(word(5, pins, 0, idle), LeaseStep::done, Readers::allowed) == word(5, pins, 0, reserved));
    CHECK(reserve(word(5, 1, 1, idle), LeaseStep::busy, Readers::allowed) == word(5, 1, 1, idle));
    CHECK(reserve(word(5, 1, 0, reserved), LeaseStep::busy, Readers::allowed) == word(5, 1, 0, reserved));
    CHECK(reserve(word(5, 0, 0, writing), LeaseStep::busy, Readers::allowed) == word(5, 0, 0, writing));
    CHECK(reserve(word(5, 1, 0, closed), LeaseStep::closed, Readers::allowed) == word(5, 1, 0, closed));
}

TEST_CASE("reserve: three epochs must be left", "[arena][lease]") {
    CHECK(reserve(word(last_epoch - 3, 0, 0, idle), LeaseStep::done) == word(last_epoch - 3, 0, 0, reserved));
    for (Word epoch : {last_epoch - 2, last_epoch - 1, last_epoch})
        for (auto readers : {Readers::refused, Readers::allowed})
            CHECK(reserve(word(epoch, 0, 0, idle), LeaseStep::exhausted, readers) == word(epoch, 0, 0, idle));
    // A busy word is contended first.
    CHECK(reserve(word(last_epoch, 0, 0, writing), LeaseStep::busy) == word(last_epoch, 0, 0, writing));
    CHECK(reserve(word(last_epoch, 1, 0, idle), LeaseStep::pinned) == word(last_epoch, 1, 0, idle));
    CHECK(reserve(word(last_epoch, 0, 0, closed), LeaseStep::closed) == word(last_epoch, 0, 0, closed));
}

TEST_CASE("refuse: idle at the same epoch, pins stay", "[arena][lease]") {
    for (Word pins : {0u, 7u, 4094u}) {
        Posix lease(word(9, pins, 0, reserved));
        CHECK_FALSE(lease.refuse());
        CHECK(lease.word() == word(9, pins, 0, idle));
    }
    Posix gone(word(9, 1, 0, closed)); // closed by its own thread: the holder is the last pin
    CHECK(gone.refuse());
    CHECK(gone.word() == word(9, 0, 0, closed));
    Posix read(word(9, 2, 0, closed)); // and a reader holds it still
    CHECK_FALSE(read.refuse());
    CHECK(read.word() == word(9, 1, 0, closed));
}

TEST_CASE("commit: reserved and no pins, the next epoch", "[arena][lease]") {
    CHECK(commit(word(9, 0, 0, reserved), LeaseStep::done) == word(10, 0, 0, writing));
    CHECK(commit(word(9, 0, 1, reserved), LeaseStep::done) == word(10, 0, 1, writing)); // a closer waits on
    CHECK(commit(word(last_epoch - 3, 0, 0, reserved), LeaseStep::done) == word(last_epoch - 2, 0, 0, writing));
    for (Word pins : {1u, 4094u})
        CHECK(commit(word(9, pins, 0, reserved), LeaseStep::pinned) == word(9, pins, 0, reserved));
    CHECK(commit(word(9, 1, 0, closed), LeaseStep::closed) == word(9, 1, 0, closed));
}

TEST_CASE("publish: idle, the epoch of commit, born pinned where asked", "[arena][lease]") {
    for (bool pinned : {false, true}) {
        Posix lease(word(9, 0, 0, writing));
        Word epoch = 0;
        CHECK(lease.publish(pinned, epoch) == LeaseStep::done);
        CHECK(epoch == 9);
        CHECK(lease.word() == word(9, pinned, 0, idle));
        CHECK(lease.is_current(9));

        Posix gone(word(9, 1, 0, closed));
        epoch = 123;
        CHECK(gone.publish(pinned, epoch) == LeaseStep::closed);
        CHECK(epoch == 123);
        CHECK(gone.word() == word(9, 1, 0, closed)); // the caller still counts
        CHECK(gone.unpin());
    }
}

TEST_CASE("fail: idle at one more epoch, which no view has", "[arena][lease]") {
    Posix lease(word(9, 0, 0, writing));
    CHECK_FALSE(lease.fail());
    CHECK(lease.word() == word(10, 0, 0, idle));
    for (Word epoch : {8u, 9u}) CHECK_FALSE(lease.is_current(epoch));
    Posix gone(word(9, 1, 0, closed));
    CHECK(gone.fail());
    CHECK(gone.word() == word(9, 0, 0, closed));
}

TEST_CASE("pin: idle or reserved, at its epoch, 4,094 at most", "[arena][lease]") {
    for (Word state : {idle, reserved})
        for (Word waits : {0u, 1u})
            for (Word pins : {0u, 1u, 4093u}) {
                CHECK(pin(word(9, pins, waits, state), LeaseStep::done, 9) == word(9, pins + 1, waits, state));
                for (Word epoch : {Word{0}, Word{8}, Word{10}, last_epoch})
                    CHECK(pin(word(9, pins, waits, state), LeaseStep::closed, epoch) == word(9, pins, waits, state));
            }
    for (Word state : {writing, closed}) CHECK(pin(word(9, 1, 0, state), LeaseStep::closed, 9) == word(9, 1, 0, state));
    for (Word pins : {4094u, 4095u})
        for (Word state : {idle, reserved})
            CHECK(pin(word(9, pins, 0, state), LeaseStep::pinned, 9) == word(9, pins, 0, state));
    CHECK(pin(word(last_epoch, 0, 0, idle), LeaseStep::done, last_epoch) == word(last_epoch, 1, 0, idle));
}

TEST_CASE("unpin: the last one of a closed slot frees it", "[arena][lease]") {
    auto const unpin = [](Word before, bool last) {
        Posix lease(before);
        CHECK(lease.unpin() == last);
        return lease.word();
    };
    CHECK(unpin(word(9, 1, 0, idle), false) == word(9, 0, 0, idle));
    CHECK(unpin(word(9, 4094, 1, reserved), false) == word(9, 4093, 1, reserved));
    CHECK(unpin(word(9, 2, 0, closed), false) == word(9, 1, 0, closed));
    CHECK(unpin(word(9, 1, 0, closed), true) == word(9, 0, 0, closed));
}

TEST_CASE("peek: the epoch is the view's and the state is idle or reserved", "[arena][lease]") {
    for (Word epoch : {Word{0}, Word{1}, Word{9}, last_epoch})
        for (Word state : {idle, reserved, writing, closed})
            for (Word waits : {0u, 1u})
                for (Word pins : {0u, 1u, 4095u}) {
                    Posix const lease(word(epoch, pins, waits, state));
                    CHECK(lease.is_current(epoch) == (state == idle || state == reserved));
                    CHECK_FALSE(lease.is_current((epoch + 1) & last_epoch));
                    CHECK_FALSE(lease.is_current((epoch - 1) & last_epoch));
                    CHECK_FALSE(lease.is_current(epoch ^ Word{1} << 47));
                }
}

TEST_CASE("close: closed at the next epoch, never waiting for readers", "[arena][lease]") {
    for (Word waits : {0u, 1u}) {
        Posix free(word(9, 0, waits, idle));
        CHECK(free.close());
        CHECK(free.word() == word(10, 0, 0, closed));
        for (Word pins : {1u, 4094u}) {
            Posix read(word(9, pins, waits, idle));
            CHECK_FALSE(read.close());
            CHECK(read.word() == word(10, pins, 0, closed));
            CHECK_FALSE(read.is_current(9));
        }
    }
    Posix last(word(last_epoch - 1, 0, 0, idle));
    CHECK(last.close());
    CHECK(last.word() == word(last_epoch, 0, 0, closed));
}

TEST_CASE("close by the holder's own thread: the holder counts as a pin", "[arena][lease]") {
    SECTION("reserved, then refused") {
        Posix lease(word(9, 0, 0, idle));
        REQUIRE(lease.reserve(Readers::refused) == LeaseStep::done);
        CHECK_FALSE(lease.close());
        CHECK(lease.word() == word(10, 1, 0, closed));
        CHECK(lease.commit() == LeaseStep::closed);
        CHECK(lease.refuse());
        CHECK(lease.word() == word(10, 0, 0, closed));
    }
    SECTION("writing, then published") {
        Posix lease(word(9, 0, 0, idle));
        REQUIRE(lease.reserve(Readers::refused) == LeaseStep::done);
        REQUIRE(lease.commit() == LeaseStep::done);
        CHECK_FALSE(lease.close());
        CHECK(lease.word() == word(11, 1, 0, closed));
        Word epoch = 0;
        CHECK(lease.publish(true, epoch) == LeaseStep::closed);
        CHECK_FALSE(lease.is_current(10));
        CHECK(lease.unpin());
    }
    SECTION("writing, then failed") {
        Posix lease(word(9, 0, 0, idle));
        REQUIRE(lease.reserve(Readers::refused) == LeaseStep::done);
        REQUIRE(lease.commit() == LeaseStep::done);
        CHECK_FALSE(lease.close());
        CHECK(lease.fail());
        CHECK(lease.word() == word(11, 0, 0, closed));
    }
    SECTION("with as many readers as can be counted: the holder's pin still fits") {
        Posix lease(word(9, 4094, 0, idle));
        REQUIRE(lease.reserve(Readers::allowed) == LeaseStep::done);
        CHECK_FALSE(lease.close());
        CHECK(lease.word() == word(10, 4095, 0, closed));
        CHECK_FALSE(lease.refuse());
        CHECK(lease.word() == word(10, 4094, 0, closed));
    }
    SECTION("a reader that came before outlives both") {
        Posix lease(word(9, 0, 0, idle));
        REQUIRE(lease.reserve(Readers::refused) == LeaseStep::done);
        REQUIRE(lease.pin(9) == LeaseStep::done);
        CHECK_FALSE(lease.close());
        CHECK(lease.word() == word(10, 2, 0, closed));
        CHECK_FALSE(lease.refuse());
        CHECK(lease.unpin());
    }
}

TEST_CASE("reopen: idle at the next epoch; a slot with fewer than three left then is retired", "[arena][lease]") {
    Posix fresh;
    CHECK(fresh.reopen());
    CHECK(fresh.word() == word(1, 0, 0, idle));
    for (Word epoch : {Word{0}, Word{9}, last_epoch - 4}) {
        Posix lease(word(epoch, 0, 0, closed));
        CHECK(lease.reopen());
        CHECK(lease.word() == word(epoch + 1, 0, 0, idle));
        CHECK(lease.reserve(Readers::refused) == LeaseStep::done); // what was reopened can serve a call
    }
    for (Word epoch : {last_epoch - 3, last_epoch - 2, last_epoch - 1, last_epoch}) {
        Posix lease(word(epoch, 0, 0, closed));
        CHECK_FALSE(lease.reopen());
        CHECK(lease.word() == word(epoch, 0, 0, closed));
    }
}

TEST_CASE("the last call of a slot uses the last epoch, and none is used twice", "[arena][lease]") {
    Posix lease(word(last_epoch - 3, 0, 0, idle));
    REQUIRE(lease.reserve(Readers::refused) == LeaseStep::done);
    REQUIRE(lease.commit() == LeaseStep::done);
    CHECK_FALSE(lease.fail());
    CHECK(lease.word() == word(last_epoch - 1, 0, 0, idle));
    CHECK(lease.reserve(Readers::refused) == LeaseStep::exhausted);
    CHECK(lease.close());
    CHECK(lease.word() == word(last_epoch, 0, 0, closed));
    CHECK_FALSE(lease.reopen());

    Posix published(word(last_epoch - 3, 0, 0, idle));
    REQUIRE(published.reserve(Readers::refused) == LeaseStep::done);
    REQUIRE(published.commit() == LeaseStep::done);
    Word epoch = 0;
    REQUIRE(published.publish(false, epoch) == LeaseStep::done);
    CHECK(published.reserve(Readers::refused) == LeaseStep::exhausted); // and its results stay readable
    CHECK(published.is_current(epoch));
}

TEST_CASE("a life of steps never makes an epoch twice", "[arena][lease]") {
    Posix lease;
    Word epoch = 0;
    auto const rises = [&] {
        Word const now = Posix::epoch_of(lease.word());
        bool const up = now > epoch;
        epoch = now;
        return up;
    };
    for (int round = 0; round != 5; ++round) {
        REQUIRE(lease.reopen());
        CHECK(rises());
        REQUIRE(lease.reserve(Readers::refused) == LeaseStep::done);
        CHECK_FALSE(lease.refuse());
        CHECK_FALSE(rises());
        REQUIRE(lease.reserve(Readers::refused) == LeaseStep::done);
        REQUIRE(lease.commit() == LeaseStep::done);
        CHECK(rises());
        Word published = 0;
        REQUIRE(lease.publish(false, published) == LeaseStep::done);
        CHECK(published == epoch);
        REQUIRE(lease.reserve(Readers::refused) == LeaseStep::done);
        REQUIRE(lease.commit() == LeaseStep::done);
        CHECK(rises());
        CHECK_FALSE(lease.fail());
        CHECK(rises());
        CHECK(lease.close());
        CHECK(rises());
    }
}

TEST_CASE("whoever ends a call takes the mutex, then wakes the closer; nobody else is woken", "[arena][lease]") {
    using Fake = Lease<Scripted>;
    Word epoch = 0;
    std::vector<std::pair<Word, std::function<void(Fake &)>>> const ends{
        {reserved, [](Fake &lease) { (void)lease.refuse(); }},
        {writing, [&](Fake &lease) { (void)lease.publish(false, epoch); }},
        {writing, [](Fake &lease) { (void)lease.fail(); }},
    };
    for (auto const &[state, end] : ends) {
        Scripted::reset();
        Fake waited_for(word(9, 0, 1, state));
        end(waited_for);
        CHECK(Scripted::events == "lock unlock notify ");
        CHECK(waited_for.word() % 16 == (word(0, 0, 1, idle))); // the closer clears its own bit
        Scripted::reset();
        Fake alone(word(9, 0, 0, state));
        end(alone);
        CHECK(Scripted::events.empty());
    }
    Scripted::reset();
}

TEST_CASE("close waits under the mutex with the bit set, and looks at the word again after every wake",
          "[arena][lease]") {
    using Fake = Lease<Scripted>;
    for (Word state : {reserved, writing}) {
        Scripted::reset();
        Scripted::thread = 2;
        Fake lease(word(9, 0, 0, idle));
        REQUIRE(lease.reserve(Readers::refused) == LeaseStep::done);
        if (state == writing) REQUIRE(lease.commit() == LeaseStep::done);
        Word const epoch = Fake::epoch_of(lease.word());
        Scripted::thread = 1;
        int wakes = 0;
        std::vector<Word> seen;
        Scripted::on_wait = [&] {
            seen.push_back(lease.word());
            if (++wakes < 3) return; // spurious
            Scripted::thread = 2;
            if (state == writing) (void)lease.fail();
            else (void)lease.refuse();
            seen.push_back(Word(lease.reserve(Readers::refused) == LeaseStep::busy)); // no new call gets in between
            Scripted::thread = 1;
        };
        CHECK(lease.close());
        CHECK(wakes == 3);
        CHECK(seen ==
              std::vector<Word>{word(epoch, 0, 1, state), word(epoch, 0, 1, state), word(epoch, 0, 1, state), 1});
        CHECK(lease.word() == word(state == writing ? epoch + 2 : epoch + 1, 0, 0, closed));
        CHECK(Scripted::events == "lock wait wait wait lock unlock notify unlock ");
    }
    Scripted::reset();
}

TEST_CASE("a thread that held an earlier call is no holder of the next one", "[arena][lease]") {
    using Fake = Lease<Scripted>;
    Word epoch = 0;
    for (int ended_by = 0; ended_by != 3; ++ended_by) {
        Scripted::reset();
        Fake lease(word(9, 0, 0, idle));
        REQUIRE(lease.reserve(Readers::refused) == LeaseStep::done); // thread 1
        if (ended_by != 0) REQUIRE(lease.commit() == LeaseStep::done);
        if (ended_by == 0) (void)lease.refuse();
        if (ended_by == 1) (void)lease.publish(false, epoch);
        if (ended_by == 2) (void)lease.fail();
        // Thread 2 has reserved, and is about to say so, when thread 1 closes: it must wait.
        bool waited = false;
        Scripted::on_wait = [&] {
            waited = true;
            Scripted::thread = 2;
            (void)lease.refuse();
            Scripted::thread = 1;
        };
        Scripted::thread = 2;
        Scripted::on_this_thread = [&] {
            Scripted::thread = 1;
            (void)lease.close();
            Scripted::thread = 2;
        };
        (void)lease.reserve(Readers::refused);
        CHECK(waited);
    }
    Scripted::reset();
}

TEST_CASE("close waits for the call of another thread, however it ends", "[arena][lease]") {
    for (int round = 0; round != 60; ++round) {
        Posix lease(word(9, 0, 0, idle));
        std::atomic<bool> holds{false}, ends{false};
        std::thread holder([&] {
            if (lease.reserve(Readers::refused) != LeaseStep::done) return;
            if (round % 3 != 0) (void)lease.commit();
            holds = true;
            if (round % 2 == 0) // let the closer fall asleep first; the other rounds race with it
                while (!(lease.word() & Posix::waiting)) std::this_thread::yield();
            ends = true;
            Word epoch = 0;
            if (round % 3 == 0) (void)lease.refuse();
            if (round % 3 == 1) (void)lease.publish(false, epoch);
            if (round % 3 == 2) (void)lease.fail();
        });
        while (!holds) std::this_thread::yield();
        bool const last = lease.close();
        CHECK(ends);
        CHECK(last);
        CHECK(Posix::state_of(lease.word()) == closed);
        CHECK_FALSE(lease.word() & Posix::waiting);
        holder.join();
    }
}

TEST_CASE("a view that came by a relaxed store is checked as any other", "[arena][lease][threads]") {
    for (int round = 0; round != 300; ++round) {
        Posix lease(word(9, 0, 0, idle));
        int bytes = 0; // plain: a reader that sees the epoch current must see them whole
        std::atomic<Word> mail{0};
        std::thread reader([&] {
            Word epoch;
            while (!(epoch = mail.load(std::memory_order_relaxed))) std::this_thread::yield();
            if (round % 2 == 0) {
                while (!lease.is_current(epoch)) {
                }
                if (bytes != 42) std::abort();
            } else {
                while (lease.pin(epoch) != LeaseStep::done) {
                }
                if (bytes != 42) std::abort();
                (void)lease.unpin();
            }
        });
        REQUIRE(lease.reserve(Readers::refused) == LeaseStep::done);
        REQUIRE(lease.commit() == LeaseStep::done);
        mail.store(10, std::memory_order_relaxed); // the epoch is known before it is published
        bytes = 42;
        Word epoch = 0;
        if (lease.publish(false, epoch) != LeaseStep::done || epoch != 10) std::abort();
        reader.join();
        CHECK(lease.close());
    }
}

TEST_CASE("what another thread did under the lease is done before the next step", "[arena][lease][threads]") {
    // The threads tell each other by relaxed stores alone, so that only the word orders what they do with `bytes`.
    for (int round = 0; round != 300; ++round) {
        Posix lease(word(9, 0, 0, idle));
        int bytes = 1;
        std::atomic<int> told{0};
        std::atomic<bool> wrong{false};
        auto const tell = [&](int what) { told.store(what, std::memory_order_relaxed); };
        auto const wait_for = [&](int what) {
            while (told.load(std::memory_order_relaxed) < what) std::this_thread::yield();
        };
        auto const expect = [&](bool right) {
            if (!right) wrong.store(true, std::memory_order_relaxed);
        };
        Word epoch = 0;
        if (round % 6 == 0) { // a reader between reserve and commit
            REQUIRE(lease.reserve(Readers::refused) == LeaseStep::done);
            std::thread reader([&] {
                expect(lease.pin(9) == LeaseStep::done);
                expect(bytes == 1);
                expect(!lease.unpin());
                tell(1);
            });
            wait_for(1);
            expect(lease.commit() == LeaseStep::done);
            bytes = 2;
            reader.join();
        } else if (round % 6 == 1) { // a call that was refused before this one
            std::thread holder([&] {
                expect(lease.reserve(Readers::refused) == LeaseStep::done);
                bytes = 2;
                expect(!lease.refuse());
                tell(1);
            });
            wait_for(1);
            expect(lease.reserve(Readers::refused) == LeaseStep::done);
            bytes = 3;
            holder.join();
        } else if (round % 6 == 2) { // a reader before the end
            std::thread reader([&] {
                expect(lease.pin(9) == LeaseStep::done);
                expect(bytes == 1);
                expect(!lease.unpin());
                tell(1);
            });
            wait_for(1);
            expect(lease.close());
            bytes = 3;
            reader.join();
        } else if (round % 6 == 3) { // a call before the end
            std::thread holder([&] {
                expect(lease.reserve(Readers::refused) == LeaseStep::done);
                expect(lease.commit() == LeaseStep::done);
                bytes = 2;
                expect(lease.publish(false, epoch) == LeaseStep::done);
                tell(1);
            });
            wait_for(1);
            expect(lease.close());
            bytes = 3;
            holder.join();
        } else if (round % 6 == 4) { // another reader before the last one, which frees
            REQUIRE(lease.pin(9) == LeaseStep::done);
            std::thread reader([&] {
                expect(lease.pin(9) == LeaseStep::done);
                tell(1);
                wait_for(2);
                expect(bytes == 1);
                expect(!lease.unpin());
                tell(3);
            });
            wait_for(1);
            expect(!lease.close());
            tell(2);
            wait_for(3);
            expect(lease.unpin());
            bytes = 3;
            reader.join();
        } else { // the owner's own reads before it closes, and a reader that frees after that
            std::thread reader([&] {
                expect(lease.pin(9) == LeaseStep::done);
                tell(1);
                wait_for(2);
                expect(lease.unpin());
                bytes = 3;
            });
            wait_for(1);
            expect(bytes == 1);
            expect(!lease.close());
            tell(2);
            reader.join();
        }
        CHECK_FALSE(wrong);
    }
}

TEST_CASE("many threads reserve, commit, publish, fail, pin and close: no byte is torn, and the end comes once",
          "[arena][lease][threads]") {
    std::atomic<int> published{0}, read{0};
    for (int round = 0; round != 40; ++round) {
        Posix lease(word(1, 0, 0, idle));
        std::vector<Word> bytes(64, 1); // plain: the storage
        std::atomic<Word> mail{1};
        std::atomic<int> freed{0}, torn{0}, unexpected{0};
        auto const free = [&] {
            for (Word &byte : bytes) byte = 0;
            ++freed;
        };
        auto const whole = [&](Word epoch) {
            for (Word byte : bytes) torn += byte != epoch;
        };
        std::vector<std::thread> threads;
        for (int k = 0; k != 3; ++k)
            threads.emplace_back([&, k] {
                for (int i = 0; i != 60; ++i) {
                    switch (lease.reserve((i + k) % 7 == 0 ? Readers::allowed : Readers::refused)) {
                    case LeaseStep::done: break;
                    case LeaseStep::closed: return;
                    case LeaseStep::exhausted: ++unexpected; return;
                    default: std::this_thread::yield(); continue;
                    }
                    if ((i + k) % 5 == 0 || lease.commit() != LeaseStep::done) {
                        if (lease.refuse()) ++unexpected;
                        continue;
                    }
                    Word const epoch = Posix::epoch_of(lease.word());
                    for (Word &byte : bytes) byte = epoch;
                    if ((i + k) % 4 == 0) {
                        for (Word &byte : bytes) byte = 0;
                        if (lease.fail()) ++unexpected;
                        continue;
                    }
                    bool const pinned = i % 2;
                    Word got = 0;
                    if (lease.publish(pinned, got) != LeaseStep::done || got != epoch) ++unexpected;
                    mail.store(epoch, std::memory_order_relaxed);
                    ++published;
                    if (!pinned) continue;
                    whole(epoch); // nobody can have rewound it
                    if (lease.unpin()) free();
                }
            });
        for (int k = 0; k != 2; ++k)
            threads.emplace_back([&] {
                for (int i = 0; i != 200; ++i) {
                    Word const epoch = mail.load(std::memory_order_relaxed);
                    if (lease.pin(epoch) != LeaseStep::done) continue;
                    whole(epoch);
                    ++read;
                    if (lease.unpin()) free();
                }
            });
        if (round % 4 != 0) { // else at the end
            for (int i = 0; i != round * 5; ++i) std::this_thread::yield();
            if (lease.close()) free();
        }
        for (auto &thread : threads) thread.join();
        if (round % 4 == 0 && lease.close()) free();
        CHECK(torn == 0);
        CHECK(unexpected == 0);
        CHECK(freed == 1);
        CHECK(lease.word() % (Word{1} << 16) == closed);
    }
    CHECK(published > 0);
    CHECK(read > 0);
}
