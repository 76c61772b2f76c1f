// A libamdhip64.so.6 without a GPU: HIP's entry points over the fake machine.
#include <cstdio>
#include <utility>

#include "lib/gpu/hip_abi.hpp"
#include "tests/fake/fake_driver.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace fake {
namespace {

thread_local int current_device = 0;
// HIP 7 keeps the last failure until it is asked for; a call that succeeds does not clear it.
thread_local status last_error = success;

event* event_of(gar::hip::event e) {
  return reinterpret_cast<event*>(e);
}

// The stream that is meant, or why not.
template <class Use>
status on_stream(machine& m, gar::hip::stream handle, Use use) {
  stream* s = nullptr;
  const status found = m.resolve(handle, current_context(), &s);
  return found == success ? use(s) : found;
}

}  // namespace

context* current_context() {
  return machine::get().primary(current_device);
}

void note_status(status answer) {
  if (answer != success) last_error = answer;
}

}  // namespace fake

using namespace fake;
namespace abi = gar::hip;

EXPORT abi::status hipInit(unsigned flags) {
  return call("hipInit", flags, 0, 0, [&](machine& m, auto&) { return m.init(); });
}

EXPORT abi::status hipRuntimeGetVersion(int* version) {
  return call("hipRuntimeGetVersion", 0, 0, 0, [&](machine& m, auto&) {
    *version = m.version(60'200'000);
    return success;
  });
}

EXPORT abi::status hipGetDeviceCount(int* count) {
  return call("hipGetDeviceCount", 0, 0, 0, [&](machine& m, auto&) {
    *count = m.devices();
    return m.devices() > 0 ? success : no_device;
  });
}

EXPORT const char* hipGetErrorName(abi::status of) {
  switch (of) {
    case 0:
      return "hipSuccess";
    case 2:
      return "hipErrorOutOfMemory";
    case 600:
      return "hipErrorNotReady";
    case 700:
      return "hipErrorIllegalAddress";
    case 709:
      return "hipErrorContextIsDestroyed";
    case 712:
      return "hipErrorHostMemoryAlreadyRegistered";
    case 719:
      return "hipErrorLaunchFailure";
    case 801:
      return "hipErrorNotSupported";
    default:
      return "hipErrorUnknown";
  }
}

EXPORT const char* hipGetErrorString(abi::status of) {
  return of == 700 ? "an illegal memory access was encountered" : "see the HIP documentation";
}

EXPORT abi::status hipGetLastError() {
  const status last = std::exchange(last_error, success);
  return machine::get().end("hipGetLastError", last, 0, 0, 0);
}

EXPORT abi::status hipPeekAtLastError() {
  return last_error;
}

EXPORT abi::status hipGetDevice(abi::device* device) {
  return call("hipGetDevice", 0, 0, 0, [&](machine& m, auto&) {
    *device = current_device;
    return m.devices() > 0 ? success : no_device;
  });
}

EXPORT abi::status hipSetDevice(abi::device device) {
  return call("hipSetDevice", static_cast<uint64_t>(device), 0, 0, [&](machine& m, auto&) {
    if (device < 0 || device >= m.devices()) return invalid_device;
    current_device = device;
    return success;
  });
}

EXPORT abi::status hipDeviceSynchronize() {
  return call("hipDeviceSynchronize", static_cast<uint64_t>(current_device), 0, 0,
              [&](machine& m, auto& held) { return m.synchronize(current_context(), held); });
}

EXPORT abi::status hipDeviceReset() {
  return call("hipDeviceReset", static_cast<uint64_t>(current_device), 0, 0,
              [&](machine& m, auto&) {
                m.reset(current_device);
                return success;
              });
}

EXPORT abi::status hipDevicePrimaryCtxRetain(abi::context* primary, abi::device device) {
  return call("hipDevicePrimaryCtxRetain", static_cast<uint64_t>(device), 0, 0,
              [&](machine& m, auto&) {
                context* retained = nullptr;
                const status answer = m.retain(device, &retained);
                *primary = reinterpret_cast<abi::context>(retained);
                return answer;
              });
}

EXPORT abi::status hipDevicePrimaryCtxRelease(abi::device device) {
  return call("hipDevicePrimaryCtxRelease", static_cast<uint64_t>(device), 0, 0,
              [&](machine& m, auto&) { return m.release(device, false); });
}

EXPORT abi::status hipStreamGetDevice(abi::stream of, abi::device* owner) {
  return call("hipStreamGetDevice", as_number(of), 0, 0, [&](machine& m, auto&) {
    return on_stream(m, of, [&](stream* s) {
      *owner = s->in->device;
      return success;
    });
  });
}

EXPORT int hipGetStreamDeviceId(abi::stream of) {
  int device = -1;
  (void)call("hipGetStreamDeviceId", as_number(of), 0, 0, [&](machine& m, auto&) {
    return on_stream(m, of, [&](stream* s) {
      device = s->in->device;
      return success;
    });
  });
  return device;
}

EXPORT abi::status hipStreamQuery(abi::stream of) {
  return call("hipStreamQuery", as_number(of), 0, 0, [&](machine& m, auto&) {
    return on_stream(m, of, [&](stream* s) { return m.query_stream(s); });
  });
}

EXPORT abi::status hipStreamSynchronize(abi::stream of) {
  return call("hipStreamSynchronize", as_number(of), 0, 0, [&](machine& m, auto& held) {
    return on_stream(m, of, [&](stream* s) { return m.synchronize_stream(s, held); });
  });
}

EXPORT abi::status hipStreamIsCapturing(abi::stream of, abi::capture_status* state) {
  return call("hipStreamIsCapturing", as_number(of), 0, 0, [&](machine& m, auto&) {
    return on_stream(m, of, [&](stream* s) { return m.capture_of(s, state); });
  });
}

EXPORT abi::status hipStreamBeginCapture(abi::stream of, abi::capture_mode mode) {
  return call("hipStreamBeginCapture", as_number(of), mode, 0, [&](machine& m, auto&) {
    return on_stream(m, of, [&](stream* s) { return m.begin_capture(s, mode); });
  });
}

EXPORT abi::status hipStreamEndCapture(abi::stream of, void** graph) {
  return call("hipStreamEndCapture", as_number(of), 0, 0, [&](machine& m, auto&) {
    *graph = nullptr;
    return on_stream(m, of, [&](stream* s) { return m.end_capture(s); });
  });
}

EXPORT abi::status hipStreamCreateWithFlags(abi::stream* created, unsigned flags) {
  return call("hipStreamCreateWithFlags", flags, 0, 0, [&](machine& m, auto&) {
    if (status bad = m.usable(current_context()); bad != success) return bad;
    const bool blocking = (flags & abi::stream_non_blocking) == 0;
    *created = reinterpret_cast<abi::stream>(m.create_stream(current_context(), blocking));
    return success;
  });
}

EXPORT abi::status hipStreamDestroy(abi::stream destroyed) {
  return call("hipStreamDestroy", as_number(destroyed), 0, 0, [&](machine& m, auto&) {
    return m.destroy_stream(reinterpret_cast<stream*>(destroyed));
  });
}

EXPORT abi::status hipStreamWriteValue64(abi::stream on, void* address, uint64_t value,
                                         unsigned flags) {
  return call("hipStreamWriteValue64", as_number(address), value, flags, [&](machine& m, auto&) {
    return on_stream(m, on, [&](stream* s) {
      return m.store(s, as_number(address), value, "hipStreamWriteValue64");
    });
  });
}

EXPORT abi::status hipEventCreateWithFlags(abi::event* created, unsigned flags) {
  return call("hipEventCreateWithFlags", flags, 0, 0, [&](machine& m, auto&) {
    if (status bad = m.usable(current_context()); bad != success) return bad;
    *created = reinterpret_cast<abi::event>(m.create_event(current_context(), flags));
    return success;
  });
}

EXPORT abi::status hipEventDestroy(abi::event destroyed) {
  return call("hipEventDestroy", as_number(destroyed), 0, 0,
              [&](machine& m, auto&) { return m.destroy_event(event_of(destroyed)); });
}

EXPORT abi::status hipEventRecord(abi::event recorded, abi::stream on) {
  return call("hipEventRecord", as_number(recorded), as_number(on), 0, [&](machine& m, auto&) {
    return on_stream(m, on, [&](stream* s) { return m.record(event_of(recorded), s); });
  });
}

EXPORT abi::status hipEventQuery(abi::event of) {
  return call("hipEventQuery", as_number(of), static_cast<uint64_t>(current_device), 0,
              [&](machine& m, auto&) { return m.query_event(event_of(of)); });
}

EXPORT abi::status hipEventSynchronize(abi::event of) {
  return call("hipEventSynchronize", as_number(of), static_cast<uint64_t>(current_device), 0,
              [&](machine& m, auto& held) { return m.synchronize_event(event_of(of), held); });
}

EXPORT abi::status hipHostRegister(void* host, size_t bytes, unsigned flags) {
  return call("hipHostRegister", as_number(host), bytes, flags, [&](machine& m, auto&) {
    return m.register_memory(current_context(), host, bytes, (flags & abi::register_portable) != 0);
  });
}

EXPORT abi::status hipHostUnregister(void* host) {
  return call("hipHostUnregister", as_number(host), 0, 0,
              [&](machine& m, auto&) { return m.unregister_memory(current_context(), host); });
}

EXPORT abi::status hipHostGetDevicePointer(void** address, void* host, unsigned flags) {
  return call("hipHostGetDevicePointer", as_number(host), flags, 0, [&](machine& m, auto&) {
    uint64_t seen = 0;
    const status found = m.device_address(current_context(), host, &seen);
    *address = reinterpret_cast<void*>(seen);
    return found;
  });
}

EXPORT abi::status hipThreadExchangeStreamCaptureMode(abi::capture_mode* mode) {
  const uint64_t asked = *mode;
  return call("hipThreadExchangeStreamCaptureMode", asked, 0, 0, [&](machine& m, auto&) {
    *mode = m.exchange_mode(*mode);
    return success;
  });
}

EXPORT abi::status hipDeviceGetName(char* name, int bytes, abi::device of) {
  return call("hipDeviceGetName", static_cast<uint64_t>(of), 0, 0, [&](machine&, auto&) {
    std::snprintf(name, static_cast<size_t>(bytes), "fake device %d", of);
    return success;
  });
}

EXPORT abi::status hipMalloc(void** address, size_t bytes) {
  return call("hipMalloc", bytes, 0, 0, [&](machine& m, auto&) {
    *address = reinterpret_cast<void*>(m.allocate(bytes));
    return m.usable(current_context());
  });
}

EXPORT abi::status hipFree(void* address) {
  return call("hipFree", as_number(address), 0, 0,
              [&](machine& m, auto&) { return m.deallocate(as_number(address)); });
}

EXPORT abi::status hipMemsetD32Async(void* address, int value, size_t count, abi::stream on) {
  return call("hipMemsetD32Async", as_number(address), static_cast<uint64_t>(value), count,
              [&](machine& m, auto&) {
                return on_stream(m, on, [&](stream* s) {
                  return m.fill(s, as_number(address), static_cast<uint32_t>(value), count,
                                "hipMemsetD32Async");
                });
              });
}
