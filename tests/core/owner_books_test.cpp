// The small books of the owner's half: outcomes to be sent, point numbers, the pace of questions.
#include <gtest/gtest.h>

#include "lib/core/outcome_box.hpp"
#include "lib/core/point_numbers.hpp"
#include "lib/core/query_pace.hpp"

namespace gar {
namespace {

TEST(outcome_box, sends_within_100_ms_of_the_first) {
  outcome_box box;
  EXPECT_EQ(box.due(), instant::never());
  box.add({}, {1000});
  box.add({}, {5000});
  EXPECT_GT(box.due(), instant{1000});
  EXPECT_LE(box.due(), instant{1000} + from_ms(100));
}

TEST(outcome_box, has_nothing_due_once_empty) {
  outcome_box box;
  box.add({}, {1});
  EXPECT_EQ(box.oldest(72).size(), 1u);
  EXPECT_NE(box.due(), instant::never()) << "not sent yet";
  box.forget(1);
  EXPECT_EQ(box.due(), instant::never());
}

TEST(outcome_box, is_as_it_was_after_a_rehearsal) {
  outcome_box box;
  box.rehearse({}, {5});
  EXPECT_EQ(box.size(), 0u);
  EXPECT_EQ(box.due(), instant::never());
  box.add({}, {10});
  const instant due = box.due();
  box.rehearse({}, {99});
  EXPECT_EQ(box.size(), 1u);
  EXPECT_EQ(box.due(), due);
  for (size_t i = 1; i < outcome_box::entries_max; ++i) box.add({}, {10});
  box.rehearse({}, {99});
  EXPECT_EQ(box.dropped(), 0u);
}

TEST(outcome_box, gives_the_oldest_first_in_parts) {
  outcome_box box;
  for (uint32_t i = 0; i < 5; ++i) {
    proto::outcome_entry e{};
    e.rows = i;
    box.add(e, {i});
  }
  EXPECT_EQ(box.oldest(2).back().rows, 1u);
  box.forget(2);
  EXPECT_EQ(box.oldest(72).front().rows, 2u);
  EXPECT_EQ(box.oldest(72).size(), 3u);
}

TEST(outcome_box, drops_and_counts_what_does_not_fit) {
  outcome_box box;
  for (size_t i = 0; i < outcome_box::entries_max + 3; ++i) box.add({}, {0});
  EXPECT_EQ(box.size(), outcome_box::entries_max);
  EXPECT_EQ(box.dropped(), 3u);
}

TEST(outcome_box, what_could_not_be_sent_is_tried_again_later) {
  outcome_box box;
  box.add({}, {0});
  box.postpone({7});
  EXPECT_EQ(box.size(), 1u);
  EXPECT_EQ(box.due(), instant{7} + outcome_box::delay);
}

TEST(point_numbers, a_name_keeps_its_number) {
  point_numbers p;
  EXPECT_EQ(p.number_of("").number, 0u);
  const auto a = p.number_of("a");
  EXPECT_TRUE(a.fresh);
  const auto b = p.number_of("b");
  EXPECT_NE(a.number, b.number);
  EXPECT_EQ(p.number_of("a").number, a.number);
  EXPECT_FALSE(p.number_of("a").fresh);
}

TEST(point_numbers, the_least_recently_used_name_gives_its_number_up) {
  point_numbers p;
  for (int i = 0; i < 256; ++i) EXPECT_EQ(p.number_of("n" + std::to_string(i)).number, i + 1u);
  (void)p.number_of("n0");
  const auto fresh = p.number_of("new");
  EXPECT_TRUE(fresh.fresh);
  EXPECT_EQ(fresh.number, 2u);  // n1's
  EXPECT_FALSE(p.number_of("n0").fresh);
  EXPECT_TRUE(p.number_of("n1").fresh);
}

TEST(query_pace, doubles_for_who_looks_again_after_as_long_as_has_gone_by) {
  const instant since{1'000'000};
  EXPECT_EQ(next_look(since, since, from_ms(1)), since + from_us(20));
  EXPECT_EQ(next_look(since, since + from_us(20), from_ms(1)), since + from_us(40));
  EXPECT_EQ(next_look(since, since + from_us(300), from_ms(1)), since + from_us(600));
  EXPECT_EQ(next_look(since, since + from_ms(7), from_ms(1)), since + from_ms(8));
}

TEST(query_pace, doubles_up_to_its_limit) {
  query_pace pace(from_us(100));
  EXPECT_EQ(pace.next(), from_us(20));
  EXPECT_EQ(pace.next(), from_us(40));
  EXPECT_EQ(pace.next(), from_us(80));
  EXPECT_EQ(pace.next(), from_us(100));
  EXPECT_EQ(pace.next(), from_us(100));
}

}  // namespace
}  // namespace gar
