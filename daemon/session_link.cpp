#include "daemon/session_link.hpp"

#include <cerrno>
#include <string>
#include <utility>

#include "lib/linux/unix_socket.hpp"
#include "proto/limits.hpp"

namespace gar {

bool session_link::try_send(const message& m) {
  result<bool> sent = send_message(socket_.get(), m.frame, m.descriptors);
  if (sent) return *sent;
  const int number = sent.error().os_number();
  if (number == EPIPE || number == ECONNRESET) {
    closed_ = true;  // the io thread reads the peer's end and tells the node
  } else {
    break_with(sent.error());
  }
  return true;
}

void session_link::break_with(error why) {
  broken_ = std::move(why);
  unsent_.clear();
  unsent_bytes_ = 0;
  blocked_();
}

std::optional<error> session_link::broken() {
  const std::lock_guard hold(lock_);
  return broken_;
}

void session_link::keep(message m, size_t most) {
  const bool first = unsent_.empty();
  unsent_bytes_ += m.frame.size();
  if (unsent_bytes_ > most) {
    return break_with(error(errc::SlowReader, {std::to_string(unread_max_)}));
  }
  unsent_.push_back(std::move(m));
  if (first) blocked_();
}

void session_link::send(std::vector<std::byte> frame, std::span<const int> descriptors) {
  const std::lock_guard hold(lock_);
  if (closed_ || broken_) return;
  message m{std::move(frame), {descriptors.begin(), descriptors.end()}};
  if (unsent_.empty() && try_send(m)) return;
  keep(std::move(m), unread_max_);
}

void session_link::send_answer(std::vector<std::vector<std::byte>> frames) {
  const std::lock_guard hold(lock_);
  for (std::vector<std::byte>& frame : frames) {
    if (closed_ || broken_) return;
    message m{std::move(frame), {}};
    if (unsent_.empty() && try_send(m)) continue;
    keep(std::move(m), unread_max_ + 2 * proto::answer_bytes_max);
  }
}

bool session_link::send_unsent() {
  const std::lock_guard hold(lock_);
  while (!unsent_.empty() && !closed_) {
    if (!try_send(unsent_.front())) return false;
    if (unsent_.empty()) break;  // it broke
    unsent_bytes_ -= unsent_.front().frame.size();
    unsent_.pop_front();
  }
  return true;
}

bool session_link::has_unsent() {
  const std::lock_guard hold(lock_);
  return !closed_ && !unsent_.empty();
}

void session_link::close() {
  const std::lock_guard hold(lock_);
  closed_ = true;
  unsent_.clear();
  end_connection(socket_.get());
}

}  // namespace gar
