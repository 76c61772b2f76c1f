#include "bench/timed_work.hpp"

#include <algorithm>

#include "bench/processes.hpp"
#include "proto/line.hpp"

namespace gar::bench {
namespace {

constexpr uint64_t lead_ns = 300'000;
constexpr uint64_t settle_ns = 200'000;

}  // namespace

double way::late_in_100() const {
  return 100.0 * static_cast<double>(late) / static_cast<double>(std::max<size_t>(waits, 1));
}

producer_place timed_producer_on(unsigned core) {
  return {machine_cores().producer.value_or(core), false, lead_ns};
}

way library_way(word_client& client, size_t stream, producer& by, uint32_t flags) {
  way w;
  w.by = &by;
  w.expect = [&client, stream] { return client.record(stream); };
  w.wait = [&client, stream, flags](const store_order& o) {
    gar_wait_options options{};
    options.struct_bytes = sizeof(options);
    options.flags = flags;
    gar_report report{};
    must_be_ok(gar_wait(client.stream(stream), o.value, &options, &report), "gar_wait");
    return report.kind == GAR_KIND_LATE;
  };
  return w;
}

way spinning_way(word_client& client, size_t stream, producer& by) {
  way w;
  w.by = &by;
  w.expect = [&client, stream] { return client.record(stream); };
  w.wait = [](const store_order& o) {
    while (proto::load_word(*o.word) != o.value) {
    }
    return false;
  };
  return w;
}

void timed_work::run_round(way& w, size_t waits, bool kept) {
  if (kept) {
    w.cpu_ns.begin_round();
    w.delay_ns.begin_round();
  }
  uint64_t cpu_ns = 0;
  for (size_t i = 0; i < waits; ++i) cpu_ns += run_one(w, kept);
  if (kept) w.cpu_ns.add(cpu_ns / waits);
}

uint64_t timed_work::run_one(way& w, bool kept) {
  store_order o = w.expect();
  const uint64_t begins_ns = now_ns() + settle_ns;
  o.at_ns = begins_ns + work_ns - jitter_ns + random_() % (2 * jitter_ns);
  w.by->order(o);
  while (now_ns() < begins_ns) {
  }
  const uint64_t before_ns = own_cpu_ns() + gard_.cpu_ns();
  const bool late = w.wait(o);
  const uint64_t ended_ns = now_ns();
  const uint64_t cpu_ns = own_cpu_ns() + gard_.cpu_ns() - before_ns;
  if (!kept) return cpu_ns;
  w.delay_ns.add(ended_ns - w.by->stored_ns());
  ++w.waits;
  if (late) ++w.late;
  return cpu_ns;
}

}  // namespace gar::bench
