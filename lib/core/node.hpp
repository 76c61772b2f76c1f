// Node: all that gard decides, as one state machine without a socket, a clock or a thread.
//
// A daemon that many processes lean on must be right in every order of events, most of which no
// test on a live machine brings about. So its decisions live here: events come in as calls with the
// time, what is to be done goes out as effects.
//
//     connect -> receive ... -> disconnect        frames and deaths of clients
//     wait_ended                                  what the executor reports
//     tick, when next_deadline() has come         time
//     configure, plan_set, plan_unset             the person who runs the machine
//     stop, say_bye                               the end
//
// Invariants: everything a client holds is counted against a limit before it is given; a refusal
// changes nothing; a frame that breaks the protocol ends its own session and nothing else; every
// wait that is taken is ended by exactly one wait_ended or dropped with its session; a wait runs
// under the plan of one of the last two generations published to its client.
// Order: report waits that have ended before the frames that arrived after their completions were
// sent; a client may use a cookie again as soon as it has read its completion.
// Threads: one at a time; in gard the io thread and the reactor's, under one lock. Blocking: never.
// Allocation: per session, stream and wait; for a wait by ring only until its tables have grown.
// Errors: answered to the client in `refusal` messages; to the caller only where a call says so.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/core/effect.hpp"
#include "lib/core/event_log.hpp"
#include "lib/core/node_limits.hpp"
#include "lib/core/node_snapshot.hpp"
#include "lib/core/plan_registry.hpp"
#include "lib/core/session.hpp"
#include "lib/core/sleep_lateness.hpp"
#include "lib/core/wait_statistics.hpp"

namespace gar {

struct lines_view {
  const uint64_t* words = nullptr;
  size_t count = 0;
};

struct node_options {
  node_limits limits;
  capabilities host;
  uint32_t page_bytes = proto::page_bytes_min;
  uint32_t waits_max = UINT32_MAX;  // that the executor can run at one time, of all clients
  std::string word_wait;            // as the welcome names them
  std::string executor;
  duration margin_floor;  // to begin with: sleep_lateness.hpp
  // Makes a session's next page of lines; it lives until the session's drop_waits is carried out.
  std::function<result<lines_view>(session_id)> make_page;
  // Makes a session's ring of so many entries and answers its request flag. Empty: no client is
  // given one; an error: this one is given none. It lives as long as the session's pages.
  std::function<result<uint32_t>(session_id, uint32_t entries)> make_ring;
  std::function<instant()> clock;  // dates events; empty: they have no date
};

class node {
 public:
  explicit node(node_options options);

  // LimitClients or LimitPerUser: the caller tells the peer and closes.
  result<session_id> connect(const peer& who, instant now);
  void receive(session_id from, std::span<const std::byte> frame, size_t descriptors, instant now);
  // A frame that did not even arrive whole: too long, or with descriptors that were refused.
  void receive_failed(session_id from, const error& why);
  // The peer closed, or its process died.
  void disconnect(session_id whom);
  // The caller lets a session go: it does not read, or its page cannot be had.
  void refuse_session(session_id whom, const error& why);

  void wait_ended(const wait_end& ended);

  // ---- What comes by rings, which whoever takes it has checked by itself (ring_intake.hpp).
  // nullptr where the session is gone. Valid until the next call of this kind or any other.
  session* ring_session(session_id whom);
  // Takes the wait in `slot`, in which nothing is in flight; a refusal is counted and logged.
  result<wait_start> start_by_ring(session& s, uint16_t slot, const proto::wait& m, instant now);
  void name_point(session& s, const proto::point& m);
  void take_outcome(session& s, const proto::outcome_entry& entry);

  // The whole answer to the session's last ask has left.
  void answer_sent(session_id to, instant now);

  void tick(instant now);
  instant next_deadline() const;

  // The plans of the configuration, in place of the earlier ones.
  void configure(const std::vector<configured_plan>& plans, bool replace);
  result<void> plan_set(plan_scope scope, const bands& requested);
  result<void> plan_unset(const plan_scope& scope);
  void set_limits(const node_limits& limits);

  // No session is accepted and no wait is taken any more.
  void stop() { stopping_ = true; }
  bool stopping() const { return stopping_; }
  // Ends every session with `bye`.
  void say_bye();

  std::vector<effect::any> take_effects() { return std::exchange(effects_, {}); }
  // Calls take(effect::any&) for each, in order, until one answers that it does not; that one and
  // those behind it stay. It must not call the node.
  template <class Take>
  void offer_effects(Take&& take) {
    size_t taken = 0;
    while (taken < effects_.size() && take(effects_[taken])) ++taken;
    effects_.erase(effects_.begin(), effects_.begin() + static_cast<std::ptrdiff_t>(taken));
  }
  bool has_effects() const { return !effects_.empty(); }

  // Who learns how late predicted sleeps end. Any thread.
  sleep_lateness& sleeps() { return sleeps_; }
  const plan_registry& plans() const { return plans_; }
  const wait_statistics& statistics() const { return statistics_; }
  const event_log& events() const { return events_; }
  // Something of the node's own happened, which others saw.
  void note(event_kind what, std::string text, uint16_t code = 0);
  const node_limits& limits() const { return options_.limits; }
  size_t sessions() const { return sessions_.size(); }
  // That the session has had open at one time, whatever may be opened now: so many probes of it can
  // be outstanding.
  size_t streams_of(session_id whom) const {
    const auto at = sessions_.find(whom);
    return at == sessions_.end() ? 0 : at->second->streams.size();
  }
  size_t pending() const { return waits_; }

  // What people see; `uid` set: only what this user owns. Fills the node's own part of a status.
  void describe(status_snapshot& into, std::optional<uint32_t> uid, instant now) const;
  std::vector<client_snapshot> clients(std::optional<uint32_t> uid, instant now) const;
  std::vector<stream_snapshot> streams(std::optional<uint32_t> uid, instant now) const;
  std::vector<point_snapshot> points(std::optional<uint32_t> uid, instant now = {}) const;
  // The same in parts, each of `most` entries at most: no part takes long, however much there is.
  // What comes and goes between two parts is in neither or in one of them.
  std::vector<client_snapshot> clients(std::optional<uint32_t> uid, instant now, list_place& at,
                                       size_t most) const;
  std::vector<stream_snapshot> streams(std::optional<uint32_t> uid, instant now, list_place& at,
                                       size_t most) const;
  std::vector<point_snapshot> points(std::optional<uint32_t> uid, list_place& at, size_t most,
                                     instant now = {}) const;

 private:
  struct request {
    uint64_t cookie = 0;
    proto::message_type type{};
  };

  session* find(session_id id);
  void send(const session& to, proto::message what,
            effect::with descriptors = effect::with::nothing);
  void log(const session& about, effect::log::level how, std::string text);
  void refuse(session& s, const request& of, const error& why);
  void note_refusal(session& s, const error& why);
  void note(const session& about, event_kind what, std::string text, uint16_t code = 0,
            std::optional<uint32_t> stream = std::nullopt);
  void note_failure(const session& about, uint32_t stream, uint16_t code, std::string text);
  void note_plan(std::string_view how, const plan_scope& scope);
  error turned_away(const peer& who, error why);
  void fail(session& s, const request& of, const error& why);
  // How its waits are counted.
  enum class leaving : uint8_t { owner_gone, said_bye, thrown_out, let_go };
  static std::string_view words_of(leaving how);
  void end(session& s, leaving how);

  void take(session& s, const proto::message& m, instant now);
  void on(session& s, const proto::hello& m, instant now);
  void on(session& s, const proto::open& m);
  void on(session& s, const proto::close& m);
  void on(session& s, const proto::point& m) { name_point(s, m); }
  void on(session& s, const proto::waits& m, instant now);
  void start(session& s, const proto::wait& m, instant now);
  // The two halves of a start: may it, and how; then what is kept of it.
  struct admitted {
    wait_start wait;
    const plan* how;
  };
  result<admitted> admit(session& s, const proto::wait& m, bool by_ring, instant now);
  pending_wait keep(session& s, admitted& a, const proto::wait& m);
  void count_end(session& s, const pending_wait& w, const wait_end& ended);
  void count_success(session& s, session_stream* stream, park_kind park, size_t plan_number,
                     const wait_report& ended);
  void on(session& s, const proto::kick& m);
  template <class See>
  void for_each_pending_of(const session& s, See&& see) const;
  template <class Entry>
  std::vector<Entry> list(std::optional<uint32_t> uid, list_place& at, size_t most,
                          void (node::*of_one)(const session&, instant, list_place&, size_t,
                                               std::vector<Entry>&) const,
                          instant now) const;
  void list_client(const session& s, instant now, list_place& at, size_t most,
                   std::vector<client_snapshot>& all) const;
  void list_streams(const session& s, instant now, list_place& at, size_t most,
                    std::vector<stream_snapshot>& all) const;
  void list_points(const session& s, instant now, list_place& at, size_t most,
                   std::vector<point_snapshot>& all) const;
  void on(session& s, const proto::cancel& m);
  void on(session& s, const proto::statuses& m);
  void on(session& s, const proto::outcomes& m);
  void on(session& s, const proto::ask& m, instant now);

  void greet_until(session& s, instant at);
  result<void> add_page(session& s);
  result<void> may_open(const session& s) const;
  result<slot_table::taken> place_for(session& s, uint64_t base);
  uint32_t open_stream(session& s, const proto::open& m, const slot_table::taken& place);
  result<void> may_wait(session& s, const proto::wait& m, bool by_ring);
  result<const plan*> plan_of(session& s, const proto::wait& m);
  void record(session& s, const proto::outcome_entry& entry);
  readback* history_of(session& s, const pending_wait& w);
  void publish_to_all();
  void publish(session& s);
  void send_plans(const session& s);

  node_options options_;
  sleep_lateness sleeps_{options_.margin_floor};
  plan_registry plans_;
  bool stopping_ = false;
  session_id last_session_ = 0;
  std::map<session_id, std::unique_ptr<session>> sessions_;  // ordered: lists come out by age
  std::unordered_map<uint32_t, user_holdings> users_;
  size_t waits_ = 0;
  session* last_ended_ = nullptr;                      // waits end in runs of one session's
  std::set<std::pair<instant, session_id>> greeting_;  // by greet_until
  wait_counts totals_;
  kind_counts kinds_;
  wait_statistics statistics_;
  event_log events_;
  std::vector<effect::any> effects_;
};

}  // namespace gar
