// What the program takes, and when its descriptor says that there is something to take.
#include "clients/garclient/completion_queue.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <new>

namespace gar::owner {
namespace {

class completions : public ::testing::Test {
 protected:
  void put() {
    gar_completion ended{};
    ended.ticket = *queue_.reserve();
    queue_.put(ended);
  }
  bool readable() {
    pollfd p{*queue_.fd(), POLLIN, 0};
    return ::poll(&p, 1, 0) == 1;
  }
  size_t take(completion_queue::taking& now) {
    std::array<gar_completion, 8> into{};
    return now.take(into);
  }

  completion_queue queue_;
};

TEST_F(completions, show_until_they_are_taken) {
  EXPECT_FALSE(readable());
  put();
  EXPECT_TRUE(readable());
  {
    completion_queue::taking now(queue_);
    EXPECT_EQ(take(now), 1u);
  }
  EXPECT_FALSE(readable());
}

TEST_F(completions, that_come_during_a_taking_are_not_shown_before_its_end) {
  EXPECT_FALSE(readable());
  {
    completion_queue::taking now(queue_);
    put();
    put();
    EXPECT_FALSE(readable());
  }
  EXPECT_TRUE(readable());
}

// What was thrown while its taker looked for more must not hide what comes later.
TEST_F(completions, show_after_a_taking_that_failed) {
  EXPECT_FALSE(readable());
  try {
    const completion_queue::taking now(queue_);
    throw std::bad_alloc();
  } catch (const std::bad_alloc&) {
  }
  put();
  EXPECT_TRUE(readable());
}

TEST_F(completions, have_room_for_so_many_that_were_not_taken) {
  for (size_t i = 0; i < completion_queue::waits_max; ++i) put();
  EXPECT_EQ(queue_.reserve().error().code(), errc::LimitWaits);
  {
    completion_queue::taking now(queue_);
    EXPECT_EQ(take(now), 8u);
  }
  EXPECT_TRUE(queue_.reserve());
}

}  // namespace
}  // namespace gar::owner
