#include "clients/garclient/attachment.hpp"

#include <algorithm>
#include <array>

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

}  // namespace

result<handshake::joined> attachment::connect(instant deadline) const {
  std::string tried;
  for (const socket_candidate& c : candidates_) {
    result<unique_fd> socket = connect_to(c.path, socket_type::seqpacket, deadline);
    error why;
    if (socket) {
      result<handshake::joined> joined = shake_hands(std::move(*socket), hello_, deadline);
      if (joined) return joined;
      why = joined.error();
    } else {
      why = socket.error();
    }
    if (!tried.empty()) tried += "; ";
    tried += c.path + " (" + c.origin + "): " + why.text();
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
