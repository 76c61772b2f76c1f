// Slots, descriptors and the comparison that wraps.
#include "lib/core/descriptor.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace gar {
namespace {

constexpr uint64_t half = uint64_t{1} << 63;
constexpr uint64_t last = UINT64_MAX;

TEST(slot, is_an_index_below_eight_checked_once) {
  for (uint64_t i = 0; i < 8; ++i) {
    ASSERT_TRUE(slot::make(i));
    EXPECT_EQ(slot::make(i)->index(), i);
  }
  for (uint64_t i : {uint64_t{8}, uint64_t{255}, uint64_t{256}, uint64_t{264}, half, last}) {
    EXPECT_FALSE(slot::make(i)) << i;
  }
}

TEST(descriptor, reached_at_and_after_the_target) {
  EXPECT_FALSE(reached(4, 5));
  EXPECT_TRUE(reached(5, 5));
  EXPECT_TRUE(reached(6, 5));
  EXPECT_TRUE(reached(0, 0));
}

TEST(descriptor, wraps_at_two_to_the_64) {
  EXPECT_FALSE(reached(last, 0)) << "one before the target";
  EXPECT_TRUE(reached(0, last)) << "one past it";
  EXPECT_TRUE(reached(5, last - 5));
  EXPECT_FALSE(reached(last - 5, 5));
  for (uint64_t offset = 0; offset < 8; ++offset) {
    const uint64_t target = last - 3 + offset;
    EXPECT_FALSE(reached(target - 1, target)) << offset;
    EXPECT_TRUE(reached(target, target)) << offset;
    EXPECT_TRUE(reached(target + 1, target)) << offset;
  }
}

TEST(descriptor, crosses_two_to_the_63_like_any_number) {
  EXPECT_FALSE(reached(half - 1, half));
  EXPECT_TRUE(reached(half, half));
  EXPECT_TRUE(reached(half, half - 1));
  EXPECT_TRUE(reached(half + 1, half));
}

TEST(descriptor, is_ahead_for_half_of_all_numbers) {
  for (uint64_t target : {uint64_t{0}, uint64_t{1}, half - 1, half, half + 1, last}) {
    EXPECT_TRUE(reached(target + (half - 1), target)) << "2^63 - 1 past it";
    EXPECT_FALSE(reached(target + half, target)) << "2^63 away counts as before it";
    EXPECT_FALSE(reached(target - 1, target));
  }
}

TEST(descriptor, a_later_store_completes_an_earlier_target) {
  proto::completion_line line{};
  const memory_descriptor earlier(line, *slot::make(3), 5);
  const memory_descriptor later(line, *slot::make(3), 6);
  const memory_descriptor other(line, *slot::make(4), 1);
  proto::store_word(line.word[3], 5);
  EXPECT_TRUE(earlier.complete()) << "the moment the word reaches it";
  EXPECT_FALSE(later.complete());
  proto::store_word(line.word[3], 9);
  EXPECT_TRUE(earlier.complete());
  EXPECT_TRUE(later.complete());
  EXPECT_FALSE(other.complete()) << "another slot of the line";
}

TEST(descriptor, a_default_one_is_empty) {
  EXPECT_TRUE(memory_descriptor().empty());
  const uint64_t word = 0;
  EXPECT_FALSE(memory_descriptor(word, 1).empty());
}

}  // namespace
}  // namespace gar
