// gar-bench ab: which of some plans suits this machine's work.
//
// Question: by what factor do throughput, CPU time of a wait and delay differ between plans, on the
// same pieces of work, taken in turns?
// Floor: the first plan named; each other is a ratio over it.
// Not measured: other work than the demo's; for `sim` that is its script (clients/demo).
//
// A rotation runs a slice of waits under each plan, the order turned by one each time. Its ratios
// are of slices that ran within the same second; the interval is over the rotations.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <map>

#include "bench/commands.hpp"
#include "bench/interval.hpp"
#include "bench/private_gard.hpp"
#include "clients/demo/gard_watch.hpp"
#include "clients/demo/worker_process.hpp"
#include "lib/core/plan.hpp"
#include "lib/core/quantity.hpp"

namespace gar::bench {
namespace {

namespace json = boost::json;

struct ab_options {
  demo_options demo;
  uint32_t rotations = 10;
  bool as_json = false;
};

// Of one plan, slice by slice.
struct plan_figures {
  std::vector<double> waits_per_s;
  std::vector<double> cpu_ns;    // of a wait: the clients' and gard's
  std::vector<double> delay_ns;  // p50, from the store to the wait's end
};

template <class T>
T must_do(demo_result<T> r) {
  if (!r) throw cannot_measure(r.error().text);
  return std::move(*r);
}

std::string client_name(size_t plan) {
  return "ab-" + std::to_string(plan + 1);
}

class rotation_run {
 public:
  explicit rotation_run(const ab_options& o)
      : options_(o), gard_({"", std::nullopt}), watch_(find_gard()) {
    std::vector<gard_watch::named_plan> plans;
    worker_options wanted{o.demo, gard_.socket(), {}};
    for (size_t i = 0; i < o.demo.plans.size(); ++i) {
      plans.push_back({client_name(i), o.demo.plans[i]});
      wanted.client_names.push_back(client_name(i));
    }
    if (const auto refused = watch_.set(plans)) throw cannot_measure(refused->text);
    workers_.reserve(o.demo.processes);
    for (uint32_t i = 0; i < o.demo.processes; ++i) {
      workers_.push_back(must_do(worker_process::start(wanted, workers_)));
    }
    for (worker_process& each : workers_) device_ = must_do(each.await_ready());
  }

  const std::string& device() const { return device_; }
  const std::string& word_wait() const { return watch_.word_wait(); }

  std::vector<plan_figures> go() {
    const size_t plans = options_.demo.plans.size();
    std::vector<plan_figures> all(plans);
    // The first slices teach the estimator, and do not count.
    for (size_t i = 0; i < plans; ++i) slice_of(i, 0);
    for (uint32_t r = 0; r < options_.rotations; ++r) {
      for (size_t i = 0; i < plans; ++i) {
        const size_t plan = (i + r) % plans;
        const slice s = slice_of(plan, r + 1);
        all[plan].waits_per_s.push_back(s.waits_per_s);
        all[plan].cpu_ns.push_back(s.cpu_ns);
        all[plan].delay_ns.push_back(s.delay_ns);
      }
    }
    return all;
  }

 private:
  struct slice {
    double waits_per_s = 0;
    double cpu_ns = 0;
    double delay_ns = 0;
  };

  gard_watch find_gard() const {
    auto found = gard_watch::find({.control = gard_.control(), .socket = gard_.socket()});
    if (const auto* none = std::get_if<no_gard>(&found)) throw cannot_measure(none->text);
    return std::move(std::get<gard_watch>(found));
  }

  slice slice_of(size_t plan, uint32_t rotation) {
    const uint64_t cpu = gard_.cpu_ns();
    for (worker_process& each : workers_) {
      each.tell(static_cast<int>(plan), uint64_t{rotation} * options_.demo.waits,
                options_.demo.waits);
    }
    tally sum;
    for (worker_process& each : workers_) sum.add(must_do(each.receive()));
    if (sum.failed) throw cannot_measure("a wait failed: " + sum.failure);
    const auto waits = static_cast<double>(std::max<uint64_t>(sum.waits, 1));
    const auto took_ns = static_cast<double>(std::max<uint64_t>(sum.ended_ns - sum.started_ns, 1));
    return {waits * 1e9 / took_ns, static_cast<double>(sum.cpu_ns + gard_.cpu_ns() - cpu) / waits,
            static_cast<double>(quantile(sum.wake_ns, 0.5))};
  }

  const ab_options& options_;
  private_gard gard_;
  gard_watch watch_;
  std::vector<worker_process> workers_;
  std::string device_;
};

// nullopt where a slice has no figure, as the delay of a device that does not tell when it stored.
std::optional<interval> ratio_of(const std::vector<double>& of, const std::vector<double>& over) {
  std::vector<double> ratios;
  for (size_t i = 0; i < of.size(); ++i) {
    if (of[i] <= 0 || over[i] <= 0) return std::nullopt;
    ratios.push_back(of[i] / over[i]);
  }
  return mean_ratio_95(ratios);
}

std::string text_of_interval(const std::optional<interval>& i) {
  if (!i) return "not known";
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", i->middle, i->low, i->high);
}

json::value json_of(const std::optional<interval>& i) {
  if (!i) return nullptr;
  return json::object{{"ratio", i->middle}, {"low", i->low}, {"high", i->high}};
}

void print(const ab_options& o, const rotation_run& ran, const std::vector<plan_figures>& all) {
  fmt::print("device {}, word wait {}, {} rotations of {} waits on {} streams\n", ran.device(),
             ran.word_wait(), o.rotations, o.demo.waits, o.demo.processes * o.demo.streams);
  for (size_t i = 0; i < all.size(); ++i) {
    fmt::print("\nplan {}: {}\n", i + 1, o.demo.plans[i]);
    fmt::print("  {:.1f} waits/s, {:.1f} us of CPU for one, {:.1f} us of delay (medians)\n",
               median(all[i].waits_per_s), median(all[i].cpu_ns) / 1000,
               median(all[i].delay_ns) / 1000);
    if (i == 0) continue;
    fmt::print("  over plan 1, with 95 % intervals:\n");
    fmt::print("    throughput {}\n",
               text_of_interval(ratio_of(all[i].waits_per_s, all[0].waits_per_s)));
    fmt::print("    CPU        {}\n", text_of_interval(ratio_of(all[i].cpu_ns, all[0].cpu_ns)));
    fmt::print("    delay      {}\n", text_of_interval(ratio_of(all[i].delay_ns, all[0].delay_ns)));
  }
}

void print_json(const ab_options& o, const rotation_run& ran,
                const std::vector<plan_figures>& all) {
  json::array plans;
  for (size_t i = 0; i < all.size(); ++i) {
    json::object one{{"plan", o.demo.plans[i]},
                     {"waits_per_s", median(all[i].waits_per_s)},
                     {"cpu_ns", median(all[i].cpu_ns)},
                     {"delay_ns", median(all[i].delay_ns)}};
    if (i > 0) {
      one["over_first"] = {
          {"throughput", json_of(ratio_of(all[i].waits_per_s, all[0].waits_per_s))},
          {"cpu", json_of(ratio_of(all[i].cpu_ns, all[0].cpu_ns))},
          {"delay", json_of(ratio_of(all[i].delay_ns, all[0].delay_ns))}};
    }
    plans.push_back(std::move(one));
  }
  fmt::print("{}\n", json::serialize(json::object{{"device", ran.device()},
                                                  {"word_wait", ran.word_wait()},
                                                  {"rotations", o.rotations},
                                                  {"plans", plans}}));
}

// What is wrong with the line, if anything.
std::optional<error> fault_of(ab_options& o, const std::string& work) {
  for (std::string& text : o.demo.plans) {
    const result<bands> plan = bands::parse(text);
    if (!plan) return plan.error();
    text = plan->label();
  }
  const result<duration> takes = parse_duration(work);
  if (!takes) return takes.error();
  o.demo.work = *takes;
  return std::nullopt;
}

}  // namespace

int run_ab(int count, const char* const* arguments) {
  CLI::App app("Compares plans on the same work: paired, in turns, with 95 % intervals.",
               "gar-bench ab");
  ab_options o;
  o.demo.device = demo_device::sim;
  std::string work = "2ms";
  const std::map<std::string, demo_device> devices = {{"sim", demo_device::sim},
                                                      {"vulkan", demo_device::vulkan},
                                                      {"cuda", demo_device::cuda},
                                                      {"hip", demo_device::hip}};
  app.add_option("--plan", o.demo.plans, "A plan's text; at least two, each over the first")
      ->required()
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--device", o.demo.device, "sim, vulkan, cuda or hip")
      ->transform(CLI::Transformer(devices))
      ->option_text("NAME [sim]");
  app.add_option("--rotations", o.rotations, "Times that each plan has its turn")
      ->check(CLI::Range(2, 1000))
      ->capture_default_str();
  app.add_option("--processes", o.demo.processes, "Client processes")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--streams", o.demo.streams, "Streams of each process")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--waits", o.demo.waits, "Waits of each stream in a slice")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--work", work, "How long a piece of work takes")->capture_default_str();
  app.add_flag("--json", o.as_json, "Print one JSON object");
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  if (o.demo.plans.size() < 2) {
    fmt::print(stderr, "gar-bench: two plans are needed; name --plan twice\n");
    return 2;
  }
  if (const auto fault = fault_of(o, work)) {
    fmt::print(stderr, "gar-bench: {}\n", fault->headline());
    return 1;
  }
  try {
    rotation_run run(o);
    const std::vector<plan_figures> all = run.go();
    o.as_json ? print_json(o, run, all) : print(o, run, all);
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "gar-bench: {}\n", e.what());
    return 1;
  }
}

}  // namespace gar::bench
