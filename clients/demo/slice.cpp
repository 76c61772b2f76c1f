#include "clients/demo/slice.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/value_to.hpp>
#include <thread>

#include "clients/demo/work_script.hpp"
#include "lib/linux/steady_clock.hpp"

namespace gar {
namespace {

// Far beyond what any wait here takes: a wait that passes it hangs, and that is what it says.
constexpr duration wait_max = from_ms(60'000);

struct wait_end {
  int error = 0;
  gar_report report{};
  instant began;
  instant ended;
  duration cpu;
};

int spin_until_done(gar_stream* stream, uint64_t sequence) {
  const instant deadline = steady_clock().now() + wait_max;
  constexpr int queries_per_look = 1024;  // a look at the clock costs as much as a query
  for (;;) {
    for (int i = 0; i < queries_per_look; ++i) {
      int done = 0;
      const int error = gar_query(stream, sequence, &done);
      if (error != 0 || done) return error;
    }
    if (steady_clock().now() >= deadline) return static_cast<int>(errc::TimedOut);
  }
}

wait_end wait_once(const lane& on, uint64_t sequence, way_of_waiting how) {
  wait_end end;
  gar_wait_options options{};
  options.struct_bytes = sizeof(options);
  options.timeout_ns = wait_max.ns;
  const duration cpu = steady_clock::thread_cpu_time();
  end.began = steady_clock().now();
  end.error = how == way_of_waiting::spinning
                  ? spin_until_done(on.stream(), sequence)
                  : gar_wait(on.stream(), sequence, &options, &end.report);
  end.ended = steady_clock().now();
  end.cpu = steady_clock::thread_cpu_time() - cpu;
  return end;
}

void count_kind(tally& into, const gar_report& report) {
  switch (report.kind) {
    case GAR_KIND_BLOCKED:
      ++into.blocked;
      break;
    case GAR_KIND_IMMEDIATE:
      ++into.immediate;
      break;
    case GAR_KIND_LATE:
      ++into.late;
      break;
    default:
      ++into.parked;
      break;
  }
  into.in_process += report.in_process;
}

// Waits of one stream, one after the other.
class stream_run {
 public:
  stream_run(lane& on, uint32_t stream, const slice_options& options)
      : lane_(on), stream_(stream), options_(options) {}

  tally run() {
    counts_.started_ns = steady_clock().now().ns;
    for (uint32_t i = 0; i < options_.waits; ++i) wait_for(options_.first + i);
    counts_.ended_ns = steady_clock().now().ns;
    return std::move(counts_);
  }

 private:
  piece_of_work work_at(uint64_t index) const {
    if (options_.scripted) return scripted_piece(options_.work, stream_, index);
    return {options_.work, false};
  }

  void wait_for(uint64_t index) {
    ++counts_.waits;
    const piece_of_work work = work_at(index);
    const demo_result<lane::submitted> piece = lane_.submit(work.takes);
    if (!piece) return fail(index, piece.error().text);
    if (work.done_before_wait) spin_until_done(lane_.stream(), piece->sequence);
    const wait_end end = wait_once(lane_, piece->sequence, options_.how);
    const uint64_t truth = lane_.truth();
    counts_.cpu_ns += end.cpu.ns;
    if (end.error != 0) return fail(index, library_failure("gar_wait", end.error).text);
    if (truth != piece->number) {
      return fail(index,
                  fmt::format("SUCCESS BEFORE THE WORK WAS DONE: the work's last word is {}, "
                              "not {}",
                              truth, piece->number));
    }
    ++counts_.completed;
    if (options_.how == way_of_waiting::by_plan) count_kind(counts_, end.report);
    count_wake(piece->sequence, end);
  }

  // A store that landed before the wait began woke nobody.
  void count_wake(uint64_t sequence, const wait_end& end) {
    const auto stored = lane_.stored_at(sequence);
    if (stored && *stored > end.began) counts_.wake_ns.push_back((end.ended - *stored).ns);
  }

  void fail(uint64_t index, const std::string& why) {
    ++counts_.failed;
    if (counts_.failure.empty()) {
      counts_.failure = fmt::format("stream {}, wait {}: {}", stream_, index, why);
    }
  }

  lane& lane_;
  uint32_t stream_;
  slice_options options_;
  tally counts_;
};

}  // namespace

void tally::add(const tally& other) {
  waits += other.waits;
  completed += other.completed;
  failed += other.failed;
  in_process += other.in_process;
  blocked += other.blocked;
  immediate += other.immediate;
  late += other.late;
  parked += other.parked;
  cpu_ns += other.cpu_ns;
  if (started_ns == 0 || (other.started_ns != 0 && other.started_ns < started_ns)) {
    started_ns = other.started_ns;
  }
  ended_ns = std::max(ended_ns, other.ended_ns);
  wake_ns.insert(wake_ns.end(), other.wake_ns.begin(), other.wake_ns.end());
  if (failure.empty()) failure = other.failure;
}

tally run_slice(const std::vector<std::unique_ptr<lane>>& lanes, const slice_options& options) {
  std::vector<tally> each(lanes.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < lanes.size(); ++i) {
    threads.emplace_back(
        [&, i] { each[i] = stream_run(*lanes[i], static_cast<uint32_t>(i), options).run(); });
  }
  for (std::thread& thread : threads) thread.join();
  tally sum;
  for (const tally& one : each) sum.add(one);
  return sum;
}

boost::json::object to_json(const tally& t) {
  return {
      {"waits", t.waits},       {"completed", t.completed},
      {"failed", t.failed},     {"in_process", t.in_process},
      {"blocked", t.blocked},   {"immediate", t.immediate},
      {"late", t.late},         {"parked", t.parked},
      {"cpu_ns", t.cpu_ns},     {"started_ns", t.started_ns},
      {"ended_ns", t.ended_ns}, {"wake_ns", boost::json::array(t.wake_ns.begin(), t.wake_ns.end())},
      {"failure", t.failure}};
}

tally tally_of(const boost::json::value& from) {
  const auto count = [&](std::string_view key) { return from.at(key).to_number<uint64_t>(); };
  tally t;
  t.waits = count("waits");
  t.completed = count("completed");
  t.failed = count("failed");
  t.in_process = count("in_process");
  t.blocked = count("blocked");
  t.immediate = count("immediate");
  t.late = count("late");
  t.parked = count("parked");
  t.cpu_ns = count("cpu_ns");
  t.started_ns = count("started_ns");
  t.ended_ns = count("ended_ns");
  for (const auto& wake : from.at("wake_ns").as_array()) {
    t.wake_ns.push_back(wake.to_number<uint64_t>());
  }
  t.failure = std::string(from.at("failure").as_string());
  return t;
}

}  // namespace gar
