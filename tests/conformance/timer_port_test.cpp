// What every timer_port that blocks keeps: real and manual.
#include <gtest/gtest.h>

#include "lib/core/manual_time.hpp"
#include "lib/linux/steady_clock.hpp"
#include "lib/linux/thread_timer.hpp"

namespace gar {
namespace {

struct thread_world {
  steady_clock clock;
  thread_timer timer;
};

struct interruptible_world {
  steady_clock clock;
  interrupt_word word;
  interruptible_timer timer{word};
};

struct manual_world {
  manual_clock clock{instant{} + from_ms(1)};
  manual_timer timer{clock};
};

struct overshooting_world {
  manual_clock clock{instant{} + from_ms(1)};
  manual_timer timer{clock, from_us(70)};
};

template <class World>
class a_timer : public testing::Test {
 protected:
  World world;
};

using worlds = testing::Types<thread_world, interruptible_world, manual_world, overshooting_world>;
TYPED_TEST_SUITE(a_timer, worlds);

TYPED_TEST(a_timer, never_ends_before_its_instant) {
  for (uint64_t us : {1, 40, 300}) {
    const instant at = this->world.clock.now() + from_us(us);
    result<void> slept = this->world.timer.sleep_until(at);
    ASSERT_TRUE(slept.has_value());
    EXPECT_GE(this->world.clock.now(), at);
  }
}

TYPED_TEST(a_timer, ends_at_once_for_an_instant_that_has_passed) {
  const instant before = this->world.clock.now();
  ASSERT_TRUE(this->world.timer.sleep_until(before).has_value());
  ASSERT_TRUE(this->world.timer.sleep_until(before - from_ms(1)).has_value());
  EXPECT_LT(this->world.clock.now() - before, from_ms(500));
}

}  // namespace
}  // namespace gar
