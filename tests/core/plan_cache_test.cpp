#include "lib/core/plan_cache.hpp"

#include <gtest/gtest.h>

namespace gar {
namespace {

const char* const flag_text = "flag:park_us=1,backstop_us=2";

bands bands_of(const char* text) {
  return *bands::parse(text);
}

proto::plan_scope scope(uint64_t generation, uint16_t what, uint16_t index, uint16_t count,
                        const char* text, const char* point = "") {
  return {generation, what, index, count, point, text};
}

TEST(plan_cache, starts_with_the_fallback_under_generation_0) {
  plan_cache cache(bands_of("block;rows>=32:poll"));
  EXPECT_EQ(cache.select("", 0).how.park, park_kind::block);
  EXPECT_EQ(cache.select("anywhere", 32).how.park, park_kind::poll);
  EXPECT_EQ(cache.generation(), 0u);
}

TEST(plan_cache, a_generation_comes_into_force_whole) {
  plan_cache cache(bands_of("block"));
  EXPECT_FALSE(*cache.publish(scope(4, proto::scope_default, 1, 2, "poll")));
  EXPECT_EQ(cache.select("", 0).how.park, park_kind::block);
  EXPECT_TRUE(*cache.publish(scope(4, proto::scope_point, 0, 2, flag_text, "p")));
  EXPECT_EQ(cache.select("", 0).how.park, park_kind::poll);
  EXPECT_EQ(cache.select("p", 0).how.park, park_kind::flag);
  EXPECT_EQ(cache.select("p", 0).generation, 4u);
}

TEST(plan_cache, the_narrower_scope_wins) {
  const char* const texts[] = {"flag:park_us=1,backstop_us=9", "flag:park_us=2,backstop_us=9",
                               "flag:park_us=3,backstop_us=9", "flag:park_us=4,backstop_us=9"};
  plan_cache cache(bands_of("block"));
  (void)cache.publish(scope(1, proto::scope_default, 0, 4, texts[0]));
  (void)cache.publish(scope(1, proto::scope_client, 1, 4, texts[1]));
  (void)cache.publish(scope(1, proto::scope_point, 2, 4, texts[2], "p"));
  (void)cache.publish(scope(1, proto::scope_client_point, 3, 4, texts[3], "q"));
  EXPECT_EQ(cache.select("", 0).how.park_max, from_us(2));
  EXPECT_EQ(cache.select("other", 0).how.park_max, from_us(2));
  EXPECT_EQ(cache.select("p", 0).how.park_max, from_us(3));
  EXPECT_EQ(cache.select("q", 0).how.park_max, from_us(4));
  (void)cache.publish(scope(2, proto::scope_default, 0, 3, texts[0]));
  (void)cache.publish(scope(2, proto::scope_point, 1, 3, texts[2], "p"));
  (void)cache.publish(scope(2, proto::scope_client_point, 2, 3, texts[3], "p"));
  EXPECT_EQ(cache.select("p", 0).how.park_max, from_us(4));
  EXPECT_EQ(cache.select("", 0).how.park_max, from_us(1));
}

TEST(plan_cache, an_older_generation_changes_nothing) {
  plan_cache cache(bands_of("block"));
  EXPECT_TRUE(*cache.publish(scope(7, proto::scope_default, 0, 1, "poll")));
  EXPECT_FALSE(*cache.publish(scope(6, proto::scope_default, 0, 1, flag_text)));
  EXPECT_FALSE(*cache.publish(scope(7, proto::scope_default, 0, 1, flag_text)));
  EXPECT_EQ(cache.select("", 0).how.park, park_kind::poll);
}

TEST(plan_cache, a_newer_generation_replaces_one_half_collected) {
  plan_cache cache(bands_of("block"));
  (void)cache.publish(scope(1, proto::scope_client, 0, 2, "poll"));
  EXPECT_TRUE(*cache.publish(scope(2, proto::scope_default, 0, 1, flag_text)));
  EXPECT_EQ(cache.generation(), 2u);
  EXPECT_FALSE(*cache.publish(scope(1, proto::scope_default, 1, 2, "poll")));
}

TEST(plan_cache, another_daemon_counts_from_anew) {
  plan_cache cache(bands_of("block"));
  (void)cache.publish(scope(7, proto::scope_default, 0, 1, "poll"));
  cache.start_over();
  EXPECT_EQ(cache.select("", 0).how.park, park_kind::poll);
  EXPECT_TRUE(*cache.publish(scope(1, proto::scope_default, 0, 1, flag_text)));
  EXPECT_EQ(cache.select("", 0).generation, 1u);
}

TEST(plan_cache, refuses_what_contradicts_itself) {
  const proto::plan_scope bad[] = {
      scope(1, proto::scope_default, 0, 0, "poll"),
      scope(1, proto::scope_default, 1, 1, "poll"),
      scope(1, proto::scope_default, 0, proto::plan_scopes_max + 1, "poll"),
      scope(1, proto::scope_client, 0, 1, "poll"),  // no default in the whole generation
      scope(1, 9, 0, 1, "poll"),
  };
  for (const proto::plan_scope& s : bad) {
    plan_cache cache(bands_of("block"));
    const result<bool> taken = cache.publish(s);
    ASSERT_TRUE(taken.has_error());
    EXPECT_EQ(taken.error().code(), errc::MalformedMessage);
    EXPECT_EQ(cache.select("", 0).how.park, park_kind::block);
  }
  plan_cache cache(bands_of("block"));
  (void)cache.publish(scope(1, proto::scope_default, 0, 2, "poll"));
  EXPECT_TRUE(cache.publish(scope(1, proto::scope_client, 0, 2, "poll")).has_error());
  EXPECT_EQ(cache.publish(scope(2, proto::scope_default, 0, 1, "pull")).error().code(),
            errc::InvalidPlan);
}

}  // namespace
}  // namespace gar
