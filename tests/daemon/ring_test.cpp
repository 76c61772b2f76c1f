// Rings over a real engine: memory, threads, futexes and pipes, with each executor.
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/daemon/raw_client.hpp"
#include "tests/daemon/running_engine.hpp"

namespace gar::test {
namespace {

constexpr std::string_view quick_plan = "flag:park_us=100,backstop_us=2000";

class a_ring_of : public testing::TestWithParam<executor_kind> {
 protected:
  void SetUp() override {
    engine_options o;
    o.executor = GetParam();
    o.settings.plans.push_back({{}, *bands::parse(quick_plan)});
    engine.emplace(std::move(o));
    if (engine->status().executor.running != name_of(GetParam())) {
      GTEST_SKIP() << engine->status().executor.warning->text();
    }
    client.emplace(engine->path);
    ASSERT_TRUE(client->greet("ringer", proto::feature_ring));
    ASSERT_TRUE(client->ring_memory);
    const auto opened = client->open();
    ASSERT_TRUE(opened);
    stream = *opened;
  }
  std::optional<running_engine> engine;
  std::optional<raw_client> client;
  proto::opened stream;
};

INSTANTIATE_TEST_SUITE_P(each, a_ring_of,
                         testing::Values(executor_kind::gpu_reactor, executor_kind::io_uring),
                         [](const auto& kind) {
                           std::string name(name_of(kind.param));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// gard is asleep at each request, and its client at each end.
TEST_P(a_ring_of, wakes_a_sleeping_gard_and_its_sleeping_client) {
  for (uint64_t n = 1; n <= 50; ++n) {
    client->ask_by_ring(static_cast<uint16_t>(n % 64), stream, n);
    std::thread device([&] {
      client->store(stream, n);
      client->ring(stream, n);
    });
    const auto end = client->ring_end();
    device.join();
    ASSERT_TRUE(end) << n;
    EXPECT_EQ(end->slot, n % 64);
    EXPECT_EQ(end->entry.code, 0);
  }
  EXPECT_EQ(engine->status().waits.completed, 50u);
  EXPECT_EQ(engine->status().waits.pending, 0u);
}

TEST_P(a_ring_of, makes_its_pipe_readable_for_who_polls) {
  client->ask_by_ring(3, stream, 1);
  client->ring_memory->want(proto::wants_pipe);
  ASSERT_FALSE(client->ring_memory->has_end());
  client->store(stream, 1);
  client->ring(stream, 1);
  pollfd readable{client->ring_memory->pipe_fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&readable, 1, 5000), 1);
  EXPECT_TRUE(client->ring_memory->has_end());
}

// What ends a wait by ring is known to gard before what the client says next by its socket.
TEST_P(a_ring_of, is_ahead_of_the_socket) {
  for (uint64_t n = 1; n <= 50; ++n) {
    const auto opened = client->open();
    ASSERT_TRUE(opened);
    client->store(*opened, opened->base + 1);
    client->ask_by_ring(1, *opened, opened->base + 1);
    ASSERT_TRUE(client->ring_end());
    client->send(proto::close{n, opened->stream, opened->stream_generation, opened->base + 1});
    ASSERT_TRUE(client->receive_as<proto::closed>()) << "a wait was still pending";
  }
}

TEST_P(a_ring_of, that_breaks_the_protocol_ends_alone) {
  raw_client breaker(engine->path);
  ASSERT_TRUE(breaker.greet("breaker", proto::feature_ring));
  const auto opened = breaker.open();
  ASSERT_TRUE(opened);
  breaker.ask_by_ring(0, *opened, 1);
  breaker.ask_by_ring(0, *opened, 2);  // in flight
  const auto refusal = breaker.receive_as<proto::refusal>();
  ASSERT_TRUE(refusal);
  EXPECT_TRUE(refusal->fatal);
  EXPECT_EQ(refusal->code, static_cast<uint16_t>(errc::MalformedMessage));
  EXPECT_TRUE(breaker.ended());

  client->ask_by_ring(0, stream, 1);
  client->store(stream, 1);
  client->ring(stream, 1);
  EXPECT_TRUE(client->ring_end());
}

TEST_P(a_ring_of, is_given_up_with_its_client_and_its_flag_goes_to_the_next) {
  const uint32_t flag = client->welcome.request_flag;
  client->ask_by_ring(0, stream, 1);
  client->hang_up();
  client.reset();
  for (int i = 0; i < 5000 && engine->status().clients != 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  raw_client next(engine->path);
  ASSERT_TRUE(next.greet("next", proto::feature_ring));
  EXPECT_EQ(next.welcome.request_flag, flag);
  const auto opened = next.open();
  ASSERT_TRUE(opened);
  next.ask_by_ring(0, *opened, 1);
  next.store(*opened, 1);
  next.ring(*opened, 1);
  EXPECT_TRUE(next.ring_end());
}

TEST_P(a_ring_of, is_served_though_its_flag_is_set_without_end) {
  std::atomic<bool> stop = false;
  std::thread forger([&] {
    uint8_t& flag = client->bell->request_flags()[client->welcome.request_flag];
    while (!stop) std::atomic_ref<uint8_t>(flag).store(1, std::memory_order_release);
  });
  for (uint64_t n = 1; n <= 20; ++n) {
    client->ask_by_ring(0, stream, n);
    client->store(stream, n);
    client->ring(stream, n);
    EXPECT_TRUE(client->ring_end()) << n;
  }
  stop = true;
  forger.join();
}

TEST_P(a_ring_of, has_its_waits_ended_when_gard_stops) {
  client->ask_by_ring(0, stream, 1);
  for (int i = 0; i < 5000 && engine->status().waits.pending != 1; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  engine->stop();
  const auto end = client->ring_end();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->entry.code, static_cast<uint16_t>(errc::ShuttingDown));
  EXPECT_TRUE(client->receive_as<proto::bye>());
}

TEST(a_ring, is_not_given_by_the_naive_executor) {
  engine_options o;
  o.executor = executor_kind::naive;
  running_engine engine(std::move(o));
  raw_client client(engine.path);
  ASSERT_TRUE(client.greet("naive", proto::feature_ring));
  EXPECT_EQ(client.welcome.features, 0u);
  EXPECT_FALSE(client.ring_memory);
}

}  // namespace
}  // namespace gar::test
