// Attachment: how a client gets to a gard, first and again.
//
//   gar_connect   tries each candidate, blocks for the handshake, 1 s for all together; up to three
//                 times where gard ends the connection without a word, as one that stops does
//   later         a wait, a record or an open that finds no gard may try to connect: at once or not
//                 at all, and not more often than the pause between tries, which doubles while
//                 nobody answers; the handshake is then the service thread's
//
// Invariants: `begin` never blocks. Threads: begin by any; connect by the one that opens the
// client. Errors: NotReachable with every path tried; HandshakeTimeout; what the handshake failed
// with.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "clients/garclient/handshake.hpp"
#include "lib/core/codec.hpp"
#include "lib/core/time.hpp"
#include "lib/linux/socket_paths.hpp"

namespace gar::owner {

class attachment {
 public:
  attachment(std::vector<socket_candidate> candidates, proto::hello hello)
      : candidates_(std::move(candidates)), hello_(std::move(hello)) {}

  result<handshake::joined> connect(instant deadline) const;

  // The caller keeps the handshake's deadline, and says how it ended.
  std::optional<handshake> begin(instant now);
  void succeeded() { pause_ns_.store(pause_first.ns, std::memory_order_relaxed); }

 private:
  static constexpr int tries_most = 3;
  static constexpr duration pause_first = from_ms(20);
  static constexpr duration pause_most = from_ms(1000);

  result<handshake::joined> join(const std::string& path, instant deadline) const;

  const std::vector<socket_candidate> candidates_;
  const proto::hello hello_;
  std::atomic<uint64_t> next_try_ns_{0};
  std::atomic<uint64_t> pause_ns_{pause_first.ns};
};

}  // namespace gar::owner
