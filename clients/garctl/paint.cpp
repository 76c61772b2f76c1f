#include "clients/garctl/paint.hpp"

#include <unistd.h>

#include <cstdlib>

namespace gar {

paint paint_for(int fd) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool refused =
      (no_color && *no_color) || (terminal && std::string_view(terminal) == "dumb");
  return paint(!refused && ::isatty(fd) == 1);
}

}  // namespace gar
