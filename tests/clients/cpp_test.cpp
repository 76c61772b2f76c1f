// gar.hpp over the in-process library.
#include <gtest/gtest.h>
#include <poll.h>

#include "gar.hpp"

namespace {

using namespace std::chrono_literals;

class cpp : public ::testing::Test {
 protected:
  cpp() : client_(in_process()) {
    gar::failure::check(gar_sim_create(&sim_));
    gar::failure::check(gar_sim_queue_create(sim_, &queue_));
  }
  ~cpp() override {
    gar_sim_queue_destroy(queue_);
    gar_sim_destroy(sim_);
  }
  static gar::client_options in_process() {
    gar::client_options o;
    o.in_process = true;
    return o;
  }
  void work(uint64_t duration_ns) {
    gar::failure::check(gar_sim_submit(queue_, duration_ns, nullptr, 0));
  }

  gar_sim* sim_ = nullptr;
  gar_sim_queue* queue_ = nullptr;
  gar::client client_;
};

TEST_F(cpp, a_wait_returns_its_report) {
  gar::stream s = client_.open_sim(queue_, "a");
  work(100'000'000);
  const uint64_t sequence = s.record();
  EXPECT_FALSE(s.query(sequence));
  EXPECT_GE(s.wait(sequence).wait_ns, 50'000'000u);  // half may go by before the wait begins
  EXPECT_TRUE(s.query(sequence));
  work(1'000'000);
  s.wait_all();
  EXPECT_EQ(client_.counters().waits, 2u);
  s.close();
}

TEST_F(cpp, a_timeout_is_an_answer_and_an_error_is_thrown) {
  gar::stream s = client_.open_sim(queue_);
  work(50'000'000);
  const uint64_t sequence = s.record();
  EXPECT_FALSE(s.wait_for(sequence, 1ms));
  EXPECT_TRUE(s.wait_for(sequence, 10s));
  try {
    s.wait(sequence + 1);
    FAIL() << "a number never recorded was taken";
  } catch (const gar::failure& e) {
    EXPECT_EQ(e.number(), GAR_E_INVALID_ARGUMENT);
    EXPECT_STREQ(e.name(), "InvalidArgument");
    EXPECT_NE(std::string(e.what()).find("never recorded"), std::string::npos);
  }
}

TEST_F(cpp, a_timeout_that_was_over_before_is_one) {
  gar::stream never = client_.open_word();
  const uint64_t sequence = never.record();
  gar::wait_options over;
  over.timeout = -1ns;
  EXPECT_FALSE(never.wait_for(sequence, -1ns));
  // A wait that is taken up as endless shows there, and does not hang the test.
  ASSERT_EQ(over.to_c().timeout_ns, 1u);
  EXPECT_THROW(never.wait(sequence, over), gar::failure);
  EXPECT_THROW(never.wait_all(over), gar::failure);
}

TEST_F(cpp, numbers_are_told_without_the_places_of_arguments) {
  for (int number = 1; number < 0x80; ++number) {
    const std::string told = gar::error_summary(number);
    EXPECT_FALSE(told.empty());
    EXPECT_EQ(told.find_first_of("{}"), std::string::npos) << told;
    EXPECT_EQ(told.find(".."), std::string::npos) << told;
  }
  EXPECT_EQ(gar::error_summary(GAR_E_CANCELLED), "the wait was cancelled");
  EXPECT_EQ(gar::error_summary(GAR_E_BACKEND), "the device reported a failure");
  EXPECT_EQ(gar::error_summary(GAR_E_UNKNOWN_POINT), "the point was not named on this connection");
}

TEST_F(cpp, a_stream_keeps_its_client) {
  std::optional<gar::stream> s;
  {
    gar::client short_lived(in_process());
    s.emplace(short_lived.open_sim(queue_));
  }
  work(0);
  s->wait(s->record());
  gar::stream moved = std::move(*s);
  s.reset();
  work(0);
  moved.wait(moved.record());
}

TEST_F(cpp, asynchronous_waits_are_taken) {
  gar::stream s = client_.open_sim(queue_);
  work(1'000'000);
  const uint64_t ticket = s.wait_async(s.record(), this);
  pollfd p{client_.fd(), POLLIN, 0};
  ASSERT_EQ(poll(&p, 1, 5000), 1);
  const auto taken = client_.take();
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].ticket, ticket);
  EXPECT_EQ(taken[0].user_data, this);
  EXPECT_THROW(client_.cancel(ticket + 1), gar::failure);
}

}  // namespace
