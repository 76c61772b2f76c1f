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
// Of a client with a ring, waits that came by it are found by their slot, and their completions are
// written into the ring where the wait ends; flush makes them seen, and wakes once.
//
// Threads: one at a time (the reactor's, or whoever holds the pool's lock). Blocking: never.
// Allocation: tables grow to their high-water mark when a wait is added, bounded by the session's
// limits; `end` and `flush` of completions by ring allocate nothing.
// Ownership: an attached ring lives until its session is dropped.
// `Host` is what the executor keeps with each wait: how it is woken.
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/core/client_ring.hpp"
#include "lib/core/codec.hpp"
#include "lib/core/delegated.hpp"
#include "lib/core/planted.hpp"

namespace gar {

enum class wait_stop : uint8_t { none, cancelled, shutting_down, dropped };

template <class Host>
class wait_board {
 public:
  struct session_state;
  struct entry {
    wait_start what;
    std::optional<result<void>> verdict;  // the owner's: done, or Backend
    wait_stop stop = wait_stop::none;
    bool wants_probe = false;
    size_t index = 0;  // in its stream's list
    session_state* of = nullptr;
    Host host{};
  };

  // The session has a ring. The state is valid until the session was dropped and its waits ended.
  session_state& attach(session_id session, client_ring& ring) {
    session_state& s = state_of(session);
    s.ring = &ring;
    return s;
  }

  entry& add(const wait_start& what) { return add(state_of(what.session), what); }
  entry& add(session_state& session, const wait_start& what) {
    entry& e = make_entry();
    e.what = what;
    e.of = &session;
    std::vector<entry*>& waits = stream_of(e).waits;
    e.index = waits.size();
    waits.push_back(&e);
    ++session.waits;
    ++waits_;
    if (what.by_ring) {
      slot_of(session, static_cast<uint16_t>(what.cookie)) = &e;
    } else {
      by_id_.emplace(what.id, &e);
      if (session.completions.capacity() < session.waits) {
        session.completions.reserve(2 * session.waits);
      }
    }
    return e;
  }

  // The wait that is in flight in a slot of the session's ring; null: none.
  static entry* at_slot(const session_state& session, uint16_t slot) {
    return slot < session.by_slot.size() ? session.by_slot[slot] : nullptr;
  }
  // A request by ring that ends where it is taken: a refusal, or a point's answer (0).
  void answer_slot(session_state& session, uint16_t slot, uint16_t code) {
    proto::ring_completion c{};
    c.code = code;
    session.ring->complete(slot, c);
    touch(session);
  }

  entry* find(wait_id id) {
    const auto at = by_id_.find(id);
    return at == by_id_.end() ? nullptr : at->second;
  }
  size_t waits() const { return waits_; }
  bool knows(session_id session) const { return sessions_.contains(session); }
  uint64_t probes_sent() const { return probes_sent_; }

  // A backstop of this wait has come and the word still has not.
  void want_probe(entry& e) {
    if (e.what.word_authority || e.wants_probe) return;
    if (planted(bug::backstop_never_due)) return;
    stream_state& s = stream_of(e);
    if (s.asked_wait == e.what.id && s.outstanding != 0) return;
    if (s.outstanding != 0) {
      e.wants_probe = true;
      s.wanting.push_back(&e);
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
      entry* next = s.wanting.front();
      s.wanting.pop_front();
      next->wants_probe = false;
      if (!next->verdict && next->stop == wait_stop::none) ask(s, *next);
    }
  }

  // Calls wake(entry&) for each wait that is to stop; its host ends it.
  template <class Wake>
  void stop_all(wait_stop why, Wake&& wake) {
    for (auto& [id, session] : sessions_) {
      for (stream_state& s : session->streams) {
        for (entry* e : s.waits) stop(*e, why, wake);
      }
    }
  }
  template <class Wake>
  void drop(session_id session, Wake&& wake) {
    const auto at = sessions_.find(session);
    if (at == sessions_.end()) return;
    at->second->gone = true;
    at->second->ring = nullptr;
    for (stream_state& s : at->second->streams) {
      for (entry* e : s.waits) stop(*e, wait_stop::dropped, wake);
    }
    forget_if_left(*at->second);
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
    session_state& session = *e.of;
    const result<wait_report>& how = shown(e, report);
    const auto slot = static_cast<uint16_t>(e.what.cookie);
    if (e.stop != wait_stop::dropped) {
      touch(session);
      ended_.push_back(note_of(e, how));
      if (e.what.by_ring) {
        session.ring->complete(slot, in_ring(completion_of(e, how)));
        if (planted(bug::credit_returned_twice)) session.ring->complete(slot, {});
      } else {
        session.completions.push_back(completion_of(e, how));
      }
    }
    if (e.what.by_ring) {
      session.by_slot[slot] = nullptr;
    } else {
      by_id_.erase(e.what.id);
    }
    stream_state& stream = stream_of(e);
    if (e.wants_probe) std::erase(stream.wanting, &e);  // else a silent owner's list grows
    std::vector<entry*>& waits = stream.waits;
    waits[e.index] = waits.back();
    waits[e.index]->index = e.index;
    waits.pop_back();
    --session.waits;
    --waits_;
    free_.push_back(&e);
    forget_if_left(session);
  }

  // Hands over what has gathered since the last flush: first all that ended; then completions by
  // ring are seen by their clients, and wake(session, ring, wants) is called for each that wants to
  // be woken; then for each session what goes by its socket, completions and probes (either may be
  // empty, entries not yet split into frames).
  template <class Ended, class Wake, class Send>
  void flush(Ended&& ended, Wake&& wake, Send&& send) {
    if (!ended_.empty()) {
      ended(ended_);
      ended_.clear();
    }
    if (touched_.empty()) return;
    bool rings = false;
    for (session_state* s : touched_) {
      if (!s->ring) continue;
      s->ring->publish();
      rings = true;
    }
    if (rings) {
      // One for all: each client sets `wants`, fences, and looks at its tail.
      std::atomic_thread_fence(std::memory_order_seq_cst);
      for (session_state* s : touched_) {
        if (!s->ring) continue;
        const uint32_t wants = s->ring->take_wants();
        if (wants != 0) wake(s->id, *s->ring, wants);
      }
    }
    for (session_state* s : touched_) {
      s->touched = false;
      if (s->completions.empty() && s->probes.empty()) continue;
      if (!s->gone) send(s->id, s->completions, s->probes);
      probes_sent_ += s->probes.size();
      s->completions.clear();
      s->probes.clear();
    }
    touched_.clear();
  }
  // Of an executor that gives no client a ring.
  template <class Ended, class Send>
  void flush(Ended&& ended, Send&& send) {
    flush(
        ended, [](session_id, client_ring&, uint32_t) {}, send);
  }

  // Sessions that were dropped and whose last wait is gone; the caller lets go of what it kept.
  std::vector<session_id> take_left() { return std::exchange(left_, {}); }

 private:
  struct stream_state {
    uint32_t generation = 0;
    uint64_t outstanding = 0;  // probe id; 0: none
    uint64_t asked_sequence = 0;
    wait_id asked_wait = 0;
    std::deque<entry*> wanting;
    std::vector<entry*> waits;
  };

 public:
  // Whoever attached a ring holds it by reference; nothing in it is theirs.
  struct session_state {
    session_id id = 0;
    client_ring* ring = nullptr;
    std::vector<stream_state> streams;
    std::vector<entry*> by_slot;
    std::vector<proto::completion_entry> completions;
    std::vector<proto::probe_entry> probes;
    size_t waits = 0;
    bool touched = false;
    bool gone = false;
  };

 private:
  using session_map = std::unordered_map<session_id, std::unique_ptr<session_state>>;

  session_state& state_of(session_id id) {
    std::unique_ptr<session_state>& session = sessions_[id];
    if (!session) {
      session = std::make_unique<session_state>();
      session->id = id;
      if (touched_.capacity() < sessions_.size()) touched_.reserve(2 * sessions_.size());
    }
    return *session;
  }

  // All that one wait needs until its end is had here.
  entry& make_entry() {
    if (free_.empty()) {
      free_.push_back(&entries_.emplace_back());
      if (free_.capacity() < entries_.size()) free_.reserve(2 * entries_.size());
      if (ended_.capacity() < entries_.size()) ended_.reserve(2 * entries_.size());
    }
    entry& e = *free_.back();
    free_.pop_back();
    std::destroy_at(&e);
    return *std::construct_at(&e);
  }

  static entry*& slot_of(session_state& session, uint16_t slot) {
    if (slot >= session.by_slot.size()) {
      session.by_slot.resize(std::min<size_t>(session.ring->entries(), size_t{slot} * 2 + 16));
    }
    return session.by_slot[slot];
  }

  stream_state& stream_of(const entry& e) {
    std::vector<stream_state>& streams = e.of->streams;
    if (streams.size() <= e.what.stream) streams.resize(e.what.stream + 1);
    stream_state& s = streams[e.what.stream];
    if (s.generation != e.what.stream_generation) {
      // The slot's earlier stream is closed: nothing of it waits, and its probe will not be
      // answered.
      s.generation = e.what.stream_generation;
      s.outstanding = 0;
      s.wanting.clear();
    }
    return s;
  }

  void touch(session_state& session) {
    if (std::exchange(session.touched, true)) return;
    touched_.push_back(&session);
  }

  void ask(stream_state& s, const entry& e) {
    s.outstanding = ++last_probe_;
    s.asked_sequence = e.what.word.target();
    s.asked_wait = e.what.id;
    touch(*e.of);
    e.of->probes.push_back(
        {s.outstanding, s.asked_sequence, e.what.stream, e.what.stream_generation});
  }

  template <class Wake>
  void judge(stream_state& s, const proto::status_entry& status, Wake&& wake) {
    for (entry* e : s.waits) {
      if (e->verdict) continue;
      const uint64_t target = e->what.word.target();
      const bool covered =
          reached(status.sequence, target) || planted(bug::probe_answer_of_another_wait);
      if (status.state == proto::probe_done && covered) {
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

  static const result<wait_report>& shown(const entry& e, const result<wait_report>& report) {
    static const result<wait_report> stopping = error(errc::ShuttingDown);
    const bool stopped = report.has_error() && report.error().code() == errc::Cancelled;
    return stopped && e.stop == wait_stop::shutting_down ? stopping : report;
  }

  static proto::completion_entry completion_of(const entry& e, const result<wait_report>& how) {
    proto::completion_entry c{};
    c.cookie = e.what.cookie;
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

  static proto::ring_completion in_ring(const proto::completion_entry& from) {
    proto::ring_completion c{};
    c.wait_ns = from.wait_ns;
    c.slept_ns = from.slept_ns;
    c.parks = from.parks;
    c.backstop_queries = from.backstop_queries;
    c.code = from.code;
    c.kind = from.kind;
    c.confirmed = from.confirmed;
    c.status = from.status;
    std::memcpy(c.call, from.call, sizeof(c.call));
    return c;
  }

  static wait_end note_of(const entry& e, const result<wait_report>& how) {
    wait_end note{e.what.id, e.what.session, {}, {}};
    note.by_ring = e.what.by_ring;
    note.slot = static_cast<uint16_t>(e.what.cookie);
    if (how) {
      note.report = *how;
      note.lost_store = e.verdict && !e.what.word.complete();
    } else {
      note.failure = how.error();
    }
    return note;
  }

  void forget_if_left(session_state& session) {
    if (!session.gone || session.waits > 0) return;
    if (session.touched) std::erase(touched_, &session);
    left_.push_back(session.id);
    sessions_.erase(session.id);
  }

  session_map sessions_;
  std::deque<entry> entries_;  // those in use, and those in free_
  std::vector<entry*> free_;
  std::unordered_map<wait_id, entry*> by_id_;  // that came by socket
  size_t waits_ = 0;
  std::vector<session_state*> touched_;
  std::vector<wait_end> ended_;
  std::vector<session_id> left_;
  uint64_t last_probe_ = 0;
  uint64_t probes_sent_ = 0;
};

}  // namespace gar
