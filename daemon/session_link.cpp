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
  unsent_bytes_ = uncounted_bytes_ = 0;
  blocked_();
}

std::optional<error> session_link::broken() {
  const std::lock_guard hold(lock_);
  return broken_;
}

void session_link::keep(message m) {
  const bool first = unsent_.empty();
  size_t& waiting_bytes = m.counted ? unsent_bytes_ : uncounted_bytes_;
  const size_t most = m.counted ? unread_max_ : uncounted_bytes_max;
  waiting_bytes += m.frame.size();
  if (waiting_bytes > most) return break_with(error(errc::SlowReader, {std::to_string(most)}));
  unsent_.push_back(std::move(m));
  if (first) blocked_();
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
  if (unsent_.empty() && try_send(m)) return;
  keep(std::move(m));
}

size_t session_link::uncounted_bytes() {
  const std::lock_guard hold(lock_);
  return uncounted_bytes_;
}

bool session_link::send_unsent() {
  const std::lock_guard hold(lock_);
  while (!unsent_.empty() && !closed_) {
    if (!try_send(unsent_.front())) return false;
    if (unsent_.empty()) break;  // it broke
    const message& sent = unsent_.front();
    (sent.counted ? unsent_bytes_ : uncounted_bytes_) -= sent.frame.size();
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
