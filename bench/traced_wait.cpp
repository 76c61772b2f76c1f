// Question: what does it cost a wait that a trace is on, and that it could be?
// Floor: the same wait on the same reactor with no trace: what tracing leaves in it is two branches
// on a pointer that is null, and a third at each flush.
// Not measured: reading a trace, which is the io thread's; waits that a kernel wakes, where the
// clock that a flush reads once for all of its waits is a smaller part.
#include <array>
#include <memory>

#include "bench/measure.hpp"
#include "lib/core/delegated_wait.hpp"
#include "proto/line.hpp"

namespace gar::bench {
namespace {

constexpr size_t waits_a_flush = 64;

// 64 waits of one client that come, are stored to, seen, and told, over and over.
class waiting_reactor {
 public:
  void trace_to(wait_trace* trace) {
    trace_ = trace;
    waits_.board().trace_to(trace);
  }

  // For one wait.
  uint64_t time_ns(size_t flushes) {
    const uint64_t from = now_ns();
    for (size_t i = 0; i < flushes; ++i) turn();
    return (now_ns() - from) / (flushes * waits_a_flush);
  }

 private:
  void turn() {
    host_.advance({now_ns()});
    ++target_;
    for (uint32_t i = 0; i < waits_a_flush; ++i) start(i);
    host_.run_ready();
    for (proto::completion_line& line : lines_) {
      for (uint64_t& word : line.word) proto::store_word(word, target_);
    }
    host_.look();
    host_.run_ready();
    waits_.board().flush([](const auto&) {}, [](session_id, const auto&, const auto&) {});
    if (trace_) trace_->notified({now_ns()});
    if (trace_) trace_->take(SIZE_MAX, [](const traced_wait&) {});
  }

  void start(uint32_t i) {
    wait_start w;
    w.session = 1;
    w.cookie = w.place = i;
    w.stream = i;
    w.stream_generation = 1;
    w.word = memory_descriptor(lines_[i / proto::words_per_line].word[i % proto::words_per_line],
                               target_);
    w.how.run(plan_);
    w.how.start = host_.now();
    waits_.start(w);
  }

  std::array<proto::completion_line, waits_a_flush / proto::words_per_line> lines_{};
  reactor host_;
  delegated_waits waits_{host_};
  wait_trace* trace_ = nullptr;
  uint64_t target_ = 0;
  plan plan_{park_kind::flag, from_us(100), from_ms(1'000), std::nullopt};
};

}  // namespace

case_result run_traced_wait(const options& o) {
  const size_t rounds = o.quick ? 5 : 40;
  const auto trace = std::make_unique<wait_trace>();
  waiting_reactor off;
  waiting_reactor on;
  on.trace_to(trace.get());
  samples off_ns, on_ns;
  for (size_t i = 0; i < rounds; ++i) {
    off_ns.begin_round();
    on_ns.begin_round();
    for (size_t j = 0; j < 10; ++j) {
      off_ns.add(off.time_ns(100));
      on_ns.add(on.time_ns(100));
    }
  }
  case_result r;
  r.rows = {{"a wait with a trace, noted and taken", on_ns.all()},
            {"floor: the same without", off_ns.all()}};
  r.figures = {{"a trace adds to a wait", difference_ns(on_ns, off_ns), "ns"}};
  r.findings = {{"traced_over_untraced", ratio(on_ns, off_ns, 0.5), {}}};
  return r;
}

}  // namespace gar::bench
