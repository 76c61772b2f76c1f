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

  instant now_{1'000'000'000};  // when it was read; its end is by the io context's own time
  boost::asio::io_context io_;
  std::shared_ptr<wait_trace> executor_;
  bool let_go_ = true;
  tracing traces_{io_, [this](std::shared_ptr<wait_trace> to) {
                    if (to || let_go_) executor_ = std::move(to);
                  }};
};

TEST_F(traced, is_read_while_it_is_on_and_ends_by_itself) {
  const uint64_t which = *traces_.start(from_ms(20), now_);
  ASSERT_TRUE(executor_);
  end_a_wait();
  EXPECT_EQ(traces_.read(which, 10, now_)->waits.size(), 1u);
  end_a_wait();
  EXPECT_FALSE(traces_.read(which, 10, now_)->ended);
  end_a_wait();
  run_until([&] { return !executor_; });
  const auto last = traces_.read(which, 10, now_);
  EXPECT_EQ(last->waits.size(), 1u);
  EXPECT_TRUE(last->ended);
  EXPECT_EQ(traces_.read(which, 10, now_).error().code(), errc::Closed);
}

TEST_F(traced, a_second_one_is_refused_until_the_first_was_read) {
  const uint64_t which = *traces_.start(from_ms(10), now_);
  EXPECT_EQ(traces_.start(from_ms(10), now_).error().code(), errc::OutOfState);
  run_until([&] { return !executor_; });
  EXPECT_EQ(traces_.start(from_ms(10), now_).error().code(), errc::OutOfState);
  EXPECT_TRUE(traces_.read(which, 10, now_)->ended);
  EXPECT_EQ(*traces_.start(from_ms(10), now_), which + 1);
}

// A reader that was interrupted left gard tracing, and every other one refused, for ten minutes.
TEST_F(traced, one_that_nobody_reads_gives_way_to_the_next) {
  const uint64_t left = *traces_.start(from_ms(600'000), now_);
  now_ = now_ + from_ms(1'000);
  EXPECT_TRUE(traces_.read(left, 10, now_));
  now_ = now_ + from_ms(1'999);
  EXPECT_EQ(traces_.start(from_ms(10), now_).error().code(), errc::OutOfState);
  now_ = now_ + from_ms(1);
  const std::shared_ptr<wait_trace> before = executor_;
  const uint64_t which = *traces_.start(from_ms(10), now_);
  EXPECT_EQ(which, left + 1);
  EXPECT_NE(executor_, before);
  EXPECT_EQ(traces_.read(left, 10, now_).error().code(), errc::Closed);
  run_until([&] { return !executor_; });  // by its own time, not by that of the one before
  EXPECT_TRUE(traces_.read(which, 10, now_)->ended);
}

// A reader was told no more than that its trace is closed, and took gard for gone.
TEST_F(traced, who_reads_one_that_is_not_here_is_told_why) {
  const auto told = [this](uint64_t which) { return traces_.read(which, 10, now_).error().text(); };
  EXPECT_NE(told(1).find("another gard began"), std::string::npos) << told(1);
  const uint64_t left = *traces_.start(from_ms(600'000), now_);
  now_ = now_ + from_ms(2'000);
  const uint64_t which = *traces_.start(from_ms(1), now_);
  EXPECT_NE(told(left).find("a later one took"), std::string::npos) << told(left);
  EXPECT_NE(told(which + 1).find("another gard began"), std::string::npos) << told(which + 1);
  run_until([&] { return !executor_; });
  EXPECT_TRUE(traces_.read(which, 10, now_)->ended);
  EXPECT_NE(told(which).find("read to its end"), std::string::npos) << told(which);
}

// Each gard counted from 1: a reader went on with the trace of another reader of the next gard.
TEST_F(traced, has_a_number_that_no_earlier_gard_gave) {
  const uint64_t which = *traces_.start(from_ms(10), now_);
  tracing next{io_, [](const std::shared_ptr<wait_trace>&) {}};
  const uint64_t other = *next.start(from_ms(10), now_ + from_ms(1'000));
  EXPECT_NE(other, which);
  EXPECT_EQ(next.read(which, 10, now_).error().code(), errc::Closed);
}

TEST_F(traced, is_not_over_before_the_executor_has_let_go_of_it) {
  let_go_ = false;
  const uint64_t which = *traces_.start(from_ms(1), now_);
  bool later = false;
  boost::asio::steady_timer wait(io_, std::chrono::milliseconds(50));
  wait.async_wait([&](const boost::system::error_code&) { later = true; });
  run_until([&] { return later; });
  EXPECT_FALSE(traces_.read(which, 10, now_)->ended);
  end_a_wait();
  executor_.reset();
  const auto last = traces_.read(which, 10, now_);
  EXPECT_EQ(last->waits.size(), 1u);
  EXPECT_TRUE(last->ended);
}

// The time it is kept was over before the reading, and both came up in one turn.
TEST_F(traced, is_kept_for_a_reading_that_comes_as_it_is_to_be_forgotten) {
  tracing briefly(
      io_, [this](std::shared_ptr<wait_trace> to) { executor_ = std::move(to); }, from_ms(200));
  const uint64_t which = *briefly.start(from_ms(1), now_);
  end_a_wait();
  end_a_wait();
  run_until([&] { return !executor_; });
  bool read_once = false;
  boost::asio::steady_timer first(io_, boost::asio::steady_timer::time_point{});
  first.async_wait([&](const boost::system::error_code&) {
    read_once = true;
    EXPECT_EQ(briefly.read(which, 1, now_)->waits.size(), 1u);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  io_.restart();
  io_.poll();
  ASSERT_TRUE(read_once);
  const auto kept = briefly.read(which, 1, now_);
  ASSERT_TRUE(kept) << kept.error().text();
  EXPECT_EQ(kept->waits.size(), 1u);
}

TEST_F(traced, a_part_that_is_full_is_not_the_last) {
  const uint64_t which = *traces_.start(from_ms(1), now_);
  end_a_wait();
  end_a_wait();
  run_until([&] { return !executor_; });
  EXPECT_FALSE(traces_.read(which, 2, now_)->ended);
  EXPECT_TRUE(traces_.read(which, 2, now_)->ended);
}

}  // namespace
}  // namespace gar
