// A program that uses HIP, for tests: its device and streams, over the fake libamdhip64.so.6.
#pragma once

#include <string>

#include "lib/gpu/hip_abi.hpp"
#include "tests/gpu/fake_library.hpp"

namespace gar {

struct hip_program {
  static constexpr const char* name = "hip";
  static constexpr bool has_batches = false;
  static constexpr const char* retain = "hipDevicePrimaryCtxRetain";
  static constexpr const char* release = "hipDevicePrimaryCtxRelease";
  static constexpr const char* register_page = "hipHostRegister";
  static constexpr const char* unregister_page = "hipHostUnregister";
  static constexpr const char* device_address = "hipHostGetDevicePointer";
  static constexpr const char* record_event = "hipEventRecord";
  static constexpr const char* query_event = "hipEventQuery";
  static constexpr const char* synchronize_event = "hipEventSynchronize";
  static constexpr const char* create_event = "hipEventCreateWithFlags";
  static constexpr const char* is_capturing = "hipStreamIsCapturing";
  static constexpr const char* query_stream = "hipStreamQuery";
  static constexpr const char* synchronize_stream = "hipStreamSynchronize";
  static constexpr const char* create_stream = "hipStreamCreateWithFlags";
  static constexpr const char* store = "hipStreamWriteValue64";
  static constexpr const char* batch = "hipStreamBatchMemOp";
  static constexpr const char* synchronize_domain = "hipDeviceSynchronize";
  static constexpr const char* exchange_mode = "hipThreadExchangeStreamCaptureMode";
  static constexpr const char* out_of_memory = "hipErrorOutOfMemory";
  static constexpr const char* illegal_address = "hipErrorIllegalAddress";
  static constexpr const char* remedy = "hipDeviceAttributeCanUseStreamWaitValue";

  static fake_library& fake() {
    static fake_library* const library = new fake_library("libamdhip64.so.6");
    return *library;
  }

  // A HIP program just sets its device; there is always one.
  static void use_device(int device) {
    call<hip::functions::Init>("hipInit")(0);
    call<hip::functions::SetDevice>("hipSetDevice")(device);
  }
  static void* current() {
    hip::device now = -1;
    call<hip::functions::GetDevice>("hipGetDevice")(&now);
    return reinterpret_cast<void*>(static_cast<intptr_t>(now));
  }
  static void let_go_of_device(int) {}

  static void* make_stream(unsigned flags) {
    hip::stream made = nullptr;
    call<hip::functions::StreamCreate>(create_stream)(&made, flags);
    return made;
  }
  static void destroy_stream(void* stream) {
    call<hip::functions::StreamDestroy>("hipStreamDestroy")(static_cast<hip::stream>(stream));
  }
  static void* make_event() {
    hip::event made = nullptr;
    call<hip::functions::EventCreate>(create_event)(&made, hip::event_disable_timing);
    return made;
  }
  static int32_t query_as_program(void* event) {
    return call<hip::functions::EventQuery>(query_event)(static_cast<hip::event>(event));
  }
  static int32_t last_error() {
    return call<hip::functions::PeekAtLastError>("hipPeekAtLastError")();
  }

 private:
  template <class Function>
  static Function* call(const char* symbol) {
    return fake().find<Function>(symbol);
  }
};

}  // namespace gar
