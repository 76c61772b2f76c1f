#include "lib/linux/probe.hpp"

#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cerrno>
#include <fstream>

#include "lib/linux/deadline_ring.hpp"
#include "lib/linux/memory_file.hpp"
#include "lib/linux/sleep_overshoot.hpp"
#include "lib/linux/socket_ring.hpp"
#include "lib/linux/steady_clock.hpp"
#include "lib/linux/system_call.hpp"
#include "proto/limits.hpp"

namespace gar {
namespace {

std::optional<int> io_uring_disabled() {
  std::ifstream file("/proc/sys/kernel/io_uring_disabled");
  int value = 0;
  if (!(file >> value)) return std::nullopt;
  return value;
}

capability_state probe_io_uring() {
  result<deadline_ring> ring = deadline_ring::make();
  if (!ring) return {false, why_no_io_uring(ring.error().os_number(), io_uring_disabled())};
  if (const char* missing = ring->missing_operation()) {
    return {false, fmt::format("this kernel's io_uring lacks {}", missing)};
  }
  result<socket_ring> sockets = socket_ring::make(*ring);
  if (!sockets) {
    return {false, "this kernel's io_uring has no ring of buffers: " + sockets.error().text()};
  }
  if (const char* failing = sockets->failing_step(*ring)) {
    return {false, fmt::format("this kernel's io_uring {}", failing)};
  }
  const instant until = steady_clock().now() + from_us(100);
  constexpr int tries = 3;  // a signal may end one
  for (int i = 0; i < tries; ++i) {
    if (ring->sleep(until) == deadline_ring::slept::to_deadline) break;
  }
  if (steady_clock().now() < until) {
    return {false, "an io_uring timeout of 100 us was accepted and did not fire"};
  }
  return {true, "a timeout fired, a message came and went"};
}

capability_state probe_timer_slack() {
  result<uint64_t> before_ns = timer_slack_ns();
  if (!before_ns) return {false, before_ns.error().text()};
  result<void> set = set_timer_slack_ns(timer_slack_ns_least);
  if (!set) return {false, set.error().text()};
  // 0 is a real-time thread's: nothing to put back.
  if (*before_ns != 0) set = set_timer_slack_ns(*before_ns);
  if (!set) return {false, set.error().text()};
  return {true, fmt::format("{} ns was set and read back", timer_slack_ns_least)};
}

capability_state probe_memlock() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0) {
    return {false, last_system_error("getrlimit(RLIMIT_MEMLOCK)").text()};
  }
  std::optional<uint64_t> bytes;
  if (limit.rlim_cur != RLIM_INFINITY) bytes = limit.rlim_cur;
  return judge_memlock(bytes, client_pins_bytes());
}

}  // namespace

host_probe probe_host(const probe_options& options) {
  host_probe probed{{}, probe_word_wait(options.software), {}};
  capabilities& host = probed.capabilities;
  word_wait_report& word_wait = probed.word_wait.report;
  if (!word_wait.hardware && !options.software_word_wait) word_wait.kind = word_wait_kind::none;
  host[capability::word_wait] = judge_word_wait(word_wait, options.software_word_wait);
  host[capability::io_uring] = probe_io_uring();
  host[capability::timer_slack] = probe_timer_slack();
  host[capability::cpu_quota] = judge_cpu_quota(own_cpu_quota());
  host[capability::memlock] = probe_memlock();
  probed.sleep_overshoot = measure_sleep_overshoot();
  return probed;
}

uint64_t client_pins_bytes() {
  return (proto::pages_per_client_max + 1) * system_page_bytes();
}

result<void> try_to_pin(uint64_t bytes) {
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return last_system_error("mmap");
  result<void> pinned;
  if (::mlock(at, bytes) != 0) pinned = last_system_error("mlock");
  ::munmap(at, bytes);
  return pinned;
}

capability_state judge_word_wait(const word_wait_report& seen, bool software_word_wait) {
  if (seen.hardware || software_word_wait) {
    return {true, fmt::format("{}: {}", name_of(seen.kind), seen.why)};
  }
  return {false, fmt::format("{}, and software_word_wait is off", seen.why)};
}

capability_state judge_cpu_quota(const std::optional<cpu_quota>& quota) {
  if (!quota) return {true, "no CPU quota is set"};
  return {false,
          fmt::format("{} stops this process after {} us of CPU in every {} us; lift it, or expect "
                      "waits that end late by the rest of a period",
                      quota->file, quota->allowed_us, quota->period_us)};
}

capability_state judge_memlock(std::optional<uint64_t> limit_bytes, uint64_t needed_bytes) {
  if (!limit_bytes) return {true, "RLIMIT_MEMLOCK is unlimited"};
  if (*limit_bytes >= needed_bytes) {
    return {true, fmt::format("RLIMIT_MEMLOCK is {} KiB", *limit_bytes / 1024)};
  }
  return {false, fmt::format("RLIMIT_MEMLOCK is {} KiB and a client may pin {} KiB; raise it "
                             "(ulimit -l, LimitMEMLOCK=)",
                             *limit_bytes / 1024, needed_bytes / 1024)};
}

std::string why_no_io_uring(int os_number, std::optional<int> disabled) {
  switch (os_number) {
    case ENOSYS:
      return "this kernel was built without io_uring, or a seccomp filter hides it";
    case EPERM:
      if (disabled == 2) {
        return "the sysctl kernel.io_uring_disabled is 2: nobody may use it; set it to 0";
      }
      if (disabled == 1) {
        return "the sysctl kernel.io_uring_disabled is 1 and this process is not in the group "
               "kernel.io_uring_group; join it, or set the first to 0";
      }
      return "io_uring_setup is not permitted: a seccomp filter refuses it, as container runtimes "
             "have; allow it there";
    case ENOMEM:
      return "no memory for a ring: raise RLIMIT_MEMLOCK (ulimit -l, LimitMEMLOCK=)";
    case EMFILE:
    case ENFILE:
      return "no descriptor is left for a ring: raise RLIMIT_NOFILE (ulimit -n, LimitNOFILE=)";
    default:
      return "io_uring_setup: " + text_of_errno(os_number);
  }
}

}  // namespace gar
