// Service thread: the library's one thread, for what must go on while the program's threads are
// elsewhere: reading gard's socket, answering its probes, running asynchronous waits, sending
// outcomes.
//
//   absent -> (first need) running: turn, sleep, turn ... -> stopped
//
// A turn runs posted work, then serves the client (`serve` reads sockets and sends what is due),
// then runs the tasks that are ready. With nothing to wait for it sleeps in the kernel until a
// descriptor is readable, work is posted, or something is due: an idle client makes no wakeups.
//
// Invariants: whatever is posted before stop() runs. Descriptors are looked at in every turn,
// however many tasks are ready. Whoever stops it has cancelled every task before; stop() waits
// until the last has ended.
//
// Threads: post, await_turn, need_by and start by any, await_turn not by the thread itself; `host`,
// `take_ready` and what runs in a turn belong to the thread.
//
// Blocking: await_turn; stop. Allocation: none in a sleep, so that a program without memory keeps
// its thread, and none in await_turn.
//
// Errors: start: SystemCall. Work without memory is given up, and what a task throws is dropped.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "lib/core/error.hpp"
#include "lib/core/reactor.hpp"
#include "lib/linux/event_fd.hpp"
#include "lib/linux/readiness.hpp"
#include "lib/linux/steady_clock.hpp"

namespace gar::owner {

class service_thread {
 public:
  // What the client does in each turn. All are called by the thread alone.
  struct duties {
    // Reads descriptors that are ready and sends what is due; true: something was done.
    std::function<bool()> serve;
    // When something is due next; computed anew before each sleep.
    std::function<instant()> due;
    // Fills in the descriptors to watch, and says how many they are.
    std::function<size_t(std::span<watched_fd> into)> watched;
  };

  explicit service_thread(duties d) : duties_(std::move(d)) {}
  ~service_thread() { stop(); }
  service_thread(const service_thread&) = delete;
  service_thread& operator=(const service_thread&) = delete;

  result<void> start();
  bool running() const { return running_.load(std::memory_order_acquire); }
  // Not from the thread itself.
  void stop();

  void post(std::function<void()> work);
  // Until what the thread was doing, and what was posted before, is done.
  void await_turn() noexcept;
  // Something is due by then: ends a sleep that would last longer.
  void need_by(instant due);

  reactor& host() { return reactor_; }
  // Did this descriptor end the last sleep? Asked and answered once.
  bool take_ready(int fd);
  duration cpu_time() const;

 private:
  class idle;

  void run();
  bool take_posts();
  void wait_until(instant until);
  void look(instant until);
  std::span<watched_fd> watched() { return {watched_.data(), watched_count_}; }
  bool woken();  // by a descriptor

  duties duties_;
  std::mutex start_lock_;
  std::atomic<bool> running_{false};
  std::thread thread_;
  std::optional<event_fd> kick_;

  std::mutex posts_lock_;
  std::vector<std::function<void()>> posts_;
  bool stopping_ = false;  // posts_lock_, as what follows
  uint64_t turns_asked_ = 0;
  uint64_t turns_begun_ = 0;  // of those
  std::condition_variable turn_begun_;
  std::atomic<uint64_t> sleeps_until_ns_{0};

  // The thread's own.
  reactor reactor_;
  steady_clock clock_;
  std::array<watched_fd, watched_fds_max> watched_;  // its own first
  size_t watched_count_ = 0;
  bool looked_ = false;  // since the last turn
};

}  // namespace gar::owner
