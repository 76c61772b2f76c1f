#include "lib/core/reactor.hpp"

#include <gtest/gtest.h>

#include "lib/core/executor.hpp"
#include "lib/core/inline_host.hpp"
#include "lib/core/manual_time.hpp"
#include "lib/core/wait.hpp"

namespace gar {
namespace {

struct idle_manual {
  manual_clock* clock = nullptr;
  void prepare() {}
  template <class C>
  void park(instant until, C&&) {
    clock->advance_to(until);
  }
  void sleep_until(instant at) { clock->advance_to(at); }
  void block() {}
};

struct shared_clock {
  manual_clock* clock = nullptr;
  instant now() const { return clock->now(); }
};

using test_executor = basic_executor<shared_clock, idle_manual>;

test_executor::task<> store_later(test_executor& ex, uint64_t& word) {
  co_await ex.sleep_for(from_us(50));
  proto::store_word(word, 1);
}

test_executor::task<int> wait_for(test_executor& ex, uint64_t& word) {
  reactor::woke why = co_await ex.wait(memory_descriptor(word, 1));
  co_return why == reactor::woke::complete ? 7 : 8;
}

TEST(reactor, a_store_ends_the_wait_for_it) {
  manual_clock clock;
  test_executor ex({&clock}, {&clock});
  uint64_t word = 0;
  ex.spawn(store_later(ex, word));
  result<int> r = ex.block_on(wait_for(ex, word));
  ASSERT_TRUE(r.has_value());
  EXPECT_EQ(*r, 7);
}

struct scripted_port {
  int pending = 3;
  result<bool> query(uint64_t) { return pending-- <= 0; }
  result<bool> block(uint64_t) { return true; }
  result<bool> poll(uint64_t) { return true; }
  result<void> arm() { return {}; }
  result<park_answer> park(park_bound) { return park_answer{true, 1}; }
};

TEST(wait, runs_inline_over_a_port_that_blocks) {
  inline_host host;
  manual_clock clock;
  manual_timer timer(clock);
  scripted_port port;
  wait_request request;
  request.how = {park_kind::flag, from_us(100), from_ms(10), {}};
  request.sequence = 1;
  auto r = host.run(run_wait(host, request, port, clock, timer), "test");
  ASSERT_TRUE(r.has_value());
  EXPECT_EQ(r->kind, wait_kind::parked);
}

}  // namespace
}  // namespace gar
