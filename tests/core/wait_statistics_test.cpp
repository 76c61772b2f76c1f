// What the node remembers of ended waits, by their kind and by their plan.
#include "lib/core/wait_statistics.hpp"

#include <gtest/gtest.h>

namespace gar {
namespace {

plan flag(uint64_t park_us) {
  plan p;
  p.park = park_kind::flag;
  p.park_max = from_us(park_us);
  p.backstop = from_ms(10);
  return p;
}

wait_report ended(wait_kind kind, duration wait, duration slept = {}) {
  wait_report r;
  r.kind = kind;
  r.wait = wait;
  r.slept = slept;
  r.parks = 3;
  r.backstop_queries = 1;
  return r;
}

TEST(wait_statistics, a_wait_counts_once_by_its_kind_and_once_by_its_plan) {
  wait_statistics s;
  s.add(flag(100), ended(wait_kind::parked, from_ms(2), from_ms(1)));
  s.add(flag(200), ended(wait_kind::late, from_ms(4), from_ms(9)));
  s.add(flag(100), ended(wait_kind::parked, from_ms(2)));
  EXPECT_EQ(s.of_kind(wait_kind::parked).count(), 2u);
  EXPECT_EQ(s.of_kind(wait_kind::late).count(), 1u);
  EXPECT_EQ(s.of_kind(wait_kind::blocked).count(), 0u);
  EXPECT_EQ(s.waits().sum_ns, from_ms(8).ns);
  ASSERT_EQ(s.plans().size(), 2u);
  const plan_statistics& first = s.plans()[0];
  EXPECT_EQ(first.how, flag(100));
  EXPECT_EQ(first.kinds.parked, 2u);
  EXPECT_EQ(first.waits.count(), 2u);
  EXPECT_EQ(first.slept_ns, from_ms(1).ns);
  EXPECT_EQ(first.parks, 6u);
  EXPECT_EQ(first.backstop_queries, 2u);
  // Nobody sleeps for longer than it waits, whatever an owner tells.
  EXPECT_EQ(s.plans()[1].slept_ns, from_ms(4).ns);
}

TEST(wait_statistics, plans_beyond_the_most_are_counted_together) {
  wait_statistics s;
  for (uint64_t i = 1; i <= wait_statistics::plans_max + 3; ++i) {
    s.add(flag(i), ended(wait_kind::parked, from_ms(1)));
  }
  s.add(flag(2), ended(wait_kind::parked, from_ms(1)));
  EXPECT_EQ(s.plans().size(), wait_statistics::plans_max);
  EXPECT_EQ(s.other_plans().waits.count(), 3u);
  EXPECT_EQ(s.plans()[1].waits.count(), 2u);
}

}  // namespace
}  // namespace gar
