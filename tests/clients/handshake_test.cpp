// The beginning of a connection to gard, over a socket pair whose other end is the test.
#include "clients/garclient/handshake.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>

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

}  // namespace
}  // namespace gar::owner
