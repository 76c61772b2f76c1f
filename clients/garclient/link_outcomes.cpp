// What a link sends later: outcomes, answers to probes, and the cancels and closes that the socket
// had no room for.
#include <algorithm>
#include <new>

#include "clients/garclient/link.hpp"
#include "lib/linux/steady_clock.hpp"

namespace gar::owner {

instant link::add_outcome(const proto::outcome_entry& entry, std::string_view point, instant now,
                          booking how) {
  std::lock_guard lock(send_lock_);
  if (!alive()) return instant::never();
  proto::outcome_entry e = entry;
  bool sent = true;
  e.point = point_number(point, sent);
  if (!sent) e.point = 0;
  if (how == booking::rehearsed) {
    outcomes_.rehearse(e, now);
    return instant::never();
  }
  outcomes_.add(e, now);
  if (ring_ && outcomes_.size() >= proto::ring_outcomes / 2) send_outcomes();
  return outcomes_.due();
}

instant link::sends_due() const {
  std::lock_guard lock(send_lock_);
  return std::min({outcomes_.due(), again_due_, instant{taken_due_ns_.load()}});
}

void link::send_due(instant now) {
  {
    std::lock_guard lock(send_lock_);
    if (again_due_ <= now) {
      again_due_ = instant::never();
      send_marked();
      send_answers(now);
    }
    if (outcomes_.due() <= now) send_outcomes();
    if (ring_) kick_if_not_taken(now);
  }
  if (ring_) serve_ring(now);
}

// ---- Cancels and closes.

void link::cancel_pending(uint64_t cookie) {
  std::lock_guard sends(send_lock_);
  std::lock_guard lock(pending_lock_);
  const auto at = pending_.find(cookie);
  if (at == pending_.end() || at->second.cancel_due) return;  // gard has ended it
  at->second.cancel_due = true;
  ++cancels_due_;
  send_cancel(cookie, at->second);
}

// false: it stays marked.
bool link::send_cancel(uint64_t cookie, asked_wait& wait) {
  if (!send(proto::cancel{cookie})) {
    send_later(steady_clock().now());
    return false;
  }
  wait.cancel_due = false;
  --cancels_due_;
  return true;
}

// false: it stays marked.
bool link::send_close(uint64_t key, const opened_stream& of) {
  const auto [stream_id, generation] = stream_of(key);
  if (has_orphans(stream_id)) {
    // Nobody else may come to read the ring for those who left.
    if (ring_) send_later(steady_clock().now());
    return false;
  }
  if (!send(proto::close{next_cookie_++, stream_id, generation, *of.last_of_it})) {
    send_later(steady_clock().now());
    return false;
  }
  --closes_due_;
  return true;
}

void link::send_ready_closes() {
  std::lock_guard sends(send_lock_);
  std::lock_guard lock(pending_lock_);
  send_closes();
}

void link::send_closes() {
  size_t left = closes_due_;
  for (auto at = streams_.begin(); left > 0 && at != streams_.end();) {
    const bool marked = at->second.last_of_it.has_value();
    left -= marked ? 1 : 0;
    at = marked && send_close(at->first, at->second) ? streams_.erase(at) : std::next(at);
  }
}

void link::send_marked() {
  std::lock_guard lock(pending_lock_);
  for (auto at = pending_.begin(); cancels_due_ > 0 && at != pending_.end(); ++at) {
    if (at->second.cancel_due && !send_cancel(at->first, at->second)) return;
  }
  send_closes();
}

// What waits for ends that nobody else may be there to read.
void link::serve_ring(instant now) {
  if (ring_->submit_cancels()) see_it_taken(notify_gard());
  take_ring();
  bool left = ring_->cancels_left();
  {
    std::lock_guard lock(pending_lock_);
    left = left || closes_due_ > 0;
  }
  if (left) again_by(now);
}

// By socket, as the bye behind them.
void link::send_last_outcomes() noexcept {
  std::lock_guard lock(send_lock_);
  send_outcomes_by_socket();
}

// false: the rest is kept for later.
bool link::send_outcomes() noexcept {
  if (ring_ && outcomes_.size() > 0) {
    const auto part = outcomes_.oldest(proto::ring_outcomes);
    const auto left =
        std::find_if_not(part.begin(), part.end(),
                         [this](const proto::outcome_entry& e) { return ring_->put_outcome(e); });
    ring_->show_outcomes();
    const asked found = ask_gard();
    if (found == asked::by_message) send(proto::kick{});
    see_it_taken(found);
    outcomes_.forget(static_cast<size_t>(left - part.begin()));
  }
  return send_outcomes_by_socket();
}

bool link::send_outcomes_by_socket() noexcept {
  while (outcomes_.size() > 0) {
    const auto part = outcomes_.oldest(proto::outcome_entries_max);
    if (!send_entries<proto::outcomes>(part)) {
      outcomes_.postpone(steady_clock().now());
      return false;
    }
    outcomes_.forget(part.size());
  }
  return true;
}

// A message is made of a copy of them. false: not sent, for want of room or memory.
template <class Message, class Entry>
bool link::send_entries(std::span<const Entry> entries) noexcept {
  try {
    return send(Message{{entries.begin(), entries.end()}});
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void link::answer(const std::vector<proto::status_entry>& statuses, instant now) {
  std::lock_guard lock(send_lock_);
  answers_.insert(answers_.end(), statuses.begin(), statuses.end());
  send_answers(now);
  // No gard that keeps to the protocol leaves more of them unread.
  if (answers_.size() > streams_max) answers_.resize(streams_max);
}

void link::send_answers(instant now) noexcept {
  while (!answers_.empty()) {
    const auto part = std::span<const proto::status_entry>(answers_).first(
        std::min(answers_.size(), proto::status_entries_max));
    if (!send_entries<proto::statuses>(part)) {
      again_due_ = std::min(again_due_, now + again_pause);
      return;
    }
    answers_.erase(answers_.begin(), answers_.begin() + static_cast<std::ptrdiff_t>(part.size()));
  }
}

}  // namespace gar::owner
