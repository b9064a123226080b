/// Tiny programs with answers that C++'s memory model gives, so that the explorer is known to find what it claims.
#ifndef UFORM_TESTS_EXPLORER_LITMUS_HPP
#define UFORM_TESTS_EXPLORER_LITMUS_HPP

#include "simulated.hpp"

#include <array>
#include <set>
#include <string>

namespace explorer::litmus {

using Word = std::uint64_t;
using Order = std::memory_order;
inline constexpr Order relaxed = std::memory_order_relaxed, acquire = std::memory_order_acquire;
inline constexpr Order release = std::memory_order_release, acq_rel = std::memory_order_acq_rel;

/// The answers of all executions, a digit each.
inline std::set<std::string> outcomes;

/// Two atomics, two cells, a mutex with its condition, and a digit for each answer. `body` is told the thread.
struct Litmus : Program {
    using Body = void (*)(Litmus &, int);

    Simulated::Atomic<Word> x, y, z;
    Plain data{0, "data"}, other{0, "other"};
    Simulated::Mutex mutex, second_mutex;
    Simulated::Condition condition;
    std::array<char, 4> answers{'-', '-', '-', '-'};
    Body body;
    void (*end)(Litmus &) = nullptr;

    Litmus(int count, Body run, void (*last)(Litmus &) = nullptr) : body(run), end(last) { threads = count; }
    void thread(int index) override { body(*this, index); }
    void finish() override {
        if (end) end(*this);
        std::string text;
        for (char answer : answers)
            if (answer != '-') text += answer;
        outcomes.insert(text);
    }
    void hash(Hash &hash) const override {
        for (char answer : answers) hash.add(static_cast<unsigned char>(answer));
    }
    void answer(int place, Word value) { answers[static_cast<std::size_t>(place)] = static_cast<char>('0' + value); }
};

/// Counts the checks that hold.
struct Report {
    int passed = 0, failed = 0;

    void line(char const *name, bool holds, std::string const &found, Found const &search) {
        ++(holds ? passed : failed);
        std::printf("litmus    %-58s %7zu states  %s %s\n", name, search.states,
                    holds ? "as known:" : "WRONG:", found.c_str());
    }
    void expect(char const *name, int threads, Litmus::Body body, std::set<std::string> const &known,
                void (*end)(Litmus &) = nullptr) {
        outcomes.clear();
        Found const search = Explorer::instance().explore<Litmus>(Bounds{}, false, threads, body, end);
        std::string found = search.fault;
        for (auto const &outcome : outcomes) found += (found.empty() ? "" : " ") + outcome;
        line(name, search.fault.empty() && outcomes == known, found, search);
    }
    void expect_fault(char const *name, int threads, Litmus::Body body, std::string const &known) {
        Found const search = Explorer::instance().explore<Litmus>(Bounds{}, false, threads, body, nullptr);
        line(name, search.fault.find(known) != std::string::npos, search.fault.empty() ? "no fault" : search.fault,
             search);
    }
};

template <Order storing, Order loading> void store_buffering(Litmus &p, int thread) {
    (thread ? p.y : p.x).store(1, storing);
    p.answer(thread, (thread ? p.x : p.y).load(loading));
}
template <Order storing, Order loading> void message_passing(Litmus &p, int thread) {
    if (thread == 0) return p.x.store(1, relaxed), p.y.store(1, storing);
    p.answer(0, p.y.load(loading));
    p.answer(1, p.x.load(relaxed));
}
template <Order storing, Order loading> void plain_message(Litmus &p, int thread) {
    if (thread == 0) return p.data.write(1), p.y.store(1, storing);
    if (p.y.load(loading) == 1) Explorer::instance().require(p.data.read() == 1, "an old value");
}
template <Order updating> void release_sequence(Litmus &p, int thread) {
    if (thread == 0) return p.data.write(1), p.y.store(1, release);
    if (thread == 1) return (void)p.y.fetch_add(1, updating);
    if (p.y.load(acquire) == 2) (void)p.data.read();
}
inline void broken_release_sequence(Litmus &p, int thread) {
    if (thread == 0) return p.data.write(1), p.y.store(1, release);
    if (thread == 1) {
        if (p.y.load(relaxed) == 1) p.y.store(2, relaxed);
    } else if (p.y.load(acquire) == 2) {
        (void)p.data.read();
    }
}
inline void load_buffering(Litmus &p, int thread) {
    p.answer(thread, (thread ? p.y : p.x).load(relaxed));
    (thread ? p.x : p.y).store(1, relaxed);
}
inline void coherence_of_reads(Litmus &p, int thread) {
    if (thread == 0) return p.x.store(1, relaxed), p.x.store(2, relaxed);
    Word const first = p.x.load(relaxed), second = p.x.load(relaxed);
    Explorer::instance().require(first <= second, "a load went back");
    p.answer(0, first), p.answer(1, second);
}
inline void coherence_between_readers(Litmus &p, int thread) {
    if (thread < 2) return p.x.store(static_cast<Word>(thread + 1), relaxed);
    Word const first = p.x.load(relaxed), second = p.x.load(relaxed);
    p.answer(2 * (thread - 2), first), p.answer(2 * (thread - 2) + 1, second);
}
inline void two_writes_each(Litmus &p, int thread) {
    (thread ? p.y : p.x).store(1, release);
    (thread ? p.x : p.y).store(2, release);
}
template <Order loading> void independent_reads(Litmus &p, int thread) {
    if (thread < 2) return (thread ? p.y : p.x).store(1, release);
    p.answer(2 * (thread - 2), (thread == 2 ? p.x : p.y).load(loading));
    p.answer(2 * (thread - 2) + 1, (thread == 2 ? p.y : p.x).load(loading));
}
template <Order middle> void causality(Litmus &p, int thread) {
    if (thread == 0) return p.x.store(1, relaxed);
    if (thread == 1) {
        if (p.x.load(relaxed) == 1) p.y.store(1, middle);
        return;
    }
    if (p.y.load(acquire) == 1) p.answer(0, p.x.load(relaxed));
}
inline void one_value_of_two_stores(Litmus &p, int thread) {
    if (thread == 0) {
        p.x.store(1, relaxed), p.y.store(1, relaxed), p.x.store(1, release);
        return p.z.store(1, relaxed);
    }
    p.answer(0, p.z.load(relaxed)), p.answer(1, p.x.load(acquire)), p.answer(2, p.y.load(relaxed));
}
inline void two_updates(Litmus &p, int thread) { p.answer(thread, p.x.fetch_add(1, relaxed)); }
inline void updates_in_place_of_stores(Litmus &p, int thread) {
    (void)(thread ? p.y : p.x).fetch_add(1, acq_rel);
    (void)p.z.fetch_add(1, acq_rel);
    p.answer(thread, (thread ? p.x : p.y).load(relaxed));
}
inline void one_weak_exchange(Litmus &p, int) {
    Word expected = 0;
    p.answer(0, p.x.compare_exchange_weak(expected, 1, relaxed, relaxed));
}
template <Order failing> void failed_exchange(Litmus &p, int thread) {
    if (thread == 0) return p.data.write(1), p.y.store(1, release);
    Word expected = 7;
    bool const done = p.y.compare_exchange_weak(expected, 8, relaxed, failing);
    Explorer::instance().require(!done, "exchanged what wasn't there");
    if (expected == 1) (void)p.data.read();
}
template <Order failing> void failure_reads_old(Litmus &p, int thread) {
    if (thread == 0) return p.x.store(1, relaxed), p.y.store(1, release);
    if (p.y.load(failing) != 1) return;
    Word expected = 7;
    (void)p.x.compare_exchange_weak(expected, 8, relaxed, relaxed);
    p.answer(0, expected);
}
template <bool locked> void counting(Litmus &p, int) {
    if (locked) p.mutex.lock();
    p.data.write(p.data.read() + 1);
    if (locked) p.mutex.unlock();
}
inline void reads_beside_reads(Litmus &p, int thread) { p.answer(thread, p.data.read()); }
inline void write_after_read(Litmus &p, int thread) {
    if (thread == 0) return (void)p.data.read(), p.y.store(1, relaxed);
    if (p.y.load(acquire) == 1) p.data.write(1);
}
inline void read_of_freed(Litmus &p, int thread) {
    if (thread == 0) return p.data.free(), p.y.store(1, release);
    if (p.y.load(acquire) == 1) (void)p.data.read();
}
inline void freed_twice(Litmus &p, int) {
    p.mutex.lock();
    p.data.free();
    p.mutex.unlock();
}
inline void crossed_locks(Litmus &p, int thread) {
    auto &first = thread ? p.second_mutex : p.mutex, &second = thread ? p.mutex : p.second_mutex;
    first.lock(), second.lock(), second.unlock(), first.unlock();
}
inline void foreign_unlock(Litmus &p, int thread) {
    if (thread == 0) p.mutex.lock();
    else p.mutex.unlock();
}
/// The closer's and the ender's ways with the mutex: as in a lease, or with one rule dropped.
template <bool locks_before_notify, bool looks_again> void waiting(Litmus &p, int thread) {
    if (thread == 0) {
        p.mutex.lock();
        if (looks_again)
            while (p.x.load(acquire) == 0) p.condition.wait(p.mutex);
        else if (p.x.load(acquire) == 0) p.condition.wait(p.mutex);
        Explorer::instance().require(p.x.load(acquire) == 1, "woken for nothing");
        p.mutex.unlock();
        return;
    }
    p.x.store(1, release);
    if (locks_before_notify) p.mutex.lock(), p.mutex.unlock();
    p.condition.notify_all();
}
inline void spin(Litmus &p, int thread) {
    if (thread == 0) return;
    while (p.x.load(relaxed) == 0) {
    }
}

/// Runs them all.
inline Report run() {
    Report report;
    std::set<std::string> const all{"00", "01", "10", "11"}, no_zeros{"01", "10", "11"};
    report.expect("store buffering, relaxed: all", 2, store_buffering<relaxed, relaxed>, all);
    report.expect("store buffering, release and acquire: all", 2, store_buffering<release, acquire>, all);
    report.expect("updates of one location between: not both old", 2, updates_in_place_of_stores, no_zeros);
    report.expect("message passing, relaxed: all", 2, message_passing<relaxed, relaxed>, all);
    report.expect("message passing, no release: all", 2, message_passing<relaxed, acquire>, all);
    report.expect("message passing, no acquire: all", 2, message_passing<release, relaxed>, all);
    report.expect("message passing, release and acquire: never 10", 2, message_passing<release, acquire>,
                  {"00", "01", "11"});
    report.expect("plain message, release and acquire: no race", 2, plain_message<release, acquire>, {""});
    report.expect_fault("plain message, no release: race", 2, plain_message<relaxed, acquire>,
                        "data race: read of data");
    report.expect_fault("plain message, no acquire: race", 2, plain_message<release, relaxed>,
                        "data race: read of data");
    report.expect("release sequence through a relaxed update: no race", 3, release_sequence<relaxed>, {""});
    report.expect_fault("release sequence ended by a store: race", 3, broken_release_sequence,
                        "data race: read of data");
    report.expect("coherence of reads", 2, coherence_of_reads, {"00", "01", "02", "11", "12", "22"});
    report.expect("two writes each: both second stores may be the older", 2, two_writes_each, {"12", "21", "22", "11"},
                  [](Litmus &p) { p.answer(0, p.x.load(relaxed)), p.answer(1, p.y.load(relaxed)); });
    report.expect("causality through a release: never old", 3, causality<release>, {"", "1"});
    report.expect("causality, relaxed: the old value too", 3, causality<relaxed>, {"", "0", "1"});
    report.expect("one value of two stores: all, whichever was read", 2, one_value_of_two_stores,
                  {"000", "001", "010", "011", "100", "101", "110", "111"});
    report.expect("two updates: never the same", 2, two_updates, {"01", "10"});
    report.expect("a weak exchange may fail alone", 1, one_weak_exchange, {"0", "1"});
    report.expect("a failed exchange acquires", 2, failed_exchange<acquire>, {""});
    report.expect_fault("a failed exchange, relaxed: race", 2, failed_exchange<relaxed>, "data race: read of data");
    report.expect("a failed exchange after an acquire: the new value", 2, failure_reads_old<acquire>, {"", "1"});
    report.expect("a failed exchange without: the old one too", 2, failure_reads_old<relaxed>, {"", "0", "1"});
    report.expect("load buffering isn't shown: a limit", 2, load_buffering, {"00", "01", "10"});
    report.expect("counting under a mutex", 2, counting<true>, {"2"}, [](Litmus &p) { p.answer(0, p.data.read()); });
    report.expect_fault("counting without: race", 2, counting<false>, "data race");
    report.expect("reads beside reads: no race", 2, reads_beside_reads, {"00"});
    report.expect_fault("a write after a read, no release: race", 2, write_after_read, "data race: write of data");
    report.expect_fault("a read of freed memory", 2, read_of_freed, "use of freed data");
    report.expect_fault("freed twice", 2, freed_twice, "use of freed data");
    report.expect_fault("crossed locks: blocked", 2, crossed_locks, "all threads are blocked");
    report.expect_fault("unlocking without the lock", 2, foreign_unlock, "without the lock");
    report.expect("waiting with the lock and a second look", 2, waiting<true, true>, {""});
    report.expect_fault("notified without the lock: asleep for ever", 2, waiting<false, true>,
                        "all threads are blocked");
    report.expect_fault("no second look: woken for nothing", 2, waiting<true, false>, "woken for nothing");
    report.expect_fault("a spin that nobody ends", 2, spin, "bound of steps");

    // Every pair of readers agrees on the order of two stores to one location, not on that of stores to two.
    outcomes.clear();
    Found const one = Explorer::instance().explore<Litmus>(Bounds{}, false, 4, coherence_between_readers, nullptr);
    report.line("readers agree on one location", one.fault.empty() && !outcomes.count("1221") && outcomes.count("1212"),
                std::to_string(outcomes.size()) + " outcomes, none of them 1221", one);
    outcomes.clear();
    Found const two = Explorer::instance().explore<Litmus>(Bounds{}, false, 4, independent_reads<acquire>, nullptr);
    report.line("independent reads, acquire: readers may differ", two.fault.empty() && outcomes.size() == 16,
                std::to_string(outcomes.size()) + " outcomes, 1010 among them", two);
    return report;
}

} // namespace explorer::litmus

#endif // UFORM_TESTS_EXPLORER_LITMUS_HPP
