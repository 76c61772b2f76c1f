// Holds hip_abi.hpp against HIP's own headers; built only where they are found.
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>

#include "lib/gpu/hip_abi.hpp"
#include "lib/gpu/same_abi.hpp"

namespace gar::hip {
namespace {

static_assert(same_abi<status, hipError_t>::value);
static_assert(same_abi<device, hipDevice_t>::value);
static_assert(same_abi<capture_mode, hipStreamCaptureMode>::value);
static_assert(same_abi<capture_status, hipStreamCaptureStatus>::value);
static_assert(sizeof(context) == sizeof(hipCtx_t) && sizeof(stream) == sizeof(hipStream_t) &&
              sizeof(event) == sizeof(hipEvent_t));

static_assert(success == hipSuccess);
static_assert(invalid_value == hipErrorInvalidValue);
static_assert(out_of_memory == hipErrorOutOfMemory);
static_assert(no_device == hipErrorNoDevice);
static_assert(invalid_device == hipErrorInvalidDevice);
static_assert(invalid_context == hipErrorInvalidContext);
static_assert(invalid_handle == hipErrorInvalidHandle);
static_assert(not_ready == hipErrorNotReady);
static_assert(context_is_destroyed == hipErrorContextIsDestroyed);
static_assert(host_memory_already_registered == hipErrorHostMemoryAlreadyRegistered);
static_assert(not_supported == hipErrorNotSupported);
static_assert(capture_first == hipErrorStreamCaptureUnsupported);
static_assert(captured_event == hipErrorCapturedEvent);
static_assert(capture_last == hipErrorStreamCaptureWrongThread);
static_assert(capture_relaxed == hipStreamCaptureModeRelaxed);
static_assert(capture_none == hipStreamCaptureStatusNone);

static_assert(stream_non_blocking == hipStreamNonBlocking);
static_assert(event_blocking_sync == hipEventBlockingSync);
static_assert(event_disable_timing == hipEventDisableTiming);
static_assert(register_portable == hipHostRegisterPortable);
static_assert(register_mapped == hipHostRegisterMapped);

// HIP's header casts it to a pointer; here it is read as the number it is cast from.
#define hipStream_t uintptr_t
static_assert(hipStreamPerThread == stream_per_thread);
#undef hipStream_t

#define GAR_CHECK(member, symbol, ...) \
  static_assert(same_abi<std::add_pointer_t<__VA_ARGS__>, decltype(&::symbol)>::value, #symbol);
GAR_HIP_CALLS(GAR_CHECK)
#undef GAR_CHECK
static_assert(same_abi<status (*)(char*, int, device), decltype(&::hipDeviceGetName)>::value);
static_assert(same_abi<status (*)(void**, size_t),
                       decltype(static_cast<hipError_t (*)(void**, size_t)>(::hipMalloc))>::value);
static_assert(same_abi<status (*)(void*), decltype(&::hipFree)>::value);
static_assert(
    same_abi<status (*)(void*, int, size_t, stream), decltype(&::hipMemsetD32Async)>::value);
// hipStreamGetDevice came after 5.2: looked at only where it is sure to be declared.
static_assert(same_abi<int (*)(stream), decltype(&::hipGetStreamDeviceId)>::value);
#if HIP_VERSION >= 60000000
static_assert(same_abi<status (*)(stream, device*), decltype(&::hipStreamGetDevice)>::value);
#endif

}  // namespace
}  // namespace gar::hip
