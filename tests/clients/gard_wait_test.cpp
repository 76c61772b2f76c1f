// One wait that gard runs, over a link whose other end is the test: everything on one thread.
#include "clients/garclient/gard_wait.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "clients/garclient/stream.hpp"
#include "tests/clients/link_rig.hpp"

namespace gar::owner {
namespace {

// Its producer is the test: the word is its own authority.
class wait_at_gard : public ::testing::Test {
 protected:
  void SetUp() override {
    binding where;
    where.page = rig_.page;
    where.via = rig_.link;
    where.stream_id = 1;
    where.stream_generation = 1;
    order_.of = std::make_shared<stream>(1, std::nullopt, "");
    order_.of->attach(std::move(where));
    order_.sequence = *order_.of->record();
    order_.start = steady_clock().now();
    choice_.how = bands::parse("flag:park_us=100,backstop_us=1000")->at(0).plan;
  }

  // gard tells nobody of the word, and the owner's backstop passes.
  wait_end end_by_backstop() {
    gard_wait wait(order_, choice_, order_.of->current(), nullptr);
    gard_wait::state s = wait.begin();
    EXPECT_EQ(s.what, gard_wait::now::sleeps);
    EXPECT_TRUE(order_.of->signal(order_.sequence));
    rig_.fill_socket();
    while (s.what == gard_wait::now::sleeps) {
      rig_.link->await_news(wait.box(), s.seen, s.until, {});
      s = wait.go();
    }
    return wait.take_end();
  }
  void gard_speaks() {
    rig_.say(
        proto::plan_scope{6, proto::scope_default, 0, 1, "", "flag:park_us=50,backstop_us=1000"});
  }

  test::link_rig rig_;
  wait_order order_;
  plan_cache::choice choice_;
};

TEST_F(wait_at_gard, that_its_owners_backstop_ends_makes_gard_silent) {
  EXPECT_EQ(end_by_backstop().ended, wait_end::by::backstop);
  EXPECT_FALSE(rig_.link->speaks());
}

// There is no room in the socket for the cancel, so that the link asks to be served again, in the
// middle of it; by then the service thread may read whatever gard says.
TEST_F(wait_at_gard, leaves_gard_heard_that_speaks_as_soon_as_it_is_sent_the_cancel) {
  int asked = 0;
  rig_.need_by = [&] {
    if (++asked == 1) gard_speaks();
  };
  EXPECT_EQ(end_by_backstop().ended, wait_end::by::backstop);
  EXPECT_GE(asked, 1);
  EXPECT_TRUE(rig_.link->speaks());
}

}  // namespace
}  // namespace gar::owner
