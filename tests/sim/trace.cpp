#include "tests/sim/trace.hpp"

#include <algorithm>
#include <cstring>

namespace gar::sim {

void trace::take(std::string_view line) {
  // Eight bytes at a time: it need not be a good hash, only the same for the same run.
  size_t at = 0;
  for (; at + 8 <= line.size(); at += 8) {
    uint64_t part = 0;
    std::memcpy(&part, line.data() + at, 8);
    hash_ = (hash_ ^ part) * 0x100000001b3;
    hash_ ^= hash_ >> 29;
  }
  for (; at < line.size(); ++at) {
    hash_ = (hash_ ^ static_cast<unsigned char>(line[at])) * 0x100000001b3;
  }
  if (print_all_) {
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fputc('\n', stdout);
  } else {
    lines_[count_ % kept_max].assign(line);
  }
  ++count_;
}

void trace::print_kept(std::FILE* to) const {
  const uint64_t kept = std::min<uint64_t>(count_, lines_.size());
  for (uint64_t i = count_ - kept; i < count_; ++i) {
    std::fprintf(to, "%s\n", lines_[i % kept_max].c_str());
  }
}

}  // namespace gar::sim
