// The executor: spawn, run, block_on, run_inline, yield_now, statistics; tasks that throw.
#include "lib/core/executor.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "tests/core/virtual_world.hpp"

namespace gar {
namespace {

using test::executor_world;
using test::world_executor;

constexpr instant at_us(uint64_t us) {
  return instant{} + from_us(us);
}

world_executor::task<int> answer(world_executor&) {
  co_return 42;
}

world_executor::task<int> sleep_then(world_executor& ex, duration by, int value) {
  co_await ex.sleep_for(by);
  co_return value;
}

world_executor::task<int> sum_of_two(world_executor& ex) {
  const int a = co_await sleep_then(ex, from_us(10), 1);
  const int b = co_await sleep_then(ex, from_us(20), 2);
  co_return a + b;
}

world_executor::task<> note(world_executor& ex, duration by, std::string& log, char name) {
  co_await ex.sleep_for(by);
  log += name;
}

world_executor::task<> never_ends(world_executor& ex) {
  co_await ex.host().wait_event();
}

world_executor::task<int> throws_after(world_executor& ex, duration by) {
  co_await ex.sleep_for(by);
  throw std::runtime_error("as told");
  co_return 0;
}

world_executor::task<int> catches(world_executor& ex) {
  int caught = 0;
  try {
    caught = co_await throws_after(ex, from_us(5));
  } catch (const std::runtime_error&) {
    caught = 7;
  }
  co_return caught;
}

TEST(executor, block_on_gives_what_the_task_returns) {
  executor_world w;
  EXPECT_EQ(*w.executor.block_on(answer(w.executor)), 42);
  EXPECT_EQ(*w.executor.block_on(sum_of_two(w.executor)), 3);
  EXPECT_EQ(w.world.now(), at_us(30));
}

world_executor::task<result<int>> refuses(world_executor&) {
  co_return error(errc::Cancelled);
}
world_executor::task<> nothing(world_executor&) {
  co_return;
}
world_executor::task<std::unique_ptr<int>> moves(world_executor&) {
  co_return std::make_unique<int>(5);
}

TEST(executor, block_on_takes_results_nothing_and_what_only_moves) {
  executor_world w;
  EXPECT_EQ(w.executor.block_on(refuses(w.executor)).error().code(), errc::Cancelled);
  EXPECT_TRUE(w.executor.block_on(nothing(w.executor)).has_value());
  EXPECT_EQ(**w.executor.block_on(moves(w.executor)), 5);
}

TEST(executor, other_tasks_have_their_turns_while_one_is_blocked_on) {
  executor_world w;
  std::string log;
  w.executor.spawn(note(w.executor, from_us(10), log, 'a'));
  w.executor.spawn(note(w.executor, from_us(90), log, 'z'));
  EXPECT_EQ(*w.executor.block_on(sleep_then(w.executor, from_us(50), 1)), 1);
  EXPECT_EQ(log, "a");
  EXPECT_TRUE(w.executor.run().has_value());
  EXPECT_EQ(log, "az");
}

TEST(executor, run_ends_when_no_task_is_left_and_counts_that_run_alone) {
  executor_world w;
  std::string log;
  EXPECT_TRUE(w.executor.run().has_value()) << "nothing to do is done at once";
  for (int round = 0; round < 2; ++round) {
    w.executor.spawn(note(w.executor, from_us(10), log, 'a'));
    const result<run_statistics> ran = w.executor.run();
    ASSERT_TRUE(ran.has_value());
    EXPECT_EQ(ran->polls, 2u);
    EXPECT_EQ(ran->woken, 1u);
    EXPECT_EQ(ran->slept, 1u);
    EXPECT_EQ(ran->parked, 0u);
    EXPECT_EQ(ran->idle_ns, from_us(10).ns);
  }
  EXPECT_EQ(w.executor.statistics().polls, 4u);
}

TEST(executor, a_run_whose_tasks_nothing_can_wake_is_stalled) {
  executor_world w;
  std::string log;
  w.executor.spawn(never_ends(w.executor));
  w.executor.spawn(note(w.executor, from_us(10), log, 'a'));
  w.executor.spawn(never_ends(w.executor));
  const result<run_statistics> ran = w.executor.run();
  ASSERT_TRUE(ran.has_error());
  EXPECT_EQ(ran.error(), error(errc::Stalled, {"2"}));
  EXPECT_EQ(log, "a") << "not before everything else was done";
  EXPECT_EQ(ran.error().text(),
            "2 tasks are left and none of them waits for anything that can happen");
}

TEST(executor, a_stalled_block_on_leaves_nothing_of_its_task) {
  executor_world w;
  for (int i = 0; i < 3; ++i) {
    const result<void> r = w.executor.block_on(never_ends(w.executor));
    ASSERT_TRUE(r.has_error());
    EXPECT_EQ(r.error(), error(errc::Stalled, {"1"}));
    EXPECT_EQ(w.executor.host().tasks(), 0u);
  }
  EXPECT_TRUE(w.executor.run().has_value());
}

TEST(executor, an_exception_leaves_block_on_and_the_executor_goes_on) {
  executor_world w;
  EXPECT_THROW((void)w.executor.block_on(throws_after(w.executor, from_us(5))), std::runtime_error);
  EXPECT_EQ(w.executor.host().tasks(), 0u);
  EXPECT_EQ(*w.executor.block_on(answer(w.executor)), 42);
}

world_executor::task<> fails(world_executor& ex, duration by) {
  (void)co_await throws_after(ex, by);
}

TEST(executor, an_exception_of_a_spawned_task_leaves_run_and_the_rest_can_still_run) {
  executor_world w;
  std::string log;
  w.executor.spawn(fails(w.executor, from_us(5)));
  w.executor.spawn(fails(w.executor, from_us(5)));
  w.executor.spawn(note(w.executor, from_us(50), log, 'a'));
  EXPECT_THROW((void)w.executor.run(), std::runtime_error);
  EXPECT_THROW((void)w.executor.run(), std::runtime_error) << "the second is not swallowed";
  EXPECT_TRUE(w.executor.run().has_value());
  EXPECT_EQ(log, "a");
}

TEST(executor, another_tasks_exception_leaves_block_on_and_its_task_is_forgotten) {
  executor_world w;
  w.executor.spawn(fails(w.executor, from_us(5)));
  EXPECT_THROW((void)w.executor.block_on(sleep_then(w.executor, from_us(50), 1)),
               std::runtime_error);
  EXPECT_EQ(w.executor.host().tasks(), 0u);
}

TEST(executor, an_exception_is_thrown_where_the_task_is_awaited) {
  executor_world w;
  EXPECT_EQ(*w.executor.block_on(catches(w.executor)), 7);
}

TEST(executor, run_inline_runs_on_the_spot) {
  executor_world w;
  EXPECT_EQ(*w.executor.run_inline(answer(w.executor), "here"), 42);
  EXPECT_TRUE(w.executor.run_inline(nothing(w.executor), "here").has_value());
  EXPECT_EQ(w.executor.run_inline(refuses(w.executor), "here").error().code(), errc::Cancelled);
  EXPECT_EQ(w.executor.statistics().polls, 0u);
}

world_executor::task<int> waits_for(world_executor& ex, const uint64_t& word, instant deadline) {
  const reactor::woke why = co_await ex.wait(memory_descriptor(word, 1), deadline);
  co_return static_cast<int>(why);
}

TEST(executor, run_inline_takes_what_is_there_already) {
  executor_world w;
  w.world.clock.advance(from_us(10));
  uint64_t word = 1;
  EXPECT_EQ(*w.executor.run_inline(waits_for(w.executor, word, instant::never()), "here"),
            static_cast<int>(reactor::woke::complete));
  word = 0;
  EXPECT_EQ(*w.executor.run_inline(waits_for(w.executor, word, at_us(10)), "here"),
            static_cast<int>(reactor::woke::deadline));
}

TEST(executor, run_inline_of_a_task_that_pends_is_an_error_and_never_a_hang) {
  executor_world w;
  uint64_t word = 0;
  const result<int> r =
      w.executor.run_inline(waits_for(w.executor, word, at_us(10)), "the start of main");
  ASSERT_TRUE(r.has_error());
  EXPECT_EQ(r.error(), error(errc::PendedInline, {"the start of main"}));
  EXPECT_EQ(w.executor.host().tasks(), 0u);
  EXPECT_EQ(w.executor.host().armed() + w.executor.host().timers(), 0u);
  const result<int> nested = w.executor.run_inline(sum_of_two(w.executor), "nested");
  EXPECT_EQ(nested.error().code(), errc::PendedInline);
}

world_executor::task<> yields(world_executor& ex, std::string& log) {
  co_await ex.yield_now();
  log += 'i';
}

TEST(executor, a_yield_inline_has_nobody_to_give_way_to) {
  executor_world w;
  std::string log;
  EXPECT_TRUE(w.executor.run_inline(yields(w.executor, log), "here").has_value());
  EXPECT_EQ(log, "i");
}

world_executor::task<> spawns(world_executor& ex, std::string& log) {
  ex.spawn(note(ex, from_us(1), log, 'c'));
  log += 'p';
  co_return;
}

TEST(executor, a_task_may_spawn) {
  executor_world w;
  std::string log;
  w.executor.spawn(spawns(w.executor, log));
  EXPECT_TRUE(w.executor.run().has_value());
  EXPECT_EQ(log, "pc");
}

world_executor::task<> slices(world_executor& ex, executor_world& w, std::string& log) {
  for (int i = 0; i < 6; ++i) {
    w.world.run_to(w.world.now() + from_us(10));
    log += 's';
    co_await ex.yield_now();
  }
}

world_executor::task<> waits_and_notes(world_executor& ex, const uint64_t& word, std::string& log,
                                       char name) {
  co_await ex.wait(memory_descriptor(word, 1));
  log += name;
}

TEST(executor, three_waits_and_sliced_work_share_one_thread) {
  executor_world w;
  std::string log;
  uint64_t words[3] = {};
  for (uint64_t i = 0; i < 3; ++i) {
    w.world.at(from_us(15 + 40 * i), [&words, i] { proto::store_word(words[i], 1); });
    w.executor.spawn(waits_and_notes(w.executor, words[i], log, static_cast<char>('a' + i)));
  }
  w.executor.spawn(slices(w.executor, w, log));
  const result<run_statistics> ran = w.executor.run();
  ASSERT_TRUE(ran.has_value());
  EXPECT_EQ(log, "ssassssbc");
  EXPECT_EQ(w.world.now(), at_us(95));
  EXPECT_EQ(ran->parked, 1u) << "only the last wait had nothing to fill it";
  EXPECT_EQ(ran->idle_ns, from_us(35).ns);
}

TEST(executor, frames_are_pooled) {
  executor_world w;
  (void)w.executor.block_on(sum_of_two(w.executor));
  const uint64_t made = w.executor.frames().frames_made();
  EXPECT_GT(made, 0u);
  for (int i = 0; i < 100; ++i) (void)w.executor.block_on(sum_of_two(w.executor));
  EXPECT_EQ(w.executor.frames().frames_made(), made);
}

TEST(executor_death, a_task_must_not_run_its_own_executor) {
  struct nested {
    static world_executor::task<> run(world_executor& ex) {
      (void)ex.block_on(answer(ex));
      co_return;
    }
  };
  EXPECT_DEATH(
      {
        executor_world w;
        w.executor.spawn(nested::run(w.executor));
        (void)w.executor.run();
      },
      "assertion failed");
}

}  // namespace
}  // namespace gar
