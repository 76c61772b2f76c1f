#include "clients/garctl/command_line.hpp"

#include <CLI/CLI.hpp>

#include "lib/core/printable.hpp"
#include "lib/core/quantity.hpp"
#include "proto/limits.hpp"

namespace gar {
namespace {

// A text that must not be empty: an empty one is a shell variable that was not set.
void add_text(CLI::App& app, const char* name, std::optional<std::string>& into,
              const char* type_name, const char* description) {
  app.add_option_function<std::string>(
         name, [&into](const std::string& text) { into = text; }, description)
      ->type_name(type_name)
      ->check([](const std::string& text) {
        return text.empty() ? std::string("expected a text, found an empty one") : std::string();
      });
}

// The two options of every command, so that they may stand before and after it.
void add_common(CLI::App& app, command_line& line) {
  add_text(app, "--control", line.control, "PATH", "gard's control socket; no other is tried");
  app.add_flag("--json", line.json, "Print JSON");
}

CLI::App* add_verb(CLI::App& parent, command_line& line, verb which, const char* name,
                   const char* description) {
  CLI::App* app = parent.add_subcommand(name, description);
  add_common(*app, line);
  app->parse_complete_callback([&line, which] { line.asked = which; });
  return app;
}

void add_scope(CLI::App& app, command_line& line) {
  add_text(app, "--client", line.client, "NAME", "Only for clients of this name");
  add_text(app, "--point", line.point, "NAME", "Only at the readback point of this name");
}

void add_plan_verbs(CLI::App& root, command_line& line) {
  CLI::App* plan = root.add_subcommand("plan", "Show, check and change wait plans");
  add_common(*plan, line);
  plan->require_subcommand(1);
  add_verb(*plan, line, verb::plan_show, "show", "The plans in force and where each came from");
  CLI::App* check = add_verb(*plan, line, verb::plan_check, "check",
                             "Check a plan's text; needs no gard. '-' reads a text a line");
  check->add_option("TEXT", line.plan_text, "The plan, or '-'")->required();
  CLI::App* set = add_verb(*plan, line, verb::plan_set, "set", "Set a plan on the running node");
  set->add_option("TEXT", line.plan_text, "The plan")->required();
  add_scope(*set, line);
  add_scope(*add_verb(*plan, line, verb::plan_unset, "unset", "Take back what `plan set` set"),
            line);
}

// How long something goes on, with its unit.
CLI::Option* add_span(CLI::App& app, std::optional<duration>& into,
                      const std::string& description) {
  return app
      .add_option_function<std::string>(
          "--for", [&into](const std::string& text) { into = *parse_duration(text); }, description)
      ->type_name("TIME")
      ->check([](const std::string& text) {
        const result<duration> span = parse_duration(text);
        if (span && *span >= from_ms(1)) return std::string();
        return "expected a time with its unit, such as 5s, found '" + printable(text, 80) + "'";
      });
}

void add_watching_verbs(CLI::App& root, command_line& line) {
  CLI::App* top = add_verb(root, line, verb::top, "top", "What goes on, on the whole screen");
  add_span(*top, line.span, "End after so long; without it, when q is pressed");
  CLI::App* watch = add_verb(root, line, verb::watch, "watch", "Events as they happen");
  add_span(*watch, line.span, "End after so long; without it, never");
  watch->add_flag("--kept", line.kept, "First those that gard still has");
  CLI::App* trace = add_verb(root, line, verb::trace, "trace",
                             "Each wait's steps in time, as a file for Perfetto");
  const std::string longest = std::to_string(proto::trace_ms_max / 1000) + "s at most";
  add_span(*trace, line.span, "For so long, " + longest)->required();
  trace->add_option("--output", line.output, "The file")->type_name("FILE")->required();
  CLI::App* report = add_verb(root, line, verb::report, "report",
                              "What gard did since its start, as a page for a browser");
  report->add_option("--output", line.output, "The file")->type_name("FILE.html")->required();
}

void add_verbs(CLI::App& root, command_line& line) {
  add_verb(root, line, verb::status, "status", "What gard runs, and what it counted");
  add_verb(root, line, verb::caps, "caps", "What this host and its drivers can do; needs no gard");
  add_verb(root, line, verb::doctor, "doctor",
           "What costs latency or CPU here, and the command that changes it; needs no gard");
  add_verb(root, line, verb::clients, "clients", "Who is connected");
  add_verb(root, line, verb::streams, "streams", "The streams that are open");
  add_verb(root, line, verb::points, "points", "The readback points and their estimates");
  add_verb(root, line, verb::version, "version", "The versions of garctl and of gard");
  CLI::App* metrics =
      add_verb(root, line, verb::metrics, "metrics", "What gard counted, as OpenMetrics text");
  metrics->add_flag("--prometheus", line.prometheus, "As Prometheus' own text instead");
  add_watching_verbs(root, line);
  add_plan_verbs(root, line);
  CLI::App* reload =
      add_verb(root, line, verb::reload, "reload", "Read the configuration file again");
  reload->add_flag("--replace", line.replace, "Drop the plans that were set at runtime too");
}

// The command that was named last, and the line so far: "garctl plan set".
const CLI::App& deepest(const CLI::App& root, std::string& line) {
  const CLI::App* app = &root;
  line = root.get_name();
  while (!app->get_subcommands().empty()) {
    app = app->get_subcommands().front();
    line += ' ' + app->get_name();
  }
  return *app;
}

std::string sentence_of(const CLI::ParseError& wrong, const CLI::App& app,
                        const std::string& line) {
  std::string commands;
  for (const CLI::App* each : app.get_subcommands([](const CLI::App*) { return true; })) {
    commands += (commands.empty() ? "" : ", ") + each->get_name();
  }
  if (commands.empty()) return line + ": " + wrong.what();
  for (const std::string& word : app.remaining()) {
    if (word.starts_with('-')) return line + ": unknown option '" + printable(word, 80) + "'";
    return line + ": unknown command '" + printable(word, 80) + "'; expected one of " + commands;
  }
  if (dynamic_cast<const CLI::RequiredError*>(&wrong)) {
    return line + ": expected one of " + commands;
  }
  return line + ": " + wrong.what();
}

}  // namespace

std::optional<usage> parse_command_line(int argc, const char* const* argv, command_line& line) {
  CLI::App root(
      "Shows and changes what gard does. Exit status: 0 fine, 1 refused, 2 usage, "
      "3 gard not reachable.",
      "garctl");
  add_common(root, line);
  root.set_version_flag("--version", "garctl " GAR_VERSION, "Print the version and exit");
  root.require_subcommand(1);
  add_verbs(root, line);
  try {
    root.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    // Help for the command that was named, however deep.
    std::string before;
    const CLI::App& app = deepest(root, before);
    before.erase(before.size() - app.get_name().size());
    if (!before.empty()) before.pop_back();
    return usage{0, app.help(before)};
  } catch (const CLI::CallForVersion& asked) {
    return usage{0, std::string(asked.what()) + '\n'};
  } catch (const CLI::ParseError& wrong) {
    std::string before;
    const CLI::App& app = deepest(root, before);
    return usage{2, sentence_of(wrong, app, before) + "\nRun `garctl --help` for the usage.\n"};
  }
  return std::nullopt;
}

}  // namespace gar
