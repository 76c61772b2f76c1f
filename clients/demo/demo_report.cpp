#include "clients/demo/demo_report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <boost/json/array.hpp>

#include "clients/garctl/readable.hpp"
#include "clients/garctl/table.hpp"
#include "lib/core/plan.hpp"
#include "lib/core/quantity.hpp"

namespace gar {
namespace {

namespace json = boost::json;

constexpr double ms_ns = 1e6;

constexpr const char* legend = R"(
blkd, immd, late, park: how the waits ended. local: ended without gard's word, for it was
not there or silent, and the library ended them; waits that block or poll never count.
cpu: of a wait, in this process; xcpu, xtput: that and the throughput, spinning being 1.
gard: gard's CPU time, in all. p50, p99: from the store of the word to the wait's end.
)";

double to_ms(uint64_t ns) {
  return static_cast<double>(ns) / ms_ns;
}

// `a` for each of `per_a` against `b` for each of `per_b`.
std::optional<double> ratio(double a, double per_a, double b, double per_b) {
  if (per_a <= 0 || b <= 0 || per_b <= 0) return std::nullopt;
  return (a / per_a) / (b / per_b);
}

std::optional<double> cpu_ratio(const run_sum& run, const run_sum& spin) {
  return ratio(static_cast<double>(run.counts.cpu_ns), static_cast<double>(run.counts.waits),
               static_cast<double>(spin.counts.cpu_ns), static_cast<double>(spin.counts.waits));
}

std::optional<double> throughput_ratio(const run_sum& run, const run_sum& spin) {
  return ratio(static_cast<double>(run.counts.waits), static_cast<double>(run.elapsed_ns),
               static_cast<double>(spin.counts.waits), static_cast<double>(spin.elapsed_ns));
}

// The value that `percent` of them do not exceed, in us.
std::optional<double> percentile_us(std::vector<uint64_t> ns, uint64_t percent) {
  if (ns.empty()) return std::nullopt;
  const size_t index = std::min(ns.size() - 1, ns.size() * percent / 100);
  std::nth_element(ns.begin(), ns.begin() + static_cast<ptrdiff_t>(index), ns.end());
  return static_cast<double>(ns[index]) / 1000;
}

json::value number_or_null(const std::optional<double>& number) {
  return number ? json::value(*number) : json::value(nullptr);
}

json::value wake_of(const tally& counts) {
  const auto p50 = percentile_us(counts.wake_ns, 50);
  if (!p50) return nullptr;
  return json::object{{"p50", *p50}, {"p99", *percentile_us(counts.wake_ns, 99)}};
}

json::object run_of(const std::string& plan, const run_sum& run, const run_sum& spin) {
  const tally& counts = run.counts;
  return {{"plan", plan},
          {"waits", counts.waits},
          {"completed", counts.completed},
          {"failed", counts.failed},
          {"in_process", counts.in_process},
          {"kinds", json::object{{"blocked", counts.blocked},
                                 {"immediate", counts.immediate},
                                 {"late", counts.late},
                                 {"parked", counts.parked}}},
          {"elapsed_ms", to_ms(run.elapsed_ns)},
          {"cpu_ms_waiting", to_ms(counts.cpu_ns)},
          {"cpu_ms_gard", run.cpu_ms_gard},
          {"cpu_ratio_to_spin", number_or_null(cpu_ratio(run, spin))},
          {"throughput_ratio_to_spin", number_or_null(throughput_ratio(run, spin))},
          {"wake_us", wake_of(counts)}};
}

std::string_view name_of(demo_device device) {
  switch (device) {
    case demo_device::sim:
      return "sim";
    case demo_device::vulkan:
      return "vulkan";
    case demo_device::cuda:
      return "cuda";
    case demo_device::hip:
      return "hip";
  }
  return "";
}

std::string ratio_text(const std::optional<double>& number) {
  if (!number) return "-";
  return *number < 10 ? fmt::format("{:.3f}", *number) : fmt::format("{:.1f}", *number);
}

// "2.12ms"
std::string short_ns(uint64_t ns) {
  std::string text = readable_ns(ns);
  std::erase(text, ' ');
  return text;
}

std::string cpu_per_wait(const run_sum& run) {
  return run.counts.waits == 0 ? "-" : short_ns(run.counts.cpu_ns / run.counts.waits);
}

std::string wake_text(const tally& counts, uint64_t percent) {
  const auto us = percentile_us(counts.wake_ns, percent);
  return us ? short_ns(static_cast<uint64_t>(*us * 1000)) : "-";
}

// "flag+predict": how a plan waits, without its numbers.
std::string short_name(const std::string& text) {
  const result<bands> parsed = bands::parse(text);
  if (!parsed) return "?";
  std::string name(name_of(parsed->at(0).plan.park));
  if (parsed->at(0).plan.predict) name += "+predict";
  if (parsed->count() > 1) name += ";...";
  return name;
}

std::string ended_text(const tally& counts, const paint& colours) {
  if (counts.failed == 0) return colours.green(std::to_string(counts.completed));
  return colours.red(fmt::format("{}, {} failed", counts.completed, counts.failed));
}

std::string heading(const demo_report& report, const paint& colours) {
  const demo_options& o = report.options;
  std::string text = colours.bold(fmt::format(
      "{} on {}: {} processes x {} streams x {} waits of {}", name_of(o.device),
      readable_text(report.device_name), o.processes, o.streams, o.waits, text_of(o.work)));
  text += fmt::format("\n{}, word wait: {}\n\n", o.in_process ? "no gard" : "through gard",
                      report.word_wait);
  for (size_t i = 0; i < o.plans.size(); ++i) {
    text += fmt::format("  plan {}  {}\n", i + 1, o.plans[i]);
  }
  return text + '\n';
}

}  // namespace

void run_sum::add(const tally& slice) {
  counts.add(slice);
  elapsed_ns += slice.ended_ns - slice.started_ns;
}

bool demo_report::right() const {
  const uint64_t expected = uint64_t{options.processes} * options.streams * options.waits;
  const auto complete = [&](const run_sum& run) {
    return run.counts.completed == expected && run.counts.failed == 0;
  };
  return complete(spin) && std::all_of(runs.begin(), runs.end(), complete);
}

json::object to_json(const demo_report& report) {
  json::array runs;
  for (size_t i = 0; i < report.runs.size(); ++i) {
    runs.push_back(run_of(report.options.plans[i], report.runs[i], report.spin));
  }
  return {{"device", name_of(report.options.device)},
          {"device_name", report.device_name},
          {"processes", report.options.processes},
          {"streams", report.options.streams},
          {"waits_per_stream", report.options.waits},
          {"word_wait", report.word_wait},
          {"runs", std::move(runs)},
          {"spin", json::object{{"waits", report.spin.counts.waits},
                                {"elapsed_ms", to_ms(report.spin.elapsed_ns)},
                                {"cpu_ms_waiting", to_ms(report.spin.counts.cpu_ns)}}}};
}

std::string table_of(const demo_report& report, const paint& colours) {
  table rows({"plan", ">ended", ">blkd", ">immd", ">late", ">park", ">local", ">cpu", ">xcpu",
              ">xtput", ">gard", ">p50", ">p99"});
  const auto add = [&](const std::string& name, const run_sum& run, bool spins) {
    const tally& c = run.counts;
    const auto of_plan = [&](uint64_t count) { return spins ? "" : std::to_string(count); };
    rows.add({name, ended_text(c, colours), of_plan(c.blocked), of_plan(c.immediate),
              of_plan(c.late), of_plan(c.parked), of_plan(c.in_process), cpu_per_wait(run),
              ratio_text(cpu_ratio(run, report.spin)),
              ratio_text(throughput_ratio(run, report.spin)),
              spins ? "" : short_ns(static_cast<uint64_t>(run.cpu_ms_gard * ms_ns)),
              wake_text(c, 50), wake_text(c, 99)});
  };
  add("spinning", report.spin, true);
  for (size_t i = 0; i < report.runs.size(); ++i) {
    add(fmt::format("{} {}", i + 1, short_name(report.options.plans[i])), report.runs[i], false);
  }
  return heading(report, colours) + rows.text(colours) + legend;
}

}  // namespace gar
