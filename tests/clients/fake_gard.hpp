// A gard of a test's own: answers each request with what the test says, on either socket.
//
// Threads: one of its own for each socket, ended with the object. The answer function runs there.
#pragma once

#include <poll.h>

#include <array>
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "lib/core/codec.hpp"
#include "lib/linux/unix_socket.hpp"

namespace gar {

class fake_gard {
 public:
  // Takes the request and gives the answer; an empty answer is silence.
  using answer_function = std::function<std::string(const std::string& request)>;

  fake_gard(const std::string& path, socket_type type, answer_function answer)
      : listener_(listen(path, type)),
        type_(type),
        answer_(std::move(answer)),
        thread_([this] { serve(); }) {}
  ~fake_gard() {
    stop_ = true;
    thread_.join();
  }

 private:
  static unique_fd listen(const std::string& path, socket_type type) {
    result<unique_fd> listener = listen_at(path, {.type = type, .group = {}});
    GAR_ASSERT(listener);
    return std::move(*listener);
  }

  void serve() {
    while (!stop_) {
      pollfd one{listener_.get(), POLLIN, 0};
      if (::poll(&one, 1, 10) <= 0) continue;
      auto accepted = accept_from(listener_.get());
      if (!accepted || !*accepted) continue;
      clients_.push_back(std::move(**accepted));
      answer_one(clients_.back().get());
    }
  }

  void answer_one(int fd) {
    std::array<std::byte, proto::frame_bytes_max> buffer;
    pollfd one{fd, POLLIN, 0};
    if (::poll(&one, 1, 1000) <= 0) return;
    const auto got = receive_message(fd, buffer);
    if (!got || got->got != reception::what::message) return;
    const std::string bytes(reinterpret_cast<const char*>(buffer.data()), got->bytes);
    if (type_ == socket_type::stream) {
      std::string answer = answer_(bytes.substr(0, bytes.find('\n')));
      if (answer.empty()) return;
      answer += '\n';
      send(fd, std::as_bytes(std::span(answer)));
      return;
    }
    const auto message = proto::decode(std::span(buffer).first(got->bytes));
    const proto::ask* ask = message ? std::get_if<proto::ask>(&*message) : nullptr;
    if (!ask) return;
    for (const auto& part : proto::split_answer(ask->cookie, answer_(ask->json))) {
      send(fd, proto::encode(part));
    }
  }

  void send(int fd, std::span<const std::byte> bytes) {
    for (;;) {
      const auto sent = send_message(fd, bytes);
      if (!sent || *sent) return;
      pollfd one{fd, POLLOUT, 0};
      ::poll(&one, 1, 1000);
    }
  }

  unique_fd listener_;
  socket_type type_;
  answer_function answer_;
  std::vector<unique_fd> clients_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace gar
