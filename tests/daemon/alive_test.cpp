// What the service manager's watchdog is fed by: each executor's own answer that it turns.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "daemon/naive_pool.hpp"
#include "tests/daemon/raw_client.hpp"
#include "tests/daemon/running_engine.hpp"

namespace gar::test {
namespace {

// Counts the answers, and lets an executor's thread hang in one.
class answers {
 public:
  std::function<void()> hook() {
    return [this] {
      ++given_;
      std::unique_lock hold(lock_);
      changed_.notify_all();
      changed_.wait(hold, [this] { return !hangs_; });
    };
  }
  void hang(bool whether) {
    const std::lock_guard hold(lock_);
    hangs_ = whether;
    changed_.notify_all();
  }
  // Returns when so many were given; the test's own time limit is the other end.
  void reach(int count) {
    std::unique_lock hold(lock_);
    changed_.wait(hold, [&] { return given_ >= count; });
  }

 private:
  std::mutex lock_;
  std::condition_variable changed_;
  std::atomic<int> given_ = 0;
  bool hangs_ = false;
};

class alive : public testing::TestWithParam<executor_kind> {
 protected:
  void start(std::string_view plan) {
    engine_options o;
    o.executor = GetParam();
    o.settings.plans.push_back({{}, *bands::parse(plan)});
    o.alive = given.hook();
    engine.emplace(std::move(o));
  }
  bool skipped() { return engine->status().executor.running != name_of(GetParam()); }
  std::string why() { return engine->status().executor.warning->text(); }
  bool ask() {
    return engine->on_io([](gar::engine& e) { return e.ask_alive(); });
  }

  answers given;
  std::optional<running_engine> engine;
};

std::string name_for_ctest(const testing::TestParamInfo<executor_kind>& kind) {
  std::string name(name_of(kind.param));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(each, alive,
                         testing::Values(executor_kind::gpu_reactor, executor_kind::io_uring,
                                         executor_kind::naive),
                         name_for_ctest);

TEST_P(alive, is_said_by_an_executor_that_has_nothing_to_do) {
  start("block");
  if (skipped()) GTEST_SKIP() << why();
  for (int i = 1; i <= 3; ++i) {
    EXPECT_TRUE(ask());
    given.reach(i);
  }
}

TEST_P(alive, is_said_while_waits_park_poll_and_block) {
  int asked = 0;
  for (const char* plan : {"flag:park_us=10000,backstop_us=1000000", "poll", "block"}) {
    start(plan);
    if (skipped()) GTEST_SKIP() << why();
    raw_client client(engine->path);
    ASSERT_TRUE(client.greet());
    const auto stream = client.open(proto::authority_word);
    ASSERT_TRUE(stream);
    for (uint64_t n = 1; n <= 3; ++n) client.send(client.wait_for(*stream, n));
    while (engine->status().waits.pending < 3) std::this_thread::yield();
    EXPECT_TRUE(ask());
    given.reach(++asked);
  }
}

using alive_reactor = alive;
INSTANTIATE_TEST_SUITE_P(each, alive_reactor,
                         testing::Values(executor_kind::gpu_reactor, executor_kind::io_uring),
                         name_for_ctest);

TEST_P(alive_reactor, is_not_said_while_the_reactors_thread_hangs) {
  start("block");
  if (skipped()) GTEST_SKIP() << why();
  given.hang(true);
  EXPECT_TRUE(ask());
  given.reach(1);
  EXPECT_TRUE(ask()) << "the question before was answered";
  EXPECT_FALSE(ask());
  given.hang(false);
  given.reach(2);
  EXPECT_TRUE(ask());
  given.reach(3);
}

// ---- The naive executor's workers, one of which may hang alone.

class naive_workers : public testing::Test {
 protected:
  // A wait that its word will never end by itself.
  void start_wait(uint64_t id, duration sleep = {}, park_kind park = park_kind::poll) {
    wait_start w;
    w.session = 1;
    w.cookie = id;
    w.place = static_cast<uint32_t>(id);
    w.word_authority = true;
    w.word = memory_descriptor(word, 1);
    w.how.park = park;
    w.how.park_max = from_ms(10);
    w.how.backstop = from_ms(5'000);  // comes in no test
    w.how.sleep = sleep;
    w.how.start = clock_.now();
    pool.start(w, link_);
  }

  uint64_t word = 0;
  answers given;
  answers begun;  // by each worker, which hangs here if it is told to
  shared_node decisions{node_options{}, [] {}};
  naive_pool pool{decisions, word_waiter(software_wait{}), 8, begun.hook(), given.hook()};

 private:
  steady_clock clock_;
  std::shared_ptr<session_link> link_ = std::make_shared<session_link>(
      unique_fd(::socket(AF_UNIX, SOCK_SEQPACKET, 0)), 65536, [] {},
      std::make_shared<user_unread>(0));
};

TEST_F(naive_workers, are_not_alive_while_one_of_them_hangs) {
  start_wait(1);
  begun.reach(1);
  EXPECT_TRUE(pool.ask_alive());
  given.reach(1);
  begun.hang(true);
  start_wait(2);
  begun.reach(2);
  EXPECT_TRUE(pool.ask_alive()) << "the question before was answered";
  // The worker that turns answers, and the answer is still not whole.
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(pool.ask_alive());
  begun.hang(false);
  given.reach(2);
  EXPECT_TRUE(pool.ask_alive());
  given.reach(3);
}

// A client could let its word run backwards on purpose, over and over, to make gard burn a core.
TEST_F(naive_workers, wait_no_more_for_a_word_that_ran_backwards) {
  start_wait(1, {}, park_kind::flag);
  while (pool.counts().parked < 1) std::this_thread::yield();
  // The worker hangs between having seen the word and asking for it.
  given.hang(true);
  EXPECT_TRUE(pool.ask_alive());
  proto::store_word(word, 1);
  given.reach(1);
  proto::store_word(word, 0);
  given.hang(false);
  auto look = [&, looks = 1]() mutable {
    EXPECT_TRUE(pool.ask_alive());
    given.reach(++looks);
  };
  look();
  const uint64_t parked = pool.counts().parked;
  for (int i = 0; i < 3; ++i) look();
  EXPECT_EQ(pool.counts().parked, parked) << "it looks by time alone";
}

TEST_F(naive_workers, look_up_from_a_long_predicted_sleep) {
  start_wait(1, from_ms(10'000));
  while (pool.counts().slept < 1) std::this_thread::yield();
  EXPECT_TRUE(pool.ask_alive());
  given.reach(1);
  EXPECT_EQ(pool.counts().parked, 0u) << "it still sleeps";
}

}  // namespace
}  // namespace gar::test
