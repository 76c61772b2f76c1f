#include "lib/linux/deadline_ring.hpp"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "lib/linux/steady_clock.hpp"
#include "lib/linux/system_call.hpp"

namespace gar {
namespace {

// Prepared at one time: by one sleep at most a removal, a timer, a poll and a futex wait; beside
// them whatever else shares the ring, which submits when it is full.
constexpr unsigned int ring_entries = 64;
constexpr unsigned int sleep_entries = 4;
// Completions beyond these wait in the kernel.
constexpr unsigned int completion_entries = 1024;

// How long a sleep lasts whose system call found no memory.
constexpr duration shortage_pause = from_ms(1);

// What a completion is of: the number of its timer above, what it is below.
enum class tag : uint64_t { timer = 1, removal = 2, poll = 3, futex = 4, other = 5 };
constexpr uint64_t tag_bits = 3;
constexpr uint64_t tag_mask = (uint64_t{1} << tag_bits) - 1;

// Newer than the headers that this is built with.
constexpr uint8_t op_futex_wait = 51;        // IORING_OP_FUTEX_WAIT
constexpr int futex_size_u32 = 0x02;         // FUTEX2_SIZE_U32, and not private
constexpr uint64_t futex_any = 0xffff'ffff;  // FUTEX_BITSET_MATCH_ANY
constexpr size_t sqe_addr3_offset = 48;

constexpr uint64_t user_data(tag what, uint64_t number = 0) {
  return number << tag_bits | static_cast<uint64_t>(what);
}

// Of an io_uring_enter: it is worth trying again.
bool is_shortage(int entered) {
  return entered == -EAGAIN || entered == -EBUSY || entered == -ENOMEM;
}

}  // namespace

result<deadline_ring> deadline_ring::make() {
  unique_fd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) return last_system_error("eventfd");
  auto ring = std::make_unique<io_uring>();
  io_uring_params how{};
  how.flags = IORING_SETUP_CQSIZE;
  how.cq_entries = completion_entries;
  const int refused = ::io_uring_queue_init_params(ring_entries, ring.get(), &how);
  if (refused < 0) return system_error("io_uring_setup", -refused);
  deadline_ring made(std::unique_ptr<io_uring, ring_end>(ring.release()), std::move(event));
  made.futex_known_ = made.try_futex();
  return made;
}

// A wait for a word that says something else ends at once, with EAGAIN where it is known.
bool deadline_ring::try_futex() {
  const uint32_t word = 0;
  prepare_futex(word, 1);
  io_uring_cqe* completion = nullptr;
  if (::io_uring_submit_and_wait(ring_.get(), 1) < 0) return false;
  if (::io_uring_peek_cqe(ring_.get(), &completion) != 0) return false;
  const bool known = completion->res == -EAGAIN;
  ::io_uring_cqe_seen(ring_.get(), completion);
  futex_armed_ = false;
  return known;
}

const char* deadline_ring::missing_operation() const {
  struct probe_end {
    void operator()(io_uring_probe* p) const { ::io_uring_free_probe(p); }
  };
  std::unique_ptr<io_uring_probe, probe_end> known(::io_uring_get_probe_ring(ring_.get()));
  if (!known) return "IORING_REGISTER_PROBE";
  constexpr std::pair<int, const char*> used[] = {
      {IORING_OP_TIMEOUT, "IORING_OP_TIMEOUT"},
      {IORING_OP_TIMEOUT_REMOVE, "IORING_OP_TIMEOUT_REMOVE"},
      {IORING_OP_POLL_ADD, "IORING_OP_POLL_ADD"},
      {IORING_OP_RECVMSG, "IORING_OP_RECVMSG"},
      {IORING_OP_SENDMSG, "IORING_OP_SENDMSG"},
      {IORING_OP_ASYNC_CANCEL, "IORING_OP_ASYNC_CANCEL"},
  };
  for (const auto& [operation, name] : used) {
    if (!::io_uring_opcode_supported(known.get(), operation)) return name;
  }
  return nullptr;
}

deadline_ring::slept deadline_ring::sleep(instant until) {
  // Written after the sleeper said that it sleeps, and met by a poll of an earlier sleep.
  if (take_completions()) return slept::to_event;
  if (!ended_.empty()) return slept::to_event;
  if (failed()) return sleep_without_ring(until);
  if (::io_uring_sq_space_left(ring_.get()) < sleep_entries) submit();
  if (::io_uring_sq_space_left(ring_.get()) < sleep_entries) return wait_out_shortage(until);
  prepare_timer(until);
  prepare_poll();
  if (futex_known_ && word_) prepare_futex(*word_, asleep_);
  for (;;) {
    const int entered = ::io_uring_submit_and_wait(ring_.get(), 1);
    if (take_completions() || !ended_.empty()) return slept::to_event;
    if (until != instant::never() && timer_at_ == instant::never()) return slept::to_deadline;
    if (entered == -EINTR) return slept::interrupted;
    if (is_shortage(entered)) return wait_out_shortage(until);
    if (entered < 0) {
      // The sleep was announced as one that a futex wake ends: the next one is not.
      failed_ = -entered;
      return slept::interrupted;
    }
    // What came was the end of an earlier timer.
  }
}

bool deadline_ring::has_completions() const {
  return !ended_.empty() || ::io_uring_cq_ready(ring_.get()) > 0;
}

bool deadline_ring::take_completions() {
  bool event_written = false;
  io_uring_cqe* completion = nullptr;
  while (::io_uring_peek_cqe(ring_.get(), &completion) == 0) {
    const uint64_t what = completion->user_data;
    const int32_t got = completion->res;
    const uint32_t flags = completion->flags;
    ::io_uring_cqe_seen(ring_.get(), completion);
    if (what == user_data(tag::timer, timer_number_)) timer_at_ = instant::never();
    if ((what & tag_mask) == static_cast<uint64_t>(tag::other)) {
      ended_.push_back({what >> tag_bits, got, flags});
    }
    if (what == user_data(tag::futex)) {
      futex_armed_ = false;
      event_written = true;
    }
    if (what == user_data(tag::poll)) {
      poll_armed_ = false;
      event_written = true;
      empty_event();
    }
  }
  return event_written;
}

io_uring_sqe* deadline_ring::prepare(uint64_t what) {
  io_uring_sqe* entry = ::io_uring_get_sqe(ring_.get());
  if (!entry) {
    submit();
    entry = ::io_uring_get_sqe(ring_.get());
  }
  if (entry) {
    // What stands there is of an earlier request.
    std::memset(entry, 0, sizeof(*entry));
    ::io_uring_sqe_set_data64(entry, user_data(tag::other, what));
  }
  return entry;
}

bool deadline_ring::prepare_cancel(uint64_t of, uint64_t what) {
  io_uring_sqe* entry = prepare(what);
  if (!entry) return false;
  ::io_uring_prep_cancel64(entry, user_data(tag::other, of), 0);
  return true;
}

bool deadline_ring::submit() {
  if (failed() || ::io_uring_sq_ready(ring_.get()) == 0) return false;
  const int entered = ::io_uring_submit(ring_.get());
  if (entered < 0 && entered != -EINTR && !is_shortage(entered)) failed_ = -entered;
  return entered > 0;
}

void deadline_ring::prepare_timer(instant until) {
  if (timer_at_ == until) return;
  if (timer_at_ != instant::never()) {
    io_uring_sqe* removal = ::io_uring_get_sqe(ring_.get());
    GAR_ASSERT(removal);
    ::io_uring_prep_timeout_remove(removal, user_data(tag::timer, timer_number_), 0);
    ::io_uring_sqe_set_data64(removal, user_data(tag::removal));
    timer_at_ = instant::never();
  }
  if (until == instant::never()) return;
  const timespec at = to_timespec(until);
  deadline_ = {at.tv_sec, at.tv_nsec};
  io_uring_sqe* timer = ::io_uring_get_sqe(ring_.get());
  GAR_ASSERT(timer);
  ::io_uring_prep_timeout(timer, &deadline_, 0, IORING_TIMEOUT_ABS);
  // A number of its own, so that the end of an earlier timer is never taken for this one's.
  ::io_uring_sqe_set_data64(timer, user_data(tag::timer, ++timer_number_));
  timer_at_ = until;
}

void deadline_ring::prepare_poll() {
  if (poll_armed_) return;
  io_uring_sqe* poll = ::io_uring_get_sqe(ring_.get());
  GAR_ASSERT(poll);
  ::io_uring_prep_poll_add(poll, event_.get(), POLLIN);
  ::io_uring_sqe_set_data64(poll, user_data(tag::poll));
  poll_armed_ = true;
}

void deadline_ring::prepare_futex(const uint32_t& word, uint32_t expected) {
  if (futex_armed_) return;
  io_uring_sqe* wait = ::io_uring_get_sqe(ring_.get());
  GAR_ASSERT(wait);
  ::io_uring_prep_rw(op_futex_wait, wait, futex_size_u32, &word, 0, expected);
  std::memcpy(reinterpret_cast<char*>(wait) + sqe_addr3_offset, &futex_any, sizeof(futex_any));
  ::io_uring_sqe_set_data64(wait, user_data(tag::futex));
  futex_armed_ = true;
}

void deadline_ring::empty_event() {
  eventfd_t written = 0;
  // Nothing to read means that somebody's earlier poll was answered twice; both mean "look again".
  (void)::eventfd_read(event_.get(), &written);
}

deadline_ring::slept deadline_ring::wait_out_shortage(instant until) {
  const instant now = steady_clock().now();
  const slept how = sleep_without_ring(std::min(until, now + shortage_pause));
  return how == slept::to_deadline && steady_clock().now() < until ? slept::interrupted : how;
}

deadline_ring::slept deadline_ring::sleep_without_ring(instant until) {
  const duration left = until - steady_clock().now();
  const timespec timeout = to_timespec({left.ns});
  pollfd written{event_.get(), POLLIN, 0};
  const int ready = ::ppoll(&written, 1, until == instant::never() ? nullptr : &timeout, nullptr);
  if (ready == 0) return slept::to_deadline;
  if (ready < 0) return slept::interrupted;
  empty_event();
  return slept::to_event;
}

}  // namespace gar
