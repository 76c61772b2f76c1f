// Handshake: from a connected socket to a link: hello, welcome, and the plans of its generation.
//
//   hello sent -> welcome (three descriptors, five with a ring) -> plan_scopes plans -> complete
//              -> a refusal, an end, anything else: failed
//
// Invariants: pages are mapped only after their seals were checked. Nothing is kept of a handshake
// that failed. Whoever drives it keeps its deadline, 1 s from the start.
// Threads: one at a time. Blocking: none.
// Errors: gard's refusal; VersionMismatch, MalformedMessage, OutOfState, UnexpectedDescriptors;
// NotReachable when the socket ended.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "clients/garclient/link.hpp"
#include "lib/core/codec.hpp"
#include "lib/linux/unix_socket.hpp"

namespace gar::owner {

class handshake {
 public:
  // Sends the hello.
  static result<handshake> start(unique_fd socket, const proto::hello& hello);

  int fd() const { return socket_.get(); }
  // Reads what is there. true: complete.
  result<bool> receive();

  struct joined {
    std::shared_ptr<link> with;
    std::vector<proto::plan_scope> plans;
  };
  joined finish();

 private:
  explicit handshake(unique_fd socket) : socket_(std::move(socket)) {}
  result<void> take(const proto::message& m, reception& with);
  result<void> take_welcome(const proto::welcome& m, reception& with);

  unique_fd socket_;
  std::optional<proto::welcome> welcome_;
  std::shared_ptr<word_page> page_;
  std::optional<doorbell> bell_;
  std::optional<state_page_view> state_;
  std::optional<ring_client> ring_;
  std::vector<proto::plan_scope> plans_;
};

}  // namespace gar::owner
