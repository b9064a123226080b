/// The CUDA driver's functions by name, opened at run time: no header of CUDA's, no link flag, any host compiler.
///
/// A function's name carries the version of its ABI (`cuStreamDestroy_v2`), so the name pins the signature.
/// `tests/cuda/driver_abi.cpp` holds every signature, constant and structure below against `cuda.h`.
#ifndef UFORM_CUDA_DRIVER_HPP
#define UFORM_CUDA_DRIVER_HPP

#include <cstddef>
#include <cstdint>
#include <cstdio> // snprintf
#include <string_view>

#include <dlfcn.h>

#include "uform/status.hpp"

namespace uform::cuda {

/// What the driver answers (`CUresult`). It may be a number without a name here: ask `Driver::error_name`.
// clang-format off
enum class [[nodiscard]] Code : int {
    success = 0,
    invalid_value = 1,
    out_of_memory = 2,
    not_initialized = 3,
    deinitialized = 4, ///< the driver is going away with the process: end all work, call nothing more
    stub_library = 34, ///< the toolkit's stand-in for a driver was loaded
    no_device = 100,
    invalid_device = 101,
    invalid_context = 201,
    invalid_handle = 400,
    not_ready = 600,       ///< no failure: work before the event still runs
    illegal_address = 700, ///< and from here on sticky: every later call answers it
    launch_failed = 719,
    not_supported = 801,
};
// clang-format on

using Device = int;                  ///< `CUdevice`
using DevicePointer = std::uint64_t; ///< `CUdeviceptr`: an address, which the host may not follow
struct ContextTag;
struct StreamTag;
struct EventTag;
struct PoolTag;
struct FunctionTag;
using Context = ContextTag *;   ///< `CUcontext`
using Stream = StreamTag *;     ///< `CUstream`
using Event = EventTag *;       ///< `CUevent`
using Pool = PoolTag *;         ///< `CUmemoryPool`
using Function = FunctionTag *; ///< `CUfunction`, or the `CUkernel` that `cudaGetKernel` answers

/// `CUdevice_attribute`
enum class DeviceAttribute : int {
    multiprocessors = 16,
    compute_major = 75,
    compute_minor = 76,
    pageable_memory_access = 88,
    most_shared_bytes_per_block = 97, ///< what a kernel may ask for by `FunctionAttribute::dynamic_shared_bytes`
    memory_pools = 115,
};
/// `CUpointer_attribute`; see `placement.hpp` for the type of each value.
enum class PointerAttribute : int {
    memory_type = 2,
    is_managed = 8,
    device_ordinal = 9,
    range_start = 11,
    range_size = 12,
};
/// `CUmemPool_attribute`
enum class PoolAttribute : int {
    release_threshold = 4, ///< bytes (`std::uint64_t`) that the pool keeps when a stream is synchronised
};
/// `CUfunction_attribute`
enum class FunctionAttribute : int { dynamic_shared_bytes = 8 };
/// `CUstream_flags`
enum class StreamFlags : unsigned { non_blocking = 1 };
/// `CUevent_flags`
enum class EventFlags : unsigned { disable_timing = 2 };
/// `CUevent_wait_flags`
enum class EventWaitFlags : unsigned { none = 0 };
/// `CU_MEMHOSTALLOC_…`
enum class HostAllocationFlags : unsigned { portable = 1 };

/// `CUmemPoolProps`: pinned memory of one device that no other process sees.
struct PoolProperties {
    int allocation_type = 1; ///< `CU_MEM_ALLOCATION_TYPE_PINNED`
    int handle_types = 0;
    int location_type = 1; ///< `CU_MEM_LOCATION_TYPE_DEVICE`
    int location = 0;      ///< the device
    void *security_attributes = nullptr;
    std::size_t most_bytes = 0; ///< 0: the driver's own limit
    unsigned short usage = 0;
    unsigned char reserved[54] = {};
};

/// The functions. What a call needs, does and answers is NVIDIA's "CUDA Driver API"; what we add is one rule: all but
/// those of the first group are called under a `CurrentContext`.
///
/// A trivial type, so that it works until the process has ended. Threads: any.
struct Driver {
    Code (*init)(unsigned flags);
    Code (*driver_version)(int *version);
    Code (*error_name)(Code, char const **name);
    Code (*device_count)(int *count);
    Code (*device_get)(Device *, int ordinal);
    Code (*device_attribute)(int *value, DeviceAttribute, Device);
    Code (*primary_retain)(Context *, Device);
    Code (*primary_release)(Device);
    Code (*primary_state)(Device, unsigned *flags, int *active);
    Code (*context_push)(Context);
    Code (*context_pop)(Context *popped);
    Code (*context_current)(Context *);

    Code (*stream_create)(Stream *, StreamFlags, int priority);
    Code (*stream_destroy)(Stream);
    Code (*stream_synchronize)(Stream);
    Code (*stream_wait)(Stream, Event, EventWaitFlags);
    Code (*event_create)(Event *, EventFlags);
    Code (*event_destroy)(Event);
    Code (*event_record)(Event, Stream);
    Code (*event_query)(Event);
    Code (*event_synchronize)(Event);

    Code (*pool_create)(Pool *, PoolProperties const *);
    Code (*pool_destroy)(Pool);
    Code (*pool_set)(Pool, PoolAttribute, void *value);
    Code (*pool_trim)(Pool, std::size_t bytes_kept);
    Code (*allocate)(DevicePointer *, std::size_t bytes, Pool, Stream);
    Code (*free)(DevicePointer, Stream);
    Code (*host_allocate)(void **, std::size_t bytes, HostAllocationFlags);
    Code (*host_free)(void *);

    Code (*copy_in)(DevicePointer to, void const *from, std::size_t bytes, Stream);
    Code (*copy_out)(void *to, DevicePointer from, std::size_t bytes, Stream);
    Code (*copy_within)(DevicePointer to, DevicePointer from, std::size_t bytes, Stream);
    Code (*fill)(DevicePointer to, unsigned char value, std::size_t bytes, Stream);
    Code (*pointer_attributes)(unsigned count, PointerAttribute *names, void **values, DevicePointer);

    Code (*kernel_set)(FunctionAttribute, int value, Function, Device);
    Code (*launch)(Function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                   unsigned block_z, unsigned shared_bytes, Stream, void **parameters, void **extra);

    /// Calls `visit(&Driver::member, "symbol")` for each function until one answers false, and answers that.
    template <class Visit> [[nodiscard]] static constexpr bool each(Visit &&visit) {
        return visit(&Driver::init, "cuInit") && visit(&Driver::driver_version, "cuDriverGetVersion") &&
               visit(&Driver::error_name, "cuGetErrorName") && visit(&Driver::device_count, "cuDeviceGetCount") &&
               visit(&Driver::device_get, "cuDeviceGet") && visit(&Driver::device_attribute, "cuDeviceGetAttribute") &&
               visit(&Driver::primary_retain, "cuDevicePrimaryCtxRetain") &&
               visit(&Driver::primary_release, "cuDevicePrimaryCtxRelease_v2") &&
               visit(&Driver::primary_state, "cuDevicePrimaryCtxGetState") &&
               visit(&Driver::context_push, "cuCtxPushCurrent_v2") &&
               visit(&Driver::context_pop, "cuCtxPopCurrent_v2") &&
               visit(&Driver::context_current, "cuCtxGetCurrent") &&
               visit(&Driver::stream_create, "cuStreamCreateWithPriority") &&
               visit(&Driver::stream_destroy, "cuStreamDestroy_v2") &&
               visit(&Driver::stream_synchronize, "cuStreamSynchronize") &&
               visit(&Driver::stream_wait, "cuStreamWaitEvent") && visit(&Driver::event_create, "cuEventCreate") &&
               visit(&Driver::event_destroy, "cuEventDestroy_v2") && visit(&Driver::event_record, "cuEventRecord") &&
               visit(&Driver::event_query, "cuEventQuery") && visit(&Driver::event_synchronize, "cuEventSynchronize") &&
               visit(&Driver::pool_create, "cuMemPoolCreate") && visit(&Driver::pool_destroy, "cuMemPoolDestroy") &&
               visit(&Driver::pool_set, "cuMemPoolSetAttribute") && visit(&Driver::pool_trim, "cuMemPoolTrimTo") &&
               visit(&Driver::allocate, "cuMemAllocFromPoolAsync") && visit(&Driver::free, "cuMemFreeAsync") &&
               visit(&Driver::host_allocate, "cuMemHostAlloc") && visit(&Driver::host_free, "cuMemFreeHost") &&
               visit(&Driver::copy_in, "cuMemcpyHtoDAsync_v2") && visit(&Driver::copy_out, "cuMemcpyDtoHAsync_v2") &&
               visit(&Driver::copy_within, "cuMemcpyDtoDAsync_v2") && visit(&Driver::fill, "cuMemsetD8Async") &&
               visit(&Driver::pointer_attributes, "cuPointerGetAttributes") &&
               visit(&Driver::kernel_set, "cuKernelSetAttribute") && visit(&Driver::launch, "cuLaunchKernel");
    }
};

/// What opening the driver came to; made once a process, and nothing of it is ever destroyed or closed.
struct OpenedDriver {
    Driver driver = {};
    char const *missing = nullptr; ///< the function that the library lacks
    char reason[256] = {};         ///< the loader's words where there is no library

    OpenedDriver() noexcept {
        void *const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            char const *const said = ::dlerror(); // begins with the library's name
            std::snprintf(reason, sizeof reason, "%s", said ? said : "libcuda.so.1 can't be opened");
            return;
        }
        auto const load = [&]<class F>(F *Driver::*member, char const *symbol) noexcept {
            driver.*member = reinterpret_cast<F *>(::dlsym(library, symbol));
            if (!(driver.*member)) missing = symbol;
            return !missing;
        };
        static_cast<void>(Driver::each(load)); // `missing` tells
    }
};

/// The driver of this machine, opened by the first call and kept until the process ends. CUDA isn't started: that is
/// `Driver::init`'s.
///
/// Errors  `unsupported`, with what is missing: the library, or a function that a driver older than CUDA 12 lacks. The
///         answer stays for the process' life.
/// Memory  the error's message. Threads: any.
[[nodiscard]] inline Result<Driver const *> open_driver() noexcept {
    static OpenedDriver const opened;
    if (opened.reason[0]) return Error::of(Status::unsupported, "no CUDA driver: ", std::string_view(opened.reason));
    if (!opened.missing) return &opened.driver;
    return Error::of(Status::unsupported, "the CUDA driver lacks ", opened.missing,
                     ": one of CUDA 12 or newer is needed");
}

/// The error of a call that answered `code`, with the driver's own name of it: "queueing the copy:
/// CUDA_ERROR_ILLEGAL_ADDRESS (700)". `what` says what was tried.
///
/// `out_of_memory` stays what it is; a machine or device that can't serve us (no device, the toolkit's stub instead of
/// a driver, an operation that isn't supported) is `unsupported`; anything else is `device`. Threads: any.
[[nodiscard]] inline Error error_of(Driver const &driver, Code code, std::string_view what) noexcept {
    Status status = Status::device;
    if (code == Code::out_of_memory) status = Status::out_of_memory;
    if (code == Code::no_device || code == Code::stub_library || code == Code::not_supported)
        status = Status::unsupported;
    char const *name = nullptr;
    if (driver.error_name(code, &name) != Code::success || !name)
        name = code == Code::stub_library
                   ? "the toolkit's stub stands in for a driver" // it names nothing, itself neither
                   : "an error without a name";
    return Error::of(status, what, ": ", std::string_view(name), " (", static_cast<int>(code), ")");
}

/// Makes a context the calling thread's current one for this scope, then gives the thread back its own.
///
/// Every entry into the driver happens under one. Ask `code()` first: where the push failed nothing is current, and
/// nothing is popped.
class [[nodiscard]] CurrentContext {
    Driver const &driver_;
    Code code_;

  public:
    CurrentContext(Driver const &driver UFORM_LIFETIMEBOUND, Context context) noexcept
        : driver_(driver), code_(driver.context_push(context)) {}
    CurrentContext(CurrentContext const &) = delete;
    CurrentContext &operator=(CurrentContext const &) = delete;
    ~CurrentContext() {
        Context popped;
        if (code_ == Code::success) static_cast<void>(driver_.context_pop(&popped));
    }

    [[nodiscard]] Code code() const noexcept { return code_; }
    [[nodiscard]] explicit operator bool() const noexcept { return code_ == Code::success; }
};

} // namespace uform::cuda

#endif // UFORM_CUDA_DRIVER_HPP
