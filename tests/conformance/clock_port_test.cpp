// What every clock_port keeps: real, manual, a reactor's frozen one.
#include <gtest/gtest.h>

#include "lib/core/manual_time.hpp"
#include "lib/core/reactor.hpp"
#include "lib/linux/steady_clock.hpp"

namespace gar {
namespace {

// A world is a clock and how its time passes.
struct steady_world {
  steady_clock clock;
  void pass(duration by) {
    const instant until = clock.now() + by;
    while (clock.now() < until) {
    }
  }
};

struct manual_world {
  manual_clock clock{instant{5}};
  void pass(duration by) { clock.advance(by); }
};

struct reactor_world {
  reactor owner;
  reactor_clock clock{owner};
  void pass(duration by) { owner.advance(owner.now() + by); }
};

template <class World>
class a_clock : public testing::Test {
 protected:
  World world;
};

using worlds = testing::Types<steady_world, manual_world, reactor_world>;
TYPED_TEST_SUITE(a_clock, worlds);

TYPED_TEST(a_clock, never_goes_backwards) {
  instant last = this->world.clock.now();
  for (int i = 0; i < 100; ++i) {
    if (i % 10 == 0) this->world.pass({100});
    const instant now = this->world.clock.now();
    ASSERT_GE(now, last);
    last = now;
  }
}

TYPED_TEST(a_clock, moves_on_at_least_as_far_as_time_passed) {
  const instant before = this->world.clock.now();
  this->world.pass(from_us(10));
  EXPECT_GE(this->world.clock.now() - before, from_us(10));
}

}  // namespace
}  // namespace gar
