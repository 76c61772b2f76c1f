#include "lib/linux/process_usage.hpp"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <fstream>

namespace gar {

process_usage read_process_usage() {
  process_usage usage;
  usage.pid = ::getpid();
  timespec cpu{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
  usage.cpu_ms =
      static_cast<uint64_t>(cpu.tv_sec) * 1000 + static_cast<uint64_t>(cpu.tv_nsec) / 1'000'000;
  std::ifstream statm("/proc/self/statm");
  uint64_t all_pages = 0;
  uint64_t resident_pages = 0;
  if (statm >> all_pages >> resident_pages) {
    usage.rss_kib = resident_pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) / 1024;
  }
  return usage;
}

uint64_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  if (limit.rlim_cur < limit.rlim_max) {
    const rlimit raised{limit.rlim_max, limit.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  return limit.rlim_cur;
}

}  // namespace gar
