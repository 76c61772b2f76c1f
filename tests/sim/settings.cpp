#include "tests/sim/settings.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gar::sim {
namespace {

constexpr uint32_t million = 1'000'000;

// Off in half of the runs, else anything up to `most`, small rates as likely as large ones.
uint32_t rate(random_source& r, uint32_t most) {
  return r.below(2) == 0 ? 0 : static_cast<uint32_t>(r.spread(most / 256 + 1, most));
}

struct drawn_plan {
  std::string text;
  uint64_t backstop_ns = 0;
  uint64_t sleep_ns = 0;
};

drawn_plan draw_plan(random_source& r, bool flag_alone) {
  drawn_plan p;
  const uint64_t kind = flag_alone ? 0 : r.below(10);
  if (kind == 8) return {"block", 0, 0};
  if (kind == 9) {
    p.text = "poll";
  } else {
    const uint64_t backstop_us = r.spread(100, 40'000);
    const uint64_t park_us = r.below(3) == 0 ? 10'000 : r.spread(5, 10'000);
    p.backstop_ns = backstop_us * 1000;
    p.text = fmt::format("flag:park_us={},backstop_us={}", park_us, backstop_us);
  }
  if (r.below(2) == 0) {
    const uint64_t sleep_us = r.spread(200, 5'000);
    p.sleep_ns = sleep_us * 1000;
    p.text += fmt::format("+predict:margin_us={},min_sleep_us={},max_sleep_us={},window={}",
                          r.below(300), r.between(1, 100), sleep_us, r.between(1, 16));
  }
  return p;
}

drawn_plan draw_bands(random_source& r) {
  drawn_plan all = draw_plan(r, r.below(4) != 0);
  if (r.below(4) != 0) return all;
  const drawn_plan more = draw_plan(r, false);
  all.text += fmt::format(";rows>={}:{}", r.between(1, 40), more.text);
  all.backstop_ns = std::max(all.backstop_ns, more.backstop_ns);
  all.sleep_ns = std::max(all.sleep_ns, more.sleep_ns);
  return all;
}

}  // namespace

run_settings::run_settings(uint64_t seed) {
  random_source of_seed(seed);
  of_seed.next();  // the machine's own
  random_source r(of_seed.next());
  calm = r.below(5) < 2;
  clients = r.between(1, 3);
  threads_per_client = r.below(3) == 0 ? r.between(2, 3) : 1;
  streams_per_thread = r.between(1, 3);
  steps = r.between(3, 12);
  work_ns_max = r.below(2) == 0 ? r.between(500'000, 6'000'000) : r.spread(5'000, 3'000'000);
  think_ns_max = r.spread(1'000, 1'000'000);
  look_us = r.below(2) == 0 ? 0 : static_cast<uint32_t>(r.spread(1, 60));
  word_streams = r.below(4) == 0;
  points = r.below(3) == 0;
  timeouts = r.below(3) == 0;
  cancels = r.below(4) == 0;
  inlines = r.below(4) == 0;
  asyncs = r.below(2) == 0;
  reopens = r.below(4) == 0;
  in_process = r.below(50) == 0;
  if (r.below(8) == 0) base = 0 - r.spread(1, 40);

  gard.naive = r.below(10) == 0;
  gard.ring = r.below(4) != 0;
  gard.hardware = r.below(3) != 0;
  gard.spin_us = r.below(2) == 0 ? 0 : static_cast<uint32_t>(r.spread(1, 300));
  gard.margin_floor_ns = r.below(2) == 0 ? 0 : r.below(100'000);
  gard.limits.ring_entries = 64;
  const auto use = [this](const drawn_plan& p) {
    backstop_ns = std::max(backstop_ns, p.backstop_ns);
    sleep_ns = std::max(sleep_ns, p.sleep_ns);
    return p.text;
  };
  gard.plan = use(draw_bands(r));
  if (points) gard.point_plan = use(draw_bands(r));
  if (r.below(3) == 0) {
    for (uint64_t i = r.between(1, 3); i > 0; --i) later_plans.push_back(use(draw_bands(r)));
  }
  if (r.below(5) == 0) {
    gard.limits.waits_per_client = static_cast<uint32_t>(r.between(1, 4));
    gard.limits.streams_per_client = static_cast<uint32_t>(r.between(1, 4));
    gard.limits.naive_workers = static_cast<uint32_t>(r.between(1, 3));
  }

  devices.lost = rate(r, 500'000);
  devices.late = rate(r, 500'000);
  devices.late_ns = r.spread(10'000, 30'000'000);
  devices.early = rate(r, 300'000);
  devices.neighbour = word_streams ? 0 : rate(r, 300'000);
  devices.bell_lost = rate(r, 500'000);
  devices.blocks = r.below(2) == 0;
  if (r.below(6) == 0) device_breaks = 1;
  scheduling.spurious = rate(r, 200'000);
  scheduling.preempted = rate(r, 20'000);
  scheduling.preempted_ns = 20'000;
  faults_end_ns = r.spread(500'000, 12'000'000);
  if (calm) return;

  scheduling.preempted_ns = r.spread(10'000, 5'000'000);
  scheduling.late_wake = rate(r, 300'000);
  scheduling.late_wake_ns = r.spread(10'000, 20'000'000);
  scheduling.oversleep = rate(r, 300'000);
  scheduling.oversleep_ns = r.spread(100'000, 60'000'000);
  messages.delayed = rate(r, 500'000);
  messages.delayed_ns = r.spread(10'000, 50'000'000);
  messages.cut = rate(r, 30'000);
  if (r.below(3) == 0) messages.messages_max = r.between(2, 12);
  if (r.below(4) == 0) gard.limits.unread_bytes_per_client = 512;
  const auto some = [&r](uint64_t one_in) {
    return r.below(one_in) == 0 ? static_cast<uint32_t>(r.between(1, 2)) : 0u;
  };
  gard_kills = some(4);
  gard_stops = some(8);
  gard_freezes = some(4);
  client_kills = some(4);
  client_freezes = some(4);
  connection_cuts = some(4);
}

std::string run_settings::text() const {
  return fmt::format(
      "{}clients {}, threads {}, streams {}, steps {}; {}{}{}, plan {}{}{}; stores lost {} late {} "
      "early {} neighbour {} bell {}; spurious {} late wakes {} oversleeps {}; messages delayed {} "
      "cut {} room {}; gard killed {} stopped {} frozen {}; clients killed {} frozen {}; cuts {}; "
      "devices broken {}; faults end {} us",
      calm ? "calm, " : "", clients, threads_per_client, streams_per_thread, steps,
      in_process ? "in-process, " : "",
      gard.naive      ? "naive"
      : gard.hardware ? "monitors"
                      : "looks",
      gard.ring && !gard.naive ? ", rings" : ", sockets", gard.plan,
      gard.point_plan ? ", p1 " + *gard.point_plan : "",
      later_plans.empty() ? "" : fmt::format(", then {}", fmt::join(later_plans, " | ")),
      devices.lost, devices.late, devices.early, devices.neighbour, devices.bell_lost,
      scheduling.spurious, scheduling.late_wake, scheduling.oversleep, messages.delayed,
      messages.cut, messages.messages_max, gard_kills, gard_stops, gard_freezes, client_kills,
      client_freezes, connection_cuts, device_breaks, faults_end_ns / 1000);
}

}  // namespace gar::sim
