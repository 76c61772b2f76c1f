// What is learned from the predicted sleeps of tasks, on virtual time.
#include "clients/garclient/task_timer.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "tests/core/virtual_world.hpp"

namespace gar::owner {
namespace {

class a_task_that_sleeps : public ::testing::Test {
 protected:
  static constexpr duration measured = from_us(70);

  reactor::root* sleeps_for(duration by) {
    reactor& host = world_.executor.host();
    host.advance(world_.world.now());
    return host.spawn(sleep(*this, host.now() + by));
  }
  void run() { ASSERT_TRUE(world_.executor.run().has_value()); }

  test::executor_world world_;
  sleep_lateness sleeps_{measured};
  task_timer timer_{world_.executor.host(), sleeps_};
  std::optional<result<void>> slept_;

 private:
  static reactor::task<> sleep(a_task_that_sleeps& test, instant until) {
    result<void> slept = co_await test.timer_.sleep_until(until);
    test.slept_ = slept;
  }
};

TEST_F(a_task_that_sleeps, teaches_how_late_its_sleeps_end) {
  world_.idle.overshoot = from_us(400);
  sleeps_for(from_ms(2));
  run();
  EXPECT_TRUE(slept_ && slept_->has_value());
  EXPECT_EQ(sleeps_.floor(), measured + from_us(63));
  world_.idle.overshoot = from_us(10);
  sleeps_for(from_ms(2));
  run();
  EXPECT_EQ(sleeps_.floor(), measured + from_us(62)) << "one that ended in time sinks it";
}

TEST_F(a_task_that_sleeps, teaches_nothing_when_it_is_cancelled) {
  reactor::root* who = sleeps_for(from_ms(2));
  world_.world.at(from_ms(1), [&] {
    world_.executor.host().cancel(*who);
    world_.idle.request = true;
  });
  sleeps_.saw(from_ms(1));
  const duration before = sleeps_.floor();
  run();
  ASSERT_TRUE(slept_ && slept_->has_error());
  EXPECT_EQ(slept_->error().code(), errc::Cancelled);
  EXPECT_EQ(sleeps_.floor(), before);
}

}  // namespace
}  // namespace gar::owner
