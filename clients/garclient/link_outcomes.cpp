// What a link sends later: outcomes, answers to probes, and what the socket had no room for.
#include <algorithm>

#include "clients/garclient/link.hpp"
#include "lib/linux/steady_clock.hpp"

namespace gar::owner {
namespace {

// No gard that keeps to the protocol leaves more of them unread: one for each stream.
constexpr size_t answers_max = 8192;

}  // namespace

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
      send_unsent(now);
      send_answers(now);
    }
    if (outcomes_.due() <= now) send_outcomes();
    if (ring_) kick_if_not_taken(now);
  }
  if (ring_) serve_ring(now);
}

// What waits for ends that nobody else may be there to read.
void link::serve_ring(instant now) {
  if (ring_->submit_cancels()) see_it_taken(notify_gard());
  take_ring();
  bool left = ring_->cancels_left();
  {
    std::lock_guard lock(pending_lock_);
    left = left || !closes_.empty();
  }
  if (left) again_by(now);
}

// By socket, as the bye behind them.
void link::send_last_outcomes() {
  std::lock_guard lock(send_lock_);
  send_outcomes_by_socket();
}

// false: the rest is kept for later.
bool link::send_outcomes() {
  if (ring_ && outcomes_.size() > 0) {
    const auto part = outcomes_.take(proto::ring_outcomes);
    const auto left =
        std::find_if_not(part.begin(), part.end(),
                         [this](const proto::outcome_entry& e) { return ring_->put_outcome(e); });
    ring_->show_outcomes();
    const asked found = ask_gard();
    if (found == asked::by_message) send(proto::kick{});
    see_it_taken(found);
    outcomes_.put_back({left, part.end()}, steady_clock().now());
  }
  return send_outcomes_by_socket();
}

bool link::send_outcomes_by_socket() {
  while (outcomes_.size() > 0) {
    const auto part = outcomes_.take(proto::outcome_entries_max);
    if (send(proto::outcomes{part})) continue;
    outcomes_.put_back(part, steady_clock().now());
    return false;
  }
  return true;
}

void link::answer(const std::vector<proto::status_entry>& statuses, instant now) {
  std::lock_guard lock(send_lock_);
  answers_.insert(answers_.end(), statuses.begin(), statuses.end());
  send_answers(now);
  if (answers_.size() > answers_max) answers_.resize(answers_max);
}

void link::send_answers(instant now) {
  while (!answers_.empty()) {
    const auto end = answers_.begin() + static_cast<std::ptrdiff_t>(
                                            std::min(answers_.size(), proto::status_entries_max));
    if (!send(proto::statuses{{answers_.begin(), end}})) {
      again_due_ = std::min(again_due_, now + again_pause);
      return;
    }
    answers_.erase(answers_.begin(), end);
  }
}

}  // namespace gar::owner
