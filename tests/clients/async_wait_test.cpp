// The table of asynchronous waits, one thread's part after the other's: who takes the next step of
// a wait, whoever comes while another takes one.
#include "clients/garclient/async_wait.hpp"

#include <gtest/gtest.h>

#include <array>

namespace gar::owner {
namespace {

constexpr instant later{1'000'000};

class asynchronous_waits : public ::testing::Test {
 protected:
  async_wait& add() { return waits_.add({}, ++tickets_, nullptr); }
  void end(async_wait& w) { waits_.remove(w); }
  size_t due(instant now) { return waits_.take_due(now, taken_); }

  async_waits waits_;
  std::array<async_wait*, 8> taken_{};
  uint64_t tickets_ = 0;
};

TEST_F(asynchronous_waits, are_due_when_their_time_has_come_and_are_told_once) {
  async_wait& w = add();
  ASSERT_TRUE(waits_.rest(w, later));
  EXPECT_EQ(due(later - duration{1}), 0u);
  EXPECT_EQ(due(later), 1u);
  EXPECT_EQ(taken_[0], &w);
  EXPECT_EQ(due(later), 0u);
  end(w);
}

TEST_F(asynchronous_waits, are_looked_at_again_by_their_stepper_where_news_came_meanwhile) {
  async_wait& w = add();
  EXPECT_FALSE(waits_.begin_step(w));
  EXPECT_FALSE(waits_.rest(w, later));
  EXPECT_TRUE(waits_.rest(w, later));
  EXPECT_TRUE(waits_.begin_step(w));
  end(w);
}

// The stepper has asked for news and found none; then the link is lost, and only then the stepper
// lets the wait rest, until its owner's backstop.
TEST_F(asynchronous_waits, hear_of_the_loss_of_gard_that_comes_while_they_are_stepped) {
  async_wait& w = add();
  waits_.make_due();
  EXPECT_FALSE(waits_.rest(w, later));
  EXPECT_TRUE(waits_.rest(w, later));
  end(w);
}

TEST_F(asynchronous_waits, that_rest_are_all_due_when_gard_is_gone) {
  std::array<async_wait*, 3> all{&add(), &add(), &add()};
  for (async_wait* w : all) ASSERT_TRUE(waits_.rest(*w, later));
  waits_.make_due();
  EXPECT_EQ(waits_.earliest(), instant{});
  EXPECT_EQ(due(instant{}), all.size());
  for (async_wait* w : all) {
    ASSERT_TRUE(waits_.begin_step(*w));
    end(*w);
  }
}

TEST_F(asynchronous_waits, that_are_tasks_are_due_when_they_are_cancelled) {
  reactor::root task;
  async_wait& w = add();
  waits_.become_task(w);
  EXPECT_FALSE(waits_.begin_step(w));
  EXPECT_EQ(waits_.earliest(), instant::never());
  EXPECT_TRUE(waits_.cancel(w.ticket, errc::Cancelled).is_task);
  EXPECT_EQ(waits_.earliest(), instant{});
  EXPECT_EQ(due(instant{}), 1u);
  EXPECT_EQ(taken_[0], &w);
  EXPECT_EQ(waits_.cancelled_task(w), nullptr) << "it finds out itself when it is spawned";
  w.root = &task;
  EXPECT_EQ(waits_.cancelled_task(w), &task);
  end(w);
  EXPECT_EQ(waits_.cancelled_task(w), nullptr);
  EXPECT_EQ(waits_.cancel(tickets_, errc::Cancelled).wait, nullptr);
}

}  // namespace
}  // namespace gar::owner
