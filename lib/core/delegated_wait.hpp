// Delegated wait: one client's wait as a task of gard's reactor.
//
// gard cannot ask another process's device. So the wait's port answers from what gard can see: a
// query is a look at the word, or at the owner's verdict where a probe brought one; a park is an
// armed word of the reactor; at each backstop the owner is asked, without waiting for the answer.
// A stream whose word is its own authority runs every plan here, and its query is the word alone.
//
//   verb    owner's stream                             stream whose word is the authority
//   query   verdict, else the word; parked before:     the word
//           ask the owner
//   block   (its plans are the owner's to run)         armed word, no bound but the deadline
//   poll    a look by time, asking at each             a look each turn, under a poll plan
//   park    armed word; a verdict answers "arrived"    armed word
//
// `poll` under another plan is reached only when a word ran backwards; it must not cost CPU, since
// a client could do that on purpose, over and over. So no store wakes it any more: it looks after
// as long as has gone by since, up to the backstop.
//
// A wait is no coroutine: there may be tens of thousands, and two frames took 1.5 KiB of each. It
// is its entry in the board, which the reactor calls; what comes next the wait's machine says.
//
// Invariants: a wait ends as its machine ends it, or Cancelled when the board stopped it; it is
// ended at the board exactly once.
// Threads: the reactor's. Blocking: never. Allocation: the board's entry.
// Ownership: the reactor outlives this.
#pragma once

#include <algorithm>

#include "lib/core/query_pace.hpp"
#include "lib/core/reactor.hpp"
#include "lib/core/wait_board.hpp"
#include "lib/core/wait_machine.hpp"

namespace gar {

struct reactor_wait : reactor::pending {
  wait_machine machine;
};
using reactor_board = wait_board<reactor_wait>;
static_assert(sizeof(reactor_board::entry) <= 192);

// One turn of a wait: from what woke it to where it suspends, or to its end.
class delegated_turn {
 public:
  static void run(reactor& owner, reactor::pending& who) {
    delegated_turn(owner, static_cast<reactor_board::entry&>(who)).resume();
  }

 private:
  using verb = wait_step::verb;

  delegated_turn(reactor& owner, reactor_board::entry& e) : owner_(owner), e_(e) {}

  void resume() {
    wait_machine& machine = e_.machine;
    switch (machine.doing()) {
      case verb::sleep:
        if (e_.why == reactor::woke::cancelled) return fail(errc::Cancelled);
        e_.of->board->slept(owner_.now() - e_.deadline);
        return drive(machine.slept(e_.how, owner_.now()));
      case verb::park:
        if (stopped() || e_.why == reactor::woke::cancelled) return fail(errc::Cancelled);
        return drive(machine.parked(e_.how, {arrived(), owner_.parks_of(e_)}, owner_.now()));
      case verb::block:
      case verb::poll:
        return drive({machine.doing(), {}, {}});
      default:
        e_.of->board->trace_start(e_, owner_.now());
        return drive(machine.begin(e_.how));
    }
  }

  void drive(wait_step next) {
    const instant now = owner_.now();
    wait_machine& machine = e_.machine;
    for (;;) {
      switch (next.what) {
        case verb::query:
        case verb::block:
        case verb::poll: {
          const bool in_time = now < e_.how.deadline;
          const result<bool> done =
              e_.of->board->answer_of(e_, machine.asked_behind_park() && in_time);
          if (!done) return fail(done.error().code());
          if (!*done && next.what != verb::query && in_time) return rest_until_look(next.what);
          next = machine.answered(e_.how, *done, now);
          break;
        }
        case verb::arm:  // the number was recorded before
          next = machine.armed(e_.how, now);
          break;
        case verb::sleep:
          return owner_.suspend(e_, {{}, next.until, {}, false});
        case verb::park:
          return owner_.suspend(e_, {e_.word, now + next.bound.backstop, next.bound.park});
        case verb::ended: {
          const wait_report report = machine.report(e_.how, now);
          owner_.ended(e_);
          return e_.of->board->end(e_, report);
        }
        case verb::timed_out:
          return fail(errc::TimedOut);
      }
    }
  }

  bool stopped() const { return e_.stop != wait_stop::none; }
  bool arrived() const {
    return e_.why == reactor::woke::complete || e_.said != reactor_board::verdict::none;
  }
  // Of a block or a poll.
  void rest_until_look(verb what) {
    const instant deadline = e_.how.deadline;
    if (what == verb::block) return owner_.suspend(e_, {e_.word, deadline, block_park_max});
    if (e_.how.park == park_kind::poll) return owner_.yield(e_);
    const instant look_at = next_look(e_.machine.early_at(), owner_.now(), e_.how.backstop);
    owner_.suspend(e_, {{}, std::min(look_at, deadline), {}});
  }
  void fail(errc why) {
    owner_.ended(e_);
    e_.of->board->end(e_, why);
  }

  reactor& owner_;
  reactor_board::entry& e_;
};

// The waits of one reactor: starts, stops and answers come in here, on the reactor's thread.
class delegated_waits {
 public:
  explicit delegated_waits(reactor& owner) : owner_(&owner) {}
  ~delegated_waits() {
    board_.for_each([this](reactor_board::entry& e) { owner_->forget(e); });
  }
  delegated_waits(const delegated_waits&) = delete;
  delegated_waits& operator=(const delegated_waits&) = delete;

  reactor_board& board() { return board_; }
  const reactor_board& board() const { return board_; }

  void start(const wait_start& what) { start(board_.add(what)); }
  void start(reactor_board::session_state& session, const wait_start& what) {
    start(board_.add(session, what));
  }
  void cancel(reactor_board::entry& e) { board_.stop(e, wait_stop::cancelled, stopper{owner_}); }
  void cancel(const wait_name& which) {
    if (reactor_board::entry* e = board_.find(which)) cancel(*e);
  }
  void answer(const probe_answer& a) {
    board_.answer(a, [this](reactor_board::entry& e) { owner_->wake(e); });
  }
  void drop(session_id session) { board_.drop(session, stopper{owner_}); }
  // Every wait ends with ShuttingDown.
  void shut_down() { board_.stop_all(wait_stop::shutting_down, stopper{owner_}); }

 private:
  struct stopper {
    reactor* owner;
    void operator()(reactor_board::entry& e) const { owner->cancel(e); }
  };

  void start(reactor_board::entry& e) {
    e.on_turn = delegated_turn::run;
    owner_->start(e);
  }

  reactor* owner_;
  reactor_board board_;
};

}  // namespace gar
