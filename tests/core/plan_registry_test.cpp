#include "lib/core/plan_registry.hpp"

#include <gtest/gtest.h>

#include "proto/wire.hpp"

namespace gar {
namespace {

bands parsed(std::string_view text) {
  return *bands::parse(text);
}

std::string running_for(const plan_registry& r, const std::string& client, std::string_view point) {
  return r.publish_for(client)->select(point).label();
}

TEST(plan_registry, has_the_shipped_plan_where_nothing_is_set) {
  const plan_registry r(capabilities::all_available(), 8);
  EXPECT_EQ(running_for(r, "a", ""), plan_as_shipped);
  EXPECT_EQ(r.default_plan().source, plan_source::built_in);
  EXPECT_EQ(r.generation(), 1u);
}

TEST(plan_registry, prefers_client_and_point_then_point_then_client_then_default) {
  plan_registry r(capabilities::all_available(), 8);
  const auto flag = [](int park) {
    return "flag:park_us=" + std::to_string(park) + ",backstop_us=1000";
  };
  ASSERT_TRUE(r.set({}, parsed(flag(1))).has_value());
  EXPECT_EQ(running_for(r, "a", "p"), flag(1));
  ASSERT_TRUE(r.set({"a", {}}, parsed(flag(2))).has_value());
  EXPECT_EQ(running_for(r, "a", "p"), flag(2));
  ASSERT_TRUE(r.set({{}, "p"}, parsed(flag(3))).has_value());
  EXPECT_EQ(running_for(r, "a", "p"), flag(3));
  ASSERT_TRUE(r.set({"a", "p"}, parsed(flag(4))).has_value());
  EXPECT_EQ(running_for(r, "a", "p"), flag(4));
  EXPECT_EQ(running_for(r, "a", "q"), flag(2));
  EXPECT_EQ(running_for(r, "b", "p"), flag(3));
  EXPECT_EQ(running_for(r, "b", ""), flag(1));
}

TEST(plan_registry, lets_runtime_plans_outlive_a_reload_unless_they_are_replaced) {
  plan_registry r(capabilities::all_available(), 8);
  r.configure({{{}, parsed("poll")}}, false);
  ASSERT_TRUE(r.set({}, parsed("block")).has_value());
  r.configure({{{}, parsed("poll;rows>=2:block")}}, false);
  EXPECT_EQ(running_for(r, "a", ""), "block");
  r.configure({{{}, parsed("poll")}}, true);
  EXPECT_EQ(running_for(r, "a", ""), "poll");
  EXPECT_EQ(r.default_plan().source, plan_source::config);
}

TEST(plan_registry, unsets_what_was_set_and_nothing_else) {
  plan_registry r(capabilities::all_available(), 8);
  r.configure({{{"a", {}}, parsed("poll")}}, false);
  ASSERT_TRUE(r.set({"a", {}}, parsed("block")).has_value());
  const uint64_t before = r.generation();
  ASSERT_TRUE(r.unset({"a", {}}).has_value());
  EXPECT_EQ(r.generation(), before + 1);
  EXPECT_EQ(running_for(r, "a", ""), "poll");
  const result<void> again = r.unset({"a", {}});
  ASSERT_TRUE(again.has_error());
  EXPECT_EQ(again.error().text(), "no plan is set for client a");
  EXPECT_EQ(r.generation(), before + 1);
}

TEST(plan_registry, refuses_more_runtime_plans_than_allowed_and_still_changes_those_set) {
  plan_registry r(capabilities::all_available(), 2);
  ASSERT_TRUE(r.set({"a", {}}, parsed("poll")).has_value());
  ASSERT_TRUE(r.set({"b", {}}, parsed("poll")).has_value());
  EXPECT_EQ(r.set({"c", {}}, parsed("poll")).error().code(), errc::LimitPoints);
  EXPECT_TRUE(r.set({"b", {}}, parsed("block")).has_value());
}

TEST(plan_registry, publishes_the_default_first_and_only_what_applies) {
  plan_registry r(capabilities::all_available(), 8);
  ASSERT_TRUE(r.set({"a", "p"}, parsed("poll")).has_value());
  ASSERT_TRUE(r.set({"b", {}}, parsed("poll")).has_value());
  ASSERT_TRUE(r.set({{}, "q"}, parsed("poll")).has_value());
  const auto for_a = r.publish_for("a");
  ASSERT_EQ(for_a->entries().size(), 3u);
  EXPECT_EQ(for_a->entries()[0].scope, proto::scope_default);
  EXPECT_EQ(for_a->entries()[1].point, "q");
  EXPECT_EQ(for_a->entries()[2].scope, proto::scope_client_point);
  EXPECT_EQ(for_a->generation(), r.generation());
}

TEST(plan_registry, resolves_each_band_and_keeps_the_warnings) {
  capabilities host = capabilities::all_available();
  host.set_absent(capability::word_wait, "none here");
  plan_registry r(host, 8);
  ASSERT_TRUE(r.set({}, parsed("flag:park_us=1,backstop_us=1;rows>=4:block")).has_value());
  EXPECT_EQ(running_for(r, "a", ""), "poll;rows>=4:block");
  EXPECT_EQ(r.default_plan().warnings.size(), 1u);
}

}  // namespace
}  // namespace gar
