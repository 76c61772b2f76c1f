#include "clients/garclient/attachment.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include "lib/linux/readiness.hpp"
#include "lib/linux/steady_clock.hpp"

namespace gar::owner {
namespace {

result<handshake::joined> shake_hands(unique_fd socket, const proto::hello& hello,
                                      instant deadline) {
  result<handshake> hands = handshake::start(std::move(socket), hello);
  if (!hands) return hands.error();
  for (;;) {
    const result<bool> complete = hands->receive();
    if (!complete) return complete.error();
    if (*complete) return hands->finish();
    if (steady_clock().now() >= deadline) {
      const uint64_t ms = proto::handshake_ns_max / 1'000'000;
      return error(errc::HandshakeTimeout, {"welcome", std::to_string(ms)});
    }
    std::array<watched_fd, 1> watched{{{hands->fd(), false}}};
    wait_readable(watched, deadline);
  }
}

// A gard that stops ends connections which it has just accepted, without a word; the socket may
// be the next one's already.
bool ended_without_a_word(const error& e) {
  return e.code() == errc::NotReachable || e.os_number() == ECONNRESET;
}

}  // namespace

result<handshake::joined> attachment::join(const std::string& path, instant deadline) const {
  for (int tries = 1;; ++tries) {
    result<unique_fd> socket = connect_to(path, socket_type::seqpacket, deadline);
    if (!socket) return socket.error();
    result<handshake::joined> joined = shake_hands(std::move(*socket), hello_, deadline);
    if (joined || tries == tries_most || !ended_without_a_word(joined.error())) return joined;
  }
}

result<handshake::joined> attachment::connect(instant deadline) const {
  std::string tried;
  for (const socket_candidate& c : candidates_) {
    result<handshake::joined> joined = join(c.path, deadline);
    if (joined) return joined;
    if (!tried.empty()) tried += "; ";
    tried += c.path + " (" + c.origin + "): " + joined.error().text();
  }
  return error(errc::NotReachable, {tried});
}

std::optional<handshake> attachment::begin(instant now) {
  uint64_t due = next_try_ns_.load(std::memory_order_relaxed);
  if (now.ns < due) return std::nullopt;
  const uint64_t pause = pause_ns_.load(std::memory_order_relaxed);
  if (!next_try_ns_.compare_exchange_strong(due, (now + duration{pause}).ns)) return std::nullopt;
  pause_ns_.store(std::min(pause * 2, pause_most.ns), std::memory_order_relaxed);
  for (const socket_candidate& c : candidates_) {
    result<unique_fd> socket = connect_to(c.path, socket_type::seqpacket, now);
    if (!socket) continue;
    result<handshake> hands = handshake::start(std::move(*socket), hello_);
    if (hands) return std::move(*hands);
  }
  return std::nullopt;
}

}  // namespace gar::owner
