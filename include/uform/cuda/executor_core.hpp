/// What an executor of one device owns and its arenas share: the context, a pool of memory, the first stream, and what
/// is used again and again: events and pinned staging.
#ifndef UFORM_CUDA_EXECUTOR_CORE_HPP
#define UFORM_CUDA_EXECUTOR_CORE_HPP

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include "uform/cuda/driver.hpp"
#include "uform/list.hpp"
#include "uform/placement.hpp"
#include "uform/status.hpp"

namespace uform::cuda {

/// What failed while memory or a handle was asked for: `out_of_memory`, or else `device`.
[[nodiscard]] inline Error memory_error(Driver const &driver, Code code, std::string_view what) noexcept {
    Error const error = error_of(driver, code, what);
    return code == Code::out_of_memory ? error : Error(Status::device, error.message());
}
/// What failed while work was queued or awaited: always `device`.
[[nodiscard]] inline Error work_error(Driver const &driver, Code code, std::string_view what) noexcept {
    return Error(Status::device, error_of(driver, code, what).message());
}

/// Nodes through their `next`, oldest first. Owns none of them; trivial to copy, and then one of the two is used.
template <class Node> struct NodeList {
    Node *first = nullptr, *last = nullptr;

    [[nodiscard]] bool empty() const noexcept { return !first; }
    void push(Node *node) noexcept {
        node->next = nullptr;
        (first ? last->next : first) = node;
        last = node;
    }
    /// Null where there is none.
    [[nodiscard]] Node *pop() noexcept {
        Node *const node = first;
        if (!node) return nullptr;
        first = std::exchange(node->next, nullptr);
        if (!first) last = nullptr;
        return node;
    }
    void append(NodeList &other) noexcept {
        if (other.empty()) return;
        (first ? last->next : first) = other.first;
        last = other.last;
        other = {};
    }
    [[nodiscard]] NodeList take() noexcept { return std::exchange(*this, NodeList()); }
};

/// An event that is used again and again, as `cuStreamWaitEvent` waits for what was recorded by then.
struct EventNode {
    Event event = nullptr;
    EventNode *next = nullptr;
};
/// A block of the pool's memory. A node, so that giving it back never needs memory.
struct DeviceAllocation {
    DevicePointer first = 0;
    std::size_t bytes = 0;
    DeviceAllocation *next = nullptr;
};
/// Pinned memory that copies to the host go through, in two halves: one is filled while the other is emptied.
struct Staging {
    static constexpr std::size_t half_bytes = std::size_t{512} << 10;

    std::byte *first = nullptr;
    EventNode *filled[2] = {};
    bool is_dirty = false; // a failed copy may still be writing it
    Staging *next = nullptr;
};

class CoreReference;

/// See the file's first line. Made by `open`, kept by `CoreReference`s: the executor's handles and its arenas.
///
/// Threads  any. A thread that drops the last reference ends it: that waits for nothing, unless a copy failed halfway.
/// Errors   in a forked child, where CUDA doesn't work, every call answers `device`, and the end does nothing.
/// Device   has not run on one yet; held by tests against a fake driver.
class ExecutorCore {
    Driver const &driver_;
    std::uint32_t ordinal_;
    Device device_ = 0;
    Context context_ = nullptr;
    Pool pool_ = nullptr;
    Stream first_ = nullptr;
    bool is_retained_ = false;
    pid_t const process_ = getpid();
    std::atomic<std::size_t> references_{1};

    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
    NodeList<EventNode> spare_events_;
    NodeList<Staging> spare_staging_;
    // Of arenas that are gone, where the driver refused to queue what must come before the free.
    NodeList<DeviceAllocation> parked_;
    NodeList<EventNode> parked_readers_;

    friend class CoreReference;
    friend class CoreEntry;

    ExecutorCore(Driver const &driver, std::uint32_t ordinal) noexcept : driver_(driver), ordinal_(ordinal) {}
    ~ExecutorCore();

    [[nodiscard]] Result<void> start() noexcept;
    Code give_back_everything() noexcept;
    [[nodiscard]] Result<Staging *> take_staging() noexcept;
    [[nodiscard]] Result<void> copy_through(Staging &, std::byte *to, DevicePointer from, std::size_t bytes) noexcept;
    [[nodiscard]] Result<void> copy_directly(void *to, DevicePointer from, std::size_t bytes) noexcept;

  public:
    ExecutorCore(ExecutorCore const &) = delete;
    ExecutorCore &operator=(ExecutorCore const &) = delete;

    /// Errors: `unsupported`, with the reason, where there is no driver, no such device, or none that has
    /// stream-ordered pools; `out_of_memory`; `device`.
    [[nodiscard]] static Result<CoreReference> open(std::uint32_t ordinal) noexcept;

    [[nodiscard]] Driver const &driver() const noexcept { return driver_; }
    [[nodiscard]] std::uint32_t ordinal() const noexcept { return ordinal_; }
    [[nodiscard]] Stream first_stream() const noexcept { return first_; }
    /// In a forked child nothing is touched but the caller's own memory: a lock may be held by a thread that isn't
    /// there.
    [[nodiscard]] bool is_of_this_process() const noexcept { return process_ == getpid(); }

    /// Guards the lists of this core, and those of its arenas' readers.
    class Lock {
        pthread_mutex_t &mutex_;

      public:
        explicit Lock(ExecutorCore &core) noexcept : mutex_(core.mutex_) { pthread_mutex_lock(&mutex_); }
        Lock(Lock const &) = delete;
        Lock &operator=(Lock const &) = delete;
        ~Lock() { pthread_mutex_unlock(&mutex_); }
    };

    // The functions from here to the next empty comment are called under a `CoreEntry`.

    /// An event that nobody else uses until `give_event`. Errors: `out_of_memory`, `device`.
    [[nodiscard]] Result<EventNode *> take_event() noexcept;
    /// Memory of the pool, usable in the first stream's order. Errors: `out_of_memory`, `device`.
    [[nodiscard]] Result<DeviceAllocation *> allocate(std::size_t bytes) noexcept;
    /// Makes the first stream wait for the events, and takes those off the list that it waits for. Errors: `device`.
    [[nodiscard]] Result<void> queue_behind(NodeList<EventNode> &readers) noexcept;
    /// Returns once all that was queued on the first stream is seen done. Errors: `device`.
    [[nodiscard]] Result<void> wait_for_first_stream(EventNode &event) noexcept;
    //

    void give_event(EventNode *event) noexcept {
        Lock const lock(*this);
        spare_events_.push(event);
    }
    /// Frees memory behind all that is queued on the first stream, and behind the readers. Waits for nothing. What
    /// can't be queued is tried again with the next one, and at the end.
    void retire(NodeList<DeviceAllocation> allocations, NodeList<EventNode> readers) noexcept;
    /// Copies device bytes to the host's in the first stream's order, and waits for them.
    /// Errors: `device`, `out_of_memory`. Memory: 1 MiB of pinned staging, once for each thread that copies at a time;
    /// none for pinned or managed destinations.
    [[nodiscard]] Result<void> copy_to_host(void *to, void const *from, std::size_t bytes) noexcept;
    /// Makes another stream wait for all that is queued on the first one. Errors: `device`, `out_of_memory`.
    [[nodiscard]] Result<void> order_after_first(Stream stream) noexcept;
    /// Gives the pool's free memory back to the driver, where no queued work uses it. `waits`: also what the first
    /// stream has yet to free.
    void trim_pool(bool waits) noexcept;
};

/// Under which every call into the driver is made: the executor's context is the thread's current one, and the thread's
/// own comes back after. Nothing may be called where it is false.
class [[nodiscard]] CoreEntry {
    std::optional<CurrentContext> current_;

  public:
    explicit CoreEntry(ExecutorCore const &core) noexcept {
        if (core.is_of_this_process()) current_.emplace(core.driver_, core.context_);
    }
    CoreEntry(CoreEntry const &) = delete;
    CoreEntry &operator=(CoreEntry const &) = delete;

    [[nodiscard]] Code code() const noexcept { return current_ ? current_->code() : Code::not_initialized; }
    [[nodiscard]] explicit operator bool() const noexcept { return code() == Code::success; }
    /// Why it is false.
    [[nodiscard]] Error error(ExecutorCore const &core) const noexcept {
        if (!current_) return Error::fixed(Status::device, "CUDA doesn't work in a forked child");
        return work_error(core.driver_, code(), "making the device's context current");
    }
};

/// Keeps a core alive. Two are equal if they keep the same one. Copies are cheap; from any thread.
class CoreReference {
    ExecutorCore *core_ = nullptr;

    friend class ExecutorCore;
    explicit CoreReference(ExecutorCore *counted) noexcept : core_(counted) {}

  public:
    CoreReference(CoreReference const &other) noexcept : core_(other.core_) {
        if (core_) core_->references_.fetch_add(1, std::memory_order_relaxed);
    }
    CoreReference(CoreReference &&other) noexcept : core_(std::exchange(other.core_, nullptr)) {}
    CoreReference &operator=(CoreReference other) noexcept {
        std::swap(core_, other.core_);
        return *this;
    }
    ~CoreReference() {
        if (core_ && core_->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete core_;
    }
    /// Not to be used where it was moved from.
    [[nodiscard]] ExecutorCore *operator->() const noexcept { return core_; }
    [[nodiscard]] ExecutorCore &operator*() const noexcept { return *core_; }
    [[nodiscard]] bool operator==(CoreReference const &other) const noexcept { return core_ == other.core_; }
};

inline Result<CoreReference> ExecutorCore::open(std::uint32_t ordinal) noexcept {
    auto const driver = open_driver();
    if (!driver) return driver.error();
    CoreReference core(new (std::nothrow) ExecutorCore(**driver, ordinal));
    if (!core.core_) return Error::fixed(Status::out_of_memory, "no memory for an executor");
    if (auto started = core->start(); !started) return started.error();
    return core;
}

inline Result<void> ExecutorCore::start() noexcept {
    if (Code code = driver_.init(0); code != Code::success) return error_of(driver_, code, "starting CUDA");
    int devices = 0, has_pools = 0;
    if (Code code = driver_.device_count(&devices); code != Code::success)
        return error_of(driver_, code, "counting the devices");
    if (devices < 0 || ordinal_ >= static_cast<unsigned>(devices))
        return Error::of(Status::unsupported, "there is no device ", ordinal_, ": the machine has ", devices);
    if (Code code = driver_.device_get(&device_, static_cast<int>(ordinal_)); code != Code::success)
        return error_of(driver_, code, "choosing the device");
    if (Code code = driver_.device_attribute(&has_pools, DeviceAttribute::memory_pools, device_); code != Code::success)
        return error_of(driver_, code, "asking for the device's memory pools");
    if (!has_pools) return Error::of(Status::unsupported, "device ", ordinal_, " has no stream-ordered memory pools");
    if (Code code = driver_.primary_retain(&context_, device_); code != Code::success)
        return error_of(driver_, code, "retaining the device's primary context");
    is_retained_ = true;
    CoreEntry const entry(*this);
    if (!entry) return entry.error(*this);
    PoolProperties properties;
    properties.location = device_;
    if (Code code = driver_.pool_create(&pool_, &properties); code != Code::success) {
        pool_ = nullptr;
        return error_of(driver_, code, "making a pool of device memory");
    }
    std::uint64_t everything = ~std::uint64_t{0}; // so that a steady loop never reaches the system
    if (Code code = driver_.pool_set(pool_, PoolAttribute::release_threshold, &everything); code != Code::success)
        return error_of(driver_, code, "setting what the pool keeps");
    if (Code code = driver_.stream_create(&first_, StreamFlags::non_blocking, 0); code != Code::success) {
        first_ = nullptr;
        return error_of(driver_, code, "making the first stream");
    }
    return {};
}

inline ExecutorCore::~ExecutorCore() {
    if (!is_of_this_process()) return;
    if (is_retained_) {
        Code code = Code::not_ready;
        // Twice, as what refuses may pass, such as a lack of host memory; the driver's end doesn't.
        for (int tries = 0; tries != 2 && code != Code::success && code != Code::deinitialized; ++tries) {
            CoreEntry const entry(*this);
            code = entry.code();
            if (entry) code = give_back_everything();
        }
        if (code != Code::deinitialized) static_cast<void>(driver_.primary_release(device_));
    }
    while (auto *node = spare_events_.pop()) delete node;
    while (auto *node = parked_readers_.pop()) delete node;
    while (auto *node = parked_.pop()) delete node;
    while (auto *node = spare_staging_.pop()) {
        for (auto *event : node->filled) delete event;
        delete node;
    }
}

/// An error of what gives something back is no reason to try again: it may be an earlier operation's, and the work is
/// done. The stream and the pool are the driver's to end once their work is done, so nothing is waited for. Answers
/// `deinitialized` where the driver is gone, and calls nothing more then.
inline Code ExecutorCore::give_back_everything() noexcept {
    bool is_gone = false;
    auto const call = [&](auto function) noexcept {
        Code const code = is_gone ? Code::deinitialized : function();
        is_gone = code == Code::deinitialized;
        return code == Code::success;
    };
    for (auto const *event = parked_readers_.first; event; event = event->next)
        (void)call([&] { return driver_.stream_wait(first_, event->event, EventWaitFlags::none); });
    for (auto const *block = parked_.first; block; block = block->next)
        (void)call([&] { return driver_.free(block->first, first_); });
    for (auto const *staging = spare_staging_.first; staging; staging = staging->next) {
        bool const is_done = !staging->is_dirty || call([&] { return driver_.stream_synchronize(first_); });
        if (is_done) (void)call([&] { return driver_.host_free(staging->first); });
        for (auto const *event : staging->filled) (void)call([&] { return driver_.event_destroy(event->event); });
    }
    for (auto const &list : {spare_events_, parked_readers_})
        for (auto const *event = list.first; event; event = event->next)
            (void)call([&] { return driver_.event_destroy(event->event); });
    if (first_) (void)call([&] { return driver_.stream_destroy(first_); });
    if (pool_) (void)call([&] { return driver_.pool_destroy(pool_); });
    return is_gone ? Code::deinitialized : Code::success;
}

inline Result<EventNode *> ExecutorCore::take_event() noexcept {
    {
        Lock const lock(*this);
        if (auto *event = spare_events_.pop()) return event;
    }
    auto *event = new (std::nothrow) EventNode;
    if (!event) return Error::fixed(Status::out_of_memory, "no memory for an event");
    Code const code = driver_.event_create(&event->event, EventFlags::disable_timing);
    if (code == Code::success) return event;
    delete event;
    return memory_error(driver_, code, "making an event");
}

inline Result<DeviceAllocation *> ExecutorCore::allocate(std::size_t bytes) noexcept {
    auto *block = new (std::nothrow) DeviceAllocation;
    if (!block) return Error::fixed(Status::out_of_memory, "no memory for a block's descriptor");
    block->bytes = bytes;
    Code const code = driver_.allocate(&block->first, bytes, pool_, first_);
    if (code == Code::success) return block;
    delete block;
    Error const error = memory_error(driver_, code, "allocating");
    return Error::of(error.status(), bytes, " bytes of outputs on device ", ordinal_, ": ", error.message());
}

inline Result<void> ExecutorCore::queue_behind(NodeList<EventNode> &readers) noexcept {
    while (!readers.empty()) {
        Code const code = driver_.stream_wait(first_, readers.first->event, EventWaitFlags::none);
        if (code != Code::success) return work_error(driver_, code, "waiting for a reader's stream");
        give_event(readers.pop());
    }
    return {};
}

inline Result<void> ExecutorCore::wait_for_first_stream(EventNode &event) noexcept {
    if (Code code = driver_.event_record(event.event, first_); code != Code::success)
        return work_error(driver_, code, "marking the end of a call");
    if (Code code = driver_.event_synchronize(event.event); code != Code::success)
        return work_error(driver_, code, "waiting for the first stream");
    return {};
}

inline void ExecutorCore::retire(NodeList<DeviceAllocation> allocations, NodeList<EventNode> readers) noexcept {
    if (!is_of_this_process()) return;
    {
        Lock const lock(*this);
        parked_.append(allocations), parked_readers_.append(readers);
        if (parked_.empty() && parked_readers_.empty()) return;
    }
    CoreEntry const entry(*this);
    if (!entry) return;
    {
        Lock const lock(*this);
        allocations = parked_.take(), readers = parked_readers_.take();
    }
    if (!queue_behind(readers)) {
        Lock const lock(*this);
        parked_.append(allocations), parked_readers_.append(readers);
        return;
    }
    while (auto *block = allocations.pop()) {
        static_cast<void>(driver_.free(block->first, first_)); // done also where it answers an earlier error
        delete block;
    }
}

inline Result<Staging *> ExecutorCore::take_staging() noexcept {
    {
        Lock const lock(*this);
        if (auto *staging = spare_staging_.pop()) return staging;
    }
    EventNode *events[2] = {};
    for (auto &event : events) {
        auto taken = take_event();
        if (!taken) {
            if (events[0]) give_event(events[0]);
            return taken.error();
        }
        event = *taken;
    }
    void *memory = nullptr;
    auto *staging = new (std::nothrow) Staging;
    Code const code = staging ? driver_.host_allocate(&memory, 2 * Staging::half_bytes, HostAllocationFlags::portable)
                              : Code::out_of_memory;
    if (code != Code::success) {
        delete staging;
        give_event(events[0]), give_event(events[1]);
        return memory_error(driver_, code, "allocating pinned memory");
    }
    staging->first = static_cast<std::byte *>(memory);
    staging->filled[0] = events[0], staging->filled[1] = events[1];
    return staging;
}

inline Result<void> ExecutorCore::copy_through(Staging &staging, std::byte *to, DevicePointer from,
                                               std::size_t bytes) noexcept {
    constexpr std::size_t half = Staging::half_bytes;
    staging.is_dirty = true; // until all that is queued here, and so what was before, is seen done
    std::size_t const parts = (bytes + half - 1) / half;
    auto const size_of = [&](std::size_t part) { return part + 1 == parts ? bytes - part * half : half; };
    for (std::size_t part = 0; part <= parts; ++part) {
        if (part != parts) {
            std::byte *const pinned = staging.first + part % 2 * half;
            if (Code code = driver_.copy_out(pinned, from + part * half, size_of(part), first_); code != Code::success)
                return work_error(driver_, code, "queueing a copy to the host");
            if (Code code = driver_.event_record(staging.filled[part % 2]->event, first_); code != Code::success)
                return work_error(driver_, code, "marking the end of a copy");
        }
        if (part == 0) continue;
        std::size_t const before = part - 1;
        if (Code code = driver_.event_synchronize(staging.filled[before % 2]->event); code != Code::success)
            return work_error(driver_, code, "waiting for a copy to the host");
        std::memcpy(to + before * half, staging.first + before % 2 * half, size_of(before));
    }
    staging.is_dirty = false;
    return {};
}

inline Result<void> ExecutorCore::copy_directly(void *to, DevicePointer from, std::size_t bytes) noexcept {
    auto const event = take_event();
    if (!event) return event.error();
    Result<void> done;
    if (Code code = driver_.copy_out(to, from, bytes, first_); code != Code::success) {
        done = work_error(driver_, code, "queueing a copy to the host");
    } else if (done = wait_for_first_stream(**event); !done) {
        static_cast<void>(driver_.stream_synchronize(first_)); // the caller's memory must not be written later
    }
    give_event(*event);
    return done;
}

inline Result<void> ExecutorCore::copy_to_host(void *to, void const *from, std::size_t bytes) noexcept {
    CoreEntry const entry(*this);
    if (!entry) return entry.error(*this);
    auto const source = static_cast<DevicePointer>(reinterpret_cast<std::uintptr_t>(from));
    Placement const target = classify(to);
    if (target.host_accessible && target.device_accessible && target.allocation_bytes &&
        bytes <= target.first + target.allocation_bytes - reinterpret_cast<std::uintptr_t>(to))
        return copy_directly(to, source, bytes);
    auto const staging = take_staging();
    if (!staging) return staging.error();
    auto done = copy_through(**staging, static_cast<std::byte *>(to), source, bytes);
    Lock const lock(*this);
    spare_staging_.push(*staging);
    return done;
}

inline Result<void> ExecutorCore::order_after_first(Stream stream) noexcept {
    CoreEntry const entry(*this);
    if (!entry) return entry.error(*this);
    auto const event = take_event();
    if (!event) return event.error();
    Result<void> done;
    if (Code code = driver_.event_record((*event)->event, first_); code != Code::success)
        done = work_error(driver_, code, "marking what the first stream has queued");
    else if (code = driver_.stream_wait(stream, (*event)->event, EventWaitFlags::none); code != Code::success)
        done = work_error(driver_, code, "making a stream wait for the first one");
    give_event(*event);
    return done;
}

inline void ExecutorCore::trim_pool(bool waits) noexcept {
    CoreEntry const entry(*this);
    if (!entry || (waits && driver_.stream_synchronize(first_) != Code::success)) return;
    static_cast<void>(driver_.pool_trim(pool_, 0));
}

} // namespace uform::cuda

#endif // UFORM_CUDA_EXECUTOR_CORE_HPP
