#include "daemon/session_link.hpp"

#include <cerrno>
#include <string>
#include <utility>

#include "lib/linux/unix_socket.hpp"
#include "proto/wire.hpp"

namespace gar {
namespace {

// All scopes of one generation and the frames of the largest answer, twice that for their headers
// and for a generation that follows before the first was read.
constexpr size_t uncounted_bytes_max =
    2 * (proto::answer_bytes_max +
         proto::plan_scopes_max * (sizeof(proto::plan_fixed) + proto::plan_bytes_max));

}  // namespace

bool session_link::try_send(const message& m) {
  result<bool> sent = send_message(socket_.get(), m.frame, m.descriptors);
  if (sent) return *sent;
  failed_to_send(sent.error());
  return true;
}

void session_link::failed_to_send(const error& why) {
  if (why.os_number() == EPIPE || why.os_number() == ECONNRESET) {
    closed_ = true;  // who receives from the peer reads its end and tells the node
  } else {
    break_with(why);
  }
}

void session_link::break_with(error why) {
  broken_ = std::move(why);
  unsent_.clear();
  remove_all();
  blocked_();
}

std::optional<error> session_link::broken() {
  const std::lock_guard hold(lock_);
  return broken_;
}

void session_link::keep(message m) {
  const bool first = unsent_.empty();
  add(m);
  if (!by_ring_) {
    if (std::optional<error> why = too_much(m.counted)) return break_with(std::move(*why));
  }
  unsent_.push_back(std::move(m));
  if (first && !by_ring_) blocked_();
}

std::optional<error> session_link::too_much(bool counted) const {
  const size_t most = counted ? unread_max_ : uncounted_bytes_max;
  if ((counted ? unsent_bytes_ : uncounted_bytes_) > most) {
    return error(errc::SlowReader, {std::to_string(most)});
  }
  const size_t most_of_user = of_user_->bytes_max;
  if (of_user_->bytes <= most_of_user) return std::nullopt;
  return error(errc::LimitPerUser, {std::to_string(of_user_->uid), std::to_string(most_of_user),
                                    "bytes of messages not read"});
}

void session_link::add(const message& m) {
  (m.counted ? unsent_bytes_ : uncounted_bytes_) += m.frame.size();
  of_user_->bytes += m.frame.size();
}

void session_link::remove(const message& m) {
  (m.counted ? unsent_bytes_ : uncounted_bytes_) -= m.frame.size();
  of_user_->bytes -= m.frame.size();
}

void session_link::remove_all() {
  of_user_->bytes -= std::exchange(unsent_bytes_, 0) + std::exchange(uncounted_bytes_, 0);
}

void session_link::send(std::vector<std::byte> frame, std::span<const int> descriptors) {
  send_or_keep({std::move(frame), {descriptors.begin(), descriptors.end()}});
}

void session_link::send_uncounted(std::vector<std::byte> frame) {
  send_or_keep({std::move(frame), {}, false});
}

void session_link::send_or_keep(message m) {
  const std::lock_guard hold(lock_);
  if (closed_ || broken_) return;
  if (!by_ring_ && unsent_.empty() && try_send(m)) return;
  keep(std::move(m));
}

bool session_link::send_unsent() {
  const std::lock_guard hold(lock_);
  while (!unsent_.empty() && !closed_) {
    if (!try_send(unsent_.front())) return false;
    if (unsent_.empty()) break;  // it broke
    remove(unsent_.front());
    unsent_.pop_front();
  }
  return true;
}

bool session_link::has_unsent() {
  const std::lock_guard hold(lock_);
  return !closed_ && (!unsent_.empty() || taken_bytes_ > 0 || answers_begun_ > 0);
}

void session_link::begin_answer() {
  const std::lock_guard hold(lock_);
  ++answers_begun_;
}

void session_link::end_answer() {
  const std::lock_guard hold(lock_);
  --answers_begun_;
}

// ---- with a ring

void session_link::leave_to_ring() {
  const std::lock_guard hold(lock_);
  by_ring_ = true;
}

std::optional<session_link::message> session_link::take_next() {
  const std::lock_guard hold(lock_);
  if (closed_ || broken_ || unsent_.empty()) return std::nullopt;
  std::optional<message> taken = std::move(unsent_.front());
  unsent_.pop_front();
  taken_bytes_ = taken->frame.size();
  return taken;
}

void session_link::sent(const message& m) {
  const std::lock_guard hold(lock_);
  taken_bytes_ = 0;
  if (closed_ || broken_) return;  // nothing is counted any more
  remove(m);
}

void session_link::not_sent(const error& failed) {
  const std::lock_guard hold(lock_);
  taken_bytes_ = 0;
  if (!closed_ && !broken_) failed_to_send(failed);
}

void session_link::break_if_slow() {
  const std::lock_guard hold(lock_);
  if (closed_ || broken_) return;
  for (const bool counted : {true, false}) {
    if (std::optional<error> why = too_much(counted)) return break_with(std::move(*why));
  }
}

void session_link::take_back(std::optional<message> m) {
  const std::lock_guard hold(lock_);
  by_ring_ = false;
  taken_bytes_ = 0;
  if (m && !closed_ && !broken_) unsent_.push_front(std::move(*m));
}

void session_link::close() {
  const std::lock_guard hold(lock_);
  closed_ = true;
  unsent_.clear();
  remove_all();
  end_connection(socket_.get());
}

}  // namespace gar
