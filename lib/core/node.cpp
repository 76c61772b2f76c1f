#include "lib/core/node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/core/planted.hpp"

namespace gar {
namespace {

constexpr duration handshake_max{proto::handshake_ns_max};
// Who asks without being a client may take so long to read an answer.
constexpr duration answer_read_max = from_ms(10'000);
// A client that is refused over and over must not fill the log; its last line says how many.
constexpr uint64_t refusals_logged_max = 8;

std::string who_is(const session& s) {
  return fmt::format("client {} '{}' (uid {}, pid {})", s.id, s.name, s.who.uid, s.who.pid);
}

}  // namespace

node::node(node_options options)
    : options_(std::move(options)),
      plans_(options_.host, options_.limits.runtime_plans),
      events_(options_.clock) {}

// ---- sessions

result<session_id> node::connect(const peer& who, instant now) {
  const node_limits& most = options_.limits;
  if (sessions_.size() >= most.clients) {
    return turned_away(who, error(errc::LimitClients, {std::to_string(most.clients)}));
  }
  user_holdings& user = users_[who.uid];
  if (user.clients >= most.clients_per_user) {
    return turned_away(
        who, error(errc::LimitPerUser,
                   {std::to_string(who.uid), std::to_string(most.clients_per_user), "clients"}));
  }
  ++user.clients;
  auto made = std::make_unique<session>();
  made->id = ++last_session_;
  made->who = who;
  made->user = &user;
  made->connected = now;
  made->greet_until = now + handshake_max;
  greeting_.insert({made->greet_until, made->id});
  sessions_.emplace(made->id, std::move(made));
  return last_session_;
}

session* node::find(session_id id) {
  const auto at = sessions_.find(id);
  return at == sessions_.end() ? nullptr : at->second.get();
}

void node::receive(session_id from, std::span<const std::byte> frame, size_t descriptors,
                   instant now) {
  session* s = find(from);
  if (!s) return;
  result<proto::message> decoded = proto::decode(frame);
  if (!decoded) return fail(*s, {}, decoded.error());
  const proto::message_type type = proto::type_of(*decoded);
  const std::string name(proto::name_of(type));
  if (descriptors != 0) {
    return fail(*s, {0, type},
                error(errc::UnexpectedDescriptors, {std::to_string(descriptors), name, "0"}));
  }
  if (proto::sender_of(type) == proto::sender::server) {
    return fail(*s, {0, type}, error(errc::OutOfState, {name, "from a client"}));
  }
  take(*s, *decoded, now);
}

void node::receive_failed(session_id from, const error& why) {
  if (session* s = find(from)) fail(*s, {}, why);
}

void node::take(session& s, const proto::message& m, instant now) {
  const proto::message_type type = proto::type_of(m);
  if (std::holds_alternative<proto::bye>(m)) return end(s, leaving::said_bye);
  if (const auto* ask = std::get_if<proto::ask>(&m)) return on(s, *ask, now);
  const bool greets = std::holds_alternative<proto::hello>(m);
  const std::string name(proto::name_of(type));
  if (s.now == session::state::greeting && !greets) {
    return fail(s, {0, type}, error(errc::OutOfState, {name, "before hello"}));
  }
  if (s.now == session::state::established && greets) {
    return fail(s, {0, type}, error(errc::OutOfState, {name, "a second time"}));
  }
  std::visit(
      [&](const auto& v) {
        if constexpr (requires { on(s, v, now); }) {
          on(s, v, now);
        } else if constexpr (requires { on(s, v); }) {
          on(s, v);
        }
      },
      m);
}

void node::disconnect(session_id whom) {
  if (planted(bug::owner_death_unnoticed)) return;
  if (session* s = find(whom)) end(*s, leaving::owner_gone);
}

void node::refuse_session(session_id whom, const error& why) {
  if (session* s = find(whom)) fail(*s, {}, why);
}

std::string_view node::words_of(leaving how) {
  switch (how) {
    case leaving::owner_gone:
      return "is gone";
    case leaving::said_bye:
      return "said bye";
    case leaving::thrown_out:
      break;
    case leaving::let_go:
      return "was let go";
  }
  return "";
}

void node::end(session& s, leaving how) {
  const size_t dropped = s.pending();
  waits_ -= dropped;
  if (last_ended_ == &s) last_ended_ = nullptr;
  (how == leaving::said_bye ? totals_.cancelled : totals_.owner_gone) += dropped;
  greeting_.erase({s.greet_until, s.id});
  const auto user = users_.find(s.who.uid);
  user->second.streams -= s.open_streams;
  user->second.waits -= static_cast<uint32_t>(dropped);
  if (--user->second.clients == 0) users_.erase(user);

  // Who is thrown out has its line already.
  if (how != leaving::thrown_out && (s.now == session::state::established || s.refusals > 0)) {
    const bool loss = how == leaving::owner_gone && dropped > 0;
    std::string text = fmt::format("{}: {} waits dropped, {} streams closed, {} refusals",
                                   words_of(how), dropped, s.open_streams, s.refusals);
    log(s, loss ? effect::log::level::warning : effect::log::level::info, who_is(s) + ' ' + text);
    note(s, event_kind::client_left, std::move(text));
  }
  effects_.push_back(effect::drop_waits{s.id});
  effects_.push_back(effect::close{s.id});
  sessions_.erase(s.id);
}

// ---- answers

void node::send(const session& to, proto::message what, effect::with descriptors) {
  effects_.push_back(effect::send{to.id, std::move(what), descriptors});
}

void node::log(const session& about, effect::log::level how, std::string text) {
  effects_.push_back(effect::log{how, about.who.uid, std::move(text)});
}

void node::refuse(session& s, const request& of, const error& why) {
  note_refusal(s, why);
  send(s,
       proto::refusal{of.cookie, why.number(), static_cast<uint16_t>(of.type), false, why.text()});
}

void node::note(event_kind what, std::string text, uint16_t code) {
  node_event e;
  e.what = what;
  e.code = code;
  e.text = std::move(text);
  events_.add(std::move(e));
}

void node::note(const session& about, event_kind what, std::string text, uint16_t code,
                std::optional<uint32_t> stream) {
  node_event e;
  e.what = what;
  e.uid = about.who.uid;
  e.client = about.id;
  e.name = about.name;
  e.stream = stream;
  e.code = code;
  e.text = std::move(text);
  events_.add(std::move(e));
}

error node::turned_away(const peer& who, error why) {
  node_event e;
  e.what = event_kind::client_refused;
  e.uid = who.uid;
  e.code = why.number();
  e.text = "turned away: " + why.text();
  events_.add(std::move(e));
  return why;
}

void node::note_refusal(session& s, const error& why) {
  note(s, event_kind::request_refused, why.text(), why.number());
  if (++s.refusals <= refusals_logged_max) {
    log(s, effect::log::level::warning, fmt::format("{}: {}", who_is(s), why.headline()));
  }
}

void node::fail(session& s, const request& of, const error& why) {
  ++s.refusals;
  log(s, effect::log::level::warning,
      fmt::format("{}: {}; thrown out, {} waits dropped, {} streams closed, {} refusals", who_is(s),
                  why.headline(), s.pending(), s.open_streams, s.refusals));
  note(s, event_kind::client_refused, "thrown out: " + why.text(), why.number());
  send(s,
       proto::refusal{of.cookie, why.number(), static_cast<uint16_t>(of.type), true, why.text()});
  end(s, leaving::thrown_out);
}

// ---- hello, pages, plans

void node::on(session& s, const proto::hello& m, instant) {
  const request of{0, proto::message_type::hello};
  const uint16_t version = std::min(m.version_max, proto::version_max);
  if (version < std::max(m.version_min, proto::version_min)) {
    return fail(s, of,
                error(errc::VersionMismatch,
                      {fmt::format("{}..{}", m.version_min, m.version_max),
                       fmt::format("{}..{}", proto::version_min, proto::version_max)}));
  }
  if (stopping_) return fail(s, of, error(errc::ShuttingDown));
  s.name = m.client_name;
  result<void> page = add_page(s);
  if (!page) return fail(s, of, page.error());
  s.drivers = m.drivers;
  s.now = session::state::established;
  greeting_.erase({s.greet_until, s.id});
  s.published[0] = plans_.publish_for(s.name);

  proto::welcome w;
  w.version = version;
  w.plan_scopes = static_cast<uint16_t>(s.published[0]->entries().size());
  w.client_id = s.id;
  w.page_bytes = options_.page_bytes;
  w.streams_max = options_.limits.streams_per_client;
  w.waits_max = options_.limits.waits_per_client;
  w.pages_max = options_.limits.pages_per_client;
  w.plan_generation = s.published[0]->generation();
  w.word_wait = options_.word_wait;
  w.executor = options_.executor;
  if ((m.features & proto::feature_ring) != 0 && options_.make_ring) {
    // Without one the client is served by its socket.
    result<uint32_t> flag = options_.make_ring(s.id, options_.limits.ring_entries);
    if (flag) {
      s.ring.emplace().entries = options_.limits.ring_entries;
      w.features = proto::feature_ring;
      w.ring_entries = options_.limits.ring_entries;
      w.request_flag = *flag;
    }
  }
  send(s, std::move(w), effect::with::welcome_pages);
  send_plans(s);
  log(s, effect::log::level::info, fmt::format("{} connected", who_is(s)));
  note(s, event_kind::client_connected, s.ring ? "by ring" : "by socket");
}

result<void> node::add_page(session& s) {
  if (s.slots.pages() >= options_.limits.pages_per_client) {
    return error(errc::LimitPages, {std::to_string(options_.limits.pages_per_client)});
  }
  result<lines_view> page = options_.make_page(s.id);
  if (!page) return page.error();
  s.slots.add_page(page->words, page->count);
  return {};
}

void node::send_plans(const session& s) {
  const published_plans& plans = *s.published[0];
  const uint16_t scopes = static_cast<uint16_t>(plans.entries().size());
  for (uint16_t i = 0; i < scopes; ++i) {
    const published_plans::entry& e = plans.entries()[i];
    send(s, proto::plan_scope{plans.generation(), e.scope, i, scopes, e.point, e.running.label()});
  }
}

void node::publish(session& s) {
  s.published[1] = std::exchange(s.published[0], plans_.publish_for(s.name));
  send_plans(s);
}

void node::publish_to_all() {
  for (auto& [id, s] : sessions_) {
    if (s->now == session::state::established) publish(*s);
  }
}

void node::configure(const std::vector<configured_plan>& plans, bool replace) {
  plans_.configure(plans, replace);
  publish_to_all();
  note_plan("configured", {});
}

result<void> node::plan_set(plan_scope scope, const bands& requested) {
  result<void> done = plans_.set(scope, requested);
  if (!done) return done;
  publish_to_all();
  note_plan("set", scope);
  return done;
}

void node::note_plan(std::string_view how, const plan_scope& scope) {
  std::string text =
      fmt::format("{} for {}, generation {}", how, scope.text(), plans_.generation());
  for (const plan_in_force& p : plans_.in_force()) {
    if (p.scope != scope) continue;
    text += ": " + p.running.label();
    for (const error& w : p.warnings) note(event_kind::warning, w.text(), w.number());
  }
  note(event_kind::plan_changed, std::move(text));
}

result<void> node::plan_unset(const plan_scope& scope) {
  result<void> done = plans_.unset(scope);
  if (!done) return done;
  publish_to_all();
  note_plan("unset", scope);
  return done;
}

void node::set_limits(const node_limits& limits) {
  options_.limits = limits;
  plans_.limit_runtime_plans(limits.runtime_plans);
}

// ---- asking

void node::on(session& s, const proto::ask& m, instant now) {
  greet_until(s, now + answer_read_max);
  effects_.push_back(effect::answer_ask{s.id, s.who.uid, m.cookie, m.json});
}

void node::answer_sent(session_id to, instant now) {
  if (session* s = find(to)) greet_until(*s, now + handshake_max);
}

void node::greet_until(session& s, instant at) {
  if (s.now != session::state::greeting) return;
  greeting_.erase({s.greet_until, s.id});
  s.greet_until = at;
  greeting_.insert({s.greet_until, s.id});
}

// ---- time and the end

instant node::next_deadline() const {
  return greeting_.empty() ? instant::never() : greeting_.begin()->first;
}

void node::tick(instant now) {
  while (!greeting_.empty() && greeting_.begin()->first <= now) {
    session& s = *sessions_.at(greeting_.begin()->second);
    fail(s, {},
         error(errc::HandshakeTimeout, {"hello", std::to_string(handshake_max.ns / 1'000'000)}));
  }
}

void node::say_bye() {
  while (!sessions_.empty()) {
    session& s = *sessions_.begin()->second;
    send(s, proto::bye{static_cast<uint16_t>(errc::ShuttingDown)});
    end(s, leaving::let_go);
  }
}

}  // namespace gar
