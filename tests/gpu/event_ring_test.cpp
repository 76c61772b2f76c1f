// Which event answers for which number, and when an event may be used again.
#include "lib/gpu/event_ring.hpp"

#include <gtest/gtest.h>

namespace gar {
namespace {

class events : public testing::Test {
 protected:
  // Records `sequence` on a free event, or on a new one.
  event_ring::slot* record(uint64_t sequence) {
    event_ring::slot* in = ring.take();
    if (!in) in = ring.add(&names[made++]);
    ring.publish(sequence, in);
    return in;
  }

  event_ring ring;
  char names[300];
  size_t made = 0;
};

TEST_F(events, are_new_until_one_is_free_again) {
  event_ring::slot* first = record(1);
  EXPECT_NE(record(2), first);
  ring.confirm(1);
  EXPECT_EQ(record(3), first);
  EXPECT_EQ(made, 2u);
}

TEST_F(events, that_are_being_asked_are_not_free) {
  event_ring::slot* first = record(1);
  const auto asked = ring.pin(1);
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->in, first);
  ring.confirm(1);
  EXPECT_EQ(ring.take(), nullptr);
  ring.unpin(*asked);
  EXPECT_EQ(ring.take(), first);
}

TEST_F(events, asked_twice_are_free_when_both_are_over) {
  record(1);
  const auto one = ring.pin(1);
  const auto other = ring.pin(1);
  ring.confirm(1);
  ring.unpin(*one);
  EXPECT_EQ(ring.take(), nullptr);
  ring.unpin(*other);
  EXPECT_NE(ring.take(), nullptr);
  EXPECT_EQ(ring.take(), nullptr) << "once, not twice";
}

TEST_F(events, of_a_later_number_answer_for_those_before_it) {
  record(11);
  record(13);
  EXPECT_EQ(ring.pin(5)->sequence, 11u);
  EXPECT_EQ(ring.pin(12)->sequence, 13u);
  EXPECT_FALSE(ring.pin(14));
}

TEST_F(events, confirm_all_numbers_up_to_theirs) {
  for (uint64_t n = 1; n <= 5; ++n) record(n);
  EXPECT_FALSE(ring.is_confirmed(0)) << "nothing was asked yet";
  ring.confirm(3);
  EXPECT_TRUE(ring.is_confirmed(3));
  EXPECT_TRUE(ring.is_confirmed(1));
  EXPECT_FALSE(ring.is_confirmed(4));
  ring.confirm(2);
  EXPECT_TRUE(ring.is_confirmed(3)) << "never backwards";
}

TEST_F(events, numbers_wrap) {
  for (uint64_t n = UINT64_MAX - 1; n != 2; ++n) record(n);
  ring.confirm(0);
  EXPECT_TRUE(ring.is_confirmed(UINT64_MAX));
  EXPECT_FALSE(ring.is_confirmed(1));
  EXPECT_EQ(ring.pin(1)->sequence, 1u);
}

TEST_F(events, are_256_at_once_at_most) {
  for (uint64_t n = 1; n <= 255; ++n) record(n);
  EXPECT_FALSE(ring.full());
  record(256);
  EXPECT_TRUE(ring.full());
  EXPECT_EQ(ring.oldest(), 1u);
  ring.confirm(1);
  EXPECT_FALSE(ring.full());
}

TEST_F(events, given_back_unrecorded_are_free) {
  event_ring::slot* taken = ring.add(&names[0]);
  ring.give_back(taken);
  EXPECT_EQ(ring.take(), taken);
}

}  // namespace
}  // namespace gar
