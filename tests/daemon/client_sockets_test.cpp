// Who comes in at the clients' socket where the machine has run out, and what is kept for them.
#include "daemon/client_sockets.hpp"

#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <vector>

#include "daemon/accept_pause.hpp"
#include "lib/linux/system_call.hpp"
#include "lib/linux/unix_socket.hpp"
#include "tests/daemon/raw_client.hpp"
#include "tests/linux/temporary_directory.hpp"

namespace gar::test {
namespace {

#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define GAR_SANITIZED 1
#endif
#endif

class clients_socket : public testing::Test {
 protected:
  void SetUp() override {
    result<unique_fd> listener = listen_at(path, {});
    ASSERT_TRUE(listener.has_value());
    sockets.accept_on(std::move(*listener));
  }
  virtual result<std::optional<unique_fd>> accept(int listener) { return accept_from(listener); }
  virtual stepwise_answer answer() { return stepwise_answer("{}"); }
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
  client_sockets sockets{io,
                         {&decisions, &waits, &bell, &state, &asked, descriptor_reserve(0, 0),
                          [this](std::string_view, uint32_t) { return answer(); },
                          [this](int listener) { return accept(listener); }}};
};

// As long as it lives no descriptor can be made, unless one that was there is given up.
class no_descriptors {
 public:
  no_descriptors() {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const unique_fd lowest_free(::dup(STDERR_FILENO));
    const rlimit none{static_cast<rlim_t>(lowest_free.get()), before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~no_descriptors() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }
  no_descriptors(const no_descriptors&) = delete;
  no_descriptors& operator=(const no_descriptors&) = delete;

 private:
  rlimit before_{};
};

class a_socket_that_nobody_can_be_accepted_at : public clients_socket {
 protected:
  void SetUp() override {
    clients_socket::SetUp();
    result<unique_fd> made =
        connect_to(path, socket_type::seqpacket, clock.now() + from_ms(30'000));
    ASSERT_TRUE(made.has_value());
    knocking = std::move(*made);
  }
  result<std::optional<unique_fd>> accept(int listener) override {
    ++tries;
    if (!runs_out) return accept_from(listener);
    if (tries == 2 && others_take_all) none_left.emplace();
    return system_error("accept", ENFILE);
  }

  bool runs_out = true;
  bool others_take_all = false;  // what was given up to turn somebody away cannot be had again
  std::optional<no_descriptors> none_left;
  uint64_t tries = 0;
  unique_fd knocking;
};

// The connection stays in the queue, and the socket readable.
TEST_F(a_socket_that_nobody_can_be_accepted_at, is_left_alone_for_a_while) {
  const instant from = clock.now();
  for (int turn = 0; turn < 100; ++turn) io.poll_one();
  const uint64_t pauses = (clock.now() - from).ns / accept_pause.ns;
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

TEST_F(a_socket_that_nobody_can_be_accepted_at, has_something_to_give_up_again_afterwards) {
#ifdef GAR_SANITIZED
  GTEST_SKIP() << "a sanitizer looks at memory through a pipe, and there is no descriptor for one";
#endif
  others_take_all = true;
  while (tries < 2) io.run_one();
  none_left.reset();
  runs_out = false;
  while (sessions() == 0) io.run_one();

  raw_client next(path);
  none_left.emplace();
  const uint64_t before = tries;
  while (!next.has_news() && tries < before + 4) io.run_one();
  none_left.reset();
  EXPECT_TRUE(next.has_news()) << "it waits in the queue";
  EXPECT_TRUE(next.ended());
  EXPECT_EQ(sessions(), 1u);
}

// Nothing of the first answer is made before all have asked.
class clients_that_ask_at_once : public clients_socket {
 protected:
  static constexpr size_t count = 6;

  void SetUp() override {
    clients_socket::SetUp();
    for (size_t i = 0; i < count; ++i) {
      clients.push_back(std::make_unique<raw_client>(path));
      clients.back()->send(proto::ask{i, "{}"});
    }
    while (!all(was_read)) io.poll_one();
    all_asked = true;
  }
  stepwise_answer answer() override {
    return stepwise_answer([this](std::string& text) {
      if (all_asked) text.assign(proto::answer_bytes_max, ' ');
      return all_asked;
    });
  }
  static bool was_read(const raw_client& c) {
    int bytes = 0;
    EXPECT_EQ(::ioctl(c.fd(), SIOCOUTQ, &bytes), 0);
    return bytes == 0;
  }
  bool all(bool (*holds)(const raw_client&)) const {
    return std::all_of(clients.begin(), clients.end(), [&](const auto& c) { return holds(*c); });
  }

  std::vector<std::unique_ptr<raw_client>> clients;
  bool all_asked = false;
};

// Each had nothing unread when it asked. All the answers would be 96 MiB, and a user may leave 64:
// beyond it any message that has to wait would cost its client the connection.
TEST_F(clients_that_ask_at_once, are_refused_what_their_user_would_leave_unread_and_stay) {
#ifdef GAR_SANITIZED
  GTEST_SKIP() << "making 48 MiB takes so long here that the user's share of CPU rests past the "
                  "time for a handshake";
#endif
  while (!all([](const raw_client& c) { return c.has_news(); })) io.run_one();
  io.poll();
  size_t answered = 0;
  for (size_t i = 0; i < count; ++i) {
    const auto heard = clients[i]->receive();
    ASSERT_TRUE(heard);
    if (const auto* refused = std::get_if<proto::refusal>(&*heard)) {
      EXPECT_EQ(refused->code, error(errc::LimitPerUser).number());
      EXPECT_EQ(refused->cookie, i);
      EXPECT_FALSE(refused->fatal);
    } else {
      answered += std::holds_alternative<proto::answer>(*heard) ? 1 : 0;
    }
  }
  EXPECT_EQ(answered, 3u) << "a further one is given while 32 MiB or less are unread";
  EXPECT_EQ(sessions(), count);
}

}  // namespace
}  // namespace gar::test
