// A question to gard by either socket: what a gard says that has no place for whoever asks.
#include "lib/linux/control_request.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <span>
#include <thread>

#include "lib/linux/steady_clock.hpp"
#include "lib/linux/unix_socket.hpp"
#include "tests/linux/temporary_directory.hpp"

namespace gar {
namespace {

// Whether the refusal or the question is first is for the scheduler, so there are many of both.
constexpr int exchanges_count = 500;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// Says the same to whoever connects, and closes without reading.
class refusing_listener {
 public:
  refusing_listener(const std::string& path, socket_type type, std::span<const std::byte> says) {
    auto made = listen_at(path, {.type = type});
    EXPECT_TRUE(made) << made.error().text();
    listener_ = std::move(*made);
    thread_ = std::thread([this, says] { serve(says); });
  }
  ~refusing_listener() {
    stop_ = true;
    thread_.join();
  }

 private:
  void serve(std::span<const std::byte> says) {
    while (!stop_) {
      pollfd one{listener_.get(), POLLIN, 0};
      if (::poll(&one, 1, 10) != 1) continue;
      auto peer = accept_from(listener_.get());
      if (!peer || !*peer) continue;
      if (!says.empty()) {
        EXPECT_TRUE(send_message((*peer)->get(), says));
      }
      end_connection((*peer)->get());
    }
  }

  unique_fd listener_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

TEST(control_request, hears_the_line_of_a_gard_that_closes_before_it_reads) {
  const temporary_directory home;
  const refusing_listener full(home.file("control.sock"), socket_type::stream,
                               bytes_of("refused\n"));
  for (int i = 0; i < exchanges_count; ++i) {
    const auto answer = request_by_line(home.file("control.sock"), "{}", from_ms(30'000));
    ASSERT_TRUE(answer) << i << ": " << answer.error().text();
    ASSERT_EQ(*answer, "refused");
  }
}

TEST(control_request, hears_the_refusal_of_a_gard_that_closes_before_it_reads) {
  const temporary_directory home;
  proto::refusal refusal;
  refusal.code = static_cast<uint16_t>(errc::LimitClients);
  refusal.text = "64 clients are connected";
  const auto frame = proto::encode(refusal);
  const refusing_listener full(home.file("gard.sock"), socket_type::seqpacket, frame);
  for (int i = 0; i < exchanges_count; ++i) {
    const auto answer = request_by_ask(home.file("gard.sock"), "{}", from_ms(30'000));
    ASSERT_TRUE(answer.has_error());
    ASSERT_NE(answer.error().text().find("64 clients are connected"), std::string::npos)
        << i << ": " << answer.error().text();
  }
}

TEST(control_request, knows_a_gard_that_closes_and_says_nothing) {
  const temporary_directory home;
  const refusing_listener mute(home.file("control.sock"), socket_type::stream, {});
  for (int i = 0; i < exchanges_count; ++i) {
    const auto answer = request_by_line(home.file("control.sock"), "{}", from_ms(30'000));
    ASSERT_TRUE(answer.has_error());
    ASSERT_EQ(answer.error().code(), errc::Closed) << i << ": " << answer.error().text();
  }
}

}  // namespace
}  // namespace gar
