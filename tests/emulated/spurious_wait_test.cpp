// Word waits where every wait of the hardware returns at once: Bochs told to make mwait a nop, and
// QEMU, whose wfet and wfe wait for nothing. The worst that a CPU may do: all wakes are spurious.
//
// The probe refuses such a CPU, as it should. These tests interrupt it at work so often that it
// takes an interrupt's length for a park's, and then hold the waits to their word.
#include <gtest/gtest.h>
#include <signal.h>

#include "guest_cpu.hpp"

namespace gar::emulated {
namespace {

// While it lives, its maker is interrupted again and again, each time for longer than what the
// probe takes for a park. The next interrupt comes only after the last is over: time for work
// remains.
class interrupted {
 public:
  interrupted() {
    struct sigaction action {};
    action.sa_handler = [](int) {
      spin_for(from_us(20));
      handled_.fetch_add(1);
    };
    ::sigaction(SIGUSR1, &action, &before_);
    thread_ = std::thread([this, whom = ::pthread_self()] { run(whom); });
  }
  ~interrupted() {
    over_.store(true);
    thread_.join();
    ::sigaction(SIGUSR1, &before_, nullptr);
  }

 private:
  void run(pthread_t whom) {
    run_on_cpu(1);
    for (uint64_t gap_us = 1; !over_.load(); gap_us = gap_us % 20 + 1) {
      const uint64_t handled = handled_.load();
      ::pthread_kill(whom, SIGUSR1);
      while (handled_.load() == handled) {
      }
      spin_for(from_us(gap_us));
    }
  }

  static inline std::atomic<uint64_t> handled_ = 0;
  std::atomic<bool> over_ = false;
  struct sigaction before_ {};
  std::thread thread_;
};

class spurious_wait : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    constexpr int attempts = 300;
    run_on_cpu(0);
    const interrupted probing;
    for (int i = 0; i < attempts && name_of(waiter_.kind()) != guest_pair(); ++i) {
      waiter_ = probe_word_wait().waiter;
    }
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
