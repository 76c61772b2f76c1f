// Word waits where every wait of the hardware returns at once: Bochs told to make mwait a nop, and
// QEMU, whose wfet and wfe wait for nothing. The worst that a CPU may do: all wakes are spurious.
//
// The probe refuses such a CPU, as it should. Here it is deceived: the pair that it tries lasts as
// long as asked while the probe looks on, and is the CPU's own from then on.
#include <gtest/gtest.h>

#include "guest_cpu.hpp"

namespace gar::emulated {
namespace {

const monitor_pair* own_pair() {
  const auto* const found =
      std::find_if(monitor_pairs.begin(), monitor_pairs.end(),
                   [](const monitor_pair* pair) { return name_of(pair->kind) == guest_pair(); });
  return found == monitor_pairs.end() ? nullptr : *found;
}

// The CPU's own pair, but that it waits where the probe tries it.
class deceiving_pair {
 public:
  static word_waiter permitted() {
    deceived_ = own_pair();
    if (!deceived_) return {};
    static monitor_pair pair;
    pair = *deceived_;
    pair.wait = [](duration left, tick_rate rate) {
      if (probing_) return spin_for(left);
      deceived_->wait(left, rate);
    };
    const monitor_pair* const only = &pair;
    probing_ = true;
    const word_waiter waiter = probe_word_wait({}, std::span(&only, 1)).waiter;
    probing_ = false;
    return waiter;
  }

 private:
  static inline const monitor_pair* deceived_ = nullptr;
  static inline bool probing_ = false;
};

class spurious_wait : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    run_on_cpu(0);
    waiter_ = deceiving_pair::permitted();
  }
  void SetUp() override {
    run_on_cpu(0);
    ASSERT_EQ(name_of(waiter_.kind()), guest_pair()) << "the probe was not to be deceived";
  }

  static inline word_waiter waiter_;
  proto::completion_line line{};
  steady_clock clock;
};

TEST_F(spurious_wait, parks_really_end_at_once_here) {
  std::vector<duration> parks;
  for (int i = 0; i < 31; ++i) parks.push_back(one_park(waiter_, line, from_ms(1)));
  EXPECT_LT(median(parks), from_us(200));
}

TEST_F(spurious_wait, lasts_to_its_bound_all_the_same) {
  for (const duration bound : {from_us(100), from_ms(1), from_ms(10)}) {
    uint64_t looks = 0;
    auto look = [&] { return ++looks, proto::load_word(line.word[0]) == 0; };
    const instant until = clock.now() + bound;
    waiter_.wait(line, look, until, clock);
    EXPECT_GE(clock.now(), until);
    EXPECT_GE(looks, 2u);
  }
}

TEST_F(spurious_wait, ends_when_its_own_word_came_and_not_before) {
  other_cpu producer([&](uint64_t round) {
    for (size_t word = 1; word < 8; ++word) proto::store_word(line.word[word], round);
    spin_for(from_us(100));
    proto::store_word(line.word[0], round);
  });
  for (uint64_t round = 1; round <= 200; ++round) {
    producer.go(round);
    auto look = [&] { return proto::load_word(line.word[0]) != round; };
    waiter_.wait(line, look, clock.now() + from_ms(60'000), clock);
    ASSERT_EQ(proto::load_word(line.word[0]), round);
    producer.await_done(round);
  }
}

TEST_F(spurious_wait, a_store_from_before_the_arming_is_seen_by_the_first_look) {
  proto::store_word(line.word[5], 1);
  int looks = 0;
  auto look = [&] { return ++looks, proto::load_word(line.word[5]) == 0; };
  waiter_.wait(line, look, clock.now() + from_ms(60'000), clock);
  EXPECT_EQ(looks, 1);
}

}  // namespace
}  // namespace gar::emulated
