#include "lib/linux/socket_paths.hpp"

#include <fmt/core.h>
#include <stdlib.h>
#include <sys/un.h>
#include <unistd.h>

namespace gar {
namespace {

constexpr size_t path_bytes_max = sizeof(sockaddr_un::sun_path) - 1;
static_assert(path_bytes_max == 107);

struct role_names {
  std::string_view flag;
  std::string_view variable;
  std::string_view key;
  std::string_view below_run;
};

constexpr role_names names_of(socket_role role) {
  if (role == socket_role::control) {
    return {"--control", "GARD_CONTROL", "daemon.control", "/gard-control/control.sock"};
  }
  return {"--socket", "GARD_SOCKET", "daemon.socket", "/gard/gard.sock"};
}

std::optional<std::string> read_variable(const char* name) {
  const char* value = ::secure_getenv(name);
  if (!value) return std::nullopt;
  return std::string(value);
}

enum class relative : bool { refused, allowed };

result<socket_candidate> check(std::string path, std::string_view origin, relative allow) {
  const auto refuse = [&](std::string why) {
    return error(errc::InvalidArgument, {std::string(origin), std::move(why)});
  };
  if (path.empty()) return refuse("is empty; expected the path of a socket");
  if (path.find('\0') != std::string::npos) return refuse("holds a NUL; expected a path");
  if (allow == relative::refused && path[0] != '/') {
    return refuse(fmt::format("'{}' is relative; expected an absolute path", path));
  }
  if (path.size() > path_bytes_max) {
    return refuse(fmt::format("'{}' has {} bytes; a socket's path has {} at most", path,
                              path.size(), path_bytes_max));
  }
  return socket_candidate{std::move(path), std::string(origin)};
}

// What a person named: the flag, the environment, the configuration. nullopt: nothing.
std::optional<result<socket_candidate>> named(const socket_request& asked,
                                              const socket_environment& env) {
  const role_names names = names_of(asked.role);
  const auto& variable = asked.role == socket_role::control ? env.control_path : env.clients_path;
  if (asked.flag) {
    return check(*asked.flag, asked.flag_name.empty() ? names.flag : asked.flag_name,
                 relative::allowed);
  }
  if (variable) return check(*variable, names.variable, relative::refused);
  if (asked.configured) return check(*asked.configured, names.key, relative::refused);
  return std::nullopt;
}

result<socket_candidate> below_runtime_dir(socket_role role, const socket_environment& env) {
  if (!env.runtime_dir || env.runtime_dir->empty()) {
    return error(errc::InvalidArgument,
                 {"XDG_RUNTIME_DIR",
                  fmt::format("is not set, and only root listens in /run; expected it, {} or {}",
                              names_of(role).flag, names_of(role).variable)});
  }
  return check(*env.runtime_dir + std::string(names_of(role).below_run), "XDG_RUNTIME_DIR",
               relative::refused);
}

socket_candidate below_run(socket_role role) {
  return {"/run" + std::string(names_of(role).below_run), "the system's gard"};
}

}  // namespace

socket_environment read_socket_environment() {
  return {read_variable("GARD_SOCKET"), read_variable("GARD_CONTROL"),
          read_variable("XDG_RUNTIME_DIR"), ::geteuid() == 0};
}

result<socket_candidate> listen_path(const socket_request& asked, const socket_environment& env) {
  if (auto path = named(asked, env)) return *path;
  if (env.root) return below_run(asked.role);
  return below_runtime_dir(asked.role, env);
}

result<std::vector<socket_candidate>> connect_paths(const socket_request& asked,
                                                    const socket_environment& env) {
  if (auto path = named(asked, env)) {
    if (!*path) return path->error();
    return std::vector<socket_candidate>{**path};
  }
  std::vector<socket_candidate> paths{below_run(asked.role)};
  if (auto own = below_runtime_dir(asked.role, env)) paths.push_back(*own);
  return paths;
}

}  // namespace gar
