// Process usage: what this process has used of the machine, and how many descriptors it may have.
//
// Threads: any. Blocking: reads /proc. Errors: none; what cannot be read is 0.
#pragma once

#include <cstdint>

namespace gar {

struct process_usage {
  int64_t pid = 0;
  uint64_t cpu_ms = 0;  // of all threads, user and system
  uint64_t rss_kib = 0;
};

process_usage read_process_usage();

// Raises the soft limit of open descriptors to the hard one; answers what it is now.
uint64_t raise_descriptor_limit();

}  // namespace gar
