// garctl's command line: what a person typed, as data.
//
// Model: one request per run. `--control` and `--json` are taken before the command and after it.
// Errors: none travel; a command line that is wrong ends in `usage`, with the sentence to print.
// Threads: called once, from main. Ownership: values.
#pragma once

#include <optional>
#include <string>

#include "lib/core/time.hpp"

namespace gar {

enum class verb {
  status,
  caps,
  clients,
  streams,
  points,
  version,
  metrics,
  top,
  watch,
  trace,
  report,
  doctor,
  plan_show,
  plan_check,
  plan_set,
  plan_unset,
  reload,
};

struct command_line {
  verb asked = verb::status;
  std::optional<std::string> control;  // --control: the only socket tried
  bool json = false;
  std::string plan_text;              // plan check, plan set
  std::optional<std::string> client;  // plan set, plan unset
  std::optional<std::string> point;
  bool replace = false;          // reload
  bool prometheus = false;       // metrics
  std::optional<duration> span;  // top, watch, trace: for how long
  bool kept = false;             // watch: what gard still has, first
  std::string output;            // trace, report: the file
};

// Why there is nothing to run: help or the version was asked for (status 0) or the line is wrong
// (status 2).
struct usage {
  int exit_status = 0;
  std::string text;
};

// Fills `line`, or says what to print instead.
std::optional<usage> parse_command_line(int argc, const char* const* argv, command_line& line);

}  // namespace gar
