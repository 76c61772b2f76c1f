// gard: reads what it was told, builds the engine and its sockets, serves, and says how it ended.
#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "daemon/config.hpp"
#include "daemon/control.hpp"
#include "daemon/control_server.hpp"
#include "daemon/engine.hpp"
#include "daemon/fatal.hpp"
#include "daemon/handed_sockets.hpp"
#include "daemon/log.hpp"
#include "daemon/loopback.hpp"
#include "daemon/metrics_server.hpp"
#include "daemon/options.hpp"
#include "daemon/service_manager.hpp"
#include "daemon/version.hpp"
#include "daemon/watchdog.hpp"
#include "lib/linux/daemon_process.hpp"
#include "lib/linux/socket_access.hpp"
#include "lib/linux/socket_paths.hpp"
#include "lib/linux/steady_clock.hpp"
#include "lib/linux/unix_socket.hpp"

namespace gar {
namespace {

struct loaded_config {
  config values;
  std::string file;  // empty: built in
};

// The file that was named, else the system's where it exists, else built-in values.
result<loaded_config> load_config(const options& asked) {
  loaded_config loaded;
  std::error_code unknown;
  if (asked.config_file) {
    loaded.file = *asked.config_file;
  } else if (std::filesystem::exists(config_file_default, unknown)) {
    loaded.file = config_file_default;
  }
  if (!loaded.file.empty()) {
    result<config> read = read_config(loaded.file);
    if (!read) return read.error();
    loaded.values = std::move(*read);
  }
  if (asked.log_level) loaded.values.log_level = *asked.log_level;
  return loaded;
}

struct socket_pair {
  socket_candidate clients;
  socket_candidate control;
};

// A socket that was handed over is served where it is, whatever else was said.
result<socket_candidate> find_socket(const socket_request& asked, const socket_environment& env,
                                     const std::optional<handed_socket>& handed) {
  if (!handed) return listen_path(asked, env);
  const auto& variable = asked.role == socket_role::clients ? env.clients_path : env.control_path;
  if (asked.flag || variable || asked.configured) {
    const result<socket_candidate> named = listen_path(asked, env);
    if (!named) return named.error();
    if (named->path != handed->path) {
      log(log_level::warning, fmt::format("{} names {}, but the service manager listens at {}",
                                          named->origin, named->path, handed->path));
    }
  }
  return socket_candidate{handed->path, "the service manager's"};
}

result<socket_pair> find_sockets(const options& asked, const config& values,
                                 const socket_environment& env, const handed_sockets& handed) {
  auto clients =
      find_socket({socket_role::clients, asked.socket, values.daemon.socket}, env, handed.clients);
  if (!clients) return clients.error();
  auto control = find_socket({socket_role::control, asked.control, values.daemon.control}, env,
                             handed.control);
  if (!control) return control.error();
  if (clients->path == control->path) {
    return error(errc::InvalidArgument,
                 {control->origin,
                  fmt::format("'{}' is the clients' socket too; expected another", control->path)});
  }
  return socket_pair{std::move(*clients), std::move(*control)};
}

// What runs where nothing else is said is a built-in default, not the configuration's.
engine_settings settings_of(const config& values) {
  engine_settings settings{values.plans, values.limits};
  if (values.default_plan.label() != plan_as_shipped) {
    settings.plans.push_back({plan_scope{}, values.default_plan});
  }
  return settings;
}

engine_options options_of(const config& values) {
  engine_options made;
  made.version = version;
  const executor_config& executor = values.executor;
  made.executor = executor.kind;
  made.strictness = executor.strictness;
  made.software_word_wait = executor.software_word_wait;
  made.software_spin = executor.software_spin;
  made.software_sleep = executor.software_sleep;
  const latency_config& latency = values.latency;
  made.cpu_dma_latency = latency.cpu_dma_latency;
  made.cpu = latency.cpu;
  if (latency.fifo_priority) {
    made.scheduling = scheduling::fifo;
    made.priority = static_cast<int>(*latency.fifo_priority);
  }
  made.settings = settings_of(values);
  return made;
}

class gard {
 public:
  gard(options asked, loaded_config loaded)
      : asked_(std::move(asked)), loaded_(std::move(loaded)) {}
  // The engine's stop calls the servers, so it comes before their end.
  ~gard() {
    try {
      if (node_) node_->stop();
    } catch (const std::exception&) {
      // No memory, mostly. Those who wait go on by themselves when the process is gone.
      std::_Exit(internal_status);
    }
  }
  gard(const gard&) = delete;
  gard& operator=(const gard&) = delete;

  int run() {
    result<handed_sockets> handed = take_handed_sockets();
    if (!handed) return fatal(handed.error());
    const result<socket_pair> sockets =
        find_sockets(asked_, loaded_.values, read_socket_environment(), *handed);
    if (!sockets) return fatal(sockets.error());
    if (auto made = make_engine(sockets->clients.path, handed->clients); !made) {
      return fatal(made.error());
    }
    if (auto listens = listen_for_control(sockets->control.path, handed->control); !listens) {
      return fatal(listens.error());
    }
    serve_metrics();
    say_what_runs(*sockets);
    const watchdog told(
        node_->io(), [&] { return node_->ask_alive(); }, [&] { return whole_status(); });
    notify_ready(status_line(whole_status()));
    const result<void> ended = node_->run();
    if (!ended) return fatal(ended.error());
    log(log_level::info, "stopped");
    return 0;
  }

 private:
  status_snapshot whole_status() const { return node_->status(request_scope::control()); }

  stepwise_answer answer(std::string_view request, const request_scope& scope) {
    return answer_request(*node_, request, scope, loaded_.file);
  }

  void answer_operator(std::string request, questions::done_function done) {
    node_->questions().ask(
        questions::operators,
        [this, request = std::move(request)] { return answer_control(request); }, std::move(done));
  }

  result<socket_access> prepare_socket(const std::string& group, const std::string& path) {
    if (auto made = make_socket_directory(path); !made) return made.error();
    socket_access access = access_for_group(group, path);
    if (access.warning) log(log_level::warning, access.warning->headline());
    return access;
  }

  result<void> make_engine(const std::string& path, std::optional<handed_socket>& handed) {
    engine_options made = options_of(loaded_.values);
    if (handed) {
      made.listener = std::move(handed->fd);
    } else {
      const result<socket_access> access = prepare_socket("gard", path);
      if (!access) return access.error();
      made.socket_path = path;
      made.socket_mode = access->mode;
      made.socket_group = access->group;
    }
    made.answer = [this](std::string_view request, request_scope scope) {
      return answer(request, scope);
    };
    made.reload = [this] { return reload(); };
    made.reloaded = [this](const result<void>& done) {
      notify_ready(done ? status_line(whole_status())
                        : fmt::format("configuration refused: {}", done.error().text()));
    };
    made.alive = notify_watchdog;
    made.stopping = [this] { stopping(); };
    result<std::unique_ptr<engine>> built = engine::make(std::move(made));
    if (!built) return built.error();
    node_ = std::move(*built);
    return {};
  }

  result<void> listen_for_control(const std::string& path, std::optional<handed_socket>& handed) {
    unique_fd listener;
    if (handed) {
      listener = std::move(handed->fd);
    } else {
      const result<socket_access> access = prepare_socket("gard-admin", path);
      if (!access) return access.error();
      result<unique_fd> made = listen_at(
          path, {.type = socket_type::stream, .mode = access->mode, .group = access->group});
      if (!made) return made.error();
      listener = std::move(*made);
    }
    control_ = std::make_unique<control_server>(
        node_->io(), std::move(listener),
        [this](std::string request, control_server::done_function done) {
          answer_operator(std::move(request), std::move(done));
        });
    return {};
  }

  // Where the port cannot be had, others' waits must not suffer for it.
  void serve_metrics() {
    const std::optional<std::string>& at = loaded_.values.metrics.listen;
    if (!at) return;
    result<std::unique_ptr<metrics_server>> made = metrics_server::make(
        node_->io(), *parse_loopback(*at),
        [this](metrics_dialect as, metrics_server::done_function done) {
          node_->questions().ask(
              questions::strangers, [this, as] { return stepwise_answer(node_->metrics(as)); },
              std::move(done));
        });
    if (!made) return log(log_level::warning, "no metrics over HTTP: " + made.error().headline());
    metrics_ = std::move(*made);
    log(log_level::info, fmt::format("metrics at http://{}/metrics", *at));
  }

  // The service manager shows the plan that runs, so it hears of a new one.
  stepwise_answer answer_control(std::string_view request) {
    const uint64_t before = node_->plan_generation();
    stepwise_answer answered = answer(request, request_scope::control());
    if (node_->plan_generation() != before) notify_status(status_line(whole_status()));
    return answered;
  }

  void say_what_runs(const socket_pair& sockets) const {
    const status_snapshot now = whole_status();
    log(log_level::info, fmt::format("gard {}, configuration: {}", version,
                                     loaded_.file.empty() ? "built in" : loaded_.file));
    log(log_level::info,
        fmt::format("clients' socket {} ({}), control socket {} ({})", sockets.clients.path,
                    sockets.clients.origin, sockets.control.path, sockets.control.origin));
    log(log_level::info,
        fmt::format("executor: asked for {}, running {} ({})", now.executor.requested,
                    now.executor.running, now.executor.strictness));
    if (now.executor.warning) log(log_level::warning, now.executor.warning->headline());
    log(log_level::info,
        fmt::format("word wait: {}{}: {}", now.word_wait.kind,
                    now.word_wait.hardware ? " (hardware)" : "", now.word_wait.why));
    log(log_level::info,
        fmt::format("sleeps end {} us late: no margin is less", now.margin_floor_us));
    for (const capability_snapshot& each : now.capabilities) {
      log(log_level::info,
          fmt::format("{}: {}{}{}", each.name, each.available ? "available" : "absent",
                      each.why.empty() ? "" : ", ", each.why));
    }
    say_plans();
  }

  void say_plans() const {
    for (const plan_in_force& plan : node_->plans()) {
      log(log_level::info, fmt::format("plan for {}: asked for {}, running {}", plan.scope.text(),
                                       plan.requested.label(), plan.running.label()));
      for (const error& warning : plan.warnings) log(log_level::warning, warning.headline());
    }
  }

  // A bad file changes nothing here; the engine says so, and the service manager hears the end.
  result<engine_settings> reload() {
    notify_reloading(steady_clock().now());
    result<loaded_config> again = load_config(asked_);
    if (!again) return again.error();
    config& values = again->values;
    const config& running = loaded_.values;
    if (values.daemon != running.daemon || values.executor != running.executor ||
        values.latency != running.latency || values.metrics != running.metrics ||
        values.limits.naive_workers != running.limits.naive_workers) {
      log(log_level::warning,
          fmt::format("{}: changes of [daemon], [executor], [latency], "
                      "[metrics] and limits.naive_workers take effect with the next start",
                      again->file));
    }
    // What the next reload is compared with is what runs.
    values.daemon = running.daemon;
    values.executor = running.executor;
    values.latency = running.latency;
    values.metrics = running.metrics;
    values.limits.naive_workers = running.limits.naive_workers;
    loaded_ = std::move(*again);
    set_log_level(loaded_.values.log_level);
    return settings_of(loaded_.values);
  }

  void stopping() {
    notify_stopping();
    log(log_level::info, "stopping");
    if (control_) control_->stop();
    if (metrics_) metrics_->stop();
  }

  options asked_;
  loaded_config loaded_;
  std::unique_ptr<engine> node_;
  // These go before the engine, whose io context they are on.
  std::unique_ptr<control_server> control_;
  std::unique_ptr<metrics_server> metrics_;
};

// The configuration that would run, with what the flags and the environment say about sockets.
int check_config(const options& asked, config values) {
  const socket_environment env = read_socket_environment();
  const auto fold = [&](socket_role role, const std::optional<std::string>& flag,
                        const std::optional<std::string>& variable,
                        std::optional<std::string>& value) -> result<void> {
    if (!flag && !variable) return {};
    const result<socket_candidate> path = listen_path({role, flag, value}, env);
    if (!path) return path.error();
    value = std::filesystem::absolute(path->path).string();
    return {};
  };
  auto clients = fold(socket_role::clients, asked.socket, env.clients_path, values.daemon.socket);
  if (!clients) return fatal(clients.error());
  auto control = fold(socket_role::control, asked.control, env.control_path, values.daemon.control);
  if (!control) return fatal(control.error());
  fmt::print("{}", config_text(values));
  return std::fflush(stdout) == 0 ? 0 : internal_status;
}

int failed(const std::exception& why) {
  log(log_level::error, fmt::format("gard failed: {}", why.what()));
  return internal_status;
}

int run(int count, const char* const* arguments) {
  std::variant<options, ended> parsed = parse_options(count, arguments);
  if (const ended* end = std::get_if<ended>(&parsed)) {
    fmt::print("{}", end->out);
    fmt::print(stderr, "{}", end->err);
    return end->exit_status;
  }
  prepare_daemon_process();
  start_log(stderr_is_journal());
  options& asked = std::get<options>(parsed);
  result<loaded_config> loaded = load_config(asked);
  if (!loaded) return fatal(loaded.error());
  set_log_level(loaded->values.log_level);
  if (asked.check_config) return check_config(asked, std::move(loaded->values));
  gard daemon(std::move(asked), std::move(*loaded));
  try {
    return daemon.run();
  } catch (const std::exception& broken) {
    // Said before the clean-up, which may fail for the same cause.
    return failed(broken);
  }
}

}  // namespace
}  // namespace gar

int main(int count, char** arguments) {
  try {
    return gar::run(count, arguments);
  } catch (const std::exception& broken) {
    return gar::failed(broken);
  }
}
