#include "daemon/metrics_server.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <boost/algorithm/string/predicate.hpp>
#include <boost/algorithm/string/trim.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <list>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/accept_pause.hpp"

namespace gar {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;
using tcp = asio::ip::tcp;

constexpr auto open_metrics_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
constexpr auto prometheus_type = "text/plain; version=0.0.4; charset=utf-8";

error refused(std::string_view what, const loopback& at, const error_code& why) {
  return error(errc::SystemCall,
               {fmt::format("{} {}:{}", what, at.address, at.port), why.message()}, why.value());
}

// The path of a request's target, which may be a whole URL and have a query.
std::string_view path_of(std::string_view target) {
  target = target.substr(0, target.find('?'));
  constexpr std::string_view scheme = "http://";
  if (!boost::algorithm::istarts_with(target, scheme)) return target;
  target.remove_prefix(scheme.size());
  return target.substr(std::min(target.find('/'), target.size()));
}

// What is before `separator`, trimmed; `rest` is left with what is behind it.
std::string next_part(std::string_view& rest, char separator) {
  const size_t end = std::min(rest.find(separator), rest.size());
  const std::string part(rest.substr(0, end));
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return boost::algorithm::trim_copy(part);
}

// One element of an Accept line: a weight of 0 is a refusal.
bool accepts_open_metrics(std::string_view element) {
  if (!boost::algorithm::iequals(next_part(element, ';'), "application/openmetrics-text")) {
    return false;
  }
  while (!element.empty()) {
    const std::string parameter = next_part(element, ';');
    const bool weight = boost::algorithm::istarts_with(parameter, "q=");
    if (weight && parameter.find_first_not_of("0.", 2) == std::string::npos) return false;
  }
  return true;
}

bool accepts_open_metrics(const http::fields& headers) {
  const auto [first, last] = headers.equal_range(http::field::accept);
  for (auto line = first; line != last; ++line) {
    std::string_view rest = line->value();
    while (!rest.empty()) {
      if (accepts_open_metrics(next_part(rest, ','))) return true;
    }
  }
  return false;
}

}  // namespace

class metrics_server::listening : public std::enable_shared_from_this<listening> {
 public:
  listening(asio::io_context& io, render_function render, metrics_bounds bounds)
      : acceptor_(io), pause_(io), render_(std::move(render)), bounds_(bounds) {}

  result<void> listen(const loopback& at);
  void accept();
  void stop();

 private:
  class connection;

  void took(tcp::socket peer);
  void make_room();

  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  render_function render_;
  metrics_bounds bounds_;
  std::list<connection*> connections_;  // by age, the oldest first
};

class metrics_server::listening::connection : public std::enable_shared_from_this<connection> {
 public:
  connection(std::shared_ptr<listening> server, tcp::socket peer)
      : server_(std::move(server)), stream_(std::move(peer)) {
    server_->connections_.push_back(this);
    parser_.header_limit(static_cast<uint32_t>(server_->bounds_.header_bytes_max));
  }
  ~connection() { server_->connections_.remove(this); }
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  void read();
  bool asks() const { return asks_; }
  void close();

 private:
  using request_parser = http::request_parser<http::empty_body>;
  using text_response = http::response<http::string_body>;

  void took(error_code failed);
  void answer();
  void say(http::status status, std::string text, const char* type = "text/plain");
  void write();

  std::shared_ptr<listening> server_;
  beast::tcp_stream stream_;
  beast::flat_buffer incoming_{server_->bounds_.header_bytes_max};
  request_parser parser_;
  text_response outgoing_;
  bool asks_ = true;  // its request has not come yet
};

result<void> metrics_server::listening::listen(const loopback& at) {
  error_code failed;
  const tcp::endpoint where(asio::ip::make_address(at.address), at.port);
  acceptor_.open(where.protocol(), failed);
  if (failed) return refused("socket for", at, failed);
  acceptor_.set_option(tcp::acceptor::reuse_address(true), failed);
  acceptor_.bind(where, failed);
  if (failed) return refused("bind", at, failed);
  acceptor_.listen(static_cast<int>(bounds_.connections_max), failed);
  if (failed) return refused("listen at", at, failed);
  return {};
}

void metrics_server::listening::accept() {
  acceptor_.async_accept([self = shared_from_this()](error_code failed, tcp::socket peer) {
    if (!self->acceptor_.is_open()) return;
    if (!failed) {
      self->took(std::move(peer));
      return self->accept();
    }
    self->pause_.expires_after(std::chrono::nanoseconds(accept_pause.ns));
    self->pause_.async_wait([self](error_code cancelled) {
      if (!cancelled && self->acceptor_.is_open()) self->accept();
    });
  });
}

void metrics_server::listening::took(tcp::socket peer) {
  if (connections_.size() >= bounds_.connections_max) make_room();
  if (connections_.size() >= bounds_.connections_max) return;  // all of them are being answered
  std::make_shared<connection>(shared_from_this(), std::move(peer))->read();
}

// Whoever connects and asks nothing must not keep others out.
void metrics_server::listening::make_room() {
  for (connection* each : connections_) {
    if (!each->asks()) continue;
    connections_.remove(each);
    return each->close();
  }
}

void metrics_server::listening::stop() {
  error_code ignored;
  acceptor_.close(ignored);
  pause_.cancel();
  for (connection* each : connections_) each->close();
}

void metrics_server::listening::connection::read() {
  stream_.expires_after(std::chrono::nanoseconds(server_->bounds_.read_ns_max));
  http::async_read(stream_, incoming_, parser_,
                   [self = shared_from_this()](error_code failed, size_t) { self->took(failed); });
}

void metrics_server::listening::connection::took(error_code failed) {
  asks_ = false;
  if (!failed) return answer();
  if (failed == http::error::header_limit || failed == http::error::buffer_overflow) {
    return say(http::status::request_header_fields_too_large, "the request is too long\n");
  }
  // What is no HTTP, or has a body; a peer that is gone or was cut off hears nothing.
  const bool malformed = failed.category() == make_error_code(http::error::bad_method).category() &&
                         failed != http::error::end_of_stream &&
                         failed != http::error::partial_message;
  if (malformed) say(http::status::bad_request, "expected GET /metrics without a body\n");
}

void metrics_server::listening::connection::answer() {
  const auto& asked = parser_.get();
  const auto method = asked.method();
  if (path_of(asked.target()) != "/metrics") {
    return say(http::status::not_found, "expected /metrics\n");
  }
  if (method != http::verb::get && method != http::verb::head) {
    outgoing_.set(http::field::allow, "GET, HEAD");
    return say(http::status::method_not_allowed, "expected GET\n");
  }
  const bool open = accepts_open_metrics(asked);
  // The timer of the reading ends with it; the answer has its turn when it has it.
  stream_.expires_never();
  server_->render_(open ? metrics_dialect::open_metrics : metrics_dialect::prometheus,
                   [self = shared_from_this(), open](std::string text) {
                     self->say(http::status::ok, std::move(text),
                               open ? open_metrics_type : prometheus_type);
                   });
}

void metrics_server::listening::connection::say(http::status status, std::string text,
                                                const char* type) {
  outgoing_.result(status);
  outgoing_.version(11);
  outgoing_.set(http::field::content_type, type);
  outgoing_.keep_alive(false);
  outgoing_.content_length(text.size());
  if (parser_.get().method() != http::verb::head) outgoing_.body() = std::move(text);
  write();
}

void metrics_server::listening::connection::write() {
  stream_.expires_after(std::chrono::nanoseconds(server_->bounds_.write_ns_max));
  http::async_write(stream_, outgoing_, [self = shared_from_this()](error_code, size_t) {
    error_code ignored;
    self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    self->close();
  });
}

void metrics_server::listening::connection::close() {
  stream_.close();
}

result<std::unique_ptr<metrics_server>> metrics_server::make(asio::io_context& io,
                                                             const loopback& at,
                                                             render_function render,
                                                             metrics_bounds bounds) {
  auto made = std::make_shared<listening>(io, std::move(render), bounds);
  if (result<void> listens = made->listen(at); !listens) return listens.error();
  made->accept();
  return std::unique_ptr<metrics_server>(new metrics_server(std::move(made)));
}

metrics_server::metrics_server(std::shared_ptr<listening> l) : listening_(std::move(l)) {}

metrics_server::~metrics_server() {
  stop();
}

void metrics_server::stop() {
  listening_->stop();
}

}  // namespace gar
