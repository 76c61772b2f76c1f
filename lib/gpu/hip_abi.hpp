// The part of the HIP runtime's binary interface that is used, in our own words.
//
// As cuda_abi.hpp is for CUDA: types, constants and functions of HIP 5.2 and later, resolved by
// name at run time (hip_driver.hpp), and held against HIP's headers by hip_abi_check.cpp where a
// build has them.
//
// Threads: declarations only. Units: as HIP's own; versions are 10^7 * major + 10^5 * minor.
// Does not: declare anything that is linked.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gar::hip {

using status = int32_t;  // hipError_t
using device = int32_t;  // hipDevice_t
using context = struct opaque_context*;
using stream = struct opaque_stream*;
using event = struct opaque_event*;
using capture_mode = uint32_t;
using capture_status = uint32_t;

inline constexpr status success = 0;
inline constexpr status invalid_value = 1;
inline constexpr status out_of_memory = 2;
inline constexpr status no_device = 100;
inline constexpr status invalid_device = 101;
inline constexpr status invalid_context = 201;
inline constexpr status invalid_handle = 400;
inline constexpr status not_ready = 600;
inline constexpr status context_is_destroyed = 709;
inline constexpr status host_memory_already_registered = 712;
inline constexpr status not_supported = 801;
// Everything a stream capture can refuse lies in here.
inline constexpr status capture_first = 900;   // hipErrorStreamCaptureUnsupported
inline constexpr status captured_event = 907;  // and this: the event itself is a graph's
inline constexpr status capture_last = 908;    // hipErrorStreamCaptureWrongThread

inline constexpr capture_mode capture_relaxed = 2;
inline constexpr capture_status capture_none = 0;

inline constexpr uintptr_t stream_legacy = 1;  // HIP 6.2 and later; 0 means the same
inline constexpr uintptr_t stream_per_thread = 2;

inline constexpr unsigned stream_non_blocking = 1;
inline constexpr unsigned event_blocking_sync = 1;
inline constexpr unsigned event_disable_timing = 2;
inline constexpr unsigned register_portable = 1;
inline constexpr unsigned register_mapped = 2;

// X(member, symbol in the library, the type).
#define GAR_HIP_CALLS(X)                                                                    \
  X(RuntimeGetVersion, hipRuntimeGetVersion, status(int* version))                          \
  X(Init, hipInit, status(unsigned flags))                                                  \
  X(GetDeviceCount, hipGetDeviceCount, status(int* count))                                  \
  X(GetErrorName, hipGetErrorName, const char*(status of))                                  \
  X(GetErrorString, hipGetErrorString, const char*(status of))                              \
  X(GetLastError, hipGetLastError, status())                                                \
  X(PeekAtLastError, hipPeekAtLastError, status())                                          \
  X(GetDevice, hipGetDevice, status(device* current))                                       \
  X(SetDevice, hipSetDevice, status(device current))                                        \
  X(DeviceSynchronize, hipDeviceSynchronize, status())                                      \
  X(DevicePrimaryCtxRetain, hipDevicePrimaryCtxRetain, status(context* primary, device of)) \
  X(DevicePrimaryCtxRelease, hipDevicePrimaryCtxRelease, status(device of))                 \
  X(StreamQuery, hipStreamQuery, status(stream of))                                         \
  X(StreamIsCapturing, hipStreamIsCapturing, status(stream of, capture_status* state))      \
  X(StreamCreate, hipStreamCreateWithFlags, status(stream* created, unsigned flags))        \
  X(StreamDestroy, hipStreamDestroy, status(stream destroyed))                              \
  X(StreamWriteValue64, hipStreamWriteValue64,                                              \
    status(stream on, void* address, uint64_t value, unsigned flags))                       \
  X(EventCreate, hipEventCreateWithFlags, status(event* created, unsigned flags))           \
  X(EventDestroy, hipEventDestroy, status(event destroyed))                                 \
  X(EventRecord, hipEventRecord, status(event recorded, stream on))                         \
  X(EventQuery, hipEventQuery, status(event of))                                            \
  X(EventSynchronize, hipEventSynchronize, status(event of))                                \
  X(HostRegister, hipHostRegister, status(void* host, size_t bytes, unsigned flags))        \
  X(HostUnregister, hipHostUnregister, status(void* host))                                  \
  X(HostGetDevicePointer, hipHostGetDevicePointer,                                          \
    status(void** address, void* host, unsigned flags))                                     \
  X(ThreadExchangeStreamCaptureMode, hipThreadExchangeStreamCaptureMode, status(capture_mode* mode))

// A library exports one of these two, or both; which device a stream belongs to.
#define GAR_HIP_OPTIONAL_CALLS(X)                                          \
  X(StreamGetDevice, hipStreamGetDevice, status(stream of, device* owner)) \
  X(GetStreamDeviceId, hipGetStreamDeviceId, int(stream of))

// What a program of ours that makes work for a stream uses beside.
#define GAR_HIP_WORK_CALLS(X)                                                  \
  X(DeviceGetName, hipDeviceGetName, status(char* name, int bytes, device of)) \
  X(Malloc, hipMalloc, status(void** at, size_t bytes))                        \
  X(Free, hipFree, status(void* at))                                           \
  X(MemsetD32Async, hipMemsetD32Async, status(void* at, int value, size_t count, stream on))

// The functions' types, under the members' names.
namespace functions {
#define GAR_HIP_FUNCTION(member, symbol, ...) using member = __VA_ARGS__;
GAR_HIP_CALLS(GAR_HIP_FUNCTION)
GAR_HIP_OPTIONAL_CALLS(GAR_HIP_FUNCTION)
GAR_HIP_WORK_CALLS(GAR_HIP_FUNCTION)
#undef GAR_HIP_FUNCTION
}  // namespace functions

}  // namespace gar::hip
