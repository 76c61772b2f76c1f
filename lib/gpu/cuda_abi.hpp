// The part of the CUDA driver's binary interface that is used, in our own words.
//
// A machine that builds gard need not have CUDA's headers, and one that runs it need not have its
// driver; so the few types, constants and functions are written down here, and resolved by name at
// run time (cuda_driver.hpp). Where CUDA's headers are found at build time, cuda_abi_check.cpp
// holds every line of this file against them.
//
// Threads: declarations only. Units: as CUDA's own; versions are 1000 * major + 10 * minor.
// Does not: declare anything that is linked.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gar::cuda {

using status = int32_t;  // CUresult
using device = int32_t;  // CUdevice
using device_pointer = uint64_t;
using context = struct opaque_context*;
using stream = struct opaque_stream*;
using event = struct opaque_event*;
using capture_mode = uint32_t;
using capture_status = uint32_t;

inline constexpr status success = 0;
inline constexpr status out_of_memory = 2;
inline constexpr status not_initialized = 3;
inline constexpr status stub_library = 34;
inline constexpr status no_device = 100;
inline constexpr status invalid_context = 201;
inline constexpr status operating_system = 304;
inline constexpr status invalid_handle = 400;
inline constexpr status not_ready = 600;
inline constexpr status context_is_destroyed = 709;
inline constexpr status host_memory_already_registered = 712;
inline constexpr status not_permitted = 800;
inline constexpr status not_supported = 801;
// Everything a stream capture can refuse lies in here.
inline constexpr status capture_first = 900;   // CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
inline constexpr status captured_event = 907;  // and this: the event itself is a graph's
inline constexpr status capture_last = 908;    // CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD

inline constexpr capture_mode capture_relaxed = 2;
inline constexpr capture_status capture_none = 0;

inline constexpr uintptr_t stream_legacy = 1;
inline constexpr uintptr_t stream_per_thread = 2;

inline constexpr unsigned stream_non_blocking = 1;
inline constexpr unsigned event_blocking_sync = 1;
inline constexpr unsigned event_disable_timing = 2;
inline constexpr unsigned register_portable = 1;
inline constexpr unsigned register_device_map = 2;
inline constexpr unsigned write_value_default = 0;

// One operation of a batch: the write of a 64-bit value.
inline constexpr uint32_t memory_operation_write_64 = 5;
struct memory_operation {
  uint32_t operation;
  uint32_t padding;
  device_pointer address;
  uint64_t value;
  uint32_t flags;
  uint32_t padding_behind_flags;
  device_pointer alias;  // the driver's own
  uint64_t rest;         // other operations are longer
};
static_assert(sizeof(memory_operation) == 48);
static_assert(offsetof(memory_operation, operation) == 0);
static_assert(offsetof(memory_operation, address) == 8);
static_assert(offsetof(memory_operation, value) == 16);
static_assert(offsetof(memory_operation, flags) == 24);
static_assert(offsetof(memory_operation, alias) == 32);

// X(member, symbol in the library, CUDA's name for the function's type, the type). The symbols'
// suffixes are versions: the plain name of some is an older function with other arguments.
#define GAR_CUDA_CALLS(X)                                                                         \
  X(DriverGetVersion, cuDriverGetVersion, PFN_cuDriverGetVersion_v2020, status(int* version))     \
  X(Init, cuInit, PFN_cuInit_v2000, status(unsigned flags))                                       \
  X(DeviceGetCount, cuDeviceGetCount, PFN_cuDeviceGetCount_v2000, status(int* count))             \
  X(GetErrorName, cuGetErrorName, PFN_cuGetErrorName_v6000, status(status of, const char** name)) \
  X(GetErrorString, cuGetErrorString, PFN_cuGetErrorString_v6000,                                 \
    status(status of, const char** text))                                                         \
  X(CtxGetCurrent, cuCtxGetCurrent, PFN_cuCtxGetCurrent_v4000, status(context* current))          \
  X(CtxPushCurrent, cuCtxPushCurrent_v2, PFN_cuCtxPushCurrent_v4000, status(context pushed))      \
  X(CtxPopCurrent, cuCtxPopCurrent_v2, PFN_cuCtxPopCurrent_v4000, status(context* popped))        \
  X(CtxGetDevice, cuCtxGetDevice, PFN_cuCtxGetDevice_v2000, status(device* of_current))           \
  X(CtxSynchronize, cuCtxSynchronize, PFN_cuCtxSynchronize_v2000, status())                       \
  X(DevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, PFN_cuDevicePrimaryCtxRetain_v7000,         \
    status(context* primary, device of))                                                          \
  X(DevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState, PFN_cuDevicePrimaryCtxGetState_v7000,   \
    status(device of, unsigned* flags, int* active))                                              \
  X(DevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, PFN_cuDevicePrimaryCtxRelease_v11000,  \
    status(device of))                                                                            \
  X(StreamGetCtx, cuStreamGetCtx, PFN_cuStreamGetCtx_v9020, status(stream of, context* owner))    \
  X(StreamQuery, cuStreamQuery, PFN_cuStreamQuery_v2000, status(stream of))                       \
  X(StreamIsCapturing, cuStreamIsCapturing, PFN_cuStreamIsCapturing_v10000,                       \
    status(stream of, capture_status* state))                                                     \
  X(StreamCreate, cuStreamCreate, PFN_cuStreamCreate_v2000,                                       \
    status(stream* created, unsigned flags))                                                      \
  X(StreamDestroy, cuStreamDestroy_v2, PFN_cuStreamDestroy_v4000, status(stream destroyed))       \
  X(StreamWriteValue64, cuStreamWriteValue64_v2, PFN_cuStreamWriteValue64_v11070,                 \
    status(stream on, device_pointer address, uint64_t value, unsigned flags))                    \
  X(EventCreate, cuEventCreate, PFN_cuEventCreate_v2000, status(event* created, unsigned flags))  \
  X(EventDestroy, cuEventDestroy_v2, PFN_cuEventDestroy_v4000, status(event destroyed))           \
  X(EventRecord, cuEventRecord, PFN_cuEventRecord_v2000, status(event recorded, stream on))       \
  X(EventQuery, cuEventQuery, PFN_cuEventQuery_v2000, status(event of))                           \
  X(EventSynchronize, cuEventSynchronize, PFN_cuEventSynchronize_v2000, status(event of))         \
  X(MemHostRegister, cuMemHostRegister_v2, PFN_cuMemHostRegister_v6050,                           \
    status(void* host, size_t bytes, unsigned flags))                                             \
  X(MemHostUnregister, cuMemHostUnregister, PFN_cuMemHostUnregister_v4000, status(void* host))    \
  X(MemHostGetDevicePointer, cuMemHostGetDevicePointer_v2, PFN_cuMemHostGetDevicePointer_v3020,   \
    status(device_pointer* address, void* host, unsigned flags))                                  \
  X(ThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode,                           \
    PFN_cuThreadExchangeStreamCaptureMode_v10010, status(capture_mode* mode))

// What a driver may lack.
#define GAR_CUDA_OPTIONAL_CALLS(X)                                          \
  X(StreamBatchMemOp, cuStreamBatchMemOp_v2, PFN_cuStreamBatchMemOp_v11070, \
    status(stream on, unsigned count, memory_operation* operations, unsigned flags))

// What a program of ours that makes work for a stream uses beside.
#define GAR_CUDA_WORK_CALLS(X)                                                               \
  X(DeviceGetName, cuDeviceGetName, PFN_cuDeviceGetName_v2000,                               \
    status(char* name, int bytes, device of))                                                \
  X(MemAlloc, cuMemAlloc_v2, PFN_cuMemAlloc_v3020, status(device_pointer* at, size_t bytes)) \
  X(MemFree, cuMemFree_v2, PFN_cuMemFree_v3020, status(device_pointer at))                   \
  X(MemsetD32Async, cuMemsetD32Async, PFN_cuMemsetD32Async_v3020,                            \
    status(device_pointer at, unsigned value, size_t count, stream on))

// The functions' types, under the members' names.
namespace functions {
#define GAR_CUDA_FUNCTION(member, symbol, pfn, ...) using member = __VA_ARGS__;
GAR_CUDA_CALLS(GAR_CUDA_FUNCTION)
GAR_CUDA_OPTIONAL_CALLS(GAR_CUDA_FUNCTION)
GAR_CUDA_WORK_CALLS(GAR_CUDA_FUNCTION)
#undef GAR_CUDA_FUNCTION
}  // namespace functions

}  // namespace gar::cuda
