// Holds cuda_abi.hpp against CUDA's own headers; built only where they are found.
#include <cuda.h>
#include <cudaTypedefs.h>

#include "lib/gpu/cuda_abi.hpp"
#include "lib/gpu/same_abi.hpp"

namespace gar::cuda {
namespace {

static_assert(same_abi<status, CUresult>::value);
static_assert(same_abi<device, CUdevice>::value);
static_assert(same_abi<device_pointer, CUdeviceptr>::value);
static_assert(same_abi<capture_mode, CUstreamCaptureMode>::value);
static_assert(same_abi<capture_status, CUstreamCaptureStatus>::value);
static_assert(sizeof(context) == sizeof(CUcontext) && sizeof(stream) == sizeof(CUstream) &&
              sizeof(event) == sizeof(CUevent));

static_assert(success == CUDA_SUCCESS);
static_assert(out_of_memory == CUDA_ERROR_OUT_OF_MEMORY);
static_assert(not_initialized == CUDA_ERROR_NOT_INITIALIZED);
static_assert(stub_library == CUDA_ERROR_STUB_LIBRARY);
static_assert(no_device == CUDA_ERROR_NO_DEVICE);
static_assert(invalid_context == CUDA_ERROR_INVALID_CONTEXT);
static_assert(operating_system == CUDA_ERROR_OPERATING_SYSTEM);
static_assert(invalid_handle == CUDA_ERROR_INVALID_HANDLE);
static_assert(not_ready == CUDA_ERROR_NOT_READY);
static_assert(context_is_destroyed == CUDA_ERROR_CONTEXT_IS_DESTROYED);
static_assert(host_memory_already_registered == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
static_assert(not_permitted == CUDA_ERROR_NOT_PERMITTED);
static_assert(not_supported == CUDA_ERROR_NOT_SUPPORTED);
static_assert(capture_first == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
static_assert(captured_event == CUDA_ERROR_CAPTURED_EVENT);
static_assert(capture_last == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
static_assert(capture_relaxed == CU_STREAM_CAPTURE_MODE_RELAXED);
static_assert(capture_none == CU_STREAM_CAPTURE_STATUS_NONE);

static_assert(stream_non_blocking == CU_STREAM_NON_BLOCKING);
static_assert(event_blocking_sync == CU_EVENT_BLOCKING_SYNC);
static_assert(event_disable_timing == CU_EVENT_DISABLE_TIMING);
static_assert(register_portable == CU_MEMHOSTREGISTER_PORTABLE);
static_assert(register_device_map == CU_MEMHOSTREGISTER_DEVICEMAP);
static_assert(write_value_default == CU_STREAM_WRITE_VALUE_DEFAULT);

// CUDA's header casts these two to a pointer; here they are read as the numbers they are cast from.
#define CUstream uintptr_t
static_assert(CU_STREAM_LEGACY == stream_legacy);
static_assert(CU_STREAM_PER_THREAD == stream_per_thread);
#undef CUstream

using their_operation = CUstreamBatchMemOpParams;
static_assert(memory_operation_write_64 == CU_STREAM_MEM_OP_WRITE_VALUE_64);
static_assert(sizeof(memory_operation) == sizeof(their_operation));
static_assert(alignof(memory_operation) == alignof(their_operation));
#define GAR_SAME_FIELD(ours, theirs)                                                               \
  static_assert(offsetof(memory_operation, ours) == offsetof(their_operation, writeValue.theirs)); \
  static_assert(same_abi<decltype(memory_operation::ours),                                         \
                         decltype(their_operation{}.writeValue.theirs)>::value)
GAR_SAME_FIELD(operation, operation);
GAR_SAME_FIELD(address, address);
GAR_SAME_FIELD(value, value64);
GAR_SAME_FIELD(flags, flags);
GAR_SAME_FIELD(alias, alias);
#undef GAR_SAME_FIELD

#define GAR_CHECK(member, symbol, theirs, ...) \
  static_assert(same_abi<std::add_pointer_t<__VA_ARGS__>, theirs>::value, #symbol);
GAR_CUDA_CALLS(GAR_CHECK)
GAR_CUDA_OPTIONAL_CALLS(GAR_CHECK)
GAR_CUDA_WORK_CALLS(GAR_CHECK)
#undef GAR_CHECK

// The check itself must be able to fail.
static_assert(!same_abi<status (*)(stream, unsigned), PFN_cuStreamQuery_v2000>::value);
static_assert(!same_abi<status (*)(uint32_t), PFN_cuStreamQuery_v2000>::value);
static_assert(!same_abi<status (*)(uint32_t*), PFN_cuGetErrorName_v6000>::value);
static_assert(!same_abi<status (*)(stream, unsigned, uint32_t*, unsigned),
                        PFN_cuStreamBatchMemOp_v11070>::value);

}  // namespace
}  // namespace gar::cuda
