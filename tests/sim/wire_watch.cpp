#include "tests/sim/wire_watch.hpp"

#include <fmt/format.h>

#include <cstring>

#include "lib/core/plan.hpp"
#include "proto/ring.hpp"

namespace gar::sim {
namespace {

// A calm gard takes what stands in a ring this soon.
constexpr uint64_t taken_ns_max = 1'000'000;

// Wrapping order, by itself: what is judged must not judge.
bool is_at_least(uint64_t word, uint64_t target) {
  return word - target < (uint64_t{1} << 63);
}

template <class T>
T read_at(const memory_file& m, size_t offset) {
  T value;
  std::memcpy(&value, m.bytes + offset, sizeof(value));
  return value;
}

// With these gard says that its client broke the protocol, which the library never does.
bool is_blame(uint16_t code) {
  switch (static_cast<errc>(code)) {
    case errc::OutOfState:
    case errc::UnknownStream:
    case errc::UnknownPoint:
    case errc::DuplicateCookie:
    case errc::TargetOutOfRange:
    case errc::MalformedMessage:
    case errc::UnknownMessage:
      return true;
    default:
      return false;
  }
}

bool is_limit(uint16_t code) {
  const error_entry* e = find_error(code);
  return e && e->class_ == "limit";
}

}  // namespace

void wire_watch::attach() {
  kernel_->seen = [this](socket_end& from, const std::vector<std::byte>& bytes,
                         const std::vector<std::shared_ptr<open_file>>& files) {
    sent(from, bytes, files);
  };
  kernel_->ended = [this](socket_end& one, const char* why) { ended(one, why); };
}

void wire_watch::follow(gpu_stream& stream) {
  streams_.push_back(&stream);
  stream.landed = [this](const gpu_stream& by, const word_place& into, uint64_t value) {
    landed(by, into, value);
  };
  stream.armed = [this](const gpu_stream& by, const word_place& into) {
    const auto at = words_.find(into);
    if (at != words_.end()) at->second.gpu = &by;
  };
}

void wire_watch::illegal(const connection& c, const std::string& what) {
  judge_->found("illegal message", fmt::format("connection {}: {}", c.number, what));
}

void wire_watch::sent(socket_end& from, const std::vector<std::byte>& bytes,
                      const std::vector<std::shared_ptr<open_file>>& files) {
  connection& c = connections_[from.connection];
  c.number = from.connection;
  const result<proto::message> m = proto::decode(bytes);
  if (!m) return illegal(c, "a frame that cannot be read: " + m.error().text());
  kernel_->on->say(kernel_->on->actor(), "sends {}", proto::name_of(proto::type_of(*m)));
  if (from.by_client) {
    from_client(c, *m);
  } else {
    from_gard(c, *m, files);
  }
}

void wire_watch::ended(socket_end& one, const char* why) {
  const auto at = connections_.find(one.connection);
  if (at == connections_.end()) return;
  if (how_->calm && !at->second.bye) {
    judge_->found("lost connection",
                  fmt::format("connection {} {} for nothing", one.connection, why));
  }
  std::erase_if(words_, [&](const auto& w) { return w.second.connection == one.connection; });
  connections_.erase(at);
}

// ---- what clients say

void wire_watch::from_client(connection& c, const proto::message& m) {
  const std::string name(proto::name_of(proto::type_of(m)));
  if (std::holds_alternative<proto::hello>(m)) {
    if (c.greeted) illegal(c, "a second hello");
    c.greeted = true;
    return;
  }
  if (!c.welcomed) return illegal(c, name + " before the welcome");
  if (const auto* o = std::get_if<proto::open>(&m)) {
    c.opens[o->cookie] = o->authority == proto::authority_word;
  } else if (const auto* w = std::get_if<proto::waits>(&m)) {
    for (const proto::wait& one : w->entries) starts(c, one.cookie, one);
  } else if (const auto* p = std::get_if<proto::point>(&m)) {
    c.points[p->point_number] = p->point_name;
  } else if (const auto* s = std::get_if<proto::statuses>(&m)) {
    for (const proto::status_entry& e : s->entries) {
      const auto at = c.streams.find(e.stream);
      if (at == c.streams.end() || at->second.generation != e.stream_generation) continue;
      if (at->second.probe != e.probe_id) illegal(c, fmt::format("answer to probe {}", e.probe_id));
      at->second.probe = 0;
    }
  } else if (const auto* gone = std::get_if<proto::close>(&m)) {
    closes(c, *gone);
  } else if (std::holds_alternative<proto::kick>(m)) {
    if (!c.with_ring) illegal(c, "kick without a ring");
  } else if (std::holds_alternative<proto::bye>(m)) {
    c.bye = true;
  } else if (proto::sender_of(proto::type_of(m)) == proto::sender::server) {
    illegal(c, name + " from a client");
  }
}

void wire_watch::closes(connection& c, const proto::close& m) {
  const auto at = c.streams.find(m.stream);
  if (at == c.streams.end() || !at->second.open || at->second.generation != m.stream_generation) {
    return illegal(c, "close of a stream that is not open");
  }
  for (const auto& [key, w] : c.waits) {
    if (!w.is_point && w.stream == m.stream) return illegal(c, "close while a wait is in flight");
  }
  at->second.open = false;
  if (const auto word = words_.find(at->second.at); word != words_.end()) {
    word->second.closed = true;
  }
}

void wire_watch::starts(connection& c, uint64_t key, const proto::wait& w) {
  if (c.waits.contains(key)) return illegal(c, fmt::format("wait {} is in flight", key));
  const auto s = c.streams.find(w.stream);
  if (s == c.streams.end() || s->second.generation != w.stream_generation) {
    return illegal(c, "a wait on a stream that was never opened");
  }
  wait made;
  made.target = w.target;
  made.stream = w.stream;
  made.seen_ns = kernel_->on->now_ns();
  if (w.timeout_ns != 0) {
    made.deadline_ns = made.seen_ns - std::min(w.age_ns, made.seen_ns) + w.timeout_ns;
  }
  made.backstop_ns = backstop_of(c, w);
  c.waits.emplace(key, made);
}

// Of the plan that the owner picked, by the text that it was told.
uint64_t wire_watch::backstop_of(const connection& c, const proto::wait& w) const {
  const auto plans = c.plans.find(w.plan_generation);
  if (plans == c.plans.end()) return 0;
  const auto point = c.points.find(w.point_number);
  const std::string name = point == c.points.end() ? std::string() : point->second;
  const proto::plan_scope* best = nullptr;
  for (const proto::plan_scope& p : plans->second) {
    const bool here = p.point_name.empty() || p.point_name == name;
    if (here && (!best || p.scope > best->scope)) best = &p;
  }
  const result<bands> parsed = best ? bands::parse(best->text) : bands::parse("poll");
  return parsed ? parsed->select(w.rows).backstop.ns : 0;
}

// ---- what gard says

void wire_watch::from_gard(connection& c, const proto::message& m,
                           const std::vector<std::shared_ptr<open_file>>& files) {
  const std::string name(proto::name_of(proto::type_of(m)));
  if (const auto* w = std::get_if<proto::welcome>(&m)) {
    if (!c.greeted || c.welcomed) illegal(c, "a welcome that nobody asked for");
    c.welcomed = true;
    c.pages.push_back(std::static_pointer_cast<memory_file>(files.at(0)));
    if (w->ring_entries != 0) {
      c.with_ring.emplace();
      c.with_ring->memory = std::static_pointer_cast<memory_file>(files.at(3));
      c.with_ring->entries = w->ring_entries;
    }
    return;
  }
  if (const auto* r = std::get_if<proto::refusal>(&m)) return refused(c, *r);
  if (std::holds_alternative<proto::bye>(m)) {
    c.bye = true;
    return;
  }
  if (!c.welcomed) return illegal(c, name + " before the welcome");
  if (const auto* o = std::get_if<proto::opened>(&m)) {
    opened(c, *o);
  } else if (std::holds_alternative<proto::page>(m)) {
    c.pages.push_back(std::static_pointer_cast<memory_file>(files.at(0)));
  } else if (const auto* p = std::get_if<proto::plan_scope>(&m)) {
    c.plans[p->generation].push_back(*p);
  } else if (const auto* done = std::get_if<proto::completions>(&m)) {
    for (const proto::completion_entry& e : done->entries) {
      ends(c, e.cookie, e.code, e.confirmed != 0);
    }
  } else if (const auto* asked = std::get_if<proto::probes>(&m)) {
    for (const proto::probe_entry& e : asked->entries) probed(c, e);
  } else if (proto::sender_of(proto::type_of(m)) == proto::sender::client) {
    illegal(c, name + " from gard");
  }
}

void wire_watch::opened(connection& c, const proto::opened& o) {
  const auto asked = c.opens.find(o.cookie);
  if (asked == c.opens.end()) return illegal(c, "opened, and nobody asked");
  if (o.page_index >= c.pages.size()) return illegal(c, "opened on a page that was not sent");
  stream s;
  s.open = true;
  s.generation = o.stream_generation;
  s.word_authority = asked->second;
  s.page = c.pages[o.page_index];
  s.at = {s.page->number,
          (size_t{o.line_index} * proto::words_per_line + o.slot) * sizeof(uint64_t)};
  c.opens.erase(asked);
  if (c.streams.contains(o.stream) && c.streams[o.stream].open) {
    return illegal(c, fmt::format("stream {} is open already", o.stream));
  }
  const auto word = words_.find(s.at);
  if (word != words_.end() && !word->second.closed) {
    return illegal(c, fmt::format("the word of stream {} is another stream's", o.stream));
  }
  words_[s.at] = {c.number, o.stream, nullptr, false};
  c.streams[o.stream] = std::move(s);
}

void wire_watch::refused(connection& c, const proto::refusal& m) {
  c.opens.erase(m.cookie);
  if (static_cast<proto::message_type>(m.request_type) == proto::message_type::wait) {
    c.waits.erase(m.cookie);
  }
  if (m.fatal) c.bye = true;
  const bool expected = is_limit(m.code) || static_cast<errc>(m.code) == errc::StalePlan;
  if (is_blame(m.code) || (how_->calm && !expected)) illegal(c, "refused: " + m.text);
}

void wire_watch::probed(connection& c, const proto::probe_entry& p) {
  const auto at = c.streams.find(p.stream);
  if (at == c.streams.end()) return illegal(c, "probe of a stream that was never opened");
  stream& s = at->second;
  if (s.generation != p.stream_generation || !s.open) return;  // its close is on the way
  if (s.probe != 0) return illegal(c, "a second probe of a stream");
  s.probe = p.probe_id;
  uint64_t due_ns = UINT64_MAX;
  for (const auto& [key, w] : c.waits) {
    if (w.is_point || w.stream != p.stream || w.target != p.sequence) continue;
    due_ns = std::min(due_ns, w.seen_ns + w.backstop_ns);
  }
  if (due_ns != UINT64_MAX && kernel_->on->now_ns() < due_ns) {
    judge_->found("early probe",
                  fmt::format("probe of {} {:.1f} us before its plan's backstop", p.sequence,
                              static_cast<double>(due_ns - kernel_->on->now_ns()) / 1000.0));
  }
}

void wire_watch::ends(connection& c, uint64_t key, uint16_t code, bool confirmed) {
  const auto at = c.waits.find(key);
  if (at == c.waits.end()) {
    return illegal(c, fmt::format("the end of wait {}, which is not in flight", key));
  }
  const wait w = at->second;
  c.waits.erase(at);
  if (w.is_point) return;
  kernel_->on->say(kernel_->on->actor(), "ends wait {} for {}: code {}{}", key, w.target, code,
                   confirmed ? ", confirmed" : "");
  if (code == 0) return arrived(c, w, confirmed);
  if (static_cast<errc>(code) == errc::TimedOut && kernel_->on->now_ns() < w.deadline_ns) {
    return judge_->found("false timeout",
                         fmt::format("gard: wait for {} ended before its time", w.target));
  }
  const bool expected = is_limit(code) || static_cast<errc>(code) == errc::StalePlan ||
                        static_cast<errc>(code) == errc::TimedOut ||
                        static_cast<errc>(code) == errc::Cancelled ||
                        static_cast<errc>(code) == errc::Backend;
  if (is_blame(code) || (how_->calm && !expected)) {
    illegal(c, fmt::format("a wait ended with code {}", code));
  }
}

void wire_watch::arrived(connection& c, const wait& w, bool confirmed) {
  const stream& s = c.streams[w.stream];
  const bool word_there = is_at_least(read_at<uint64_t>(*s.page, s.at.offset), w.target);
  if (s.word_authority || !confirmed) {
    if (!word_there && how_->devices.neighbour == 0) {
      judge_->found("false arrival", fmt::format("gard: the word has not reached {}", w.target));
    }
    return;
  }
  for (const gpu_stream* g : streams_) {
    const gpu_stream::record* r = g->find(w.target);
    if (!r || r->at != s.at) continue;
    if (g->done(w.target)) return;
    return judge_->found("false verdict", fmt::format("gard: {} of {} is confirmed, its work is "
                                                      "not done",
                                                      w.target, g->name()));
  }
}

// ---- what goes by rings

void wire_watch::step() {
  for (auto& [number, c] : connections_) {
    if (c.with_ring) look_at_ring(c);
  }
}

void wire_watch::look_at_ring(connection& c) {
  ring& r = *c.with_ring;
  const auto tail = read_at<uint64_t>(*r.memory, offsetof(proto::ring_header, submit_tail));
  while (r.submitted < tail) submission(c, r, r.submitted++);
  const auto ended = read_at<uint64_t>(*r.memory, offsetof(proto::ring_header, complete_tail));
  while (r.completed < ended) completion(c, r, r.completed++);
  const auto head = read_at<uint64_t>(*r.memory, offsetof(proto::ring_header, submit_head));
  if (head >= r.urgent) {
    r.unseen_since_ns = 0;
  } else if (r.unseen_since_ns == 0) {
    r.unseen_since_ns = kernel_->on->now_ns();
  } else if (how_->calm && kernel_->on->now_ns() - r.unseen_since_ns > taken_ns_max) {
    judge_->found("request unseen",
                  fmt::format("connection {}: gard does not look at its ring", c.number));
  }
}

void wire_watch::submission(connection& c, ring& r, uint64_t index) {
  const auto s = read_at<proto::submission>(
      *r.memory, proto::ring_submit_offset + (index & (r.entries - 1)) * sizeof(proto::submission));
  // A point's name may lie until the wait or outcome behind it.
  if (s.op != proto::submit_point) r.urgent = index + 1;
  if (s.op == proto::submit_cancel) return;
  const size_t at = proto::ring_slots_offset(r.entries) + s.slot * sizeof(proto::ring_slot);
  const auto q = read_at<proto::ring_request>(*r.memory, at);
  if (s.op == proto::submit_point) {
    if (c.waits.contains(s.slot)) return illegal(c, fmt::format("slot {} is in flight", s.slot));
    const char* name = reinterpret_cast<const char*>(r.memory->bytes) + at +
                       offsetof(proto::ring_slot, point_name);
    c.points[q.point] = std::string(name, strnlen(name, proto::name_field_bytes));
    c.waits[s.slot].is_point = true;
    return;
  }
  starts(c, s.slot,
         {s.slot, q.target, q.age_ns, q.timeout_ns, q.plan_generation, q.stream,
          q.stream_generation, q.point, q.rows});
}

void wire_watch::completion(connection& c, ring& r, uint64_t index) {
  const auto slot = read_at<uint32_t>(*r.memory, proto::ring_complete_offset(r.entries) +
                                                     (index & (r.entries - 1)) * sizeof(uint32_t));
  const auto how = read_at<proto::ring_completion>(
      *r.memory, proto::ring_slots_offset(r.entries) + slot * sizeof(proto::ring_slot) +
                     offsetof(proto::ring_slot, completion));
  ends(c, slot, how.code, how.confirmed != 0);
}

// ---- what devices store

void wire_watch::landed(const gpu_stream& by, const word_place& into, uint64_t value) {
  const auto at = words_.find(into);
  if (at == words_.end()) return;
  const holder& h = at->second;
  if (!h.closed && h.gpu == &by) return;
  judge_->found("stray store", fmt::format("{} stores {} into a word that is {}", by.name(), value,
                                           h.closed ? "nobody's any more" : "another stream's"));
}

}  // namespace gar::sim
