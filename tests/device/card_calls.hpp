// The entry points of the CUDA driver that a program with kernels uses, beside those of
// cuda_abi.hpp.
//
// The check of a real card is such a program: it makes contexts, loads kernels and launches them.
// Nothing of gard does, so these declarations are its own. card_calls_check.cpp holds them against
// CUDA's headers where those are found.
//
// Threads: a value. Ownership: the driver's library stays loaded as long as the struct.
// Errors: `resolve` names the symbol that is missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "lib/gpu/cuda_driver.hpp"

namespace gar::device_check {

using module_handle = struct opaque_module*;
using function_handle = struct opaque_function*;
using host_function = void(void* data);

inline constexpr unsigned schedule_spin = 1;           // CU_CTX_SCHED_SPIN
inline constexpr unsigned schedule_blocking_sync = 4;  // CU_CTX_SCHED_BLOCKING_SYNC
inline constexpr unsigned compute_capability_major = 75;
inline constexpr unsigned compute_capability_minor = 76;
inline constexpr unsigned can_use_64_bit_stream_mem_ops = 122;  // a claim, no proof

// X(member, symbol in the library, CUDA's name for the function's type, the type)
#define GAR_CARD_CALLS(X)                                                                          \
  X(DeviceGet, cuDeviceGet, PFN_cuDeviceGet_v2000, cuda::status(cuda::device* found, int ordinal)) \
  X(DeviceGetName, cuDeviceGetName, PFN_cuDeviceGetName_v2000,                                     \
    cuda::status(char* name, int bytes, cuda::device of))                                          \
  X(DeviceGetAttribute, cuDeviceGetAttribute, PFN_cuDeviceGetAttribute_v2000,                      \
    cuda::status(int* value, unsigned which, cuda::device of))                                     \
  X(DevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v2,                                       \
    PFN_cuDevicePrimaryCtxSetFlags_v11000, cuda::status(cuda::device of, unsigned flags))          \
  X(DevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState, PFN_cuDevicePrimaryCtxGetState_v7000,    \
    cuda::status(cuda::device of, unsigned* flags, int* active))                                   \
  X(DevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2, PFN_cuDevicePrimaryCtxReset_v11000,         \
    cuda::status(cuda::device of))                                                                 \
  X(CtxCreate, cuCtxCreate_v2, PFN_cuCtxCreate_v3020,                                              \
    cuda::status(cuda::context* created, unsigned flags, cuda::device on))                         \
  X(CtxDestroy, cuCtxDestroy_v2, PFN_cuCtxDestroy_v4000, cuda::status(cuda::context destroyed))    \
  X(CtxSetCurrent, cuCtxSetCurrent, PFN_cuCtxSetCurrent_v4000, cuda::status(cuda::context now))    \
  X(StreamSynchronize, cuStreamSynchronize, PFN_cuStreamSynchronize_v2000,                         \
    cuda::status(cuda::stream on))                                                                 \
  X(LaunchHostFunc, cuLaunchHostFunc, PFN_cuLaunchHostFunc_v10000,                                 \
    cuda::status(cuda::stream on, host_function* function, void* data))                            \
  X(ModuleLoadData, cuModuleLoadData, PFN_cuModuleLoadData_v2000,                                  \
    cuda::status(module_handle* loaded, const void* image))                                        \
  X(ModuleGetFunction, cuModuleGetFunction, PFN_cuModuleGetFunction_v2000,                         \
    cuda::status(function_handle* found, module_handle in, const char* name))                      \
  X(LaunchKernel, cuLaunchKernel, PFN_cuLaunchKernel_v4000,                                        \
    cuda::status(function_handle launched, unsigned grid_x, unsigned grid_y, unsigned grid_z,      \
                 unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,      \
                 cuda::stream on, void** parameters, void** extra))                                \
  X(MemAlloc, cuMemAlloc_v2, PFN_cuMemAlloc_v3020,                                                 \
    cuda::status(cuda::device_pointer* address, size_t bytes))                                     \
  X(MemsetD32Async, cuMemsetD32Async, PFN_cuMemsetD32Async_v3020,                                  \
    cuda::status(cuda::device_pointer address, unsigned value, size_t count, cuda::stream on))

struct card_calls {
#define GAR_CARD_MEMBER(member, symbol, pfn, ...) std::add_pointer_t<__VA_ARGS__> member = nullptr;
  GAR_CARD_CALLS(GAR_CARD_MEMBER)
#undef GAR_CARD_MEMBER

  static result<card_calls> resolve() {
    auto library = loaded_or_load(cuda_libraries);
    if (!library) return library.error();
    card_calls calls;
#define GAR_CARD_FIND(member, symbol_name, pfn, ...) \
  calls.member = (*library)->symbol<std::add_pointer_t<__VA_ARGS__>>(#symbol_name);
#define GAR_CARD_NEED(member, symbol_name, pfn, ...) \
  if (!calls.member) return missing(**library, #symbol_name);
    GAR_CARD_CALLS(GAR_CARD_FIND)
    GAR_CARD_CALLS(GAR_CARD_NEED)
#undef GAR_CARD_NEED
#undef GAR_CARD_FIND
    calls.library_ = std::move(*library);
    return calls;
  }

 private:
  static error missing(const dynamic_library& library, const char* symbol) {
    return error(errc::Unavailable, {"cuda", library.name() + " does not export " + symbol});
  }
  std::shared_ptr<const dynamic_library> library_;
};

}  // namespace gar::device_check
