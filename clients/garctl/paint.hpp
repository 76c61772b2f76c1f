// Colours, where a person looks: on a terminal, and not when NO_COLOR or TERM=dumb says no.
//
// Threads: values; `paint_for` reads the environment. Allocation: the painted text.
#pragma once

#include <string>
#include <string_view>

namespace gar {

class paint {
 public:
  explicit paint(bool colours) : colours_(colours) {}

  std::string bold(std::string_view text) const { return wrap("1", text); }
  std::string faint(std::string_view text) const { return wrap("2", text); }
  std::string red(std::string_view text) const { return wrap("31;1", text); }
  std::string yellow(std::string_view text) const { return wrap("33", text); }
  std::string green(std::string_view text) const { return wrap("32", text); }

 private:
  std::string wrap(std::string_view code, std::string_view text) const {
    if (!colours_ || text.empty()) return std::string(text);
    return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
  }

  bool colours_;
};

// For what is written to this file descriptor.
paint paint_for(int fd);

}  // namespace gar
