// Completion queue: asynchronous waits that have ended, until the program takes them.
//
//   reserve (gar_wait_async) -> put (the wait ended) -> take (gar_take)
//
// Who takes may find waits that have just ended and put them itself: during a taking the descriptor
// is not raised for what the taker is about to have anyway.
//
// The descriptor is an eventfd of the queue's own, or a pipe that gard writes to as well.
//
// Invariants: at most 4096 are reserved and not taken, and their room is there from `reserve` on,
// so `put` always finds it. Outside of a taking the descriptor is readable while something
// can be taken, and an eventfd only then. Threads: any. Blocking: none. Allocation: in `reserve`,
// up to its high-water mark. Errors: LimitWaits; SystemCall from `fd`.
#pragma once

#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "clients/garclient/gar.h"
#include "lib/core/error.hpp"
#include "lib/linux/event_fd.hpp"
#include "lib/linux/pipe_signal.hpp"

namespace gar::owner {

class completion_queue {
 public:
  static constexpr size_t waits_max = 4096;

  // Room for one wait; its number.
  result<uint64_t> reserve();
  // For a wait that never began.
  void give_back();
  bool was_given(uint64_t ticket) const;
  void put(const gar_completion& ended);
  // Ends with its object, whatever becomes of it.
  class taking {
   public:
    explicit taking(completion_queue& from) : from_(&from) { from.begin_taking(); }
    ~taking() { from_->end_taking(); }
    taking(const taking&) = delete;
    taking& operator=(const taking&) = delete;
    size_t take(std::span<gar_completion> into) { return from_->take(into); }

   private:
    completion_queue* from_;
  };
  // From now on what can be taken is shown in this pipe. Before the first fd().
  result<void> show_in(int pipe_read_end);
  // Belongs to the queue.
  result<int> fd();

 private:
  void begin_taking();
  void end_taking();
  size_t take(std::span<gar_completion> into);
  void show();  // mutex_ held

  mutable std::mutex mutex_;
  uint64_t last_ticket_ = 0;
  size_t reserved_ = 0;
  size_t takers_ = 0;
  std::vector<gar_completion> ended_;  // cyclic, a power of two
  size_t first_ = 0;
  size_t count_ = 0;
  std::optional<event_fd> readable_;
  std::optional<pipe_signal> pipe_;
  bool raised_ = false;
};

}  // namespace gar::owner
