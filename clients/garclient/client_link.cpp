// The client's link: getting it, serving it, losing it.
#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "clients/garclient/client.hpp"

namespace gar::owner {

std::shared_ptr<link> client::live_link() const {
  std::lock_guard lock(link_lock_);
  return link_ && link_->alive() ? link_ : nullptr;
}

void client::want_link(duration patience) {
  if (!attachment_ || live_link()) return;
  std::unique_lock lock(link_lock_);
  if (!joining_now_) {
    lock.unlock();
    const instant now = steady_clock().now();
    std::optional<handshake> hands = attachment_->begin(now);
    if (!hands || !service_.start()) return;
    lock.lock();
    if (joining_now_) return;
    begun_.emplace(joining{std::move(*hands), now + duration{proto::handshake_ns_max}});
    joining_now_ = true;
    service_.need_by({});
  }
  if (!patience) return;
  joined_.wait_for(lock, std::chrono::nanoseconds(patience.ns), [this] { return !joining_now_; });
}

void client::want_link_for(const std::shared_ptr<stream>& s) {
  const std::shared_ptr<const binding> at = s->current();
  if (at->via && at->via->alive()) return;
  if (const std::shared_ptr<link> live = live_link()) {
    reopen(s, live);
  } else {
    want_link({});
  }
}

void client::take_link(handshake::joined joined) {
  {
    std::lock_guard lock(plans_lock_);
    plans_.start_over();
  }
  if (!publish(joined.plans)) {
    joined.with->lose();
    return;
  }
  joined.with->serve_by({[this](instant due) { service_.need_by(due); }, step_});
  if (attachment_) attachment_->succeeded();
  socket_number_.store(joined.with->fd());
  {
    std::lock_guard lock(link_lock_);
    link_ = joined.with;
  }
  watch_pipe(joined.with);
  std::map<uint64_t, std::shared_ptr<stream>> streams;
  {
    std::lock_guard lock(streams_lock_);
    streams = streams_;
  }
  for (const auto& [id, s] : streams) reopen(s, joined.with);
}

bool client::serve() {
  const bool joined = serve_joining();
  const bool served = serve_link();
  return step_due() || served || joined;
}

void client::take_begun() {
  std::lock_guard lock(link_lock_);
  if (!begun_) return;
  joining_.emplace(*std::move(begun_));
  begun_.reset();
}

bool client::has_begun() const {
  std::lock_guard lock(link_lock_);
  return begun_.has_value();
}

bool client::serve_joining() {
  take_begun();
  if (!joining_) return false;
  if (service_.take_ready(joining_->hands.fd())) {
    const result<bool> complete = joining_->hands.receive();
    if (complete && *complete) {
      ++tally_.reconnects;
      take_link(joining_->hands.finish());
    } else if (complete) {
      return false;
    }
  } else if (steady_clock().now() < joining_->deadline) {
    return false;
  }
  joining_.reset();
  std::lock_guard lock(link_lock_);
  joining_now_ = false;
  joined_.notify_all();
  return true;
}

bool client::serve_link() {
  if (const std::shared_ptr<link> broken = broken_link()) lose_link(broken);
  const std::shared_ptr<link> at = live_link();
  if (!at) return false;
  const instant now = steady_clock().now();
  at->send_due(now);
  const bool forwarded = forwards(*at) && service_.take_ready(at->pipe_fd());
  if (forwarded) at->take_for_program(link::pipe_use::watched);
  if (!service_.take_ready(at->fd())) return forwarded;
  const auto publish_one = [this](const proto::plan_scope& p) { return publish({p}); };
  try {
    const result<std::vector<proto::probe_entry>> probes = at->receive(publish_one);
    if (probes) {
      answer_probes(*at, *probes);
      return true;
    }
  } catch (const std::bad_alloc&) {
    // What was being taken is lost, and with it what gard and this side agree on.
  }
  lose_link(at);
  return true;
}

instant client::due() const {
  const std::shared_ptr<link> at = live_link();
  const instant sends = at ? at->sends_due() : instant::never();
  const instant joins = joining_ ? joining_->deadline : instant::never();
  if (has_begun() || broken_link()) return {};
  return std::min({sends, joins, async_.earliest()});
}

size_t client::watched(std::span<watched_fd> into) const {
  static_assert(watched_max < watched_fds_max, "the service thread has one of its own");
  GAR_ASSERT(into.size() >= watched_max);
  size_t count = 0;
  if (const std::shared_ptr<link> at = live_link()) {
    into[count++].fd = at->fd();
    if (forwards(*at)) into[count++].fd = at->pipe_fd();
  }
  if (joining_) into[count++].fd = joining_->hands.fd();
  return count;
}

void client::answer_probes(link& from, const std::vector<proto::probe_entry>& probes) {
  if (probes.empty()) return;
  std::vector<proto::status_entry> statuses;
  std::vector<proto::status_entry> pending;
  for (const proto::probe_entry& p : probes) {
    const std::shared_ptr<stream> s = from.find(p.stream, p.stream_generation);
    if (!s || !s->answers()) continue;  // closed meanwhile
    // A device need not have an answer for a number that it never heard of.
    if (!s->check_recorded(p.sequence)) continue;
    proto::status_entry status{};
    status.probe_id = p.probe_id;
    status.sequence = p.sequence;
    status.stream = p.stream;
    status.stream_generation = p.stream_generation;
    const result<bool> done = s->query(p.sequence);
    if (!done) {
      status.state = proto::probe_failed;
      status.status = done.error().os_number();
      proto::set_call(status.call, done.error().arguments().at(0));
    } else {
      status.state = *done ? proto::probe_done : proto::probe_pending;
      if (!*done) pending.push_back(status);
    }
    statuses.push_back(status);
  }
  const instant now = steady_clock().now();
  from.answer(statuses, now);
  // gard asks, so it lives; what it was told is done it must end itself, or the owner will.
  from.heard_about(pending, now);
}

result<void> client::publish(const std::vector<proto::plan_scope>& plans) {
  std::lock_guard lock(plans_lock_);
  for (const proto::plan_scope& p : plans) {
    const result<bool> taken = plans_.publish(p);
    if (!taken) return taken.error();
  }
  plans_changed_.notify_all();
  return {};
}

void client::lose_link(const std::shared_ptr<link>& lost) {
  {
    std::lock_guard lock(link_lock_);
    if (link_ == lost) link_.reset();
  }
  socket_number_.store(-1);
  lost->lose();
  unwatch_pipe(*lost);
  async_.make_due();
}

// Lost for what its ring says; seen by whoever read it, made lost here.
std::shared_ptr<link> client::broken_link() const {
  std::lock_guard lock(link_lock_);
  return link_ && link_->broken() ? link_ : nullptr;
}

// ---- What the program polls.

// watch_lock_ held.
result<void> client::make_program_fd(const std::shared_ptr<link>& at) {
  if (at && at->alive() && at->pipe_fd() >= 0 && completions_.show_in(at->pipe_fd())) {
    polled_link_ = at.get();
    polls_pipe_ = true;
    return {};
  }
  const result<int> ended = completions_.fd();
  if (!ended) return ended.error();
  result<watch_set> made = watch_set::make();
  if (!made) return made.error();
  result<void> added = made->add(*ended);
  if (!added) return added.error();
  watch_ = std::move(*made);
  return {};
}

link::pipe_use client::pipe_use_of(const link& at) const {
  if (!watched_) return link::pipe_use::none;
  if (!polls_pipe_) return link::pipe_use::watched;
  return polled_link_ == &at ? link::pipe_use::emptied : link::pipe_use::none;
}

bool client::forwards(const link& at) const {
  return polls_pipe_ && polled_link_ != &at && at.pipe_fd() >= 0;
}

void client::watch_pipe(const std::shared_ptr<link>& at) {
  {
    std::lock_guard lock(watch_lock_);
    const int pipe = at->pipe_fd();
    if (!watched_ || pipe < 0 || !at->alive()) return;
    if (!polls_pipe_) {
      if (pipe == watched_pipe_) return;
      // Without it the descriptor is readable only for what the service thread finds, at
      // backstops.
      if (!watch_->add(pipe)) return;
      watched_pipe_ = pipe;
    }
  }
  // What has ended by now puts nothing into the pipe.
  at->take_for_program(forwards(*at) ? link::pipe_use::watched : pipe_use_of(*at));
}

void client::unwatch_pipe(const link& lost) {
  std::lock_guard lock(watch_lock_);
  if (polled_link_ == &lost) polled_link_ = nullptr;
  if (watched_pipe_ < 0 || watched_pipe_ != lost.pipe_fd()) return;
  watch_->remove(watched_pipe_);
  watched_pipe_ = -1;
}

}  // namespace gar::owner
