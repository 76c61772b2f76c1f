// gar_await.hpp: waits in coroutines, in-process and through a gard.
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <atomic>
#include <exception>
#include <thread>

#include "clients/garclient/gar_await.hpp"
#include "tests/clients/loop_fixture.hpp"

namespace gar::test {
namespace {

using namespace std::chrono_literals;

constexpr uint64_t ms = 1'000'000;

class await : public loop_fixture {};
INSTANTIATE_TEST_SUITE_P(where, await, ::testing::Bool(), where_name);

// Runs at once and owns itself; it may throw nothing.
struct detached {
  struct promise_type {
    detached get_return_object() const { return {}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const {}
    void unhandled_exception() const { std::terminate(); }
  };
};

// Runs at once and is owned: destroyed with this object, suspended, ended or failed. What it throws
// leaves the resume.
struct owned {
  struct promise_type {
    owned get_return_object() {
      return owned{std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const {}
    void unhandled_exception() const { throw; }
  };
  explicit owned(std::coroutine_handle<promise_type> f) : frame(f) {}
  owned(owned&& other) noexcept : frame(std::exchange(other.frame, nullptr)) {}
  ~owned() {
    if (frame) frame.destroy();
  }
  std::coroutine_handle<promise_type> frame;
};

// How one wait ended: 0 or its number; -1 while it has not.
owned one(const stream& s, uint64_t sequence, int& ended, wait_options o = {},
          std::stop_token stop = {}) {
  try {
    co_await gar::wait(s, sequence, std::move(o), std::move(stop));
    ended = 0;
  } catch (const failure& e) {
    ended = e.number();
  }
}

TEST_P(await, a_coroutine_has_its_report_once_its_work_is_done) {
  client c(options());
  driver d(c);
  gar_sim_queue* const q = queue();
  stream s = c.open_sim(q);
  int rounds = 0;
  const auto body = [&]() -> detached {  // its captures live here, not in the coroutine
    for (; rounds < 5; ++rounds) {
      uint64_t truth = 0;
      work(q, 1 * ms, &truth);
      const gar_report r = co_await gar::wait(s, s.record());
      EXPECT_EQ(truth, 1u);
      EXPECT_GT(r.wait_ns, 0u);
    }
  };
  body();
  EXPECT_EQ(d.pending(), 1u);
  d.run();
  EXPECT_EQ(rounds, 5);
}

TEST_P(await, thousands_at_once_are_each_resumed) {
  client c(options());
  driver d(c);
  constexpr int streams_count = 16, waits_each = 250;
  std::vector<stream> streams;
  std::vector<int> ended(streams_count * waits_each, -1);
  std::vector<owned> coroutines;
  std::vector<uint64_t> last;
  for (int i = 0; i < streams_count; ++i) {
    streams.push_back(c.open_word());
    last.push_back(0);
  }
  for (int k = 0; k < waits_each; ++k) {
    for (int i = 0; i < streams_count; ++i) {
      last[i] = streams[i].record();
      coroutines.push_back(one(streams[i], last[i], ended[k * streams_count + i]));
    }
  }
  EXPECT_EQ(d.pending(), ended.size());
  for (int i = 0; i < streams_count; ++i) streams[i].signal(last[i]);
  d.run();
  for (const int number : ended) EXPECT_EQ(number, 0);
}

TEST_P(await, failures_are_thrown_where_they_are_awaited) {
  client c(options());
  driver d(c);
  gar_sim_queue* const q = queue();
  stream s = c.open_sim(q);
  stream words = c.open_word();
  int late = -1, never_recorded = -1, refused = -1, failed = -1, closed = -1;
  wait_options briefly;
  briefly.timeout = 1ms;
  owned a = one(words, words.record(), late, briefly);
  owned b = one(words, 99, never_recorded);
  EXPECT_EQ(never_recorded, GAR_E_INVALID_ARGUMENT);  // without being suspended
  wait_options run_inline;
  run_inline.run_inline = true;
  owned e = one(words, 1, refused, run_inline);
  EXPECT_EQ(refused, GAR_E_INVALID_ARGUMENT);
  failure::check(gar_sim_fault(q, GAR_SIM_FAULT_DEVICE_ERROR, 700));
  work(q, 1 * ms);
  owned f = one(s, s.record(), failed);
  d.run();
  EXPECT_EQ(late, GAR_E_TIMED_OUT);
  EXPECT_EQ(failed, GAR_E_BACKEND);
  owned g = one(words, words.record(), closed);
  words.close();
  EXPECT_EQ(closed, -1);
  d.run();
  EXPECT_EQ(closed, GAR_E_CLOSED);
}

TEST_P(await, a_timeout_that_was_over_before_is_thrown_in_whole_words) {
  client c(options());
  driver d(c);
  stream never = c.open_word();
  std::string said;
  const auto body = [&]() -> detached {
    try {
      co_await gar::wait(never, never.record(), {.timeout = -1ns});
    } catch (const failure& e) {
      EXPECT_EQ(e.number(), GAR_E_TIMED_OUT);
      said = e.what();
    }
  };
  body();
  const auto patience = std::chrono::steady_clock::now() + 30s;
  EXPECT_TRUE(d.run_until([&] { return !said.empty(); }, patience));
  EXPECT_EQ(said, "the wait passed its timeout");
}

// Temporaries in the awaiting expression, which g++ 12 copies bitwise.
TEST_P(await, options_are_given_in_place) {
  client c(options());
  driver d(c);
  stream s = c.open_word();
  const uint64_t sequence = s.record();
  int late = 0;
  const auto body = [&]() -> detached {
    const std::string longest(63, 'p');
    for (const std::string& point : {std::string("readback"), longest}) {
      try {
        co_await gar::wait(s, sequence, {.point = point, .rows = 4, .timeout = 1ms});
      } catch (const failure& e) {
        EXPECT_EQ(e.number(), GAR_E_TIMED_OUT);
        ++late;
      }
    }
    try {
      co_await gar::wait(s, sequence, {.point = longest + "p"});
    } catch (const failure& e) {
      EXPECT_EQ(e.number(), GAR_E_INVALID_ARGUMENT);
      ++late;
    }
  };
  body();
  d.run();
  EXPECT_EQ(late, 3);
}

TEST_P(await, a_stop_ends_the_wait_before_while_and_not_after) {
  client c(options());
  driver d(c);
  stream s = c.open_word();
  const uint64_t sequence = s.record();
  std::stop_source stopped, stops, late;
  stopped.request_stop();
  int before = -1, meanwhile = -1, after = -1;
  owned a = one(s, sequence, before, {}, stopped.get_token());
  EXPECT_EQ(before, GAR_E_CANCELLED);  // never started
  owned b = one(s, sequence, meanwhile, {}, stops.get_token());
  owned e = one(s, sequence, after, {}, late.get_token());
  std::thread other([&] { stops.request_stop(); });
  EXPECT_TRUE(d.run_until([&] { return meanwhile != -1; }));
  other.join();
  EXPECT_EQ(meanwhile, GAR_E_CANCELLED);
  EXPECT_EQ(after, -1);
  s.signal(sequence);
  d.run();
  late.request_stop();
  EXPECT_EQ(after, 0);
}

TEST_P(await, a_coroutine_destroyed_while_it_waits_is_forgotten) {
  client c(options());
  driver d(c);
  stream s = c.open_word();
  const uint64_t sequence = s.record();
  int kept = -1, gone = -1;
  std::stop_source stops;
  owned a = one(s, sequence, kept);
  {
    owned b = one(s, sequence, gone);
    owned e = one(s, sequence, gone, {}, stops.get_token());
    EXPECT_EQ(d.pending(), 3u);
  }
  EXPECT_EQ(d.pending(), 1u);
  stops.request_stop();
  d.drain();
  s.signal(sequence);
  d.run();
  EXPECT_EQ(kept, 0);
  EXPECT_EQ(gone, -1);
}

TEST_P(await, a_coroutine_destroyed_by_one_that_was_resumed_before_it_is_not_resumed) {
  client c(options());
  driver d(c);
  stream s = c.open_word();
  const uint64_t sequence = s.record();
  int gone = -1;
  std::optional<owned> second;
  const auto destroys = [&]() -> detached {
    co_await gar::wait(s, sequence);
    second.reset();
  };
  destroys();
  second.emplace(one(s, sequence, gone));
  s.signal(sequence);
  d.run();
  EXPECT_EQ(d.pending(), 0u);
  EXPECT_FALSE(second);
  EXPECT_TRUE(gone == -1 || gone == 0);
}

TEST_P(await, the_end_of_a_driver_cancels_and_the_client_may_have_another) {
  client c(options());
  stream s = c.open_word();
  const uint64_t sequence = s.record();
  std::vector<int> ended(100, -1);
  std::vector<owned> coroutines;
  int without = -1, anew = -1;
  {
    driver d(c);
    EXPECT_THROW(driver second(c), failure);
    for (int& e : ended) coroutines.push_back(one(s, sequence, e));
  }
  for (const int number : ended) EXPECT_EQ(number, GAR_E_CANCELLED);
  owned a = one(s, sequence, without);
  EXPECT_EQ(without, GAR_E_INVALID_ARGUMENT);
  driver next(c);
  owned b = one(s, sequence, anew);
  s.signal(sequence);
  next.run();
  EXPECT_EQ(anew, 0);
}

TEST_P(await, a_driver_keeps_its_client_open) {
  std::optional<client> c(options());
  driver d(*c);
  std::optional<stream> s(c->open_word());
  c.reset();
  int ended = -1;
  owned a = one(*s, s->record(), ended);
  s.reset();
  d.run();
  EXPECT_EQ(ended, GAR_E_CLOSED);
}

TEST_P(await, what_leaves_a_coroutine_leaves_drain_and_loses_no_other) {
  client c(options());
  driver d(c);
  stream s = c.open_word();
  const uint64_t sequence = s.record();
  int resumed = 0;
  std::vector<owned> coroutines;
  const auto body = [&]() -> owned {
    co_await gar::wait(s, sequence);
    if (++resumed == 1) throw std::logic_error("of the first");
  };
  for (int i = 0; i < 3; ++i) coroutines.push_back(body());
  s.signal(sequence);
  EXPECT_THROW(d.run(), std::logic_error);
  d.run();
  EXPECT_EQ(resumed, 3);
}

TEST_P(await, waits_of_many_threads_are_resumed_on_the_drivers) {
  constexpr int threads_count = 4, waits_each = 500;
  client c(options());
  driver d(c);
  stream s = c.open_word();
  const uint64_t sequence = s.record();
  const std::thread::id here = std::this_thread::get_id();
  std::atomic<int> started = 0;
  int resumed = 0, elsewhere = 0;  // this thread's
  const auto await_one = [&]() -> detached {
    co_await gar::wait(s, sequence);
    ++resumed;
    if (std::this_thread::get_id() != here) ++elsewhere;
  };
  s.signal(sequence);  // so that ends and starts overlap
  std::vector<std::thread> threads;
  for (int t = 0; t < threads_count; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < waits_each; ++i) {
        await_one();
        ++started;
      }
    });
  }
  while (started < threads_count * waits_each) d.drain();
  for (std::thread& t : threads) t.join();
  d.run();
  EXPECT_EQ(resumed, threads_count * waits_each);
  EXPECT_EQ(elsewhere, 0);
}

TEST_P(await, run_until_stops_at_its_condition_its_deadline_and_when_nothing_is_left) {
  client c(options());
  driver d(c);
  stream s = c.open_word();
  const uint64_t first = s.record(), second = s.record();
  int a = -1, b = -1;
  const auto never = [] { return false; };
  EXPECT_FALSE(d.run_until(never));
  owned one_of = one(s, first, a), other = one(s, second, b);
  EXPECT_FALSE(d.run_until(never, std::chrono::steady_clock::now() + 2ms));
  s.signal(first);
  EXPECT_TRUE(d.run_until([&] { return a == 0; }));
  EXPECT_EQ(d.pending(), 1u);
  s.signal(second);
  EXPECT_FALSE(d.run_until(never));
  EXPECT_EQ(b, 0);
}

TEST_P(await, run_until_stops_at_its_deadline_though_there_is_always_something_to_drain) {
  client c(options());
  driver d(c);
  stream s = c.open_word();
  const uint64_t done = s.record();
  s.signal(done);
  int resumed = 0;
  const auto body = [&]() -> detached {
    for (; resumed < 100; ++resumed) co_await gar::wait(s, done);
  };
  body();
  const auto once_more_is_there = [&] {
    pollfd readable{d.descriptor(), POLLIN, 0};
    if (d.pending() > 0) {
      EXPECT_EQ(poll(&readable, 1, 30'000), 1);
    }
    return false;
  };
  EXPECT_FALSE(d.run_until(once_more_is_there, std::chrono::steady_clock::now() - 1ms));
  EXPECT_LT(resumed, 100);
  d.run();
  EXPECT_EQ(resumed, 100);
}

TEST_P(await, any_event_loop_drains_by_the_descriptor) {
  client c(options());
  driver d(c);
  gar_sim_queue* const q = queue();
  stream s = c.open_sim(q);
  int ended = -1;
  work(q, 5 * ms);
  owned a = one(s, s.record(), ended);
  const int loop = epoll_create1(0);
  epoll_event readable{};
  readable.events = EPOLLIN;
  ASSERT_EQ(epoll_ctl(loop, EPOLL_CTL_ADD, d.descriptor(), &readable), 0);
  while (ended == -1) {
    ASSERT_EQ(epoll_wait(loop, &readable, 1, 30'000), 1);
    d.drain();
  }
  close(loop);
  EXPECT_EQ(ended, 0);
}

}  // namespace
}  // namespace gar::test
