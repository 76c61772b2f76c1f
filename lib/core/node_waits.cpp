// The node's streams, points and waits: what a client that was welcomed may do.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/core/node.hpp"
#include "lib/core/planted.hpp"

namespace gar {

// ---- streams and points

result<void> node::may_open(const session& s) const {
  const node_limits& most = options_.limits;
  if (s.open_streams >= most.streams_per_client) {
    return error(errc::LimitStreams, {std::to_string(most.streams_per_client)});
  }
  if (s.user->streams >= most.streams_per_user) {
    return error(errc::LimitPerUser,
                 {std::to_string(s.who.uid), std::to_string(most.streams_per_user), "streams"});
  }
  return {};
}

void node::on(session& s, const proto::open& m) {
  const request of{m.cookie, proto::message_type::open};
  result<void> may = may_open(s);
  if (!may) return refuse(s, of, may.error());
  result<slot_table::taken> place = place_for(s, m.base);
  if (!place) return refuse(s, of, place.error());
  const uint32_t index = open_stream(s, m, *place);
  note(s, event_kind::stream_opened, m.stream_name, 0, index);
  send(s, proto::opened{m.cookie, place->base, index, s.streams[index].generation, place->at.page,
                        place->at.line(), place->at.slot()});
}

// On a page that the client has, else on a further one.
result<slot_table::taken> node::place_for(session& s, uint64_t base) {
  if (std::optional<slot_table::taken> taken = s.slots.take(base)) return *taken;
  result<void> added = add_page(s);
  if (!added) return added.error();
  send(s, proto::page{static_cast<uint16_t>(s.slots.pages() - 1), options_.page_bytes},
       effect::with::lines_page);
  return *s.slots.take(base);
}

uint32_t node::open_stream(session& s, const proto::open& m, const slot_table::taken& place) {
  if (s.free_streams.empty()) {
    s.free_streams.push_back(static_cast<uint32_t>(s.streams.size()));
    s.streams.emplace_back();
  }
  const uint32_t index = s.free_streams.back();
  s.free_streams.pop_back();
  session_stream& stream = s.streams[index];
  const uint32_t generation = stream.generation + 1;
  stream = {};
  stream.open = true;
  stream.generation = generation;
  stream.authority = m.authority;
  stream.name = m.stream_name;
  stream.at = place.at;
  stream.base = place.base;
  ++s.open_streams;
  ++s.user->streams;
  return index;
}

void node::on(session& s, const proto::close& m) {
  const request of{m.cookie, proto::message_type::close};
  session_stream* stream = s.stream_of(m.stream, m.stream_generation);
  if (!stream) {
    return refuse(s, of,
                  error(errc::UnknownStream,
                        {std::to_string(m.stream), std::to_string(m.stream_generation)}));
  }
  if (stream->pending > 0) {
    return refuse(s, of,
                  error(errc::OutOfState, {"close", "while waits on the stream are pending"}));
  }
  s.slots.free(stream->at, m.last_sequence);
  stream->open = false;
  note(s, event_kind::stream_closed, stream->name, 0, m.stream);
  s.free_streams.push_back(m.stream);
  --s.open_streams;
  --s.user->streams;
  send(s, proto::closed{m.cookie});
}

void node::name_point(session& s, const proto::point& m) {
  if (m.point_number == 0 || m.point_number > proto::points_per_client_max) {
    return refuse(s, {0, proto::message_type::point},
                  error(errc::UnknownPoint, {std::to_string(m.point_number)}));
  }
  if (m.point_number >= s.points.size()) s.points.resize(m.point_number + 1);
  session_point& p = s.points[m.point_number];
  if (p.name == m.point_name) return;
  p = {m.point_name, p.version + 1, {}};
}

// ---- waits

result<const plan*> node::plan_of(session& s, const proto::wait& m) {
  const session_point* point = s.point_of(m.point_number);
  for (const std::shared_ptr<const published_plans>& p : s.published) {
    const bool newest = planted(bug::plan_changed_under_wait);
    if (!p || (p->generation() != m.plan_generation && !newest)) continue;
    return &p->select(point ? point->name : std::string_view{}).select(m.rows);
  }
  return error(errc::StalePlan,
               {std::to_string(m.plan_generation), std::to_string(s.published[0]->generation())});
}

result<void> node::may_wait(session& s, const proto::wait& m, bool by_ring) {
  const node_limits& most = options_.limits;
  if (stopping_) return error(errc::ShuttingDown);
  const session_stream* stream = s.stream_of(m.stream, m.stream_generation);
  if (!stream) {
    return error(errc::UnknownStream,
                 {std::to_string(m.stream), std::to_string(m.stream_generation)});
  }
  if (m.point_number != 0 && !s.point_of(m.point_number)) {
    return error(errc::UnknownPoint, {std::to_string(m.point_number)});
  }
  if (!by_ring && s.by_message.has(m.cookie)) {
    return error(errc::DuplicateCookie, {std::to_string(m.cookie)});
  }
  if (reached(stream->base, m.target)) {
    return error(errc::TargetOutOfRange, {std::to_string(m.target), std::to_string(stream->base)});
  }
  if (s.pending() >= most.waits_per_client) {
    return error(errc::LimitWaits, {std::to_string(most.waits_per_client)});
  }
  if (s.user->waits >= most.waits_per_user) {
    return error(errc::LimitPerUser,
                 {std::to_string(s.who.uid), std::to_string(most.waits_per_user), "waits"});
  }
  if (pending() >= options_.waits_max) {
    return error(errc::LimitWaits, {std::to_string(options_.waits_max)});
  }
  // What the executor can run is nobody's alone.
  const uint32_t one_users = options_.waits_max - options_.waits_max / 4;
  if (s.user->waits >= one_users) {
    return error(errc::LimitPerUser,
                 {std::to_string(s.who.uid), std::to_string(one_users), "waits"});
  }
  return {};
}

void node::on(session& s, const proto::waits& m, instant now) {
  for (const proto::wait& one : m.entries) start(s, one, now);
}

void node::on(session& s, const proto::kick&) {
  if (s.ring) return effects_.push_back(effect::look{s.id});
  fail(s, {0, proto::message_type::kick}, error(errc::OutOfState, {"kick", "without a ring"}));
}

void node::start(session& s, const proto::wait& m, instant now) {
  result<admitted> a = admit(s, m, false, now);
  if (!a) return refuse(s, {m.cookie, proto::message_type::wait}, a.error());
  const pending_wait kept = keep(s, *a, m);
  a->wait.place = s.by_message.put(kept);
  effects_.push_back(effect::start_wait{a->wait});
}

result<wait_start> node::start_by_ring(session& s, uint16_t slot, const proto::wait& m,
                                       instant now) {
  result<admitted> a = admit(s, m, true, now);
  if (!a) {
    note_refusal(s, a.error());
    return a.error();
  }
  a->wait.cookie = a->wait.place = slot;
  pending_wait& place = s.ring->at(slot);
  GAR_ASSERT(place.now == pending_wait::state::free);
  place = keep(s, *a, m);
  ++s.ring->pending;
  return a->wait;
}

result<node::admitted> node::admit(session& s, const proto::wait& m, bool by_ring, instant now) {
  result<void> may = may_wait(s, m, by_ring);
  if (!may) return may.error();
  result<const plan*> how = plan_of(s, m);
  if (!how) return how.error();
  const session_stream& stream = *s.stream_of(m.stream, m.stream_generation);
  const bool word_authority = stream.authority == proto::authority_word;
  if (!word_authority && (*how)->park != park_kind::flag) {
    return error(errc::OutOfState,
                 {"wait", fmt::format("under '{}', which the owner runs", (*how)->label())});
  }

  wait_start w;
  w.session = s.id;
  w.cookie = m.cookie;
  w.stream = m.stream;
  w.stream_generation = m.stream_generation;
  w.word_authority = word_authority;
  w.by_ring = by_ring;
  w.word = memory_descriptor(s.slots.word(stream.at), m.target);
  w.how.run(**how);
  w.how.start = now - duration{std::min(m.age_ns, proto::age_ns_max)};
  if (m.timeout_ns != 0) w.how.deadline = w.how.start + duration{m.timeout_ns};
  if (m.timeout_ns != 0 && planted(bug::deadline_by_wrong_clock)) w.how.deadline = {m.timeout_ns};
  return admitted{w, *how};
}

pending_wait node::keep(session& s, admitted& a, const proto::wait& m) {
  session_stream& stream = s.streams[m.stream];
  session_point* point = s.point_of(m.point_number);
  readback& history = point ? point->history : stream.history;
  pending_wait w;
  if (const auto& predict = a.how->predict) {
    a.wait.how.sleep = sleeps_.sleep_for(history.of, *predict);
    w.window = history.window = predict->window;
  }
  ++stream.pending;
  ++s.user->waits;
  ++waits_;
  w.start = a.wait.how.start;
  w.cookie = m.cookie;
  w.stream = m.stream;
  w.point = static_cast<uint16_t>(m.point_number);
  w.point_version = point ? point->version : 0;
  w.plan_number = static_cast<uint8_t>(statistics_.number_of(*a.how));
  w.park = a.how->park;
  w.now = pending_wait::state::running;
  return w;
}

void node::on(session& s, const proto::cancel& m) {
  const std::optional<uint32_t> place = s.by_message.find(m.cookie);
  if (!place) return;  // its completion is on the way
  pending_wait& w = s.by_message.at(*place);
  if (w.now == pending_wait::state::cancelled) return;
  w.now = pending_wait::state::cancelled;
  effects_.push_back(effect::cancel_wait{{s.id, *place}});
}

readback* node::history_of(session& s, const pending_wait& w) {
  if (w.point == 0) return &s.streams[w.stream].history;  // open while the wait is pending
  session_point& p = s.points[w.point];
  return p.version == w.point_version ? &p.history : nullptr;
}

namespace {

void count_failure(wait_counts& counts, uint16_t code) {
  switch (static_cast<errc>(code)) {
    case errc::TimedOut:
      ++counts.timed_out;
      return;
    case errc::Cancelled:
      ++counts.cancelled;
      return;
    case errc::LimitWaits:
      return;  // the owner runs it, and reports it as refused
    default:
      ++counts.failed;
  }
}

void add_waited(uint64_t& waited_ns, park_kind park, const wait_report& ended) {
  if (park != park_kind::poll) waited_ns = (duration{waited_ns} + ended.wait).ns;
}

void remember(readback& history, park_kind park, const wait_report& ended, uint8_t window) {
  ++history.waits;
  history.kinds.add(ended.kind);
  add_waited(history.waited_ns, park, ended);
  history.of.record(ended.sample, window);
}

}  // namespace

void node::wait_ended(const wait_end& ended) {
  // A wait that is found no more was dropped with its session meanwhile.
  session* s = ring_session(ended.session);
  if (!s) return;
  if (!ended.by_ring) {
    if (const auto w = s->by_message.take(ended.place)) count_end(*s, *w, ended);
    return;
  }
  if (!s->ring) return;
  const pending_wait w = std::exchange(s->ring->at(ended.place), {});
  if (w.now == pending_wait::state::free) return;
  --s->ring->pending;
  count_end(*s, w, ended);
}

session* node::ring_session(session_id whom) {
  if (!last_ended_ || last_ended_->id != whom) last_ended_ = find(whom);
  return last_ended_;
}

void node::count_end(session& s, const pending_wait& w, const wait_end& ended) {
  session_stream& stream = s.streams[w.stream];
  --stream.pending;
  --s.user->waits;
  --waits_;
  if (ended.code != 0) {
    count_failure(totals_, ended.code);
    count_failure(s.waits, ended.code);
    const error_entry* known = find_error(ended.code);
    return note_failure(s, w.stream, ended.code, known ? std::string(known->name) : std::string());
  }
  const wait_report report = ended.report();
  count_success(s, &stream, w.park, w.plan_number, report);
  if (ended.lost_store) {
    ++totals_.lost_store;
    ++s.waits.lost_store;
    note(s, event_kind::lost_store, "a backstop ended the wait: the word had not come", 0,
         w.stream);
  }
  if (readback* history = history_of(s, w)) remember(*history, w.park, report, w.window);
}

void node::note_failure(const session& about, uint32_t stream, uint16_t code, std::string text) {
  switch (static_cast<errc>(code)) {
    case errc::Cancelled:
    case errc::ShuttingDown:
      return;
    case errc::TimedOut:
      return note(about, event_kind::wait_timed_out, std::move(text), code, stream);
    case errc::LimitWaits:
      return note(about, event_kind::request_refused, std::move(text), code, stream);
    default:
      return note(about, event_kind::wait_failed, std::move(text), code, stream);
  }
}

void node::count_success(session& s, session_stream* stream, park_kind park, size_t plan_number,
                         const wait_report& ended) {
  for (wait_counts* counts : {&totals_, &s.waits}) {
    ++counts->completed;
    add_waited(counts->waited_ns, park, ended);
  }
  if (stream) {
    ++stream->completed;
    stream->kinds.add(ended.kind);
    add_waited(stream->waited_ns, park, ended);
  }
  kinds_.add(ended.kind);
  s.kinds.add(ended.kind);
  statistics_.add(plan_number, ended);
}

// ---- what owners tell

namespace {

// What an owner says of a wait's length is believed up to this: no wait that is told wrongly must
// outweigh all that were told rightly.
constexpr duration told_wait_max = from_ms(3'600'000);

}  // namespace

void node::on(session& s, const proto::statuses& m) {
  for (const proto::status_entry& e : m.entries) {
    if (e.stream >= s.streams.size()) {
      return refuse(s, {0, proto::message_type::status},
                    error(errc::UnknownStream,
                          {std::to_string(e.stream), std::to_string(e.stream_generation)}));
    }
    // An answer for a stream that was closed meanwhile is late, not wrong.
    if (!s.stream_of(e.stream, e.stream_generation)) continue;
    effects_.push_back(effect::answer_probe{{s.id, e}});
  }
}

void node::on(session& s, const proto::outcomes& m) {
  for (const proto::outcome_entry& e : m.entries) {
    if (e.stream >= s.streams.size()) {
      return refuse(s, {0, proto::message_type::outcome},
                    error(errc::UnknownStream,
                          {std::to_string(e.stream), std::to_string(e.stream_generation)}));
    }
    record(s, e);
  }
}

void node::take_outcome(session& s, const proto::outcome_entry& e) {
  if (e.stream < s.streams.size()) return record(s, e);
  note_refusal(s, error(errc::UnknownStream,
                        {std::to_string(e.stream), std::to_string(e.stream_generation)}));
}

void node::record(session& s, const proto::outcome_entry& e) {
  if (e.what == proto::outcome_early_word) {
    ++totals_.early_word;
    ++s.waits.early_word;
    return note(s, event_kind::early_word, "the word came before the device said done", 0,
                e.stream);
  }
  if (e.what == proto::outcome_refused) {
    ++totals_.refused;
    ++s.waits.refused;
    return;
  }
  if (e.code != 0) {
    count_failure(totals_, e.code);
    count_failure(s.waits, e.code);
    const error_entry* known = find_error(e.code);
    return note_failure(s, e.stream, e.code,
                        fmt::format("at its owner: {}", known ? known->name : "an unknown error"));
  }
  const wait_kind kind = static_cast<wait_kind>(e.kind);
  session_stream* stream = s.stream_of(e.stream, e.stream_generation);
  session_point* point = s.point_of(e.point);
  const duration value{e.sample_ns};
  wait_report told;
  told.kind = kind;
  told.wait = std::min(duration{e.wait_ns}, told_wait_max);
  told.slept = duration{e.slept_ns};
  told.parks = e.parks;
  told.backstop_queries = e.backstop_queries;
  told.sample = e.sample == proto::sample_exact  ? sample::exact(value)
                : e.sample == proto::sample_late ? sample::late(value)
                                                 : sample::none();
  const plan& how = s.published[0]->select(point ? point->name : std::string_view{}).select(e.rows);
  count_success(s, stream, how.park, statistics_.number_of(how), told);
  readback* history = point ? &point->history : stream ? &stream->history : nullptr;
  if (!history) return;  // the stream was closed before its last outcome came
  remember(*history, how.park, told, std::max<uint8_t>(history->window, 1));
}

}  // namespace gar
