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
// A ring whose system call fails later is left, and sleeping goes on by ppoll on the eventfd; a
// mere lack of memory there is only waited out. Where the kernel has IORING_OP_FUTEX_WAIT
// (Linux 6.7) a futex wake on one word ends a sleep too, so that who cannot write the eventfd
// reaches the sleeper. Other requests can share the ring (socket_ring.hpp): a sleep also ends when
// one of them does, and starts with whatever of them was prepared, in its one system call. Threads:
// one at a time, except event_fd, which any may write to. Blocking: sleep. Ownership: ring and
// eventfd are the object's; the eventfd is shared with nobody else, so its writers never block.
// Allocation: at setup. Errors: make gives SystemCall{"io_uring_setup", ...}.
#pragma once

#include <liburing.h>

#include <memory>
#include <vector>

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
  bool wakes_by_futex() const { return futex_known_ && !failed(); }
  // Where it is: a sleep ends when somebody wakes `word`, and does not begin unless it says
  // `asleep`. The word outlives the ring's last sleep.
  void sleep_on(const uint32_t& word, uint32_t asleep) {
    word_ = &word;
    asleep_ = asleep;
  }

  // `to_event`: the eventfd was written, the word woken, or another request has ended.
  enum class slept : uint8_t { to_deadline, to_event, interrupted };
  slept sleep(instant until);

  // A completion waits, or the end of another request that was taken in and not looked at: loads,
  // no system call.
  bool has_completions() const;
  // Takes the completions in; true when the eventfd was written, or the word woken, among them.
  bool take_completions();

  // ---- Other requests.
  // The end of one.
  struct ended_request {
    uint64_t what;
    int32_t got;  // as the kernel said: a count, or an errno below 0
    uint32_t flags;
  };
  // An empty request, whose end will say `what`, which has 60 bits. What was prepared before is
  // submitted where there is no room. nullptr: the kernel takes none now.
  io_uring_sqe* prepare(uint64_t what);
  // Ends the request that says `of`, if it has not ended by itself; each of the two then ends.
  bool prepare_cancel(uint64_t of, uint64_t what);
  // One system call for all that was prepared; none, and false, for nothing.
  bool submit();
  // The ends that were taken in, in order; who looks at them empties it.
  std::vector<ended_request>& ended() { return ended_; }
  // The ring is left; what it was asked for never ends.
  bool failed() const { return failed_ != 0; }
  // The errno of what failed.
  int failure() const { return failed_; }
  io_uring* handle() { return ring_.get(); }

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
  slept wait_out_shortage(instant until);

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
  int failed_ = 0;
  std::vector<ended_request> ended_;
};

}  // namespace gar
