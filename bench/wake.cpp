#include "bench/wake.hpp"

#include <optional>
#include <random>

#include "proto/line.hpp"

namespace gar::bench {
namespace {

// Where others take the cores a round can last seconds; a few of them still make a median.
constexpr uint64_t budget_ns = 25'000'000'000;
constexpr size_t rounds_least = 5;

class waker {
 public:
  waker(producer* by, const wake_timing& timing) : by_(by), timing_(timing) {}

  size_t run_round(wake_side& side, samples* into, size_t waits) {
    size_t dropped = 0;
    side.begin_round();
    if (into) into->begin_round();
    for (size_t i = 0; i < waits; ++i) {
      store_order o = side.expect();
      o.at_ns = now_ns() + timing_.delay_ns + jitter_ns();
      const std::optional<uint64_t> wake_ns = by_ ? await_producer(side, o) : store_here(side, o);
      if (!wake_ns) {
        ++dropped;
      } else if (into) {
        into->add(*wake_ns);
      }
    }
    side.end_round();
    return dropped;
  }

 private:
  std::optional<uint64_t> await_producer(wake_side& side, const store_order& o) {
    by_->order(o);
    const uint64_t from = now_ns();
    side.await();
    const uint64_t until = now_ns();
    const uint64_t stored = by_->stored_ns();
    if (stored < from + timing_.settled_ns) return std::nullopt;
    return until - stored;
  }
  std::optional<uint64_t> store_here(wake_side& side, const store_order& o) {
    while (now_ns() < o.at_ns) {
    }
    const uint64_t from = now_ns();
    proto::store_word(*o.word, o.value);
    if (o.bell) proto::store_word(*o.bell, o.bell_value);
    side.await();
    return now_ns() - from;
  }
  uint64_t jitter_ns() { return random_() % (timing_.delay_ns / 2 + 1); }

  producer* by_;
  wake_timing timing_;
  std::minstd_rand random_{1};
};

}  // namespace

wake_pair compare_wakes(wake_side& ours, wake_side& floor, producer* by, const options& o,
                        const wake_timing& timing) {
  const size_t rounds = o.quick ? 3 : 25;
  const size_t waits = o.quick ? 20 : 300;
  const on_core here(machine_cores().client);
  waker run(by, timing);
  wake_pair pair;
  run.run_round(ours, nullptr, 20);
  run.run_round(floor, nullptr, 20);
  const uint64_t until = now_ns() + budget_ns;
  for (size_t i = 0; i < rounds; ++i) {
    if (i >= rounds_least && now_ns() > until) break;
    pair.dropped += run.run_round(ours, &pair.ours, waits);
    pair.dropped += run.run_round(floor, &pair.floor, waits);
  }
  return pair;
}

case_result wake_result(const wake_pair& pair, const std::string& ours, const std::string& floor) {
  case_result r;
  r.rows = {{ours, pair.ours.all()}, {"floor: " + floor, pair.floor.all()}};
  r.figures = {{"p50 over the floor", ratio(pair.ours, pair.floor, 0.5), ""},
               {"p99 over the floor", ratio(pair.ours, pair.floor, 0.99), ""}};
  if (pair.dropped) {
    r.figures.push_back(
        {"samples dropped: the store came too early", static_cast<double>(pair.dropped), ""});
  }
  return r;
}

}  // namespace gar::bench
