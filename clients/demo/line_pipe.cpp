#include "clients/demo/line_pipe.hpp"

#include <unistd.h>

#include <cerrno>

namespace gar {

std::optional<std::string> line_pipe::read() {
  size_t looked = 0;
  for (;;) {
    const size_t end = read_.find('\n', looked);
    if (end != std::string::npos) {
      std::string line = read_.substr(0, end);
      read_.erase(0, end + 1);
      return line;
    }
    looked = read_.size();
    char piece[16 << 10];
    const ssize_t bytes = ::read(in_.get(), piece, sizeof(piece));
    if (bytes <= 0) {
      at_end_ = bytes == 0;
      return std::nullopt;
    }
    read_.append(piece, static_cast<size_t>(bytes));
  }
}

bool line_pipe::write(std::string_view line) {
  std::string bytes(line);
  bytes += '\n';
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n = ::write(out_.get(), bytes.data() + sent, bytes.size() - sent);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    sent += static_cast<size_t>(n);
  }
  return true;
}

}  // namespace gar
