// The node's sessions: who gets in, what they may say, what they may hold.
#include "lib/core/node.hpp"

#include <gtest/gtest.h>

#include "tests/core/node_world.hpp"

namespace gar::test {
namespace {

uint16_t number(errc code) {
  return static_cast<uint16_t>(code);
}

TEST(node, welcomes_a_client_with_its_limits_and_all_its_plans) {
  node_world world;
  const session_id id = *world.knock();
  world.say(id, proto::hello{1, 3, 0xff, "a", {}});
  const auto welcome = world.heard<proto::welcome>(id);
  ASSERT_TRUE(welcome);
  EXPECT_EQ(welcome->version, 1);
  EXPECT_EQ(welcome->features, 0u);
  EXPECT_EQ(welcome->client_id, id);
  EXPECT_EQ(welcome->plan_scopes, 1);
  EXPECT_EQ(welcome->streams_max, node_limits{}.streams_per_client);
  const auto plan = world.heard<proto::plan_scope>(id);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->generation, welcome->plan_generation);
  EXPECT_EQ(plan->text, test_plan);
}

TEST(node, throws_out_who_greets_twice_speaks_first_or_speaks_for_gard) {
  node_world world;
  auto twice = world.connect("twice");
  auto other = world.connect("other");
  world.say(twice.id, proto::hello{1, 1, 0, "twice", {}});
  EXPECT_EQ(world.refused(twice.id, true), number(errc::OutOfState));

  const session_id early = *world.knock();
  world.say(early, proto::cancel{1});
  EXPECT_EQ(world.refused(early, true), number(errc::OutOfState));

  auto gards = world.connect("gards");
  world.say(gards.id, proto::closed{1});
  EXPECT_EQ(world.refused(gards.id, true), number(errc::OutOfState));

  EXPECT_EQ(world.closed, (std::vector<session_id>{twice.id, early, gards.id}));
  EXPECT_TRUE(world.open(other));
}

TEST(node, throws_out_a_malformed_frame_an_unknown_type_and_descriptors) {
  node_world world;
  auto a = world.connect("a");
  world.say_bytes(a.id, std::vector<std::byte>(7));
  EXPECT_EQ(world.refused(a.id, true), number(errc::MalformedMessage));

  auto b = world.connect("b");
  std::vector<std::byte> frame = proto::encode(proto::cancel{1});
  frame[0] = std::byte{99};
  world.say_bytes(b.id, frame);
  EXPECT_EQ(world.refused(b.id, true), number(errc::UnknownMessage));

  auto c = world.connect("c");
  world.say(c.id, proto::cancel{1}, 1);
  EXPECT_EQ(world.refused(c.id, true), number(errc::UnexpectedDescriptors));
  EXPECT_EQ(world.decisions.sessions(), 0u);
}

TEST(node, refuses_versions_that_it_does_not_speak) {
  node_world world;
  const session_id id = *world.knock();
  world.say(id, proto::hello{2, 9, 0, "new", {}});
  EXPECT_EQ(world.refused(id, true), number(errc::VersionMismatch));
}

TEST(node, gives_up_on_a_silent_client_after_one_second_and_renews_it_for_an_ask) {
  node_world world;
  const session_id silent = *world.knock();
  world.run_to(from_ms(400));
  const session_id asks = *world.knock();
  world.run_to(from_ms(900));
  world.say(asks, proto::ask{5, "{}"});
  ASSERT_EQ(world.asked.size(), 1u);
  EXPECT_EQ(world.asked[0].cookie, 5u);
  world.run_to(from_ms(999));
  EXPECT_TRUE(world.closed.empty());
  world.run_to(from_ms(1000));
  EXPECT_EQ(world.refused(silent, true), number(errc::HandshakeTimeout));
  world.run_to(from_ms(1899));
  EXPECT_EQ(world.closed, std::vector<session_id>{silent});
  world.run_to(from_ms(1900));
  EXPECT_EQ(world.refused(asks, true), number(errc::HandshakeTimeout));
  EXPECT_EQ(world.decisions.next_deadline(), instant::never());
}

TEST(node, gives_a_slow_asker_ten_seconds_to_read_its_answer) {
  node_world world;
  world.answers_are_read = false;
  const session_id asks = *world.knock();
  world.say(asks, proto::ask{5, "{}"});
  world.run_to(from_ms(8000));
  EXPECT_TRUE(world.closed.empty());
  world.decisions.answer_sent(asks, world.clock.now());
  world.run_to(from_ms(8999));
  EXPECT_TRUE(world.closed.empty());
  world.run_to(from_ms(9000));
  EXPECT_EQ(world.refused(asks, true), number(errc::HandshakeTimeout));
}

TEST(node, counts_clients_of_all_and_of_one_user) {
  node_world world(world_options({.clients = 3, .clients_per_user = 2}));
  ASSERT_TRUE(world.knock(1).has_value());
  const session_id second = *world.knock(1);
  EXPECT_EQ(world.knock(1).error().code(), errc::LimitPerUser);
  ASSERT_TRUE(world.knock(2).has_value());
  EXPECT_EQ(world.knock(3).error().code(), errc::LimitClients);
  world.decisions.disconnect(second);
  EXPECT_TRUE(world.knock(1).has_value());
}

TEST(node, refuses_a_client_whose_page_cannot_be_had) {
  node_world world;
  world.pages_can_be_had = false;
  const session_id id = *world.knock();
  world.say(id, proto::hello{1, 1, 0, "a", {}});
  EXPECT_EQ(world.refused(id, true), number(errc::SystemCall));
  EXPECT_FALSE(world.heard<proto::welcome>(id));
}

TEST(node, refuses_a_hello_while_it_stops) {
  node_world world;
  const session_id id = *world.knock();
  world.decisions.stop();
  world.say(id, proto::hello{1, 1, 0, "a", {}});
  EXPECT_EQ(world.refused(id, true), number(errc::ShuttingDown));
}

TEST(node, logs_one_line_for_each_refusal_but_not_for_ever) {
  node_world world;
  auto a = world.connect("a");
  world.log.clear();
  for (int i = 0; i < 100; ++i) world.say(a.id, proto::close{1, 55, 1, 0});
  EXPECT_EQ(world.log.size(), 8u);
  EXPECT_NE(world.log[0].find("0x0015 UnknownStream"), std::string::npos) << world.log[0];
  world.decisions.disconnect(a.id);
  world.settle();
  EXPECT_NE(world.log.back().find("100 refusals"), std::string::npos) << world.log.back();
}

// ---- streams

TEST(node, adds_pages_as_streams_need_them_up_to_the_limit) {
  node_world world(world_options({.pages_per_client = 2}));
  auto a = world.connect("a");
  for (int i = 0; i < 512; ++i) EXPECT_EQ(world.open(a)->page_index, 0);
  EXPECT_FALSE(world.heard<proto::page>(a.id));
  const auto first_of_second = world.open(a);
  ASSERT_TRUE(first_of_second);
  EXPECT_EQ(first_of_second->page_index, 1);
  const auto page = world.heard<proto::page>(a.id);
  ASSERT_TRUE(page);
  EXPECT_EQ(page->page_index, 1);
  for (int i = 1; i < 512; ++i) ASSERT_TRUE(world.open(a));
  EXPECT_FALSE(world.open(a));
  EXPECT_EQ(world.refused(a.id), number(errc::LimitPages));
}

TEST(node, gives_every_open_stream_a_word_of_its_own) {
  node_world world;
  auto a = world.connect("a");
  std::set<std::tuple<int, int, int>> words;
  for (int i = 0; i < 600; ++i) {
    const auto s = world.open(a);
    ASSERT_TRUE(s);
    EXPECT_TRUE(words.insert({s->page_index, s->line_index, s->slot}).second);
  }
}

TEST(node, refuses_streams_beyond_the_limits_of_client_and_user) {
  node_world world(world_options({.streams_per_client = 2, .streams_per_user = 3}));
  auto a = world.connect("a");
  auto b = world.connect("b");
  auto stranger = world.connect("c", 2000);
  ASSERT_TRUE(world.open(a) && world.open(a));
  EXPECT_FALSE(world.open(a));
  EXPECT_EQ(world.refused(a.id), number(errc::LimitStreams));
  ASSERT_TRUE(world.open(b));
  EXPECT_FALSE(world.open(b));
  EXPECT_EQ(world.refused(b.id), number(errc::LimitPerUser));
  EXPECT_TRUE(world.open(stranger));
  world.decisions.disconnect(a.id);
  world.settle();
  EXPECT_TRUE(world.open(b));
}

TEST(node, uses_a_slot_again_only_after_close_and_never_restarts_its_numbers) {
  node_world world(world_options({.streams_per_client = 512, .pages_per_client = 1}));
  auto a = world.connect("a");
  std::vector<proto::opened> all;
  for (int i = 0; i < 512; ++i) all.push_back(*world.open(a));
  const proto::opened& left = all[77];
  world.say(a.id, proto::close{9, left.stream, left.stream_generation, 41});
  ASSERT_TRUE(world.heard<proto::closed>(a.id));
  const auto again = world.open(a);
  ASSERT_TRUE(again);
  EXPECT_EQ(std::tie(again->line_index, again->slot), std::tie(left.line_index, left.slot));
  EXPECT_EQ(again->stream, left.stream);
  EXPECT_GT(again->stream_generation, left.stream_generation);
  EXPECT_EQ(again->base, 41u);
  // The old id means nothing any more.
  world.say(a.id, proto::close{10, left.stream, left.stream_generation, 41});
  EXPECT_EQ(world.refused(a.id), number(errc::UnknownStream));
}

TEST(node, takes_a_base_as_it_is_in_a_fresh_slot_and_the_later_one_in_a_used_slot) {
  node_world world(world_options({.streams_per_client = 512, .pages_per_client = 1}));
  auto a = world.connect("a");
  const uint64_t near_the_wrap = UINT64_MAX - 1;
  std::vector<proto::opened> all;
  for (int i = 0; i < 512; ++i) all.push_back(*world.open(a, 0, near_the_wrap));
  EXPECT_EQ(all[0].base, near_the_wrap);
  world.say(a.id, proto::close{1, all[0].stream, all[0].stream_generation, 3});  // wrapped
  EXPECT_EQ(world.open(a, 0, near_the_wrap)->base, 3u);
  world.say(a.id, proto::close{1, all[1].stream, all[1].stream_generation, 3});
  EXPECT_EQ(world.open(a, 0, 10)->base, 10u);
}

TEST(node, refuses_ids_that_a_client_does_not_own) {
  node_world world;
  auto a = world.connect("a");
  auto b = world.connect("b");
  const auto of_a = world.open(a);
  world.say(b.id, proto::close{1, of_a->stream, of_a->stream_generation, 0});
  EXPECT_EQ(world.refused(b.id), number(errc::UnknownStream));
  world.say(b.id, b.wait_for(*of_a, 1));
  EXPECT_EQ(world.refused(b.id), number(errc::UnknownStream));
  world.say(b.id, proto::statuses{{{1, 1, of_a->stream, 1, proto::probe_done, {}, 0, {}}}});
  EXPECT_EQ(world.refused(b.id), number(errc::UnknownStream));
  proto::outcome_entry outcome{};
  outcome.stream = 3;
  world.say(b.id, proto::outcomes{{outcome}});
  EXPECT_EQ(world.refused(b.id), number(errc::UnknownStream));
}

TEST(node, refuses_to_close_a_stream_with_pending_waits) {
  node_world world;
  auto a = world.connect("a");
  const auto s = world.open(a);
  world.say(a.id, a.wait_for(*s, 1));
  world.say(a.id, proto::close{1, s->stream, s->stream_generation, 1});
  EXPECT_EQ(world.refused(a.id), number(errc::OutOfState));
  world.store(a, *s, 1);
  ASSERT_TRUE(world.completion(a.id));
  world.say(a.id, proto::close{1, s->stream, s->stream_generation, 1});
  EXPECT_TRUE(world.heard<proto::closed>(a.id));
}

// ---- plans

TEST(node, publishes_the_scopes_that_apply_and_follows_their_precedence) {
  node_world world;
  const auto plan = [](std::string_view text) { return *bands::parse(text); };
  // With word authority any plan is taken, and its kind tells which one ran.
  ASSERT_TRUE(world.decisions.plan_set({}, plan("block")).has_value());
  ASSERT_TRUE(world.decisions.plan_set({"a", {}}, plan("block")).has_value());
  ASSERT_TRUE(world.decisions.plan_set({{}, "p"}, plan("poll")).has_value());
  ASSERT_TRUE(world.decisions.plan_set({"b", "p"}, plan("block")).has_value());
  auto a = world.connect("a");
  auto b = world.connect("b");
  EXPECT_EQ(a.welcome.plan_scopes, 3);  // default, a, p
  EXPECT_EQ(b.welcome.plan_scopes, 3);  // default, p, b at p
  const auto kind_at = [&](node_world::client& c, uint32_t point) {
    const auto s = world.open(c, proto::authority_word);
    world.say(c.id, proto::point{1, "p"});
    world.say(c.id, proto::point{2, "q"});
    world.store(c, *s, 1);
    proto::wait w = c.wait_for(*s, 1);
    w.point_number = point;
    world.say(c.id, w);
    return world.ended(c.id).kind;
  };
  EXPECT_EQ(kind_at(a, 0), proto::kind_blocked);
  EXPECT_EQ(kind_at(a, 2), proto::kind_blocked);    // client a
  EXPECT_EQ(kind_at(a, 1), proto::kind_immediate);  // the point's poll before the client's block
  EXPECT_EQ(kind_at(b, 1), proto::kind_blocked);    // client and point before the point
}

TEST(node, takes_waits_of_the_last_two_generations_published) {
  node_world world;
  auto a = world.connect("a");
  const auto s = world.open(a);
  const uint64_t first = a.generation;
  ASSERT_TRUE(world.decisions.plan_set({"a", {}}, *bands::parse(test_plan)).has_value());
  world.settle();
  const uint64_t second = world.heard_plans(a.id);
  EXPECT_EQ(second, first + 1);
  const auto outcome_under = [&](uint64_t generation) {
    proto::wait w = a.wait_for(*s, 1);
    w.plan_generation = generation;
    world.say(a.id, w);
    return world.refused(a.id);
  };
  EXPECT_EQ(outcome_under(first), 0);
  EXPECT_EQ(outcome_under(second), 0);
  ASSERT_TRUE(world.decisions.plan_unset({"a", {}}).has_value());
  world.settle();
  EXPECT_EQ(outcome_under(first), number(errc::StalePlan));
  EXPECT_EQ(outcome_under(second), 0);
  EXPECT_EQ(outcome_under(second + 1), 0);
  EXPECT_EQ(outcome_under(second + 2), number(errc::StalePlan));
}

TEST(node, ends_a_wait_under_the_plan_that_it_began_with) {
  node_world world;
  auto a = world.connect("a");
  const auto s = world.open(a);
  world.say(a.id, a.wait_for(*s, 1));  // a backstop every 10 ms
  ASSERT_TRUE(
      world.decisions.plan_set({}, *bands::parse("flag:park_us=100,backstop_us=1000")).has_value());
  world.settle();
  world.run_to(from_ms(9));
  EXPECT_FALSE(world.heard<proto::probes>(a.id));
  world.run_to(from_ms(10));
  EXPECT_TRUE(world.heard<proto::probes>(a.id));
}

TEST(node, leaves_block_and_poll_bands_of_an_owner_to_the_owner) {
  node_world world;
  ASSERT_TRUE(
      world.decisions.plan_set({}, *bands::parse("flag:park_us=100,backstop_us=1000;rows>=32:poll"))
          .has_value());
  auto a = world.connect("a");
  const auto s = world.open(a);
  proto::wait w = a.wait_for(*s, 1);
  w.rows = 31;
  world.say(a.id, w);
  EXPECT_EQ(world.refused(a.id), 0);
  w.cookie = 99;
  w.rows = 32;
  world.say(a.id, w);
  EXPECT_EQ(world.refused(a.id), number(errc::OutOfState));
}

TEST(node, publishes_what_runs_where_the_host_cannot_run_what_was_asked) {
  node_options o = world_options();
  o.host.set_absent(capability::word_wait, "no monitor");
  node_world world(o);
  const session_id id = *world.knock();
  world.say(id, proto::hello{1, 1, 0, "a", {}});
  EXPECT_EQ(world.heard<proto::plan_scope>(id)->text, "poll");
  status_snapshot status;
  world.decisions.describe(status, std::nullopt, world.clock.now());
  EXPECT_EQ(status.plan.requested, test_plan);
  EXPECT_EQ(status.plan.running, "poll");
  ASSERT_EQ(status.plan.warnings.size(), 1u);
  EXPECT_EQ(status.plan.warnings[0].code(), errc::ParkFallback);
}

// ---- points

TEST(node, refuses_points_that_were_not_named_and_forgets_a_renamed_one) {
  node_world world;
  auto a = world.connect("a");
  const auto s = world.open(a);
  proto::wait w = a.wait_for(*s, 1);
  w.point_number = 7;
  world.say(a.id, w);
  EXPECT_EQ(world.refused(a.id), number(errc::UnknownPoint));
  world.say(a.id, proto::point{7, "here"});
  world.say(a.id, w);
  EXPECT_EQ(world.refused(a.id), 0);
  world.say(a.id, proto::point{7, "there"});  // while the wait of the old name is pending
  world.store(a, *s, 1);
  ASSERT_TRUE(world.completion(a.id));
  const auto points = world.decisions.points(std::nullopt);
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0].point, "there");
  EXPECT_EQ(points[0].samples, 0u);
}

// ---- what people see

// However much there is, no part is longer than asked for; together they are the whole.
TEST(node, shows_lists_in_parts_that_together_are_the_whole) {
  node_world world;
  std::vector<node_world::client> clients;
  for (int i = 0; i < 5; ++i) {
    clients.push_back(world.connect("c" + std::to_string(i), i % 2 ? 1 : 2));
    for (int k = 0; k < 4 * i; ++k) {
      const auto s = world.open(clients.back());
      if (k % 2 == 0) continue;
      world.say(clients.back().id, clients.back().wait_for(*s, 1));
      world.store(clients.back(), *s, 1);
      ASSERT_TRUE(world.completion(clients.back().id));
    }
    world.say(clients.back().id, proto::point{3, "named"});
  }
  const instant now = world.clock.now();
  const node& n = world.decisions;
  const auto in_parts = [&](size_t most, auto read) {
    list_place at;
    auto all = read(at, most);
    EXPECT_LE(all.size(), most);
    while (!at.ended) {
      auto part = read(at, most);
      EXPECT_LE(part.size(), most);
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  };
  for (const std::optional<uint32_t> uid : {std::optional<uint32_t>(), std::optional(1u)}) {
    for (const size_t most : {1, 2, 3, 7, 100}) {
      const auto streams =
          in_parts(most, [&](list_place& at, size_t m) { return n.streams(uid, now, at, m); });
      const auto all_streams = n.streams(uid, now);
      ASSERT_EQ(streams.size(), all_streams.size()) << most;
      for (size_t i = 0; i < streams.size(); ++i) {
        EXPECT_EQ(streams[i].client_id, all_streams[i].client_id);
        EXPECT_EQ(streams[i].stream, all_streams[i].stream);
      }
      const auto points =
          in_parts(most, [&](list_place& at, size_t m) { return n.points(uid, at, m); });
      const auto all_points = n.points(uid);
      ASSERT_EQ(points.size(), all_points.size()) << most;
      for (size_t i = 0; i < points.size(); ++i) {
        EXPECT_EQ(points[i].point, all_points[i].point);
        EXPECT_EQ(points[i].stream, all_points[i].stream);
      }
      const auto shown =
          in_parts(most, [&](list_place& at, size_t m) { return n.clients(uid, now, at, m); });
      EXPECT_EQ(shown.size(), uid ? 2u : 5u);
    }
  }
}

TEST(node, goes_on_with_a_list_whose_place_is_gone_meanwhile) {
  node_world world;
  auto a = world.connect("a");
  auto b = world.connect("b");
  for (int i = 0; i < 3; ++i) {
    world.open(a);
    world.open(b);
  }
  list_place at;
  EXPECT_EQ(world.decisions.streams(std::nullopt, world.clock.now(), at, 2).size(), 2u);
  world.decisions.disconnect(a.id);
  const auto rest = world.decisions.streams(std::nullopt, world.clock.now(), at, 100);
  ASSERT_EQ(rest.size(), 3u);
  EXPECT_EQ(rest[0].client, "b");
  EXPECT_TRUE(at.ended);
}

TEST(node, leaves_places_of_the_executor_to_other_users) {
  node_options o = world_options();
  o.waits_max = 8;
  node_world world(o);
  auto greedy = world.connect("greedy", 1);
  auto other = world.connect("other", 2);
  const auto s = world.open(greedy);
  const auto t = world.open(other);
  for (int i = 0; i < 6; ++i) world.say(greedy.id, greedy.wait_for(*s, 1));
  EXPECT_EQ(world.refused(greedy.id), 0);
  world.say(greedy.id, greedy.wait_for(*s, 1));
  EXPECT_EQ(world.refused(greedy.id), number(errc::LimitPerUser));
  for (int i = 0; i < 2; ++i) world.say(other.id, other.wait_for(*t, 1));
  EXPECT_EQ(world.refused(other.id), 0);
}

TEST(node, shows_a_user_only_what_is_the_users_own) {
  node_world world;
  auto a = world.connect("a", 1);
  auto b = world.connect("b", 2);
  const auto s = world.open(a);
  world.open(b);
  world.say(a.id, a.wait_for(*s, 1));
  world.store(a, *s, 1);
  ASSERT_TRUE(world.completion(a.id));
  world.say(a.id, a.wait_for(*s, 2));
  const instant now = world.clock.now();
  ASSERT_EQ(world.decisions.clients(1, now).size(), 1u);
  EXPECT_EQ(world.decisions.clients(1, now)[0].name, "a");
  EXPECT_EQ(world.decisions.clients(1, now)[0].pending, 1u);
  EXPECT_EQ(world.decisions.streams(2, now).size(), 1u);
  EXPECT_EQ(world.decisions.streams(std::nullopt, now).size(), 2u);
  status_snapshot of_b;
  world.decisions.describe(of_b, 2, now);
  EXPECT_EQ(of_b.clients, 1u);
  EXPECT_EQ(of_b.waits.pending, 0u);
  EXPECT_EQ(of_b.kinds.parked, 0u);
  status_snapshot of_a;
  world.decisions.describe(of_a, 1, now);
  EXPECT_EQ(of_a.waits.completed, 1u);
  EXPECT_EQ(of_a.kinds.parked, 1u);
}

}  // namespace
}  // namespace gar::test
