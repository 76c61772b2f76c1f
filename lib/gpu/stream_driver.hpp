// What event streams need of a vendor's driver, in one vocabulary for all vendors.
//
// CUDA and HIP differ in names, in what they call a context, and in what they leave behind on a
// thread; how a stream of theirs is recorded and awaited does not. So that is written once
// (event_stream.hpp), over this.
//
//   domain   what a stream belongs to and host memory is registered with: a CUDA context, a HIP
//            device's primary context
//   kind     of a stream handle: `own` names one stream; `default_of_domain` (0, 1) the default
//            stream of whatever domain is current; `default_of_thread` (2) one per thread, too
//
// Threads: any. Blocking: the calls named synchronize; query_* where `query_may_block`.
// Errors: a driver_status; `pending` and `refused_by_capture` tell the two that are none.
// Does not: remember anything about streams, pages or domains.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace gar {

// What a call of the vendor's answered, and its name; true where that was success.
struct driver_status {
  int32_t number = 0;
  const char* call = "";

  explicit operator bool() const { return number == 0; }
};

struct domain_id {
  void* identity = nullptr;  // null: none
  int32_t device = 0;

  bool operator==(const domain_id& other) const { return identity == other.identity; }
  explicit operator bool() const { return identity != nullptr; }
};

enum class stream_kind : uint8_t { own, default_of_domain, default_of_thread };

// One 8-byte store as the device sees it.
struct device_store {
  uint64_t address = 0;
  uint64_t value = 0;
};

// What a thread had before a call of ours, to be put back behind it.
struct thread_state {
  int32_t device = 0;
  uint32_t capture_mode = 0;
  bool domain_changed = false;
  bool capture_changed = false;
  bool error_is_ours = false;  // there was none: one that is there afterwards is of our making
};

class stream_driver {
 public:
  virtual ~stream_driver() = default;

  virtual const char* name() const = 0;  // "cuda"
  // "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered"
  virtual std::string text_of(int32_t status) const = 0;
  virtual std::string domain_text(const domain_id& domain) const = 0;
  // Why stores may not work although the driver is there, for a person who can act.
  virtual std::string store_remedy() const = 0;
  // May a register_page have been refused with this because the process may not lock more memory?
  virtual bool may_be_memory_limit(int32_t status) const = 0;
  // May query_event and query_stream take long?
  virtual bool query_may_block() const = 0;

  virtual bool pending(int32_t status) const = 0;
  // The call was not permitted because a stream is being captured; nothing is wrong otherwise, and
  // it may be made again later.
  virtual bool refused_by_capture(int32_t status) const = 0;
  // The domain, and all that was made in it, is gone.
  virtual bool domain_is_gone(int32_t status) const = 0;
  virtual bool already_registered(int32_t status) const = 0;

  // Puts a thread where a call of the library's own may be made: no graph capture of the program is
  // disturbed by it, and `domain`, where there is one, is current. `leave` puts back what was, and
  // takes away an error that a call in between has left on the thread.
  virtual driver_status enter(const domain_id& domain, thread_state& before) const = 0;
  virtual void leave(const thread_state& before) const = 0;
  // The same for the domain alone, for calls on the program's behalf; if one of them failed,
  // `forget_error` takes away what it left.
  virtual driver_status make_current(const domain_id& domain, thread_state& before) const = 0;
  virtual void forget_error() const = 0;

  // The calling thread's; its identity is null where there is none. The device is asked for only
  // with `with_device`.
  virtual driver_status current_domain(domain_id& current, bool with_device) const = 0;
  // Takes a reference to the primary domain of a device.
  virtual driver_status retain(int32_t device, domain_id& primary) const = 0;
  // Is there one, or would retaining make it?
  virtual driver_status has_primary(int32_t device, bool& has) const = 0;
  virtual driver_status release(const domain_id& primary) const = 0;
  virtual driver_status synchronize_domain() const = 0;

  virtual stream_kind kind_of(void* stream) const = 0;
  virtual driver_status domain_of(void* stream, domain_id& owner) const = 0;
  virtual driver_status is_capturing(void* stream, bool& capturing) const = 0;
  virtual driver_status query_stream(void* stream) const = 0;
  virtual driver_status create_stream(void*& stream) const = 0;
  virtual driver_status destroy_stream(void* stream) const = 0;

  virtual driver_status create_event(void*& event) const = 0;
  virtual driver_status destroy_event(void* event) const = 0;
  virtual driver_status record_event(void* event, void* stream) const = 0;
  virtual driver_status query_event(void* event) const = 0;
  virtual driver_status synchronize_event(void* event) const = 0;

  // Writable, for all devices of the process.
  virtual driver_status register_page(void* host, uint64_t bytes) const = 0;
  virtual driver_status unregister_page(void* host) const = 0;
  virtual driver_status device_address(void* host, uint64_t& address) const = 0;

  // Enqueues one store behind all work of the stream.
  virtual driver_status store(void* stream, const device_store& one) const = 0;
  // Enqueues one or two, in order, in one call.
  virtual bool has_batches() const = 0;
  virtual driver_status store_batch(void* stream, std::span<const device_store> stores) const = 0;
};

// What to tell a person of a page that could not be registered.
inline std::string text_of_unregistered(const stream_driver& driver, int32_t status) {
  const std::string text = driver.text_of(status);
  if (!driver.may_be_memory_limit(status)) return text;
  return "RLIMIT_MEMLOCK (ulimit -l) may be too low; " + text;  // first, as a field may cut the end
}

// A place for calls of the library's own, for as long as it lives.
class driver_place {
 public:
  driver_place(const stream_driver& driver, const domain_id& domain)
      : driver_(driver), entered_(driver.enter(domain, before_)) {}
  ~driver_place() { driver_.leave(before_); }
  driver_place(const driver_place&) = delete;
  driver_place& operator=(const driver_place&) = delete;

  const driver_status& entered() const { return entered_; }

 private:
  const stream_driver& driver_;
  thread_state before_;
  driver_status entered_;
};

}  // namespace gar
