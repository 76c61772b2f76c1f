#include "lib/gpu/gpu_cuda.hpp"

#include <array>
#include <filesystem>

#include "lib/gpu/event_ops.hpp"

namespace gar {
namespace {

cuda::stream stream_of(void* handle) {
  return static_cast<cuda::stream>(handle);
}
cuda::event event_of(void* handle) {
  return static_cast<cuda::event>(handle);
}
cuda::context context_of(const domain_id& domain) {
  return static_cast<cuda::context>(domain.identity);
}

}  // namespace

std::string cuda_streams::domain_text(const domain_id& domain) const {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "context %p", domain.identity);
  return text.data();
}

std::string cuda_streams::store_remedy() const {
  std::error_code ignored;
  if (std::filesystem::exists("/dev/dxg", ignored)) {
    return "this is WSL, whose driver may have no stream memory operations";
  }
  return "stream memory operations may be switched off: load the kernel module nvidia with "
         "NVreg_EnableStreamMemOPs=1";
}

// ---- Where a thread is.

driver_status cuda_streams::make_current(const domain_id& domain, thread_state& before) const {
  cuda::context current = nullptr;
  if (cuda::status s = calls_.CtxGetCurrent(&current); s != cuda::success) {
    return {s, "cuCtxGetCurrent"};
  }
  if (current == context_of(domain)) return {};
  const cuda::status pushed = calls_.CtxPushCurrent(context_of(domain));
  before.domain_changed = pushed == cuda::success;
  return {pushed, "cuCtxPushCurrent_v2"};
}

driver_status cuda_streams::enter(const domain_id& domain, thread_state& before) const {
  cuda::capture_mode mode = cuda::capture_relaxed;
  if (cuda::status s = calls_.ThreadExchangeStreamCaptureMode(&mode); s != cuda::success) {
    return {s, "cuThreadExchangeStreamCaptureMode"};
  }
  before.capture_mode = mode;
  before.capture_changed = true;
  return domain ? make_current(domain, before) : driver_status{};
}

void cuda_streams::leave(const thread_state& before) const {
  if (before.domain_changed) {
    cuda::context popped = nullptr;
    (void)calls_.CtxPopCurrent(&popped);
  }
  if (before.capture_changed) {
    cuda::capture_mode mode = before.capture_mode;
    (void)calls_.ThreadExchangeStreamCaptureMode(&mode);
  }
}

// ---- Domains.

driver_status cuda_streams::current_domain(domain_id& current, bool with_device) const {
  cuda::context context = nullptr;
  if (cuda::status s = calls_.CtxGetCurrent(&context); s != cuda::success) {
    return {s, "cuCtxGetCurrent"};
  }
  current.identity = context;
  if (!context || !with_device) return {};
  return {calls_.CtxGetDevice(&current.device), "cuCtxGetDevice"};
}

driver_status cuda_streams::retain(int32_t device, domain_id& primary) const {
  cuda::context context = nullptr;
  const cuda::status retained = calls_.DevicePrimaryCtxRetain(&context, device);
  primary = {context, device};
  return {retained, "cuDevicePrimaryCtxRetain"};
}

driver_status cuda_streams::has_primary(int32_t device, bool& has) const {
  unsigned flags = 0;
  int active = 0;
  const cuda::status asked = calls_.DevicePrimaryCtxGetState(device, &flags, &active);
  has = active != 0;
  return {asked, "cuDevicePrimaryCtxGetState"};
}

driver_status cuda_streams::release(const domain_id& primary) const {
  return {calls_.DevicePrimaryCtxRelease(primary.device), "cuDevicePrimaryCtxRelease_v2"};
}

driver_status cuda_streams::synchronize_domain() const {
  return {calls_.CtxSynchronize(), "cuCtxSynchronize"};
}

// ---- Streams.

stream_kind cuda_streams::kind_of(void* stream) const {
  const auto handle = reinterpret_cast<uintptr_t>(stream);
  if (handle == cuda::stream_per_thread) return stream_kind::default_of_thread;
  return handle <= cuda::stream_legacy ? stream_kind::default_of_domain : stream_kind::own;
}

driver_status cuda_streams::domain_of(void* stream, domain_id& owner) const {
  cuda::context context = nullptr;
  const cuda::status asked = calls_.StreamGetCtx(stream_of(stream), &context);
  owner = {context, -1};
  return {asked, "cuStreamGetCtx"};
}

driver_status cuda_streams::is_capturing(void* stream, bool& capturing) const {
  cuda::capture_status state = cuda::capture_none;
  const cuda::status asked = calls_.StreamIsCapturing(stream_of(stream), &state);
  capturing = state != cuda::capture_none;
  return {asked, "cuStreamIsCapturing"};
}

driver_status cuda_streams::query_stream(void* stream) const {
  return {calls_.StreamQuery(stream_of(stream)), "cuStreamQuery"};
}

driver_status cuda_streams::create_stream(void*& stream) const {
  cuda::stream created = nullptr;
  const cuda::status made = calls_.StreamCreate(&created, cuda::stream_non_blocking);
  stream = created;
  return {made, "cuStreamCreate"};
}

driver_status cuda_streams::destroy_stream(void* stream) const {
  return {calls_.StreamDestroy(stream_of(stream)), "cuStreamDestroy_v2"};
}

// ---- Events: without timing, which costs; with a synchronize that lets go of the CPU.

driver_status cuda_streams::create_event(void*& event) const {
  cuda::event created = nullptr;
  const cuda::status made =
      calls_.EventCreate(&created, cuda::event_blocking_sync | cuda::event_disable_timing);
  event = created;
  return {made, "cuEventCreate"};
}

driver_status cuda_streams::destroy_event(void* event) const {
  return {calls_.EventDestroy(event_of(event)), "cuEventDestroy_v2"};
}

driver_status cuda_streams::record_event(void* event, void* stream) const {
  return {calls_.EventRecord(event_of(event), stream_of(stream)), "cuEventRecord"};
}

driver_status cuda_streams::query_event(void* event) const {
  return {calls_.EventQuery(event_of(event)), "cuEventQuery"};
}

driver_status cuda_streams::synchronize_event(void* event) const {
  return {calls_.EventSynchronize(event_of(event)), "cuEventSynchronize"};
}

// ---- Host memory.

driver_status cuda_streams::register_page(void* host, uint64_t bytes) const {
  return {calls_.MemHostRegister(host, bytes, cuda::register_portable | cuda::register_device_map),
          "cuMemHostRegister_v2"};
}

driver_status cuda_streams::unregister_page(void* host) const {
  return {calls_.MemHostUnregister(host), "cuMemHostUnregister"};
}

driver_status cuda_streams::device_address(void* host, uint64_t& address) const {
  return {calls_.MemHostGetDevicePointer(&address, host, 0), "cuMemHostGetDevicePointer_v2"};
}

// ---- Stores. Their default flags put a fence before each, so it comes behind the stream's work
// and, in a batch, behind the one before it.

driver_status cuda_streams::store(void* stream, const device_store& one) const {
  return {calls_.StreamWriteValue64(stream_of(stream), one.address, one.value,
                                    cuda::write_value_default),
          "cuStreamWriteValue64_v2"};
}

driver_status cuda_streams::store_batch(void* stream, std::span<const device_store> stores) const {
  std::array<cuda::memory_operation, 2> operations{};
  GAR_ASSERT(stores.size() <= operations.size());
  for (size_t i = 0; i < stores.size(); ++i) {
    operations[i].operation = cuda::memory_operation_write_64;
    operations[i].address = stores[i].address;
    operations[i].value = stores[i].value;
    operations[i].flags = cuda::write_value_default;
  }
  return {calls_.StreamBatchMemOp(stream_of(stream), static_cast<unsigned>(stores.size()),
                                  operations.data(), 0),
          "cuStreamBatchMemOp_v2"};
}

// ---- The process's.

result<const cuda_streams*> cuda_streams::process() {
  result<const cuda_driver*> calls = cuda_driver::process();
  if (!calls) return calls.error();
  static const cuda_streams* const driver = new cuda_streams(**calls);
  return driver;
}

result<std::unique_ptr<event_stream>> open_cuda_stream(void* stream, make_scratch_page* scratch) {
  result<const cuda_streams*> driver = cuda_streams::process();
  if (!driver) return driver.error();
  static event_domains* const domains = new event_domains(**driver);
  return event_stream::open(*domains, stream, scratch);
}

const gar_device_ops* cuda_ops() {
  static const gar_device_ops ops = event_ops("cuda");
  return &ops;
}

}  // namespace gar
