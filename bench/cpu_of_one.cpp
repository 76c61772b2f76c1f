// Question: what CPU time does a wait of 10 ms cost, the client's and gard's together, under the
// plan as shipped and a gard as shipped; and what delay does an inline one add to a spin's?
// Floor: the client spins on the word for the same 10 ms, which costs 10 ms.
// Not measured: the producer; work that never lasts as long as the last time.
#include <functional>
#include <random>

#include "bench/library_wait.hpp"
#include "bench/private_gard.hpp"
#include "proto/line.hpp"

namespace gar::bench {
namespace {

constexpr uint64_t work_ns = 10'000'000;
constexpr uint64_t jitter_ns = 20'000;  // each way
// Before a store the producer spins, so that the jitter is ours and not a timer's.
constexpr uint64_t lead_ns = 300'000;
// Before a wait the client spins, so that waking the producer is no part of how long it lasts.
constexpr uint64_t settle_ns = 200'000;

producer_place place_on(unsigned core) {
  const cores& c = machine_cores();
  return {c.producer.value_or(core), false, lead_ns};
}

struct way {
  producer* by;
  size_t stream;  // its own: gard and a thread see a wait begin at different times, which one
                  // history would confuse
  std::function<gar_report(const store_order&)> wait;
  samples cpu_ns;    // of each round: for one wait
  samples delay_ns;  // of each wait
  size_t waits = 0;
  size_t late = 0;  // of them: the work was done before the sleep had ended
};

double late_in_100(const way& w) {
  return 100.0 * static_cast<double>(w.late) / static_cast<double>(std::max<size_t>(w.waits, 1));
}

class cpu_run {
 public:
  cpu_run(word_client& client, const private_gard& gard) : client_(client), gard_(gard) {}

  void run_round(way& w, size_t waits, bool kept) {
    if (kept) {
      w.cpu_ns.begin_round();
      w.delay_ns.begin_round();
    }
    uint64_t cpu_ns = 0;
    for (size_t i = 0; i < waits; ++i) cpu_ns += run_one(w, kept);
    if (kept) w.cpu_ns.add(cpu_ns / waits);
  }

 private:
  // The CPU that it cost.
  uint64_t run_one(way& w, bool kept) {
    store_order o = client_.record(w.stream);
    const uint64_t begins_ns = now_ns() + settle_ns;
    o.at_ns = begins_ns + work_ns - jitter_ns + random_() % (2 * jitter_ns);
    w.by->order(o);
    while (now_ns() < begins_ns) {
    }
    const uint64_t before_ns = own_cpu_ns() + gard_.cpu_ns();
    const gar_report report = w.wait(o);
    const uint64_t ended_ns = now_ns();
    const uint64_t cpu_ns = own_cpu_ns() + gard_.cpu_ns() - before_ns;
    if (!kept) return cpu_ns;
    w.delay_ns.add(ended_ns - w.by->stored_ns());
    ++w.waits;
    if (report.kind == GAR_KIND_LATE) ++w.late;
    return cpu_ns;
  }

  word_client& client_;
  const private_gard& gard_;
  std::minstd_rand random_{1};
};

gar_report wait_by_library(gar_stream* stream, const store_order& o, uint32_t flags) {
  gar_wait_options options{};
  options.struct_bytes = sizeof(options);
  options.flags = flags;
  gar_report report{};
  must_be_ok(gar_wait(stream, o.value, &options, &report), "gar_wait");
  return report;
}

}  // namespace

case_result run_cpu_of_one(const options& o) {
  const private_gard gard({"", machine_cores().gard});
  word_client client(gard.socket(), "gar-bench", 3);
  // Always on the core that idles: beside a client that looks it is gard's, beside gard the
  // client's.
  producer beside_client(place_on(machine_cores().gard));
  producer beside_gard(place_on(machine_cores().client));
  way gards{.by = &beside_gard, .stream = 0, .wait = [&](const store_order& o) {
              return wait_by_library(client.stream(0), o, 0);
            }};
  way inlines{.by = &beside_client, .stream = 1, .wait = [&](const store_order& o) {
                return wait_by_library(client.stream(1), o, GAR_WAIT_INLINE);
              }};
  way spins{.by = &beside_client, .stream = 2, .wait = [](const store_order& o) {
              while (proto::load_word(*o.word) != o.value) {
              }
              return gar_report{};
            }};
  const on_core here(machine_cores().client);
  cpu_run run(client, gard);
  const size_t rounds = o.quick ? 2 : 20;
  const size_t waits = o.quick ? 3 : 15;
  for (way* each : {&gards, &inlines}) run.run_round(*each, o.quick ? 4 : 20, false);
  for (size_t i = 0; i < rounds; ++i) {
    for (way* each : {&gards, &inlines, &spins}) run.run_round(*each, waits, true);
  }
  case_result r;
  r.rows = {{"CPU of a wait through gard", gards.cpu_ns.all()},
            {"CPU of an inline wait", inlines.cpu_ns.all()},
            {"floor: CPU of a spin", spins.cpu_ns.all()},
            {"delay of a wait through gard", gards.delay_ns.all()},
            {"delay of an inline wait", inlines.delay_ns.all()},
            {"floor: delay of a spin", spins.delay_ns.all()}};
  const double beyond_ns = difference_ns(inlines.delay_ns, spins.delay_ns);
  r.figures = {{"CPU inline, over a spin", ratio(inlines.cpu_ns, spins.cpu_ns, 0.5), ""},
               {"waits through gard that slept too long", late_in_100(gards), "in 100"},
               {"inline waits that slept too long", late_in_100(inlines), "in 100"}};
  r.findings = {{"cpu_ratio_10ms_1", ratio(gards.cpu_ns, spins.cpu_ns, 0.5), {}},
                {"wake_10ms_over_spin_us", beyond_ns / 1000, {}}};
  return r;
}

}  // namespace gar::bench
