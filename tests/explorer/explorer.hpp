/// Runs a small program of threads in every interleaving, and with every value that C++'s memory orders let a load see.
///
/// Simulated threads are fibers of one thread of the system. Each operation on an `Atomic`, `Mutex` or `Condition` is a
/// scheduling point: a depth-first search takes every thread and every outcome there, by running the program again from
/// the start, and leaves off where it meets a state that it has been in. A state is what each thread has been answered
/// so far, and the memory; so what a program keeps beside (say, a record of what really is) it adds to `hash`.
///
/// The memory model is an operational one of views. A location keeps its stores in modification order. Each thread,
/// each store and each mutex has a view: the oldest store of each location that whoever has it may still read, and a
/// vector clock. A load takes any store that isn't older than its thread's view; an acquire joins the view that the
/// store carries. A read-modify-write carries the view of the store that it read on, so release sequences are C++20's.
/// A store goes to any place in modification order that the view allows, never between a read-modify-write and what it
/// read. `compare_exchange_weak` may fail on any store that its thread may read, with the expected value as often as
/// `Bounds` say; so often, too, a condition wakes by itself.
///
/// `Plain` cells stand for memory that isn't atomic. They are no scheduling points, as vector clocks find a race
/// whatever the order; a race is a fault, and so is the use of a dead cell. Faults are also: a failed `require`, all
/// threads blocked, unlocking or waiting without the lock, and a search that isn't finished within its bounds.
///
/// What the model can't show: load buffering and values out of thin air (a load never sees a store that is made later;
/// the litmus tests say so); a single order of `seq_cst` (taken as `acq_rel`); `consume` (taken as `acquire`); fences;
/// a loop that never ends because a value never arrives (each store can be seen at once, and a spin is a fault when its
/// bound is met); the construction of an atomic racing with its use. Sizes and orders of fields, caches and real time
/// don't exist here.
#ifndef UFORM_TESTS_EXPLORER_EXPLORER_HPP
#define UFORM_TESTS_EXPLORER_EXPLORER_HPP

#undef _FORTIFY_SOURCE // its longjmp refuses to change stacks

#include <setjmp.h>
#include <ucontext.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "states.hpp"

namespace explorer {

inline constexpr int most_threads = 4, most_locations = 96, most_stores = 64, most_mutexes = 96, most_cells = 24;
inline constexpr std::size_t stack_bytes = 64 * 1024;

/// How far a search goes.
struct Bounds {
    int weak_failures = 1;  // of compare-exchanges that had the expected value, a thread
    int spurious_wakes = 1; // a thread
    int most_depth = 600;   // steps of an execution
    std::size_t most_states = 20'000'000;
};

/// What a search found.
struct Found {
    std::size_t states = 0, executions = 0, ends = 0; // ends: executions that ran to their end, in a state of their own
    std::string fault;                                // empty: none
};

/// The threads and what is to hold. Made anew, in the same place, for each execution, and never destroyed: it owns no
/// memory. `set_up` and `finish` run alone, and everybody knows what was done in `set_up`.
struct Program {
    int threads = 2;

    virtual void set_up() {}
    virtual void thread(int index) = 0;
    virtual void finish() {}
    /// After each store to an atomic: the value before is the one just older in modification order.
    virtual void changed(int location, int thread, std::uint64_t before, std::uint64_t after) {
        (void)location, (void)thread, (void)before, (void)after;
    }
    /// After each load, and each read of a compare-exchange that failed.
    virtual void read(int location, int thread, std::uint64_t value) { (void)location, (void)thread, (void)value; }
    /// What the program keeps beside the memory and the threads' own variables.
    virtual void hash(Hash &hash) const { (void)hash; }
    /// For traces.
    virtual std::string describe(int location, std::uint64_t value) const {
        return "x" + std::to_string(location) + "=" + std::to_string(value);
    }

  protected:
    ~Program() = default;
};

class Explorer {
  public:
    enum class Kind : std::uint8_t {
        start,
        choose,
        load,
        store,
        add,
        compare,
        lock,
        unlock,
        wait,
        wake,
        notify,
        finished
    };
    struct Step {
        Kind kind = Kind::start;
        int object = 0, mutex = 0;
        std::memory_order order = std::memory_order_relaxed, failure = std::memory_order_relaxed;
        std::uint64_t expected = 0, operand = 0;
    };

    [[nodiscard]] static Explorer &instance() noexcept {
        static Explorer only;
        return only;
    }

    /// Searches all executions of `P`, made of `arguments`. Stops at the first fault, and prints its trace.
    template <class P, class... Arguments> Found explore(Bounds const &bounds, bool print, Arguments... arguments) {
        static_assert(sizeof(P) <= sizeof(program_memory_) && alignof(P) <= 64);
        auto const make = [&]() -> Program * { return ::new (static_cast<void *>(program_memory_)) P(arguments...); };
        bounds_ = bounds, found_ = {}, states_.clear(), points_.clear(), options_.clear();
        for (bool more = true; more;) {
            execute(make);
            ++found_.executions;
            if (!found_.fault.empty()) {
                found_.states = states_.count();
                if (print) {
                    std::printf("  trace of the fault:\n");
                    tracing_ = true, execute(make), tracing_ = false;
                    std::printf("  fault: %s\n", found_.fault.c_str());
                }
                return found_;
            }
            while (!points_.empty() && points_.back().now + 1 == points_.back().end)
                options_.resize(points_.back().first), points_.pop_back();
            more = !points_.empty();
            if (more) ++points_.back().now;
        }
        found_.states = states_.count();
        return found_;
    }

    // For programs.

    [[nodiscard]] int current() const noexcept { return current_; }
    /// As which thread `set_up` and `finish` of a program act.
    void act_as(int thread) noexcept { current_ = thread; }
    /// One of `count` ways to go on, each taken.
    [[nodiscard]] int choose(int count) {
        if (alone_) fault("a choice outside of the threads");
        return static_cast<int>(perform({.kind = Kind::choose, .object = count}));
    }
    [[noreturn]] void fault(std::string const &text) {
        if (found_.fault.empty())
            found_.fault = (current_ < 0 ? "" : "thread " + std::string(1, name(current_)) + ": ") + text;
        _longjmp(home_, faulted);
    }
    void require(bool holds, char const *text) {
        if (!holds) fault(text);
    }
    /// Runs an operation whose local variables are gone when it returns: what the thread was answered inside is
    /// forgotten for the answer alone, so that more states are one.
    template <class Operation> auto whole(Operation operation) {
        Hash const before = alone_ ? Hash{} : threads_[current_].history;
        auto const answer = operation();
        if (!alone_)
            threads_[current_].history = before, threads_[current_].history.add(static_cast<std::uint64_t>(answer));
        return answer;
    }
    /// A line of the trace.
    void note(char const *text, std::uint64_t value) const {
        if (tracing_ && !alone_)
            std::printf("    %c            %s %llu\n", name(current_), text, static_cast<unsigned long long>(value));
    }
    [[nodiscard]] int last_location() const noexcept { return last_location_; }
    [[nodiscard]] std::uint64_t newest(int location) const noexcept {
        return locations_[location].stores[locations_[location].count - 1].value;
    }

    // For the platform.

    [[nodiscard]] int add_location(std::uint64_t value) {
        if (location_count_ == most_locations) std::abort();
        auto &location = locations_[location_count_];
        location.count = 1, location.stores[0] = {value, false, {}};
        return location_count_++;
    }
    [[nodiscard]] int add_mutex() {
        if (mutex_count_ == most_mutexes) std::abort();
        mutexes_[mutex_count_] = {};
        return mutex_count_++;
    }
    [[nodiscard]] int add_condition() noexcept { return condition_count_++; }
    [[nodiscard]] int add_cell(std::uint64_t value, char const *name, bool alive) {
        if (cell_count_ == most_cells) std::abort();
        cells_[cell_count_] = {};
        cells_[cell_count_].value = value, cells_[cell_count_].name = name, cells_[cell_count_].alive = alive;
        return cell_count_++;
    }

    /// Posts a step of the running thread, and answers when it has been taken.
    std::uint64_t perform(Step const &step) {
        if (step.kind == Kind::load || step.kind == Kind::add || step.kind == Kind::compare)
            last_location_ = step.object;
        if (alone_) return perform_alone(step);
        threads_[current_].step = step;
        advance();
        return threads_[current_].result;
    }
    [[nodiscard]] bool succeeded() const noexcept { return alone_ ? alone_succeeded_ : threads_[current_].succeeded; }

    [[nodiscard]] std::uint64_t read_cell(int index) {
        auto &cell = cells_[index];
        if (!cell.alive) fault(std::string("use of freed ") + cell.name);
        if (alone_) return cell.value;
        auto &known = threads_[current_].known;
        if (cell.written > known.clock[cell.writer])
            fault(std::string("data race: read of ") + cell.name + " after a write of thread " + name(cell.writer));
        cell.reads[current_] = known.clock[current_];
        threads_[current_].history.add(cell.value);
        return cell.value;
    }
    void write_cell(int index, std::uint64_t value, bool was_alive, bool alive) {
        auto &cell = cells_[index];
        if (cell.alive != was_alive) fault(std::string(was_alive ? "use of freed " : "made twice: ") + cell.name);
        if (!alone_) {
            auto &known = threads_[current_].known;
            if (cell.written > known.clock[cell.writer])
                fault(std::string("data race: write of ") + cell.name + " after a write of thread " +
                      name(cell.writer));
            for (int i = 0; i != most_threads; ++i)
                if (cell.reads[i] > known.clock[i])
                    fault(std::string("data race: write of ") + cell.name + " after a read of thread " + name(i));
            cell.writer = static_cast<std::uint8_t>(current_), cell.written = known.clock[current_];
            for (auto &read : cell.reads) read = 0;
        }
        cell.value = value, cell.alive = alive;
    }
    /// The value as it is, for invariants: no access of a thread.
    [[nodiscard]] std::uint64_t cell_value(int index) const noexcept { return cells_[index].value; }
    [[nodiscard]] bool cell_alive(int index) const noexcept { return cells_[index].alive; }

  private:
    enum Arrival : int { set_out, pruned, completed, faulted };

    struct View {
        std::uint8_t at[most_locations] = {}; // the oldest store that may still be read
        std::uint16_t clock[most_threads] = {};
    };
    struct Store {
        std::uint64_t value = 0;
        bool update = false; // made by a read-modify-write: nothing comes between it and the one before
        View released;
    };
    struct Location {
        int count = 0;
        Store stores[most_stores];
    };
    struct MutexState {
        int owner = -1;
        View released;
    };
    struct Cell {
        std::uint64_t value = 0;
        char const *name = "";
        std::uint16_t written = 0, reads[most_threads] = {};
        std::uint8_t writer = 0;
        bool alive = true;
    };
    struct Thread {
        Step step;
        View known;
        Hash history;
        std::uint64_t result = 0;
        bool succeeded = false, notified = false;
        int weak_failures = 0, spurious_wakes = 0;
        jmp_buf base, here;
        bool started = false;
        alignas(64) std::byte stack[stack_bytes];
    };
    struct Option {
        std::uint8_t thread = 0, index = 0; // index: of a store, or of a choice
        bool success = true;
    };
    struct Point {
        std::size_t first = 0, now = 0, end = 0; // in `options_`
    };

    Bounds bounds_;
    Found found_;
    States states_;
    std::vector<Point> points_;
    std::vector<Option> options_;
    std::size_t depth_ = 0;
    int current_ = -1, thread_count_ = 0, location_count_ = 0, mutex_count_ = 0, condition_count_ = 0, cell_count_ = 0;
    int last_location_ = -1;
    bool alone_ = true, alone_succeeded_ = false, tracing_ = false;
    Program *program_ = nullptr;
    jmp_buf home_, ready_;
    ucontext_t outside_, inside_;
    Thread threads_[most_threads];
    Location locations_[most_locations];
    MutexState mutexes_[most_mutexes];
    Cell cells_[most_cells];
    alignas(64) std::byte program_memory_[16 * 1024];

    static inline Explorer *constructed_ = nullptr; // `instance` waits for the constructor, where fibers begin

    Explorer() {
        constructed_ = this;
        for (int i = 0; i != most_threads; ++i) begin_fiber(i);
    }
    __attribute__((noinline)) void begin_fiber(int index) {
        getcontext(&inside_);
        inside_.uc_stack.ss_sp = threads_[index].stack, inside_.uc_stack.ss_size = stack_bytes;
        inside_.uc_link = nullptr;
        makecontext(&inside_, reinterpret_cast<void (*)()>(fiber), 1, index);
        if (_setjmp(ready_) == 0) swapcontext(&outside_, &inside_);
    }

    [[nodiscard]] static char name(int thread) noexcept { return static_cast<char>('A' + thread); }

    /// The bottom of a thread's stack: each execution jumps back here, and what was above is given up.
    static void fiber(int index) {
        if (_setjmp(constructed_->threads_[index].base) == 0) _longjmp(constructed_->ready_, 1);
        constructed_->run_thread();
    }
    [[noreturn]] void run_thread() {
        program_->thread(current_);
        threads_[current_].step = {.kind = Kind::finished};
        advance();
        std::abort();
    }

    template <class Make> void execute(Make make) {
        depth_ = 0;
        location_count_ = mutex_count_ = condition_count_ = cell_count_ = 0;
        switch (_setjmp(home_)) {
        case set_out:
            alone_ = true, current_ = 0;
            program_ = make();
            program_->set_up();
            alone_ = false;
            set_out_threads();
            advance();
            break;
        case completed:
            ++found_.ends;
            alone_ = true, current_ = 0;
            program_->finish();
            break;
        default: break; // pruned, or a fault
        }
    }
    void set_out_threads() {
        thread_count_ = program_->threads;
        for (int i = 0; i != location_count_; ++i) // everybody knows what was done so far
            locations_[i].stores[0] = {newest(i), false, {}}, locations_[i].count = 1;
        for (int i = 0; i != thread_count_; ++i) {
            auto &thread = threads_[i];
            thread.step = {}, thread.known = {}, thread.history = {};
            thread.known.clock[i] = 1;
            thread.started = thread.notified = thread.succeeded = false;
            thread.weak_failures = bounds_.weak_failures, thread.spurious_wakes = bounds_.spurious_wakes;
        }
        current_ = -1;
    }

    /// Takes steps until one lets a thread go on, and goes on there.
    void advance() {
        for (;;) {
            int next = -1;
            for (int i = 0; i != thread_count_ && next < 0; ++i)
                if (threads_[i].step.kind == Kind::start) next = i;
            if (next >= 0) {
                threads_[next].step.kind = Kind::finished; // until it posts another
                return change_to(next);
            }
            Option const option = choose_option();
            if (apply(option)) return change_to(option.thread);
        }
    }
    __attribute__((noinline)) void change_to(int next) {
        int const before = current_;
        current_ = next;
        if (next == before) return;
        auto &thread = threads_[next];
        if (before >= 0) {
            if (_setjmp(threads_[before].here) != 0) return;
        }
        if (!thread.started) {
            thread.started = true;
            _longjmp(thread.base, 1);
        }
        _longjmp(thread.here, 1);
    }

    [[nodiscard]] Option choose_option() {
        if (depth_ != points_.size()) return options_[points_[depth_++].now];
        if (depth_ == static_cast<std::size_t>(bounds_.most_depth)) fault("an execution passes the bound of steps");
        Point point{options_.size(), options_.size(), 0};
        int local = -1, open = 0;
        for (int i = 0; i != thread_count_; ++i) {
            if (threads_[i].step.kind == Kind::choose) local = i;
            open += threads_[i].step.kind != Kind::finished;
        }
        if (local >= 0) { // nothing of another thread can change it: it may come first
            list(local);
        } else {
            if (!states_.insert(state())) _longjmp(home_, pruned);
            if (states_.count() > bounds_.most_states) fault("the search passes the bound of states: not exhaustive");
            if (open == 0) _longjmp(home_, completed);
            bool progress = false;
            for (int i = 0; i != thread_count_; ++i) {
                list(i);
                auto const &thread = threads_[i];
                progress = progress || (thread.step.kind == Kind::wake   ? is_free(thread.step.mutex) && thread.notified
                                        : thread.step.kind == Kind::lock ? is_free(thread.step.object)
                                                                         : thread.step.kind != Kind::finished);
            }
            if (!progress) { // also where a spurious wake would help: it may never come
                current_ = -1;
                std::string who;
                for (int i = 0; i != thread_count_; ++i)
                    if (threads_[i].step.kind != Kind::finished)
                        who += std::string(" ") + name(i) +
                               (threads_[i].step.kind == Kind::lock ? " at a lock" : " asleep");
                fault("all threads are blocked:" + who);
            }
        }
        point.end = options_.size();
        points_.push_back(point);
        ++depth_;
        return options_[point.now];
    }
    [[nodiscard]] bool is_free(int mutex) const noexcept { return mutexes_[mutex].owner < 0; }

    void offer(int thread, int index, bool success = true) {
        options_.push_back({static_cast<std::uint8_t>(thread), static_cast<std::uint8_t>(index), success});
    }
    /// All outcomes of a thread's step.
    void list(int index) {
        auto &thread = threads_[index];
        Step const &step = thread.step;
        switch (step.kind) {
        case Kind::start:
        case Kind::finished: return;
        case Kind::choose:
            for (int i = 0; i != step.object; ++i) offer(index, i);
            return;
        case Kind::lock:
            if (is_free(step.object)) offer(index, 0);
            return;
        case Kind::wake:
            if (is_free(step.mutex) && (thread.notified || thread.spurious_wakes > 0)) offer(index, 0);
            return;
        case Kind::unlock:
        case Kind::wait:
        case Kind::notify: return offer(index, 0);
        case Kind::load:
        case Kind::store:
        case Kind::add:
        case Kind::compare: break;
        }
        auto const &location = locations_[step.object];
        int const oldest = thread.known.at[step.object], count = location.count;
        for (int i = count; i-- != oldest;) { // the newest first
            auto const &store = location.stores[i];
            bool const room = i + 1 == count || !location.stores[i + 1].update; // for a store just after
            switch (step.kind) {
            case Kind::load: offer(index, i); break;
            case Kind::store:
            case Kind::add:
                if (room) offer(index, i);
                break;
            default:
                if (store.value == step.expected && room) offer(index, i);
                if (store.value != step.expected || thread.weak_failures > 0) offer(index, i, false);
                break;
            }
        }
    }

    static bool acquires(std::memory_order order) noexcept {
        return order != std::memory_order_relaxed && order != std::memory_order_release;
    }
    static bool releases(std::memory_order order) noexcept {
        return order == std::memory_order_release || order == std::memory_order_acq_rel ||
               order == std::memory_order_seq_cst;
    }
    void join(View &into, View const &from) const noexcept {
        for (int i = 0; i != location_count_; ++i)
            if (from.at[i] > into.at[i]) into.at[i] = from.at[i];
        for (int i = 0; i != most_threads; ++i)
            if (from.clock[i] > into.clock[i]) into.clock[i] = from.clock[i];
    }
    /// Makes a store just newer than `index`: all places after it move up in all views.
    void insert(int thread, int object, int index, std::uint64_t value, bool update, bool release) {
        auto &location = locations_[object];
        if (location.count == most_stores) fault("more stores to a location than the explorer keeps");
        auto const place = static_cast<std::uint8_t>(index + 1);
        if (place != location.count) {
            auto const shift = [&](View &view) {
                if (view.at[object] >= place) ++view.at[object];
            };
            for (int i = location.count; i != place; --i) location.stores[i] = location.stores[i - 1];
            ++location.count;
            for (int i = 0; i != thread_count_; ++i) shift(threads_[i].known);
            for (int i = 0; i != mutex_count_; ++i) shift(mutexes_[i].released);
            for (int i = 0; i != location_count_; ++i)
                for (int j = 0; j != locations_[i].count; ++j) shift(locations_[i].stores[j].released);
        } else {
            ++location.count;
        }
        auto &known = threads_[thread].known;
        known.at[object] = place;
        Store &store = location.stores[place];
        store.value = value, store.update = update, store.released = {};
        if (update) store.released = location.stores[index].released; // the release sequence goes on
        if (release) join(store.released, known);
        if (store.released.at[object] < place) store.released.at[object] = place;
    }

    /// Takes a step. Answers whether its thread goes on.
    [[nodiscard]] bool apply(Option const &option) {
        auto &thread = threads_[option.thread];
        Step const step = thread.step;
        int const before = std::exchange(current_, option.thread); // faults are this thread's
        bool goes_on = true;
        thread.history.add(static_cast<std::uint64_t>(step.kind));
        switch (step.kind) {
        case Kind::choose: thread.result = option.index; break;
        case Kind::load: read_store(thread, step.object, option.index, acquires(step.order)); break;
        case Kind::store:
            insert(option.thread, step.object, option.index, step.operand, false, releases(step.order));
            thread.result = locations_[step.object].stores[option.index].value; // for `changed` alone
            break;
        case Kind::add:
            read_store(thread, step.object, option.index, acquires(step.order));
            insert(option.thread, step.object, option.index, thread.result + step.operand, true, releases(step.order));
            break;
        case Kind::compare:
            read_store(thread, step.object, option.index, acquires(option.success ? step.order : step.failure));
            thread.succeeded = option.success;
            thread.history.add(option.success);
            if (option.success)
                insert(option.thread, step.object, option.index, step.operand, true, releases(step.order));
            else if (thread.result == step.expected) --thread.weak_failures;
            break;
        case Kind::lock: take(option.thread, step.object); break;
        case Kind::unlock: drop(option.thread, step.object); break;
        case Kind::wait:
            drop(option.thread, step.mutex);
            thread.step.kind = Kind::wake, thread.notified = false, goes_on = false;
            break;
        case Kind::wake:
            if (!thread.notified) --thread.spurious_wakes;
            take(option.thread, step.mutex);
            break;
        case Kind::notify:
            for (int i = 0; i != thread_count_; ++i)
                if (threads_[i].step.kind == Kind::wake && threads_[i].step.object == step.object)
                    threads_[i].notified = true;
            break;
        default: std::abort();
        }
        if (step.kind == Kind::load || step.kind == Kind::add || step.kind == Kind::compare)
            thread.history.add(thread.result);
        if (step.kind == Kind::choose) thread.history.add(thread.result);
        ++thread.known.clock[option.thread];
        if (tracing_) print(option, step, thread);
        if (step.kind == Kind::load || (step.kind == Kind::compare && !option.success))
            program_->read(step.object, option.thread, thread.result);
        if (step.kind == Kind::store || step.kind == Kind::add || (step.kind == Kind::compare && option.success))
            program_->changed(step.object, option.thread, thread.result,
                              locations_[step.object].stores[option.index + 1].value);
        current_ = before;
        return goes_on;
    }
    void read_store(Thread &thread, int object, int index, bool acquire) noexcept {
        Store const &store = locations_[object].stores[index];
        thread.known.at[object] = static_cast<std::uint8_t>(index);
        thread.result = store.value;
        if (acquire) join(thread.known, store.released);
    }
    void take(int thread, int mutex) {
        if (mutexes_[mutex].owner >= 0) fault("a lock taken twice");
        mutexes_[mutex].owner = thread;
        join(threads_[thread].known, mutexes_[mutex].released);
    }
    void drop(int thread, int mutex) {
        if (mutexes_[mutex].owner != thread) fault("unlocks or waits without the lock");
        mutexes_[mutex].owner = -1;
        join(mutexes_[mutex].released, threads_[thread].known);
    }

    std::uint64_t perform_alone(Step const &step) {
        if (step.kind == Kind::lock) mutexes_[step.object].owner = current_;
        if (step.kind == Kind::unlock) mutexes_[step.object].owner = -1;
        if (step.kind == Kind::wait) fault("waits, and no thread is there to wake it");
        if (step.kind < Kind::load || step.kind > Kind::compare) return 0;
        Store &store = locations_[step.object].stores[locations_[step.object].count - 1];
        std::uint64_t const before = store.value;
        alone_succeeded_ = step.kind != Kind::compare || before == step.expected;
        if (step.kind == Kind::load || !alone_succeeded_) return program_->read(step.object, current_, before), before;
        store.value = step.kind == Kind::add ? before + step.operand : step.operand;
        program_->changed(step.object, current_, before, store.value);
        return before;
    }

    /// All that the future depends on, without what differs by name alone: stores that nobody can read any more, and
    /// clocks that no cell is compared with.
    [[nodiscard]] Hash state() const {
        Hash hash;
        std::uint8_t oldest[most_locations] = {};
        int live[most_locations], live_count = 0;
        for (int i = 0; i != location_count_; ++i) {
            if (locations_[i].count == 1) continue;
            std::uint8_t least = static_cast<std::uint8_t>(locations_[i].count - 1);
            for (int t = 0; t != thread_count_; ++t)
                if (threads_[t].step.kind != Kind::finished && threads_[t].known.at[i] < least)
                    least = threads_[t].known.at[i];
            oldest[i] = least;
            live[live_count++] = i;
        }
        std::uint16_t ranks[most_threads][2 * most_cells];
        int rank_count[most_threads] = {};
        for (int t = 0; t != thread_count_; ++t) {
            auto const enter = [&](std::uint16_t clock) {
                if (clock == 0) return;
                int i = 0;
                while (i != rank_count[t] && ranks[t][i] < clock) ++i;
                if (i != rank_count[t] && ranks[t][i] == clock) return;
                for (int j = rank_count[t]++; j != i; --j) ranks[t][j] = ranks[t][j - 1];
                ranks[t][i] = clock;
            };
            for (int c = 0; c != cell_count_; ++c) {
                if (cells_[c].writer == t) enter(cells_[c].written);
                enter(cells_[c].reads[t]);
            }
        }
        auto const rank = [&](int t, std::uint16_t clock) {
            int i = 0;
            while (i != rank_count[t] && ranks[t][i] <= clock) ++i;
            return static_cast<std::uint64_t>(i);
        };
        auto const add_view = [&](View const &view) {
            std::uint64_t packed = 0;
            for (int i = 0; i != live_count; ++i) {
                int const at = live[i];
                packed =
                    packed << 8 | static_cast<std::uint64_t>(view.at[at] > oldest[at] ? view.at[at] - oldest[at] : 0);
                if (i % 8 == 7) hash.add(packed), packed = 0;
            }
            hash.add(packed), packed = 0;
            for (int t = 0; t != thread_count_; ++t) packed = packed << 8 | rank(t, view.clock[t]);
            hash.add(packed);
        };
        hash.add(static_cast<std::uint64_t>(location_count_) << 32 | static_cast<std::uint64_t>(cell_count_));
        for (int i = 0; i != live_count; ++i) {
            auto const &location = locations_[live[i]];
            hash.add(static_cast<std::uint64_t>(live[i]) << 32 |
                     static_cast<std::uint64_t>(location.count - oldest[live[i]]));
            for (int j = oldest[live[i]]; j != location.count; ++j) {
                hash.add(location.stores[j].value);
                hash.add(location.stores[j].update && j != oldest[live[i]]);
                add_view(location.stores[j].released);
            }
        }
        for (int i = 0; i != mutex_count_; ++i) {
            hash.add(static_cast<std::uint64_t>(mutexes_[i].owner + 1));
            add_view(mutexes_[i].released);
        }
        for (int i = 0; i != cell_count_; ++i) {
            Cell const &cell = cells_[i];
            hash.add(cell.value),
                hash.add(static_cast<std::uint64_t>(cell.alive) << 8 | (cell.written ? cell.writer : 0u));
            hash.add(cell.written ? rank(cell.writer, cell.written) : 0);
            for (int t = 0; t != thread_count_; ++t) hash.add(cell.reads[t] ? rank(t, cell.reads[t]) : 0);
        }
        for (int t = 0; t != thread_count_; ++t) {
            auto const &thread = threads_[t];
            if (thread.step.kind == Kind::finished) {
                hash.add(0xf1), hash.add(thread.history);
                continue;
            }
            hash.add(thread.history);
            hash.add(static_cast<std::uint64_t>(thread.weak_failures) << 16 |
                     static_cast<std::uint64_t>(thread.spurious_wakes) << 8 |
                     (thread.step.kind == Kind::wake && thread.notified));
            add_view(thread.known);
        }
        program_->hash(hash);
        return hash;
    }

    void print(Option const &option, Step const &step, Thread const &thread) const {
        static char const *const kinds[] = {"start", "chooses", "load",   "store", "add",      "compare-exchange",
                                            "locks", "unlocks", "sleeps", "wakes", "notifies", "finished"};
        static char const *const orders[] = {"relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"};
        std::string text = kinds[static_cast<int>(step.kind)];
        auto const described = [&](std::uint64_t value) { return program_->describe(step.object, value); };
        switch (step.kind) {
        case Kind::choose: text += " " + std::to_string(option.index); break;
        case Kind::load:
        case Kind::compare:
        case Kind::add:
        case Kind::store: {
            int const newer =
                locations_[step.object].count - 1 - option.index - (step.kind != Kind::load && option.success);
            bool const writes = step.kind != Kind::load && option.success;
            text += std::string("(") + orders[static_cast<int>(option.success ? step.order : step.failure)] + ")";
            if (step.kind != Kind::store) text += "  read " + described(thread.result);
            if (writes) text += "  made " + described(locations_[step.object].stores[option.index + 1].value);
            if (!option.success) text += thread.result == step.expected ? "  failed for no reason" : "  failed";
            if (newer > 0) text += "  (" + std::to_string(newer) + " newer)";
            break;
        }
        case Kind::lock:
        case Kind::unlock: text += " mutex " + std::to_string(step.object); break;
        case Kind::wait:
        case Kind::wake:
        case Kind::notify: text += " at condition " + std::to_string(step.object); break;
        default: break;
        }
        std::printf("    %c  %s\n", name(option.thread), text.c_str());
    }
};

} // namespace explorer

#endif // UFORM_TESTS_EXPLORER_EXPLORER_HPP
