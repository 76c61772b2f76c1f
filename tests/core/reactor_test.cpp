// One turn of the reactor, step by step, on virtual time.
#include "lib/core/reactor.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/core/virtual_world.hpp"

namespace gar {
namespace {

constexpr instant at_us(uint64_t us) {
  return instant{} + from_us(us);
}

class reactor_turns : public testing::Test {
 protected:
  turned turn_once() { return turn(owner, clock, idle); }
  // Turns until nothing is registered, at most `turns_max`.
  int turn_to_empty(int turns_max = 10'000) {
    for (int i = 0; i < turns_max; ++i) {
      if (turn_once() == turned::empty) return i;
    }
    ADD_FAILURE() << "still turning";
    return turns_max;
  }
  const std::vector<test::idle_record>& idles() const { return script.log; }

  test::virtual_world world;
  test::idle_script script{&world, {}, false, 0, {}, 0, {100}};
  test::world_clock clock{&world};
  test::world_idle idle{&script};
  reactor owner;
  std::string log;
  std::array<uint64_t, 8> word{};
};

struct names {
  std::string& log;
  char name;
};

reactor::task<> say(reactor&, names n) {
  n.log += n.name;
  co_return;
}

reactor::task<> wait_for_word(reactor& owner, names n, const uint64_t& word, instant deadline,
                              duration park = {}) {
  const reactor::woke why = co_await owner.wait(memory_descriptor(word, 1), deadline, park);
  n.log += n.name;
  n.log += why == reactor::woke::complete ? '+' : why == reactor::woke::deadline ? '-' : '?';
}

reactor::task<> wait_for_event(reactor& owner, std::vector<reactor::woke>& whys, int times) {
  for (int i = 0; i < times; ++i) {
    const reactor::woke why = co_await owner.wait_event();
    whys.push_back(why);
  }
}

TEST_F(reactor_turns, a_spawned_task_is_polled_once_and_not_before_its_turn) {
  owner.spawn(say(owner, {log, 'a'}));
  EXPECT_EQ(log, "");
  EXPECT_EQ(turn_once(), turned::empty);
  EXPECT_EQ(log, "a");
  EXPECT_EQ(owner.tasks(), 0u);
  EXPECT_EQ(owner.statistics().polls, 1u);
  EXPECT_EQ(owner.statistics().woken, 0u);
}

TEST_F(reactor_turns, a_task_that_waits_is_not_polled_until_it_is_woken) {
  owner.spawn(wait_for_word(owner, {log, 'a'}, word[0], instant::never()));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(turn_once(), turned::idled);
  EXPECT_EQ(owner.statistics().polls, 1u);
  proto::store_word(word[0], 1);
  EXPECT_EQ(turn_once(), turned::ran);
  EXPECT_EQ(log, "");
  EXPECT_EQ(turn_once(), turned::empty);
  EXPECT_EQ(log, "a+");
  EXPECT_EQ(owner.statistics().polls, 2u);
  EXPECT_EQ(owner.statistics().woken, 1u);
}

TEST_F(reactor_turns, one_look_wakes_every_complete_descriptor_and_every_passed_deadline) {
  owner.spawn(wait_for_word(owner, {log, 'a'}, word[0], instant::never()));
  owner.spawn(wait_for_word(owner, {log, 'b'}, word[1], at_us(10)));
  owner.spawn(wait_for_word(owner, {log, 'c'}, word[2], instant::never()));
  owner.spawn(wait_for_word(owner, {log, 'd'}, word[3], at_us(20)));
  owner.spawn(wait_for_word(owner, {log, 'e'}, word[4], at_us(500)));
  owner.run_ready();
  for (int i : {0, 2}) proto::store_word(word[i], 1);
  owner.advance(at_us(20));
  EXPECT_EQ(owner.look(), 4u);
  EXPECT_EQ(owner.statistics().woken, 4u) << "each once";
  owner.run_ready();
  EXPECT_EQ(log.size(), 8u);
  for (const char* said : {"a+", "b-", "c+", "d-"}) EXPECT_NE(log.find(said), std::string::npos);
  EXPECT_EQ(owner.armed(), 1u);
  EXPECT_EQ(owner.timers(), 1u);
}

TEST_F(reactor_turns, with_only_timers_it_sleeps_to_the_earliest) {
  for (uint64_t us : {70, 30, 50}) {
    owner.spawn(wait_for_word(owner, {log, 'x'}, word[0], at_us(us)));
  }
  // Words are waited for too, so far: this is a park.
  turn_once();
  EXPECT_EQ(idles().back().what, 'p');
  EXPECT_EQ(idles().back().until, at_us(30));
}

reactor::task<> sleep_to(reactor& owner, names n, instant at) {
  co_await owner.sleep_until(at);
  n.log += n.name;
}

TEST_F(reactor_turns, sleeps_end_in_order_each_at_its_deadline) {
  owner.spawn(sleep_to(owner, {log, 'c'}, at_us(70)));
  owner.spawn(sleep_to(owner, {log, 'a'}, at_us(30)));
  owner.spawn(sleep_to(owner, {log, 'b'}, at_us(50)));
  turn_to_empty();
  EXPECT_EQ(log, "abc");
  ASSERT_EQ(idles().size(), 3u);
  for (const test::idle_record& r : idles()) EXPECT_EQ(r.what, 's');
  EXPECT_EQ(idles()[0].until, at_us(30));
  EXPECT_EQ(idles()[1].until, at_us(50));
  EXPECT_EQ(idles()[2].until, at_us(70));
  EXPECT_EQ(owner.statistics().slept, 3u);
  EXPECT_EQ(owner.statistics().parked, 0u);
  EXPECT_EQ(owner.statistics().idle_ns, from_us(70).ns);
}

TEST_F(reactor_turns, a_timer_that_overshoots_wakes_all_it_passed) {
  script.overshoot = from_us(100);
  owner.spawn(sleep_to(owner, {log, 'a'}, at_us(30)));
  owner.spawn(sleep_to(owner, {log, 'b'}, at_us(90)));
  turn_to_empty();
  EXPECT_EQ(idles().size(), 1u);
  EXPECT_EQ(log, "ab");
}

TEST_F(reactor_turns, a_park_is_bounded_by_the_shortest_bound_and_the_earliest_deadline) {
  owner.spawn(wait_for_word(owner, {log, 'a'}, word[0], instant::never(), from_us(100)));
  turn_once();
  EXPECT_EQ(idles().back().until, at_us(100));
  owner.spawn(wait_for_word(owner, {log, 'b'}, word[1], instant::never(), from_us(40)));
  owner.spawn(wait_for_word(owner, {log, 'c'}, word[2], instant::never(), from_us(60)));
  turn_once();
  EXPECT_EQ(idles().back().until, at_us(140));
  owner.spawn(sleep_to(owner, {log, 'd'}, at_us(150)));
  turn_once();
  EXPECT_EQ(idles().back().until, at_us(150)) << "never past a deadline";
  // The shortest bound goes with its task.
  proto::store_word(word[1], 1);
  EXPECT_EQ(turn_once(), turned::ran);
  EXPECT_EQ(turn_once(), turned::idled);
  EXPECT_EQ(idles().back().until, at_us(210));
}

TEST_F(reactor_turns, a_park_without_a_bound_is_bounded_all_the_same) {
  owner.spawn(wait_for_word(owner, {log, 'a'}, word[0], instant::never()));
  turn_once();
  EXPECT_EQ(idles().back().until, instant{} + reactor::park_longest);
}

TEST_F(reactor_turns, a_store_to_any_descriptor_ends_the_park) {
  for (size_t ends = 0; ends < word.size(); ++ends) {
    word = {};
    log.clear();
    reactor fresh;
    for (size_t i = 0; i < word.size(); ++i) {
      fresh.spawn(
          wait_for_word(fresh, {log, static_cast<char>('a' + i)}, word[i], instant::never()));
    }
    const instant start = world.now();
    world.at(start - instant{} + from_us(5), [&] { proto::store_word(word[ends], 1); });
    fresh.advance(start);
    EXPECT_EQ(turn(fresh, clock, idle), turned::idled);
    EXPECT_EQ(world.now(), start + from_us(5));
    EXPECT_EQ(turn(fresh, clock, idle), turned::ran);
    fresh.run_ready();
    EXPECT_EQ(log, std::string(1, static_cast<char>('a' + ends)) + "+");
  }
}

// What it tells the idle port to expect, and when: a spin there costs CPU.

reactor::task<> sleep_then_wait(reactor& owner, const uint64_t& word, instant at) {
  co_await owner.sleep_until(at);
  co_await owner.wait(memory_descriptor(word, 1), at_us(1'000'000), from_us(100));
}

// Parks at most `park` at a time and comes back at each `look_every`, as at a backstop.
reactor::task<> park_again_and_again(reactor& owner, const uint64_t& word, duration look_every) {
  const memory_descriptor what(word, 1);
  while (!what.complete()) co_await owner.wait(what, owner.now() + look_every, from_us(100));
}

TEST_F(reactor_turns, a_wait_is_expected_when_it_came_and_not_at_each_park) {
  owner.spawn(park_again_and_again(owner, word[0], from_us(1000)));
  world.at(from_us(50'000), [&] { proto::store_word(word[0], 1); });
  turn_to_empty();
  EXPECT_GT(owner.statistics().parked, 400u);
  EXPECT_EQ(script.expected, std::vector<instant>{at_us(0)});
}

TEST_F(reactor_turns, a_wait_is_expected_when_its_sleep_ended) {
  owner.spawn(sleep_then_wait(owner, word[0], at_us(9'800)));
  world.at(from_us(10'000), [&] { proto::store_word(word[0], 1); });
  turn_to_empty();
  EXPECT_EQ(script.expected, std::vector<instant>{at_us(9'800)});
}

TEST_F(reactor_turns, a_word_that_came_makes_it_expect_the_others) {
  owner.spawn(park_again_and_again(owner, word[0], from_us(1000)));
  owner.spawn(park_again_and_again(owner, word[1], from_us(1000)));
  world.at(from_us(5'000), [&] { proto::store_word(word[0], 1); });
  world.at(from_us(7'000), [&] { proto::store_word(word[1], 1); });
  turn_to_empty();
  EXPECT_EQ(script.expected, (std::vector<instant>{at_us(0), at_us(5'000)}));
}

TEST_F(reactor_turns, a_request_ends_the_park_and_is_taken_before_the_next_look) {
  owner.spawn(wait_for_word(owner, {log, 'a'}, word[0], instant::never()));
  world.at(from_us(7), [&] { script.request = true; });
  auto take = [&] {
    if (!script.request) return false;
    script.request = false;
    owner.spawn(say(owner, {log, 'r'}));
    return true;
  };
  EXPECT_EQ(turn(owner, clock, idle, take), turned::idled);
  EXPECT_EQ(world.now(), at_us(7));
  EXPECT_EQ(turn(owner, clock, idle, take), turned::ran);
  EXPECT_EQ(turn(owner, clock, idle, take), turned::idled);
  EXPECT_EQ(log, "r");
}

TEST_F(reactor_turns, a_request_ends_the_sleep) {
  owner.spawn(sleep_to(owner, {log, 'a'}, at_us(1000)));
  world.at(from_us(7), [&] { script.request = true; });
  EXPECT_EQ(turn_once(), turned::idled);
  EXPECT_EQ(world.now(), at_us(7));
}

TEST_F(reactor_turns, requests_are_taken_after_preparing_and_before_idling) {
  // A ring between looking and arming is seen: what comes with the request is looked at first.
  owner.spawn(wait_for_word(owner, {log, 'a'}, word[0], instant::never()));
  owner.run_ready();
  uint64_t prepared_when_taken = 0;
  const turned how = turn(owner, clock, idle, [&] {
    prepared_when_taken = script.prepared;
    proto::store_word(word[0], 1);
    return false;
  });
  EXPECT_EQ(prepared_when_taken, 1u);
  EXPECT_EQ(how, turned::ran);
  EXPECT_TRUE(idles().empty());
}

TEST_F(reactor_turns, a_spurious_wake_at_each_park_polls_nobody) {
  owner.spawn(wait_for_word(owner, {log, 'a'}, word[0], instant::never(), from_us(100)));
  world.at(from_us(50), [&] { proto::store_word(word[0], 1); });
  script.spurious_parks = 30;
  turn_to_empty();
  EXPECT_EQ(log, "a+");
  EXPECT_EQ(world.now(), at_us(50));
  EXPECT_EQ(owner.statistics().polls, 2u);
  EXPECT_EQ(owner.statistics().woken, 1u);
  EXPECT_EQ(owner.statistics().parked, 31u);
}

TEST_F(reactor_turns, with_nothing_registered_it_says_so_and_does_not_idle) {
  EXPECT_EQ(turn_once(), turned::empty);
  std::vector<reactor::woke> whys;
  owner.spawn(wait_for_event(owner, whys, 1));
  EXPECT_EQ(turn_once(), turned::empty) << "a task that only an event can wake";
  EXPECT_EQ(owner.tasks(), 1u);
  EXPECT_TRUE(idles().empty());
}

TEST_F(reactor_turns, complete_wins_over_a_deadline_that_passed_too) {
  owner.spawn(wait_for_word(owner, {log, 'a'}, word[0], at_us(10)));
  owner.run_ready();
  proto::store_word(word[0], 1);
  owner.advance(at_us(10));
  EXPECT_EQ(owner.look(), 1u);
  owner.run_ready();
  EXPECT_EQ(log, "a+");
}

reactor::task<> wait_for_each(reactor& owner, names n, const uint64_t& word, uint64_t targets) {
  for (uint64_t t = 1; t <= targets; ++t) {
    co_await owner.wait(memory_descriptor(word, t));
    n.log += n.name;
  }
}

TEST_F(reactor_turns, a_stream_that_is_always_complete_starves_no_other) {
  proto::store_word(word[0], 1000);
  owner.spawn(wait_for_each(owner, {log, 'a'}, word[0], 4));
  owner.spawn(wait_for_each(owner, {log, 'b'}, word[0], 4));
  turn_to_empty();
  EXPECT_EQ(log, "abababab");
}

TEST_F(reactor_turns, a_later_store_completes_every_earlier_target) {
  owner.spawn(wait_for_each(owner, {log, 'a'}, word[0], 1));
  owner.spawn(wait_for_each(owner, {log, 'b'}, word[0], 3));
  owner.run_ready();
  proto::store_word(word[0], 3);
  turn_to_empty();
  EXPECT_EQ(log, "abbb");
}

TEST_F(reactor_turns, a_target_is_complete_the_moment_the_word_reaches_it) {
  owner.spawn(wait_for_each(owner, {log, 'a'}, word[0], 3));
  for (uint64_t value = 1; value <= 3; ++value) {
    proto::store_word(word[0], value);
    turn_once();
    turn_once();
    EXPECT_EQ(log.size(), value);
  }
}

reactor::task<> yield_times(reactor& owner, names n, int times) {
  for (int i = 0; i < times; ++i) {
    n.log += n.name;
    co_await owner.yield_now();
  }
}

TEST_F(reactor_turns, a_task_that_yields_runs_again_after_every_other_ready_task) {
  owner.spawn(yield_times(owner, {log, 'a'}, 3));
  owner.spawn(yield_times(owner, {log, 'b'}, 3));
  owner.spawn(yield_times(owner, {log, 'c'}, 3));
  turn_to_empty();
  EXPECT_EQ(log, "abcabcabc");
}

TEST_F(reactor_turns, what_became_ready_before_a_yield_runs_before_it_returns) {
  std::vector<reactor::woke> whys;
  struct waker {
    static reactor::task<> run(reactor& owner, std::string& log, reactor::root*& other) {
      owner.wake(*other);
      log += 'y';
      co_await owner.yield_now();
      log += 'z';
    }
  };
  struct woken {
    static reactor::task<> run(reactor& owner, std::string& log) {
      co_await owner.wait_event();
      log += 'w';
    }
  };
  reactor::root* other = owner.spawn(woken::run(owner, log));
  owner.run_ready();
  owner.spawn(waker::run(owner, log, other));
  turn_to_empty();
  EXPECT_EQ(log, "ywz");
}

TEST_F(reactor_turns, sliced_work_fills_the_wait_and_no_time_is_idled) {
  struct slices {
    static reactor::task<> run(reactor& owner, test::virtual_world& world, std::string& log) {
      for (int i = 0; i < 10; ++i) {
        world.run_to(world.now() + from_us(10));  // CPU work takes its time
        log += 's';
        co_await owner.yield_now();
      }
    }
  };
  owner.spawn(wait_for_word(owner, {log, 'w'}, word[0], instant::never()));
  owner.spawn(slices::run(owner, world, log));
  world.at(from_us(45), [&] { proto::store_word(word[0], 1); });
  turn_to_empty();
  EXPECT_EQ(log, "sssssw+sssss") << "the wait's task had its turn right after the slice";
  EXPECT_TRUE(idles().empty());
  EXPECT_EQ(owner.statistics().idle_ns, 0u);
}

TEST_F(reactor_turns, a_wake_resumes_a_waiting_task_with_the_event) {
  std::vector<reactor::woke> whys;
  reactor::root* who = owner.spawn(wait_for_event(owner, whys, 1));
  owner.run_ready();
  owner.wake(*who);
  owner.wake(*who);  // ready already: remembered, and its task ends before it can take it
  turn_once();
  EXPECT_EQ(whys, std::vector<reactor::woke>{reactor::woke::event});
  EXPECT_EQ(owner.statistics().woken, 1u);
}

TEST_F(reactor_turns, a_wake_that_came_too_early_is_remembered_once) {
  std::vector<reactor::woke> whys;
  reactor::root* who = owner.spawn(wait_for_event(owner, whys, 2));
  owner.wake(*who);
  owner.wake(*who);
  owner.wake(*who);
  EXPECT_EQ(turn_once(), turned::ran);
  EXPECT_EQ(turn_once(), turned::empty);
  EXPECT_EQ(whys.size(), 1u);
  EXPECT_EQ(owner.tasks(), 1u);
}

TEST_F(reactor_turns, a_wake_during_a_sleep_is_kept_for_the_next_wait) {
  struct sleeper {
    static reactor::task<> run(reactor& owner, std::vector<instant>& when,
                               std::vector<reactor::woke>& whys) {
      co_await owner.sleep_until(at_us(50));
      when.push_back(owner.now());
      const reactor::woke why = co_await owner.wait_event();
      whys.push_back(why);
    }
  };
  std::vector<instant> when;
  std::vector<reactor::woke> whys;
  reactor::root* who = owner.spawn(sleeper::run(owner, when, whys));
  owner.run_ready();
  owner.wake(*who);
  EXPECT_FALSE(owner.has_ready());
  turn_to_empty();
  EXPECT_EQ(when, std::vector<instant>{at_us(50)});
  EXPECT_EQ(whys, std::vector<reactor::woke>{reactor::woke::event});
}

TEST_F(reactor_turns, cancel_ends_a_wait_a_sleep_and_every_later_suspension) {
  struct stubborn {
    static reactor::task<> run(reactor& owner, const uint64_t& word,
                               std::vector<reactor::woke>& whys) {
      reactor::woke why = co_await owner.wait(memory_descriptor(word, 1));
      whys.push_back(why);
      why = co_await owner.sleep_until(at_us(1'000'000));
      whys.push_back(why);
      why = co_await owner.wait_event();
      whys.push_back(why);
    }
  };
  std::vector<reactor::woke> whys;
  reactor::root* who = owner.spawn(stubborn::run(owner, word[0], whys));
  owner.run_ready();
  owner.cancel(*who);
  turn_to_empty();
  EXPECT_EQ(whys, std::vector<reactor::woke>(3, reactor::woke::cancelled));
  EXPECT_EQ(owner.tasks(), 0u);
  EXPECT_EQ(owner.armed() + owner.timers(), 0u);
  EXPECT_EQ(world.now(), instant{});
}

TEST_F(reactor_turns, a_cancelled_task_that_does_not_listen_starves_no_other) {
  struct deaf {
    static reactor::task<> run(reactor& owner, bool& stop) {
      while (!stop) co_await owner.wait_event();
    }
  };
  bool stop = false;
  reactor::root* who = owner.spawn(deaf::run(owner, stop));
  owner.cancel(*who);
  owner.spawn(say(owner, {log, 'a'}));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(turn_once(), turned::ran);
  EXPECT_EQ(log, "a");
  stop = true;
  turn_to_empty();
}

struct says_when_destroyed {
  std::string* log;
  ~says_when_destroyed() { *log += 'd'; }
};

TEST_F(reactor_turns, a_task_can_be_forgotten_wherever_it_stands) {
  struct holder {
    static reactor::task<> run(reactor& owner, std::string& log, const uint64_t& word,
                               instant deadline) {
      says_when_destroyed guard{&log};
      co_await owner.wait(memory_descriptor(word, 1), deadline);
      log += 'r';
    }
  };
  reactor::root* spawned = owner.spawn(holder::run(owner, log, word[0], at_us(5)));
  owner.forget_root(*spawned);
  EXPECT_EQ(log, "") << "it never ran";
  reactor::root* waiting = owner.spawn(holder::run(owner, log, word[0], at_us(5)));
  reactor::root* woken = owner.spawn(holder::run(owner, log, word[1], at_us(5)));
  owner.run_ready();
  owner.forget_root(*waiting);
  EXPECT_EQ(log, "d");
  owner.wake(*woken);
  owner.forget_root(*woken);
  EXPECT_EQ(log, "dd");
  EXPECT_EQ(owner.tasks() + owner.armed() + owner.timers(), 0u);
  EXPECT_EQ(turn_once(), turned::empty);
  EXPECT_EQ(log, "dd");
}

TEST_F(reactor_turns, a_task_may_forget_another_that_is_about_to_run) {
  struct forgetter {
    static reactor::task<> run(reactor& owner, reactor::root*& other) {
      owner.forget_root(*other);
      co_return;
    }
  };
  reactor::root* other = nullptr;
  owner.spawn(forgetter::run(owner, other));
  other = owner.spawn(say(owner, {log, 'a'}));
  owner.spawn(say(owner, {log, 'b'}));
  turn_to_empty();
  EXPECT_EQ(log, "b");
}

// Waits for a word, yields once, and ends.
struct bare_task : reactor::pending {
  bare_task(std::string& to, const uint64_t& awaited) : log(&to), word(&awaited) { on_turn = step; }

  static void step(reactor& owner, reactor::pending& who) {
    auto& self = static_cast<bare_task&>(who);
    const char* const steps = "wye";
    const char now = steps[self.steps++];
    *self.log += now;
    if (now == 'w') return owner.suspend(self, {memory_descriptor(*self.word, 1), at_us(500), {}});
    if (now == 'y') return owner.yield(self);
    owner.ended(self);
  }

  std::string* log;
  const uint64_t* word;
  int steps = 0;
};

TEST_F(reactor_turns, a_task_that_is_no_coroutine_is_one_among_them) {
  bare_task bare(log, word[0]);
  owner.start(bare);
  owner.spawn(wait_for_word(owner, {log, 'a'}, word[0], instant::never()));
  EXPECT_EQ(owner.tasks(), 2u);
  EXPECT_EQ(log, "");
  turn_once();
  EXPECT_EQ(owner.armed(), 2u);
  proto::store_word(word[0], 1);
  turn_to_empty();
  EXPECT_EQ(log, "wya+e") << "what yields comes behind what is ready";
  EXPECT_EQ(bare.parked_before, 0u);
  EXPECT_EQ(owner.tasks() + owner.armed() + owner.timers(), 0u);
  EXPECT_EQ(owner.statistics().polls, 2 + owner.statistics().woken);
}

TEST_F(reactor_turns, a_task_that_is_no_coroutine_can_be_forgotten_wherever_it_stands) {
  bare_task fresh(log, word[0]);
  bare_task waits(log, word[0]);
  owner.start(waits);
  turn_once();
  owner.start(fresh);
  owner.forget(fresh);
  owner.forget(waits);
  proto::store_word(word[0], 1);
  EXPECT_EQ(turn_once(), turned::empty);
  EXPECT_EQ(log, "w");
  EXPECT_EQ(owner.tasks() + owner.armed() + owner.timers(), 0u);
}

TEST_F(reactor_turns, tasks_spawned_by_a_running_task_run_in_the_next_turn) {
  struct spawner {
    static reactor::task<> run(reactor& owner, std::string& log, int many) {
      for (int i = 0; i < many; ++i) owner.spawn(say(owner, {log, 'c'}));
      log += 'p';
      co_return;
    }
  };
  owner.spawn(spawner::run(owner, log, 1000));
  owner.spawn(say(owner, {log, 'q'}));
  turn_to_empty();
  EXPECT_EQ(log, "pq" + std::string(1000, 'c'));
}

TEST_F(reactor_turns, what_left_a_task_is_kept_oldest_first_and_the_others_go_on) {
  struct thrower {
    static reactor::task<> run(reactor&, std::string what) {
      throw std::runtime_error(what);
      co_return;
    }
  };
  owner.spawn(thrower::run(owner, "one"));
  owner.spawn(say(owner, {log, 'a'}));
  owner.spawn(thrower::run(owner, "two"));
  turn_to_empty();
  EXPECT_EQ(log, "a");
  for (std::string expected : {"one", "two"}) {
    try {
      std::rethrow_exception(owner.take_failure());
    } catch (const std::runtime_error& e) {
      EXPECT_EQ(e.what(), expected);
    }
  }
  EXPECT_EQ(owner.take_failure(), nullptr);
}

TEST_F(reactor_turns, what_is_left_at_the_end_is_destroyed) {
  struct holder {
    static reactor::task<> run(reactor& owner, std::string& log) {
      says_when_destroyed guard{&log};
      co_await owner.wait_event();
    }
  };
  {
    reactor short_lived;
    short_lived.spawn(holder::run(short_lived, log));
    short_lived.spawn(holder::run(short_lived, log));
    short_lived.run_ready();
  }
  EXPECT_EQ(log, "dd");
}

TEST_F(reactor_turns, roots_and_frames_are_used_again) {
  uint64_t made = 0;
  for (int i = 0; i < 100; ++i) {
    owner.spawn(sleep_to(owner, {log, 'a'}, world.now() + from_us(1)));
    turn_to_empty();
    if (i == 0) made = owner.frames().frames_made();
  }
  EXPECT_EQ(owner.frames().frames_made(), made);
  EXPECT_EQ(made, 1u);
}

TEST_F(reactor_turns, the_tasks_of_a_turn_see_one_time) {
  struct clocked {
    static reactor::task<> run(reactor& owner, test::virtual_world& world,
                               std::vector<instant>& seen) {
      seen.push_back(owner.now());
      world.run_to(world.now() + from_us(10));
      seen.push_back(owner.now());
      co_return;
    }
  };
  std::vector<instant> seen;
  owner.spawn(clocked::run(owner, world, seen));
  owner.spawn(clocked::run(owner, world, seen));
  turn_once();
  EXPECT_EQ(seen, std::vector<instant>(4, instant{}));
  EXPECT_EQ(owner.now(), at_us(20)) << "the look after them saw the time move on";
}

// Random tasks, stores, requests and cancellations; safety is checked at each idle.
TEST(reactor_swarm, nobody_oversleeps_nobody_is_lost) {
  const char* given = std::getenv("GAR_TEST_SEED");
  const uint64_t seed = given ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::printf("GAR_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  SCOPED_TRACE("GAR_TEST_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 50; ++round) {
    test::executor_world w;
    constexpr size_t streams = 12;
    std::array<uint64_t, streams> words{};
    std::array<uint64_t, streams> ended{};
    w.idle.overshoot = {random() % 3 * 500};
    w.idle.spurious_parks = random() % 20;
    struct one {
      static reactor::task<> run(reactor& owner, std::mt19937_64& random, const uint64_t& word,
                                 uint64_t& ended) {
        for (uint64_t target = 1; target <= 10; ++target) {
          const duration park{1 + random() % 100'000};
          const instant deadline =
              random() % 2 ? owner.now() + duration{random() % 300'000} : instant::never();
          const reactor::woke why =
              co_await owner.wait(memory_descriptor(word, target), deadline, park);
          if (why == reactor::woke::complete) {
            EXPECT_TRUE(reached(word, target));
          }
          if (why == reactor::woke::deadline) {
            EXPECT_GE(owner.now(), deadline);
          }
          if (random() % 4 == 0) co_await owner.yield_now();
          ++ended;
        }
      }
    };
    for (size_t i = 0; i < streams; ++i) {
      w.executor.host().spawn(one::run(w.executor.host(), random, words[i], ended[i]));
      duration at{};
      for (uint64_t value = 1; value <= 10; ++value) {
        at = at + duration{random() % 200'000};
        w.world.at(at, [&words, i, value] { proto::store_word(words[i], value); });
      }
    }
    result<run_statistics> ran = w.executor.run();
    ASSERT_TRUE(ran.has_value());
    for (uint64_t e : ended) ASSERT_EQ(e, 10u);
    EXPECT_EQ(ran->polls, streams + ran->woken);
    duration idled{};
    for (const test::idle_record& r : w.idle.log) {
      idled = idled + (r.back - r.from);
      if (r.what == 'p') {
        ASSERT_LE(r.until - r.from, from_us(100)) << "no park above the bounds of its tasks";
      }
    }
    EXPECT_EQ(ran->idle_ns, idled.ns);
    EXPECT_EQ(ran->parked + ran->slept, w.idle.log.size());
  }
}

}  // namespace
}  // namespace gar
