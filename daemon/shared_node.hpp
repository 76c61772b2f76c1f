// The node as two threads share it: the io thread and the reactor's.
//
// The node is one state machine and knows no thread. The io thread brings it frames, time and
// people's requests, the reactor's thread the requests that come by rings; each holds the lock
// while it calls. Nothing that waits, and no JSON, is done under it.
//
// Invariants: with the lock held, what has ended is told first (`with`). Effects are carried out in
// their order, by one thread at a time: the io thread, which whoever else made some tells by
// `effects_wait`; or, with the lock held, who found none waiting and nobody at it (`may_carry`).
// Threads: any. Blocking: for the lock; `try_with` never.
#pragma once

#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "daemon/ended_waits.hpp"
#include "lib/core/node.hpp"

namespace gar {

class shared_node {
 public:
  shared_node(node_options options, std::function<void()> effects_wait)
      : node_(std::move(options)), effects_wait_(std::move(effects_wait)) {}

  // Where the executor puts what has ended.
  ended_waits& ended() { return ended_; }

  // Who learns how late predicted sleeps end. Any thread, without the lock.
  sleep_lateness& sleeps() { return node_.sleeps(); }

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

  // With the lock held, by another thread than the io thread: may it call what makes effects and
  // carry them out itself? false: it is told when it may (`taken::resume`).
  bool may_carry() {
    deferred_ = io_carries_ || node_.has_effects();
    return !deferred_;
  }

  // The io thread's: what it carries out now, until it comes for more. With the last, nothing, it
  // learns whether the other thread waits to be told that it may carry.
  struct taken {
    std::vector<effect::any> effects;
    bool resume = false;
  };
  taken take_effects() {
    const std::lock_guard hold(lock_);
    take_ended();
    taken t{node_.take_effects()};
    io_carries_ = !t.effects.empty();
    if (!io_carries_) t.resume = std::exchange(deferred_, false);
    return t;
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
  bool io_carries_ = false;
  bool deferred_ = false;
  std::function<void()> effects_wait_;
};

}  // namespace gar
