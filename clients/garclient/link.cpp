#include "clients/garclient/link.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "clients/garclient/stream.hpp"
#include "lib/core/planted.hpp"
#include "lib/linux/futex.hpp"
#include "lib/linux/steady_clock.hpp"

namespace gar::owner {
namespace {

// How soon a gard that is silent is looked at again for what waits for its ends.
constexpr duration silent_pause = from_ms(100);

// How long gard's reactor may take from its wake to its look at the ring. Past that the wake went
// to somebody else who sleeps on the same word, or the reactor waits for a CPU.
constexpr duration taken_within = from_ms(2);

}  // namespace

error link::lost_link() noexcept {
  try {
    return error(errc::NotReachable, {"the connection was lost"});
  } catch (const std::bad_alloc&) {
    return error(errc::NotReachable);
  }
}

link::link(parts p)
    : welcome_(std::move(p.welcome)),
      bell_(std::move(p.bell)),
      state_(std::move(p.state)),
      request_flag_(welcome_.request_flag),
      socket_(std::move(p.socket)) {
  if (p.ring) ring_.emplace(std::move(*p.ring));
  pages_.push_back(std::move(p.first_page));
}

bool link::send(const proto::message& m) noexcept {
  if (!alive()) return false;
  try {
    proto::frame_room room;
    const result<bool> sent = send_message(socket_.get(), proto::encode(m, room));
    // A broken socket is seen by the service thread, which reads its end.
    return sent && *sent;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// ---- Streams.

void link::open(uint64_t base, bool word_authority, std::string_view name, on_opened then) {
  proto::open asked;
  asked.base = base;
  asked.authority = word_authority ? proto::authority_word : proto::authority_owner;
  asked.stream_name = name;
  {
    std::lock_guard lock(pending_lock_);
    asked.cookie = next_cookie_++;
    if (alive()) requests_.emplace(asked.cookie, std::exchange(then, nullptr));
  }
  {
    std::lock_guard lock(send_lock_);
    if (send(asked)) return;
  }
  {
    std::lock_guard lock(pending_lock_);
    auto at = requests_.find(asked.cookie);
    if (at != requests_.end()) {
      then = std::move(at->second);
      requests_.erase(at);
    }
  }
  if (then) then(lost_link());
}

void link::close(uint32_t stream_id, uint32_t generation, uint64_t last_sequence) noexcept {
  std::lock_guard sends(send_lock_);
  std::lock_guard lock(pending_lock_);
  const auto at = streams_.find(stream_key(stream_id, generation));
  if (at == streams_.end() || at->second.last_of_it) return;
  at->second.known.reset();
  at->second.last_of_it = last_sequence;
  ++closes_due_;
  if (send_close(at->first, at->second)) streams_.erase(at);
}

void link::again_by(instant now) {
  std::lock_guard lock(send_lock_);
  send_later(now);
}

void link::send_later(instant now) {
  again_due_ = std::min(again_due_, now + (silent() ? silent_pause : again_pause));
  service_.need_by(again_due_);
}

bool link::has_orphans(uint32_t stream_id) const {
  if (ring_ && ring_->has_orphans(stream_id)) return true;
  return std::any_of(pending_.begin(), pending_.end(), [stream_id](const auto& p) {
    return !p.second.box && p.second.stream_id == stream_id;
  });
}

// gard has ended this wait too.
bool link::adopt(uint64_t cookie) {
  const auto orphan = pending_.find(cookie);
  if (orphan == pending_.end()) return false;
  if (orphan->second.cancel_due) --cancels_due_;
  pending_.erase(orphan);
  return closes_due_ > 0;
}

result<link::place> link::place_of(const proto::opened& o) const {
  std::lock_guard lock(pending_lock_);
  const size_t word = size_t{o.line_index} * proto::words_per_line + o.slot;
  if (o.page_index >= pages_.size() || o.slot >= proto::words_per_line ||
      word >= pages_[o.page_index]->words()) {
    return error(errc::MalformedMessage, {"opened: no such word"});
  }
  return place{pages_[o.page_index], word};
}

void link::know(uint32_t stream_id, uint32_t generation, std::weak_ptr<stream> s) {
  std::lock_guard lock(pending_lock_);
  const auto at = streams_.find(stream_key(stream_id, generation));
  if (at != streams_.end() && !at->second.last_of_it) at->second.known = std::move(s);
}

std::shared_ptr<stream> link::find(uint32_t stream_id, uint32_t generation) const {
  std::lock_guard lock(pending_lock_);
  const auto at = streams_.find(stream_key(stream_id, generation));
  return at == streams_.end() ? nullptr : at->second.known.lock();
}

// ---- Delegated waits.

std::optional<errc> link::register_wait(mailbox& box, proto::wait asked, std::string_view point) {
  if (ring_) return submit(box, asked, point);
  {
    std::lock_guard lock(pending_lock_);
    if (!alive()) return errc::NotReachable;
    box.cookie = asked.cookie = next_cookie_++;
    box.stream_id = asked.stream;
    box.target = asked.target;
    pending_.emplace(box.cookie, asked_wait{&box, asked.stream});
    box.registered = true;
  }
  try {
    if (send_wait(asked, point)) return std::nullopt;
  } catch (...) {
    withdraw(box);
    throw;
  }
  withdraw(box);
  return errc::NotReachable;
}

bool link::send_wait(proto::wait asked, std::string_view point) {
  std::lock_guard lock(send_lock_);
  bool sent = true;
  asked.point_number = point_number(point, sent);
  return sent && send(asked);
}

// gard never heard of it, and so never ends it.
void link::withdraw(mailbox& box) {
  std::lock_guard lock(pending_lock_);
  pending_.erase(box.cookie);
  box.registered = false;
}

std::optional<errc> link::submit(mailbox& box, const proto::wait& asked, std::string_view point) {
  if (!alive()) return errc::NotReachable;
  proto::ring_request request{};
  request.target = asked.target;
  request.age_ns = asked.age_ns;
  request.timeout_ns = asked.timeout_ns;
  request.plan_generation = asked.plan_generation;
  request.stream = asked.stream;
  request.stream_generation = asked.stream_generation;
  request.rows = asked.rows;
  bool submitted = true;
  if (point.empty()) {
    submitted = ring_->submit(box, request);
  } else {
    // The number must mean this point until the wait is behind it in the ring.
    std::lock_guard lock(send_lock_);
    request.point = point_number(point, submitted);
    submitted = submitted && ring_->submit(box, request);
  }
  if (!submitted) return alive() ? errc::LimitWaits : errc::NotReachable;
  const link::asked found = notify_gard();
  if (box.stepped) see_it_taken(found);
  return std::nullopt;
}

// There is something in the ring: gard looks at it when it sees the flag, and it looks when the
// bell changes or it is woken.
link::asked link::ask_gard() {
  bell_.ask(request_flag_);
  // A value that no stream's record rings, and another one each time.
  const uint64_t number = asked_.fetch_add(1, std::memory_order_relaxed);
  if (!planted(bug::request_without_doorbell)) bell_.ring(client_id(), UINT16_MAX, number);
  const uint32_t state = state_.requester_sees();
  if (state == proto::reactor_awake) return asked::awake;
  // A reactor that stayed on its way to sleep for that long may sleep over this.
  return state == proto::reactor_asleep && state_.wake_reactor() ? asked::woken : asked::by_message;
}

link::asked link::notify_gard() {
  const asked found = ask_gard();
  if (found == asked::by_message) kick();
  return found;
}

void link::kick() {
  std::lock_guard lock(send_lock_);
  send(proto::kick{});  // where the socket has no room gard has messages to wake for
}

// A reactor that is awake looks at the ring before it sleeps again. One that is asleep beside what
// it was asked may have been on its way there while the wake went to a stranger.
instant link::must_be_taken_by(mailbox& box) {
  if (ring_->took(box) || box.kick_due == instant::never()) return instant::never();
  if (!state_.requester_sees_sleep()) return instant::never();
  const instant now = steady_clock().now();
  if (box.kick_due == instant{}) box.kick_due = now + taken_within;
  if (now >= box.kick_due) {
    box.kick_due = instant::never();  // once
    kick();
  }
  return box.kick_due;
}

void link::see_it_taken(asked found) {
  if (found != asked::woken || !state_.requester_sees_sleep()) return;
  const instant due = steady_clock().now() + taken_within;
  // Pairs with the exchange in kick_if_not_taken: whoever leaves the look to an earlier one has its
  // request seen by it.
  uint64_t set = taken_due_ns_.load(std::memory_order_seq_cst);
  while (due.ns < set) {
    if (taken_due_ns_.compare_exchange_weak(set, due.ns)) return service_.need_by(due);
  }
}

void link::kick_if_not_taken(instant now) {
  if (taken_due_ns_.load(std::memory_order_relaxed) > now.ns) return;
  taken_due_ns_.exchange(instant::never().ns, std::memory_order_seq_cst);
  if (ring_->took_all() && ring_->took_outcomes()) return;
  if (state_.requester_sees_sleep()) send(proto::kick{});
}

uint32_t link::point_number(std::string_view point, bool& sent) {
  if (ring_ && ring_->points_refused()) points_ = {};
  const point_numbers::answer known = points_.number_of(point);
  if (!known.fresh) return known.number;
  // Forget what gard may not know; names are sent anew then.
  try {
    sent = send_point(known, point);
  } catch (...) {
    points_ = {};
    throw;
  }
  if (!sent) points_ = {};
  return known.number;
}

bool link::send_point(const point_numbers::answer& known, std::string_view point) {
  // Outcomes that are still here may mean another point by this number.
  if (!send_outcomes()) return false;
  if (ring_) return ring_->submit_point(known.number, point);
  return send(proto::point{known.number, std::string(point)});
}

void link::collect(mailbox& box, owner_wait& into, bool confirmed) {
  if (ring_) return ring_->collect(box, into, confirmed);
  std::lock_guard lock(pending_lock_);
  box.tell(into, confirmed);
}

void link::await_news(mailbox& box, uint32_t seen, instant until, duration look) {
  if (!ring_) {
    futex_wait(box.signal, seen, until);
    return;
  }
  ring_waits::taken what;
  if (look) {
    const instant looks_until = std::min(steady_clock().now() + look, until);
    what = ring_->look_for_news(box, seen, looks_until, service_.step);
  }
  if (box.signal_now() == seen) {
    const instant sleeps_until = std::min(until, must_be_taken_by(box));
    what.add(ring_->sleep_for_news(box, seen, sleeps_until, service_.step));
  }
  after_taking(what);
}

void link::take_ring() {
  if (!ring_ || !ring_->has_end()) return;
  after_taking(ring_->take(service_.step));
}

void link::after_taking(const ring_waits::taken& what) {
  if (what.any) silent_.store(false, std::memory_order_relaxed);
  if (broken()) return service_.need_by({});
  if (what.orphans) send_ready_closes();
}

void link::take_for_program(pipe_use pipe) {
  if (!ring_) return;
  if (pipe == pipe_use::watched) ring_->drain_pipe();
  take_ring();
  if (pipe == pipe_use::none) return;
  ring_->want_pipe();
  take_ring();
}

void link::make_room() {
  if (ring_ && ring_->no_slot_free()) take_ring();
}

bool link::speaks() {
  if (silent()) take_ring();
  return !silent();
}

void link::forget(mailbox& box, bool cancel) noexcept {
  if (!box.registered && !ring_) return;
  try {
    if (ring_) {
      if (ring_->forget(box, cancel)) see_it_taken(notify_gard());
      if (ring_->cancels_left()) again_by(steady_clock().now());
      return;
    }
    {
      std::lock_guard lock(pending_lock_);
      const auto at = pending_.find(box.cookie);
      if (at == pending_.end() || at->second.box != &box) return;
      at->second.box = nullptr;
    }
    if (cancel) cancel_pending(box.cookie);
  } catch (const std::bad_alloc&) {
    // gard ends it by the word, its timeout or the end of the connection.
  }
}

// ---- Its end.

void link::lose() noexcept {
  std::unordered_map<uint64_t, on_opened> requests;
  {
    std::lock_guard lock(pending_lock_);
    alive_.store(false, std::memory_order_release);
    requests.swap(requests_);
    for (auto& [cookie, wait] : pending_) {
      if (!wait.box) continue;
      wait.box->lost = true;
      // Asynchronous ones are all stepped, by whoever makes the link lost.
      if (!wait.box->stepped) give_news(*wait.box);
    }
    pending_.clear();
    streams_.clear();
    cancels_due_ = closes_due_ = 0;
  }
  if (ring_) ring_->lose();
  for (auto& [cookie, then] : requests) then(lost_link());
  std::lock_guard lock(send_lock_);
  socket_.reset();
}

void link::say_bye() noexcept {
  std::lock_guard lock(send_lock_);
  send(proto::bye{});
}

}  // namespace gar::owner
