#include "tests/sim/totals.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

namespace gar::sim {
namespace {

std::vector<totals::counter> counters_of(const run_result& r) {
  const wait_tally& w = r.waits;
  return {
      {"waits ended", "blocked", w.by_kind[0]},
      {"waits ended", "immediate", w.by_kind[1]},
      {"waits ended", "late", w.by_kind[2]},
      {"waits ended", "parked", w.by_kind[3]},
      {"waits ended", "by gard", w.delegated},
      {"waits ended", "in-process", w.in_process},
      {"waits ended", "timed out", w.timed_out},
      {"waits ended", "cancelled", w.cancelled},
      {"waits ended", "stream closed", w.closed},
      {"waits ended", "device failed", w.device_failed},
      {"waits ended", "with their process", w.dropped},
      {"stores", "enqueued", r.devices.records},
      {"stores", "lost", r.devices.lost},
      {"stores", "late", r.devices.late},
      {"stores", "early", r.devices.early},
      {"stores", "into another word", r.devices.neighbour},
      {"stores", "bell lost", r.devices.bell_lost},
      {"scheduling", "spurious wakes", r.scheduling.spurious},
      {"scheduling", "late wakes", r.scheduling.late_wakes},
      {"scheduling", "jumped sleeps", r.scheduling.oversleeps},
      {"scheduling", "preemptions", r.scheduling.preemptions},
      {"messages", "sent", r.messages.messages},
      {"messages", "delayed", r.messages.delayed},
      {"messages", "no room", r.messages.full},
      {"messages", "connections cut", r.messages.cut},
      {"processes", "gard killed", r.processes.gard_killed},
      {"processes", "gard stopped", r.processes.gard_stopped},
      {"processes", "gard frozen", r.processes.gard_frozen},
      {"processes", "clients killed", r.processes.clients_killed},
      {"processes", "clients frozen", r.processes.clients_frozen},
      {"processes", "devices broken", r.processes.devices_broken},
      {"processes", "plans changed", r.processes.plans_changed},
  };
}

}  // namespace

void totals::add(const run_result& r) {
  ++seeds;
  failures += r.failure.has_value();
  calm += r.calm;
  virtual_ns += r.virtual_ns;
  turns += r.scheduling.turns;
  gard_bytes_max = std::max<uint64_t>(gard_bytes_max, r.gard_bytes_max);
  size_t i = 0;
  for (const counter& c : counters_of(r)) counted[i++] += c.value;
}

void totals::add(const totals& other) {
  seeds += other.seeds;
  failures += other.failures;
  calm += other.calm;
  virtual_ns += other.virtual_ns;
  turns += other.turns;
  gard_bytes_max = std::max(gard_bytes_max, other.gard_bytes_max);
  for (size_t i = 0; i < counted.size(); ++i) counted[i] += other.counted[i];
}

void totals::print(double seconds) const {
  std::string_view group;
  size_t i = 0;
  for (const counter& c : counters_of({})) {
    if (c.group != group) fmt::print("{}{:<12}", i == 0 ? "" : "\n", group = c.group);
    fmt::print("  {} {}", c.name, counted[i++]);
  }
  fmt::print("\nat most {} bytes in a gard; {} turns of threads\n", gard_bytes_max, turns);
  fmt::print("{} seeds ({} calm), {} failed, {:.1f} virtual seconds, {:.1f} s, {:.0f} seeds/s\n",
             seeds, calm, failures, static_cast<double>(virtual_ns) / 1e9, seconds,
             static_cast<double>(seeds) / std::max(seconds, 1e-9));
}

}  // namespace gar::sim
