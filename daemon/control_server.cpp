#include "daemon/control_server.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <unordered_set>
#include <utility>

#include "daemon/accept_pause.hpp"
#include "daemon/answer_json.hpp"
#include "proto/limits.hpp"

namespace gar {
namespace {

namespace asio = boost::asio;
using stream = asio::local::stream_protocol;
using boost::system::error_code;

}  // namespace

class control_server::listening : public std::enable_shared_from_this<listening> {
 public:
  listening(asio::io_context& io, unique_fd listener, answer_function answer, control_bounds bounds)
      : acceptor_(io, stream(), listener.release()),
        pause_(io),
        answer_(std::move(answer)),
        bounds_(bounds) {}

  void accept();
  void stop();

 private:
  class connection;

  void took(stream::socket peer);

  stream::acceptor acceptor_;
  asio::steady_timer pause_;
  answer_function answer_;
  control_bounds bounds_;
  std::unordered_set<connection*> connections_;
};

class control_server::listening::connection : public std::enable_shared_from_this<connection> {
 public:
  connection(std::shared_ptr<listening> server, stream::socket peer)
      : server_(std::move(server)), peer_(std::move(peer)), deadline_(peer_.get_executor()) {
    server_->connections_.insert(this);
  }
  ~connection() { server_->connections_.erase(this); }

  void read();
  void refuse_and_close(const error& why) { write(refusal_json(why) + "\n", false); }
  void close();

 private:
  void took(error_code failed, size_t bytes);
  void write(std::string answer, bool then_read);
  void close_after(uint64_t ns);

  std::shared_ptr<listening> server_;
  stream::socket peer_;
  asio::steady_timer deadline_;
  std::string incoming_;  // what was read and not yet answered
  std::string outgoing_;  // the answer being written
};

void control_server::listening::accept() {
  acceptor_.async_accept([self = shared_from_this()](error_code failed, stream::socket peer) {
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

void control_server::listening::took(stream::socket peer) {
  const bool full = connections_.size() >= bounds_.connections_max;
  const auto taken = std::make_shared<connection>(shared_from_this(), std::move(peer));
  if (!full) return taken->read();
  taken->refuse_and_close(error(errc::LimitControl, {std::to_string(bounds_.connections_max)}));
}

void control_server::listening::stop() {
  error_code ignored;
  acceptor_.close(ignored);
  pause_.cancel();
  for (connection* each : connections_) each->close();
}

void control_server::listening::connection::read() {
  close_after(server_->bounds_.idle_ns_max);
  asio::async_read_until(
      peer_, asio::dynamic_buffer(incoming_, proto::control_line_bytes_max), '\n',
      [self = shared_from_this()](error_code failed, size_t bytes) { self->took(failed, bytes); });
}

void control_server::listening::connection::took(error_code failed, size_t bytes) {
  if (failed == asio::error::not_found) {
    return refuse_and_close(error(
        errc::MalformedMessage,
        {"a request has more than " + std::to_string(proto::control_line_bytes_max) + " bytes"}));
  }
  const bool last = failed == asio::error::eof;
  if (last) bytes = incoming_.size();
  if ((failed && !last) || bytes == 0) return close();
  std::string request = incoming_.substr(0, last ? bytes : bytes - 1);
  incoming_.erase(0, bytes);
  deadline_.expires_at(asio::steady_timer::time_point::max());
  server_->answer_(std::move(request), [self = shared_from_this(), last](std::string answer) {
    self->write(std::move(answer) + "\n", !last);
  });
}

void control_server::listening::connection::write(std::string answer, bool then_read) {
  outgoing_ = std::move(answer);
  close_after(server_->bounds_.write_ns_max);
  asio::async_write(peer_, asio::buffer(outgoing_),
                    [self = shared_from_this(), then_read](error_code failed, size_t) {
                      if (failed || !then_read) return self->close();
                      self->read();
                    });
}

void control_server::listening::connection::close() {
  error_code ignored;
  peer_.close(ignored);
  deadline_.cancel();
}

void control_server::listening::connection::close_after(uint64_t ns) {
  deadline_.expires_after(std::chrono::nanoseconds(ns));
  // The timer holds no ownership: a connection that has ended must not be kept for it.
  deadline_.async_wait([weak = weak_from_this()](error_code cancelled) {
    const auto self = weak.lock();
    // One that ran out before it was moved could not be cancelled any more.
    const bool moved = self && self->deadline_.expiry() > asio::steady_timer::clock_type::now();
    if (!cancelled && self && !moved) self->close();
  });
}

control_server::control_server(asio::io_context& io, unique_fd listener, answer_function answer,
                               control_bounds bounds)
    : listening_(std::make_shared<listening>(io, std::move(listener), std::move(answer), bounds)) {
  listening_->accept();
}

control_server::~control_server() {
  stop();
}

void control_server::stop() {
  listening_->stop();
}

}  // namespace gar
