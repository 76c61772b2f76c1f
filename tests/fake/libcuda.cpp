// A libcuda.so.1 without a GPU: CUDA's entry points over the fake machine.
#include <algorithm>
#include <vector>

#include "lib/gpu/cuda_abi.hpp"
#include "tests/fake/fake_driver.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace fake {
namespace {

thread_local std::vector<context*> current;

context* context_of(gar::cuda::context c) {
  return reinterpret_cast<context*>(c);
}
event* event_of(gar::cuda::event e) {
  return reinterpret_cast<event*>(e);
}

// The stream that is meant, or why not.
template <class Use>
status on_stream(machine& m, gar::cuda::stream handle, Use use) {
  stream* s = nullptr;
  const status found = m.resolve(handle, current_context(), &s);
  return found == success ? use(s) : found;
}

struct status_text {
  status number;
  const char* name;
  const char* text;
};
constexpr status_text texts[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {34, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {710, "CUDA_ERROR_ASSERT", "device-side assert triggered"},
    {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
     "part or all of the requested memory range is already mapped"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
};

}  // namespace

context* current_context() {
  return current.empty() ? nullptr : current.back();
}

void push_current(context* pushed) {
  current.push_back(pushed);
}

void pop_current() {
  current.pop_back();
}

void note_status(status) {}

}  // namespace fake

using namespace fake;
namespace abi = gar::cuda;

EXPORT abi::status cuInit(unsigned flags) {
  return call("cuInit", flags, 0, 0, [&](machine& m, auto&) { return m.init(); });
}

EXPORT abi::status cuDriverGetVersion(int* version) {
  return call("cuDriverGetVersion", 0, 0, 0, [&](machine& m, auto&) {
    *version = m.version(12040);
    return success;
  });
}

EXPORT abi::status cuDeviceGetCount(int* count) {
  return call("cuDeviceGetCount", 0, 0, 0, [&](machine& m, auto&) {
    *count = m.devices();
    return m.initialized() ? success : not_initialized;
  });
}

EXPORT abi::status cuDeviceGet(abi::device* device, int ordinal) {
  return call("cuDeviceGet", 0, 0, 0, [&](machine& m, auto&) {
    *device = ordinal;
    return ordinal < m.devices() ? success : invalid_device;
  });
}

EXPORT abi::status cuGetErrorName(abi::status of, const char** name) {
  for (const auto& t : texts) {
    if (t.number != of) continue;
    *name = t.name;
    return success;
  }
  *name = nullptr;
  return invalid_value;
}

EXPORT abi::status cuGetErrorString(abi::status of, const char** text) {
  for (const auto& t : texts) {
    if (t.number != of) continue;
    *text = t.text;
    return success;
  }
  *text = nullptr;
  return invalid_value;
}

EXPORT abi::status cuCtxGetCurrent(abi::context* now) {
  return call("cuCtxGetCurrent", 0, 0, 0, [&](machine& m, auto&) {
    *now = reinterpret_cast<abi::context>(current_context());
    return m.initialized() ? success : not_initialized;
  });
}

EXPORT abi::status cuCtxSetCurrent(abi::context now) {
  return call("cuCtxSetCurrent", as_number(now), 0, 0, [&](machine&, auto&) {
    if (!current.empty()) current.pop_back();
    if (now) current.push_back(context_of(now));
    return success;
  });
}

EXPORT abi::status cuCtxPushCurrent_v2(abi::context pushed) {
  return call("cuCtxPushCurrent_v2", as_number(pushed), 0, 0, [&](machine&, auto&) {
    if (!pushed) return invalid_context;
    if (!context_of(pushed)->alive) return context_is_destroyed;
    current.push_back(context_of(pushed));
    return success;
  });
}

EXPORT abi::status cuCtxPopCurrent_v2(abi::context* popped) {
  return call("cuCtxPopCurrent_v2", 0, 0, 0, [&](machine&, auto&) {
    if (current.empty()) return invalid_context;
    *popped = reinterpret_cast<abi::context>(current.back());
    current.pop_back();
    return success;
  });
}

EXPORT abi::status cuCtxGetDevice(abi::device* device) {
  return call("cuCtxGetDevice", 0, 0, 0, [&](machine&, auto&) {
    if (!current_context()) return invalid_context;
    *device = current_context()->device;
    return success;
  });
}

EXPORT abi::status cuCtxSynchronize() {
  return call("cuCtxSynchronize", as_number(current_context()), 0, 0,
              [&](machine& m, auto& held) { return m.synchronize(current_context(), held); });
}

EXPORT abi::status cuDevicePrimaryCtxRetain(abi::context* primary, abi::device device) {
  return call("cuDevicePrimaryCtxRetain", static_cast<uint64_t>(device), 0, 0,
              [&](machine& m, auto&) {
                context* retained = nullptr;
                const status answer = m.retain(device, &retained);
                *primary = reinterpret_cast<abi::context>(retained);
                return answer;
              });
}

EXPORT abi::status cuDevicePrimaryCtxRelease_v2(abi::device device) {
  return call("cuDevicePrimaryCtxRelease_v2", static_cast<uint64_t>(device), 0, 0,
              [&](machine& m, auto&) { return m.release(device, true); });
}

EXPORT abi::status cuDevicePrimaryCtxReset_v2(abi::device device) {
  return call("cuDevicePrimaryCtxReset_v2", static_cast<uint64_t>(device), 0, 0,
              [&](machine& m, auto&) {
                m.reset(device);
                return success;
              });
}

EXPORT abi::status cuStreamGetCtx(abi::stream of, abi::context* owner) {
  return call("cuStreamGetCtx", as_number(of), 0, 0, [&](machine& m, auto&) {
    return on_stream(m, of, [&](stream* s) {
      *owner = reinterpret_cast<abi::context>(s->in);
      return success;
    });
  });
}

EXPORT abi::status cuStreamQuery(abi::stream of) {
  return call("cuStreamQuery", as_number(of), 0, 0, [&](machine& m, auto&) {
    return on_stream(m, of, [&](stream* s) { return m.query_stream(s); });
  });
}

EXPORT abi::status cuStreamSynchronize(abi::stream of) {
  return call("cuStreamSynchronize", as_number(of), 0, 0, [&](machine& m, auto& held) {
    return on_stream(m, of, [&](stream* s) { return m.synchronize_stream(s, held); });
  });
}

EXPORT abi::status cuStreamIsCapturing(abi::stream of, abi::capture_status* state) {
  return call("cuStreamIsCapturing", as_number(of), 0, 0, [&](machine& m, auto&) {
    return on_stream(m, of, [&](stream* s) { return m.capture_of(s, state); });
  });
}

EXPORT abi::status cuStreamBeginCapture_v2(abi::stream of, abi::capture_mode mode) {
  return call("cuStreamBeginCapture_v2", as_number(of), mode, 0, [&](machine& m, auto&) {
    return on_stream(m, of, [&](stream* s) { return m.begin_capture(s, mode); });
  });
}

EXPORT abi::status cuStreamEndCapture(abi::stream of, void** graph) {
  return call("cuStreamEndCapture", as_number(of), 0, 0, [&](machine& m, auto&) {
    *graph = nullptr;
    return on_stream(m, of, [&](stream* s) { return m.end_capture(s); });
  });
}

EXPORT abi::status cuStreamCreate(abi::stream* created, unsigned flags) {
  return call("cuStreamCreate", flags, 0, 0, [&](machine& m, auto&) {
    if (status bad = m.usable(current_context()); bad != success) return bad;
    const bool blocking = (flags & abi::stream_non_blocking) == 0;
    *created = reinterpret_cast<abi::stream>(m.create_stream(current_context(), blocking));
    return success;
  });
}

EXPORT abi::status cuStreamDestroy_v2(abi::stream destroyed) {
  return call("cuStreamDestroy_v2", as_number(destroyed), 0, 0, [&](machine& m, auto&) {
    return m.destroy_stream(reinterpret_cast<stream*>(destroyed));
  });
}

EXPORT abi::status cuStreamWriteValue64_v2(abi::stream on, abi::device_pointer address,
                                           uint64_t value, unsigned flags) {
  return call("cuStreamWriteValue64_v2", address, value, flags, [&](machine& m, auto&) {
    return on_stream(
        m, on, [&](stream* s) { return m.store(s, address, value, "cuStreamWriteValue64_v2"); });
  });
}

EXPORT abi::status cuStreamBatchMemOp_v2(abi::stream on, unsigned count,
                                         abi::memory_operation* operations, unsigned flags) {
  return call("cuStreamBatchMemOp_v2", as_number(on), count, flags, [&](machine& m, auto&) {
    return on_stream(m, on, [&](stream* s) {
      for (unsigned i = 0; i < count; ++i) {
        const abi::memory_operation& o = operations[i];
        if (o.operation != abi::memory_operation_write_64 || o.flags != 0) return invalid_value;
        const status stored = m.store(s, o.address, o.value, "cuStreamBatchMemOp_v2");
        if (stored != success) return stored;
      }
      return success;
    });
  });
}

EXPORT abi::status cuEventCreate(abi::event* created, unsigned flags) {
  return call("cuEventCreate", flags, 0, 0, [&](machine& m, auto&) {
    if (status bad = m.usable(current_context()); bad != success) return bad;
    *created = reinterpret_cast<abi::event>(m.create_event(current_context(), flags));
    return success;
  });
}

EXPORT abi::status cuEventDestroy_v2(abi::event destroyed) {
  return call("cuEventDestroy_v2", as_number(destroyed), 0, 0,
              [&](machine& m, auto&) { return m.destroy_event(event_of(destroyed)); });
}

EXPORT abi::status cuEventRecord(abi::event recorded, abi::stream on) {
  return call("cuEventRecord", as_number(recorded), as_number(on), 0, [&](machine& m, auto&) {
    return on_stream(m, on, [&](stream* s) { return m.record(event_of(recorded), s); });
  });
}

EXPORT abi::status cuEventQuery(abi::event of) {
  return call("cuEventQuery", as_number(of), as_number(current_context()), 0,
              [&](machine& m, auto&) { return m.query_event(event_of(of)); });
}

EXPORT abi::status cuEventSynchronize(abi::event of) {
  return call("cuEventSynchronize", as_number(of), as_number(current_context()), 0,
              [&](machine& m, auto& held) { return m.synchronize_event(event_of(of), held); });
}

EXPORT abi::status cuMemHostRegister_v2(void* host, size_t bytes, unsigned flags) {
  return call("cuMemHostRegister_v2", as_number(host), bytes, flags, [&](machine& m, auto&) {
    return m.register_memory(current_context(), host, bytes, (flags & abi::register_portable) != 0);
  });
}

EXPORT abi::status cuMemHostUnregister(void* host) {
  return call("cuMemHostUnregister", as_number(host), 0, 0,
              [&](machine& m, auto&) { return m.unregister_memory(current_context(), host); });
}

EXPORT abi::status cuMemHostGetDevicePointer_v2(abi::device_pointer* address, void* host,
                                                unsigned flags) {
  return call("cuMemHostGetDevicePointer_v2", as_number(host), flags, 0, [&](machine& m, auto&) {
    return m.device_address(current_context(), host, address);
  });
}

EXPORT abi::status cuThreadExchangeStreamCaptureMode(abi::capture_mode* mode) {
  const uint64_t asked = *mode;
  return call("cuThreadExchangeStreamCaptureMode", asked, 0, 0, [&](machine& m, auto&) {
    *mode = m.exchange_mode(*mode);
    return success;
  });
}

EXPORT abi::status cuMemAlloc_v2(abi::device_pointer* address, size_t bytes) {
  return call("cuMemAlloc_v2", bytes, 0, 0, [&](machine& m, auto&) {
    *address = m.allocate(bytes);
    return m.usable(current_context());
  });
}

EXPORT abi::status cuMemFree_v2(abi::device_pointer address) {
  return call("cuMemFree_v2", address, 0, 0,
              [&](machine& m, auto&) { return m.deallocate(address); });
}

EXPORT abi::status cuMemsetD32Async(abi::device_pointer address, unsigned value, size_t count,
                                    abi::stream on) {
  return call("cuMemsetD32Async", address, value, count, [&](machine& m, auto&) {
    return on_stream(
        m, on, [&](stream* s) { return m.fill(s, address, value, count, "cuMemsetD32Async"); });
  });
}
