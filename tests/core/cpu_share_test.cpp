#include "lib/core/cpu_share.hpp"

#include <gtest/gtest.h>

namespace gar {
namespace {

constexpr instant start{1'000'000'000'000};

TEST(cpu_share, who_spends_less_than_the_burst_runs_at_once) {
  cpu_share share;
  EXPECT_LE(share.runs_at(), start);
  share.spend(start, cpu_share::burst);
  EXPECT_LE(share.runs_at(), start);
  EXPECT_FALSE(share.at_rest(start));
}

TEST(cpu_share, who_spent_more_rests_until_its_part_of_the_time_has_paid_for_it) {
  cpu_share share;
  share.spend(start, cpu_share::burst + from_ms(10));
  EXPECT_EQ(share.runs_at(), start + from_ms(10 * cpu_share::part));
}

TEST(cpu_share, no_more_than_a_part_of_the_time_is_spent_in_the_long_run) {
  cpu_share share;
  const duration step = from_us(300);
  instant now = start;
  duration spent;
  const instant end = start + from_ms(60'000);
  while (now < end) {
    now = std::max(now, share.runs_at());
    now = now + step;
    share.spend(now, step);
    spent = spent + step;
  }
  EXPECT_LE(spent, (now - start) / cpu_share::part + cpu_share::burst + step);
  EXPECT_GE(spent, (now - start) / cpu_share::part);
}

TEST(cpu_share, rest_gives_back_no_more_than_the_burst) {
  cpu_share share;
  share.spend(start, from_ms(1));
  const instant later = start + from_ms(3'600'000);
  EXPECT_TRUE(share.at_rest(later));
  share.spend(later, cpu_share::burst + from_ms(1));
  EXPECT_GT(share.runs_at(), later);
}

}  // namespace
}  // namespace gar
