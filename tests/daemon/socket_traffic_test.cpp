// The clients' sockets as each executor that has a reactor carries them: under io-uring by its
// ring.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include "tests/daemon/raw_client.hpp"
#include "tests/daemon/running_engine.hpp"

namespace {

// What one thread of gard asks the kernel for by itself; a ring asks for it otherwise.
thread_local bool counted = false;
std::atomic<uint64_t> receives = 0;
std::atomic<uint64_t> sends = 0;

template <class Call>
Call* next_of(const char* name) {
  return reinterpret_cast<Call*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

// Stand before libc's for everything in this program.
extern "C" ssize_t recvmsg(int fd, msghdr* header, int flags) {
  static const auto next = next_of<decltype(recvmsg)>("recvmsg");
  if (counted) ++receives;
  return next(fd, header, flags);
}
extern "C" ssize_t sendmsg(int fd, const msghdr* header, int flags) {
  static const auto next = next_of<decltype(sendmsg)>("sendmsg");
  if (counted) ++sends;
  return next(fd, header, flags);
}

namespace gar::test {
namespace {

engine_options options_for(executor_kind kind) {
  engine_options o;
  o.executor = kind;
  o.settings.plans.push_back({{}, *bands::parse("flag:park_us=10000,backstop_us=1000000")});
  return o;
}

size_t open_descriptors() {
  const auto all = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

class sockets_of : public testing::TestWithParam<executor_kind> {
 protected:
  void SetUp() override { start(options_for(GetParam())); }
  void start(engine_options o) {
    engine.emplace(std::move(o));
    if (engine->status().executor.running != name_of(GetParam())) {
      GTEST_SKIP() << engine->status().executor.warning->text();
    }
  }
  bool by_ring() const { return GetParam() == executor_kind::io_uring; }
  std::optional<running_engine> engine;
};

INSTANTIATE_TEST_SUITE_P(each, sockets_of,
                         testing::Values(executor_kind::gpu_reactor, executor_kind::io_uring),
                         [](const auto& kind) {
                           return kind.param == executor_kind::io_uring ? "io_uring"
                                                                        : "gpu_reactor";
                         });

TEST_P(sockets_of, are_left_alone_by_the_io_thread_where_a_ring_carries_them) {
  raw_client client(engine->path);
  ASSERT_TRUE(client.greet());
  const auto stream = client.open();
  ASSERT_TRUE(stream);
  receives = sends = 0;
  engine->on_io([](gar::engine&) { return counted = true; });
  for (uint64_t n = 1; n <= 50; ++n) {
    client.send(client.wait_for(*stream, n));
    client.store(*stream, n);
    client.ring(*stream, n);
    EXPECT_EQ(client.ended_wait().code, 0);
    client.send(proto::cancel{});
  }
  // What the io thread has to say goes by the ring too.
  ASSERT_TRUE(engine->on_io(
      [](gar::engine& e) { return e.plan_set({}, *bands::parse("poll")).has_value(); }));
  EXPECT_TRUE(client.receive_as<proto::plan_scope>());
  engine->on_io([](gar::engine&) { return counted = false; });
  if (by_ring()) {
    EXPECT_EQ(receives, 0u);
    EXPECT_EQ(sends, 0u);
  } else {
    EXPECT_GE(receives, 50u);
    EXPECT_GE(sends, 1u);
  }
}

// A wait that never ends keeps the thread parked; what else is asked must reach it there.
TEST_P(sockets_of, are_read_during_a_long_park) {
  raw_client parked(engine->path);
  raw_client asks(engine->path);
  ASSERT_TRUE(parked.greet("parked"));
  ASSERT_TRUE(asks.greet("asks"));
  parked.send(parked.wait_for(*parked.open(), 1));
  const auto stream = asks.open();
  while (engine->status().waits.pending == 0) std::this_thread::yield();
  std::vector<uint64_t> took_ns;
  for (uint64_t n = 1; n <= 101; ++n) {
    asks.store(*stream, n);
    const instant from = steady_clock().now();
    asks.send(asks.wait_for(*stream, n));  // nobody rings
    EXPECT_EQ(asks.ended_wait().code, 0);
    took_ns.push_back((steady_clock().now() - from).ns);
  }
  std::sort(took_ns.begin(), took_ns.end());
  // At the park's bound of 10 ms it would take 5 ms at the median. The quickest of so many is of a
  // moment in which the machine was not busy.
  EXPECT_LT(took_ns[took_ns.size() / 10], from_ms(2).ns);
}

TEST_P(sockets_of, keep_every_answer_in_its_order) {
  raw_client client(engine->path);
  ASSERT_TRUE(client.greet());
  constexpr uint64_t many = 1200;  // more than one page of lines has
  std::thread asks([&] {
    for (uint64_t n = 1; n <= many; ++n) client.send(proto::open{n, 0, 0, "stream"});
  });
  for (uint64_t n = 1; n <= many; ++n) {
    const auto opened = client.receive_as<proto::opened>();
    ASSERT_TRUE(opened) << n;
    ASSERT_EQ(opened->cookie, n);
    ASSERT_LT(opened->page_index, client.pages.size());
  }
  asks.join();
  EXPECT_GT(client.pages.size(), 1u);
}

TEST_P(sockets_of, serve_more_clients_at_once_than_frames_can_be_held) {
  constexpr size_t many = 200;
  std::vector<std::unique_ptr<raw_client>> all;
  std::vector<proto::opened> streams;
  for (size_t i = 0; i < many; ++i) {
    all.push_back(std::make_unique<raw_client>(engine->path));
    ASSERT_TRUE(all.back()->greet()) << i;
    streams.push_back(*all.back()->open());
  }
  for (uint64_t round = 1; round <= 5; ++round) {
    for (size_t i = 0; i < many; ++i) all[i]->send(all[i]->wait_for(streams[i], round));
    for (size_t i = 0; i < many; ++i) all[i]->store(streams[i], round);
    for (size_t i = 0; i < many; ++i) ASSERT_EQ(all[i]->ended_wait().code, 0) << i;
  }
}

TEST_P(sockets_of, leave_no_descriptor_behind_when_clients_come_and_die) {
  const size_t before = open_descriptors();
  for (int i = 0; i < 200; ++i) {
    raw_client client(engine->path);
    ASSERT_TRUE(client.greet()) << i;
    const auto stream = client.open();
    client.send(client.wait_for(*stream, 1));
    if (i % 2 == 0) client.send(proto::bye{});
    if (i % 3 == 0) client.send_bytes(std::vector<std::byte>(3));
  }
  while (engine->status().clients > 0) std::this_thread::yield();
  // The last socket is closed a moment after its client is no more.
  const instant give_up = steady_clock().now() + from_ms(20'000);
  while (open_descriptors() != before && steady_clock().now() < give_up) std::this_thread::yield();
  EXPECT_EQ(open_descriptors(), before);
}

TEST_P(sockets_of, of_one_that_stops_reading_are_closed_and_others_go_on) {
  engine.reset();
  engine_options o = options_for(GetParam());
  o.settings.limits.unread_bytes_per_client = unread_bytes_min;
  start(std::move(o));
  raw_client deaf(engine->path);
  ASSERT_TRUE(deaf.greet("deaf"));
  const auto stream = deaf.open();
  constexpr uint64_t many = 4096;
  for (uint64_t n = 1; n <= many; ++n) deaf.send(deaf.wait_for(*stream, n));
  while (engine->status().waits.pending < many) std::this_thread::yield();
  raw_client other(engine->path);
  ASSERT_TRUE(other.greet("other"));
  const auto others = other.open();
  for (uint64_t n = 1; n <= many; ++n) deaf.store(*stream, n);
  for (uint64_t n = 1; n <= 50; ++n) {
    other.send(other.wait_for(*others, n));
    other.store(*others, n);
    ASSERT_EQ(other.ended_wait().code, 0) << n;
  }
  while (engine->status().clients > 1) std::this_thread::yield();
}

// It asks without reading: what is kept for it must not grow with what it asks.
TEST_P(sockets_of, are_not_read_while_their_own_messages_wait) {
  engine.reset();
  engine_options o = options_for(GetParam());
  o.settings.limits.unread_bytes_per_client = unread_bytes_min;  // beyond it, it is dropped
  start(std::move(o));
  raw_client deaf(engine->path);
  ASSERT_TRUE(deaf.greet("deaf"));
  const auto frame = proto::encode(proto::close{});  // refused, whatever it closes
  uint64_t taken = 0;
  const instant give_up = steady_clock().now() + from_ms(300);
  while (taken < 100'000 && steady_clock().now() < give_up) {
    const result<bool> sent = send_message(deaf.fd(), frame);
    ASSERT_TRUE(sent.has_value()) << "it was dropped: " << sent.error().text();
    if (*sent) ++taken;
  }
  EXPECT_LT(taken, 100'000u);
  EXPECT_EQ(engine->status().clients, 1u);
}

}  // namespace
}  // namespace gar::test
