// One wait that gard runs, over a link whose other end is the test: everything on one thread.
#include "clients/garclient/gard_wait.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <memory>

#include "clients/garclient/link.hpp"
#include "clients/garclient/stream.hpp"
#include "lib/linux/state_page.hpp"

namespace gar::owner {
namespace {

// Its producer is the test: the word is its own authority.
class wait_at_gard : public ::testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    gards_end_ = unique_fd(ends[1]);
    page_ = *word_page::make_own();
    proto::welcome welcome;
    welcome.client_id = 77;
    link_ = std::make_shared<link>(
        link::parts{unique_fd(ends[0]),
                    welcome,
                    page_,
                    *doorbell::make(),
                    *state_page_view::receive(unique_fd(::dup(state_.fd())), state_.bytes()),
                    {}});
    link_->serve_by({[this](instant) { need_by_(); }, [](async_wait&) {}});
    binding where;
    where.page = page_;
    where.via = link_;
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
    fill_socket();
    while (s.what == gard_wait::now::sleeps) {
      link_->await_news(wait.box(), s.seen, s.until, {});
      s = wait.go();
    }
    return wait.take_end();
  }
  void fill_socket() {
    const char byte = 0;
    while (::send(link_->fd(), &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1) continue;
  }
  void gard_speaks() {
    const auto said = proto::encode(
        proto::plan_scope{6, proto::scope_default, 0, 1, "", "flag:park_us=50,backstop_us=1000"});
    ASSERT_EQ(::send(gards_end_.get(), said.data(), said.size(), MSG_NOSIGNAL),
              ssize_t(said.size()));
    ASSERT_TRUE(link_->receive([](const proto::plan_scope&) { return result<void>(); }));
  }

  unique_fd gards_end_;
  state_page_owner state_ = *state_page_owner::make();
  std::shared_ptr<word_page> page_;
  std::shared_ptr<link> link_;
  std::function<void()> need_by_ = [] {};
  wait_order order_;
  plan_cache::choice choice_;
};

TEST_F(wait_at_gard, that_its_owners_backstop_ends_makes_gard_silent) {
  EXPECT_EQ(end_by_backstop().ended, wait_end::by::backstop);
  EXPECT_FALSE(link_->speaks());
}

// There is no room in the socket for the cancel, so that the link asks to be served again, in the
// middle of it; by then the service thread may read whatever gard says.
TEST_F(wait_at_gard, leaves_gard_heard_that_speaks_as_soon_as_it_is_sent_the_cancel) {
  int asked = 0;
  need_by_ = [&] {
    if (++asked == 1) gard_speaks();
  };
  EXPECT_EQ(end_by_backstop().ended, wait_end::by::backstop);
  EXPECT_GE(asked, 1);
  EXPECT_TRUE(link_->speaks());
}

}  // namespace
}  // namespace gar::owner
