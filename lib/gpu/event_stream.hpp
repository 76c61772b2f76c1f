// A program's CUDA or HIP stream as a device of the port: stores behind its work wake the waiters,
// an event per record is the authority.
//
// Model: one record enqueues, behind all work of the stream so far,
//
//     event e(n) := recorded     then   word := n, then   bell := value
//
// e(n) done means that the work is done, whether or not the stores have landed; the word is only a
// reason to ask. What the events say is event_authority.hpp's; here is what puts them there, and
// what waits for the last of them before a stream is let go.
//
//   open -> recording -> a record failed: no further one is made, earlier ones can be asked for
//                     -> the authority failed: every later call repeats what it said
//        -> settled
//
//   default_of_thread (handle 2) belongs to the first thread that records on it; on another thread
//   the same handle is another stream. No default stream is ever queried or synchronized itself.
//
// Where the driver takes no stores or they do not arrive (`stores()` says why) a record is its
// event alone; nobody is woken, and waits have to poll.
//
// Invariants: a record that is refused has enqueued nothing.
// Threads: any; one of `arm` and `settle` at a time, each of which sees what the one before did.
// Blocking: block, poll, settle; query on a thread that is not impatient (patient_thread.hpp),
// where the driver's own may; open, while the driver probes.
// Ownership: the program's stream outlives this; pages mapped through it may outlive it. Each holds
// the domain, and through it the reference to the vendor's.
// Errors: of open: NoDomain, ForeignStream, Backend, SystemCall. Of arm: GAR_REFUSED with
// Capturing, NoDomain, ForeignStream or LimitRecords, or GAR_FAILED with the driver's status.
// Does not: make a driver call once the process is exiting: then queries pend and settle fails.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "lib/core/error.hpp"
#include "lib/gpu/event_authority.hpp"
#include "lib/gpu/event_domain.hpp"
#include "lib/gpu/event_ring.hpp"
#include "lib/gpu/first_failure.hpp"
#include "lib/gpu/store_probe.hpp"
#include "lib/gpu/stream_driver.hpp"
#include "lib/port/gar_device.h"

namespace gar {

class event_stream {
 public:
  // `domains` outlives the stream and every page mapped through it.
  static result<std::unique_ptr<event_stream>> open(event_domains& domains, void* handle,
                                                    make_scratch_page* scratch);
  ~event_stream();
  event_stream(const event_stream&) = delete;
  event_stream& operator=(const event_stream&) = delete;

  // What `map` takes as its device: the same for all streams of one domain.
  void* device_key() const { return domain_.get(); }
  // way none: records store nothing, and why.
  const probed_store& stores() const { return stores_; }

  // The port's verbs; see gar_device.h.
  int arm(uint64_t sequence, const gar_device_store& word, const gar_device_store* bell,
          gar_device_failure* failure);
  int query(uint64_t sequence, gar_device_failure* failure) {
    return authority_.query(sequence, failure);
  }
  int block(uint64_t sequence, uint64_t timeout_ns, gar_device_failure* failure) {
    return authority_.block(sequence, timeout_ns, failure);
  }
  int poll(uint64_t sequence, uint64_t timeout_ns, gar_device_failure* failure) {
    return authority_.poll(sequence, timeout_ns, failure);
  }
  int idle(gar_device_failure* failure);
  int settle(gar_device_failure* failure);

 private:
  event_stream(std::shared_ptr<event_domain> domain, void* handle, probed_store stores);

  // ---- Recording.
  int make_room(gar_device_failure* failure);
  int refuse_elsewhere(gar_device_failure* failure);
  int refuse_capturing(gar_device_failure* failure);
  int record(uint64_t sequence, const gar_device_store& word, const gar_device_store* bell,
             gar_device_failure* failure);
  driver_status enqueue_stores(const gar_device_store& word, const gar_device_store* bell);
  void aim(const gar_device_store& store, uint64_t sequence);
  int fail_record(const driver_status& status, gar_device_failure* failure);

  // ---- Settling.
  int settle_behind(gar_device_failure* failure);
  int settle_by_word(gar_device_failure* failure);

  const std::shared_ptr<event_domain> domain_;
  const stream_driver& driver_;
  void* const handle_;
  const stream_kind kind_;
  const probed_store stores_;
  event_authority authority_;
  void* settle_event_ = nullptr;

  // What recording leaves for the next record and for settling.
  first_failure record_failure_;
  bool touched_ = false;                 // something was enqueued, perhaps in part
  uint64_t thread_ = 0;                  // of a thread's default stream; 0: none yet
  uint64_t last_ = 0;                    // the last number recorded, and
  const uint64_t* last_word_ = nullptr;  // where its store goes; null before the first
};

}  // namespace gar
