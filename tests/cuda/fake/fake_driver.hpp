/// The controls of the fake `libcuda.so.1`: what a test may set, and what it may ask afterwards.
///
/// Device memory is host memory that the host can't reach by its device address: a read or write there is SIGSEGV at
/// the byte. Copies, fills and `HostKernel`s run in stream order, each stream on a thread of its own. What the host may
/// not know to be wrong, the fake counts as a violation, with words: a use before the allocation is ordered, after the
/// free, of what another stream may still write, or over what another may still read; a write past an allocation's end;
/// a queued copy's source that changed before the copy ran; host memory that isn't pinned in an "asynchronous" copy;
/// pinned memory freed under a copy; a call without a current context, under another device's, or from a kernel; the
/// default stream; handles that are unknown or destroyed; a context given up with something left in it. An operation
/// that is out of order, or past an end, takes its turn and does nothing, so that sanitizers see the test's own faults
/// alone. Freed and fresh device memory is full of 0xFF, and is handed out again as soon as the order allows it.
#ifndef UFORM_TESTS_CUDA_FAKE_FAKE_DRIVER_HPP
#define UFORM_TESTS_CUDA_FAKE_FAKE_DRIVER_HPP

#include <cstddef>
#include <cstdint>

#include <dlfcn.h>

#include "uform/cuda/driver.hpp"

namespace fake_driver {

/// When a stream's work runs.
enum class Mode {
    eager, ///< as soon as it can
    slow,  ///< as `eager`, after a delay before each operation
    lazy,  ///< only once somebody waits for, or asks about, a stream or an event
};

/// What the host's bytes are registered as, for `cuPointerGetAttributes`.
enum class Registered { no, pinned, managed };

/// What is alive, over all devices.
struct Live {
    std::size_t allocations = 0, bytes = 0;           ///< device memory
    std::size_t host_allocations = 0, host_bytes = 0; ///< pinned memory
    std::size_t streams = 0, events = 0, pools = 0;   ///< handles
    std::size_t contexts = 0;                         ///< primary contexts retained, counted as often

    bool operator==(Live const &) const = default;
};

/// Functions of the opened fake. Threads: any. A function is named by its symbol, `"cuMemFreeAsync"`; null is any.
struct Controls {
    /// As if the process had just loaded it: all handles and memory are gone, everything below is as it was at first.
    /// To be called when no object uses the driver any more, and no other thread has a current context.
    void (*reset)();

    void (*set_devices)(int count);                           ///< 0 to 8; 1 at first
    void (*set_mode)(Mode, unsigned delay_microseconds);      ///< `eager` at first
    void (*set_memory_limit)(std::size_t bytes);              ///< of device memory, over all devices; 1 GiB at first
    void (*set_attribute)(uform::cuda::DeviceAttribute, int); ///< of every device
    void (*register_host)(void const *, std::size_t bytes, Registered);

    /// The call with this number, counted from now on from 0 over the calls of `function`, answers `code`; with
    /// `forever` every such call after it too. A call that fails does nothing, but for those that give something back
    /// (destroy, free, release, pop): they have done their work, as the error may be an earlier operation's, and a
    /// second try would be a violation. `function` null counts all but `cuGetErrorName`.
    void (*fail_call)(long number, uform::cuda::Code code, bool forever, char const *function);
    void (*fail_none)();
    long (*failures)();                    ///< calls that failed by `fail_call`, since it was set
    char const *(*failed_function)();      ///< the last of them; "" if none
    void (*fail_kernel)(long number);      ///< the launch with this number from now on faults as it runs:
                                           ///< from then on everything answers 700, and nothing runs
    void (*set_sticky)(uform::cuda::Code); ///< every call's answer from now on; `deinitialized` for the exit

    long (*calls)(char const *function); ///< since the start or reset

    std::size_t (*violations)();
    void (*violation)(std::size_t index, char *text, std::size_t bytes); ///< its words; the first 64 are kept
    void (*forget_violations)();

    Live (*live)();
    /// The bytes of device memory, for a look from the test without the driver; null for an address that isn't
    /// allocated. Whoever looks sees to it that nothing runs.
    void *(*look)(uform::cuda::DevicePointer);
};

/// The controls, or null where `libcuda.so.1` isn't there or isn't the fake. Loads it.
[[nodiscard]] inline Controls const *controls() noexcept {
    void *const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return nullptr;
    auto const get = reinterpret_cast<Controls const *(*)()>(::dlsym(library, "fake_driver_controls"));
    return get ? get() : nullptr;
}

} // namespace fake_driver

#endif // UFORM_TESTS_CUDA_FAKE_FAKE_DRIVER_HPP
