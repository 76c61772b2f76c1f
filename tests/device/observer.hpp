// A thread that sees when a word changes, to within what one look takes (about 0.1 us).
//
// It burns a CPU meanwhile, as nobody who waits for a word should: its only purpose is to date the
// end of the work without asking the driver.
//
//   idle -> watching (word, value) -> seen
//
// `forget` makes it idle again. Threads: one caller. Blocking: seen() until the word has the value.
#pragma once

#include <atomic>
#include <thread>

#include "lib/linux/steady_clock.hpp"
#include "proto/line.hpp"

namespace gar::device_check {

class observer {
 public:
  observer() : thread_([this] { run(); }) {}
  ~observer() {
    stop_.store(true);
    thread_.join();
  }
  observer(const observer&) = delete;
  observer& operator=(const observer&) = delete;

  void watch(const uint64_t& word, uint64_t value) {
    seen_ns_.store(0);
    value_ = value;
    word_.store(&word, std::memory_order_release);
  }
  void forget() { word_.store(nullptr); }
  instant seen() const {
    for (;;) {
      if (const uint64_t ns = seen_ns_.load(); ns != 0) return {ns};
    }
  }

 private:
  void run() {
    while (!stop_.load(std::memory_order_relaxed)) {
      const uint64_t* word = word_.load(std::memory_order_acquire);
      if (!word || proto::load_word(*word) != value_) continue;
      const uint64_t now_ns = clock_.now().ns;
      word_.store(nullptr);
      seen_ns_.store(now_ns);
    }
  }

  steady_clock clock_;
  std::atomic<const uint64_t*> word_{nullptr};
  uint64_t value_ = 0;
  std::atomic<uint64_t> seen_ns_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace gar::device_check
