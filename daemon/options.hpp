// Options: gard's command line.
//
// Model: a command line either asks gard to run (or to check its configuration), or to print
// something and end, or is wrong. Flags win over the environment and the configuration.
// Errors: a wrong command line is `ended` with status 64 and one sentence on stderr that says what,
// where and what was expected.
// Threads: one, at start. Allocation: texts.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "daemon/log.hpp"

namespace gar {

struct options {
  std::optional<std::string> config_file;
  bool check_config = false;
  std::optional<std::string> socket;
  std::optional<std::string> control;
  std::optional<gar::log_level> log_level;
};

// Nothing is left to do: print these and exit.
struct ended {
  int exit_status = 0;
  std::string out;
  std::string err;
};

std::variant<options, ended> parse_options(int count, const char* const* arguments);

}  // namespace gar
