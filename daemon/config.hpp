// Configuration: gard.toml, read whole and checked before anything of it is used.
//
// A daemon that starts with half of what its file says, or with a key that was misspelt, fails at
// the worst time. So every key is known, has one type and one range, and anything else is refused
// with the place and what was expected there; a refused file changes nothing.
//
//     text --parse_config--> config --config_text--> text   (the same configuration when read back)
//
// Invariants: every key in `config_keys` is read, printed and documented in config/gard.toml; what
// parses is in range; durations and sizes carry units. A value that is not set is built in.
// Errors: InvalidConfig{file, line, column, what is wrong and what was expected}, the first one in
// the file's order. Line and column start at 1; both are 0 where the file could not be read.
// Threads: values. Blocking: read_config reads a regular file, and refuses what is none: a pipe
// could keep it for ever. Allocation: as much as the file needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/log.hpp"
#include "lib/core/error.hpp"
#include "lib/core/node_limits.hpp"
#include "lib/core/plan.hpp"
#include "lib/core/plan_registry.hpp"
#include "lib/core/resolve.hpp"

namespace gar {

inline constexpr std::string_view config_file_default = "/etc/gard/gard.toml";
inline constexpr size_t config_bytes_max = 1 << 20;
inline constexpr size_t configured_plans_max = 1024;

// Only a new start takes these four.
struct daemon_config {
  std::optional<std::string> socket;
  std::optional<std::string> control;
  bool operator==(const daemon_config&) const = default;
};
struct executor_config {
  executor_kind kind = executor_kind::gpu_reactor;
  gar::strictness strictness = gar::strictness::fallback;
  bool software_word_wait = true;
  duration software_spin = from_us(300);
  duration software_sleep = from_us(20);
  bool operator==(const executor_config&) const = default;
};
struct latency_config {
  bool cpu_dma_latency = false;           // keep the CPUs out of deep sleep while waits are due
  std::optional<uint32_t> cpu;            // the executor's thread stays on this one
  std::optional<uint32_t> fifo_priority;  // not set: the ordinary scheduler
  bool operator==(const latency_config&) const = default;
};

struct metrics_config {
  std::optional<std::string> listen;  // "ADDRESS:PORT" of the loopback; not set: no port is open
  bool operator==(const metrics_config&) const = default;
};

struct config {
  daemon_config daemon;
  executor_config executor;
  latency_config latency;
  bands default_plan = *bands::parse(plan_as_shipped);
  std::vector<configured_plan> plans;  // of the narrower scopes
  node_limits limits;
  gar::log_level log_level = gar::log_level::info;
  metrics_config metrics;
};

// `file` names the text in errors.
result<config> parse_config(std::string_view text, std::string_view file);
result<config> read_config(const std::string& file);

// As TOML with every key; one that is not set stands in a comment.
std::string config_text(const config& c);

// "executor.kind", ...; the tables of plans as "plan.clients.NAME".
std::vector<std::string> config_keys();

}  // namespace gar
