// CUDA streams as devices of the port: the store is a stream memory operation, the authority an
// event.
//
// Everything that CUDA shares with HIP is in event_stream.hpp; here is what is CUDA's own.
//
//   domain   the primary context of the device of the context that is current when a stream is
//            opened; no context of ours is ever made, and no flag of the device touched
//   handles  0 and 1 are the legacy default stream of the current context, 2 the calling thread's
//   record   cuEventRecord, then word and bell in one cuStreamBatchMemOp_v2 (two
//            cuStreamWriteValue64_v2 where the driver has no batches); before them only looks:
//            which context is current, is the stream being captured
//
// Threads, blocking, errors: as event_stream.hpp. Does not: check that a handle is a live stream.
#pragma once

#include <memory>
#include <string>

#include "lib/core/error.hpp"
#include "lib/gpu/cuda_driver.hpp"
#include "lib/gpu/event_stream.hpp"
#include "lib/gpu/stream_driver.hpp"
#include "lib/port/gar_device.h"

namespace gar {

class cuda_streams final : public stream_driver {
 public:
  // `calls` outlives this.
  explicit cuda_streams(const cuda_driver& calls) : calls_(calls) {}
  // The process's own, which stays for its life. Errors: Unavailable.
  static result<const cuda_streams*> process();

  const cuda_driver& calls() const { return calls_; }

  const char* name() const override { return "cuda"; }
  std::string text_of(int32_t status) const override { return calls_.text_of(status); }
  std::string domain_text(const domain_id& domain) const override;
  std::string store_remedy() const override;
  bool query_may_block() const override { return false; }

  bool pending(int32_t status) const override { return status == cuda::not_ready; }
  bool may_be_memory_limit(int32_t status) const override {
    return status == cuda::out_of_memory || status == cuda::operating_system;
  }
  bool refused_by_capture(int32_t status) const override {
    return status >= cuda::capture_first && status <= cuda::capture_last &&
           status != cuda::captured_event;
  }
  bool domain_is_gone(int32_t status) const override {
    return status == cuda::context_is_destroyed || status == cuda::invalid_context;
  }
  bool already_registered(int32_t status) const override {
    return status == cuda::host_memory_already_registered;
  }

  driver_status enter(const domain_id& domain, thread_state& before) const override;
  void leave(const thread_state& before) const override;
  driver_status make_current(const domain_id& domain, thread_state& before) const override;
  void forget_error() const override {}  // the driver's own interface keeps none

  driver_status current_domain(domain_id& current, bool with_device) const override;
  driver_status retain(int32_t device, domain_id& primary) const override;
  driver_status has_primary(int32_t device, bool& has) const override;
  driver_status release(const domain_id& primary) const override;
  driver_status synchronize_domain() const override;

  stream_kind kind_of(void* stream) const override;
  driver_status domain_of(void* stream, domain_id& owner) const override;
  driver_status is_capturing(void* stream, bool& capturing) const override;
  driver_status query_stream(void* stream) const override;
  driver_status create_stream(void*& stream) const override;
  driver_status destroy_stream(void* stream) const override;

  driver_status create_event(void*& event) const override;
  driver_status destroy_event(void* event) const override;
  driver_status record_event(void* event, void* stream) const override;
  driver_status query_event(void* event) const override;
  driver_status synchronize_event(void* event) const override;

  driver_status register_page(void* host, uint64_t bytes) const override;
  driver_status unregister_page(void* host) const override;
  driver_status device_address(void* host, uint64_t& address) const override;

  driver_status store(void* stream, const device_store& one) const override;
  bool has_batches() const override { return calls_.StreamBatchMemOp; }
  driver_status store_batch(void* stream, std::span<const device_store> stores) const override;

 private:
  const cuda_driver& calls_;
};

// Opens a CUDA stream through the process's driver. `stream` is a CUstream or a cudaStream_t.
// Errors: Unavailable, NoDomain, ForeignStream, Backend, SystemCall.
result<std::unique_ptr<event_stream>> open_cuda_stream(void* stream, make_scratch_page* scratch);

// The port over event streams of CUDA: `device` is a device_key(), `stream` an event_stream*.
const gar_device_ops* cuda_ops();

}  // namespace gar
