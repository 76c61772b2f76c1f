// The state page: gard tells every client whether its reactor is awake, and the plan generation.
//
// A requester spares a system call while the reactor is awake; while it is asleep one futex wake on
// this page's word ends the sleep. Only gard can write: the page is sealed against every writer but
// the mapping that gard made before.
//
//   reactor           awake -> asleep (announce_sleep) -> awake (announce_awake)
//   a waker in gard            asleep -> awake (take_wake: exactly one of many wins, and wakes)
//
// The announcement and the futex wait are two steps. A waker that can write the word changes it in
// between, and the kernel's comparison then refuses the sleep. A client cannot write it, so
// `state_page_view::wake_reactor` repeats its wake until the state has changed or a sleeper was
// woken.
//
// Memory order: announce_sleep stores, then a full fence, and the reactor looks at requests after
// it; requester_sees_sleep is a full fence, then the read, after the request was stored. One of the
// two sees the other.
// Threads: announcements by the reactor; take_wake and publish_generation by any thread of gard.
// Blocking: sleep and wake_reactor as named. Errors: those of memory_file.hpp.
#pragma once

#include <atomic>

#include "lib/linux/futex.hpp"
#include "lib/linux/memory_file.hpp"
#include "proto/pages.hpp"

namespace gar {

class state_page_owner {
 public:
  static result<state_page_owner> make();

  int fd() const { return fd_.get(); }
  size_t bytes() const { return map_.bytes(); }

  // The reactor's thread.
  void announce_sleep(uint32_t how = proto::reactor_asleep) {
    state().store(how, std::memory_order_release);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  void announce_awake() { state().store(proto::reactor_awake, std::memory_order_release); }
  // Blocks until somebody changed the state, a client woke it, or `until`.
  void sleep(instant until) const {
    futex_wait(page().reactor_state, proto::reactor_asleep, until);
  }

  // Any thread of gard, after its request is stored: does the reactor sleep?
  bool requester_sees_sleep() const {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return state().load(std::memory_order_relaxed) != proto::reactor_awake;
  }
  // Makes the state awake; true for the one caller who must now wake the sleeper.
  bool take_wake() {
    uint32_t asleep = state().load(std::memory_order_relaxed);
    return asleep != proto::reactor_awake &&
           state().compare_exchange_strong(asleep, proto::reactor_awake, std::memory_order_acq_rel,
                                           std::memory_order_relaxed);
  }
  // What a futex sleeper sleeps on.
  const uint32_t& word() const { return page().reactor_state; }
  void wake_sleeper() const { futex_wake(page().reactor_state); }

  void publish_generation(uint64_t generation) { proto::store_word(page().generation, generation); }

 private:
  state_page_owner(unique_fd fd, mapping map) : fd_(std::move(fd)), map_(std::move(map)) {}
  proto::state_page& page() const { return *static_cast<proto::state_page*>(map_.data()); }
  std::atomic_ref<uint32_t> state() const {
    return std::atomic_ref<uint32_t>(page().reactor_state);
  }
  unique_fd fd_;
  mapping map_;
};

// The client's side, read-only.
class state_page_view {
 public:
  static result<state_page_view> receive(unique_fd fd, size_t bytes);

  // After the request is stored: the reactor's state.
  uint32_t requester_sees() const {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return state();
  }
  bool requester_sees_sleep() const { return requester_sees() == proto::reactor_asleep; }
  // The same, where no futex wake reaches it: a `kick` message does.
  bool requester_must_kick() const { return requester_sees() == proto::reactor_asleep_message; }
  // Wakes a sleeping reactor. Yields a few times if it is between its announcement and its sleep.
  // false: it stayed there, preempted, longer than this tries; it may sleep over the request.
  bool wake_reactor() const;
  uint64_t generation() const { return proto::load_word(page().generation); }

 private:
  explicit state_page_view(mapping map) : map_(std::move(map)) {}
  const proto::state_page& page() const {
    return *static_cast<const proto::state_page*>(map_.data());
  }
  uint32_t state() const {
    auto& word = const_cast<uint32_t&>(page().reactor_state);
    return std::atomic_ref<uint32_t>(word).load(std::memory_order_acquire);
  }
  mapping map_;
};

}  // namespace gar
