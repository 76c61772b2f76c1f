// Ring waits: the waits of one link that went to gard through the ring.
//
//   slot: free -> wait -> free                       its end came while somebody waited
//                 wait -> orphan -> free             it is over here, not yet at gard
//         free -> point -> free
//
// Whoever has something to wait for reads the ring: a thread that looks, a thread that takes
// completions, and, of those asleep, one, the reader, which hands each end to whom it concerns and
// passes the reading on when it leaves. So one wake ends a wait, and nobody sleeps beside a ring
// that nobody reads.
//
// Invariants: a slot is used again only when gard has ended what was in it. While somebody is
// asleep there is a reader, or one of them has been woken to become it. What gard wrote that cannot
// be makes the ring broken for good, and every wait lost; it never ends one.
// Threads: any. Lock order: none is taken within its own. Blocking: sleep_for_news.
// Allocation: none after the constructor.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "clients/garclient/mailbox.hpp"
#include "lib/core/owner_wait.hpp"
#include "lib/linux/ring_client.hpp"

namespace gar::owner {

class ring_waits {
 public:
  explicit ring_waits(ring_client ring);

  // false: no slot is free, or gard has not taken what was submitted before.
  bool submit(mailbox& box, const proto::ring_request& asked);
  bool submit_point(uint32_t number, std::string_view name);
  // gard refused a point since this was asked last.
  bool points_refused() {
    return points_refused_.load(std::memory_order_relaxed) && points_refused_.exchange(false);
  }
  void collect(mailbox& box, owner_wait& into, bool confirmed);
  // The wait is over here. true: something was submitted.
  bool forget(mailbox& box, bool cancel);
  void heard_about(uint32_t stream_id, uint64_t target, instant now);

  bool has_orphans(uint32_t stream_id) const;
  // Cancels that there was no room for. true: something was submitted.
  bool submit_cancels();
  bool cancels_left() const { return cancels_due_.load(std::memory_order_relaxed) > 0; }

  // Hands out the ends that are there.
  struct taken {
    bool any = false;
    bool orphans = false;  // of them, some
    void add(const taken& more) {
      any = any || more.any;
      orphans = orphans || more.orphans;
    }
  };
  taken take(const step_function& step);
  bool has_end() const { return ring_.has_end(); }
  bool no_slot_free() const;

  // Waits for news of the mailbox behind `seen`, until `until`: without a pause, or asleep. What it
  // took meanwhile.
  taken look_for_news(mailbox& box, uint32_t seen, instant until, const step_function& step);
  taken sleep_for_news(mailbox& box, uint32_t seen, instant until, const step_function& step);

  // gard has taken the mailbox's request; everything that was asked.
  bool took(const mailbox& box) const { return ring_.taken(box.submitted); }
  bool took_all() const;

  // What cannot be was read. The waits have been told that they are lost.
  bool broken() const { return broken_.load(std::memory_order_acquire); }
  void lose();

  // The next end makes the pipe readable, where it is not there already.
  void want_pipe() const { ring_.want(proto::wants_pipe); }
  // Before each want_pipe: gard may put its byte long after it took the wish, so that a wish that
  // still stands does not mean an empty pipe.
  void drain_pipe() const { ring_.drain_pipe(); }
  int pipe_fd() const { return ring_.pipe_fd(); }

  // ---- Outcomes: one thread at a time, and so is took_outcomes.
  bool put_outcome(const proto::outcome_entry& entry) { return ring_.put_outcome(entry); }
  void show_outcomes() const { ring_.show_outcomes(); }
  bool took_outcomes() const { return ring_.outcomes() == 0; }

 private:
  struct slot {
    enum class held : uint8_t { free, wait, orphan, point };
    held now = held::free;
    bool cancel_due = false;
    uint32_t stream_id = 0;
    mailbox* box = nullptr;
  };

  // All with lock_ held.
  std::optional<uint16_t> free_slot();
  void release(uint32_t index);
  bool take_one(news_batch& news, taken& what);
  void give_news(mailbox& box);
  void lose_waits();
  void fall_asleep(mailbox& box);
  void wake_up(mailbox& box);
  void pass_on();

  // The reader's, until it has news or is told to leave.
  taken read_for_all(mailbox& box, uint32_t seen, instant until, const step_function& step);
  // The reader's: would it be woken for what comes from here on?
  bool may_sleep(const mailbox& box, uint32_t seen) const;

  ring_client ring_;
  std::atomic<bool> broken_{false};
  std::atomic<bool> points_refused_{false};
  std::atomic<size_t> cancels_due_{0};

  mutable std::mutex lock_;
  std::vector<slot> slots_;
  std::vector<uint16_t> free_;
  mailbox* reader_ = nullptr;
  mailbox* heir_ = nullptr;    // woken to become the reader, and not there yet
  mailbox* asleep_ = nullptr;  // all but the reader, the last to fall asleep first
};

}  // namespace gar::owner
