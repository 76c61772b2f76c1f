// A program's CUDA or HIP stream as a device of the port: stores behind its work wake the waiters,
// an event per record is the authority.
//
// Model: one record enqueues, behind all work of the stream so far,
//
//     event e(n) := recorded     then   word := n, then   bell := value
//
// e(n) done means that the work is done, whether or not the stores have landed; the word is only a
// reason to ask. An event is queried in its own domain with the thread's capture mode relaxed, so
// that asking never disturbs a graph capture of the program.
//
//   open -> recording -> a record failed: no further one is made, earlier ones can be asked for
//                     -> the authority failed: every later call repeats what it said
//
//   default_of_thread (handle 2) belongs to the first thread that records on it; on another thread
//   the same handle is another stream. No default stream is ever queried or synchronized itself.
//
// Where the driver takes no stores or they do not arrive (`stores()` says why) a record is its
// event alone; nobody is woken, and waits have to poll.
//
// `block` is the vendor's own blocking wait where there is no timeout, since that knows none; else
// a query every so often, with pauses that grow to 1 ms.
//
// Invariants: an event is used again only after its number, or a later one, was seen done. A
// record that is refused has enqueued nothing.
// Threads: any; `arm` and `settle` are never called at the same time as each other. Blocking:
// block, poll, settle; query on a thread that is not impatient (patient_thread.hpp), where the
// driver's own may; open, while the driver probes.
// Ownership: the program's stream outlives this; pages mapped through it may outlive it. Each holds
// the domain, and through it the reference to the vendor's.
// Errors: of open: NoDomain, ForeignStream, Backend, SystemCall. Of arm: GAR_REFUSED with
// Capturing, NoDomain, ForeignStream or LimitRecords, or GAR_FAILED with the driver's status.
// Does not: make a driver call once the process is exiting: then queries pend and settle fails.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "lib/core/error.hpp"
#include "lib/gpu/event_domain.hpp"
#include "lib/gpu/event_ring.hpp"
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
  int query(uint64_t sequence, gar_device_failure* failure);
  int block(uint64_t sequence, uint64_t timeout_ns, gar_device_failure* failure);
  int poll(uint64_t sequence, uint64_t timeout_ns, gar_device_failure* failure);
  int idle(gar_device_failure* failure);
  int settle(gar_device_failure* failure);

 private:
  struct first_failure {
    int32_t status;
    std::string call;
    std::string text;
  };
  // A mapping that this stream's stores go to, and the last of them.
  struct store_target {
    unproven_count unproven;
    uint64_t last;
  };

  event_stream(std::shared_ptr<event_domain> domain, void* handle, probed_store stores);

  // ---- Recording.
  int refuse_elsewhere(gar_device_failure* failure);
  int refuse_capturing(gar_device_failure* failure);
  int make_room(gar_device_failure* failure);
  driver_status take_event(event_ring::slot*& taken);
  driver_status enqueue(event_ring::slot& in, const gar_device_store& word,
                        const gar_device_store* bell);
  driver_status enqueue_stores(const gar_device_store& word, const gar_device_store* bell);
  void aim(const gar_device_store& store, uint64_t sequence);  // state_ held

  // ---- Asking.
  std::optional<int> known(uint64_t sequence, gar_device_failure* failure);  // state_ held
  int query_here(uint64_t sequence, gar_device_failure* failure);
  int query_elsewhere(uint64_t sequence, gar_device_failure* failure);
  int wait_by_query(uint64_t sequence, uint64_t timeout_ns, gar_device_failure* failure);
  int learn(const event_ring::record& asked, const driver_status& answer,
            gar_device_failure* failure);
  std::optional<event_ring::record> pin(uint64_t sequence);
  void prove_before(uint64_t sequence);  // state_ held
  void prove_all();                      // state_ held

  // ---- Settling.
  int settle_behind(gar_device_failure* failure);
  int settle_by_word(gar_device_failure* failure);

  int fail_record(const driver_status& status, gar_device_failure* failure);
  int fail(const driver_status& status, gar_device_failure* failure);
  int note(std::optional<first_failure>& first, const driver_status& status,
           gar_device_failure* failure);
  static int repeat(const first_failure& first, gar_device_failure* failure);

  const std::shared_ptr<event_domain> domain_;
  const stream_driver& driver_;
  void* const handle_;
  const stream_kind kind_;
  const probed_store stores_;
  void* settle_event_ = nullptr;

  std::mutex state_;
  event_ring ring_;
  std::optional<first_failure> record_failure_;
  std::optional<first_failure> failure_;   // the authority's
  bool touched_ = false;                   // something was enqueued, perhaps in part
  std::optional<std::thread::id> thread_;  // of a thread's default stream
  std::vector<store_target> targets_;
  const uint64_t* last_word_ = nullptr;
  bool asked_elsewhere_ = false;
  std::condition_variable answered_;
};

}  // namespace gar
