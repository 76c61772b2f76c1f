#include "clients/demo/demo_options.hpp"

#include <CLI/CLI.hpp>

#include "clients/garctl/caret.hpp"
#include "clients/garctl/plan_need.hpp"
#include "lib/core/plan.hpp"
#include "lib/core/quantity.hpp"

namespace gar {
namespace {

constexpr uint32_t processes_max = 64;
constexpr uint32_t streams_max = 128;
constexpr uint32_t waits_max = 100'000;
constexpr size_t plans_max = 16;
constexpr duration work_min = from_us(1);
constexpr duration work_max = from_ms(10'000);

// The wait plans that are shown where none is named: each way of waiting, then what gard ships.
const char* const plans_shown[] = {"block", "poll", "flag:park_us=100,backstop_us=10000"};

std::string check_plan_text(const std::string& text) {
  plan_fault fault;
  if (bands::parse(text, fault)) return {};
  return "0x0001 InvalidPlan at byte " + std::to_string(fault.position) + ": " + fault.fault +
         '\n' + caret_under(text, fault.position) + "to do: " + std::string(plan_need(text, fault));
}

std::string check_text(const std::string& text) {
  return text.empty() ? "expected a path, found an empty text" : "";
}

std::optional<demo_device> device_named(const std::string& text) {
  if (text == "sim") return demo_device::sim;
  if (text == "vulkan") return demo_device::vulkan;
  if (text == "cuda") return demo_device::cuda;
  if (text == "hip") return demo_device::hip;
  return std::nullopt;
}

void add_text(CLI::App& app, const char* name, std::optional<std::string>& into,
              const char* description) {
  app.add_option_function<std::string>(
         name, [&into](const std::string& text) { into = text; }, description)
      ->type_name("PATH")
      ->check(check_text);
}

void add_options(CLI::App& app, demo_options& options) {
  app.add_option_function<std::string>(
         "--device", [&options](const std::string& text) { options.device = *device_named(text); },
         "The device that the work runs on [vulkan]")
      ->type_name("sim|vulkan|cuda|hip")
      ->check([](const std::string& text) {
        return device_named(text) ? "" : "expected sim, vulkan, cuda or hip, found " + text;
      });
  app.add_option("--processes", options.processes, "Processes that wait at the same time")
      ->check(CLI::Range(1u, processes_max))
      ->capture_default_str();
  app.add_option("--streams", options.streams, "Streams of each process")
      ->check(CLI::Range(1u, streams_max))
      ->capture_default_str();
  app.add_option("--waits", options.waits, "Waits of each stream under each plan")
      ->check(CLI::Range(1u, waits_max))
      ->capture_default_str();
  app.add_option_function<std::string>(
         "--work",
         [&options](const std::string& text) {
           const result<duration> work = parse_duration(text);
           if (!work) throw CLI::ValidationError("--work", work.error().text());
           if (*work < work_min || *work > work_max) {
             throw CLI::ValidationError("--work", "expected 1us to 10s, found " + text);
           }
           options.work = *work;
         },
         "How long one piece of work takes, with its unit [2ms]")
      ->type_name("DURATION");
  app.add_option("--plan", options.plans, "A wait plan to run; may be given several times")
      ->type_name("TEXT")
      ->allow_extra_args(false)
      ->check(check_plan_text);
  add_text(app, "--socket", options.socket, "gard's socket for clients");
  add_text(app, "--control", options.control, "gard's control socket");
  app.add_flag("--in-process", options.in_process, "Run every plan without a gard");
  app.add_flag("--json", options.json, "Print JSON");
}

std::optional<demo_ended> wrong(const std::string& why) {
  return demo_ended{2, "gar-demo: " + why + "\nRun `gar-demo --help` for the usage.\n"};
}

}  // namespace

std::optional<demo_ended> parse_demo_options(int argc, const char* const* argv,
                                             demo_options& options) {
  CLI::App app(
      "Several processes await real device work under several wait plans, beside the same "
      "processes spinning.",
      "gar-demo");
  app.set_version_flag("--version", "gar-demo " GAR_VERSION, "Print the version and exit");
  add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return demo_ended{0, app.help()};
  } catch (const CLI::CallForVersion& asked) {
    return demo_ended{0, std::string(asked.what()) + '\n'};
  } catch (const CLI::ParseError& e) {
    return wrong(e.what());
  }
  if (options.plans.size() > plans_max) {
    return wrong("--plan: expected at most " + std::to_string(plans_max));
  }
  if (options.plans.empty()) {
    options.plans.assign(std::begin(plans_shown), std::end(plans_shown));
    options.plans.emplace_back(plan_as_shipped);
  }
  return std::nullopt;
}

}  // namespace gar
