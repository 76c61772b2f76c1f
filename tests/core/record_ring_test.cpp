#include "lib/core/record_ring.hpp"

#include <gtest/gtest.h>

namespace gar {
namespace {

TEST(record_ring, a_number_counts_as_recorded_once_issued) {
  record_ring r(10);
  EXPECT_EQ(r.next(), 11u);
  EXPECT_FALSE(r.is_recorded(11));
  r.issued();
  EXPECT_TRUE(r.is_recorded(11));
  EXPECT_FALSE(r.is_confirmed(11));
  EXPECT_FALSE(r.is_recorded(10));
  EXPECT_FALSE(r.is_recorded(12));
}

TEST(record_ring, confirming_one_confirms_all_before_it) {
  record_ring r(0);
  for (int i = 0; i < 5; ++i) r.issued();
  r.confirm(3);
  EXPECT_TRUE(r.is_confirmed(1));
  EXPECT_TRUE(r.is_confirmed(3));
  EXPECT_FALSE(r.is_confirmed(4));
  EXPECT_EQ(r.unconfirmed(), 2u);
  EXPECT_EQ(r.oldest(), 4u);
  r.confirm(2);
  EXPECT_EQ(r.confirmed(), 3u);
}

TEST(record_ring, a_number_never_issued_confirms_nothing) {
  record_ring r(0);
  r.issued();
  r.confirm(2);
  EXPECT_EQ(r.confirmed(), 0u);
}

TEST(record_ring, holds_256_unconfirmed_records) {
  record_ring r(0);
  for (int i = 0; i < 256; ++i) {
    ASSERT_FALSE(r.full());
    r.issued();
  }
  EXPECT_TRUE(r.full());
  r.confirm(1);
  EXPECT_FALSE(r.full());
  r.issued();
  EXPECT_TRUE(r.full());
  EXPECT_EQ(r.oldest(), 2u);
}

TEST(record_ring, numbers_wrap) {
  record_ring r(UINT64_MAX - 1);
  r.issued();
  r.issued();
  r.issued();
  EXPECT_EQ(r.last(), 1u);
  EXPECT_TRUE(r.is_recorded(UINT64_MAX));
  EXPECT_TRUE(r.is_recorded(0));
  r.confirm(0);
  EXPECT_TRUE(r.is_confirmed(UINT64_MAX));
  EXPECT_FALSE(r.is_confirmed(1));
}

TEST(record_ring, a_rebase_jumps_over_numbers_and_keeps_what_was_recorded) {
  record_ring r(0);
  r.issued();
  r.rebase(100);
  r.issued();
  EXPECT_EQ(r.last(), 101u);
  EXPECT_TRUE(r.is_recorded(1));
  EXPECT_FALSE(r.is_recorded(50));
  EXPECT_FALSE(r.is_confirmed(1));
  EXPECT_EQ(r.unconfirmed(), 2u);
  r.confirm(1);
  EXPECT_EQ(r.oldest(), 101u);
}

}  // namespace
}  // namespace gar
