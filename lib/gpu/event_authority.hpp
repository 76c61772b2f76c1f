// Is the work of a stream done, as its events say: the authority of every recorded number.
//
// A stream's own query answers for all of its work, so an earlier number could never be done while
// later work runs. So each record has an event of its own, and this asks those events: in their own
// domain and with the thread's capture mode relaxed, so that asking never disturbs a graph capture
// of the program.
//
//   take -> (the stream records it) -> publish -> pending -> done, or failed: the authority failed,
//        -> give_back                                         and every later call repeats that
//
// `block` is the vendor's own blocking wait where there is no timeout, since that knows none; else
// a query every so often, with pauses that grow to 1 ms.
//
// Invariants: an event is used again only after its number, or a later one, was seen done. What was
// seen done stays so, whatever fails later.
// Threads: any; take, give_back, aim, publish and landed by one at a time, which records. Blocking:
// block, poll; query on a thread that is not impatient (patient_thread.hpp), where the driver's own
// may; the destructor, for a query that the patient thread is still making.
// Ownership: holds its domain; the events are its own.
// Errors: GAR_FAILED with the driver's status, or EINVAL where block or poll name a number that
// nothing recorded covers.
// Does not: make a driver call once the process is exiting: then everything pends.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "lib/gpu/event_domain.hpp"
#include "lib/gpu/event_ring.hpp"
#include "lib/gpu/first_failure.hpp"
#include "lib/gpu/stream_driver.hpp"
#include "lib/gpu/unproven_stores.hpp"
#include "lib/port/gar_device.h"

namespace gar {

class event_authority {
 public:
  explicit event_authority(std::shared_ptr<event_domain> domain)
      : domain_(std::move(domain)), driver_(domain_->all().driver()) {}
  ~event_authority();
  event_authority(const event_authority&) = delete;
  event_authority& operator=(const event_authority&) = delete;

  // ---- For whoever records.

  // The number to ask for first where there is no room for another record.
  std::optional<uint64_t> oldest_if_full();
  // An event that is free, or a new one.
  driver_status take(event_ring::slot*& taken);
  // Taken, but not recorded after all.
  void give_back(event_ring::slot* taken);
  // A store of `sequence` is about to be enqueued.
  void aim(const unproven_count& page, uint64_t sequence);
  // The event was recorded, and the stores behind it enqueued.
  void publish(uint64_t sequence, event_ring::slot* taken);
  // Something behind the last record, and its stores, is done.
  void landed();

  // ---- The port's verbs; see gar_device.h.

  int query(uint64_t sequence, gar_device_failure* failure);
  int block(uint64_t sequence, uint64_t timeout_ns, gar_device_failure* failure);
  int poll(uint64_t sequence, uint64_t timeout_ns, gar_device_failure* failure);

  // Must a query not be made on this thread?
  bool asks_elsewhere() const;
  // The driver has said no, but nothing is wrong: ask again.
  bool not_yet(const driver_status& status) const {
    return driver_.pending(status.number) || driver_.refused_by_capture(status.number);
  }
  // The driver's answer is a failure of the stream: notes it and repeats the first.
  int fail(const driver_status& status, gar_device_failure* failure);
  // What it said, once it has failed.
  std::optional<int> failed(gar_device_failure* failure);

 private:
  std::optional<int> known(uint64_t sequence, gar_device_failure* failure);  // lock_ held
  int query_here(uint64_t sequence, gar_device_failure* failure);
  int query_elsewhere(uint64_t sequence, gar_device_failure* failure);
  int wait_by_query(uint64_t sequence, uint64_t timeout_ns, gar_device_failure* failure);
  std::optional<int> pin(uint64_t sequence, event_ring::record& asked, gar_device_failure* failure);
  int learn(const event_ring::record& asked, const driver_status& answer,
            gar_device_failure* failure);

  const std::shared_ptr<event_domain> domain_;
  const stream_driver& driver_;

  std::mutex lock_;
  event_ring ring_;
  unproven_stores unproven_;
  first_failure failure_;
  bool asked_elsewhere_ = false;
  std::condition_variable answered_;
};

}  // namespace gar
