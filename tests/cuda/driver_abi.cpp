/// Holds `uform/cuda/driver.hpp` and `uform/placement.hpp` against `cuda.h`: this compiles only where every signature,
/// constant and structure agrees. Needs the headers of a toolkit of CUDA 12 or 13, no device and no driver.
#include <cstddef>
#include <string_view>
#include <type_traits>

#include <cuda.h>

#include "uform/cuda/driver.hpp"
#include "uform/placement.hpp"

using uform::cuda::Code, uform::cuda::DeviceAttribute, uform::cuda::Driver, uform::cuda::EventFlags,
    uform::cuda::EventWaitFlags, uform::cuda::FunctionAttribute, uform::cuda::HostAllocationFlags,
    uform::cuda::PointerAttribute, uform::cuda::PoolAttribute, uform::cuda::PoolProperties, uform::cuda::StreamFlags;

namespace {

template <class T> inline constexpr bool is_number = std::is_integral_v<T> || std::is_enum_v<T>;
/// Handles agree as pointers; pointers to numbers agree if the numbers do, and no constness is lost.
template <class Ours, class Theirs> constexpr bool agree_as_values() {
    if constexpr (is_number<Ours> && is_number<Theirs>) return sizeof(Ours) == sizeof(Theirs);
    else return std::is_class_v<Ours> && std::is_class_v<Theirs>;
}
template <class Ours, class Theirs> constexpr bool agree() {
    if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
        using OursAt = std::remove_pointer_t<Ours>;
        using TheirsAt = std::remove_pointer_t<Theirs>;
        if constexpr (std::is_const_v<OursAt> != std::is_const_v<TheirsAt>) return false;
        else if constexpr (std::is_void_v<OursAt> || std::is_void_v<TheirsAt>)
            return std::is_void_v<OursAt> && std::is_void_v<TheirsAt>;
        else return agree<std::remove_cv_t<OursAt>, std::remove_cv_t<TheirsAt>>();
    } else {
        return agree_as_values<Ours, Theirs>();
    }
}
template <class Ours, class Theirs> inline constexpr bool same = false;
template <class... Ours, class Result, class... Theirs>
inline constexpr bool same<Code (*)(Ours...), Result (*)(Theirs...)> = [] {
    if constexpr (sizeof...(Ours) == sizeof...(Theirs)) return (agree<Ours, Theirs>() && ...) && agree<Code, Result>();
    else return false;
}();

/// Whether the table opens this member by this symbol.
template <class F> constexpr bool opens(F *Driver::*member, std::string_view symbol) {
    bool found = false;
    static_cast<void>(Driver::each([&](auto other, std::string_view name) {
        if constexpr (std::is_same_v<decltype(other), F * Driver::*>)
            found = found || (other == member && name == symbol);
        return true;
    }));
    return found;
}
constexpr std::size_t count_opened() {
    std::size_t count = 0;
    static_cast<void>(Driver::each([&](auto, char const *) { return ++count, true; }));
    return count;
}
static_assert(count_opened() == 36 && sizeof(Driver) == 36 * sizeof(void (*)()));

#define TEXT(symbol) #symbol
#define FUNCTION(member, symbol)                                                                                       \
    static_assert(same<decltype(Driver::member), decltype(&::symbol)>, #symbol ": the signature");                     \
    static_assert(opens(&Driver::member, #symbol), #symbol ": opened by another name");                                \
    static_assert(std::string_view(TEXT(symbol)) == #symbol, #symbol ": cuda.h gives this name to another version")
FUNCTION(init, cuInit);
FUNCTION(driver_version, cuDriverGetVersion);
FUNCTION(error_name, cuGetErrorName);
FUNCTION(device_count, cuDeviceGetCount);
FUNCTION(device_get, cuDeviceGet);
FUNCTION(device_attribute, cuDeviceGetAttribute);
FUNCTION(primary_retain, cuDevicePrimaryCtxRetain);
FUNCTION(primary_release, cuDevicePrimaryCtxRelease_v2);
FUNCTION(primary_state, cuDevicePrimaryCtxGetState);
FUNCTION(context_push, cuCtxPushCurrent_v2);
FUNCTION(context_pop, cuCtxPopCurrent_v2);
FUNCTION(context_current, cuCtxGetCurrent);
FUNCTION(stream_create, cuStreamCreateWithPriority);
FUNCTION(stream_destroy, cuStreamDestroy_v2);
FUNCTION(stream_synchronize, cuStreamSynchronize);
FUNCTION(stream_wait, cuStreamWaitEvent);
FUNCTION(event_create, cuEventCreate);
FUNCTION(event_destroy, cuEventDestroy_v2);
FUNCTION(event_record, cuEventRecord);
FUNCTION(event_query, cuEventQuery);
FUNCTION(event_synchronize, cuEventSynchronize);
FUNCTION(pool_create, cuMemPoolCreate);
FUNCTION(pool_destroy, cuMemPoolDestroy);
FUNCTION(pool_set, cuMemPoolSetAttribute);
FUNCTION(pool_trim, cuMemPoolTrimTo);
FUNCTION(allocate, cuMemAllocFromPoolAsync);
FUNCTION(free, cuMemFreeAsync);
FUNCTION(host_allocate, cuMemHostAlloc);
FUNCTION(host_free, cuMemFreeHost);
FUNCTION(copy_in, cuMemcpyHtoDAsync_v2);
FUNCTION(copy_out, cuMemcpyDtoHAsync_v2);
FUNCTION(copy_within, cuMemcpyDtoDAsync_v2);
FUNCTION(fill, cuMemsetD8Async);
FUNCTION(pointer_attributes, cuPointerGetAttributes);
FUNCTION(kernel_set, cuKernelSetAttribute);
FUNCTION(launch, cuLaunchKernel);
// placement.hpp knows this one by itself.
static_assert(same<Code (*)(unsigned, int *, void **, std::uint64_t), decltype(&::cuPointerGetAttributes)> &&
              std::is_same_v<uform::PointerQuery, int (*)(unsigned, int *, void **, std::uint64_t)>);

#define EQUAL(ours, theirs) static_assert(static_cast<long>(ours) == static_cast<long>(theirs), #theirs)
EQUAL(Code::success, CUDA_SUCCESS);
EQUAL(Code::invalid_value, CUDA_ERROR_INVALID_VALUE);
EQUAL(Code::out_of_memory, CUDA_ERROR_OUT_OF_MEMORY);
EQUAL(Code::not_initialized, CUDA_ERROR_NOT_INITIALIZED);
EQUAL(Code::deinitialized, CUDA_ERROR_DEINITIALIZED);
EQUAL(Code::stub_library, CUDA_ERROR_STUB_LIBRARY);
EQUAL(Code::no_device, CUDA_ERROR_NO_DEVICE);
EQUAL(Code::invalid_device, CUDA_ERROR_INVALID_DEVICE);
EQUAL(Code::invalid_context, CUDA_ERROR_INVALID_CONTEXT);
EQUAL(Code::invalid_handle, CUDA_ERROR_INVALID_HANDLE);
EQUAL(Code::not_ready, CUDA_ERROR_NOT_READY);
EQUAL(Code::illegal_address, CUDA_ERROR_ILLEGAL_ADDRESS);
EQUAL(Code::launch_failed, CUDA_ERROR_LAUNCH_FAILED);
EQUAL(Code::not_supported, CUDA_ERROR_NOT_SUPPORTED);
EQUAL(DeviceAttribute::multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
EQUAL(DeviceAttribute::compute_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
EQUAL(DeviceAttribute::compute_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
EQUAL(DeviceAttribute::pageable_memory_access, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS);
EQUAL(DeviceAttribute::most_shared_bytes_per_block, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
EQUAL(DeviceAttribute::memory_pools, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
EQUAL(PointerAttribute::memory_type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
EQUAL(PointerAttribute::is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED);
EQUAL(PointerAttribute::device_ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
EQUAL(PointerAttribute::range_start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
EQUAL(PointerAttribute::range_size, CU_POINTER_ATTRIBUTE_RANGE_SIZE);
EQUAL(PoolAttribute::release_threshold, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
EQUAL(FunctionAttribute::dynamic_shared_bytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
EQUAL(StreamFlags::non_blocking, CU_STREAM_NON_BLOCKING);
EQUAL(EventFlags::disable_timing, CU_EVENT_DISABLE_TIMING);
EQUAL(EventWaitFlags::none, CU_EVENT_WAIT_DEFAULT);
EQUAL(HostAllocationFlags::portable, CU_MEMHOSTALLOC_PORTABLE);
EQUAL(uform::PointerAnswers::memory_type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
EQUAL(uform::PointerAnswers::is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED);
EQUAL(uform::PointerAnswers::device_ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
EQUAL(uform::PointerAnswers::range_start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
EQUAL(uform::PointerAnswers::range_size, CU_POINTER_ATTRIBUTE_RANGE_SIZE);
EQUAL(uform::PointerAnswers::type_of_device, CU_MEMORYTYPE_DEVICE);
EQUAL(uform::PointerAnswers::not_initialized, CUDA_ERROR_NOT_INITIALIZED);
EQUAL(uform::PointerAnswers::deinitialized, CUDA_ERROR_DEINITIALIZED);
EQUAL(uform::PointerAnswers::stub_library, CUDA_ERROR_STUB_LIBRARY);

static_assert(sizeof(PoolProperties) == sizeof(CUmemPoolProps) && alignof(PoolProperties) == alignof(CUmemPoolProps));
#define MEMBER(ours, theirs)                                                                                           \
    static_assert(offsetof(PoolProperties, ours) == offsetof(CUmemPoolProps, theirs) &&                                \
                      sizeof(PoolProperties::ours) == sizeof(CUmemPoolProps::theirs),                                  \
                  #theirs)
MEMBER(allocation_type, allocType);
MEMBER(handle_types, handleTypes);
MEMBER(security_attributes, win32SecurityAttributes);
#if CUDA_VERSION >= 13000 // before, these were reserved bytes, to be zero: as they are here
MEMBER(most_bytes, maxSize);
MEMBER(usage, usage);
MEMBER(reserved, reserved);
#endif
static_assert(offsetof(PoolProperties, location_type) ==
              offsetof(CUmemPoolProps, location) + offsetof(CUmemLocation, type));
static_assert(offsetof(PoolProperties, location) == offsetof(CUmemPoolProps, location) + offsetof(CUmemLocation, id));
static_assert(sizeof(PoolProperties::location_type) == sizeof(CUmemLocation::type));
static_assert(sizeof(PoolProperties::location) == sizeof(CUmemLocation::id));
EQUAL(PoolProperties{}.allocation_type, CU_MEM_ALLOCATION_TYPE_PINNED);
EQUAL(PoolProperties{}.handle_types, CU_MEM_HANDLE_TYPE_NONE);
EQUAL(PoolProperties{}.location_type, CU_MEM_LOCATION_TYPE_DEVICE);

} // namespace

int main() {} // that this was compiled is the test
