#include "lib/linux/socket_access.hpp"

#include <errno.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lib/linux/system_call.hpp"

namespace gar {
namespace {

bool may_give_to(gid_t group) {
  if (::geteuid() == 0 || ::getegid() == group) return true;
  const int count = ::getgroups(0, nullptr);
  std::vector<gid_t> own(static_cast<size_t>(std::max(count, 0)));
  const int got = ::getgroups(count, own.data());
  return got > 0 && std::find(own.begin(), own.begin() + got, group) != own.begin() + got;
}

}  // namespace

socket_access access_for_group(const std::string& name, const std::string& socket_path) {
  const struct group* found = ::getgrnam(name.c_str());
  if (!found) {
    return {0600, std::nullopt,
            error(errc::SocketPrivate, {name, socket_path, std::to_string(::geteuid())})};
  }
  if (!may_give_to(found->gr_gid)) return {};
  return {0660, found->gr_gid, std::nullopt};
}

result<void> make_socket_directory(const std::string& socket_path) {
  for (size_t end = socket_path.find('/', 1); end != std::string::npos;
       end = socket_path.find('/', end + 1)) {
    const std::string directory = socket_path.substr(0, end);
    if (::mkdir(directory.c_str(), 0755) == 0) {
      // The umask is no part of the rule.
      if (::chmod(directory.c_str(), 0755) != 0) return last_system_error("chmod " + directory);
      continue;
    }
    const int refused = errno;
    struct stat there {};
    if (::stat(directory.c_str(), &there) == 0 && S_ISDIR(there.st_mode)) continue;
    return system_error("mkdir " + directory, refused);
  }
  return {};
}

}  // namespace gar
