// Wait machine: the only place where the order of query, sleep, park and backstop is written.
//
// A wait may be a coroutine, a thread that blocks, or an entry in gard's board with thousands
// beside it. So its order is a value of 32 bytes that is told what happened and says what to do.
//
//   block            block                                               -> blocked
//   otherwise        query: done                                         -> immediate, exact
//     flag           arm
//     a sleep asked  sleep to start + sleep, query: done                 -> late, late sample
//     poll           poll                                                -> parked, exact
//     flag           park ... one query every backstop ... query to done -> parked, exact
//
// A sleep that would end before it could begin is none: nothing overslept, so what the wait took is
// an exact sample, and nobody learns from it how late sleeps end.
//
//   begin -> step -> answered | armed | slept | parked -> step ... -> ended | timed_out
//
// Invariants: the word is a wake source, never the authority: success is only what a query, block
// or poll answered. A lost or late store costs at most one backstop. No single park is longer than
// min(park_max, left to the next backstop, left to the deadline). No sleep is longer than asked.
// `timed_out` comes where the deadline passed and one last query said pending. A verb that fails
// ends the wait; the machine is not told.
// Threads: values. Blocking, allocation: none. Time: `now` is when the verb's answer was there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "lib/core/estimator.hpp"
#include "lib/core/plan.hpp"
#include "lib/core/time.hpp"
#include "lib/port/completion_port.hpp"

namespace gar {

enum class wait_kind : uint8_t { blocked, immediate, late, parked };

constexpr std::string_view name_of(wait_kind kind) {
  switch (kind) {
    case wait_kind::blocked:
      return "blocked";
    case wait_kind::immediate:
      return "immediate";
    case wait_kind::late:
      return "late";
    case wait_kind::parked:
      return "parked";
  }
  return "";
}

// What a wait that ended so, after so long, says about the next one.
constexpr sample sample_of(wait_kind kind, duration wait) {
  if (kind == wait_kind::blocked) return sample::none();
  return kind == wait_kind::late ? sample::late(wait) : sample::exact(wait);
}

struct wait_report {
  wait_kind kind = wait_kind::immediate;
  gar::sample sample;
  duration wait;   // from the start of the wait to its end
  duration slept;  // of it, in the predicted sleep
  uint32_t parks = 0;
  uint32_t backstop_queries = 0;
  uint32_t early_words = 0;  // the word arrived and the authority still said pending
};

// What of a plan one wait runs, and when.
struct wait_terms {
  instant start;
  instant deadline = instant::never();
  duration sleep;  // what the point's estimate asks for; 0 means none
  duration park_max;
  duration backstop;
  park_kind park = park_kind::poll;

  void run(const plan& how) {
    park_max = how.park_max;
    backstop = how.backstop;
    park = how.park;
  }
};

struct wait_step {
  enum class verb : uint8_t { query, block, poll, arm, sleep, park, ended, timed_out };
  verb what = verb::query;
  instant until;     // sleep
  park_bound bound;  // park
};

class wait_machine {
 public:
  using verb = wait_step::verb;

  wait_step begin(const wait_terms& how) {
    return say(how.park == park_kind::block ? verb::block : verb::query);
  }
  // What query, block or poll said.
  wait_step answered(const wait_terms& how, bool done, instant now) {
    if (done) return end(doing_ == verb::query ? kind_of(why_) : kind_of(doing_));
    if (doing_ != verb::query || why_ == asked::at_deadline) return say(verb::timed_out);
    if (why_ == asked::word_arrived) {
      ++early_words_;
      mark_ = now;
      return say(verb::poll);
    }
    if (why_ != asked::first) return look_on(how, now);
    return how.park == park_kind::flag ? say(verb::arm) : rest(how, now);
  }
  wait_step armed(const wait_terms& how, instant now) { return rest(how, now); }
  wait_step slept(const wait_terms&, instant now) {
    slept_ = now - mark_;
    return ask(asked::after_sleep);
  }
  wait_step parked(const wait_terms& how, const park_answer& answer, instant now) {
    parks_ += answer.parks;
    return answer.arrived ? ask(asked::word_arrived) : park(how, now);
  }

  // The step that was said last.
  verb doing() const { return doing_; }
  // The authority was asked behind a park: at a backstop, at the deadline, or because the word
  // came.
  bool asked_behind_park() const { return why_ > asked::after_sleep; }
  // Of a poll behind a word that came early: when that was found.
  instant early_at() const { return mark_; }
  // Of a wait that ended; `now` is what its last answer came with.
  wait_report report(const wait_terms& how, instant now) const {
    const duration wait = now - how.start;
    return {kind_, sample_of(kind_, wait), wait, slept_, parks_, backstop_queries_, early_words_};
  }

 private:
  // Why the authority is asked; what a yes means follows from it.
  enum class asked : uint8_t { first, after_sleep, at_backstop, at_deadline, word_arrived };

  static constexpr wait_kind kind_of(asked why) {
    if (why == asked::first) return wait_kind::immediate;
    return why == asked::after_sleep ? wait_kind::late : wait_kind::parked;
  }
  static constexpr wait_kind kind_of(verb was) {
    return was == verb::block ? wait_kind::blocked : wait_kind::parked;
  }

  wait_step say(verb what) { return say({what, {}, {}}); }
  wait_step say(const wait_step& next) {
    doing_ = next.what;
    return next;
  }
  wait_step ask(asked why) {
    why_ = why;
    return say(verb::query);
  }
  wait_step end(wait_kind kind) {
    kind_ = kind;
    return say(verb::ended);
  }
  wait_step rest(const wait_terms& how, instant now) {
    const instant until = std::min(how.start + how.sleep, how.deadline);
    if (!how.sleep || until <= now) return look_on(how, now);
    mark_ = now;
    return say({verb::sleep, until, {}});
  }
  wait_step look_on(const wait_terms& how, instant now) {
    if (how.park != park_kind::flag) return say(verb::poll);
    mark_ = now + how.backstop;
    return park(how, now);
  }
  wait_step park(const wait_terms& how, instant now) {
    if (now >= how.deadline) return ask(asked::at_deadline);
    if (now >= mark_) {
      ++backstop_queries_;
      return ask(asked::at_backstop);
    }
    const duration left = std::min(mark_, how.deadline) - now;
    return say({verb::park, {}, {std::min(how.park_max, left), left}});
  }

  instant mark_;  // when the sleep began; then when the next backstop is; then early_at
  duration slept_;
  uint32_t parks_ = 0;
  uint32_t backstop_queries_ = 0;
  uint32_t early_words_ = 0;
  verb doing_ = verb::query;
  asked why_ = asked::first;
  wait_kind kind_ = wait_kind::immediate;
};
static_assert(sizeof(wait_machine) == 32);

}  // namespace gar
