#include "lib/gpu/gpu_hip.hpp"

#include "lib/gpu/event_ops.hpp"

namespace gar {
namespace {

hip::stream stream_of(void* handle) {
  return static_cast<hip::stream>(handle);
}
hip::event event_of(void* handle) {
  return static_cast<hip::event>(handle);
}

// A device has one primary context, so its number says which; null must stay "none".
domain_id domain_of_device(hip::device device) {
  return {reinterpret_cast<void*>(static_cast<uintptr_t>(device) + 1), device};
}

}  // namespace

std::string hip_streams::domain_text(const domain_id& domain) const {
  return "device " + std::to_string(domain.device);
}

std::string hip_streams::store_remedy() const {
  return "stream writes may not reach host memory on this platform: see the attribute "
         "hipDeviceAttributeCanUseStreamWaitValue, and whether the kernel's log says that PCIe "
         "atomics are missing";
}

// ---- Where a thread is.

driver_status hip_streams::make_current(const domain_id& domain, thread_state& before) const {
  hip::device current = 0;
  if (hip::status s = calls_.GetDevice(&current); s != hip::success) return {s, "hipGetDevice"};
  if (current == domain.device) return {};
  const hip::status set = calls_.SetDevice(domain.device);
  before.device = current;
  before.domain_changed = set == hip::success;
  return {set, "hipSetDevice"};
}

driver_status hip_streams::enter(const domain_id& domain, thread_state& before) const {
  before.error_is_ours = calls_.PeekAtLastError() == hip::success;
  hip::capture_mode mode = hip::capture_relaxed;
  if (hip::status s = calls_.ThreadExchangeStreamCaptureMode(&mode); s != hip::success) {
    return {s, "hipThreadExchangeStreamCaptureMode"};
  }
  before.capture_mode = mode;
  before.capture_changed = true;
  return domain ? make_current(domain, before) : driver_status{};
}

void hip_streams::leave(const thread_state& before) const {
  if (before.domain_changed) (void)calls_.SetDevice(before.device);
  if (before.capture_changed) {
    hip::capture_mode mode = before.capture_mode;
    (void)calls_.ThreadExchangeStreamCaptureMode(&mode);
  }
  if (before.error_is_ours && calls_.PeekAtLastError() != hip::success) forget_error();
}

// ---- Domains.

driver_status hip_streams::current_domain(domain_id& current, bool) const {
  hip::device device = 0;
  const hip::status asked = calls_.GetDevice(&device);
  current = asked == hip::success ? domain_of_device(device) : domain_id{};
  return {asked, "hipGetDevice"};
}

driver_status hip_streams::retain(int32_t device, domain_id& primary) const {
  hip::context context = nullptr;
  const hip::status retained = calls_.DevicePrimaryCtxRetain(&context, device);
  primary = domain_of_device(device);
  return {retained, "hipDevicePrimaryCtxRetain"};
}

driver_status hip_streams::release(const domain_id& primary) const {
  return {calls_.DevicePrimaryCtxRelease(primary.device), "hipDevicePrimaryCtxRelease"};
}

driver_status hip_streams::synchronize_domain() const {
  return {calls_.DeviceSynchronize(), "hipDeviceSynchronize"};
}

// ---- Streams.

stream_kind hip_streams::kind_of(void* stream) const {
  const auto handle = reinterpret_cast<uintptr_t>(stream);
  if (handle == hip::stream_per_thread) return stream_kind::default_of_thread;
  return handle <= hip::stream_legacy ? stream_kind::default_of_domain : stream_kind::own;
}

driver_status hip_streams::domain_of(void* stream, domain_id& owner) const {
  // The older of the two calls knows only streams that were created.
  if (kind_of(stream) != stream_kind::own) return current_domain(owner, true);
  hip::device device = 0;
  if (calls_.StreamGetDevice) {
    const hip::status asked = calls_.StreamGetDevice(stream_of(stream), &device);
    owner = domain_of_device(device);
    return {asked, "hipStreamGetDevice"};
  }
  device = calls_.GetStreamDeviceId(stream_of(stream));
  owner = domain_of_device(device);
  return {device >= 0 ? hip::success : hip::invalid_handle, "hipGetStreamDeviceId"};
}

driver_status hip_streams::is_capturing(void* stream, bool& capturing) const {
  hip::capture_status state = hip::capture_none;
  const hip::status asked = calls_.StreamIsCapturing(stream_of(stream), &state);
  capturing = state != hip::capture_none;
  return {asked, "hipStreamIsCapturing"};
}

driver_status hip_streams::query_stream(void* stream) const {
  return {calls_.StreamQuery(stream_of(stream)), "hipStreamQuery"};
}

driver_status hip_streams::create_stream(void*& stream) const {
  hip::stream created = nullptr;
  const hip::status made = calls_.StreamCreate(&created, hip::stream_non_blocking);
  stream = created;
  return {made, "hipStreamCreateWithFlags"};
}

driver_status hip_streams::destroy_stream(void* stream) const {
  return {calls_.StreamDestroy(stream_of(stream)), "hipStreamDestroy"};
}

// ---- Events: without timing, which costs; with a synchronize that lets go of the CPU.

driver_status hip_streams::create_event(void*& event) const {
  hip::event created = nullptr;
  const hip::status made =
      calls_.EventCreate(&created, hip::event_blocking_sync | hip::event_disable_timing);
  event = created;
  return {made, "hipEventCreateWithFlags"};
}

driver_status hip_streams::destroy_event(void* event) const {
  return {calls_.EventDestroy(event_of(event)), "hipEventDestroy"};
}

driver_status hip_streams::record_event(void* event, void* stream) const {
  return {calls_.EventRecord(event_of(event), stream_of(stream)), "hipEventRecord"};
}

driver_status hip_streams::query_event(void* event) const {
  return {calls_.EventQuery(event_of(event)), "hipEventQuery"};
}

driver_status hip_streams::synchronize_event(void* event) const {
  return {calls_.EventSynchronize(event_of(event)), "hipEventSynchronize"};
}

// ---- Host memory: never coarse-grained, whose writes nobody sees before a kernel ends.

driver_status hip_streams::register_page(void* host, uint64_t bytes) const {
  return {calls_.HostRegister(host, bytes, hip::register_portable | hip::register_mapped),
          "hipHostRegister"};
}

driver_status hip_streams::unregister_page(void* host) const {
  return {calls_.HostUnregister(host), "hipHostUnregister"};
}

driver_status hip_streams::device_address(void* host, uint64_t& address) const {
  void* seen = nullptr;
  const hip::status asked = calls_.HostGetDevicePointer(&seen, host, 0);
  address = reinterpret_cast<uintptr_t>(seen);
  return {asked, "hipHostGetDevicePointer"};
}

// ---- Stores.

driver_status hip_streams::store(void* stream, const device_store& one) const {
  return {calls_.StreamWriteValue64(stream_of(stream), reinterpret_cast<void*>(one.address),
                                    one.value, 0),
          "hipStreamWriteValue64"};
}

driver_status hip_streams::store_batch(void*, std::span<const device_store>) const {
  return {hip::not_supported, "hipStreamBatchMemOp"};  // never asked: has_batches() says no
}

// ---- The process's.

result<const hip_streams*> hip_streams::process() {
  result<const hip_driver*> calls = hip_driver::process();
  if (!calls) return calls.error();
  static const hip_streams* const driver = new hip_streams(**calls);
  return driver;
}

result<std::unique_ptr<event_stream>> open_hip_stream(void* stream, make_scratch_page* scratch) {
  result<const hip_streams*> driver = hip_streams::process();
  if (!driver) return driver.error();
  static event_domains* const domains = new event_domains(**driver);
  return event_stream::open(*domains, stream, scratch);
}

const gar_device_ops* hip_ops() {
  static const gar_device_ops ops = event_ops("hip");
  return &ops;
}

}  // namespace gar
