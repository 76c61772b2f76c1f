// Question: how soon after a store does an inline wait return, beside a bare spinning reader?
// Floor: a thread that does nothing but load the word until it changes.
// Not measured: sleeping (see sleep), gard, a device's own query.
#include <atomic>
#include <thread>

#include "bench/measure.hpp"
#include "lib/core/descriptor.hpp"
#include "lib/core/inline_host.hpp"
#include "lib/core/wait.hpp"
#include "lib/linux/steady_clock.hpp"
#include "lib/linux/thread_timer.hpp"

namespace gar::bench {
namespace {

// A port whose word is its own authority and whose park is a bounded spin.
struct word_port {
  const uint64_t& word;

  bool done(uint64_t sequence) const { return reached(proto::load_word(word), sequence); }
  result<bool> query(uint64_t sequence) { return done(sequence); }
  result<bool> block(uint64_t sequence) { return poll(sequence); }
  result<bool> poll(uint64_t sequence) {
    while (!done(sequence)) {
    }
    return true;
  }
  result<void> arm() { return {}; }
  result<park_answer> park(park_bound bound) {
    const uint64_t until = now_ns() + bound.park.ns;
    do {
      for (int i = 0; i < 64; ++i) {
        if (done(target)) return park_answer{true, 1};
      }
    } while (now_ns() < until);
    return park_answer{false, 1};
  }
  uint64_t target = 0;
};

struct shared_words {
  alignas(64) uint64_t word = 0;
  alignas(64) std::atomic<uint64_t> asked{0};
  alignas(64) std::atomic<uint64_t> stored_ns{0};
  std::atomic<bool> stop{false};
};

// Stores one number per request, a while after the request.
void produce(shared_words& shared) {
  uint64_t stored = 0;
  while (!shared.stop.load(std::memory_order_relaxed)) {
    if (shared.asked.load(std::memory_order_acquire) == stored) continue;
    const uint64_t at = now_ns() + 5'000;
    while (now_ns() < at) {
    }
    ++stored;
    shared.stored_ns.store(now_ns(), std::memory_order_relaxed);
    proto::store_word(shared.word, stored);
  }
}

}  // namespace

case_result run_inline(const options& o) {
  case_result r;
  if (std::thread::hardware_concurrency() < 2) {
    target t;
    t.name = "inline_over_spin";
    t.limit = 2;
    t.why = "needs two cores";
    r.targets.push_back(t);
    return r;
  }
  shared_words shared;
  std::thread producer(produce, std::ref(shared));
  inline_host host;
  steady_clock clock;
  thread_timer timer;
  std::vector<uint64_t> spin_ns, wait_ns;
  const size_t rounds = o.quick ? 500 : 20'000;
  uint64_t sequence = 0;
  for (size_t i = 0; i < rounds; ++i) {
    ++sequence;
    shared.asked.store(sequence, std::memory_order_release);
    while (!reached(proto::load_word(shared.word), sequence)) {
    }
    spin_ns.push_back(now_ns() - shared.stored_ns.load(std::memory_order_relaxed));

    ++sequence;
    word_port port{shared.word};
    port.target = sequence;
    wait_request request;
    request.how = {park_kind::flag, from_us(100), from_ms(10), {}};
    request.sequence = sequence;
    request.start = clock.now();
    shared.asked.store(sequence, std::memory_order_release);
    const bool ended = host.run(run_wait(host, request, port, clock, timer), "bench").has_value();
    if (ended) wait_ns.push_back(now_ns() - shared.stored_ns.load(std::memory_order_relaxed));
  }
  shared.stop = true;
  producer.join();
  r.rows = {{"inline wait", distribution_of(wait_ns)}, {"floor: spin", distribution_of(spin_ns)}};
  r.targets.push_back(make_target(
      "inline_over_spin",
      static_cast<double>(r.rows[0].times.p50_ns) / static_cast<double>(r.rows[1].times.p50_ns),
      2));
  return r;
}

}  // namespace gar::bench
