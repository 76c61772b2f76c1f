// The last things that happened: order, what a slow reader loses, who sees whose.
#include "lib/core/event_log.hpp"

#include <gtest/gtest.h>

#include "lib/core/manual_time.hpp"

namespace gar {
namespace {

class logged : public testing::Test {
 protected:
  void add(std::optional<uint32_t> uid, std::string text = {}) {
    node_event e;
    e.uid = uid;
    e.text = std::move(text);
    log.add(std::move(e));
  }
  std::vector<std::string> texts(const event_log::reading& r) {
    std::vector<std::string> all;
    for (const node_event& e : r.events) all.push_back(e.text);
    return all;
  }

  manual_clock clock;
  event_log log{[this] { return clock.now(); }};
};

using words = std::vector<std::string>;

TEST_F(logged, events_come_in_their_order_with_their_time) {
  add(1, "a");
  clock.advance(from_ms(5));
  add(std::nullopt, "b");
  add(2, "c");
  const auto all = log.read_after(0, std::nullopt, 10);
  EXPECT_EQ(texts(all), (words{"a", "b", "c"}));
  EXPECT_EQ(all.events[1].at, clock.now());
  EXPECT_EQ(all.events[2].number, 3u);
  EXPECT_EQ(all.next, 3u);
  EXPECT_EQ(all.lost, 0u);
  EXPECT_FALSE(all.more);
}

TEST_F(logged, a_reader_goes_on_where_it_was) {
  for (int i = 0; i < 5; ++i) add(i % 2, std::to_string(i));
  const auto first = log.read_after(0, std::nullopt, 3);
  EXPECT_EQ(texts(first), (words{"0", "1", "2"}));
  EXPECT_TRUE(first.more);
  const auto second = log.read_after(first.next, std::nullopt, 3);
  EXPECT_EQ(texts(second), (words{"3", "4"}));
  EXPECT_FALSE(second.more);
  EXPECT_TRUE(log.read_after(second.next, std::nullopt, 3).events.empty());
}

TEST_F(logged, a_slow_reader_is_told_how_many_it_lost) {
  for (size_t i = 0; i < event_log::kept_max + 7; ++i) add(1);
  const auto rest = log.read_after(2, std::nullopt, SIZE_MAX);
  EXPECT_EQ(rest.events.size(), event_log::kept_max);
  EXPECT_EQ(rest.lost, 5u);
  const auto own = log.read_after(2, 1, SIZE_MAX);
  EXPECT_EQ(own.events.size(), event_log::kept_max);
  EXPECT_EQ(own.lost, 5u);
}

TEST_F(logged, what_is_lost_is_counted_once_however_it_is_read) {
  for (size_t i = 0; i < event_log::kept_max + 100; ++i) add(1);
  add(2, "other");
  uint64_t after = 0;
  uint64_t lost = 0;
  size_t seen = 0;
  for (bool more = true; more;) {
    const auto part = log.read_after(after, std::nullopt, 64);
    after = part.next;
    lost += part.lost;
    seen += part.events.size();
    more = part.more;
  }
  EXPECT_EQ(lost, 100u);
  EXPECT_EQ(seen, event_log::kept_max + 1);
}

TEST_F(logged, one_users_flood_pushes_out_nobody_elses) {
  add(1, "mine");
  add(std::nullopt, "the node's");
  for (size_t i = 0; i < 3 * event_log::kept_max; ++i) add(2);
  const auto first = log.read_after(0, std::nullopt, 2);
  EXPECT_EQ(texts(first), (words{"mine", "the node's"}));
}

TEST_F(logged, a_user_sees_its_own_alone_under_numbers_that_tell_nothing_of_others) {
  add(2, "theirs");
  add(std::nullopt, "the node's");
  add(1, "a");
  add(2, "theirs");
  add(1, "b");
  const auto own = log.read_after(0, 1, 10);
  EXPECT_EQ(texts(own), (words{"a", "b"}));
  EXPECT_EQ(own.events[1].number, 2u);
  EXPECT_EQ(own.next, 2u);
  EXPECT_EQ(own.lost, 0u);
  EXPECT_EQ(log.last(1), 2u);
  EXPECT_EQ(log.last(3), 0u);
  EXPECT_TRUE(log.read_after(0, 3, 10).events.empty());
}

TEST_F(logged, a_reader_of_an_earlier_log_begins_anew) {
  add(1, "a");
  EXPECT_EQ(texts(log.read_after(900, std::nullopt, 10)), words{"a"});
  EXPECT_EQ(texts(log.read_after(900, 1, 10)), words{"a"});
}

TEST_F(logged, the_user_who_was_silent_longest_is_forgotten_for_a_new_one) {
  for (uint32_t uid = 0; uid < event_log::users_max; ++uid) add(uid, "first");
  add(0, "again");
  add(999, "new");
  EXPECT_TRUE(log.read_after(0, 1, 10).events.empty());
  EXPECT_EQ(log.read_after(0, 0, 10).events.size(), 2u);
  EXPECT_EQ(log.read_after(0, 999, 10).events.size(), 1u);
  EXPECT_EQ(log.read_after(0, std::nullopt, SIZE_MAX).lost, 1u);
}

TEST_F(logged, all_are_counted_by_kind) {
  for (size_t i = 0; i < 2 * event_log::kept_max; ++i) add(1);
  EXPECT_EQ(log.counts()[0], 2 * event_log::kept_max);
  EXPECT_EQ(name_of(event_kind::latency_released), "latency_released");
}

}  // namespace
}  // namespace gar
