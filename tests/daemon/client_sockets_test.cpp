// Who comes in at the clients' socket, where the machine has run out.
#include "daemon/client_sockets.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "lib/linux/system_call.hpp"
#include "lib/linux/unix_socket.hpp"
#include "tests/linux/temporary_directory.hpp"

namespace gar::test {
namespace {

class a_socket_that_nobody_can_be_accepted_at : public testing::Test {
 protected:
  void SetUp() override {
    result<unique_fd> listener = listen_at(path, {});
    ASSERT_TRUE(listener.has_value());
    sockets.accept_on(std::move(*listener));
    result<unique_fd> made =
        connect_to(path, socket_type::seqpacket, clock.now() + from_ms(30'000));
    ASSERT_TRUE(made.has_value());
    knocking = std::move(*made);
  }
  result<std::optional<unique_fd>> accept(int listener) {
    ++tries;
    if (runs_out) return system_error("accept", ENFILE);
    return accept_from(listener);
  }
  size_t sessions() {
    return decisions.with([](node& n) { return n.sessions(); });
  }

  temporary_directory directory;
  std::string path = directory.file("gard.sock");
  steady_clock clock;
  boost::asio::io_context io{1};
  shared_node decisions{node_options{}, [] {}};
  wait_service waits;
  doorbell bell = *doorbell::make();
  state_page_owner state = *state_page_owner::make();
  questions asked{io};
  bool runs_out = true;
  uint64_t tries = 0;
  client_sockets sockets{io,
                         {&decisions, &waits, &bell, &state, &asked, descriptor_reserve(0, 0),
                          [](std::string_view, uint32_t) { return stepwise_answer("{}"); },
                          [this](int listener) { return accept(listener); }}};
  unique_fd knocking;
};

// The connection stays in the queue, and the socket readable.
TEST_F(a_socket_that_nobody_can_be_accepted_at, is_left_alone_for_a_while) {
  const instant from = clock.now();
  for (int turn = 0; turn < 100; ++turn) io.poll_one();
  const uint64_t pauses = (clock.now() - from).ns / client_sockets::accept_pause.ns;
  EXPECT_GE(tries, 2u);
  EXPECT_LE(tries, 2 * (pauses + 1));
}

TEST_F(a_socket_that_nobody_can_be_accepted_at, lets_in_who_knocked_when_there_is_room_again) {
  while (tries < 2) io.run_one();
  EXPECT_EQ(sessions(), 0u);
  runs_out = false;
  while (sessions() == 0) io.run_one();
  EXPECT_EQ(sessions(), 1u);
}

TEST_F(a_socket_that_nobody_can_be_accepted_at, stops_accepting_in_the_pause_too) {
  while (tries < 2) io.run_one();
  sockets.stop_accepting();
  runs_out = false;
  io.run();
  EXPECT_EQ(tries, 2u);
  EXPECT_EQ(sessions(), 0u);
}

}  // namespace
}  // namespace gar::test
