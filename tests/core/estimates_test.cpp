// The bounded table of estimators, against a plain map and list as its oracle.
#include "lib/core/estimates.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <random>
#include <vector>

namespace gar {
namespace {

const plan predicting{park_kind::poll, {}, {}, prediction{{}, {}, from_ms(50), 4}};
const plan silent{park_kind::poll, {}, {}, {}};

std::vector<uint64_t> keys_of(const estimates& table) {
  std::vector<uint64_t> keys;
  table.for_each([&](uint64_t key, const estimator&) { keys.push_back(key); });
  return keys;
}

TEST(estimates, each_point_has_its_own_estimate) {
  estimates table(8);
  table.record(1, sample::exact(from_us(100)), predicting);
  table.record(2, sample::exact(from_us(200)), predicting);
  EXPECT_EQ(table.sleep_for(1, predicting), from_us(100));
  EXPECT_EQ(table.sleep_for(2, predicting), from_us(200));
}

TEST(estimates, no_margin_is_less_than_the_floor) {
  estimates table(8);
  table.record(1, sample::exact(from_us(1000)), predicting);
  const duration usual = table.sleep_for(1, predicting);
  const duration margin = predicting.predict->margin;
  sleep_lateness within(margin);
  sleep_lateness beyond(margin + from_us(77));
  EXPECT_EQ(table.sleep_for(1, predicting, &within), usual);
  EXPECT_EQ(table.sleep_for(1, predicting, &beyond), usual - from_us(77));
}

TEST(estimates, an_unknown_point_does_not_sleep_and_is_not_kept) {
  estimates table(8);
  EXPECT_EQ(table.sleep_for(1, predicting), duration{});
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(table.find(1), nullptr);
}

TEST(estimates, a_plan_without_prediction_does_not_sleep_but_teaches) {
  estimates table(8);
  table.record(1, sample::exact(from_us(100)), silent);
  EXPECT_EQ(table.sleep_for(1, silent), duration{});
  EXPECT_EQ(table.sleep_for(1, predicting), from_us(100));
}

TEST(estimates, a_wait_without_a_sample_makes_no_point) {
  estimates table(8);
  table.record(1, sample::none(), predicting);
  EXPECT_EQ(table.size(), 0u);
}

TEST(estimates, forgets_the_least_recently_used_when_full) {
  estimates table(3);
  for (uint64_t key : {1, 2, 3}) table.record(key, sample::exact(from_us(key)), predicting);
  EXPECT_EQ(table.sleep_for(1, predicting), from_us(1)) << "asking is a use";
  table.record(4, sample::exact(from_us(4)), predicting);
  EXPECT_EQ(keys_of(table), (std::vector<uint64_t>{4, 1, 3}));
  EXPECT_EQ(table.sleep_for(2, predicting), duration{});
  EXPECT_EQ(table.forgotten(), 1u);
  EXPECT_EQ(table.size(), 3u);
}

TEST(estimates, a_forgotten_point_starts_cold) {
  estimates table(1);
  table.record(1, sample::exact(from_us(1)), predicting);
  table.record(2, sample::exact(from_us(500)), predicting);
  table.record(1, sample::exact(from_us(700)), predicting);
  EXPECT_EQ(table.find(1)->samples(), 1u);
  EXPECT_EQ(table.sleep_for(1, predicting), from_us(700));
}

TEST(estimates, erases_one_point_and_all_of_a_client) {
  estimates table(8);
  for (uint64_t key = 0; key < 8; ++key) {
    table.record(key, sample::exact(from_us(1)), predicting);
  }
  EXPECT_TRUE(table.erase(5));
  EXPECT_FALSE(table.erase(5));
  EXPECT_EQ(table.erase_if([](uint64_t key) { return key % 2 == 0; }), 4u);
  EXPECT_EQ(keys_of(table), (std::vector<uint64_t>{7, 3, 1}));
  EXPECT_EQ(table.erase_if([](uint64_t) { return true; }), 3u);
  EXPECT_TRUE(keys_of(table).empty());
  table.record(9, sample::exact(from_us(1)), predicting);
  EXPECT_EQ(keys_of(table), (std::vector<uint64_t>{9}));
}

TEST(estimates, does_what_a_plain_list_does) {
  const char* given = std::getenv("GAR_TEST_SEED");
  const uint64_t seed = given ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::printf("GAR_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  estimates table(16);
  std::list<uint64_t> expected;  // the newest first
  for (int i = 0; i < 50'000; ++i) {
    // Keys that differ in high bits alone, too.
    const uint64_t key = (random() % 40) << (random() % 2 * 40);
    const bool known = std::find(expected.begin(), expected.end(), key) != expected.end();
    switch (random() % 4) {
      case 0:
        EXPECT_EQ(table.erase(key), known);
        expected.remove(key);
        break;
      case 1:
        table.sleep_for(key, predicting);
        if (!known) break;
        expected.remove(key);
        expected.push_front(key);
        break;
      default:
        table.record(key, sample::exact(from_us(1)), predicting);
        expected.remove(key);
        expected.push_front(key);
        if (expected.size() > 16) expected.pop_back();
    }
    ASSERT_EQ(table.size(), expected.size()) << "GAR_TEST_SEED=" << seed;
    ASSERT_EQ(keys_of(table), std::vector<uint64_t>(expected.begin(), expected.end()))
        << "GAR_TEST_SEED=" << seed;
  }
}

}  // namespace
}  // namespace gar
