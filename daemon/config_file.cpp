#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/config.hpp"
#include "lib/linux/system_call.hpp"
#include "lib/linux/unique_fd.hpp"

namespace gar {
namespace {

error refused(const std::string& file, std::string why) {
  return error(errc::InvalidConfig, {file, "0", "0", std::move(why)});
}

error unreadable(const std::string& file, int os_number) {
  return refused(file,
                 fmt::format("cannot be read: {}; expected a TOML file", text_of_errno(os_number)));
}

std::string_view kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  return S_ISFIFO(mode) ? "a pipe" : "a device";
}

// Up to so many bytes, fewer where the file ends; nullopt leaves errno.
std::optional<std::string> read_up_to(int fd, size_t bytes_max) {
  std::string text(bytes_max, '\0');
  size_t got = 0;
  while (got < bytes_max) {
    const ssize_t bytes = ::read(fd, text.data() + got, bytes_max - got);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return std::nullopt;
    if (bytes == 0) break;
    got += static_cast<size_t>(bytes);
  }
  text.resize(got);
  return text;
}

}  // namespace

result<config> read_config(const std::string& file) {
  // The opening and the reading of a pipe may last for ever, and a reload runs where clients are
  // served.
  const unique_fd opened(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status = {};
  if (!opened || ::fstat(opened.get(), &status) != 0) return unreadable(file, errno);
  if (!S_ISREG(status.st_mode)) {
    return refused(file, fmt::format("is {}, no regular file", kind_of(status.st_mode)));
  }
  const std::optional<std::string> text = read_up_to(opened.get(), config_bytes_max + 1);
  if (!text) return unreadable(file, errno);
  if (text->size() > config_bytes_max) {
    return refused(file, fmt::format("is larger than {} bytes", config_bytes_max));
  }
  return parse_config(*text, file);
}

}  // namespace gar
