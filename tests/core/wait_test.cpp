// The one wait driver, over a scripted device on virtual time.
#include "lib/core/wait.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "lib/core/inline_host.hpp"
#include "tests/core/virtual_world.hpp"

namespace gar {
namespace {

using test::blocking_port;
using test::device_script;
using test::virtual_world;

constexpr instant at_us(uint64_t us) {
  return instant{} + from_us(us);
}

const plan block_plan{park_kind::block, {}, {}, {}};
const plan poll_plan{park_kind::poll, {}, {}, {}};
const plan flag_plan{park_kind::flag, from_us(100), from_ms(10), {}};

class wait : public testing::Test {
 protected:
  result<wait_report> run(const plan& how, duration sleep = {},
                          instant deadline = instant::never()) {
    inline_host host;
    blocking_port port(world, device);
    manual_timer timer(world.clock, timer_overshoots);
    device.deadline = deadline;
    wait_request request;
    request.how = how;
    request.sleep = sleep;
    request.sequence = 1;
    request.start = world.now();
    request.deadline = deadline;
    result<wait_report> r = host.run(run_wait(host, request, port, world.clock, timer), "wait");
    sleeps = timer.sleeps();
    return r;
  }
  void done_and_stored_at(uint64_t us) { device.done_at = device.store_at = at_us(us); }

  virtual_world world;
  device_script device;
  duration timer_overshoots;
  uint64_t sleeps = 0;
};

TEST_F(wait, block_is_the_ports_blocking_wait_and_nothing_else) {
  done_and_stored_at(300);
  const auto r = run(block_plan);
  ASSERT_TRUE(r.has_value());
  EXPECT_EQ(device.log, "B");
  EXPECT_EQ(r->kind, wait_kind::blocked);
  EXPECT_EQ(r->sample, sample::none());
  EXPECT_EQ(r->wait, from_us(300));
  EXPECT_EQ(r->slept, duration{});
}

TEST_F(wait, what_is_done_already_is_immediate_under_poll_and_flag) {
  done_and_stored_at(0);
  for (const plan& how : {poll_plan, flag_plan}) {
    device.log.clear();
    const auto r = run(how, from_us(50));
    ASSERT_TRUE(r.has_value());
    EXPECT_EQ(device.log, "Q") << "one query; nothing armed, nothing slept";
    EXPECT_EQ(r->kind, wait_kind::immediate);
    EXPECT_EQ(r->sample, sample::exact({}));
    EXPECT_EQ(sleeps, 0u);
  }
}

TEST_F(wait, the_first_query_of_an_aged_wait_records_the_whole_residual) {
  world.clock.advance(from_us(70));
  done_and_stored_at(60);
  inline_host host;
  blocking_port port(world, device);
  manual_timer timer(world.clock);
  wait_request request{poll_plan, {}, 1, at_us(20), instant::never()};
  const auto r = host.run(run_wait(host, request, port, world.clock, timer), "wait");
  EXPECT_EQ(r->kind, wait_kind::immediate);
  EXPECT_EQ(r->sample, sample::exact(from_us(50)));
}

TEST_F(wait, poll_queries_to_done) {
  done_and_stored_at(300);
  const auto r = run(poll_plan);
  ASSERT_TRUE(r.has_value());
  EXPECT_EQ(device.log, "QP");
  EXPECT_EQ(r->kind, wait_kind::parked);
  EXPECT_EQ(r->sample, sample::exact(from_us(300)));
  EXPECT_EQ(r->parks, 0u);
}

TEST_F(wait, flag_arms_parks_and_asks_the_authority) {
  done_and_stored_at(250);
  const auto r = run(flag_plan);
  ASSERT_TRUE(r.has_value());
  EXPECT_EQ(device.log, "QAKKKQ");
  EXPECT_EQ(r->kind, wait_kind::parked);
  EXPECT_EQ(r->sample, sample::exact(from_us(250)));
  EXPECT_EQ(r->parks, 3u);
  EXPECT_EQ(r->backstop_queries, 0u);
  EXPECT_EQ(r->early_words, 0u);
}

TEST_F(wait, a_sleep_that_ends_before_the_work_goes_on_to_the_park) {
  done_and_stored_at(250);
  const auto r = run(flag_plan, from_us(200));
  ASSERT_TRUE(r.has_value());
  EXPECT_EQ(device.log, "QAQKQ") << "armed before the sleep, one query after it";
  EXPECT_EQ(r->kind, wait_kind::parked);
  EXPECT_EQ(r->slept, from_us(200));
  EXPECT_EQ(r->wait, from_us(250));
}

TEST_F(wait, a_poll_with_a_sleep_sleeps_first) {
  done_and_stored_at(250);
  const auto r = run(poll_plan, from_us(200));
  EXPECT_EQ(device.log, "QQP");
  EXPECT_EQ(r->kind, wait_kind::parked);
  EXPECT_EQ(r->slept, from_us(200));
}

TEST_F(wait, what_the_sleep_overslept_is_late_and_its_sample_is_censored) {
  done_and_stored_at(150);
  const auto r = run(flag_plan, from_us(200));
  ASSERT_TRUE(r.has_value());
  EXPECT_EQ(device.log, "QAQ");
  EXPECT_EQ(r->kind, wait_kind::late);
  EXPECT_EQ(r->sample, sample::late(from_us(200)));
  EXPECT_EQ(r->slept, from_us(200));
  EXPECT_EQ(r->parks, 0u);
}

TEST_F(wait, a_timer_that_overshoots_makes_a_late_wait_and_does_not_feed_back) {
  done_and_stored_at(250);
  timer_overshoots = from_us(5000);
  const auto r = run(flag_plan, from_us(200));
  ASSERT_TRUE(r.has_value());
  EXPECT_EQ(r->kind, wait_kind::late);
  EXPECT_EQ(r->slept, from_us(5200));
  estimator e;
  e.record(sample::exact(from_us(400)), 8);
  e.record(r->sample, 8);
  EXPECT_EQ(e.predicted(8), from_us(200)) << "half of the prediction, whatever the timer did";
}

TEST_F(wait, the_sleep_is_counted_from_the_start_of_the_wait) {
  done_and_stored_at(500);
  device.verb_takes = from_us(30);
  const auto r = run(flag_plan, from_us(200));
  EXPECT_EQ(r->slept, from_us(140)) << "query and arm took 60 of the 200";
}

TEST_F(wait, a_sleep_whose_end_has_passed_is_none) {
  done_and_stored_at(500);
  device.verb_takes = from_us(150);
  const auto r = run(flag_plan, from_us(200));
  ASSERT_TRUE(r.has_value());
  EXPECT_EQ(r->slept, duration{});
  EXPECT_EQ(sleeps, 0u);
  EXPECT_EQ(device.log.substr(0, 3), "QAK");
}

// It was seen pending, then done, and nothing overslept: what it took is its residual.
TEST_F(wait, what_ends_without_the_sleep_it_had_no_time_for_is_not_late) {
  done_and_stored_at(210);
  device.verb_takes = from_us(100);
  for (const plan& how : {poll_plan, flag_plan}) {
    world = {};
    const auto r = run(how, from_us(100));
    ASSERT_TRUE(r.has_value());
    EXPECT_EQ(r->kind, wait_kind::parked);
    EXPECT_EQ(r->sample, sample::exact(r->wait));
  }
}

TEST_F(wait, no_park_is_longer_than_the_bound_or_what_is_left_to_the_backstop) {
  done_and_stored_at(1000);
  const plan how{park_kind::flag, from_us(100), from_us(250), {}};
  const auto r = run(how);
  ASSERT_TRUE(r.has_value());
  // 100 100 50 | query | 100 100 50 | query ...
  ASSERT_EQ(device.bounds.size(), 12u);
  for (size_t i = 0; i < device.bounds.size(); ++i) {
    EXPECT_EQ(device.bounds[i].park, from_us(i % 3 == 2 ? 50 : 100)) << i;
    EXPECT_EQ(device.bounds[i].backstop, from_us(250 - 100 * (i % 3))) << i;
  }
  EXPECT_EQ(device.log, "QAKKKQKKKQKKKQKKKQ");
  EXPECT_EQ(r->backstop_queries, 3u);
}

TEST_F(wait, a_backstop_shorter_than_the_park_bounds_the_park) {
  device.done_at = at_us(100);
  const auto r = run({park_kind::flag, from_us(100), from_us(30), {}});
  EXPECT_EQ(r->wait, from_us(120));
  for (const park_bound& b : device.bounds) EXPECT_LE(b.park, from_us(30));
}

TEST_F(wait, a_lost_store_costs_at_most_one_backstop) {
  for (uint64_t done_us : {1, 50, 9'999, 10'000, 10'001, 15'000, 25'000}) {
    world = {};
    device = {};
    device.done_at = at_us(done_us);
    const auto r = run(flag_plan);
    ASSERT_TRUE(r.has_value());
    EXPECT_EQ(r->kind, wait_kind::parked);
    EXPECT_GE(r->wait, from_us(done_us));
    EXPECT_LE(r->wait, from_us(done_us) + flag_plan.backstop) << done_us;
    EXPECT_EQ(r->backstop_queries, (done_us + 9'999) / 10'000) << done_us;
  }
}

TEST_F(wait, a_lost_store_right_after_the_arming_costs_exactly_one_backstop) {
  device.done_at = at_us(1);
  const auto r = run(flag_plan);
  EXPECT_EQ(r->wait, flag_plan.backstop);
  EXPECT_EQ(r->backstop_queries, 1u);
  EXPECT_EQ(r->parks, 100u);
}

TEST_F(wait, a_late_store_ends_by_whichever_of_store_and_backstop_comes_first) {
  device.done_at = at_us(100);
  device.store_at = at_us(700);
  const auto by_store = run(flag_plan);
  EXPECT_EQ(by_store->wait, from_us(700));
  EXPECT_EQ(by_store->backstop_queries, 0u);

  world = {};
  const auto by_backstop = run({park_kind::flag, from_us(100), from_us(500), {}});
  EXPECT_EQ(by_backstop->wait, from_us(500));
  EXPECT_EQ(by_backstop->backstop_queries, 1u);
}

TEST_F(wait, a_word_that_comes_before_the_work_is_done_is_never_a_success) {
  device.store_at = at_us(50);
  device.done_at = at_us(800);
  const auto r = run(flag_plan);
  ASSERT_TRUE(r.has_value());
  EXPECT_EQ(device.log, "QAKQP") << "the authority said pending: query to done";
  EXPECT_EQ(r->wait, from_us(800));
  EXPECT_EQ(r->early_words, 1u);
}

TEST_F(wait, a_spurious_wake_at_each_park_changes_nothing_but_the_count) {
  for (uint32_t spurious = 0; spurious < 20; ++spurious) {
    world = {};
    device = {};
    done_and_stored_at(250);
    device.spurious_parks = spurious;
    const auto r = run(flag_plan);
    ASSERT_TRUE(r.has_value());
    EXPECT_EQ(r->wait, from_us(250));
    EXPECT_EQ(r->parks, 3 + spurious);
    EXPECT_EQ(r->backstop_queries, 0u);
  }
}

TEST_F(wait, a_park_that_overshoots_still_meets_the_backstop) {
  device.done_at = at_us(100);
  device.park_overshoots = from_us(30'000);
  const auto r = run(flag_plan);
  EXPECT_EQ(r->parks, 1u);
  EXPECT_EQ(r->backstop_queries, 1u);
}

TEST_F(wait, after_a_device_fault_the_backstops_query_finds_it) {
  device.fault_at = at_us(400);
  const auto r = run(flag_plan);
  ASSERT_TRUE(r.has_error());
  EXPECT_EQ(r.error(), test::device_error("query"));
  EXPECT_EQ(world.now(), at_us(10'000));
}

TEST_F(wait, a_port_that_fails_at_any_verb_ends_the_wait_with_its_error_unchanged) {
  struct row {
    const char* verb;
    plan how;
    const char* log;
  };
  for (const row& r :
       {row{"block", block_plan, "B"}, row{"query", poll_plan, "Q"}, row{"query", flag_plan, "Q"},
        row{"arm", flag_plan, "QA"}, row{"poll", poll_plan, "QP"}, row{"park", flag_plan, "QAK"}}) {
    world = {};
    device = {};
    device.failing = r.verb;
    const auto ended = run(r.how);
    ASSERT_TRUE(ended.has_error()) << r.verb;
    EXPECT_EQ(ended.error(), test::device_error(r.verb));
    EXPECT_EQ(ended.error().os_number(), 700);
    EXPECT_EQ(device.log, r.log);
  }
}

TEST_F(wait, a_fault_found_by_any_later_query_ends_the_wait) {
  // After the sleep; after an early word.
  device.fault_at = at_us(150);
  EXPECT_EQ(run(flag_plan, from_us(200)).error(), test::device_error("query"));
  EXPECT_EQ(device.log, "QAQ");
  world = {};
  device = {};
  device.store_at = at_us(50);
  device.fault_at = at_us(50);
  EXPECT_EQ(run(flag_plan).error(), test::device_error("query"));
  EXPECT_EQ(device.log, "QAKQ");
}

struct failing_timer {
  result<void> sleep_until(instant) { return error(errc::Cancelled); }
};

TEST_F(wait, a_timer_that_fails_ends_the_wait_with_its_error) {
  inline_host host;
  blocking_port port(world, device);
  failing_timer timer;
  wait_request request{flag_plan, from_us(10), 1, {}, instant::never()};
  const auto r = host.run(run_wait(host, request, port, world.clock, timer), "wait");
  EXPECT_EQ(r.error().code(), errc::Cancelled);
  EXPECT_EQ(device.log, "QA");
}

TEST_F(wait, passing_the_timeout_is_timed_out_under_every_plan) {
  for (const plan& how : {block_plan, poll_plan, flag_plan}) {
    for (duration sleep : {duration{}, from_us(100), from_us(5000)}) {
      world = {};
      device = {};
      device.done_at = at_us(3000);
      const auto r = run(how, sleep, at_us(450));
      ASSERT_TRUE(r.has_error());
      EXPECT_EQ(r.error(), error(errc::TimedOut, {"450us"})) << name_of(how.park);
      EXPECT_EQ(world.now(), at_us(450)) << "neither a sleep nor a park passes the deadline";
    }
  }
}

TEST_F(wait, at_the_deadline_the_authority_is_asked_once_more) {
  device.done_at = at_us(440);  // and the store is lost
  const auto r = run(flag_plan, {}, at_us(450));
  ASSERT_TRUE(r.has_value());
  EXPECT_EQ(r->kind, wait_kind::parked);
  EXPECT_EQ(r->wait, from_us(450));
  EXPECT_EQ(r->backstop_queries, 0u);
}

TEST_F(wait, no_park_passes_the_deadline) {
  device.done_at = at_us(3000);
  (void)run(flag_plan, {}, at_us(450));
  EXPECT_EQ(device.bounds.back().park, from_us(50));
  EXPECT_EQ(device.bounds.back().backstop, from_us(50));
}

TEST_F(wait, a_port_that_suspends_where_the_host_cannot_is_pended_inline) {
  struct pending_port : blocking_port {
    using blocking_port::blocking_port;
    struct never {
      bool await_ready() const { return false; }
      void await_suspend(std::coroutine_handle<>) const {}
      result<park_answer> await_resume() const { return park_answer{}; }
    };
    never park(park_bound) { return {}; }
  };
  inline_host host;
  pending_port port(world, device);
  manual_timer timer(world.clock);
  wait_request request{flag_plan, {}, 1, {}, instant::never()};
  const auto r = host.run(run_wait(host, request, port, world.clock, timer), "worker 3");
  ASSERT_TRUE(r.has_error());
  EXPECT_EQ(r.error(), error(errc::PendedInline, {"worker 3"}));
  EXPECT_EQ(r.error().text(), "a wait pended on an inline host at worker 3");
}

TEST_F(wait, frames_of_waits_are_pooled) {
  inline_host host;
  done_and_stored_at(0);
  blocking_port port(world, device);
  manual_timer timer(world.clock);
  const wait_request request{flag_plan, {}, 1, {}, instant::never()};
  (void)host.run(run_wait(host, request, port, world.clock, timer), "wait");
  const uint64_t made = host.frames().frames_made();
  for (int i = 0; i < 100; ++i) {
    (void)host.run(run_wait(host, request, port, world.clock, timer), "wait");
  }
  EXPECT_EQ(made, 1u);
  EXPECT_EQ(host.frames().frames_made(), made);
}

// The same driver on a reactor: many waits, one thread, one park for all.
class reactor_port {
 public:
  reactor_port(reactor& owner, device_script& device, uint64_t& word, virtual_world& world)
      : owner_(&owner), device_(&device), word_(&word), world_(&world) {}

  result<bool> query(uint64_t) {
    device_->log += 'Q';
    return world_->now() >= device_->done_at;
  }
  result<bool> block(uint64_t) { return error(errc::PendedInline, {"block on a reactor"}); }
  reactor::task<result<bool>> poll(uint64_t) { return poll_turns(*owner_, *this); }
  result<void> arm() {
    device_->log += 'A';
    return {};
  }
  reactor::task<result<park_answer>> park(park_bound bound) {
    return park_turns(*owner_, *this, bound);
  }

 private:
  static reactor::task<result<bool>> poll_turns(reactor& owner, reactor_port& self) {
    for (;;) {
      result<bool> done = self.query(0);
      if (!done || *done) co_return done;
      co_await owner.sleep_until(owner.now() + from_us(20));
    }
  }
  static reactor::task<result<park_answer>> park_turns(reactor& owner, reactor_port& self,
                                                       park_bound bound) {
    self.device_->log += 'K';
    const uint64_t before = owner.statistics().parked;
    const reactor::woke why = co_await owner.wait(memory_descriptor(*self.word_, 1),
                                                  owner.now() + bound.backstop, bound.park);
    if (why == reactor::woke::cancelled) co_return error(errc::Cancelled);
    const uint64_t parks = owner.statistics().parked - before;
    co_return park_answer{why == reactor::woke::complete, static_cast<uint32_t>(parks)};
  }

  reactor* owner_;
  device_script* device_;
  uint64_t* word_;
  virtual_world* world_;
};

struct reactor_wait {
  explicit reactor_wait(test::executor_world& w)
      : port(w.executor.host(), device, word, w.world),
        timer(w.executor.host()),
        clock(w.executor.host()) {}
  uint64_t word = 0;
  device_script device;
  reactor_port port;
  reactor_timer timer;
  reactor_clock clock;
  std::optional<result<wait_report>> ended;
};

reactor::task<> wait_on_reactor(reactor& owner, reactor_wait& w, wait_request request) {
  result<wait_report> r = co_await run_wait(owner, request, w.port, w.clock, w.timer);
  w.ended = r;
}

TEST(wait_on_a_reactor, many_waits_share_one_thread_and_end_each_at_its_own_time) {
  test::executor_world w;
  std::vector<std::unique_ptr<reactor_wait>> waits;
  for (uint64_t i = 0; i < 20; ++i) {
    waits.push_back(std::make_unique<reactor_wait>(w));
    reactor_wait& one = *waits.back();
    const duration done = from_us(100 + 37 * (i * 7 % 20));
    one.device.done_at = instant{} + done;
    w.world.at(done, [&one] { proto::store_word(one.word, 1); });
    wait_request request{flag_plan, i % 2 ? from_us(80) : duration{}, 1, {}, instant::never()};
    w.executor.host().spawn(wait_on_reactor(w.executor.host(), one, request));
  }
  ASSERT_TRUE(w.executor.run().has_value());
  for (const auto& one : waits) {
    ASSERT_TRUE(one->ended && one->ended->has_value());
    EXPECT_EQ((*one->ended)->kind, wait_kind::parked);
    EXPECT_EQ((*one->ended)->wait, one->device.done_at - instant{});
    EXPECT_EQ((*one->ended)->backstop_queries, 0u);
  }
}

TEST(wait_on_a_reactor, a_lost_store_costs_one_backstop_there_too) {
  test::executor_world w;
  reactor_wait one(w);
  one.device.done_at = at_us(1);
  wait_request request{flag_plan, {}, 1, {}, instant::never()};
  w.executor.host().spawn(wait_on_reactor(w.executor.host(), one, request));
  ASSERT_TRUE(w.executor.run().has_value());
  EXPECT_EQ((*one.ended)->wait, flag_plan.backstop);
  EXPECT_EQ((*one.ended)->backstop_queries, 1u);
  EXPECT_EQ((*one.ended)->parks, 100u);
}

TEST(wait_on_a_reactor, a_cancelled_wait_ends_in_its_sleep_and_in_its_park) {
  for (duration sleep : {duration{}, from_us(500)}) {
    test::executor_world w;
    reactor_wait one(w);
    wait_request request{flag_plan, sleep, 1, {}, instant::never()};
    reactor::root* who = w.executor.host().spawn(wait_on_reactor(w.executor.host(), one, request));
    w.world.at(from_us(120), [&] { w.executor.host().cancel(*who); });
    w.world.at(from_us(120), [&] { w.idle.request = true; });
    ASSERT_TRUE(w.executor.run().has_value());
    ASSERT_TRUE(one.ended && one.ended->has_error());
    EXPECT_EQ(one.ended->error().code(), errc::Cancelled);
    EXPECT_EQ(w.world.now(), at_us(120));
  }
}

TEST(wait_on_a_reactor, a_wake_does_not_cut_the_predicted_sleep_short) {
  test::executor_world w;
  reactor_wait one(w);
  one.device.done_at = at_us(600);
  w.world.at(from_us(600), [&] { proto::store_word(one.word, 1); });
  wait_request request{flag_plan, from_us(500), 1, {}, instant::never()};
  reactor::root* who = w.executor.host().spawn(wait_on_reactor(w.executor.host(), one, request));
  w.world.at(from_us(100), [&] {
    w.executor.host().wake(*who);
    w.idle.request = true;
  });
  auto take = [&] { return std::exchange(w.idle.request, false); };
  while (!one.ended) {
    (void)turn(w.executor.host(), w.executor.clock(), w.executor.idle(), take);
  }
  EXPECT_EQ((*one.ended)->slept, from_us(500));
  EXPECT_EQ((*one.ended)->wait, from_us(600));
}

TEST(wait_on_a_reactor, frames_stay_flat) {
  test::executor_world w;
  uint64_t made = 0;
  for (int i = 0; i < 50; ++i) {
    reactor_wait one(w);
    one.device.done_at = w.world.now() + from_us(50);
    wait_request request{{park_kind::flag, from_us(100), from_us(100), {}},
                         from_us(20),
                         1,
                         w.world.now(),
                         instant::never()};
    w.executor.host().spawn(wait_on_reactor(w.executor.host(), one, request));
    ASSERT_TRUE(w.executor.run().has_value());
    if (i == 0) made = w.executor.frames().frames_made();
  }
  EXPECT_GT(made, 0u);
  EXPECT_EQ(w.executor.frames().frames_made(), made);
}

}  // namespace
}  // namespace gar
