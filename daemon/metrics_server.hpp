// Metrics server: GET /metrics over HTTP, for the monitoring systems that know nothing else.
//
// A port has no mode and no peer: whoever is on the machine may connect, and may do so badly. So a
// connection has one request and one answer, little room and little time, and whoever comes when
// there are too many takes the place of the one that has taken longest to ask.
//
//     accepted -> reading the request -> the text is made -> writing -> closed
//                     `-- wrong, too long, too slow, pushed out --------^
//
// Invariants: at most `connections_max` connections, each with at most `header_bytes_max` of what
// its peer sent; a request with a body is refused; no connection lives longer than `read_ns_max`
// and `write_ns_max`, and the making of one text between.
// Threads: the io context's. Blocking: never. Ownership: the listening socket; `render` is called
// while the server lives, and may answer at once, later, or never where the io context ends before.
// Errors: SystemCall{what was asked of the address, why}. None travels later: a connection that
// fails is closed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "daemon/loopback.hpp"
#include "lib/core/error.hpp"
#include "lib/core/metrics_text.hpp"

namespace boost::asio {
class io_context;
}

namespace gar {

struct metrics_bounds {
  size_t connections_max = 16;
  size_t header_bytes_max = 8192;
  uint64_t read_ns_max = 5'000'000'000;
  uint64_t write_ns_max = 10'000'000'000;
};

class metrics_server {
 public:
  using done_function = std::function<void(std::string text)>;
  using render_function = std::function<void(metrics_dialect as, done_function done)>;

  static result<std::unique_ptr<metrics_server>> make(boost::asio::io_context& io,
                                                      const loopback& at, render_function render,
                                                      metrics_bounds bounds = {});
  ~metrics_server();
  metrics_server(const metrics_server&) = delete;
  metrics_server& operator=(const metrics_server&) = delete;

  // Closes the listener and every connection.
  void stop();

 private:
  class listening;
  explicit metrics_server(std::shared_ptr<listening> l);
  std::shared_ptr<listening> listening_;
};

}  // namespace gar
