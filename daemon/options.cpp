#include "daemon/options.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "daemon/version.hpp"
#include "lib/core/error.hpp"
#include "lib/core/printable.hpp"

namespace gar {
namespace {

constexpr size_t shown_bytes_max = 120;

constexpr const char* description =
    "gard owns a machine's GPU completion words and tells every process when its work is done.\n"
    "It runs in the foreground and logs to stderr.";

constexpr const char* footer =
    "Sockets: the flag, else GARD_SOCKET and GARD_CONTROL, else the configuration, else for root\n"
    "/run/gard/gard.sock and /run/gard-control/control.sock, for others gard/gard.sock and\n"
    "gard-control/control.sock below $XDG_RUNTIME_DIR.\n"
    "Signals: SIGHUP reads the configuration again, SIGTERM and SIGINT stop.\n"
    "Exit status: 0 stopped, 64 usage, 69 the executor was refused, 75 another gard lives,\n"
    "78 configuration, 71 io_uring failed while gard ran, 70 a failure of gard's own.";

int usage_status() {
  return find_error(static_cast<uint16_t>(errc::InvalidArgument))->exit_status;
}

ended usage(std::string_view sentence) {
  return {usage_status(), {}, fmt::format("gard: {}; see `gard --help`\n", sentence)};
}

CLI::Option* add_path(CLI::App& app, const char* name, std::optional<std::string>& into,
                      const char* meaning) {
  return app
      .add_option_function<std::string>(
          name, [&into](const std::string& path) { into = path; }, meaning)
      ->type_name("PATH");
}

void describe(CLI::App& app, options& into) {
  app.footer(footer);
  app.set_help_flag("-h,--help", "Print this and exit");
  app.set_version_flag("--version", fmt::format("gard {}", version), "Print the version and exit");
  add_path(app, "--config", into.config_file,
           "Read this file; without it /etc/gard/gard.toml where it exists, else built-in values")
      ->check([](const std::string& path) {
        return path.empty() ? std::string("is empty; expected the path of a file") : std::string();
      });
  app.add_flag(
      "--check-config", into.check_config,
      "Print the configuration that would run as TOML, or what is wrong with it, and exit");
  add_path(app, "--socket", into.socket, "Where clients connect");
  add_path(app, "--control", into.control, "Where garctl connects to change things");
  app.add_option_function<std::string>(
         "--log-level",
         [&into](const std::string& name) { into.log_level = parse_log_level(name); },
         fmt::format("One of {}; wins over the configuration", log_level_names))
      ->type_name("LEVEL")
      ->check([](const std::string& name) {
        if (parse_log_level(name)) return std::string();
        return fmt::format("'{}' is not a level; expected one of {}",
                           printable(name, shown_bytes_max), log_level_names);
      });
}

}  // namespace

std::variant<options, ended> parse_options(int count, const char* const* arguments) {
  options parsed;
  CLI::App app(description, "gard");
  describe(app, parsed);
  try {
    app.parse(count, arguments);
    return parsed;
  } catch (const CLI::CallForHelp&) {
    return ended{0, app.help(), {}};
  } catch (const CLI::CallForVersion& asked) {
    return ended{0, std::string(asked.what()) + "\n", {}};
  } catch (const CLI::ExtrasError&) {
    const std::vector<std::string> extra = app.remaining();
    return usage(
        fmt::format("'{}' is not an option; expected --config, --check-config, --socket, "
                    "--control, --log-level or --version",
                    printable(extra.empty() ? "" : extra.front(), shown_bytes_max)));
  } catch (const CLI::ParseError& wrong) {
    return usage(printable(wrong.what(), 4 * shown_bytes_max));
  }
}

}  // namespace gar
