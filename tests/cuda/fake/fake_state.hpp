/// What the fake driver keeps: streams and their threads, memory, what is ordered after what, and what was violated.
///
/// Device memory is one memory file mapped twice: the addresses that are handed out allow no access, and the fake's own
/// copies and kernels work through a second, writable mapping of the same pages. Each stream is a queue and a thread.
/// Vector clocks over the streams and the host say what is ordered after what; all of the host's threads are one there.
#ifndef UFORM_TESTS_CUDA_FAKE_FAKE_STATE_HPP
#define UFORM_TESTS_CUDA_FAKE_FAKE_STATE_HPP

#include <chrono>
#include <condition_variable>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "fake_driver.hpp"
#include "uform/config.hpp"
#include "uform/cuda/driver.hpp"

#if UFORM_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace fake_driver {

using uform::cuda::Code, uform::cuda::Context, uform::cuda::DeviceAttribute, uform::cuda::Driver, uform::cuda::Event,
    uform::cuda::Pool, uform::cuda::Stream, uform::cuda::ContextTag, uform::cuda::StreamTag, uform::cuda::EventTag,
    uform::cuda::PoolTag;

/// How many operations of each stream are known to be done.
using Clock = std::map<int, std::uint64_t>;
inline void merge(Clock &into, Clock const &other) {
    for (auto const &[stream, number] : other)
        if (into[stream] < number) into[stream] = number;
}
/// The `number`-th operation of a stream; 0 is before all.
struct Stamp {
    int stream = 0;
    std::uint64_t number = 0;
};
inline bool covers(Clock const &clock, Stamp stamp) {
    auto const at = clock.find(stamp.stream);
    return stamp.number == 0 || (at != clock.end() && at->second >= stamp.number);
}

} // namespace fake_driver

struct uform::cuda::ContextTag {
    int device = 0;
    long retained = 0;
};
struct uform::cuda::StreamTag {
    int id = 0, device = 0;
    bool alive = true, stop = false, kicked = false;
    std::uint64_t queued = 0, done = 0;
    fake_driver::Clock clock;
    struct Operation {
        std::function<void()> run;
        bool forbidden = false; ///< it is a violation, so it takes its turn and does nothing
    };
    std::deque<Operation> work;
    std::thread thread;
};
struct uform::cuda::EventTag {
    int device = 0, stream = 0;
    bool alive = true;
    std::uint64_t number = 0; ///< of the stream's operations that it stands behind; 0: never recorded, so it is done
    fake_driver::Clock clock;
};
struct uform::cuda::PoolTag {
    int device = 0;
    bool alive = true;
};

namespace fake_driver {

inline constexpr std::size_t function_count = 36;
constexpr std::size_t number_of(std::string_view name) {
    std::size_t number = 0;
    bool const missing = Driver::each([&](auto, std::string_view symbol) { return symbol != name && ++number; });
    return missing ? function_count : number;
}
static_assert(number_of("cuLaunchKernel") == function_count - 1 && number_of("nothing") == function_count);

/// Bytes that an operation read or wrote.
struct Use {
    Stamp stamp;
    std::uint64_t first, last;
};
struct Allocation {
    std::uint64_t first = 0, bytes = 0;
    int device = 0;
    Stamp birth;
    std::vector<Use> writes, reads;
};
using Allocations = std::map<std::uint64_t, Allocation>;
/// A range that was freed: reused at once by whoever is ordered after its end.
struct Hole {
    std::uint64_t bytes = 0;
    Stamp death;
};
struct Registration {
    std::size_t bytes;
    Registered kind;
};
struct Failure {
    long number = -1;
    Code code = Code::success;
    bool forever = false;
    std::size_t function = function_count; ///< `function_count` is any
};

inline constexpr std::uint64_t device_bytes = std::uint64_t{4} << 30; // addresses: what is touched takes memory
inline constexpr std::uint64_t grain = 4096;
inline constexpr int most_devices = 8;
inline constexpr std::size_t most_violations = 64;

/// Everything but the threads' own. Guarded by the mutex; operations run outside it.
struct State {
    std::mutex mutex;
    std::condition_variable changed;

    // what a test sets
    int devices = 1;
    Mode mode = Mode::eager;
    unsigned delay_microseconds = 0;
    std::uint64_t memory_limit = std::uint64_t{1} << 30;
    std::map<DeviceAttribute, int> attributes;
    std::map<std::uint64_t, Registration> registered;
    Failure failure;
    long failing_kernel = -1;
    Code sticky = Code::success;

    // what it asks
    long calls[function_count] = {}, failures = 0, launches = 0, matching_calls = 0;
    std::size_t failed_function = function_count, violations = 0;
    std::vector<std::string> violation_texts;

    bool initialized = false;
    ContextTag contexts[most_devices];
    std::vector<std::unique_ptr<StreamTag>> streams{1}; // by their id; handles are never used twice
    std::vector<std::unique_ptr<EventTag>> events;
    std::vector<std::unique_ptr<PoolTag>> pools;
    std::set<void const *> known_streams, known_events, known_pools;
    Allocations live, pinned;
    std::map<std::uint64_t, Hole> holes;
    std::uint64_t live_bytes = 0, top = 0;
    Clock host_clock;

    std::uint64_t device_first = 0;
    char *writable = nullptr;
};
// Never destroyed: streams' threads may run while the process ends.
inline State &state() {
    static State *const made = new State;
    return *made;
}

inline thread_local std::vector<Context> context_stack;
inline thread_local bool is_stream_thread = false;

[[gnu::format(printf, 1, 2)]] inline void violation(char const *format, ...) { // under the mutex
    State &s = state();
    ++s.violations;
    if (s.violation_texts.size() == most_violations) return;
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    s.violation_texts.emplace_back(text);
}

inline char const *symbol_of(std::size_t function) {
    char const *name = "";
    static_cast<void>(Driver::each([&](auto, char const *symbol) {
        name = symbol;
        return function-- != 0;
    }));
    return name;
}

/// Every call passes here: it counts, answers injected failures and sticky errors, and holds the mutex.
enum class Kind {
    free_of_context,
    in_context,
    gives_back,                ///< in a context, and done also where it answers a failure
    gives_back_without_context ///< the same, outside
};
struct Entry {
    std::unique_lock<std::mutex> lock{state().mutex};
    char const *name;
    Code code = Code::success;
    bool act = true; ///< whether the call does its work

    template <std::size_t function> static Entry of(Kind kind) {
        static_assert(function < function_count, "no function of the table");
        return Entry(function, kind);
    }

  private:
    Entry(std::size_t function, Kind kind) : name(symbol_of(function)) {
        State &s = state();
        ++s.calls[function];
        if (is_stream_thread) violation("%s: called from a stream's own thread", name);
        bool const gives_back = kind == Kind::gives_back || kind == Kind::gives_back_without_context;
        constexpr std::size_t error_name = number_of("cuGetErrorName");
        if (function == error_name && s.failure.function != error_name) return;

        bool injected = false;
        if (s.failure.number >= 0 && (s.failure.function == function_count || s.failure.function == function)) {
            long const number = s.matching_calls++;
            injected = number == s.failure.number || (s.failure.forever && number > s.failure.number);
        }
        if (s.sticky != Code::success) {
            code = s.sticky, act = gives_back && s.sticky != Code::deinitialized;
        } else if (injected) {
            code = s.failure.code, act = gives_back;
            ++s.failures, s.failed_function = function;
        } else if (!s.initialized && function != number_of("cuInit") && function != error_name &&
                   function != number_of("cuDriverGetVersion")) {
            code = Code::not_initialized, act = false;
        }
        bool const in_context = kind == Kind::in_context || kind == Kind::gives_back;
        if (in_context && context_stack.empty() && code == Code::success) {
            violation("%s: called without a current context", name);
            code = Code::invalid_context, act = false;
        }
    }
};

/// A handle that is alive and of the current context's device; anything else is a violation.
template <class Tag> bool good(Entry &entry, std::set<void const *> const &known, Tag *handle, char const *what) {
    char const *wrong = nullptr;
    if (!handle) wrong = "null";
    else if (!known.count(handle)) wrong = "unknown";
    else if (!handle->alive) wrong = "destroyed";
    else if (!context_stack.empty() && context_stack.back()->device != handle->device) wrong = "another device's";
    if (!wrong) return true;
    violation("%s: the %s is %s", entry.name, what, wrong);
    entry.code = Code::invalid_handle, entry.act = false;
    return false;
}
inline bool good(Entry &entry, Stream stream) { return good(entry, state().known_streams, stream, "stream"); }
inline bool good(Entry &entry, Event event) { return good(entry, state().known_events, event, "event"); }
inline bool good(Entry &entry, Pool pool) { return good(entry, state().known_pools, pool, "pool"); }

inline bool is_device_address(std::uint64_t address) {
    State const &s = state();
    return s.writable && address - s.device_first < device_bytes;
}
inline char *writable(std::uint64_t address) { return state().writable + (address - state().device_first); }

inline Allocations::iterator find(Allocations &in, std::uint64_t address) {
    auto at = in.upper_bound(address);
    if (at == in.begin()) return in.end();
    --at;
    return address - at->first < at->second.bytes ? at : in.end();
}

/// Puts an operation behind what its stream has, and answers its stamp. Under the mutex.
inline Stamp queue(Stream stream, std::function<void()> operation) {
    State &s = state();
    merge(stream->clock, s.host_clock);
    Stamp const now{stream->id, ++stream->queued};
    stream->clock[stream->id] = now.number;
    stream->work.push_back({std::move(operation)});
    s.changed.notify_all();
    return now;
}

/// The operation queued last is a violation. It hasn't started, as the mutex is held since it was queued.
template <class... Parts> void forbid(Stream stream, char const *format, Parts... parts) {
    violation(format, parts...);
    stream->work.back().forbidden = true;
}

/// Holds that the stream is ordered after the uses that this one may not overtake, and notes it.
inline void touch(Stream stream, Stamp now, Allocation &allocation, std::uint64_t first, std::uint64_t last,
                  bool writes, char const *name) {
    if (last > allocation.first + allocation.bytes)
        forbid(stream, "%s: past the end of %s", name, is_device_address(first) ? "an allocation" : "pinned memory");
    auto const overlaps = [&](Use const &use) { return use.first < last && first < use.last; };
    if (!covers(stream->clock, allocation.birth))
        forbid(stream, "%s: on a stream that isn't ordered after the allocation", name);
    for (Use const &use : allocation.writes)
        if (overlaps(use) && !covers(stream->clock, use.stamp)) {
            forbid(stream, "%s: not ordered after a write on another stream", name);
            break;
        }
    if (writes)
        for (Use const &use : allocation.reads)
            if (overlaps(use) && !covers(stream->clock, use.stamp)) {
                forbid(stream, "%s: overwrites what another stream may still read", name);
                break;
            }
    auto const is_replaced = [&](Use const &use) {
        return use.first >= first && use.last <= last && covers(stream->clock, use.stamp);
    };
    std::erase_if(allocation.reads, is_replaced);
    if (writes) std::erase_if(allocation.writes, is_replaced);
    (writes ? allocation.writes : allocation.reads).push_back({now, first, last});
}
/// The same for an address of device memory.
inline constexpr std::uint64_t to_the_end = ~std::uint64_t{0};
inline void touch_device(Stream stream, Stamp now, std::uint64_t address, std::uint64_t bytes, bool writes,
                         char const *name) {
    State &s = state();
    auto const at = find(s.live, address);
    if (at == s.live.end()) return forbid(stream, "%s: a device address that isn't allocated, or was freed", name);
    if (at->second.device != stream->device) forbid(stream, "%s: memory of another device", name);
    touch(stream, now, at->second, address, bytes != to_the_end ? address + bytes : at->first + at->second.bytes,
          writes, name);
}

inline void work_off(Stream stream) {
    State &s = state();
    is_stream_thread = true;
    std::unique_lock lock(s.mutex);
    for (;;) {
        s.changed.wait(
            lock, [&] { return stream->stop || (!stream->work.empty() && (s.mode != Mode::lazy || stream->kicked)); });
        if (stream->work.empty()) return;
        auto const operation = std::move(stream->work.front());
        stream->work.pop_front();
        unsigned const delay = s.mode == Mode::slow ? s.delay_microseconds : 0;
        bool const runs = !operation.forbidden && s.sticky == Code::success;
        lock.unlock();
        if (delay) std::this_thread::sleep_for(std::chrono::microseconds(delay));
        if (runs) operation.run();
        lock.lock();
        ++stream->done;
        if (stream->work.empty()) stream->kicked = false;
        s.changed.notify_all();
    }
}
/// Somebody waits or asks: what was queued so far may run, also where it is lazy.
inline void kick() {
    State &s = state();
    for (auto const &stream : s.streams)
        if (stream && !stream->work.empty()) stream->kicked = true;
    s.changed.notify_all();
}
inline bool is_done(Stamp stamp) {
    return state().streams[static_cast<std::size_t>(stamp.stream)]->done >= stamp.number;
}
inline void wait_for(std::unique_lock<std::mutex> &lock, Stamp stamp) {
    if (!stamp.number) return;
    kick();
    state().changed.wait(lock, [&] { return is_done(stamp); });
}

inline void poison([[maybe_unused]] void *first, [[maybe_unused]] std::size_t bytes) {
#if UFORM_ADDRESS_SANITIZER
    __asan_poison_memory_region(first, bytes);
#endif
}
inline void unpoison([[maybe_unused]] void *first, [[maybe_unused]] std::size_t bytes) {
#if UFORM_ADDRESS_SANITIZER
    __asan_unpoison_memory_region(first, bytes);
#endif
}
/// A page of nothing follows each allocation, for what is written past its end.
inline std::uint64_t with_guard(std::uint64_t bytes) { return (bytes + grain - 1) / grain * grain + grain; }

/// The two mappings, at the first start.
inline bool map_device_memory() {
    State &s = state();
    if (s.writable) return true;
    int const file = ::memfd_create("device memory", MFD_CLOEXEC);
    if (file < 0 || ::ftruncate(file, static_cast<off_t>(device_bytes))) {
        if (file >= 0) ::close(file);
        return false;
    }
    void *const hidden = ::mmap(nullptr, device_bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE, file, 0);
    void *const open = ::mmap(nullptr, device_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    ::close(file);
    if (hidden == MAP_FAILED || open == MAP_FAILED) return false;
    s.device_first = s.top = reinterpret_cast<std::uint64_t>(hidden);
    s.writable = static_cast<char *>(open);
    return true;
}

/// The pinned memory that a copy's host side lies in; null, and a violation, where it isn't the fake's.
inline Allocation *pinned_side(Entry const &entry, void const *host, char const *which) {
    State &s = state();
    auto const address = reinterpret_cast<std::uint64_t>(host);
    if (auto const at = find(s.pinned, address); at != s.pinned.end()) return &at->second;
    for (auto const &[first, about] : s.registered)
        if (about.kind != Registered::no && address - first < about.bytes) return nullptr;
    violation("%s: the %s isn't pinned, so the call is not asynchronous", entry.name, which);
    return nullptr;
}
inline bool is_all(char const *bytes, std::uint64_t count, char value) {
    for (std::uint64_t i = 0; i < count; ++i)
        if (bytes[i] != value) return false;
    return true;
}

/// Stops a stream's thread after its work.
inline void end_stream(std::unique_lock<std::mutex> &lock, Stream stream) {
    kick();
    stream->alive = false, stream->stop = true;
    state().changed.notify_all();
    lock.unlock();
    stream->thread.join();
    lock.lock();
}

} // namespace fake_driver

#endif // UFORM_TESTS_CUDA_FAKE_FAKE_STATE_HPP
