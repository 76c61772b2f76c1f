// What the node tells a person who watches: each thing once, of the right client.
#include <gtest/gtest.h>

#include "tests/core/node_world.hpp"

namespace gar::test {
namespace {

class node_events : public testing::Test {
 protected:
  node_events() { seen_ = log().last(std::nullopt); }

  const event_log& log() { return world.decisions.events(); }
  // Those since the last call.
  std::vector<node_event> fresh() {
    const event_log::reading r = log().read_after(seen_, std::nullopt, SIZE_MAX);
    seen_ = r.next;
    return r.events;
  }
  std::vector<event_kind> kinds() {
    std::vector<event_kind> all;
    for (const node_event& e : fresh()) all.push_back(e.what);
    return all;
  }

  node_world world;

 private:
  uint64_t seen_ = 0;
};

using list = std::vector<event_kind>;

TEST_F(node_events, a_client_comes_opens_closes_and_leaves) {
  auto a = world.connect("trainer");
  const auto came = fresh();
  ASSERT_EQ(came.size(), 1u);
  EXPECT_EQ(came[0].what, event_kind::client_connected);
  EXPECT_EQ(came[0].client, a.id);
  EXPECT_EQ(came[0].name, "trainer");
  EXPECT_EQ(came[0].uid, 1000u);
  const auto s = *world.open(a);
  const auto opened = fresh();
  ASSERT_EQ(opened.size(), 1u);
  EXPECT_EQ(opened[0].what, event_kind::stream_opened);
  EXPECT_EQ(opened[0].stream, s.stream);
  world.say(a.id, proto::close{++a.cookies, s.stream, s.stream_generation, 0});
  world.say(a.id, proto::bye{});
  EXPECT_EQ(kinds(), (list{event_kind::stream_closed, event_kind::client_left}));
}

TEST_F(node_events, who_breaks_the_protocol_is_refused_once) {
  const session_id id = *world.knock();
  world.say(id, proto::bye{});
  EXPECT_TRUE(kinds().empty());  // it never said who it is
  const session_id rude = *world.knock();
  world.say(rude, proto::cancel{1});
  const auto events = fresh();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].what, event_kind::client_refused);
  EXPECT_EQ(events[0].code, static_cast<uint16_t>(errc::OutOfState));
}

TEST_F(node_events, a_refused_request_has_its_number) {
  auto a = world.connect("a");
  const auto s = *world.open(a);
  fresh();
  world.say(a.id, a.wait_for(s, 0));
  const auto events = fresh();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].what, event_kind::request_refused);
  EXPECT_EQ(events[0].code, static_cast<uint16_t>(errc::TargetOutOfRange));
}

TEST_F(node_events, a_wait_that_timed_out_or_whose_store_was_lost_is_one) {
  auto a = world.connect("a");
  const auto s = *world.open(a);
  fresh();
  proto::wait w = a.wait_for(s, 1);
  w.timeout_ns = from_ms(5).ns;
  world.say(a.id, w);
  world.run_to(from_ms(5));
  EXPECT_EQ(kinds(), list{event_kind::wait_timed_out});
  world.say(a.id, a.wait_for(s, 1));
  world.run_to(from_ms(15));
  world.answer(a, world.heard<proto::probes>(a.id)->entries.at(0), proto::probe_done);
  const auto events = fresh();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].what, event_kind::lost_store);
  EXPECT_EQ(events[0].stream, s.stream);
}

TEST_F(node_events, a_wait_that_succeeds_is_none) {
  auto a = world.connect("a");
  const auto s = *world.open(a);
  fresh();
  world.say(a.id, a.wait_for(s, 1));
  world.store(a, s, 1);
  EXPECT_EQ(world.ended(a.id).code, 0);
  EXPECT_TRUE(kinds().empty());
}

TEST_F(node_events, plans_that_change_say_for_whom_and_what_runs) {
  ASSERT_TRUE(world.decisions.plan_set({"trainer", std::nullopt}, *bands::parse("poll")));
  ASSERT_TRUE(world.decisions.plan_unset({"trainer", std::nullopt}));
  EXPECT_FALSE(world.decisions.plan_unset({"trainer", std::nullopt}));
  const auto events = fresh();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].what, event_kind::plan_changed);
  EXPECT_FALSE(events[0].uid);
  EXPECT_NE(events[0].text.find("set for client trainer"), std::string::npos) << events[0].text;
  EXPECT_NE(events[0].text.find("poll"), std::string::npos);
  EXPECT_NE(events[1].text.find("unset"), std::string::npos);
}

TEST_F(node_events, an_early_word_that_an_owner_tells_is_one) {
  auto a = world.connect("a");
  const auto s = *world.open(a);
  fresh();
  proto::outcome_entry e{};
  e.what = proto::outcome_early_word;
  e.stream = s.stream;
  e.stream_generation = s.stream_generation;
  world.say(a.id, proto::outcomes{{e}});
  EXPECT_EQ(kinds(), list{event_kind::early_word});
}

}  // namespace
}  // namespace gar::test
