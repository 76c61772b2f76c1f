#include "lib/linux/control_request.hpp"

#include <fmt/core.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <variant>

#include "lib/core/codec.hpp"
#include "lib/linux/steady_clock.hpp"
#include "lib/linux/system_call.hpp"
#include "lib/linux/unix_socket.hpp"
#include "proto/limits.hpp"

namespace gar {
namespace {

// An exchange that ends in time.
class exchange {
 public:
  exchange(unique_fd fd, instant deadline, duration patience)
      : fd_(std::move(fd)), deadline_(deadline), patience_(patience) {}

  // A gard that has no place says so and closes before it reads: what it said is there to receive.
  result<void> send(std::span<const std::byte> message) {
    for (;;) {
      result<bool> sent = send_message(fd_.get(), message);
      if (!sent && sent.error().os_number() == EPIPE) return {};
      if (!sent) return sent.error();
      if (*sent) return {};
      result<void> ready = wait_for(POLLOUT);
      if (!ready) return ready.error();
    }
  }

  // How many bytes came into `into`; never 0.
  result<size_t> receive(std::span<std::byte> into) {
    for (;;) {
      result<void> ready = wait_for(POLLIN);
      if (!ready) return ready.error();
      result<reception> got = receive_message(fd_.get(), into);
      if (!got) return got.error();
      if (got->got == reception::what::message) return got->bytes;
      if (got->got == reception::what::ended) {
        return error(errc::Closed, {"the connection that gard had not answered on"});
      }
    }
  }

 private:
  result<void> wait_for(short events) {
    for (;;) {
      const duration left = deadline_ - steady_clock().now();
      if (!left) return silent();
      const timespec timeout = to_timespec(instant{left.ns});
      pollfd one{fd_.get(), events, 0};
      const int ready = ::ppoll(&one, 1, &timeout, nullptr);
      if (ready > 0) return {};
      if (ready < 0 && errno != EINTR) return last_system_error("ppoll");
    }
  }

  error silent() const {
    return error(errc::HandshakeTimeout, {"answer", fmt::format("{}", patience_.ns / 1'000'000)},
                 ETIMEDOUT);
  }

  unique_fd fd_;
  instant deadline_;
  duration patience_;
};

result<exchange> begin(const std::string& path, socket_type type, duration patience) {
  const instant deadline = steady_clock().now() + patience;
  result<unique_fd> fd = connect_to(path, type, deadline);
  if (!fd) return fd.error();
  return exchange(std::move(*fd), deadline, patience);
}

error broken(std::string what) {
  return error(errc::MalformedMessage, {std::move(what)});
}

}  // namespace

result<bool> add_answer_part(const proto::message& frame, std::string& answer) {
  if (const auto* refused = std::get_if<proto::refusal>(&frame)) {
    const error_entry* entry = find_error(refused->code);
    return error(errc::Unavailable,
                 {"an answer", fmt::format("{:#06x} {}: {}", refused->code,
                                           entry ? entry->name : "Unknown", refused->text)});
  }
  const auto* part = std::get_if<proto::answer>(&frame);
  if (!part) return broken("expected an answer");
  if (part->total_bytes > proto::answer_bytes_max) return broken("an answer that is too long");
  if (part->offset_bytes != answer.size() ||
      part->part.size() > part->total_bytes - answer.size()) {
    return broken("a part of an answer out of its place");
  }
  answer += part->part;
  return answer.size() == part->total_bytes;
}

result<std::string> request_by_line(const std::string& path, std::string_view request,
                                    duration patience) {
  result<exchange> with = begin(path, socket_type::stream, patience);
  if (!with) return with.error();
  std::string line(request);
  line += '\n';
  // A line that the socket takes in pieces would need a loop here; none is that long.
  GAR_ASSERT(line.size() <= proto::control_line_bytes_max);
  result<void> sent = with->send(std::as_bytes(std::span(line)));
  if (!sent) return sent.error();
  std::string answer;
  std::array<std::byte, 16 << 10> piece;
  for (;;) {
    result<size_t> bytes = with->receive(piece);
    if (!bytes) return bytes.error();
    answer.append(reinterpret_cast<const char*>(piece.data()), *bytes);
    const size_t end = answer.find('\n', answer.size() - *bytes);
    if (end != std::string::npos) return answer.substr(0, end);
    if (answer.size() > proto::answer_bytes_max) return broken("an answer that is too long");
  }
}

result<std::string> request_by_ask(const std::string& path, std::string_view request,
                                   duration patience) {
  GAR_ASSERT(request.size() <= proto::ask_bytes_max);
  result<exchange> with = begin(path, socket_type::seqpacket, patience);
  if (!with) return with.error();
  proto::ask question;
  question.cookie = 1;
  question.json = request;
  result<void> sent = with->send(proto::encode(question));
  if (!sent) return sent.error();
  std::string answer;
  std::array<std::byte, proto::frame_bytes_max> frame;
  for (;;) {
    result<size_t> bytes = with->receive(frame);
    if (!bytes) return bytes.error();
    result<proto::message> decoded = proto::decode(std::span(frame).first(*bytes));
    if (!decoded) return decoded.error();
    result<bool> whole = add_answer_part(*decoded, answer);
    if (!whole) return whole.error();
    if (*whole) return answer;
  }
}

}  // namespace gar
