// Trace: what happened in one run, a line an event: time, actor, event.
//
// A failing run is read by a person, and two runs of a seed are compared by a number. So every line
// goes into a hash, and the last ones are kept as text (or all of them printed as they come).
//
// Threads: one. Allocation: the kept lines, once.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace gar::sim {

class trace {
 public:
  static constexpr size_t kept_max = 60;

  explicit trace(bool print_all) : print_all_(print_all) {
    if (!print_all_) lines_.resize(kept_max);
  }

  template <class... A>
  void add(uint64_t now_ns, std::string_view actor, fmt::format_string<A...> text, A&&... args) {
    char line[240];
    auto end = fmt::format_to_n(line, sizeof(line), "{:>12.3f} us  {:<12} ",
                                static_cast<double>(now_ns) / 1000.0, actor)
                   .out;
    end = fmt::format_to_n(end, std::end(line) - end, text, std::forward<A>(args)...).out;
    take({line, static_cast<size_t>(end - line)});
  }

  uint64_t hash() const { return hash_; }
  uint64_t lines() const { return count_; }
  // The last lines, oldest first; nothing where all were printed.
  void print_kept(std::FILE* to) const;

 private:
  void take(std::string_view line);

  bool print_all_;
  uint64_t hash_ = 0xcbf29ce484222325;
  uint64_t count_ = 0;
  std::vector<std::string> lines_;
};

}  // namespace gar::sim
