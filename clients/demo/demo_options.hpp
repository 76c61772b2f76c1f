// gar-demo's command line: what to run, as data.
//
// Errors: a command line that is wrong ends in `ended`, with the sentence to print.
// Threads: called once, from main. Ownership: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/core/time.hpp"

namespace gar {

enum class demo_device : uint8_t { sim, vulkan, cuda, hip };

struct demo_options {
  demo_device device = demo_device::vulkan;
  uint32_t processes = 2;
  uint32_t streams = 2;  // of each process
  uint32_t waits = 20;   // of each stream, under each plan
  duration work = from_ms(2);
  std::vector<std::string> plans;  // never empty after parsing, each valid
  std::optional<std::string> socket;
  std::optional<std::string> control;
  bool in_process = false;
  bool json = false;
};

// Nothing to run: help or the version was asked for (status 0) or the line is wrong (status 2).
struct demo_ended {
  int exit_status = 0;
  std::string text;
};

std::optional<demo_ended> parse_demo_options(int argc, const char* const* argv,
                                             demo_options& options);

}  // namespace gar
