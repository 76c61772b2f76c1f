// What must not allocate once it is warm: counted by replacing the program's operator new.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "lib/core/estimates.hpp"
#include "lib/core/inline_host.hpp"
#include "tests/core/ring_world.hpp"
#include "tests/core/virtual_world.hpp"

namespace {

uint64_t allocations = 0;
uint64_t failing = 0;  // the allocation of this number fails; 0: none

void* counted(size_t bytes) {
  if (++allocations == failing) throw std::bad_alloc();
  void* memory = std::malloc(bytes ? bytes : 1);
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(size_t bytes) {
  return counted(bytes);
}
void* operator new[](size_t bytes) {
  return counted(bytes);
}
// The library's algorithms ask for room this way, and give it back by the delete below.
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes ? bytes : 1);
}
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes ? bytes : 1);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, size_t) noexcept {
  std::free(memory);
}

namespace gar {
namespace {

// An idle port that only moves the clock, and a device that is done when told.
struct moving_idle {
  manual_clock* clock;
  void prepare() {}
  void expect() {}
  template <class Complete>
  void park(instant until, Complete&&) {
    clock->advance_to(until);
  }
  void sleep_until(instant at) { clock->advance_to(at); }
  void block() {}
};

struct pointed_clock {
  manual_clock* clock;
  instant now() const { return clock->now(); }
};

using moving_executor = basic_executor<pointed_clock, moving_idle>;

struct bare_port {
  manual_clock* clock;
  instant done_at;
  result<bool> query(uint64_t) { return clock->now() >= done_at; }
  result<bool> block(uint64_t) { return true; }
  result<bool> poll(uint64_t) { return true; }
  result<void> arm() { return {}; }
  result<park_answer> park(park_bound bound) {
    clock->advance(bound.park);
    return park_answer{clock->now() >= done_at, 1};
  }
};

TEST(allocation, the_count_can_rise) {
  const uint64_t before = allocations;
  delete new int(1);
  EXPECT_EQ(allocations, before + 1);
}

TEST(allocation, a_table_of_estimates_allocates_nothing_after_it_was_made) {
  estimates table(64);
  const plan how{park_kind::poll, {}, {}, prediction{{}, {}, from_ms(50), 8}};
  const uint64_t before = allocations;
  for (uint64_t key = 0; key < 1000; ++key) {
    table.record(key * 7, sample::exact(from_us(key)), how);
    table.sleep_for(key * 3, how);
    if (key % 5 == 0) table.erase(key * 7);
  }
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(table.size(), 64u);
}

TEST(allocation, an_inline_wait_allocates_nothing_once_its_host_is_warm) {
  manual_clock clock;
  manual_timer timer(clock);
  inline_host host;
  uint64_t before = 0;
  for (int i = 0; i < 100; ++i) {
    if (i == 1) before = allocations;
    bare_port port{&clock, clock.now() + from_us(500)};
    const wait_request request{{park_kind::flag, from_us(100), from_ms(10), {}},
                               from_us(300),
                               1,
                               clock.now(),
                               instant::never()};
    const auto r = host.run(run_wait(host, request, port, clock, timer), "here");
    ASSERT_EQ(r->kind, wait_kind::parked);
  }
  EXPECT_EQ(allocations, before);
}

moving_executor::task<> waits(moving_executor& ex, const uint64_t& word) {
  for (uint64_t target = 1; target <= 3; ++target) {
    co_await ex.wait(memory_descriptor(word, target), ex.host().now() + from_us(10));
    co_await ex.yield_now();
  }
}

TEST(allocation, spawning_and_running_tasks_allocates_nothing_once_warm) {
  manual_clock clock;
  moving_executor ex({&clock}, {&clock});
  uint64_t words[32] = {};
  uint64_t before = 0;
  for (int round = 0; round < 20; ++round) {
    if (round == 1) before = allocations;
    for (const uint64_t& word : words) ex.spawn(waits(ex, word));
    ASSERT_TRUE(ex.run().has_value());
  }
  EXPECT_EQ(allocations, before);
}

moving_executor::task<> notes(moving_executor&, int& ran) {
  ++ran;
  co_return;
}

TEST(allocation, a_spawn_that_fails_for_memory_leaves_nothing_behind) {
  bool failed = true;
  int fails = 0;
  for (uint64_t nth = 1; failed; ++nth) {
    manual_clock clock;
    moving_executor ex({&clock}, {&clock});
    int ran = 0;
    auto task = notes(ex, ran);
    failing = allocations + nth;
    try {
      ex.spawn(std::move(task));
      failed = false;
    } catch (const std::bad_alloc&) {
      ++fails;
      EXPECT_EQ(ex.host().tasks(), 0u) << "at the allocation " << nth;
    }
    failing = 0;
    if (failed) ex.spawn(notes(ex, ran));
    EXPECT_EQ(ex.host().tasks(), 1u);
    ASSERT_TRUE(ex.run().has_value());
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(ex.host().tasks(), 0u);
  }
  EXPECT_GE(fails, 9) << "one for each table";
}

// From the request in a client's ring to its end there, with the client's wake, and the node told.
TEST(allocation, none_for_a_wait_by_ring_once_its_tables_have_grown) {
  test::ring_world rings;
  test::ring_world::client c = rings.connect();
  const proto::opened s = *rings.world.open(c.base);
  uint64_t target = 0;
  const auto wait_for_all = [&] {
    ++target;
    for (uint16_t slot = 0; slot < 64; ++slot) rings.ask(c, slot, s, target);
    EXPECT_TRUE(rings.take(c));
    c.ring->header().wants = proto::wants_futex;
    rings.world.store(c.base, s, target);
    while (rings.ended(c).first >= 0) {
    }
  };
  rings.world.wakes.reserve(100);
  for (int warm = 0; warm < 3; ++warm) wait_for_all();
  const uint64_t before = allocations;
  for (int round = 0; round < 10; ++round) wait_for_all();
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(rings.world.counts().completed, 13u * 64);
  EXPECT_EQ(rings.world.wakes.size(), 13u);
}

}  // namespace
}  // namespace gar
