// Deadline ring: an io_uring in which a thread sleeps to a deadline or until an eventfd is written.
//
// The deadline is one IORING_OP_TIMEOUT with ns resolution, absolute on CLOCK_MONOTONIC. The wake
// is a poll of the ring's own eventfd in the same ring. A sleep is one system call.
//
//   timer   none -> pending(deadline) -> fired | removed
//   poll    none -> armed -> fired (its eventfd is emptied) -> none
//
// Invariants: at most one timer is pending, and one that a sleep left behind is kept where the next
// deadline is the same, else removed in the same system call that starts the next. The ring is set
// up with neither DEFER_TASKRUN nor COOP_TASKRUN, so that a completion interrupts a hardware park.
// A ring whose system call fails later is left, and sleeping goes on by ppoll on the eventfd.
// Where the kernel has IORING_OP_FUTEX_WAIT (Linux 6.7) a futex wake on one word ends a sleep too,
// so that who cannot write the eventfd reaches the sleeper.
// Threads: one at a time, except event_fd, which any may write to. Blocking: sleep.
// Ownership: ring and eventfd are the object's; the eventfd is shared with nobody else, so its
// writers never block. Allocation: at setup. Errors: make gives SystemCall{"io_uring_setup", ...}.
#pragma once

#include <liburing.h>

#include <memory>

#include "lib/core/error.hpp"
#include "lib/core/time.hpp"
#include "lib/linux/unique_fd.hpp"

namespace gar {

class deadline_ring {
 public:
  static result<deadline_ring> make();

  // Where a waker writes. Non-blocking.
  int event_fd() const { return event_.get(); }

  // Empty where every operation that is used here is known to the kernel, else the first that is
  // not.
  const char* missing_operation() const;

  // Is this kernel's ring one that a futex wake ends the sleep of?
  bool wakes_by_futex() const { return futex_known_ && !failed_; }
  // Where it is: a sleep ends when somebody wakes `word`, and does not begin unless it says
  // `asleep`. The word outlives the ring's last sleep.
  void sleep_on(const uint32_t& word, uint32_t asleep) {
    word_ = &word;
    asleep_ = asleep;
  }

  enum class slept : uint8_t { to_deadline, to_event, interrupted };
  slept sleep(instant until);

  // A completion waits: one load, no system call.
  bool has_completions() const;
  // Takes the completions in; true when the eventfd was written, or the word woken, among them.
  bool take_completions();

 private:
  struct ring_end {
    void operator()(io_uring* ring) const {
      ::io_uring_queue_exit(ring);
      delete ring;
    }
  };
  deadline_ring(std::unique_ptr<io_uring, ring_end> ring, unique_fd event)
      : event_(std::move(event)), ring_(std::move(ring)) {}

  void prepare_timer(instant until);
  void prepare_poll();
  void prepare_futex(const uint32_t& word, uint32_t expected);
  bool try_futex();
  void empty_event();
  slept sleep_without_ring(instant until);

  unique_fd event_;  // before the ring, which polls it
  std::unique_ptr<io_uring, ring_end> ring_;
  __kernel_timespec deadline_{};
  instant timer_at_ = instant::never();  // never: no timer is pending
  uint64_t timer_number_ = 0;
  bool poll_armed_ = false;
  const uint32_t* word_ = nullptr;
  uint32_t asleep_ = 0;
  bool futex_known_ = false;
  bool futex_armed_ = false;
  bool failed_ = false;
};

}  // namespace gar
