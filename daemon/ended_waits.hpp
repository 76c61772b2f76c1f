// Ended waits: what the executor's threads have to tell the node, without waking its thread.
//
// A completion goes to its client straight from the thread that found it. The node must hear of it
// before it reads anything that the client sent afterwards, and may hear of it as late as that: so
// nobody is woken for it, and an idle io thread stays idle while waits come and go.
//
//   executor thread:  put, then send the completions        io thread:  receive, then take
//
// Invariants: bounded by the waits that the node admitted, each of which is put once.
// Threads: put by any, take by the io thread. Blocking: the lock, for a copy's time.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "lib/core/delegated.hpp"

namespace gar {

class ended_waits {
 public:
  void put(const std::vector<wait_end>& ended) {
    const std::lock_guard hold(lock_);
    waiting_.insert(waiting_.end(), ended.begin(), ended.end());
    any_.store(true, std::memory_order_release);
  }

  // Calls see(const wait_end&) for each. What was put before a message left, and that message's
  // answer came back, is among them: the socket orders the two.
  template <class See>
  void take(See&& see) {
    if (!any_.load(std::memory_order_acquire)) return;
    {
      const std::lock_guard hold(lock_);
      taken_.swap(waiting_);
      any_.store(false, std::memory_order_relaxed);
    }
    for (const wait_end& e : taken_) see(e);
    taken_.clear();
  }

 private:
  std::mutex lock_;
  std::vector<wait_end> waiting_;
  std::vector<wait_end> taken_;  // the io thread's
  std::atomic<bool> any_ = false;
};

}  // namespace gar
