/// A fake `libcuda.so.1` over host memory, for tests of everything above the driver: its functions and its controls.
#include "fake_driver.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <sys/mman.h>

#include "fake_state.hpp"
#include "host_kernel.hpp"

using namespace uform::cuda;
using namespace fake_driver;

#define FAKE extern "C" [[gnu::visibility("default")]] Code
#define ENTER(name, kind)                                                                                              \
    State &s = state();                                                                                                \
    Entry entry = Entry::of<number_of(#name)>(Kind::kind);                                                             \
    static_cast<void>(s)

FAKE cuInit(unsigned) {
    ENTER(cuInit, free_of_context);
    if (entry.code != Code::success) return entry.code;
    if (s.devices == 0) return Code::no_device;
    if (!map_device_memory()) return Code::out_of_memory;
    s.initialized = true;
    return Code::success;
}
FAKE cuDriverGetVersion(int *version) {
    ENTER(cuDriverGetVersion, free_of_context);
    if (entry.act) *version = 13000;
    return entry.code;
}
FAKE cuGetErrorName(Code code, char const **name) {
    ENTER(cuGetErrorName, free_of_context);
    if (entry.code != Code::success) return entry.code;
    switch (code) {
    case Code::success: *name = "CUDA_SUCCESS"; break;
    case Code::invalid_value: *name = "CUDA_ERROR_INVALID_VALUE"; break;
    case Code::out_of_memory: *name = "CUDA_ERROR_OUT_OF_MEMORY"; break;
    case Code::not_initialized: *name = "CUDA_ERROR_NOT_INITIALIZED"; break;
    case Code::deinitialized: *name = "CUDA_ERROR_DEINITIALIZED"; break;
    case Code::stub_library: *name = "CUDA_ERROR_STUB_LIBRARY"; break;
    case Code::no_device: *name = "CUDA_ERROR_NO_DEVICE"; break;
    case Code::invalid_device: *name = "CUDA_ERROR_INVALID_DEVICE"; break;
    case Code::invalid_context: *name = "CUDA_ERROR_INVALID_CONTEXT"; break;
    case Code::invalid_handle: *name = "CUDA_ERROR_INVALID_HANDLE"; break;
    case Code::not_ready: *name = "CUDA_ERROR_NOT_READY"; break;
    case Code::illegal_address: *name = "CUDA_ERROR_ILLEGAL_ADDRESS"; break;
    case Code::launch_failed: *name = "CUDA_ERROR_LAUNCH_FAILED"; break;
    case Code::not_supported: *name = "CUDA_ERROR_NOT_SUPPORTED"; break;
    default: *name = nullptr; return Code::invalid_value;
    }
    return Code::success;
}
FAKE cuDeviceGetCount(int *count) {
    ENTER(cuDeviceGetCount, free_of_context);
    if (entry.act) *count = s.devices;
    return entry.code;
}
FAKE cuDeviceGet(Device *device, int ordinal) {
    ENTER(cuDeviceGet, free_of_context);
    if (!entry.act) return entry.code;
    if (ordinal < 0 || ordinal >= s.devices) return Code::invalid_device;
    *device = ordinal;
    return Code::success;
}
FAKE cuDeviceGetAttribute(int *value, DeviceAttribute attribute, Device device) {
    ENTER(cuDeviceGetAttribute, free_of_context);
    if (!entry.act) return entry.code;
    if (device < 0 || device >= s.devices) return Code::invalid_device;
    if (auto const set = s.attributes.find(attribute); set != s.attributes.end()) return *value = set->second, Code{};
    switch (attribute) {
    case DeviceAttribute::multiprocessors: *value = 132; break;
    case DeviceAttribute::compute_major: *value = 9; break;
    case DeviceAttribute::compute_minor: *value = 0; break;
    case DeviceAttribute::pageable_memory_access: *value = 0; break;
    case DeviceAttribute::most_shared_bytes_per_block: *value = 227 * 1024; break;
    case DeviceAttribute::memory_pools: *value = 1; break;
    default: return Code::invalid_value;
    }
    return Code::success;
}

FAKE cuDevicePrimaryCtxRetain(Context *context, Device device) {
    ENTER(cuDevicePrimaryCtxRetain, free_of_context);
    if (!entry.act) return entry.code;
    if (device < 0 || device >= s.devices) return Code::invalid_device;
    *context = &s.contexts[device];
    (*context)->device = device, ++(*context)->retained;
    return Code::success;
}
FAKE cuDevicePrimaryCtxRelease_v2(Device device) {
    ENTER(cuDevicePrimaryCtxRelease_v2, gives_back_without_context);
    if (!entry.act) return entry.code;
    if (device < 0 || device >= s.devices) return Code::invalid_device;
    if (!s.contexts[device].retained) {
        violation("%s: the context isn't retained", entry.name);
        return Code::invalid_context;
    }
    if (--s.contexts[device].retained) return entry.code;
    std::size_t left = 0;
    auto const count = [&](auto const &handles) {
        for (auto const &handle : handles) left += handle && handle->alive && handle->device == device;
    };
    count(s.streams), count(s.events), count(s.pools);
    for (auto const &[address, allocation] : s.live) left += allocation.device == device;
    for (auto const &[address, allocation] : s.pinned) left += allocation.device == device;
    if (left) violation("%s: %zu things are left in the context", entry.name, left);
    return entry.code;
}
FAKE cuDevicePrimaryCtxGetState(Device device, unsigned *flags, int *active) {
    ENTER(cuDevicePrimaryCtxGetState, free_of_context);
    if (!entry.act) return entry.code;
    if (device < 0 || device >= s.devices) return Code::invalid_device;
    *flags = 0, *active = s.contexts[device].retained > 0;
    return Code::success;
}
FAKE cuCtxPushCurrent_v2(Context context) {
    ENTER(cuCtxPushCurrent_v2, free_of_context);
    if (!entry.act) return entry.code;
    bool known = false;
    for (ContextTag &one : s.contexts) known = known || (&one == context && one.retained);
    if (!known) {
        violation("%s: the context isn't retained", entry.name);
        return Code::invalid_context;
    }
    context_stack.push_back(context);
    return Code::success;
}
FAKE cuCtxPopCurrent_v2(Context *context) {
    ENTER(cuCtxPopCurrent_v2, gives_back);
    if (!entry.act || context_stack.empty()) return entry.code;
    *context = context_stack.back();
    context_stack.pop_back();
    return entry.code;
}
FAKE cuCtxGetCurrent(Context *context) {
    ENTER(cuCtxGetCurrent, free_of_context);
    if (entry.act) *context = context_stack.empty() ? nullptr : context_stack.back();
    return entry.code;
}

FAKE cuStreamCreateWithPriority(Stream *stream, StreamFlags flags, int) {
    ENTER(cuStreamCreateWithPriority, in_context);
    if (!entry.act) return entry.code;
    if (flags != StreamFlags::non_blocking) violation("%s: a stream that waits for the default one", entry.name);
    auto made = std::make_unique<StreamTag>();
    made->id = static_cast<int>(s.streams.size()), made->device = context_stack.back()->device;
    *stream = made.get();
    s.known_streams.insert(made.get());
    s.streams.push_back(std::move(made));
    (*stream)->thread = std::thread(work_off, *stream);
    return Code::success;
}
FAKE cuStreamDestroy_v2(Stream stream) {
    ENTER(cuStreamDestroy_v2, gives_back);
    if (entry.act && good(entry, stream)) end_stream(entry.lock, stream);
    return entry.code;
}
FAKE cuStreamSynchronize(Stream stream) {
    ENTER(cuStreamSynchronize, in_context);
    if (!entry.act || !good(entry, stream)) return entry.code;
    Clock const clock = stream->clock;
    wait_for(entry.lock, {stream->id, stream->queued});
    merge(s.host_clock, clock);
    return s.sticky;
}
FAKE cuStreamWaitEvent(Stream stream, Event event, EventWaitFlags) {
    ENTER(cuStreamWaitEvent, in_context);
    if (!entry.act || !good(entry, stream) || !good(entry, event)) return entry.code;
    if (!event->number) return Code::success;
    merge(stream->clock, event->clock);
    Stamp const stamp{event->stream, event->number};
    queue(stream, [stamp] {
        std::unique_lock lock(state().mutex);
        state().changed.wait(lock, [&] { return is_done(stamp); });
    });
    return Code::success;
}
FAKE cuEventCreate(Event *event, EventFlags) {
    ENTER(cuEventCreate, in_context);
    if (!entry.act) return entry.code;
    auto made = std::make_unique<EventTag>();
    made->device = context_stack.back()->device;
    *event = made.get();
    s.known_events.insert(made.get());
    s.events.push_back(std::move(made));
    return Code::success;
}
FAKE cuEventDestroy_v2(Event event) {
    ENTER(cuEventDestroy_v2, gives_back);
    if (entry.act && good(entry, event)) event->alive = false;
    return entry.code;
}
FAKE cuEventRecord(Event event, Stream stream) {
    ENTER(cuEventRecord, in_context);
    if (!entry.act || !good(entry, stream) || !good(entry, event)) return entry.code;
    Stamp const now = queue(stream, [] {});
    event->stream = now.stream, event->number = now.number, event->clock = stream->clock;
    return Code::success;
}
FAKE cuEventQuery(Event event) {
    ENTER(cuEventQuery, in_context);
    if (!entry.act || !good(entry, event)) return entry.code;
    kick();
    if (event->number && !is_done({event->stream, event->number})) return Code::not_ready;
    merge(s.host_clock, event->clock);
    return s.sticky;
}
FAKE cuEventSynchronize(Event event) {
    ENTER(cuEventSynchronize, in_context);
    if (!entry.act || !good(entry, event)) return entry.code;
    Clock const clock = event->clock;
    wait_for(entry.lock, {event->stream, event->number});
    merge(s.host_clock, clock);
    return s.sticky;
}

FAKE cuMemPoolCreate(Pool *pool, PoolProperties const *properties) {
    ENTER(cuMemPoolCreate, in_context);
    if (!entry.act) return entry.code;
    if (properties->allocation_type != 1 || properties->location_type != 1 || properties->location < 0 ||
        properties->location >= s.devices)
        return Code::invalid_value;
    auto made = std::make_unique<PoolTag>();
    made->device = properties->location;
    *pool = made.get();
    s.known_pools.insert(made.get());
    s.pools.push_back(std::move(made));
    return Code::success;
}
FAKE cuMemPoolDestroy(Pool pool) {
    ENTER(cuMemPoolDestroy, gives_back);
    if (entry.act && good(entry, pool)) pool->alive = false;
    return entry.code;
}
FAKE cuMemPoolSetAttribute(Pool pool, PoolAttribute attribute, void *value) {
    ENTER(cuMemPoolSetAttribute, in_context);
    if (!entry.act || !good(entry, pool)) return entry.code;
    return attribute == PoolAttribute::release_threshold && value ? Code::success : Code::invalid_value;
}
FAKE cuMemPoolTrimTo(Pool pool, std::size_t) {
    ENTER(cuMemPoolTrimTo, in_context);
    if (entry.act) static_cast<void>(good(entry, pool));
    return entry.code;
}
FAKE cuMemAllocFromPoolAsync(DevicePointer *answer, std::size_t bytes, Pool pool, Stream stream) {
    ENTER(cuMemAllocFromPoolAsync, in_context);
    if (!entry.act || !good(entry, pool) || !good(entry, stream)) return entry.code;
    if (!bytes) return Code::invalid_value;
    if (bytes > s.memory_limit || s.live_bytes > s.memory_limit - bytes) return Code::out_of_memory;
    std::uint64_t const taken = with_guard(bytes);
    merge(stream->clock, s.host_clock);
    std::uint64_t first = 0;
    for (auto const &[at, hole] : s.holes)
        if (hole.bytes >= taken && covers(stream->clock, hole.death)) {
            first = at;
            break;
        }
    if (first) {
        Hole rest = s.holes.extract(first).mapped();
        rest.bytes -= taken;
        if (rest.bytes) s.holes[first + taken] = rest;
    } else {
        if (taken > s.device_first + device_bytes - s.top) return Code::out_of_memory;
        first = std::exchange(s.top, s.top + taken);
    }
    Stamp const now = queue(stream, [first, bytes, taken] {
        unpoison(writable(first), taken);
        std::memset(writable(first), 0xFF, taken);
        poison(writable(first) + bytes, taken - bytes);
    });
    s.live[first] = {first, bytes, pool->device, now, {}, {}};
    s.live_bytes += bytes;
    *answer = first;
    return Code::success;
}
FAKE cuMemFreeAsync(DevicePointer address, Stream stream) {
    ENTER(cuMemFreeAsync, gives_back);
    if (!entry.act || !good(entry, stream)) return entry.code;
    auto const at = s.live.find(address);
    if (at == s.live.end()) {
        violation("%s: not the start of an allocation, or freed twice", entry.name);
        return Code::invalid_value;
    }
    std::uint64_t const bytes = at->second.bytes, taken = with_guard(bytes);
    Stamp const now = queue(stream, [address, bytes, taken] {
        unpoison(writable(address), taken);
        bool const whole = is_all(writable(address) + bytes, taken - bytes, '\xFF');
        std::memset(writable(address), 0xFF, taken);
        poison(writable(address), taken);
        if (whole) return;
        std::lock_guard const lock(state().mutex);
        violation("cuMemFreeAsync: something wrote past the end of the allocation");
    });
    touch_device(stream, now, address, bytes, true, entry.name);
    s.live_bytes -= bytes;
    s.live.erase(at);
    s.holes[address] = {taken, now};
    return entry.code;
}
FAKE cuMemHostAlloc(void **answer, std::size_t bytes, HostAllocationFlags) {
    ENTER(cuMemHostAlloc, in_context);
    if (!entry.act) return entry.code;
    if (!bytes) return Code::invalid_value;
    if (bytes > SIZE_MAX / 2 || ::posix_memalign(answer, grain, bytes)) return Code::out_of_memory;
    std::memset(*answer, 0xFF, bytes);
    s.pinned[reinterpret_cast<std::uint64_t>(*answer)] = {
        reinterpret_cast<std::uint64_t>(*answer), bytes, context_stack.back()->device, {}, {}, {}};
    return Code::success;
}
FAKE cuMemFreeHost(void *address) {
    ENTER(cuMemFreeHost, gives_back);
    if (!entry.act) return entry.code;
    auto const at = s.pinned.find(reinterpret_cast<std::uint64_t>(address));
    if (at == s.pinned.end()) {
        violation("%s: not the start of pinned memory, or freed twice", entry.name);
        return Code::invalid_value;
    }
    Allocation const allocation = std::move(at->second);
    s.pinned.erase(at);
    bool pending = false;
    for (auto const *uses : {&allocation.reads, &allocation.writes})
        for (Use const &use : *uses) {
            pending = pending || !covers(s.host_clock, use.stamp);
            wait_for(entry.lock, use.stamp); // so that the fake itself touches nothing that is gone
        }
    if (pending) violation("%s: a copy from or to it may still run", entry.name);
    std::memset(address, 0xFF, allocation.bytes);
    std::free(address);
    return entry.code;
}

FAKE cuMemcpyHtoDAsync_v2(DevicePointer to, void const *from, std::size_t bytes, Stream stream) {
    ENTER(cuMemcpyHtoDAsync_v2, in_context);
    if (!entry.act || !good(entry, stream) || !bytes) return entry.code;
    if (!is_device_address(to)) {
        violation("%s: the target isn't a device address", entry.name);
        return Code::invalid_value;
    }
    Allocation *const source = pinned_side(entry, from, "source");
    auto const at = reinterpret_cast<std::uint64_t>(from);
    bool settled = true; // no operation may still write the source, so that nothing but the host's carelessness does
    if (source) {
        settled = at + bytes <= source->first + source->bytes;
        for (Use const &use : source->writes)
            settled = settled && (use.last <= at || at + bytes <= use.first || covers(s.host_clock, use.stamp));
    }
    std::vector<char> snapshot;
    if (settled) snapshot.assign(static_cast<char const *>(from), static_cast<char const *>(from) + bytes);
    // Pinned bytes are read when the copy runs, so that a source which changes early shows in the results too; others
    // were read by the time the driver's call returns.
    bool const late = source != nullptr;
    Stamp const now = queue(stream, [to, from, bytes, settled, late, snapshot = std::move(snapshot)] {
        std::memcpy(writable(to), late ? from : snapshot.data(), bytes);
        if (!late || !settled || std::memcmp(writable(to), snapshot.data(), bytes) == 0) return;
        std::lock_guard const lock(state().mutex);
        violation("cuMemcpyHtoDAsync_v2: the source was changed before the copy ran");
    });
    if (source) touch(stream, now, *source, at, at + bytes, false, entry.name);
    touch_device(stream, now, to, bytes, true, entry.name);
    return Code::success;
}
FAKE cuMemcpyDtoHAsync_v2(void *to, DevicePointer from, std::size_t bytes, Stream stream) {
    ENTER(cuMemcpyDtoHAsync_v2, in_context);
    if (!entry.act || !good(entry, stream) || !bytes) return entry.code;
    if (!is_device_address(from)) {
        violation("%s: the source isn't a device address", entry.name);
        return Code::invalid_value;
    }
    Allocation *const target = pinned_side(entry, to, "target");
    Stamp const now = queue(stream, [=] { std::memcpy(to, writable(from), bytes); });
    auto const at = reinterpret_cast<std::uint64_t>(to);
    if (target) touch(stream, now, *target, at, at + bytes, true, entry.name);
    touch_device(stream, now, from, bytes, false, entry.name);
    if (!target) wait_for(entry.lock, now); // the driver waits here too
    return Code::success;
}
FAKE cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, std::size_t bytes, Stream stream) {
    ENTER(cuMemcpyDtoDAsync_v2, in_context);
    if (!entry.act || !good(entry, stream) || !bytes) return entry.code;
    if (!is_device_address(to) || !is_device_address(from)) {
        violation("%s: one end isn't a device address", entry.name);
        return Code::invalid_value;
    }
    Stamp const now = queue(stream, [=] { std::memmove(writable(to), writable(from), bytes); });
    touch_device(stream, now, from, bytes, false, entry.name);
    touch_device(stream, now, to, bytes, true, entry.name);
    return Code::success;
}
FAKE cuMemsetD8Async(DevicePointer to, unsigned char value, std::size_t bytes, Stream stream) {
    ENTER(cuMemsetD8Async, in_context);
    if (!entry.act || !good(entry, stream) || !bytes) return entry.code;
    if (!is_device_address(to)) {
        violation("%s: the target isn't a device address", entry.name);
        return Code::invalid_value;
    }
    Stamp const now = queue(stream, [=] { std::memset(writable(to), value, bytes); });
    touch_device(stream, now, to, bytes, true, entry.name);
    return Code::success;
}
FAKE cuPointerGetAttributes(unsigned count, PointerAttribute *names, void **values, DevicePointer address) {
    ENTER(cuPointerGetAttributes, free_of_context);
    if (!entry.act) return entry.code;
    // An address that isn't CUDA's is no error for this call: its answers are zeros and the ordinal −2.
    unsigned type = 0;
    bool managed = false;
    int ordinal = -2;
    std::uint64_t first = 0;
    std::size_t bytes = 0;
    if (auto const device = find(s.live, address); device != s.live.end())
        type = 2, ordinal = device->second.device, first = device->first, bytes = device->second.bytes;
    else if (auto const host = find(s.pinned, address); host != s.pinned.end())
        type = 1, ordinal = host->second.device, first = host->first, bytes = host->second.bytes;
    else
        for (auto const &[at, about] : s.registered)
            if (about.kind != Registered::no && address - at < about.bytes) {
                managed = about.kind == Registered::managed;
                type = managed ? 2 : 1, ordinal = 0, first = at, bytes = about.bytes;
            }
    for (unsigned i = 0; i < count; ++i) switch (names[i]) {
        case PointerAttribute::memory_type: std::memcpy(values[i], &type, sizeof type); break;
        case PointerAttribute::is_managed: std::memcpy(values[i], &managed, sizeof managed); break;
        case PointerAttribute::device_ordinal: std::memcpy(values[i], &ordinal, sizeof ordinal); break;
        case PointerAttribute::range_start: std::memcpy(values[i], &first, sizeof first); break;
        case PointerAttribute::range_size: std::memcpy(values[i], &bytes, sizeof bytes); break;
        default: return Code::invalid_value;
        }
    return Code::success;
}

FAKE cuKernelSetAttribute(FunctionAttribute attribute, int value, Function function, Device device) {
    ENTER(cuKernelSetAttribute, in_context);
    if (!entry.act) return entry.code;
    auto const *const kernel = reinterpret_cast<HostKernel const *>(function);
    if (!kernel || kernel->mark != HostKernel::right_mark) return Code::invalid_handle;
    if (attribute != FunctionAttribute::dynamic_shared_bytes || value < 0 || value > 227 * 1024)
        return Code::invalid_value;
    return device >= 0 && device < s.devices ? Code::success : Code::invalid_device;
}
FAKE cuLaunchKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                    unsigned block_y, unsigned block_z, unsigned shared_bytes, Stream stream, void **parameters,
                    void **extra) {
    ENTER(cuLaunchKernel, in_context);
    if (!entry.act || !good(entry, stream)) return entry.code;
    auto const *const kernel = reinterpret_cast<HostKernel const *>(function);
    if (!kernel || kernel->mark != HostKernel::right_mark) {
        violation("%s: not a kernel", entry.name);
        return Code::invalid_handle;
    }
    std::uint64_t const threads = std::uint64_t{block_x} * block_y * block_z;
    if (!grid_x || !grid_y || !grid_z || grid_x > 0x7FFFFFFF || grid_y > 65535 || grid_z > 65535 || !threads ||
        threads > 1024 || block_x > 1024 || block_y > 1024 || block_z > 64 || shared_bytes > 227 * 1024 || extra)
        return Code::invalid_value;

    struct Copied {
        std::vector<std::vector<std::uint64_t>> values;
        std::vector<void *> pointers;
    };
    auto copied = std::make_shared<Copied>();
    for (unsigned i = 0; i < kernel->parameter_count; ++i) {
        auto &value = copied->values.emplace_back((kernel->parameter_bytes[i] + 7) / 8);
        std::memcpy(value.data(), parameters[i], kernel->parameter_bytes[i]);
    }
    for (auto &value : copied->values) copied->pointers.push_back(value.data());
    LaunchShape const shape{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes};
    bool const faults = s.launches++ == s.failing_kernel;
    Stamp const now = queue(stream, [kernel, shape, copied, faults] {
        if (!faults) return kernel->run(kernel, shape, copied->pointers.data());
        std::lock_guard const lock(state().mutex);
        state().sticky = Code::illegal_address;
    });
    // The operation is queued, but can't start before this call gives up the mutex.
    for (unsigned i = 0; i < kernel->parameter_count; ++i) {
        bool const writes = kernel->parameter_kinds[i] != ParameterKind::reads;
        for (std::uint64_t &word : copied->values[i]) {
            if (is_device_address(word)) {
                touch_device(stream, now, word, to_the_end, writes, kernel->name);
                word = reinterpret_cast<std::uint64_t>(writable(word));
            } else if (auto const at = find(s.pinned, word); at != s.pinned.end()) {
                touch(stream, now, at->second, word, at->first + at->second.bytes, writes, kernel->name);
            } else if (kernel->parameter_kinds[i] != ParameterKind::value && word) {
                violation("%s: parameter %u points to host memory that isn't pinned", kernel->name, i);
            }
        }
    }
    return Code::success;
}

// The table's signatures and the fake's are the same.
#define SAME(member, name) static_assert(std::is_same_v<decltype(Driver::member), decltype(&name)>, #name)
SAME(init, cuInit);
SAME(driver_version, cuDriverGetVersion);
SAME(error_name, cuGetErrorName);
SAME(device_count, cuDeviceGetCount);
SAME(device_get, cuDeviceGet);
SAME(device_attribute, cuDeviceGetAttribute);
SAME(primary_retain, cuDevicePrimaryCtxRetain);
SAME(primary_release, cuDevicePrimaryCtxRelease_v2);
SAME(primary_state, cuDevicePrimaryCtxGetState);
SAME(context_push, cuCtxPushCurrent_v2);
SAME(context_pop, cuCtxPopCurrent_v2);
SAME(context_current, cuCtxGetCurrent);
SAME(stream_create, cuStreamCreateWithPriority);
SAME(stream_destroy, cuStreamDestroy_v2);
SAME(stream_synchronize, cuStreamSynchronize);
SAME(stream_wait, cuStreamWaitEvent);
SAME(event_create, cuEventCreate);
SAME(event_destroy, cuEventDestroy_v2);
SAME(event_record, cuEventRecord);
SAME(event_query, cuEventQuery);
SAME(event_synchronize, cuEventSynchronize);
SAME(pool_create, cuMemPoolCreate);
SAME(pool_destroy, cuMemPoolDestroy);
SAME(pool_set, cuMemPoolSetAttribute);
SAME(pool_trim, cuMemPoolTrimTo);
SAME(allocate, cuMemAllocFromPoolAsync);
SAME(free, cuMemFreeAsync);
SAME(host_allocate, cuMemHostAlloc);
SAME(host_free, cuMemFreeHost);
SAME(copy_in, cuMemcpyHtoDAsync_v2);
SAME(copy_out, cuMemcpyDtoHAsync_v2);
SAME(copy_within, cuMemcpyDtoDAsync_v2);
SAME(fill, cuMemsetD8Async);
SAME(pointer_attributes, cuPointerGetAttributes);
SAME(kernel_set, cuKernelSetAttribute);
SAME(launch, cuLaunchKernel);

namespace {

void reset() {
    State &s = state();
    std::unique_lock lock(s.mutex);
    s.mode = Mode::eager;
    context_stack.clear();
    for (std::size_t i = 1; i < s.streams.size(); ++i)
        if (s.streams[i]->alive) end_stream(lock, s.streams[i].get());
    for (auto const &[address, allocation] : s.pinned) std::free(reinterpret_cast<void *>(address));
    if (s.writable) {
        unpoison(s.writable, s.top - s.device_first);
        ::madvise(s.writable, device_bytes, MADV_REMOVE);
    }
    s.devices = 1, s.delay_microseconds = 0, s.memory_limit = std::uint64_t{1} << 30;
    s.attributes.clear(), s.registered.clear();
    s.failure = {}, s.failing_kernel = -1, s.sticky = Code::success;
    for (long &count : s.calls) count = 0;
    s.failures = s.launches = s.matching_calls = 0;
    s.failed_function = function_count, s.violations = 0, s.violation_texts.clear();
    s.initialized = false;
    for (ContextTag &context : s.contexts) context = {};
    s.streams.resize(1), s.events.clear(), s.pools.clear();
    s.known_streams.clear(), s.known_events.clear(), s.known_pools.clear();
    s.live.clear(), s.pinned.clear(), s.holes.clear(), s.host_clock.clear();
    s.live_bytes = 0, s.top = s.device_first;
}
std::size_t function_named(char const *function) {
    std::size_t const number = function ? number_of(function) : function_count;
    if (function && number == function_count) violation("the test names %s, which isn't in the table", function);
    return number;
}
/// Runs `f(state)` under the mutex.
template <class F> auto locked(F f) {
    std::lock_guard const lock(state().mutex);
    return f(state());
}

constexpr Controls table = {
    .reset = reset,
    .set_devices =
        [](int count) { locked([&](State &s) { s.devices = count < most_devices ? count : most_devices; }); },
    .set_mode =
        [](Mode mode, unsigned delay) {
            locked([&](State &s) {
                s.mode = mode, s.delay_microseconds = delay;
                s.changed.notify_all();
            });
        },
    .set_memory_limit = [](std::size_t bytes) { locked([&](State &s) { s.memory_limit = bytes; }); },
    .set_attribute = [](DeviceAttribute which, int value) { locked([&](State &s) { s.attributes[which] = value; }); },
    .register_host =
        [](void const *first, std::size_t bytes, Registered kind) {
            locked([&](State &s) { s.registered[reinterpret_cast<std::uint64_t>(first)] = {bytes, kind}; });
        },
    .fail_call =
        [](long number, Code code, bool forever, char const *function) {
            locked([&](State &s) {
                s.failure = {number, code, forever, function_named(function)};
                s.failures = s.matching_calls = 0, s.failed_function = function_count;
            });
        },
    .fail_none = [] { locked([](State &s) { s.failure = {}; }); },
    .failures = [] { return locked([](State &s) { return s.failures; }); },
    .failed_function =
        [] {
            return locked(
                [](State &s) { return s.failed_function < function_count ? symbol_of(s.failed_function) : ""; });
        },
    .fail_kernel = [](long number) { locked([&](State &s) { s.failing_kernel = number, s.launches = 0; }); },
    .set_sticky = [](Code code) { locked([&](State &s) { s.sticky = code; }); },
    .calls =
        [](char const *function) {
            return locked([&](State &s) {
                long all = 0;
                for (long const count : s.calls) all += count;
                std::size_t const number = function_named(function);
                return number < function_count ? s.calls[number] : function ? 0 : all;
            });
        },
    .violations = [] { return locked([](State &s) { return s.violations; }); },
    .violation =
        [](std::size_t index, char *text, std::size_t bytes) {
            locked([&](State &s) {
                std::snprintf(text, bytes, "%s",
                              index < s.violation_texts.size() ? s.violation_texts[index].c_str() : "");
            });
        },
    .forget_violations = [] { locked([](State &s) { s.violations = 0, s.violation_texts.clear(); }); },
    .live =
        [] {
            return locked([](State &s) {
                Live live;
                live.allocations = s.live.size(), live.bytes = s.live_bytes;
                live.host_allocations = s.pinned.size();
                for (auto const &[address, allocation] : s.pinned) live.host_bytes += allocation.bytes;
                for (auto const &one : s.streams) live.streams += one && one->alive;
                for (auto const &one : s.events) live.events += one->alive;
                for (auto const &one : s.pools) live.pools += one->alive;
                for (auto const &one : s.contexts) live.contexts += static_cast<std::size_t>(one.retained);
                return live;
            });
        },
    .look =
        [](DevicePointer address) {
            return locked([&](State &s) {
                return find(s.live, address) != s.live.end() ? static_cast<void *>(writable(address)) : nullptr;
            });
        },
};

} // namespace

extern "C" [[gnu::visibility("default")]] Controls const *fake_driver_controls() { return &table; }
