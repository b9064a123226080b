/// Atomics, locks and memory of simulated threads: each operation is a step of the explorer.
#ifndef UFORM_TESTS_EXPLORER_SIMULATED_HPP
#define UFORM_TESTS_EXPLORER_SIMULATED_HPP

#include "explorer.hpp"

#include <atomic>
#include <cstdint>

namespace explorer {

/// The platform of simulated threads: what `uform::Lease` and its slots are instantiated with.
struct Simulated {
    template <class T> class Atomic {
        int location_;

        static std::uint64_t bits(T value) noexcept { return static_cast<std::uint64_t>(value); }
        std::uint64_t perform(Explorer::Step const &step) const { return Explorer::instance().perform(step); }

      public:
        Atomic(T value = {}) : location_(Explorer::instance().add_location(bits(value))) {}
        Atomic(Atomic const &) = delete;
        Atomic &operator=(Atomic const &) = delete;

        [[nodiscard]] T load(std::memory_order order) const {
            return static_cast<T>(perform({.kind = Explorer::Kind::load, .object = location_, .order = order}));
        }
        void store(T value, std::memory_order order) {
            perform({.kind = Explorer::Kind::store, .object = location_, .order = order, .operand = bits(value)});
        }
        T fetch_add(T value, std::memory_order order) {
            return static_cast<T>(
                perform({.kind = Explorer::Kind::add, .object = location_, .order = order, .operand = bits(value)}));
        }
        T fetch_sub(T value, std::memory_order order) { return fetch_add(static_cast<T>(0 - bits(value)), order); }
        bool compare_exchange_weak(T &expected, T desired, std::memory_order order, std::memory_order failure) {
            auto const read = perform({.kind = Explorer::Kind::compare,
                                       .object = location_,
                                       .order = order,
                                       .failure = failure,
                                       .expected = bits(expected),
                                       .operand = bits(desired)});
            if (Explorer::instance().succeeded()) return true;
            expected = static_cast<T>(read);
            return false;
        }
    };

    class Mutex {
        int index_ = Explorer::instance().add_mutex();

      public:
        Mutex() = default;
        Mutex(Mutex const &) = delete;
        void lock() { Explorer::instance().perform({.kind = Explorer::Kind::lock, .object = index_}); }
        void unlock() { Explorer::instance().perform({.kind = Explorer::Kind::unlock, .object = index_}); }
        [[nodiscard]] int index() const noexcept { return index_; }
    };

    class Condition {
        int index_ = Explorer::instance().add_condition();

      public:
        Condition() = default;
        Condition(Condition const &) = delete;
        void wait(Mutex &mutex) {
            Explorer::instance().perform({.kind = Explorer::Kind::wait, .object = index_, .mutex = mutex.index()});
        }
        void notify_all() { Explorer::instance().perform({.kind = Explorer::Kind::notify, .object = index_}); }
    };

    static void keep_over_fork(Mutex &) noexcept {} // nothing forks here
    [[nodiscard]] static std::uintptr_t this_thread() noexcept {
        return static_cast<std::uintptr_t>(Explorer::instance().current() + 1);
    }
};

/// Memory that isn't atomic, and can be freed.
class Plain {
    int index_;

  public:
    Plain(std::uint64_t value, char const *name, bool alive = true)
        : index_(Explorer::instance().add_cell(value, name, alive)) {}
    Plain(Plain const &) = delete;

    [[nodiscard]] std::uint64_t read() const { return Explorer::instance().read_cell(index_); }
    void write(std::uint64_t value) { Explorer::instance().write_cell(index_, value, true, true); }
    void free() { Explorer::instance().write_cell(index_, 0, true, false); }
    void make(std::uint64_t value) { Explorer::instance().write_cell(index_, value, false, true); }
    /// For invariants: no access of a thread.
    [[nodiscard]] std::uint64_t value() const noexcept { return Explorer::instance().cell_value(index_); }
    [[nodiscard]] bool is_alive() const noexcept { return Explorer::instance().cell_alive(index_); }
};

} // namespace explorer

#endif // UFORM_TESTS_EXPLORER_SIMULATED_HPP
