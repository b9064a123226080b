/// The state word that decides who may write an arena and which views are current, and the slots that words live in.
#ifndef UFORM_LEASE_HPP
#define UFORM_LEASE_HPP

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "uform/config.hpp"
#include "uform/status.hpp"

namespace uform {

/// What a lease's atomics, mutex and threads are. A checker of interleavings brings its own.
struct PosixPlatform {
    template <class T> using Atomic = std::atomic<T>;

    class Mutex {
        pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;

      public:
        void lock() noexcept { pthread_mutex_lock(&mutex_); }
        void unlock() noexcept { pthread_mutex_unlock(&mutex_); }
        pthread_mutex_t *native() noexcept { return &mutex_; }
    };
    class Condition {
        pthread_cond_t condition_ = PTHREAD_COND_INITIALIZER;

      public:
        void wait(Mutex &mutex) noexcept { pthread_cond_wait(&condition_, mutex.native()); }
        void notify_all() noexcept { pthread_cond_broadcast(&condition_); }
    };
    /// Keeps a mutex from being held by no thread in a forked child. Of one mutex: that of the process's slots.
    static void keep_over_fork(Mutex &mutex) noexcept {
        static Mutex *kept = nullptr;
        kept = &mutex;
        (void)pthread_atfork([] { kept->lock(); }, [] { kept->unlock(); }, [] { kept->unlock(); });
    }
    /// A number of the calling thread, never 0.
    [[nodiscard]] static std::uintptr_t this_thread() noexcept { return static_cast<std::uintptr_t>(pthread_self()); }
};

/// How a step of a lease ended.
enum class LeaseStep : std::uint8_t {
    done,
    closed,    ///< the arena was freed, or the epoch is another
    busy,      ///< another call has the arena, or it is being freed
    pinned,    ///< a reader holds the arena, or as many as can be counted
    exhausted, ///< the epochs are spent
};

/// Whether a lease may be reserved while readers hold pins.
enum class Readers : std::uint8_t { refused, allowed };

/// Whose call reserves a lease: the calling thread's, which `close` on that thread doesn't wait for, or a deferred one,
/// which no thread holds.
enum class Holder : std::uint8_t { this_thread, none };

/// One 64-bit word: epoch : 48 | pins : 12 | spare : 1 | waiting : 1 | state : 2.
///
/// States are idle, reserved, writing and closed. Views carry the epoch at which they were published, and are current
/// while the word has that epoch and is idle or reserved. Every change is a compare-exchange or another
/// read-modify-write, so that release sequences survive, and each step of a holder looks for `closed` first. Where a
/// step answers `true` for "last", the caller must free the storage and recycle the slot.
template <class Platform> class Lease {
  public:
    using Word = std::uint64_t;

    static constexpr Word idle = 0, reserved = 1, writing = 2, closed = 3, state_mask = 3;
    static constexpr Word waiting = Word{1} << 2;
    static constexpr Word one_pin = Word{1} << 4, pins_mask = Word{0xfff} << 4;
    static constexpr Word one_epoch = Word{1} << 16;
    static constexpr Word last_epoch = (Word{1} << 48) - 1;
    static constexpr Word most_pins = 4094; // one more is the holder's, if its own thread closes

    [[nodiscard]] static constexpr Word epoch_of(Word word) noexcept { return word >> 16; }
    [[nodiscard]] static constexpr Word pins_of(Word word) noexcept { return (word & pins_mask) >> 4; }
    [[nodiscard]] static constexpr Word state_of(Word word) noexcept { return word & state_mask; }

    /// Closed, without pins, at epoch 0: what `reopen` expects.
    Lease() noexcept = default;
    /// At any word, for tests of the limits.
    explicit Lease(Word word) noexcept : word_(word) {}

    /// idle → reserved. Commit, fail and close take an epoch each, so three must be left.
    LeaseStep reserve(Readers readers, Holder holder = Holder::this_thread) noexcept {
        Word now = word_.load(std::memory_order_relaxed);
        do {
            if (state_of(now) == closed) return LeaseStep::closed;
            if (state_of(now) != idle || (now & waiting)) return LeaseStep::busy;
            if (readers == Readers::refused && (now & pins_mask)) return LeaseStep::pinned;
            if (epoch_of(now) > last_epoch - 3) return LeaseStep::exhausted;
        } while (
            !word_.compare_exchange_weak(now, now + reserved, std::memory_order_acquire, std::memory_order_relaxed));
        if (holder == Holder::this_thread) holder_.store(Platform::this_thread(), std::memory_order_relaxed);
        return LeaseStep::done;
    }

    /// reserved → idle at the same epoch. Answers whether this was the last reference to a closed slot.
    [[nodiscard]] bool refuse() noexcept {
        Word before;
        return !end(reserved, 0, before) && unpin();
    }

    /// reserved → writing at the next epoch, unless a reader has come. Refused, it is still reserved.
    LeaseStep commit() noexcept {
        Word now = word_.load(std::memory_order_relaxed);
        do {
            if (state_of(now) == closed) return LeaseStep::closed;
            if (now & pins_mask) return LeaseStep::pinned;
        } while (!word_.compare_exchange_weak(now, now + one_epoch + (writing - reserved), std::memory_order_acquire,
                                              std::memory_order_relaxed));
        return LeaseStep::done;
    }

    /// writing → idle: views of this epoch are current, and `pinned` counts the caller as a reader of them.
    /// Where the slot was closed meanwhile, answers `closed`, and the caller still counts as a pin.
    LeaseStep publish(bool pinned, Word &epoch) noexcept {
        Word before;
        if (!end(writing, pinned ? one_pin : 0, before)) return LeaseStep::closed;
        epoch = epoch_of(before);
        return LeaseStep::done;
    }

    /// writing → idle at one more epoch, which no view has. Answers whether this was the last reference to a closed
    /// slot.
    [[nodiscard]] bool fail() noexcept {
        Word before;
        return !end(writing, one_epoch, before) && unpin();
    }

    /// Keeps the rows of `epoch` from being rewound. Checks and counts in one step, so nothing comes between.
    LeaseStep pin(Word epoch) noexcept {
        Word now = word_.load(std::memory_order_relaxed);
        do {
            if (epoch_of(now) != epoch || state_of(now) > reserved) return LeaseStep::closed;
            if (pins_of(now) >= most_pins) return LeaseStep::pinned;
        } while (
            !word_.compare_exchange_weak(now, now + one_pin, std::memory_order_acquire, std::memory_order_relaxed));
        return LeaseStep::done;
    }

    /// Answers whether this was the last pin of a closed slot.
    [[nodiscard]] bool unpin() noexcept {
        Word const before = word_.fetch_sub(one_pin, std::memory_order_acq_rel);
        return state_of(before) == closed && pins_of(before) == 1;
    }

    /// Whether rows of `epoch` may be read: one load and one compare.
    [[nodiscard]] bool is_current(Word epoch) const noexcept {
        Word const now = word_.load(std::memory_order_acquire);
        return ((now ^ epoch << 16) & ~(pins_mask | waiting | reserved | Word{8})) == 0; // state 0 or 1
    }

    /// Closes for good: waits for a call of another thread, never for readers. Answers whether the storage is to be
    /// freed.
    ///
    /// A call that the closing thread holds itself isn't waited for: it counts as a pin and is told `closed`.
    [[nodiscard]] bool close() noexcept {
        mutex_.lock();
        Word now = word_.load(std::memory_order_acquire); // so that `holder_` is no older than this word
        bool last = false;
        while (!close_from(now, last)) {
            if ((now & waiting) ||
                word_.compare_exchange_weak(now, now | waiting, std::memory_order_acquire, std::memory_order_acquire)) {
                ended_.wait(mutex_); // whoever ends the call takes the mutex before it notifies, so no wake-up is lost
                now = word_.load(std::memory_order_acquire);
            }
        }
        mutex_.unlock();
        return last;
    }

    /// As `close`, but answers `busy` where that would wait. `last`: set where it closed, to whether the storage is to
    /// be freed.
    [[nodiscard]] LeaseStep try_close(bool &last) noexcept {
        Word now = word_.load(std::memory_order_acquire);
        return close_from(now, last) ? LeaseStep::done : LeaseStep::busy;
    }

    /// Whether readers hold pins of an arena that wasn't freed. It may be otherwise by the time of the answer.
    [[nodiscard]] bool has_readers() const noexcept {
        Word const now = word_.load(std::memory_order_relaxed);
        return (now & pins_mask) && state_of(now) != closed;
    }

    /// Whether the storage may go to another owner with its slot, pins and all: `busy` while a call has it.
    [[nodiscard]] LeaseStep may_detach() const noexcept {
        Word const now = word_.load(std::memory_order_acquire);
        return state_of(now) == idle && !(now & waiting) ? LeaseStep::done : LeaseStep::busy;
    }

    /// closed → idle for a new arena, at the next epoch. Answers `false` where too few are left: the slot is retired.
    /// Only for a slot without pins, taken off the list of free ones.
    [[nodiscard]] bool reopen() noexcept {
        Word const now = word_.load(std::memory_order_acquire);
        if (epoch_of(now) > last_epoch - 4) return false; // this step takes one, and `reserve` wants three left
        word_.fetch_add(one_epoch - closed, std::memory_order_acq_rel);
        return true;
    }

    /// The word as it is, for tests and descriptions.
    [[nodiscard]] Word word() const noexcept { return word_.load(std::memory_order_acquire); }

  private:
    typename Platform::template Atomic<Word> word_{closed};
    typename Platform::template Atomic<std::uintptr_t> holder_{0}; // the thread whose call has the slot, or 0
    typename Platform::Mutex mutex_;
    typename Platform::Condition ended_;

    /// idle, or held by this thread → closed at the next epoch. Answers `false`, with the word as it is, while a call
    /// of another thread has it.
    [[nodiscard]] bool close_from(Word &now, bool &last) noexcept {
        for (;;) {
            bool const own =
                state_of(now) != idle && holder_.load(std::memory_order_relaxed) == Platform::this_thread();
            if (state_of(now) != idle && !own) return false;
            Word const next = ((now | closed) & ~waiting) + one_epoch + (own ? one_pin : 0);
            if (word_.compare_exchange_weak(now, next, std::memory_order_acq_rel, std::memory_order_acquire)) {
                last = (next & pins_mask) == 0;
                return true;
            }
        }
    }

    /// state → idle plus `more`, and wakes a closer. Answers `false`, with the word as it was, where the slot is
    /// closed.
    [[nodiscard]] bool end(Word state, Word more, Word &before) noexcept {
        holder_.store(0, std::memory_order_relaxed);
        before = word_.load(std::memory_order_relaxed);
        do {
            if (state_of(before) == closed) return false;
        } while (!word_.compare_exchange_weak(before, before - state + more, std::memory_order_release,
                                              std::memory_order_relaxed));
        if (before & waiting) {
            mutex_.lock();
            mutex_.unlock();
            ended_.notify_all(); // the slot may be another arena's by now: slots are never unmapped, and the wake is
                                 // spurious
        }
        return true;
    }
};

/// A lease with its arena's storage. Lives in a slab that is recycled and never unmapped, so that a view of a freed
/// arena can always be checked.
template <class Platform> struct alignas(64) BasicSlot {
    static constexpr std::size_t storage_bytes = 384;

    Lease<Platform> lease;
    std::uint64_t drafts = 0; // begun, by all arenas that had the slot, so that a place of another one is refused
    BasicSlot *next_free = nullptr;
    BasicSlot *older_slab = nullptr; // of the first slot of a slab: keeps every slab reachable
    void (*destroy_storage)(BasicSlot &) noexcept = nullptr;
    alignas(64) std::byte storage[storage_bytes];

    template <class Storage, class... Arguments> void construct(Arguments &&...arguments) noexcept {
        static_assert(sizeof(Storage) <= storage_bytes && alignof(Storage) <= 64);
        ::new (static_cast<void *>(storage)) Storage(static_cast<Arguments &&>(arguments)...);
        destroy_storage = [](BasicSlot &slot) noexcept { slot.template get<Storage>().~Storage(); };
    }
    template <class Storage> [[nodiscard]] Storage &get() noexcept {
        return *std::launder(reinterpret_cast<Storage *>(storage));
    }
};

/// All slots of the process: a list of free ones, and slabs that are kept to the end.
template <class Platform> class BasicSlots {
    using Slot = BasicSlot<Platform>;
    using Mutex = typename Platform::Mutex;

    Mutex mutex_;
    Slot *free_ = nullptr, *newest_slab_ = nullptr;
    static constexpr std::size_t slots_per_slab = 32;

    struct Guard {
        Mutex &mutex;
        explicit Guard(Mutex &m) noexcept : mutex(m) { mutex.lock(); }
        Guard(Guard const &) = delete;
        ~Guard() { mutex.unlock(); }
    };

  public:
    [[nodiscard]] static BasicSlots &instance() noexcept {
        alignas(
            BasicSlots) static std::byte memory[sizeof(BasicSlots)]; // never destroyed: views may be checked at exit
        static BasicSlots *const slots = [] {
            auto *made = ::new (static_cast<void *>(memory)) BasicSlots;
            Platform::keep_over_fork(made->mutex_);
            return made;
        }();
        return *slots;
    }

    /// A slot open for a new arena, or null where there is no memory. Threads: any.
    [[nodiscard]] Slot *take() noexcept {
        Guard const guard(mutex_);
        for (;;) {
            if (!free_) {
                void *slab = std::aligned_alloc(alignof(Slot), sizeof(Slot) * slots_per_slab);
                if (!slab) return nullptr;
                auto *slots = static_cast<Slot *>(slab);
                for (std::size_t i = slots_per_slab; i-- != 0;) {
                    ::new (static_cast<void *>(slots + i)) Slot;
                    slots[i].next_free = free_, free_ = slots + i;
                }
                slots->older_slab = newest_slab_, newest_slab_ = slots;
            }
            Slot *slot = free_;
            free_ = slot->next_free;
            if (slot->lease.reopen()) return slot;
        }
    }

    /// Frees the storage of a closed slot without pins, then puts it on the list. Threads: any.
    void recycle(Slot &slot) noexcept {
        slot.destroy_storage(slot);
        Guard const guard(mutex_);
        slot.next_free = free_, free_ = &slot;
    }
};

/// The slots that arenas use.
using Slot = BasicSlot<PosixPlatform>;
using Slots = BasicSlots<PosixPlatform>;

} // namespace uform

#endif // UFORM_LEASE_HPP
