/// Every interleaving of two or three threads that use a lease as arenas, guards, views and executors do.
///
///     lease_scenarios             what runs with every test run
///     lease_scenarios thorough    then with more failures for no reason, then with one operation more a thread:
///     minutes lease_scenarios NAME        one scenario (or `thorough NAME`)
///
/// Prints a line a litmus program and a line a scenario: states, executions, and whether a fault was found, whose trace
/// comes before; then how many passed and failed. Exit status 0: the litmus programs have their known answers, and no
/// scenario a fault. `ends` counts the different states in which all threads were done.
#include "explorer.hpp"
#include "lease_world.hpp"
#include "litmus.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace explorer;

namespace {

/// `wide`: more failures for no reason. `longer`: one operation more a thread.
enum class Mode { usual, wide, longer } mode = Mode::usual;
int rounds() noexcept { return mode == Mode::longer ? 2 : 1; }

/// Two threads call, a third one pins old results and new ones, whose epoch it learns without any order.
struct CallsAgainstCalls : World {
    Word first = 0;

    void set_up() override { threads = 3, first = begin(0); }
    void thread(int index) override {
        if (index == 2) {
            pin_and_look(0, first);
            for (int i = 0; i != rounds(); ++i)
                if (Word const epoch = mail.load(std::memory_order_relaxed)) pin_and_look(0, epoch);
            return;
        }
        for (int i = 0; i != rounds(); ++i)
            if (Word const epoch = any_call(0)) mail.store(epoch, std::memory_order_relaxed);
    }
    void finish() override { expect_freed(0); }
};

/// Refused and contended calls, and calls for memory alone, leave the results readable.
struct RefusedCalls : World {
    Word first = 0;

    void set_up() override { threads = 3, first = begin(0); }
    void thread(int index) override {
        if (index == 2) {
            for (int i = 0; i != 2; ++i)
                require(is_current(0, first) && pin_and_look(0, first), "results are refused, and no call has written");
            return;
        }
        for (int i = 0; i != 1 + rounds(); ++i)
            call(0, Ending::refused, index == 0 ? Readers::allowed : Readers::refused);
    }
    void finish() override {
        require(is_current(0, first), "the results are stale, and no call has written");
        expect_freed(0);
    }
};

/// A pin comes between reserve and commit, and goes again: the writer waits for it, and knows that it read before.
struct PinsWhileReserved : World {
    Word first = 0;

    void set_up() override { threads = 3, first = begin(0); }
    void thread(int index) override {
        if (index == 0) return (void)any_call(0);
        for (int i = 0; i != rounds(); ++i) pin_and_look(0, first);
    }
    void finish() override { expect_freed(0); }
};

/// Epochs that nobody has a view of yet are refused until they are published: while they are written, and once closed.
struct UnpublishedEpochs : World {
    Word next = 0;

    void set_up() override { threads = 3, next = begin(0) + 1; }
    void thread(int index) override {
        if (index == 0) {
            if (explorer().choose(2)) return (void)any_call(0);
            return close(0);
        }
        for (int i = 0; i != rounds(); ++i)
            if (index == 1) pin_and_look(0, next);
            else (void)is_current(0, next);
    }
    void finish() override { expect_freed(0); }
};

/// Another thread frees the arena at any moment of a call, beside a reader.
struct CloseAgainstCall : World {
    Word first = 0;

    void set_up() override { threads = 3, first = begin(0); }
    void thread(int index) override {
        if (index == 0)
            for (int i = 0; i != rounds(); ++i) any_call(0);
        if (index == 1) close(0), require(reserve(0) == LeaseStep::closed, "a freed arena serves");
        if (index == 2) pin_and_look(0, first);
    }
    void finish() override { expect_freed(0); }
};

/// Two threads call while a third one frees.
struct CloseAgainstCalls : World {
    Word first = 0;

    void set_up() override { threads = 3, first = begin(0); }
    void thread(int index) override {
        if (index == 2) return close(0);
        for (int i = 0; i != rounds(); ++i) call(0, index || mode == Mode::wide ? any_ending() : Ending::published);
    }
    void finish() override { expect_freed(0); }
};
/// A thread calls, and then frees: it waits for the other thread's call though it had one of its own.
struct CallThenClose : World {
    void set_up() override { threads = 2, begin(0); }
    void thread(int index) override {
        for (int i = 0; i != rounds(); ++i) any_call(0);
        if (index == 1) close(0);
    }
    void finish() override { expect_freed(0); }
};

/// A thread frees the arena that its own call has: nobody waits, and the call's end is a pin's.
struct CloseByHolder : World {
    Word first = 0;

    void set_up() override { threads = 3, first = begin(0); }
    void thread(int index) override {
        if (index == 1) return (void)pin_and_look(0, first);
        if (index == 2) return (void)any_call(0);
        if (reserve(0) != LeaseStep::done) return;
        draft[0].write(0);
        int const when = explorer().choose(3);
        if (when == 0) { // reserved, then given up
            close(0);
            return refuse(0);
        }
        if (when == 1) close(0); // reserved, then committed
        auto const step = commit(0);
        if (when == 1) require(step == LeaseStep::closed, "commits in an arena that its thread freed");
        if (step != LeaseStep::done) return refuse(0);
        write(0);
        close(0);
        bytes[0].write(poison), look_at_places();
        if (explorer().choose(2)) fail(0);
        else require(publish(0, explorer().choose(2)) == 0, "publishes in an arena that its thread freed");
    }
    void look_at_places() { (void)life[0].read(); }
    void finish() override { expect_freed(0); }
};

/// A job that goes from the thread that submits it to a worker, through a queue.
struct WithWorker : World {
    Simulated::Mutex queue;
    Simulated::Condition arrived, is_done;
    Plain job{0, "the queue"}, result{0, "the deferred result"};

    static constexpr Word none = 0, waits = 1, ended = 2, quits = 3;

    void send(Word what) {
        queue.lock();
        job.write(what);
        queue.unlock();
        arrived.notify_all();
    }
    Word receive() {
        queue.lock();
        while (job.read() == none) arrived.wait(queue);
        Word const what = job.read();
        queue.unlock();
        return what;
    }
    /// What the worker does with a call that is reserved. Born pinned, unless `unpinned`.
    Word work(bool unpinned = false) {
        Word epoch = 0;
        if (explorer().choose(2) || commit(0) != LeaseStep::done) {
            refuse(0);
        } else {
            write(0);
            if (explorer().choose(2)) fail(0);
            else epoch = publish(0, !unpinned);
        }
        queue.lock();
        result.write(epoch), job.write(ended);
        queue.unlock();
        is_done.notify_all();
        return epoch;
    }
    Word wait_for_result() {
        queue.lock();
        while (job.read() != ended) is_done.wait(queue);
        Word const epoch = result.read();
        queue.unlock();
        return epoch;
    }
};

/// A deferred call: the thread that submitted it waits for its result, or frees the arena first.
struct DeferredCall : WithWorker {
    Word first = 0;

    void set_up() override { threads = 3, first = begin(0); }
    void thread(int index) override {
        if (index == 2) return (void)pin_and_look(0, first);
        if (index == 1) {
            if (receive() == waits) (void)work();
            return;
        }
        bool const frees = explorer().choose(2);
        if (reserve(0, Readers::refused, Holder::none) != LeaseStep::done) return send(quits);
        draft[0].write(0);
        send(waits);
        if (frees) close(0); // waits for the worker's call: it isn't this thread's
        if (Word const epoch = wait_for_result()) {
            look(0, epoch);
            unpin(0);
        }
    }
    void finish() override { expect_freed(0); }
};

/// The thread that makes the calls learns an epoch without any order: what it peeks at, it may read.
struct PeekAfterRelaxedMail : WithWorker {
    void set_up() override {
        threads = 2;
        begin(0);
        require(reserve(0, Readers::refused, Holder::none) == LeaseStep::done, "not reserved");
    }
    void thread(int index) override {
        if (index == 0) {
            if (Word const epoch = work(true)) mail.store(epoch, std::memory_order_relaxed);
            return;
        }
        for (int i = 0; i != 2; ++i)
            if (Word const epoch = mail.load(std::memory_order_relaxed))
                if (is_current(0, epoch)) look(0, epoch);
    }
    void finish() override { expect_freed(0); }
};

/// A deferred call's continuation runs on the worker, and frees the arena there while it reads the result.
struct FreedByContinuation : World {
    Word first = 0;

    void set_up() override {
        threads = 3, first = begin(0);
        require(reserve(0, Readers::refused, Holder::none) == LeaseStep::done, "not reserved");
    }
    void thread(int index) override {
        if (index == 1) pin_and_look(0, first);
        if (index != 0) {
            if (Word const epoch = mail.load(std::memory_order_relaxed)) pin_and_look(0, epoch);
            return;
        }
        if (commit(0) != LeaseStep::done) return refuse(0);
        write(0);
        Word const epoch = publish(0, true);
        mail.store(epoch, std::memory_order_relaxed);
        if (explorer().choose(2)) close(0);
        else require(try_close(0) == LeaseStep::done, "no call has the arena, and it can't be freed");
        look(0, epoch);
        unpin(0);
    }
    void finish() override { expect_freed(0); }
};

/// Readers go while the arena is freed: the storage is freed once, after all that was read and written.
struct CloseAgainstPins : World {
    Word first = 0;

    void set_up() override { threads = 3, first = begin(0); }
    void thread(int index) override {
        if (index == 0) { // makes the calls and frees, so it reads without a pin
            if (explorer().choose(2)) look(0, first), draft[0].write(9);
            return close(0);
        }
        for (int i = 0; i != 1 + rounds(); ++i) pin_and_look(0, first);
    }
    void finish() override { expect_freed(0); }
};

/// Readers share one pinned result: whoever lets go last frees.
struct LastPins : World {
    void set_up() override {
        threads = 3;
        Word const first = begin(0);
        for (int i = 0; i != 3; ++i) require(pin(0, first) == LeaseStep::done, "not pinned");
        (void)first;
        seen = first;
    }
    Word seen = 0;
    void thread(int index) override {
        if (index == 0) close(0);
        look(0, seen);
        unpin(0);
    }
    void finish() override { expect_freed(0); }
};

/// The slot of a freed arena goes to another one at once: late wakes are harmless, and old views stay refused.
struct Reuse : World {
    Word first = 0;

    void set_up() override {
        threads = 3, add_slot(1, 50), first = begin(0);
        require(reserve(0) == LeaseStep::done, "not reserved"); // as thread A; nobody may begin while another one frees
    }
    void thread(int index) override {
        if (index == 0) return (void)go_on(0, any_ending()); // its wake may come to the next arena
        if (index == 1) {
            close(0);
            int const next = open(); // the other slot, where a reader still has this one
            require(!is_current(0, first), "a view of a freed arena is current");
            if (Word const epoch = any_call(next)) {
                require(is_current(next, epoch), "results that nobody rewound are stale");
                look(next, epoch);
                mail.store(epoch, std::memory_order_relaxed);
            }
            if (explorer().choose(2)) close(next);
            return;
        }
        pin_and_look(0, first); // before, and maybe while the slot is another arena's
        if (Word const epoch = mail.load(std::memory_order_relaxed)) pin_and_look(epoch < 50 ? 0 : 1, epoch);
    }
    void finish() override { expect_freed(0), expect_freed(1); }
};

/// The next arena of a slot is freed by a thread that waits, while the last arena's call may still wake it.
struct LateWake : World {
    void set_up() override {
        threads = 3, begin(0);
        require(reserve(0) == LeaseStep::done, "not reserved");
    }
    void thread(int index) override {
        if (index == 0) return (void)go_on(0, explorer().choose(2) ? Ending::published : Ending::refused);
        if (index == 1) {
            close(0);
            require(open() == 0, "the slot isn't free again");
            mail.store(1, std::memory_order_release);
            return close(0);
        }
        if (mail.load(std::memory_order_acquire)) any_call(0); // a call of the second arena
    }
    void finish() override { expect_freed(0); }
};

/// Arenas come and go on two threads, from two slots.
struct OpenAndClose : World {
    void set_up() override { threads = 2, add_slot(0), add_slot(1, 5); }
    void thread(int) override {
        for (int i = 0; i != 2 * rounds(); ++i) {
            int const index = open();
            if (Word const epoch = call(index, Ending::published)) look(index, epoch);
            close(index);
        }
    }
    void finish() override { expect_freed(0), expect_freed(1); }
};

/// `try_close` never waits, and changes nothing where a call has the arena.
struct TryClose : World {
    Word first = 0;

    void set_up() override { threads = 3, first = begin(0); }
    void thread(int index) override {
        if (index == 0)
            for (int i = 0; i != rounds(); ++i) any_call(0);
        if (index == 1 && try_close(0) != LeaseStep::done && explorer().choose(2)) close(0);
        if (index == 2) pin_and_look(0, first);
    }
    void finish() override { expect_freed(0); }
};
/// `try_close` by the thread whose call has the arena.
struct TryCloseByHolder : World {
    Word first = 0;

    void set_up() override { threads = 2, first = begin(0); }
    void thread(int index) override {
        if (index == 1) return (void)pin_and_look(0, first);
        require(reserve(0, Readers::allowed) == LeaseStep::done, "not reserved");
        bool const commits = commit(0) == LeaseStep::done;
        if (commits) write(0);
        require(try_close(0) == LeaseStep::done, "a thread's own call is waited for");
        if (commits) fail(0);
        else refuse(0);
    }
    void finish() override { expect_freed(0); }
};

/// A call that is under way while the storage is given to another owner: who may detach may read the results.
struct DetachAgainstCall : WithWorker {
    Word first = 0;

    void set_up() override {
        threads = 3, first = begin(0);
        require(reserve(0, Readers::refused, Holder::none) == LeaseStep::done, "not reserved");
    }
    void thread(int index) override {
        if (index == 0) {
            if (Word const epoch = work(true)) mail.store(epoch, std::memory_order_relaxed);
        }
        if (index == 1 && may_detach(0) == LeaseStep::done) {
            (void)life[0].read(), draft[0].write(draft[0].read() + 1);
            (void)bytes[0].read(); // with its rows, which no call can rewind now
            close(0);
        }
        if (index == 2) pin_and_look(0, first);
    }
    void finish() override { expect_freed(0); }
};
/// A closer waits: nothing may be detached any more.
struct DetachAgainstClose : World {
    Word first = 0;

    void set_up() override {
        threads = 3, first = begin(0);
        require(reserve(0, Readers::refused, Holder::none) == LeaseStep::done, "not reserved");
    }
    void thread(int index) override {
        if (index == 0) refuse(0);
        if (index == 1) close(0);
        if (index == 2) (void)is_current(0, first), (void)may_detach(0);
    }
    void finish() override { expect_freed(0); }
};

/// The last epochs: calls are refused, none is used twice, and the slot is retired.
struct LastEpochs : World {
    Word start = 0, first = 0;

    explicit LastEpochs(Word left) : start(last_epoch - left) {}
    void set_up() override {
        threads = 2;
        add_slot(1), add_slot(0, start);
        require(open() == 0, "a slot with epochs left is retired");
        first = call(0, Ending::published);
    }
    void thread(int index) override {
        call(0, index ? Ending::failed : any_ending());
        if (index == 0) {
            call(0, Ending::failed);
            close(0);
        } else if (Word const epoch = call(0, Ending::published)) {
            mail.store(epoch, std::memory_order_relaxed);
        }
    }
    void finish() override {
        expect_freed(0);
        Fields const before = word(0);
        int const next = open();
        require((next == 1) == (before.epoch + 4 > last_epoch), "the slot is retired too early, or too late");
        expect_freed(next);
    }
};
/// The most pins: readers are refused, and the place that is left is the holder's.
struct MostPins : World {
    Word first = 0;

    void set_up() override {
        threads = 3, first = begin(0);
        begin_at(0, {.epoch = first, .pins = pins_for_readers - 1});
    }
    void thread(int index) override {
        if (index == 2) {
            if (reserve(0, Readers::allowed) != LeaseStep::done) return;
            if (explorer().choose(2)) close(0);
            return refuse(0);
        }
        pin_and_look(0, first);
    }
    void finish() override { expect_freed(0); }
};

/// A guard goes from A, which began, to B, which publishes; A then frees while C calls. What A knows to have ended
/// isn't its own call, and another thread's call is waited for.
struct WanderedGuard : World {
    void set_up() override {
        threads = 3, begin(0);
        require(reserve(0) == LeaseStep::done, "not reserved"); // as thread A
    }
    void thread(int index) override {
        if (index == 0) { // B's call is A's own while it lasts
            if (explorer().choose(2) || try_close(0) != LeaseStep::done) close(0);
        }
        if (index == 1) go_on(0, explorer().choose(2) ? Ending::published : Ending::failed);
        if (index == 2) call(0, explorer().choose(2) ? Ending::published : Ending::refused);
    }
    void finish() override { expect_freed(0); }
};
/// The same, and B refuses, so that the word may come again as it was: A may not wait even for C, and nothing dangles.
struct WanderedRefusal : World {
    void set_up() override {
        threads = 3, begin(0), may_wander = true;
        require(reserve(0) == LeaseStep::done, "not reserved");
    }
    void thread(int index) override {
        if (index == 0) close(0);
        if (index == 1) refuse(0);
        if (index == 2) any_call(0);
    }
    void finish() override { expect_freed(0); }
};

/// A slab of slots that two threads find missing at once.
struct FirstSlab : Program {
    Slots slots;
    Slot *taken[2] = {};
    static inline Slot *slab = nullptr; // of the execution before

    void set_up() override { threads = 2, std::free(std::exchange(slab, nullptr)); }
    void thread(int index) override {
        taken[index] = slots.take();
        Explorer::instance().require(taken[index], "no slot");
        if (!slab || taken[index] < slab) slab = taken[index]; // the first of a slab is taken first
    }
    void finish() override {
        Explorer::instance().require(taken[0] != taken[1], "one slot for two arenas");
        for (Slot *slot : taken)
            Explorer::instance().require(slot->lease.reserve(Readers::refused) == LeaseStep::done, "a slot isn't open");
        Explorer::instance().require((taken[0] < taken[1] ? taken[1] - taken[0] : taken[0] - taken[1]) == 1,
                                     "two slabs where one is enough");
    }
};

int failed = 0, passed = 0;
char const *running = "none";
std::size_t all_states = 0, all_executions = 0;

/// One scenario. The first fault ends the program: it says more than those that follow from it.
template <class S, class... Arguments>
void run(char const *only, char const *name, Bounds bounds, Arguments... arguments) {
    if (only && std::strcmp(only, name) != 0) return;
    running = name;
    Found const found = Explorer::instance().explore<S>(bounds, true, arguments...);
    all_states += found.states, all_executions += found.executions;
    ++(found.fault.empty() ? passed : failed);
    std::printf("scenario  %-26s %9zu states %9zu executions %7zu ends  %s%s\n", name, found.states, found.executions,
                found.ends, found.fault.empty() ? "no fault" : "FAULT: ", found.fault.c_str());
    std::fflush(stdout);
    if (failed) std::printf("%d passed, %d failed\n", passed, failed), std::exit(1);
}

void run_all(char const *only) {
    Bounds usual{.weak_failures = 0, .spurious_wakes = 1}, weak{.weak_failures = 1, .spurious_wakes = 1};
    if (mode == Mode::wide) usual = {.weak_failures = 1, .spurious_wakes = 2}, weak = {.weak_failures = 2};
    if (mode == Mode::longer) weak.weak_failures = 0;
    run<RefusedCalls>(only, "refused_calls", usual);
    run<PinsWhileReserved>(only, "pins_while_reserved", weak);
    run<CallsAgainstCalls>(only, "calls_against_calls", usual);
    run<UnpublishedEpochs>(only, "unpublished_epochs", weak);
    run<FreedByContinuation>(only, "freed_by_continuation", usual);
    run<CloseAgainstPins>(only, "close_against_pins", usual);
    run<LastPins>(only, "last_pins", weak);
    run<CloseAgainstCall>(only, "close_against_call", usual);
    run<CloseAgainstCalls>(only, "close_against_calls", usual);
    run<CallThenClose>(only, "call_then_close", usual);
    run<CloseByHolder>(only, "close_by_holder", usual);
    run<DeferredCall>(only, "deferred_call", usual);
    run<PeekAfterRelaxedMail>(only, "peek_after_relaxed_mail", weak);
    run<Reuse>(only, "reuse", usual);
    run<LateWake>(only, "late_wake", usual);
    run<OpenAndClose>(only, "open_and_close", usual);
    run<TryClose>(only, "try_close", usual);
    run<TryCloseByHolder>(only, "try_close_by_holder", weak);
    run<DetachAgainstCall>(only, "detach_against_call", usual);
    run<DetachAgainstClose>(only, "detach_against_close", usual);
    for (Word left = 3; left != 8; ++left)
        run<LastEpochs>(only, ("last_epochs_" + std::to_string(left)).c_str(), usual, left);
    run<MostPins>(only, "most_pins", usual);
    run<WanderedGuard>(only, "wandered_guard", usual);
    run<WanderedRefusal>(only, "wandered_refusal", usual);
    run<FirstSlab>(only, "first_slab", usual);
}

} // namespace

int main(int count, char **arguments) {
    if (UFORM_ADDRESS_SANITIZER || UFORM_THREAD_SANITIZER) { // they don't know of stacks that are left by a jump
        std::printf("SKIPPED: the explorer's fibers can't run under this sanitizer\n0 passed, 0 failed, 1 skipped\n");
        return 0;
    }
    std::signal(SIGABRT, [](int) { // of the explorer's own limits: more objects, slabs or steps than it can follow
        std::printf("scenario  %-26s FAULT: a limit of the explorer was passed\n", running);
        std::fflush(stdout);
        std::_Exit(1);
    });
    char const *only = nullptr;
    bool thorough = false;
    for (int i = 1; i != count; ++i)
        if (std::strcmp(arguments[i], "thorough") == 0) thorough = true;
        else only = arguments[i];

    litmus::Report litmus;
    if (!only) litmus = litmus::run();
    run_all(only);
    if (thorough) mode = Mode::wide, run_all(only);
    if (thorough) mode = Mode::longer, run_all(only);
    std::printf("%zu states and %zu executions of scenarios\n", all_states, all_executions);
    std::printf("%d passed, %d failed\n", passed + litmus.passed, failed + litmus.failed);
    return failed || litmus.failed || passed == 0;
}
