// One trace at a time: on, over, read to its end, forgotten.
#include "daemon/tracing.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>

namespace gar {
namespace {

class traced : public testing::Test {
 protected:
  void run_until(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!done() && std::chrono::steady_clock::now() < end) {
      io_.restart();
      io_.run_one_for(std::chrono::milliseconds(100));
    }
    EXPECT_TRUE(done());
  }
  // As the executor does.
  void end_a_wait() {
    executor_->ended(this, traced_wait{});
    executor_->notified(instant{1});
  }

  boost::asio::io_context io_;
  std::shared_ptr<wait_trace> executor_;
  bool let_go_ = true;
  tracing traces_{io_, [this](std::shared_ptr<wait_trace> to) {
                    if (to || let_go_) executor_ = std::move(to);
                  }};
};

TEST_F(traced, is_read_while_it_is_on_and_ends_by_itself) {
  const uint64_t which = *traces_.start(from_ms(20));
  ASSERT_TRUE(executor_);
  end_a_wait();
  EXPECT_EQ(traces_.read(which, 10)->waits.size(), 1u);
  end_a_wait();
  EXPECT_FALSE(traces_.read(which, 10)->ended);
  end_a_wait();
  run_until([&] { return !executor_; });
  const auto last = traces_.read(which, 10);
  EXPECT_EQ(last->waits.size(), 1u);
  EXPECT_TRUE(last->ended);
  EXPECT_EQ(traces_.read(which, 10).error().code(), errc::Closed);
}

TEST_F(traced, a_second_one_is_refused_until_the_first_was_read) {
  const uint64_t which = *traces_.start(from_ms(10));
  EXPECT_EQ(traces_.start(from_ms(10)).error().code(), errc::OutOfState);
  run_until([&] { return !executor_; });
  EXPECT_EQ(traces_.start(from_ms(10)).error().code(), errc::OutOfState);
  EXPECT_TRUE(traces_.read(which, 10)->ended);
  EXPECT_EQ(*traces_.start(from_ms(10)), which + 1);
}

TEST_F(traced, is_not_over_before_the_executor_has_let_go_of_it) {
  let_go_ = false;
  const uint64_t which = *traces_.start(from_ms(1));
  bool later = false;
  boost::asio::steady_timer wait(io_, std::chrono::milliseconds(50));
  wait.async_wait([&](const boost::system::error_code&) { later = true; });
  run_until([&] { return later; });
  EXPECT_FALSE(traces_.read(which, 10)->ended);
  end_a_wait();
  executor_.reset();
  const auto last = traces_.read(which, 10);
  EXPECT_EQ(last->waits.size(), 1u);
  EXPECT_TRUE(last->ended);
}

// The time it is kept was over before the reading, and both came up in one turn.
TEST_F(traced, is_kept_for_a_reading_that_comes_as_it_is_to_be_forgotten) {
  tracing briefly(
      io_, [this](std::shared_ptr<wait_trace> to) { executor_ = std::move(to); }, from_ms(200));
  const uint64_t which = *briefly.start(from_ms(1));
  end_a_wait();
  end_a_wait();
  run_until([&] { return !executor_; });
  bool read_once = false;
  boost::asio::steady_timer first(io_, boost::asio::steady_timer::time_point{});
  first.async_wait([&](const boost::system::error_code&) {
    read_once = true;
    EXPECT_EQ(briefly.read(which, 1)->waits.size(), 1u);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  io_.restart();
  io_.poll();
  ASSERT_TRUE(read_once);
  const auto kept = briefly.read(which, 1);
  ASSERT_TRUE(kept) << kept.error().text();
  EXPECT_EQ(kept->waits.size(), 1u);
}

TEST_F(traced, a_part_that_is_full_is_not_the_last) {
  const uint64_t which = *traces_.start(from_ms(1));
  end_a_wait();
  end_a_wait();
  run_until([&] { return !executor_; });
  EXPECT_FALSE(traces_.read(which, 2)->ended);
  EXPECT_TRUE(traces_.read(which, 2)->ended);
}

}  // namespace
}  // namespace gar
