// What people see of the node: its lists and its part of a status.
#include <algorithm>

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
void node::for_each_pending(See&& see) const {
  for (const auto& [id, w] : waits_) see(w);
  for (const auto& [id, s] : sessions_) {
    if (!s->ring) continue;
    for (const ring_books::taken& t : s->ring->slots) {
      if (t.id != 0) see(t.wait);
    }
  }
}

void node::describe(status_snapshot& into, std::optional<uint32_t> uid, instant now) const {
  const plan_in_force& plan = plans_.default_plan();
  into.plan = {plans_.generation(), plan.requested.label(), plan.running.label(), plan.warnings};
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
    into.kinds.add(s->kinds);
  }
  instant oldest = now;
  for_each_pending([&](const pending_wait& w) {
    if (uid && !shows(uid, *sessions_.at(w.session))) return;
    oldest = std::min(oldest, w.start);
  });
  into.waits.oldest_pending_ms = to_ms(now - oldest);
}

std::vector<client_snapshot> node::clients(std::optional<uint32_t> uid, instant now) const {
  std::vector<client_snapshot> all;
  std::unordered_map<session_id, instant> oldest;
  for_each_pending([&](const pending_wait& w) {
    instant& first = oldest.try_emplace(w.session, now).first->second;
    first = std::min(first, w.start);
  });
  for (const auto& [id, s] : sessions_) {
    if (!shows(uid, *s) || s->now != session::state::established) continue;
    client_snapshot c;
    c.id = id;
    c.name = s->name;
    c.uid = s->who.uid;
    c.gid = s->who.gid;
    c.pid = s->who.pid;
    c.connected_ms = to_ms(now - s->connected);
    c.streams = s->open_streams;
    c.notification = s->ring ? "ring" : "socket";
    c.pending = s->pending();
    c.completed = s->waits.completed;
    c.failed = s->waits.failed;
    const auto first = oldest.find(id);
    if (first != oldest.end()) c.oldest_pending_ms = to_ms(now - first->second);
    c.drivers = s->drivers;
    all.push_back(std::move(c));
  }
  return all;
}

std::vector<stream_snapshot> node::streams(std::optional<uint32_t> uid, instant now) const {
  std::map<std::pair<session_id, uint32_t>, instant> oldest;
  for_each_pending([&](const pending_wait& w) {
    instant& first = oldest.try_emplace({w.session, w.stream}, now).first->second;
    first = std::min(first, w.start);
  });
  std::vector<stream_snapshot> all;
  for (const auto& [id, s] : sessions_) {
    if (!shows(uid, *s)) continue;
    for (uint32_t index = 0; index < s->streams.size(); ++index) {
      const session_stream& from = s->streams[index];
      if (!from.open) continue;
      stream_snapshot to;
      to.client_id = id;
      to.client = s->name;
      to.stream = index;
      to.stream_generation = from.generation;
      to.name = from.name;
      to.authority = from.authority == proto::authority_word ? "word" : "owner";
      to.page = from.at.page;
      to.line = from.at.line();
      to.slot = from.at.slot();
      to.base = from.base;
      to.word = proto::load_word(s->slots.word(from.at));
      to.pending = from.pending;
      to.completed = from.completed;
      const auto first = oldest.find({id, index});
      if (first != oldest.end()) to.oldest_pending_ms = to_ms(now - first->second);
      all.push_back(std::move(to));
    }
  }
  return all;
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
  p.kinds = history.kinds;
  return p;
}

}  // namespace

std::vector<point_snapshot> node::points(std::optional<uint32_t> uid) const {
  std::vector<point_snapshot> all;
  for (const auto& [id, s] : sessions_) {
    if (!shows(uid, *s)) continue;
    for (const session_point& from : s->points) {
      if (from.name.empty()) continue;
      all.push_back(describe_history(*s, from.history));
      all.back().point = from.name;
    }
    for (uint32_t index = 0; index < s->streams.size(); ++index) {
      const session_stream& from = s->streams[index];
      if (!from.open || from.history.waits == 0) continue;
      all.push_back(describe_history(*s, from.history));
      all.back().stream = index;
    }
  }
  return all;
}

}  // namespace gar
