// Control server: the socket on which an operator's programs ask and change things, a line each.
//
//     accepted -> reading a line -> answering -> writing the answer -> reading ...
//                       |                              |
//                  idle too long                 not read in time       -> closed
//
// The answer may take its time: meanwhile the connection waits, without a deadline.
//
// Invariants: a line has at most proto::control_line_bytes_max bytes; a longer one is refused and
// its connection closed. A connection has one answer in flight and its next request is not read
// before that was taken, so a peer that does not read costs one answer for `write_ns_max`. At most
// `connections_max` connections are read from; one more is told LimitControl and closed, unread,
// which keeps it for `write_ns_max` at most. What follows the last newline when the peer has ended
// is a request too.
// Threads: the io context's. Blocking: never, but for what `answer` does.
// Ownership: the listening socket; `answer` is called while the server lives. The server ends with
// `stop` or with its io context.
// Errors: none; a connection that fails is closed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "lib/linux/unique_fd.hpp"

namespace boost::asio {
class io_context;
}

namespace gar {

struct control_bounds {
  size_t connections_max = 64;
  uint64_t idle_ns_max = 60'000'000'000;   // between requests
  uint64_t write_ns_max = 10'000'000'000;  // for one answer
};

class control_server {
 public:
  using done_function = std::function<void(std::string answer)>;
  // Calls `done` once, at once or later, or never where the server's io context ends before.
  using answer_function = std::function<void(std::string request, done_function done)>;

  // `listener` is a listening SOCK_STREAM socket.
  control_server(boost::asio::io_context& io, unique_fd listener, answer_function answer,
                 control_bounds bounds = {});
  ~control_server();
  control_server(const control_server&) = delete;
  control_server& operator=(const control_server&) = delete;

  // Closes the listener and every connection.
  void stop();

 private:
  class listening;
  std::shared_ptr<listening> listening_;
};

}  // namespace gar
