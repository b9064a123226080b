/// A `libcuda.so.1` of a driver that is too old: it has the first functions of the table, and no memory pools.
#include "uform/cuda/driver.hpp"

using uform::cuda::Code, uform::cuda::Context, uform::cuda::Device, uform::cuda::DeviceAttribute,
    uform::cuda::DevicePointer, uform::cuda::Event, uform::cuda::EventFlags, uform::cuda::EventWaitFlags,
    uform::cuda::PointerAttribute, uform::cuda::Stream, uform::cuda::StreamFlags;

#define OLD(name, ...)                                                                                                 \
    extern "C" [[gnu::visibility("default")]] Code name(__VA_ARGS__) { return Code::not_initialized; }
OLD(cuInit, unsigned)
OLD(cuDriverGetVersion, int *)
OLD(cuGetErrorName, Code, char const **)
OLD(cuDeviceGetCount, int *)
OLD(cuDeviceGet, Device *, int)
OLD(cuDeviceGetAttribute, int *, DeviceAttribute, Device)
OLD(cuDevicePrimaryCtxRetain, Context *, Device)
OLD(cuDevicePrimaryCtxRelease_v2, Device)
OLD(cuDevicePrimaryCtxGetState, Device, unsigned *, int *)
OLD(cuCtxPushCurrent_v2, Context)
OLD(cuCtxPopCurrent_v2, Context *)
OLD(cuCtxGetCurrent, Context *)
OLD(cuStreamCreateWithPriority, Stream *, StreamFlags, int)
OLD(cuStreamDestroy_v2, Stream)
OLD(cuStreamSynchronize, Stream)
OLD(cuStreamWaitEvent, Stream, Event, EventWaitFlags)
OLD(cuEventCreate, Event *, EventFlags)
OLD(cuEventDestroy_v2, Event)
OLD(cuEventRecord, Event, Stream)
OLD(cuEventQuery, Event)
OLD(cuEventSynchronize, Event)
OLD(cuPointerGetAttributes, unsigned, PointerAttribute *, void **, DevicePointer)
