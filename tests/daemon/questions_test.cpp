// Questions answered in turns: order, fairness between users, what is forgotten.
#include "daemon/questions.hpp"

#include <gtest/gtest.h>

#include <boost/asio/post.hpp>
#include <string>
#include <vector>

namespace gar {
namespace {

class asked : public testing::Test {
 protected:
  // A question that takes so many steps; each is noted.
  questions::ticket ask(uint64_t user, const std::string& name, int steps) {
    return asks_.ask(
        user,
        [this, name, steps] {
          return stepwise_answer([this, name, left = steps](std::string& text) mutable {
            trace_.push_back(name);
            text = name + "!";
            return --left == 0;
          });
        },
        [this](std::string text) { trace_.push_back(std::move(text)); });
  }

  boost::asio::io_context io_;
  questions asks_{io_};
  std::vector<std::string> trace_;
};

using trace = std::vector<std::string>;

TEST_F(asked, nothing_is_begun_before_ask_returns) {
  ask(1, "a", 1);
  EXPECT_TRUE(trace_.empty());
  io_.run();
  EXPECT_EQ(trace_, (trace{"a", "a!"}));
}

TEST_F(asked, a_users_questions_are_answered_one_after_the_other) {
  ask(1, "a", 2);
  ask(1, "b", 1);
  io_.run();
  EXPECT_EQ(trace_, (trace{"a", "a", "a!", "b", "b!"}));
}

TEST_F(asked, users_have_their_turns_however_much_one_asks) {
  for (int i = 0; i < 100; ++i) ask(1, "a", 100);
  ask(2, "b", 2);
  while (trace_.empty() || trace_.back() != "b!") io_.run_one();
  EXPECT_LE(trace_.size(), 6u);
}

TEST_F(asked, what_else_is_ready_runs_between_two_steps) {
  ask(1, "a", 3);
  bool ran = false;
  io_.run_one();
  boost::asio::post(io_, [&] {
    ran = true;
    EXPECT_LE(trace_.size(), 2u);
  });
  io_.run();
  EXPECT_TRUE(ran);
}

TEST_F(asked, what_is_forgotten_is_not_answered) {
  ask(1, "a", 1);
  const questions::ticket forgotten = ask(1, "b", 1);
  ask(1, "c", 1);
  asks_.forget(1, forgotten);
  asks_.forget(1, forgotten);
  asks_.forget(7, 1);
  io_.run();
  EXPECT_EQ(trace_, (trace{"a", "a!", "c", "c!"}));
}

TEST_F(asked, one_that_is_half_answered_can_be_forgotten) {
  const questions::ticket forgotten = ask(1, "a", 1000);
  io_.run_one();
  asks_.forget(1, forgotten);
  io_.run();
  EXPECT_EQ(trace_, (trace{"a"}));
}

TEST_F(asked, an_answer_may_ask_again) {
  asks_.ask(
      1, [] { return stepwise_answer(std::string("first")); },
      [this](const std::string&) { ask(1, "second", 1); });
  io_.run();
  EXPECT_EQ(trace_, (trace{"second", "second!"}));
}

}  // namespace
}  // namespace gar
