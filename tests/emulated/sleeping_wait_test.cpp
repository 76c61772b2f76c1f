// Word waits on CPUs whose instructions really sleep: umonitor and umwait, monitorx and mwaitx.
//
// Nothing here is about how fast a wait ends. A timer interrupt of the guest, every 4 ms, ends a
// park early, and may; so a park's length is the median of many.
#include <gtest/gtest.h>

#include "guest_cpu.hpp"

namespace gar::emulated {
namespace {

constexpr int rounds = 31;
constexpr size_t in_the_middle = watched_page::lines / 2;

class sleeping_wait : public testing::Test {
 protected:
  static void SetUpTestSuite() { probed_ = new word_wait_probe(probe_word_wait()); }
  static void TearDownTestSuite() { delete probed_; }

  void SetUp() override {
    run_on_cpu(0);
    ASSERT_EQ(name_of(probed_->report.kind), guest_pair()) << probed_->report.why;
    ASSERT_TRUE(probed_->waiter.hardware());
  }

  const word_waiter& waiter() const { return probed_->waiter; }

  duration median_park(duration bound) const {
    std::vector<duration> parks;
    for (int i = 0; i < rounds; ++i) parks.push_back(one_park(waiter(), watched, bound));
    return median(parks);
  }

  // The median park when the other CPU stores `store_after` into it.
  template <class Store>
  duration median_park_with(duration bound, duration store_after, Store store) const {
    other_cpu producer([&](uint64_t round) {
      spin_for(store_after);
      store(round);
    });
    std::vector<duration> parks;
    for (uint64_t round = 1; round <= rounds; ++round) {
      parks.push_back(one_park(waiter(), watched, bound, [&] { producer.go(round); }));
      producer.await_done(round);
    }
    return median(parks);
  }

  watched_page page;
  proto::completion_line& watched = page.line(in_the_middle);
  steady_clock clock;

 private:
  static inline word_wait_probe* probed_ = nullptr;
};

TEST_F(sleeping_wait, a_park_lasts_to_its_bound_and_not_beyond) {
  for (const duration bound : {from_us(50), from_us(100), from_us(300), from_ms(1)}) {
    const duration park = median_park(bound);
    std::printf("park bound %6lu ns: median %6lu ns\n", static_cast<unsigned long>(bound.ns),
                static_cast<unsigned long>(park.ns));
    // Less: what passes between the start and the arming. More: the guest's way back to the look.
    EXPECT_GT(park.ns, bound.ns * 7 / 10);
    EXPECT_LT(park.ns, bound.ns + from_us(30).ns);
  }
}

TEST_F(sleeping_wait, a_bound_beyond_every_counter_is_not_a_bound_in_the_past) {
  EXPECT_GT(median_park(duration::max()), from_us(500));
  EXPECT_GT(median_park(from_ms(3'600'000)), from_us(500));
}

TEST_F(sleeping_wait, the_other_cpus_store_to_any_word_of_the_line_ends_the_park) {
  for (size_t word = 0; word < 8; ++word) {
    const duration park = median_park_with(
        from_ms(1), from_us(200), [&](uint64_t round) { page.store(in_the_middle, word, round); });
    // In the middle between "at the store" and "at the bound".
    EXPECT_LT(park, from_us(600)) << "word " << word;
  }
}

TEST_F(sleeping_wait, the_other_cpus_store_to_the_neighbouring_lines_does_not_end_the_park) {
  const duration park = median_park_with(from_ms(1), from_us(200), [&](uint64_t round) {
    page.store(in_the_middle - 1, 7, round);
    page.store(in_the_middle + 1, 0, round);
  });
  EXPECT_GT(park, from_us(700));
}

// Where nothing sleeps, the same loop looks thousands of times.
TEST_F(sleeping_wait, a_long_wait_looks_seldom) {
  const duration length = from_ms(40);
  uint64_t looks_of_spin = 0;
  const instant spin_until = clock.now() + length;
  while (clock.now() < spin_until) looks_of_spin += 2;

  uint64_t looks = 0;
  const instant until = clock.now() + length;
  auto look = [&] { return ++looks, proto::load_word(watched.word[0]) == 0; };
  waiter().wait(watched, look, until, clock);
  std::printf("40 ms: %lu looks, a spin's %lu\n", static_cast<unsigned long>(looks),
              static_cast<unsigned long>(looks_of_spin));
  EXPECT_GE(clock.now(), until);
  EXPECT_GE(looks, 2u);
  EXPECT_LT(looks, looks_of_spin / 50);
}

// 100 parks if nothing but parking took time. Fewer: each park is armed anew, which takes a 50 MHz
// guest some of the 100 us. More: interrupts end parks early. Spinning would be thousands.
TEST_F(sleeping_wait, ten_ms_at_a_bound_of_100_us_are_about_a_hundred_parks) {
  uint64_t parks = 0;
  const instant until = clock.now() + from_ms(10);
  while (clock.now() < until) {
    const duration park = one_park(waiter(), watched, std::min(from_us(100), until - clock.now()));
    if (park.ns != 0) ++parks;
  }
  std::printf("10 ms at 100 us: %lu parks\n", static_cast<unsigned long>(parks));
  EXPECT_GE(parks, 60u);
  EXPECT_LE(parks, 140u);
}

TEST_F(sleeping_wait, a_store_from_before_the_arming_needs_no_park) {
  page.store(in_the_middle, 3, 1);
  int looks = 0;
  auto look = [&] { return ++looks, proto::load_word(watched.word[3]) == 0; };
  const instant before = clock.now();
  waiter().wait(watched, look, clock.now() + from_ms(1), clock);
  EXPECT_EQ(looks, 1);
  EXPECT_LT(clock.now() - before, from_us(500));
}

// The store comes after the word was read and before the CPU sleeps: the arming must have been
// first.
TEST_F(sleeping_wait, a_store_between_the_look_and_the_park_is_not_slept_over) {
  other_cpu producer([&](uint64_t round) { page.store(in_the_middle, 6, round); });
  std::vector<duration> waits;
  for (uint64_t round = 1; round <= rounds; ++round) {
    int looks = 0;
    auto look = [&] {
      const bool waiting = proto::load_word(watched.word[6]) != round;
      if (++looks == 1) {
        producer.go(round);
        producer.await_done(round);
      }
      return waiting;
    };
    const instant before = clock.now();
    waiter().wait(watched, look, before + from_ms(1), clock);
    waits.push_back(clock.now() - before);
    EXPECT_EQ(looks, 2);
  }
  EXPECT_LT(median(waits), from_us(600));
}

// The other CPU's store moves step by step over the arming, the look and the start of the park. One
// that fell into a gap would be found at the bound only, 1 ms later.
TEST_F(sleeping_wait, no_store_around_the_arming_is_lost) {
  constexpr uint64_t steps = 600;
  std::atomic<uint64_t> stored_at_ns = 0;
  other_cpu producer([&](uint64_t round) {
    for (uint64_t i = 0; i < round; ++i) asm volatile("");
    page.store(in_the_middle, 0, round);
    stored_at_ns.store(clock.now().ns);
  });
  uint64_t parked = 0;
  uint64_t lost = 0;
  for (uint64_t round = 1; round <= steps; ++round) {
    uint64_t looks = 0;
    auto look = [&] { return ++looks, proto::load_word(watched.word[0]) != round; };
    const instant until = clock.now() + from_ms(1);
    producer.go(round);
    waiter().wait(watched, look, until, clock);
    const instant ended = clock.now();
    producer.await_done(round);
    if (looks > 1) ++parked;
    if ((ended - instant{stored_at_ns.load()}) > from_us(600)) ++lost;
  }
  std::printf("%lu stores, %lu of them found by a park, %lu late\n",
              static_cast<unsigned long>(steps), static_cast<unsigned long>(parked),
              static_cast<unsigned long>(lost));
  EXPECT_GT(parked, 0u) << "the store never came after the look: the steps are too few";
  EXPECT_LT(parked, steps) << "the store never came before the look: the steps are too many";
  EXPECT_LE(lost, 1u);  // one to an interrupt that took its time
}

// Eight streams share a line, so others' stores end a park for nothing.
TEST_F(sleeping_wait, others_stores_to_the_line_end_parks_and_not_the_wait) {
  std::atomic<bool> over = false;
  other_cpu producer([&](uint64_t) {
    for (uint64_t i = 1; !over.load(std::memory_order_relaxed); ++i) {
      page.store(in_the_middle, 7, i);
      spin_for(from_us(10));
    }
    page.store(in_the_middle, 0, 1);
  });
  producer.go(1);
  uint64_t looks = 0;
  auto look = [&] { return ++looks, proto::load_word(watched.word[0]) == 0; };
  const instant until = clock.now() + from_ms(10);
  waiter().wait(watched, look, until, clock);
  EXPECT_GE(clock.now(), until);
  EXPECT_EQ(proto::load_word(watched.word[0]), 0u);
  EXPECT_GT(looks, 100u) << "the other words' stores ended no park";

  over.store(true);
  waiter().wait(watched, look, clock.now() + from_ms(60'000), clock);
  EXPECT_EQ(proto::load_word(watched.word[0]), 1u);
}

// Longer than one umwait may last by the kernel's limit, and than the guest's timer lets any last.
TEST_F(sleeping_wait, a_wait_goes_on_over_many_parks_to_the_store) {
  other_cpu producer([&](uint64_t) {
    spin_for(from_ms(30));
    page.store(in_the_middle, 2, 1);
  });
  uint64_t looks = 0;
  auto look = [&] { return ++looks, proto::load_word(watched.word[2]) == 0; };
  const instant before = clock.now();
  producer.go(1);
  waiter().wait(watched, look, clock.now() + from_ms(60'000), clock);
  EXPECT_EQ(proto::load_word(watched.word[2]), 1u);
  EXPECT_GE(clock.now() - before, from_ms(30));
  EXPECT_GT(looks, 4u);
}

}  // namespace
}  // namespace gar::emulated
