// What people see of the node: its lists and its part of a status.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "lib/core/node.hpp"

namespace gar {
namespace {

uint64_t to_ms(duration d) {
  return d.ns / 1'000'000;
}

bool shows(const std::optional<uint32_t>& uid, const session& s) {
  return !uid || *uid == s.who.uid;
}

}  // namespace

template <class See>
void node::for_each_pending_of(const session& s, See&& see) const {
  s.by_message.for_each(see);
  if (!s.ring) return;
  for (const pending_wait& w : s.ring->slots) {
    if (w.now != pending_wait::state::free) see(w);
  }
}

void node::describe(status_snapshot& into, std::optional<uint32_t> uid, instant now) const {
  const plan_in_force& plan = plans_.default_plan();
  into.plan = {plans_.generation(), plan.requested.label(), plan.running.label(), plan.warnings};
  // Rounded up, so that what is shown is never less than what is kept.
  into.margin_floor_us = (sleeps_.floor().ns + 999) / 1000;
  into.kinds = uid ? kind_counts{} : kinds_;
  into.waits = uid ? wait_counts{} : totals_;
  into.clients = into.streams = 0;
  for (const auto& [id, s] : sessions_) {
    if (!shows(uid, *s) || s->now != session::state::established) continue;
    ++into.clients;
    into.streams += s->open_streams;
    into.waits.pending += s->pending();
    if (!uid) continue;
    into.waits.completed += s->waits.completed;
    into.waits.failed += s->waits.failed;
    into.waits.cancelled += s->waits.cancelled;
    into.waits.timed_out += s->waits.timed_out;
    into.waits.early_word += s->waits.early_word;
    into.waits.refused += s->waits.refused;
    into.waits.lost_store += s->waits.lost_store;
    into.waits.waited_ns = (duration{into.waits.waited_ns} + duration{s->waits.waited_ns}).ns;
    into.kinds.add(s->kinds);
  }
  instant oldest = now;
  for (const auto& [id, s] : sessions_) {
    if (!shows(uid, *s)) continue;
    for_each_pending_of(*s, [&](const pending_wait& w) { oldest = std::min(oldest, w.start); });
  }
  into.waits.oldest_pending_ms = to_ms(now - oldest);
}

// A part of a list: each session's entries in turn, from where the last part ended. of_one leaves
// `at.entry` at 0 when it is through with the session.
template <class Entry>
std::vector<Entry> node::list(std::optional<uint32_t> uid, list_place& at, size_t most,
                              void (node::*of_one)(const session&, instant, list_place&, size_t,
                                                   std::vector<Entry>&) const,
                              instant now) const {
  std::vector<Entry> all;
  for (auto s = sessions_.lower_bound(at.session); s != sessions_.end(); ++s) {
    if (s->first != at.session) at.entry = 0;  // the one that was to go on is gone
    at.session = s->first;
    if (!shows(uid, *s->second)) continue;
    if (all.size() >= most) return all;
    (this->*of_one)(*s->second, now, at, most, all);
    if (at.entry != 0) return all;
  }
  at.ended = true;
  return all;
}

namespace {

template <class Read>
auto whole_list(Read&& read) {
  list_place at;
  return read(at, SIZE_MAX);
}

}  // namespace

std::vector<client_snapshot> node::clients(std::optional<uint32_t> uid, instant now, list_place& at,
                                           size_t most) const {
  return list(uid, at, most, &node::list_client, now);
}

std::vector<stream_snapshot> node::streams(std::optional<uint32_t> uid, instant now, list_place& at,
                                           size_t most) const {
  return list(uid, at, most, &node::list_streams, now);
}

std::vector<point_snapshot> node::points(std::optional<uint32_t> uid, list_place& at, size_t most,
                                         instant now) const {
  return list(uid, at, most, &node::list_points, now);
}

std::vector<client_snapshot> node::clients(std::optional<uint32_t> uid, instant now) const {
  return whole_list([&](list_place& at, size_t most) { return clients(uid, now, at, most); });
}

std::vector<stream_snapshot> node::streams(std::optional<uint32_t> uid, instant now) const {
  return whole_list([&](list_place& at, size_t most) { return streams(uid, now, at, most); });
}

std::vector<point_snapshot> node::points(std::optional<uint32_t> uid, instant now) const {
  return whole_list([&](list_place& at, size_t most) { return points(uid, at, most, now); });
}

void node::list_client(const session& s, instant now, list_place&, size_t,
                       std::vector<client_snapshot>& all) const {
  if (s.now != session::state::established) return;
  client_snapshot c;
  c.id = s.id;
  c.name = s.name;
  c.uid = s.who.uid;
  c.gid = s.who.gid;
  c.pid = s.who.pid;
  c.connected_ms = to_ms(now - s.connected);
  c.streams = s.open_streams;
  c.notification = s.ring ? "ring" : "socket";
  c.pending = s.pending();
  c.completed = s.waits.completed;
  c.failed = s.waits.failed;
  c.waited_ns = s.waits.waited_ns;
  c.kinds = s.kinds;
  instant oldest = now;
  for_each_pending_of(s, [&](const pending_wait& w) { oldest = std::min(oldest, w.start); });
  c.oldest_pending_ms = to_ms(now - oldest);
  c.drivers = s.drivers;
  all.push_back(std::move(c));
}

void node::list_streams(const session& s, instant now, list_place& at, size_t most,
                        std::vector<stream_snapshot>& all) const {
  std::unordered_map<uint32_t, instant> oldest;
  for_each_pending_of(s, [&](const pending_wait& w) {
    instant& first = oldest.try_emplace(w.stream, now).first->second;
    first = std::min(first, w.start);
  });
  for (uint32_t index = std::exchange(at.entry, 0); index < s.streams.size(); ++index) {
    const session_stream& from = s.streams[index];
    if (!from.open) continue;
    if (all.size() >= most) {
      at.entry = index;
      return;
    }
    stream_snapshot to;
    to.client_id = s.id;
    to.client = s.name;
    to.stream = index;
    to.stream_generation = from.generation;
    to.name = from.name;
    to.authority = from.authority == proto::authority_word ? "word" : "owner";
    to.page = from.at.page;
    to.line = from.at.line();
    to.slot = from.at.slot();
    to.base = from.base;
    to.word = proto::load_word(s.slots.word(from.at));
    to.pending = from.pending;
    to.completed = from.completed;
    to.waited_ns = from.waited_ns;
    to.kinds = from.kinds;
    const auto first = oldest.find(index);
    if (first != oldest.end()) to.oldest_pending_ms = to_ms(now - first->second);
    all.push_back(std::move(to));
  }
}

namespace {

point_snapshot describe_history(const session& s, const readback& history) {
  point_snapshot p;
  p.client_id = s.id;
  p.client = s.name;
  p.samples = history.of.samples();
  const std::optional<duration> predicted =
      history.of.predicted(history.window ? history.window : 1);
  if (predicted) p.predicted_ns = predicted->ns;
  p.waits = history.waits;
  p.waited_ns = history.waited_ns;
  p.kinds = history.kinds;
  return p;
}

}  // namespace

// The entries before points_end are named points by their number, the others streams.
void node::list_points(const session& s, instant now, list_place& at, size_t most,
                       std::vector<point_snapshot>& all) const {
  constexpr size_t points_end = proto::points_per_client_max + 1;
  struct load {
    uint64_t pending = 0;
    instant oldest = instant::never();
  };
  std::unordered_map<size_t, load> loads;  // by entry
  for_each_pending_of(s, [&](const pending_wait& w) {
    load& at_point = loads[w.point != 0 ? w.point : points_end + w.stream];
    ++at_point.pending;
    at_point.oldest = std::min(at_point.oldest, w.start);
  });
  for (size_t entry = std::exchange(at.entry, 0); entry < points_end + s.streams.size(); ++entry) {
    const bool named = entry < points_end;
    const size_t stream = named ? 0 : entry - points_end;
    const bool there = named ? entry < s.points.size() && !s.points[entry].name.empty()
                             : s.streams[stream].open && s.streams[stream].history.waits > 0;
    if (!there) continue;
    if (all.size() >= most) {
      at.entry = static_cast<uint32_t>(entry);
      return;
    }
    all.push_back(describe_history(s, named ? s.points[entry].history : s.streams[stream].history));
    if (const auto found = loads.find(entry); found != loads.end()) {
      all.back().pending = found->second.pending;
      all.back().oldest_pending_ms = to_ms(now - found->second.oldest);
    }
    if (named) {
      all.back().point = s.points[entry].name;
    } else {
      all.back().stream = static_cast<uint32_t>(stream);
    }
  }
}

}  // namespace gar
