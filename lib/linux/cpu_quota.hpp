// CPU quota: how much CPU time the process's cgroup may use in each period.
//
// A thread that looks for a word in a cgroup with a quota is stopped for the rest of the period
// when the quota is used up: tens of milliseconds in the middle of a wait. Where a quota is, people
// have to know.
//
//   v2   cpu.max              "max 100000" or "50000 100000"    in the cgroup and all above it
//   v1   cpu.cfs_quota_us     "-1" or "50000"                   likewise
//        cpu.cfs_period_us    "100000"
//
// The tightest of all of them counts.
//
// Threads: any. Blocking: reads a few files of /proc and /sys. Errors: none; what cannot be read
// sets no quota.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/time.hpp"

namespace gar {

struct cpu_quota {
  uint64_t allowed_us = 0;
  uint64_t period_us = 0;
  std::string file;  // where it is set
};

// The quota of the calling process; nothing where there is none.
std::optional<cpu_quota> own_cpu_quota();
// The same of another one, by its pid; `root` is where another tree than the host's own begins, and
// no part of the answer.
std::optional<cpu_quota> cpu_quota_of(const std::string& pid, const std::string& root = "");

// How often a quota stopped the cgroup that it is set for, since that was made.
struct cpu_throttling {
  uint64_t stops = 0;
  duration stopped;  // of all its threads together
};
// Nothing where the kernel does not say.
std::optional<cpu_throttling> throttling_by(const cpu_quota& quota, const std::string& root = "");

enum class cgroup_version : uint8_t { v1, v2 };

// A cgroup with a CPU controller, and the highest one that this process can see above it.
struct cpu_cgroup {
  cgroup_version version;
  std::string directory;
  std::string top;
};

// The steps, for their tests: what /proc/self/mountinfo and /proc/self/cgroup say together, ...
std::vector<cpu_cgroup> find_cpu_cgroups(std::string_view mountinfo, std::string_view cgroup);
// ... and the tightest quota from a cgroup up to its top.
std::optional<cpu_quota> tightest_quota(const cpu_cgroup& of);

}  // namespace gar
