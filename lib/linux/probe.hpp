// Probe: what this host really can do, tried once at start.
//
// A capability bit is a promise that hypervisors, sysctls and seccomp filters break. So each thing
// is done once: a bounded park must last, a timeout must fire.
//
//   word-wait    available: a hardware pair that parked, or the software wait where it is allowed
//   io-uring     available: a ring was set up, knows the operations used, one timeout fired, a
//                message was sent and received by it, and a receive cancelled
//   timer-slack  available: 1 ns was set and read back
//   cpu-quota    available: no quota stops this process's threads; absent: the tightest quota
//   memlock      available: a process may pin as many pages as one client can have
//
// Invariants: `why` is a sentence that a person can act on where the capability is absent, and says
// what was seen where it is available. Everything that was changed to try is put back.
// Threads: one, at start. Blocking: some milliseconds, in parks and one short sleep.
// Errors: none; a refusal is an answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/core/capability.hpp"
#include "lib/linux/cpu_quota.hpp"
#include "lib/linux/word_wait.hpp"

namespace gar {

struct probe_options {
  bool software_word_wait = true;  // does the software wait count as a word wait?
  software_wait software;
};

struct host_probe {
  gar::capabilities capabilities;
  word_wait_probe word_wait;  // its kind is none where neither hardware nor software may wait
  duration sleep_overshoot;   // of a short sleep, the median of a few
};

host_probe probe_host(const probe_options& options = {});

// How many bytes one client can have pinned: its lines pages and the doorbell.
uint64_t client_pins_bytes();
// Pins so many and lets go of them. SystemCall where the kernel refuses.
result<void> try_to_pin(uint64_t bytes);

// The verdicts, for their tests: each a function of what was seen.
capability_state judge_word_wait(const word_wait_report& seen, bool software_word_wait);
capability_state judge_cpu_quota(const std::optional<cpu_quota>& quota);
// `limit_bytes` of RLIMIT_MEMLOCK; nothing where it is unlimited.
capability_state judge_memlock(std::optional<uint64_t> limit_bytes, uint64_t needed_bytes);
// Why io_uring_setup said `os_number`; `disabled` is what the sysctl kernel.io_uring_disabled says.
std::string why_no_io_uring(int os_number, std::optional<int> disabled);

}  // namespace gar
