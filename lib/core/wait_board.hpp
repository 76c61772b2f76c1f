// Wait board: the waits that an executor has, by stream, and whom it must ask about them.
//
// The word only wakes; the authority stays with the process that owns the stream. At each backstop
// of a wait its owner is asked, but never twice at a time about one stream, never one message per
// wait, and never in a way that lets a silent owner hold up anybody else.
//
//   a stream's probe   none -> due (flush sends it) -> outstanding -> answered: none, or the next
//                                                                     wait's that wants one
//   a wait's verdict   none -> done | failed       (an answer "pending" leaves it at none)
//
// An answer "done" for one number is a verdict for every wait of the stream up to that number,
// since a stream's work completes in order; "failed" is one for the waits of that very number, and
// the others ask for themselves.
//
// Invariants: at most one probe is due or outstanding per stream; an answer counts only with the
// probe id that is outstanding; every wait that is ended through `end` gives exactly one completion
// entry and one wait_end, every one that is dropped gives none.
// Threads: one at a time (the reactor's, or whoever holds the pool's lock). Blocking: never.
// Allocation: tables grow to their high-water mark, bounded by the session's limits.
// `Host` is what the executor keeps with each wait: how it is woken.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/core/codec.hpp"
#include "lib/core/delegated.hpp"

namespace gar {

enum class wait_stop : uint8_t { none, cancelled, shutting_down, dropped };

template <class Host>
class wait_board {
 public:
  struct entry {
    wait_start what;
    std::optional<result<void>> verdict;  // the owner's: done, or Backend
    wait_stop stop = wait_stop::none;
    bool wants_probe = false;
    size_t index = 0;  // in its stream's list
    Host host{};
  };

  entry& add(const wait_start& what) {
    auto made = std::make_unique<entry>();
    entry& e = *made;
    e.what = what;
    std::vector<entry*>& waits = stream_of(e).waits;
    e.index = waits.size();
    waits.push_back(&e);
    ++sessions_.at(what.session)->waits;
    entries_.emplace(what.id, std::move(made));
    return e;
  }

  entry* find(wait_id id) {
    const auto at = entries_.find(id);
    return at == entries_.end() ? nullptr : at->second.get();
  }
  size_t waits() const { return entries_.size(); }
  bool knows(session_id session) const { return sessions_.contains(session); }
  uint64_t probes_sent() const { return probes_sent_; }

  // A backstop of this wait has come and the word still has not.
  void want_probe(entry& e) {
    if (e.what.word_authority || e.wants_probe) return;
    stream_state& s = stream_of(e);
    if (s.asked_wait == e.what.id && s.outstanding != 0) return;
    if (s.outstanding != 0) {
      e.wants_probe = true;
      s.wanting.push_back(e.what.id);
      return;
    }
    ask(s, e);
  }

  // Calls wake(entry&) for each wait that has a verdict now.
  template <class Wake>
  void answer(const probe_answer& a, Wake&& wake) {
    const auto at = sessions_.find(a.session);
    if (at == sessions_.end()) return;
    const proto::status_entry& status = a.status;
    if (status.stream >= at->second->streams.size()) return;
    stream_state& s = at->second->streams[status.stream];
    if (s.outstanding == 0 || s.outstanding != status.probe_id ||
        s.generation != status.stream_generation || s.asked_sequence != status.sequence) {
      return;
    }
    s.outstanding = 0;
    if (status.state != proto::probe_pending) judge(s, status, wake);
    while (s.outstanding == 0 && !s.wanting.empty()) {
      entry* next = find(s.wanting.front());
      s.wanting.pop_front();
      if (!next) continue;
      next->wants_probe = false;
      if (!next->verdict && next->stop == wait_stop::none) ask(s, *next);
    }
  }

  // Calls wake(entry&) for each wait that is to stop; its host ends it.
  template <class Wake>
  void stop_all(wait_stop why, Wake&& wake) {
    for (auto& [id, e] : entries_) stop(*e, why, wake);
  }
  template <class Wake>
  void drop(session_id session, Wake&& wake) {
    const auto at = sessions_.find(session);
    if (at == sessions_.end()) return;
    at->second->gone = true;
    for (stream_state& s : at->second->streams) {
      for (entry* e : s.waits) stop(*e, wait_stop::dropped, wake);
    }
    forget_if_left(at);
  }
  template <class Wake>
  void stop(entry& e, wait_stop why, Wake&& wake) {
    if (e.stop != wait_stop::dropped && (e.stop == wait_stop::none || why == wait_stop::dropped)) {
      e.stop = why;
      wake(e);
    }
  }

  // The wait has run to its end. Removes it; `e` is gone afterwards.
  void end(entry& e, const result<wait_report>& report) {
    const auto at = sessions_.find(e.what.session);
    session_state& session = *at->second;
    if (e.stop != wait_stop::dropped) {
      touch(e.what.session, session);
      session.completions.push_back(completion_of(e, report));
      ended_.push_back(note_of(e, report));
    }
    stream_state& stream = session.streams[e.what.stream];
    if (e.wants_probe) std::erase(stream.wanting, e.what.id);  // else a silent owner's list grows
    std::vector<entry*>& waits = stream.waits;
    waits[e.index] = waits.back();
    waits[e.index]->index = e.index;
    waits.pop_back();
    --session.waits;
    entries_.erase(e.what.id);
    forget_if_left(at);
  }

  // Hands over what has gathered since the last flush: first all that ended, then for each session
  // its completions and its probes (either may be empty, entries not yet split into frames).
  template <class Ended, class Send>
  void flush(Ended&& ended, Send&& send) {
    if (!ended_.empty()) {
      ended(ended_);
      ended_.clear();
    }
    for (session_id id : touched_) {
      const auto at = sessions_.find(id);
      if (at == sessions_.end()) continue;
      session_state& session = *at->second;
      session.touched = false;
      if (!session.gone) send(id, session.completions, session.probes);
      probes_sent_ += session.probes.size();
      session.completions.clear();
      session.probes.clear();
    }
    touched_.clear();
  }

  // Sessions that were dropped and whose last wait is gone; the caller lets go of what it kept.
  std::vector<session_id> take_left() { return std::exchange(left_, {}); }

 private:
  struct stream_state {
    uint32_t generation = 0;
    uint64_t outstanding = 0;  // probe id; 0: none
    uint64_t asked_sequence = 0;
    wait_id asked_wait = 0;
    std::deque<wait_id> wanting;
    std::vector<entry*> waits;
  };
  struct session_state {
    std::vector<stream_state> streams;
    std::vector<proto::completion_entry> completions;
    std::vector<proto::probe_entry> probes;
    size_t waits = 0;
    bool touched = false;
    bool gone = false;
  };
  using session_map = std::unordered_map<session_id, std::unique_ptr<session_state>>;

  stream_state& stream_of(const entry& e) {
    std::unique_ptr<session_state>& session = sessions_[e.what.session];
    if (!session) session = std::make_unique<session_state>();
    if (session->streams.size() <= e.what.stream) session->streams.resize(e.what.stream + 1);
    stream_state& s = session->streams[e.what.stream];
    if (s.generation != e.what.stream_generation) {
      // The slot's earlier stream is closed: nothing of it waits, and its probe will not be
      // answered.
      s.generation = e.what.stream_generation;
      s.outstanding = 0;
      s.wanting.clear();
    }
    return s;
  }

  void touch(session_id id, session_state& session) {
    if (std::exchange(session.touched, true)) return;
    touched_.push_back(id);
  }

  void ask(stream_state& s, const entry& e) {
    s.outstanding = ++last_probe_;
    s.asked_sequence = e.what.word.target();
    s.asked_wait = e.what.id;
    session_state& session = *sessions_.at(e.what.session);
    touch(e.what.session, session);
    session.probes.push_back(
        {s.outstanding, s.asked_sequence, e.what.stream, e.what.stream_generation});
  }

  template <class Wake>
  void judge(stream_state& s, const proto::status_entry& status, Wake&& wake) {
    for (entry* e : s.waits) {
      if (e->verdict) continue;
      const uint64_t target = e->what.word.target();
      if (status.state == proto::probe_done && reached(status.sequence, target)) {
        e->verdict.emplace();
      } else if (status.state == proto::probe_failed && target == status.sequence) {
        e->verdict.emplace(
            error(errc::Backend, {status.call, std::to_string(status.status)}, status.status));
      } else {
        continue;
      }
      wake(*e);
    }
  }

  static result<wait_report> shown(const entry& e, const result<wait_report>& report) {
    const bool stopped = report.has_error() && report.error().code() == errc::Cancelled;
    if (stopped && e.stop == wait_stop::shutting_down) return error(errc::ShuttingDown);
    return report;
  }

  static proto::completion_entry completion_of(const entry& e, const result<wait_report>& report) {
    proto::completion_entry c{};
    c.cookie = e.what.cookie;
    const result<wait_report> how = shown(e, report);
    if (how) {
      c.wait_ns = how->wait.ns;
      c.slept_ns = how->slept.ns;
      c.parks = how->parks;
      c.backstop_queries = how->backstop_queries;
      c.kind = static_cast<uint8_t>(how->kind);
      c.confirmed = e.what.word_authority || e.verdict;
    } else {
      c.code = how.error().number();
      if (how.error().code() == errc::Backend) {
        c.status = how.error().os_number();
        proto::set_call(c.call, how.error().arguments().front());
      }
    }
    return c;
  }

  static wait_end note_of(const entry& e, const result<wait_report>& report) {
    wait_end note{e.what.id, e.what.session, {}, {}};
    const result<wait_report> how = shown(e, report);
    if (how) {
      note.report = *how;
    } else {
      note.failure = how.error();
    }
    return note;
  }

  void forget_if_left(typename session_map::iterator at) {
    if (!at->second->gone || at->second->waits > 0) return;
    left_.push_back(at->first);
    sessions_.erase(at);
  }

  session_map sessions_;
  std::unordered_map<wait_id, std::unique_ptr<entry>> entries_;
  std::vector<session_id> touched_;
  std::vector<wait_end> ended_;
  std::vector<session_id> left_;
  uint64_t last_probe_ = 0;
  uint64_t probes_sent_ = 0;
};

}  // namespace gar
