// Owner wait: the owner's half of a wait that gard runs.
//
// gard watches the word, the owner asks the device. Neither can end the wait alone: the word may
// come early, late or never, and gard may be slow, gone, stuck or wrong. This machine says at each
// moment what the owner must do; whoever runs the wait (a blocked thread, or a task of the service
// thread) does it and tells what came of it.
//
//   at gard --word arrived-----------> ask: done -> ended; pending -> early
//           --owner's probe said done-> ended
//           --failed, or timed out----> ask: done or failed -> ended; pending -> early
//           --silent for too long-----> ask: done or failed -> ended, cancel; pending -> at gard
//           --deadline----------------> ask: done -> ended, pending -> TimedOut; cancel
//           --refused or lost---------> leave: goes on without gard, or is registered again
//   early   ask, 20 us, ask, 40 us, ask ... backstop, ask ...
//
// Invariants: success, failure and time are only what the authority and the clock said here; gard's
// word for them is a reason to ask. A target whose word came early is never registered again. No
// state waits for gard alone: each has a time at which the owner asks.
// Errors: those of the authority's answers, unchanged; TimedOut.
// Threads: one at a time. Blocking, clock: none; time comes in.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/core/error.hpp"
#include "lib/core/plan.hpp"
#include "lib/core/query_pace.hpp"
#include "lib/core/time.hpp"
#include "lib/core/wait.hpp"
#include "proto/wire.hpp"

namespace gar {

// How long gard may be silent about a wait under this plan before the owner asks the device itself.
constexpr duration owner_backstop_of(const plan& how) {
  const duration longest = how.predict ? how.predict->max_sleep : duration{};
  return std::max(longest + how.backstop + how.backstop, duration{proto::owner_backstop_ns_min});
}

class owner_wait {
 public:
  // gard has the same deadline. Its own answer is worth this little time: it counts what it ends.
  static constexpr duration deadline_grace = from_ms(2);

  struct request {
    plan how;
    instant start;
    instant deadline = instant::never();
  };

  enum class todo : uint8_t {
    sleep,  // until `until`, or until there is news
    ask,    // query the authority, then `answered`
    end,    // `ending()` has it
    leave,  // `leaving()` says how the wait goes on
  };
  struct step {
    todo what;
    instant until = instant::never();
  };

  enum class reason : uint8_t {
    lost,   // gard is gone, stopping, or does not know us: finish without it
    limit,  // gard has no room: run it inline
    stale,  // the plan changed: pick again
  };

  struct result_of_wait {
    wait_kind kind = wait_kind::parked;
    std::optional<error> failure;
    bool by_gard = false;         // gard's news ended it
    bool owner_backstop = false;  // the owner's own backstop ended it
    bool cancel_at_gard = false;  // gard still has it
    duration slept;
    uint32_t parks = 0;
    uint32_t backstop_queries = 0;
    uint32_t early_words = 0;
  };

  owner_wait(const request& asked, instant registered)
      : asked_(asked),
        silence_(owner_backstop_of(asked.how)),
        silent_at_(registered + silence_),
        pace_(asked.how.backstop) {}

  // News of gard. Only the first completion, refusal or loss counts. `entry.confirmed` is the
  // caller's knowledge, not gard's claim: set only if the target is confirmed at the owner.
  void heard(instant at);
  void completed(const proto::completion_entry& entry);
  void refused(errc code);
  void lost();
  // The word was there before the wait could be registered: it never is.
  void word_seen();

  step next(instant now);
  void answered(const result<bool>& authority, instant now);

  const result_of_wait& ending() const { return ending_; }
  reason leaving() const { return leaving_; }
  // Is there news to come of gard?
  bool at_gard() const { return now_ == state::at_gard; }
  // Is the word known to have come before the work was done?
  bool early() const { return ending_.early_words > 0; }

 private:
  enum class state : uint8_t { at_gard, arrived, early, ended, left };
  enum class asking : uint8_t { nothing, word, claim, silence, pace, deadline };

  step ask(asking why);
  void end(wait_kind kind);
  void fail(error why);
  void leave(reason why);
  error timed_out() const;

  request asked_;
  duration silence_;
  instant silent_at_;
  instant next_look_;
  query_pace pace_;
  state now_ = state::at_gard;
  asking asking_ = asking::nothing;
  asking arrival_ = asking::word;  // what gard said when it had news
  reason leaving_ = reason::lost;
  result_of_wait ending_;
};

}  // namespace gar
