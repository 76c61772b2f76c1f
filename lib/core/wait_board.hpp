// Wait board: the waits that an executor has, by stream, and whom it must ask about them.
//
// The word only wakes; the authority stays with the process that owns the stream. At each backstop
// of a wait its owner is asked, but never twice at a time about one stream, never one message per
// wait, and never in a way that lets a silent owner hold up anybody else.
//
//   a stream's probe   see stream_probe.hpp; flush sends it
//   a wait's verdict   none -> done | failed       (an answer "pending" leaves it at none)
//
// Invariants: at most one probe is due or outstanding per stream; an answer counts only with the
// probe id that is outstanding; every wait that is ended through `end` gives exactly one completion
// entry and one wait_end, every one that is dropped gives none.
// A wait is found by its place on its session, that of one by ring being its slot; the completion
// of such a one is written into the ring where the wait ends; flush makes it seen, and wakes once.
//
// Threads: one at a time (the reactor's, or whoever holds the pool's lock).
//
// Blocking: never. Allocation: entries come in blocks, tables grow to their high-water mark, both
// when a wait is added, that of the probes when one is wanted, bounded by the session's limits;
// `end` and `flush` of completions by ring allocate nothing. What a failing device said is kept
// aside, where there is a failure.
//
// Ownership: an attached ring lives until its session is dropped. `Host` is what the executor keeps
// with each wait, as a base of its entry: how it is woken.
#pragma once

#include <algorithm>
#include <atomic>
#include <boost/intrusive/list.hpp>
#include <boost/pool/pool.hpp>
#include <memory>
#include <new>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/core/client_ring.hpp"
#include "lib/core/codec.hpp"
#include "lib/core/delegated.hpp"
#include "lib/core/planted.hpp"
#include "lib/core/sleep_lateness.hpp"
#include "lib/core/stream_probe.hpp"
#include "lib/core/wait_end_forms.hpp"
#include "lib/core/wait_trace.hpp"

namespace gar {

enum class wait_stop : uint8_t { none, cancelled, shutting_down, dropped };

template <class Host>
class wait_board {
 public:
  struct session_state;
  using hook = boost::intrusive::list_member_hook<
      boost::intrusive::link_mode<boost::intrusive::normal_link>>;
  using verdict = owner_verdict;

  struct entry : Host {
    wait_terms how;
    memory_descriptor word;
    uint64_t cookie = 0;
    session_state* of = nullptr;
    hook in_stream;
    hook in_wanting;
    uint32_t stream = 0;
    uint32_t place = 0;
    owner_verdict said = verdict::none;
    wait_stop stop = wait_stop::none;
    bool word_authority = false;
    bool by_ring = false;
    bool wants_probe = false;
  };
  static_assert(std::is_trivially_destructible_v<Host>, "the pool frees what is left");

  wait_board() = default;
  wait_board(const wait_board&) = delete;
  wait_board& operator=(const wait_board&) = delete;

  // The session has a ring. The state is valid until the session was dropped and its waits ended.
  session_state& attach(session_id session, client_ring& ring) {
    session_state& s = state_of(session);
    s.ring = &ring;
    return s;
  }

  entry& add(const wait_start& what) { return add(state_of(what.session), what); }
  entry& add(session_state& session, const wait_start& what) {
    entry& e = make_entry();
    e.how = what.how;
    e.word = what.word;
    e.cookie = what.cookie;
    e.of = &session;
    e.stream = what.stream;
    e.place = what.place;
    e.word_authority = what.word_authority;
    e.by_ring = what.by_ring;
    stream_of(session, what).waits.push_back(e);
    place_of(e) = &e;
    ++session.waits;
    ++waits_;
    if (!what.by_ring && session.completions.capacity() < session.waits) {
      session.completions.reserve(2 * session.waits);
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

  entry* find(const wait_name& which) {
    const auto at = sessions_.find(which.session);
    if (at == sessions_.end()) return nullptr;
    const std::vector<entry*>& places = at->second->by_place;
    return which.place < places.size() ? places[which.place] : nullptr;
  }
  size_t waits() const { return waits_; }
  bool knows(session_id session) const { return sessions_.contains(session); }
  uint64_t probes_sent() const { return probes_sent_; }

  // Whether the wait is over, or why it ends otherwise: it was stopped, or its owner said failed.
  // Where nothing is known yet the owner is asked, if that is wanted.
  result<bool> answer_of(entry& e, bool ask_owner) {
    if (e.stop != wait_stop::none) return error(errc::Cancelled);
    if (e.said == verdict::failed) return error(errc::Backend);
    if (e.said == verdict::done || e.word.complete()) return true;
    if (ask_owner) want_probe(e);
    return false;
  }

  // A backstop of this wait has come and the word still has not.
  void want_probe(entry& e) {
    if (e.word_authority || e.wants_probe) return;
    if (planted(bug::backstop_never_due)) return;
    stream_state& s = stream_of(e);
    if (s.probe.want(e)) ask(s, e);
  }

  // Calls wake(entry&) for each wait that has a verdict now.
  template <class Wake>
  void answer(const probe_answer& a, Wake&& wake) {
    const auto at = sessions_.find(a.session);
    if (at == sessions_.end()) return;
    const proto::status_entry& status = a.status;
    if (status.stream >= at->second->streams.size()) return;
    stream_state& s = at->second->streams[status.stream];
    if (!s.probe.take(status)) return;
    if (status.state != proto::probe_pending) judge(s, status, wake);
    while (entry* const next = s.probe.next()) {
      if (next->said == verdict::none && next->stop == wait_stop::none) return ask(s, *next);
    }
  }

  // Calls wake(entry&) for each wait that is to stop; its host ends it.
  template <class Wake>
  void stop_all(wait_stop why, Wake&& wake) {
    for_each([&](entry& e) { stop(e, why, wake); });
  }
  template <class Wake>
  void drop(session_id session, Wake&& wake) {
    const auto at = sessions_.find(session);
    if (at == sessions_.end()) return;
    at->second->gone = true;
    at->second->ring = nullptr;
    for_each_of(*at->second, [&](entry& e) { stop(e, wait_stop::dropped, wake); });
    forget_if_left(*at->second);
  }
  template <class Wake>
  void stop(entry& e, wait_stop why, Wake&& wake) {
    if (e.stop != wait_stop::dropped && (e.stop == wait_stop::none || why == wait_stop::dropped)) {
      e.stop = why;
      wake(e);
    }
  }

  // Calls see(entry&) for each wait; it must not end any.
  template <class See>
  void for_each(See&& see) {
    for (auto& [id, session] : sessions_) for_each_of(*session, see);
  }

  // Where the times of waits are noted; none: nowhere, which costs a branch.
  void trace_to(wait_trace* trace) { trace_ = trace; }
  void trace_start(const entry& e, instant now) {
    if (trace_) [[unlikely]]
      trace_->registered(&e, now);
  }

  // Who learns how late predicted sleeps end; none: nobody.
  void learn_sleeps(sleep_lateness* sleeps) { sleeps_ = sleeps; }
  void slept(duration late) {
    if (sleeps_) sleeps_->saw(late);
  }

  // The wait has run to its end. Removes it; `e` is gone afterwards.
  void end(entry& e, const wait_report& report) { end(e, errc{}, report); }
  void end(entry& e, errc why) {
    const bool shuts_down = why == errc::Cancelled && e.stop == wait_stop::shutting_down;
    end(e, shuts_down ? errc::ShuttingDown : why, {});
  }
  void end(entry& e, const result<wait_report>& report) {
    if (report) return end(e, *report);
    end(e, report.error().code());
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
  template <hook entry::*Hook>
  using list_of = boost::intrusive::list<entry, boost::intrusive::member_hook<entry, hook, Hook>,
                                         boost::intrusive::constant_time_size<false>>;
  struct stream_state {
    stream_probe<entry, list_of<&entry::in_wanting>> probe;
    list_of<&entry::in_stream> waits;
  };

 public:
  // Whoever attached a ring holds it by reference; nothing in it is theirs.
  struct session_state {
    wait_board* board = nullptr;
    session_id id = 0;
    client_ring* ring = nullptr;
    std::vector<stream_state> streams;
    std::vector<entry*> by_slot;
    std::vector<entry*> by_place;
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
      session->board = this;
      session->id = id;
      if (touched_.capacity() < sessions_.size()) touched_.reserve(2 * sessions_.size());
    }
    return *session;
  }

  // All that one wait needs until its end is had here.
  entry& make_entry() {
    if (waits_ >= room_) {
      room_ = 2 * (waits_ + 1);
      ended_.reserve(room_);
    }
    void* const room = entries_.malloc();
    if (!room) throw std::bad_alloc();
    return *new (room) entry();
  }

  static entry*& place_of(const entry& e) {
    std::vector<entry*>& places = e.by_ring ? e.of->by_slot : e.of->by_place;
    if (e.place >= places.size()) {
      if (e.by_ring) places.reserve(e.of->ring->entries());
      places.resize(e.place + 1);
    }
    return places[e.place];
  }

  static stream_state& stream_of(session_state& session, const wait_start& what) {
    std::vector<stream_state>& streams = session.streams;
    if (streams.size() <= what.stream) streams.resize(what.stream + 1);
    stream_state& s = streams[what.stream];
    s.probe.begin(what.stream_generation);
    return s;
  }
  static stream_state& stream_of(const entry& e) { return e.of->streams[e.stream]; }

  template <class See>
  static void for_each_of(session_state& session, See&& see) {
    for (stream_state& s : session.streams) {
      for (entry& e : s.waits) see(e);
    }
  }

  void end(entry& e, errc why, const wait_report& report) {
    session_state& session = *e.of;
    if (e.stop != wait_stop::dropped) {
      touch(session);
      const wait_ending ending = ending_of(e, why, report);
      ended_.push_back(note_of(ending));
      if (trace_) [[unlikely]]
        trace_->ended(&e, traced(ending));
      if (e.by_ring) {
        const auto slot = static_cast<uint16_t>(e.place);
        session.ring->complete(slot, in_ring(completion_of(ending)));
        if (planted(bug::credit_returned_twice)) session.ring->complete(slot, {});
      } else {
        session.completions.push_back(completion_of(ending));
      }
    }
    place_of(e) = nullptr;
    if (e.said == verdict::failed) failures_.erase(&e);
    stream_state& s = stream_of(e);
    s.probe.forget(e);
    s.waits.erase(s.waits.iterator_to(e));
    std::destroy_at(&e);
    entries_.free(&e);
    --session.waits;
    --waits_;
    forget_if_left(session);
  }

  void touch(session_state& session) {
    if (std::exchange(session.touched, true)) return;
    touched_.push_back(&session);
  }

  void ask(stream_state& s, const entry& e) {
    touch(*e.of);
    e.of->probes.push_back(s.probe.ask(e, ++last_probe_));
  }

  template <class Wake>
  void judge(stream_state& s, const proto::status_entry& status, Wake&& wake) {
    for (entry& e : s.waits) {
      if (e.said != verdict::none) continue;
      const verdict said = verdict_of(status, e.word.target());
      if (said == verdict::none) continue;
      if (said == verdict::failed) {
        failures_.insert_or_assign(&e, device_failure{status.status, status.call});
      }
      e.said = said;
      wake(e);
    }
  }

  // Of a success `said` may be a verdict that came too late to count.
  wait_ending ending_of(const entry& e, errc why, const wait_report& how) const {
    const bool by_owner = e.said == verdict::done;
    return {.session = e.of->id,
            .cookie = e.cookie,
            .stream = e.stream,
            .place = e.place,
            .by_ring = e.by_ring,
            .start = e.how.start,
            .why = why,
            .how = how,
            .confirmed = e.word_authority || by_owner,
            .lost_store = by_owner && !e.word.complete(),
            .failed = why == errc::Backend ? &failures_.at(&e) : nullptr};
  }

  void forget_if_left(session_state& session) {
    if (!session.gone || session.waits > 0) return;
    if (session.touched) std::erase(touched_, &session);
    left_.push_back(session.id);
    sessions_.erase(session.id);
  }

  session_map sessions_;
  static constexpr size_t entries_at_once = 32;
  boost::pool<> entries_{sizeof(entry), entries_at_once, entries_at_once};
  std::unordered_map<const entry*, device_failure> failures_;
  size_t waits_ = 0;
  size_t room_ = 0;  // of ended_
  std::vector<session_state*> touched_;
  std::vector<wait_end> ended_;
  std::vector<session_id> left_;
  uint64_t last_probe_ = 0;
  uint64_t probes_sent_ = 0;
  wait_trace* trace_ = nullptr;
  sleep_lateness* sleeps_ = nullptr;
};

}  // namespace gar
