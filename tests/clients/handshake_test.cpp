// The beginning of a connection to gard, over a socket pair whose other end is the test.
#include "clients/garclient/handshake.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <thread>

#include "clients/garclient/attachment.hpp"
#include "lib/linux/readiness.hpp"
#include "lib/linux/steady_clock.hpp"
#include "lib/linux/unix_socket.hpp"
#include "tests/linux/temporary_directory.hpp"

namespace gar::owner {
namespace {

const proto::hello greeting{1, 1, 0, "test", {}};

class a_handshake : public ::testing::Test {
 protected:
  void SetUp() override {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends.data()), 0);
    client_.reset(ends[0]);
    gard_.reset(ends[1]);
  }

  unique_fd client_;
  unique_fd gard_;
};

// gard has no place, and was faster than the client behind its connect.
TEST_F(a_handshake, says_why_gard_refused_before_the_hello_was_sent) {
  const error why(errc::LimitClients, {"1024"});
  ASSERT_TRUE(
      send_message(gard_.get(), proto::encode(proto::refusal{0, why.number(), 0, true, "1024"})));
  end_connection(gard_.get());
  gard_.reset();
  result<handshake> hands = handshake::start(std::move(client_), greeting);
  ASSERT_TRUE(hands) << hands.error().headline();
  const result<bool> complete = hands->receive();
  ASSERT_FALSE(complete);
  EXPECT_EQ(complete.error().code(), errc::LimitClients) << complete.error().headline();
}

TEST_F(a_handshake, with_a_gard_that_ended_without_a_word_is_not_reachable) {
  gard_.reset();
  result<handshake> hands = handshake::start(std::move(client_), greeting);
  ASSERT_TRUE(hands) << hands.error().headline();
  const result<bool> complete = hands->receive();
  ASSERT_FALSE(complete);
  EXPECT_EQ(complete.error().code(), errc::NotReachable);
}

// As one that stops: the socket unit's queue is the next one's.
TEST(an_attachment, tries_again_where_gard_ends_the_connection_and_not_for_ever) {
  const temporary_directory directory;
  const std::string path = directory.file("gard.sock");
  const result<unique_fd> listener = listen_at(path, {});
  ASSERT_TRUE(listener);
  std::atomic<bool> over = false;
  size_t accepted = 0;
  std::thread stopping([&] {
    while (!over) {
      std::array<watched_fd, 1> watched{{{listener->get(), false}}};
      wait_readable(watched, steady_clock().now() + from_ms(10));
      const auto got = accept_from(listener->get());
      if (got && *got) ++accepted;
    }
  });
  const attachment to({{path, "a test"}}, greeting);
  const auto joined = to.connect(steady_clock().now() + from_ms(60'000));
  over = true;
  stopping.join();
  ASSERT_FALSE(joined);
  EXPECT_EQ(joined.error().code(), errc::NotReachable);
  EXPECT_EQ(accepted, 3u);
}

}  // namespace
}  // namespace gar::owner
