#include "daemon/handed_sockets.hpp"

#include <fmt/core.h>

#include <cstdlib>
#include <string_view>
#include <utility>

#include "lib/linux/system_call.hpp"
#include "lib/linux/unix_socket.hpp"

#if GAR_HAVE_LIBSYSTEMD
#include <systemd/sd-daemon.h>
#endif

namespace gar {

#if GAR_HAVE_LIBSYSTEMD
namespace {

error refused(int fd, std::string_view name, std::string_view why) {
  return error(errc::InvalidArgument,
               {"LISTEN_FDS", fmt::format("descriptor {} ('{}') {}", fd, name, why)});
}

result<void> take_one(int number, std::string_view name, handed_sockets& into) {
  unique_fd fd(number);
  const bool is_clients = name == "clients";
  if (!is_clients && name != "control") {
    return refused(number, name, "has no name that gard knows; expected 'clients' or 'control'");
  }
  std::optional<handed_socket>& place = is_clients ? into.clients : into.control;
  if (place) return refused(number, name, "is the second of its name; expected one");
  const socket_type type = is_clients ? socket_type::seqpacket : socket_type::stream;
  result<std::string> path = adopt_listener(fd.get(), type);
  if (!path) return refused(number, name, path.error().text());
  place = handed_socket{std::move(fd), std::move(*path)};
  return {};
}

}  // namespace

result<handed_sockets> take_handed_sockets() {
  char** names = nullptr;
  const int count = ::sd_listen_fds_with_names(1, &names);
  if (count < 0) return system_error("sd_listen_fds_with_names", -count);
  handed_sockets handed;
  result<void> done;
  for (int i = 0; i < count; ++i) {
    if (done) done = take_one(SD_LISTEN_FDS_START + i, names[i], handed);
    std::free(names[i]);
  }
  std::free(static_cast<void*>(names));
  if (!done) return done.error();
  return handed;
}
#else
result<handed_sockets> take_handed_sockets() {
  return handed_sockets{};
}
#endif

}  // namespace gar
