// The ring as its client maps it: requests out, their ends in. The layout and the order of every
// step are in proto/ring.hpp.
//
// gard writes its part of it at any time, and a gard may be wrong: everything is read once, into
// values of our own, and an index or a tail that cannot be is an error, after which the ring is not
// used again. What a number means is for the caller to check.
//
// Threads: submissions, `take_end` and outcomes each by one at a time (the caller's lock); the rest
// by any. Blocking: sleep. Allocation: none after `receive`.
// Errors: MalformedMessage.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

#include "lib/core/error.hpp"
#include "lib/core/time.hpp"
#include "lib/linux/memory_file.hpp"
#include "lib/linux/unique_fd.hpp"
#include "proto/ring.hpp"

namespace gar {

class ring_client {
 public:
  // What the welcome carried: the ring's memory, and the read end of gard's pipe.
  static result<ring_client> receive(unique_fd memory, unique_fd pipe, uint32_t entries);
  ring_client(ring_client&& other) noexcept;

  uint32_t entries() const { return entries_; }

  // ---- Requests. Each needs room; the slot is the caller's.
  bool room() const;
  void submit_wait(uint16_t slot, const proto::ring_request& asked);
  void submit_point(uint16_t slot, uint32_t number, std::string_view name);
  void submit_cancel(uint16_t slot);
  // So many were submitted. Has gard taken the first `count`? A head that lies is gard's loss.
  uint64_t submitted() const { return submit_tail_; }
  bool taken(uint64_t count) const;

  // ---- Ends.
  struct end {
    uint32_t slot;
    proto::completion_entry entry;  // without cookie, and without the vendor's call
  };
  bool has_end() const { return complete_tail() != complete_head_.load(std::memory_order_relaxed); }
  result<std::optional<end>> take_end();

  // ---- Sleeping. Read the signal; say what is wanted; look for an end; sleep.
  uint32_t signal() const;
  void want(uint32_t bits) const;
  void sleep(uint32_t seen, instant until) const;
  // Ends the sleep of this process's threads, for good: gard raises the signal from a count of its
  // own, so that a raise by anybody else can hide a later one of gard's.
  void end_sleep() const;
  int pipe_fd() const { return pipe_.get(); }
  void drain_pipe() const;

  // ---- Outcomes.
  // false: there is no room now. gard sees those that were put when they are shown.
  bool put_outcome(const proto::outcome_entry& entry);
  void show_outcomes() const;
  // Those that gard has not taken, of those that were put.
  size_t outcomes() const;

 private:
  ring_client(unique_fd pipe, mapping map, uint32_t entries)
      : pipe_(std::move(pipe)), map_(std::move(map)), entries_(entries) {}

  std::byte* base() const { return static_cast<std::byte*>(map_.data()); }
  proto::ring_header& header() const { return *reinterpret_cast<proto::ring_header*>(base()); }
  proto::ring_slot& slot(uint32_t index) const;
  uint64_t complete_tail() const;
  void submit(uint16_t slot, uint16_t op);

  unique_fd pipe_;
  mapping map_;
  uint32_t entries_;
  uint64_t submit_tail_ = 0;
  uint64_t outcome_tail_ = 0;
  std::atomic<uint64_t> complete_head_{0};
};

}  // namespace gar
