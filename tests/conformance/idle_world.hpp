// Worlds of the idle ports: each has a port, time, things that happen later, and what can end an
// idle there. The suite in idle_port_test.cpp runs in every one.
//
//   port()                  the idle port under test
//   now()                   its time
//   after(by, what)         does `what` when `by` has passed, while the port idles
//   request(), requested()  hands a request over; was one? (where has_requests)
//   ring()                  rings the doorbell (where has_bell)
//   finish()                waits until all of that has happened
//   absent()                why this world cannot be had on this host; empty: it can
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lib/linux/idle_doorbell.hpp"
#include "lib/linux/idle_ring.hpp"
#include "lib/linux/idle_words.hpp"
#include "lib/linux/reactor_waker.hpp"
#include "lib/linux/thread_timer.hpp"
#include "tests/core/virtual_world.hpp"

namespace gar::test {

// Real time: what happens later happens on a thread of its own.
class real_world {
 public:
  ~real_world() { GAR_ASSERT(threads_.empty()); }
  instant now() const { return steady_clock().now(); }
  void after(duration by, std::function<void()> what) {
    const instant at = now() + by;
    threads_.emplace_back([at, what = std::move(what)] {
      result<void> slept = thread_timer().sleep_until(at);
      (void)slept;
      what();
    });
  }
  // What was to happen later has happened, to its end. Before the port goes.
  void finish() {
    for (std::thread& t : threads_) t.join();
    threads_.clear();
  }
  std::string absent() const { return {}; }

 private:
  std::vector<std::thread> threads_;
};

// The requests of a real world: a flag that a reactor's thread looks at.
struct request_flag {
  const std::atomic<bool>* stored;
  bool operator()() const { return stored->load(std::memory_order_acquire); }
};

class words_world : public real_world {
 public:
  static constexpr bool has_requests = false;
  static constexpr bool has_bell = false;
  idle_words& port() { return port_; }

 private:
  idle_words port_;
};

class doorbell_world : public real_world {
 public:
  static constexpr bool has_requests = true;
  static constexpr bool has_bell = true;
  idle_doorbell<request_flag>& port() { return port_; }
  void request() {
    stored_.store(true, std::memory_order_release);
    waker_.wake();
  }
  bool requested() const { return stored_.load(); }
  void ring() { bell_.ring(7, 0, ++rung_); }

 private:
  doorbell bell_ = doorbell::make().value();
  state_page_owner state_ = state_page_owner::make().value();
  std::atomic<bool> stored_ = false;
  uint64_t rung_ = 0;
  idle_doorbell<request_flag> port_{bell_, state_, word_waiter(), request_flag{&stored_}};
  reactor_waker waker_{bell_, state_};
};

class ring_world : public real_world {
 public:
  static constexpr bool has_requests = true;
  static constexpr bool has_bell = true;
  ring_world() {
    result<deadline_ring> ring = deadline_ring::make();
    if (!ring) {
      absent_ = ring.error().text();
      return;
    }
    port_.emplace(bell_, state_, word_waiter(), request_flag{&stored_}, std::move(*ring));
    waker_.emplace(bell_, state_, port_->event_fd());
  }
  std::string absent() const { return absent_; }
  idle_ring<request_flag>& port() { return *port_; }
  void request() {
    stored_.store(true, std::memory_order_release);
    waker_->wake();
  }
  bool requested() const { return stored_.load(); }
  void ring() { bell_.ring(7, 0, ++rung_); }

 private:
  std::string absent_;
  doorbell bell_ = doorbell::make().value();
  state_page_owner state_ = state_page_owner::make().value();
  std::atomic<bool> stored_ = false;
  uint64_t rung_ = 0;
  std::optional<idle_ring<request_flag>> port_;
  std::optional<reactor_waker> waker_;
};

// The fake of the core's tests.
class scripted_world {
 public:
  static constexpr bool has_requests = true;
  static constexpr bool has_bell = false;
  instant now() const { return world_.now(); }
  void after(duration by, std::function<void()> what) {
    world_.at((now() - instant{}) + by, std::move(what));
  }
  void finish() {}
  std::string absent() const { return {}; }
  world_idle& port() { return port_; }
  void request() { script_.request = true; }
  bool requested() const { return script_.request; }

 private:
  virtual_world world_;
  idle_script script_{&world_, {}, false, 0, {}, 0, {100}};
  world_idle port_{&script_};
};

}  // namespace gar::test
