// Device stream: the verbs of one stream of a device, as the library calls them.
//
// A device is a C struct of function pointers, so that anything that runs work in order can join.
// Here its answers become results, with the vendor's call and status kept.
//
// Invariants: the operations are copied when the stream is opened; verbs that a device leaves out
// are asked for by `has_*` before they are called.
// Threads: as gar_device.h says. Blocking: block, poll and settle.
// Ownership: device and stream are the program's, and outlive this.
// Errors: Backend{call, status}, the status kept as os_number; of arm also what it refuses with.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "lib/core/error.hpp"
#include "lib/core/time.hpp"
#include "lib/port/gar_device.h"

namespace gar::owner {

class device_stream {
 public:
  // `why_no_stores` is given where the device records but stores nothing: then no word says when,
  // and waits have to poll.
  device_stream(std::shared_ptr<const gar_device_ops> ops, void* device, void* stream,
                std::string why_no_stores = {})
      : ops_(std::move(ops)),
        device_(device),
        stream_(stream),
        why_no_stores_(std::move(why_no_stores)) {}

  const std::shared_ptr<const gar_device_ops>& ops() const { return ops_; }
  void* device() const { return device_; }
  bool stores() const { return why_no_stores_.empty(); }
  const std::string& why_no_stores() const { return why_no_stores_; }

  // Backend, which makes the stream fail; or what the device refuses this one record with.
  result<void> arm(uint64_t sequence, const gar_device_store& word,
                   const gar_device_store* bell) const;
  result<bool> query(uint64_t sequence) const;
  bool has_block() const { return ops_->block != nullptr; }
  result<bool> block(uint64_t sequence, duration timeout) const;
  bool has_poll() const { return ops_->poll != nullptr; }
  result<bool> poll(uint64_t sequence, duration timeout) const;
  bool has_park() const { return ops_->park != nullptr; }
  bool park(const uint64_t& word, uint64_t target, duration bound) const;
  // Is all its work covered by records? false: perhaps not.
  result<bool> idle() const;
  result<void> settle() const;

 private:
  std::shared_ptr<const gar_device_ops> ops_;
  void* device_;
  void* stream_;
  std::string why_no_stores_;
};

// What a device said about a call that failed.
error backend_error(const gar_device_failure& failure);

}  // namespace gar::owner
