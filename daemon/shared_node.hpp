// The node as two threads share it: the io thread and the reactor's.
//
// The node is one state machine and knows no thread. The io thread brings it frames, time and
// people's requests, the reactor's thread the requests that come by rings; each holds the lock
// while it calls. Nothing that waits, and no JSON, is done under it.
//
// Invariants: with the lock held, what has ended is told first (`with`); effects are carried out by
// the io thread alone, which whoever else made some tells by `effects_wait`.
// Threads: any. Blocking: for the lock; `try_with` never.
#pragma once

#include <functional>
#include <mutex>
#include <utility>

#include "daemon/ended_waits.hpp"
#include "lib/core/node.hpp"

namespace gar {

class shared_node {
 public:
  shared_node(node_options options, std::function<void()> effects_wait)
      : node_(std::move(options)), effects_wait_(std::move(effects_wait)) {}

  // Where the executor puts what has ended.
  ended_waits& ended() { return ended_; }

  // Calls act(node&), after the node knows of all that has ended.
  template <class Act>
  auto with(Act&& act) {
    const std::lock_guard hold(lock_);
    take_ended();
    return act(node_);
  }
  // The same by another thread than the io thread, which is told of effects. false: not now.
  template <class Act>
  bool try_with(Act&& act) {
    const std::unique_lock hold(lock_, std::try_to_lock);
    if (!hold) return false;
    call(act);
    return true;
  }
  template <class Act>
  void wait_with(Act&& act) {
    const std::lock_guard hold(lock_);
    call(act);
  }

 private:
  template <class Act>
  void call(Act&& act) {
    take_ended();
    act(node_);
    if (node_.has_effects()) effects_wait_();
  }
  void take_ended() {
    ended_.take([this](const wait_end& e) { node_.wait_ended(e); });
  }

  std::mutex lock_;
  ended_waits ended_;
  node node_;
  std::function<void()> effects_wait_;
};

}  // namespace gar
