// HIP streams as devices of the port: the store is a stream write, the authority an event.
//
// Everything that HIP shares with CUDA is in event_stream.hpp; here is what is HIP's own.
//
//   domain   the primary context of the device that is current when a stream is opened
//   handles  0 and 1 are the default stream of the current device, 2 the calling thread's
//   record   hipEventRecord, then word and bell as two hipStreamWriteValue64: HIP has no batches
//   query    may block for long, so a thread that must not block has it made by another one
//   errors   every HIP call that fails leaves its status on the thread for hipGetLastError; what a
//            call of ours left is taken away, so that it does not surface in the program
//
// Threads, blocking, errors: as event_stream.hpp. Does not: check that a handle is a live stream.
#pragma once

#include <memory>
#include <string>

#include "lib/core/error.hpp"
#include "lib/gpu/event_stream.hpp"
#include "lib/gpu/hip_driver.hpp"
#include "lib/gpu/stream_driver.hpp"
#include "lib/port/gar_device.h"

namespace gar {

class hip_streams final : public stream_driver {
 public:
  // `calls` outlives this.
  explicit hip_streams(const hip_driver& calls) : calls_(calls) {}
  // The process's own, which stays for its life. Errors: Unavailable.
  static result<const hip_streams*> process();

  const hip_driver& calls() const { return calls_; }

  const char* name() const override { return "hip"; }
  std::string text_of(int32_t status) const override { return calls_.text_of(status); }
  std::string domain_text(const domain_id& domain) const override;
  std::string store_remedy() const override;
  bool query_may_block() const override { return true; }

  bool pending(int32_t status) const override { return status == hip::not_ready; }
  bool may_be_memory_limit(int32_t status) const override {
    return status == hip::out_of_memory || status == hip::invalid_value;
  }
  bool refused_by_capture(int32_t status) const override {
    return status >= hip::capture_first && status <= hip::capture_last &&
           status != hip::captured_event;
  }
  bool domain_is_gone(int32_t status) const override {
    return status == hip::context_is_destroyed || status == hip::invalid_context;
  }
  bool already_registered(int32_t status) const override {
    return status == hip::host_memory_already_registered;
  }

  driver_status enter(const domain_id& domain, thread_state& before) const override;
  void leave(const thread_state& before) const override;
  driver_status make_current(const domain_id& domain, thread_state& before) const override;
  void forget_error() const override { (void)calls_.GetLastError(); }

  driver_status current_domain(domain_id& current, bool with_device) const override;
  driver_status retain(int32_t device, domain_id& primary) const override;
  // A device always has one.
  driver_status has_primary(int32_t, bool& has) const override {
    has = true;
    return {};
  }
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
  bool has_batches() const override { return false; }
  driver_status store_batch(void* stream, std::span<const device_store> stores) const override;

 private:
  const hip_driver& calls_;
};

// Opens a HIP stream through the process's runtime. `stream` is a hipStream_t.
// Errors: Unavailable, NoDomain, ForeignStream, Backend, SystemCall.
result<std::unique_ptr<event_stream>> open_hip_stream(void* stream, make_scratch_page* scratch);

// The port over event streams of HIP: `device` is a device_key(), `stream` an event_stream*.
const gar_device_ops* hip_ops();

}  // namespace gar
