// What every idle_port keeps: an idle ends when it should, and nothing is slept over.
#include <gtest/gtest.h>

#include "tests/conformance/idle_world.hpp"

namespace gar {
namespace {

// Nothing waits so long, unless something was slept over.
constexpr duration far = from_ms(60'000);
constexpr duration soon = from_us(500);

template <class World>
class an_idle_port : public testing::Test {
 protected:
  void SetUp() override {
    if (!world.absent().empty()) GTEST_SKIP() << world.absent();
    started = world.now();
    world.port().prepare();
  }
  void TearDown() override { world.finish(); }
  bool ended_early() const { return world.now() - started < far; }

  World world;
  instant started;
};

using worlds =
    testing::Types<test::words_world, test::doorbell_world, test::ring_world, test::scripted_world>;
TYPED_TEST_SUITE(an_idle_port, worlds);

TYPED_TEST(an_idle_port, a_park_that_sees_nothing_ends_at_its_bound) {
  const instant until = this->started + soon;
  while (this->world.now() < until) this->world.port().park(until, always_false());
  EXPECT_TRUE(this->ended_early());
}

TYPED_TEST(an_idle_port, a_park_whose_word_is_complete_ends_at_once) {
  this->world.port().park(this->started + far, [] { return true; });
  EXPECT_TRUE(this->ended_early());
}

TYPED_TEST(an_idle_port, a_store_ends_the_park) {
  uint64_t word = 0;
  this->world.after(soon, [&] { proto::store_word(word, 1); });
  const instant until = this->started + far;
  auto complete = [&] { return proto::load_word(word) == 1; };
  while (!complete() && this->world.now() < until) this->world.port().park(until, complete);
  EXPECT_TRUE(this->ended_early());
}

TYPED_TEST(an_idle_port, a_sleep_ends_at_its_deadline) {
  const instant at = this->started + soon;
  while (this->world.now() < at) this->world.port().sleep_until(at);
  EXPECT_TRUE(this->ended_early());
}

TYPED_TEST(an_idle_port, a_bound_that_has_passed_ends_at_once) {
  this->world.port().park(this->started, always_false());
  this->world.port().sleep_until(this->started);
  EXPECT_TRUE(this->ended_early());
}

TYPED_TEST(an_idle_port, a_request_ends_a_park) {
  if constexpr (TypeParam::has_requests) {
    this->world.after(soon, [this] { this->world.request(); });
    const instant until = this->started + far;
    while (!this->world.requested() && this->world.now() < until) {
      this->world.port().prepare();
      this->world.port().park(until, always_false());
    }
    EXPECT_TRUE(this->ended_early());
  }
}

TYPED_TEST(an_idle_port, a_request_ends_a_sleep) {
  if constexpr (TypeParam::has_requests) {
    this->world.after(soon, [this] { this->world.request(); });
    const instant until = this->started + far;
    while (!this->world.requested() && this->world.now() < until) {
      this->world.port().prepare();
      this->world.port().sleep_until(until);
    }
    EXPECT_TRUE(this->ended_early());
  }
}

TYPED_TEST(an_idle_port, a_request_ends_a_block) {
  if constexpr (TypeParam::has_requests) {
    this->world.after(soon, [this] { this->world.request(); });
    while (!this->world.requested()) {
      this->world.port().prepare();
      this->world.port().block();
    }
    EXPECT_TRUE(this->ended_early());
  }
}

TYPED_TEST(an_idle_port, a_request_before_the_call_is_not_slept_over) {
  if constexpr (TypeParam::has_requests) {
    this->world.request();
    this->world.port().park(this->started + far, always_false());
    this->world.port().sleep_until(this->started + far);
    this->world.port().block();
    EXPECT_TRUE(this->ended_early());
  }
}

TYPED_TEST(an_idle_port, a_ring_since_prepare_ends_the_park_at_once) {
  if constexpr (TypeParam::has_bell) {
    this->world.ring();
    this->world.port().park(this->started + far, always_false());
    EXPECT_TRUE(this->ended_early());
  }
}

// Else a client that rings without end would keep a thread awake that waits for no word.
TYPED_TEST(an_idle_port, a_ring_ends_no_sleep) {
  if constexpr (TypeParam::has_bell) {
    int sleeps = 0;
    const instant at = this->started + soon;
    for (; this->world.now() < at; ++sleeps) {
      this->world.ring();
      this->world.port().sleep_until(at);
    }
    EXPECT_LE(sleeps, 3);  // a signal may end one
  }
}

TYPED_TEST(an_idle_port, a_ring_ends_the_park) {
  if constexpr (TypeParam::has_bell) {
    this->world.after(soon, [this] { this->world.ring(); });
    this->world.port().park(this->started + far, always_false());
    EXPECT_TRUE(this->ended_early());
  }
}

}  // namespace
}  // namespace gar
