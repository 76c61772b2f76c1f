// What the harness says of the machine that the test runs on, for tests to hold the code against.
//
// The emulator was told which CPU to be, so the truth about it comes from the harness and not from
// what the code under test asks as well.
//
//   GAR_GUEST_PAIR   umwait, mwaitx, wfet, wfe: the pair that this CPU has; software: none
//   GAR_GUEST_KHZ    of the counter that bounds its waits
//
// Threads: the test's. Time in a guest is counted in instructions, so the host's load does not
// show in it: bounds may be held tight, where they are not about the guest's own interrupts.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "lib/linux/steady_clock.hpp"
#include "lib/linux/word_wait.hpp"

namespace gar::emulated {

inline std::string_view guest_pair() {
  const char* pair = std::getenv("GAR_GUEST_PAIR");
  return pair ? pair : "";
}

inline uint64_t guest_khz() {
  const char* khz = std::getenv("GAR_GUEST_KHZ");
  return khz ? std::strtoull(khz, nullptr, 10) : 0;
}

inline void run_on_cpu(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);
}

inline void spin_for(duration d) {
  steady_clock clock;
  const instant until = clock.now() + d;
  while (clock.now() < until) {
  }
}

// A thread on the other CPU, for the whole of a test: one begins on its maker's CPU and takes a
// guest a millisecond to get away from there. `store(round)` runs once for each `go`, as soon as it
// was said.
class other_cpu {
 public:
  explicit other_cpu(std::function<void(uint64_t)> store)
      : store_(std::move(store)), thread_([this] { run(); }) {
    await_done(0);
  }
  ~other_cpu() {
    round_.store(over);
    thread_.join();
  }

  void go(uint64_t round) { round_.store(round, std::memory_order_release); }
  void await_done(uint64_t round) const {
    while (done_.load(std::memory_order_acquire) != round) ::sched_yield();
  }

 private:
  static constexpr uint64_t over = ~uint64_t{0};

  void run() {
    run_on_cpu(1);
    done_.store(0, std::memory_order_release);
    uint64_t seen = 0;
    for (;;) {
      const uint64_t round = round_.load(std::memory_order_acquire);
      if (round == over) return;
      if (round == seen) continue;
      store_(round);
      seen = round;
      done_.store(round, std::memory_order_release);
    }
  }

  // Lines of their own: what the two say to each other must not end a park.
  alignas(64) std::atomic<uint64_t> round_ = 0;
  alignas(64) std::atomic<uint64_t> done_ = over;
  alignas(64) std::function<void(uint64_t)> store_;
  std::thread thread_;
};

// A page to watch, and what makes a store to it seen by Bochs.
//
// Bochs finds a store to a watched line in the walk of the page tables, and arming does not drop
// what the other CPU remembers of an earlier walk (it drops the entry of the physical address,
// where entries go by the linear one). So whoever stores makes its CPU forget the page first, by
// reading pages that share its place in any table of a power of two. Real CPUs need none of this.
class watched_page {
 public:
  static constexpr size_t lines = 4096 / sizeof(proto::completion_line);

  watched_page() {
    void* at =
        ::mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    GAR_ASSERT(at != MAP_FAILED);
    ::madvise(at, mapped_bytes, MADV_NOHUGEPAGE);
    at_ = static_cast<char*>(at);
  }
  ~watched_page() { ::munmap(at_, mapped_bytes); }
  watched_page(const watched_page&) = delete;
  watched_page& operator=(const watched_page&) = delete;

  proto::completion_line& line(size_t index) {
    return reinterpret_cast<proto::completion_line*>(at_)[index];
  }
  void store(size_t index, size_t word, uint64_t value) {
    proto::completion_line& into = line(index);
    for (size_t bytes = 1u << 20; bytes < mapped_bytes; bytes *= 2) {
      static_cast<void>(*static_cast<volatile char*>(at_ + bytes));
    }
    proto::store_word(into.word[word], value);
  }

 private:
  static constexpr size_t mapped_bytes = 33u << 20;
  char* at_;
};

inline duration median(std::vector<duration> all) {
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

// How long one park lasts, from the look after arming to the next. `armed` runs in the former.
template <class Armed>
duration one_park(const word_waiter& waiter, const proto::completion_line& line, duration bound,
                  Armed&& armed) {
  steady_clock clock;
  std::array<instant, 2> looked{};
  size_t looks = 0;
  auto first_time = [&] {
    if (looks < looked.size()) looked[looks] = clock.now();
    if (++looks == 1) armed();
    return looks < looked.size();
  };
  const instant now = clock.now();
  waiter.wait(line, first_time, now + std::min(bound, instant::never() - now), clock);
  return looks < looked.size() ? duration{} : looked[1] - looked[0];
}

inline duration one_park(const word_waiter& waiter, const proto::completion_line& line,
                         duration bound) {
  return one_park(waiter, line, bound, [] {});
}

}  // namespace gar::emulated
