// A program that uses CUDA, for tests: its contexts and streams, over the fake libcuda.so.1.
#pragma once

#include <string>

#include "lib/gpu/cuda_abi.hpp"
#include "tests/gpu/fake_library.hpp"

namespace gar {

struct cuda_program {
  static constexpr const char* name = "cuda";
  static constexpr bool has_batches = true;
  static constexpr const char* retain = "cuDevicePrimaryCtxRetain";
  static constexpr const char* release = "cuDevicePrimaryCtxRelease_v2";
  static constexpr const char* register_page = "cuMemHostRegister_v2";
  static constexpr const char* unregister_page = "cuMemHostUnregister";
  static constexpr const char* device_address = "cuMemHostGetDevicePointer_v2";
  static constexpr const char* record_event = "cuEventRecord";
  static constexpr const char* query_event = "cuEventQuery";
  static constexpr const char* synchronize_event = "cuEventSynchronize";
  static constexpr const char* create_event = "cuEventCreate";
  static constexpr const char* is_capturing = "cuStreamIsCapturing";
  static constexpr const char* query_stream = "cuStreamQuery";
  static constexpr const char* synchronize_stream = "cuStreamSynchronize";
  static constexpr const char* create_stream = "cuStreamCreate";
  static constexpr const char* store = "cuStreamWriteValue64_v2";
  static constexpr const char* batch = "cuStreamBatchMemOp_v2";
  static constexpr const char* synchronize_domain = "cuCtxSynchronize";
  static constexpr const char* exchange_mode = "cuThreadExchangeStreamCaptureMode";
  static constexpr const char* out_of_memory = "CUDA_ERROR_OUT_OF_MEMORY";
  static constexpr const char* illegal_address = "CUDA_ERROR_ILLEGAL_ADDRESS";
  static constexpr const char* remedy = "NVreg_EnableStreamMemOPs=1";

  static fake_library& fake() {
    static fake_library* const library = new fake_library("libcuda.so.1");
    return *library;
  }

  // The program's own context: the primary one of a device, current on this thread.
  static void use_device(int device) {
    cuda::context primary = nullptr;
    call<cuda::functions::Init>("cuInit")(0);
    call<cuda::functions::DevicePrimaryCtxRetain>(retain)(&primary, device);
    make_current(primary);
  }
  static void make_current(void* context) { call<cuda::status(void*)>("cuCtxSetCurrent")(context); }
  static void* current() {
    cuda::context now = nullptr;
    call<cuda::functions::CtxGetCurrent>("cuCtxGetCurrent")(&now);
    return now;
  }
  static void use_nothing() { make_current(nullptr); }
  static void let_go_of_device(int device) {
    call<cuda::functions::DevicePrimaryCtxRelease>(release)(device);
  }

  static void* make_stream(unsigned flags) {
    cuda::stream made = nullptr;
    call<cuda::functions::StreamCreate>(create_stream)(&made, flags);
    return made;
  }
  static void destroy_stream(void* stream) {
    call<cuda::functions::StreamDestroy>("cuStreamDestroy_v2")(static_cast<cuda::stream>(stream));
  }
  static void* make_event() {
    cuda::event made = nullptr;
    call<cuda::functions::EventCreate>(create_event)(&made, cuda::event_disable_timing);
    return made;
  }
  static int32_t query_as_program(void* event) {
    return call<cuda::functions::EventQuery>(query_event)(static_cast<cuda::event>(event));
  }

 private:
  template <class Function>
  static Function* call(const char* symbol) {
    return fake().find<Function>(symbol);
  }
};

}  // namespace gar
