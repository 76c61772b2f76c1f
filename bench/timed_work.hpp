// Work of a set length, waited for in several ways: what CPU time each costs, and how late each is.
//
// A round is some waits of one way; the ways take turns. Before a wait the client spins for a
// moment, so that waking the producer is no part of how long the wait lasts, and before a store the
// producer spins, so that the jitter is ours and not a timer's.
// Threads: the caller's is the client. Errors: cannot_measure.
#pragma once

#include <functional>
#include <random>

#include "bench/measure.hpp"
#include "bench/private_gard.hpp"
#include "bench/producer.hpp"
#include "bench/word_client.hpp"

namespace gar::bench {

struct way {
  producer* by = nullptr;
  // The next number is announced: recorded, or told to whoever stands for a driver.
  std::function<store_order()> expect;
  // Ends when it has come. true: the wait slept for longer than the work lasted.
  std::function<bool(const store_order&)> wait;

  samples cpu_ns;    // of each round: for one wait, the client's and gard's
  samples delay_ns;  // of each wait: from the store
  size_t waits = 0;
  size_t late = 0;  // of them

  double late_in_100() const;
};

// On the core that is idle while the client waits: beside a client that looks that is gard's,
// beside one that blocks the client's.
producer_place timed_producer_on(unsigned core);

// By gar_wait on one of the client's streams. A stream for each way: gard and a thread see a wait
// begin at different times, which one history would confuse.
way library_way(word_client& client, size_t stream, producer& by, uint32_t flags = 0);
// The client looks at the word without a pause.
way spinning_way(word_client& client, size_t stream, producer& by);

class timed_work {
 public:
  static constexpr uint64_t work_ns = 10'000'000;
  static constexpr uint64_t jitter_ns = 20'000;  // each way

  explicit timed_work(const private_gard& gard) : gard_(gard) {}

  // A round that is not kept teaches the estimator.
  void run_round(way& w, size_t waits, bool kept);

 private:
  // The CPU that it cost.
  uint64_t run_one(way& w, bool kept);

  const private_gard& gard_;
  std::minstd_rand random_{1};
};

}  // namespace gar::bench
