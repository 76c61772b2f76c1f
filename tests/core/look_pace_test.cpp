// When a thread without a hardware monitor looks, spins and sleeps, on virtual time.
#include "lib/core/look_pace.hpp"

#include <gtest/gtest.h>

namespace gar {
namespace {

using step = look_pace::step;

constexpr instant at_us(uint64_t us) {
  return instant{} + from_us(us);
}
constexpr look_pace::next_step looks{step::look, {}};
constexpr instant far = at_us(100'000'000);

look_pace expecting(instant at, software_wait how = {.spin_ns = 300'000, .sleep_ns = 20'000}) {
  look_pace pace(how);
  pace.expect(at);
  return pace;
}

TEST(look_pace, looks_without_a_pause_until_the_budget_is_used_up) {
  const look_pace pace = expecting(at_us(1000));
  EXPECT_EQ(pace.next(at_us(1000), far), looks);
  EXPECT_EQ(pace.next(at_us(1299), far), looks);
  EXPECT_EQ(pace.next(at_us(1300), far), (look_pace::next_step{step::sleep, at_us(1320)}));
}

TEST(look_pace, expects_nothing_before_it_is_told_to) {
  EXPECT_EQ(look_pace({.spin_ns = 300'000, .sleep_ns = 20'000}).next(at_us(5000), far).what,
            step::sleep);
}

TEST(look_pace, looks_without_a_pause_up_to_a_later_time_that_it_is_expected_at) {
  const look_pace pace = expecting(at_us(5000));
  EXPECT_EQ(pace.next(at_us(1000), far), looks);
  EXPECT_EQ(pace.next(at_us(4999), far), looks);
  EXPECT_EQ(pace.next(at_us(5299), far), looks);
  EXPECT_EQ(pace.next(at_us(5300), far).what, step::sleep);
}

TEST(look_pace, expecting_again_gives_a_new_budget) {
  look_pace pace = expecting(at_us(1000));
  pace.expect(at_us(2000));
  EXPECT_EQ(pace.next(at_us(2299), far), looks);
}

TEST(look_pace, its_sleeps_grow_to_a_part_of_what_has_passed) {
  const look_pace pace = expecting(at_us(0));
  EXPECT_EQ(pace.next(at_us(640), far).until, at_us(660));
  EXPECT_EQ(pace.next(at_us(3200), far).until, at_us(3300));
  EXPECT_EQ(pace.next(at_us(1'000'000), far).until, at_us(1'001'000)) << "but not without end";
}

TEST(look_pace, no_sleep_is_longer_than_the_park) {
  const look_pace pace = expecting(at_us(0));
  EXPECT_EQ(pace.next(at_us(500), at_us(510)).until, at_us(510));
  EXPECT_EQ(pace.next(at_us(1'000'000), at_us(1'000'100)).until, at_us(1'000'100));
}

TEST(look_pace, a_sleep_of_0_only_gives_way) {
  const look_pace pace = expecting(at_us(0), {.spin_ns = 1000, .sleep_ns = 0});
  EXPECT_EQ(pace.next(at_us(0), far), looks);
  EXPECT_EQ(pace.next(at_us(1), far).what, step::give_way);
  EXPECT_EQ(pace.next(at_us(1'000'000), far).what, step::give_way);
}

TEST(look_pace, a_spin_of_0_sleeps_from_the_first_look_on) {
  EXPECT_EQ(expecting(at_us(7), {.spin_ns = 0, .sleep_ns = 20'000}).next(at_us(7), far).until,
            at_us(27));
}

}  // namespace
}  // namespace gar
