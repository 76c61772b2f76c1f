// Completion queue: asynchronous waits that have ended, until the program takes them.
//
//   reserve (gar_wait_async) -> put (the wait ended) -> take (gar_take)
//
// Invariants: at most 4096 are reserved and not taken, so `put` always finds room. The descriptor
// is readable exactly while something can be taken. Threads: any. Blocking: none. Allocation: up to
// its high-water mark. Errors: LimitWaits; SystemCall from `fd`.
#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <span>

#include "clients/garclient/gar.h"
#include "lib/core/error.hpp"
#include "lib/linux/event_fd.hpp"

namespace gar::owner {

class completion_queue {
 public:
  static constexpr size_t waits_max = 4096;

  // Room for one wait; its number.
  result<uint64_t> reserve();
  bool was_given(uint64_t ticket) const;
  void put(const gar_completion& ended);
  size_t take(std::span<gar_completion> into);
  // Belongs to the queue.
  result<int> fd();

 private:
  mutable std::mutex mutex_;
  uint64_t last_ticket_ = 0;
  size_t reserved_ = 0;
  std::deque<gar_completion> ended_;
  std::optional<event_fd> readable_;
};

}  // namespace gar::owner
