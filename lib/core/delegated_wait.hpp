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
//   poll    armed word, asking at each backstop        a look each turn, under a poll plan
//   park    armed word; a verdict answers "arrived"    armed word
//
// `poll` under another plan is reached only when a word ran backwards; it must not cost CPU, since
// a client could do that on purpose.
//
// Invariants: a wait ends as run_wait ends it, or Cancelled when the board stopped it; it is ended
// at the board exactly once.
// Threads: the reactor's. Blocking: never. Allocation: the board's entry; frames are pooled.
#pragma once

#include <algorithm>

#include "lib/core/reactor.hpp"
#include "lib/core/wait.hpp"
#include "lib/core/wait_board.hpp"

namespace gar {

struct reactor_host {
  reactor::root* root = nullptr;
};
using reactor_board = wait_board<reactor_host>;

// What an armed word without a park bound of its own may cost when nobody rings the doorbell.
inline constexpr duration block_park_max = from_ms(1);

class delegated_port {
 public:
  delegated_port(reactor& owner, reactor_board& board, reactor_board::entry& e)
      : owner_(&owner), board_(&board), entry_(&e) {}

  frame_pool& frames() { return owner_->frames(); }

  result<bool> query(uint64_t) {
    if (entry_->stop != wait_stop::none) return error(errc::Cancelled);
    if (entry_->verdict) {
      if (entry_->verdict->has_error()) return entry_->verdict->error();
      return true;
    }
    if (entry_->what.word.complete()) return true;
    if (parked_ && owner_->now() < entry_->what.deadline) board_->want_probe(*entry_);
    return false;
  }

  reactor::task<result<bool>> block(uint64_t sequence) {
    for (;;) {
      result<bool> done = query(sequence);
      if (!done || *done) co_return done;
      if (owner_->now() >= entry_->what.deadline) co_return false;
      co_await owner_->wait(entry_->what.word, entry_->what.deadline, block_park_max);
    }
  }

  reactor::task<result<bool>> poll(uint64_t sequence) {
    for (;;) {
      result<bool> done = query(sequence);
      if (!done || *done) co_return done;
      if (owner_->now() >= entry_->what.deadline) co_return false;
      if (entry_->what.how.park == park_kind::poll) {
        co_await owner_->yield_now();
      } else {
        parked_ = true;
        const instant look_at =
            std::min(owner_->now() + entry_->what.how.backstop, entry_->what.deadline);
        co_await owner_->wait(entry_->what.word, look_at, entry_->what.how.park_max);
      }
    }
  }

  result<void> arm() { return {}; }  // the number was recorded before

  struct parking {
    reactor::suspension inner;
    reactor_board::entry& of;
    bool await_ready() const { return false; }
    template <class P>
    bool await_suspend(std::coroutine_handle<P> at) {
      return inner.await_suspend(at);
    }
    result<park_answer> await_resume() const {
      const reactor::woke why = inner.await_resume();
      if (of.stop != wait_stop::none || why == reactor::woke::cancelled) {
        return error(errc::Cancelled);
      }
      const uint64_t parks = inner.owner.statistics().parked - inner.who->parked_before;
      return park_answer{why == reactor::woke::complete || of.verdict.has_value(),
                         static_cast<uint32_t>(std::min<uint64_t>(parks, UINT32_MAX))};
    }
  };
  parking park(park_bound bound) {
    parked_ = true;
    return {owner_->wait(entry_->what.word, owner_->now() + bound.backstop, bound.park), *entry_};
  }

 private:
  reactor* owner_;
  reactor_board* board_;
  reactor_board::entry* entry_;
  bool parked_ = false;
};

static_assert(completion_port<delegated_port>);

inline wait_request request_of(const wait_start& what) {
  return {what.how, what.sleep, what.word.target(), what.start, what.deadline};
}

// The waits of one reactor: starts, stops and answers come in here, on the reactor's thread.
class delegated_waits {
 private:
  auto stopper() {
    return [this](reactor_board::entry& e) { owner_->cancel(*e.host.root); };
  }

 public:
  explicit delegated_waits(reactor& owner) : owner_(&owner) {}

  reactor_board& board() { return board_; }
  const reactor_board& board() const { return board_; }

  void start(const wait_start& what) { start(board_.add(what)); }
  void start(reactor_board::session_state& session, const wait_start& what) {
    start(board_.add(session, what));
  }
  void cancel(reactor_board::entry& e) { board_.stop(e, wait_stop::cancelled, stopper()); }
  void cancel(wait_id id) {
    if (reactor_board::entry* e = board_.find(id)) cancel(*e);
  }
  void answer(const probe_answer& a) {
    board_.answer(a, [this](reactor_board::entry& e) { owner_->wake(*e.host.root); });
  }
  void drop(session_id session) { board_.drop(session, stopper()); }
  // Every wait ends with ShuttingDown.
  void shut_down() { board_.stop_all(wait_stop::shutting_down, stopper()); }

 private:
  void start(reactor_board::entry& e) { e.host.root = owner_->spawn(run(*owner_, board_, e)); }

  static reactor::task<> run(reactor& owner, reactor_board& board, reactor_board::entry& e) {
    delegated_port port(owner, board, e);
    reactor_clock clock(owner);
    reactor_timer timer(owner);
    result<wait_report> report = co_await run_wait(owner, request_of(e.what), port, clock, timer);
    board.end(e, report);
  }

  reactor* owner_;
  reactor_board board_;
};

}  // namespace gar
