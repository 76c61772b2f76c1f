// What a process of the product makes once and keeps: in a simulation, of which one real process
// has many, it is made before the first run, or kept by the simulated process.
#include "tests/sim/statics.hpp"

#include "clients/garclient/inline_port.hpp"
#include "clients/garclient/kept.hpp"
#include "clients/garclient/last_error.hpp"
#include "clients/garclient/thread_host.hpp"
#include "daemon/log.hpp"
#include "lib/gpu/driver_probe.hpp"
#include "lib/linux/word_wait.hpp"
#include "tests/sim/machine.hpp"
#include "tests/sim/monitor.hpp"

namespace gar::owner {

// Leaked to the process: its memory goes with it.
void keep_for_ever(std::shared_ptr<const void> what) noexcept {
  new std::shared_ptr<const void>(std::move(what));
}

inline_host& thread_host() {
  void*& host = sim::running_thread()->host;
  if (!host) host = new inline_host;
  return *static_cast<inline_host*>(host);
}

last_error& last_error_here() {
  static last_error nobody_reads_it;
  return nobody_reads_it;
}

int failed(const error& e) noexcept {
  return e.number();
}

int failed_for_memory() noexcept {
  return static_cast<int>(errc::SystemCall);
}

void copy_text(std::string_view, char*, size_t) {}

}  // namespace gar::owner

namespace gar::sim {

void make_statics() {
  machine m(0, false);
  kernel k(m);
  kernel_now = &k;
  process& p = m.start_process("statics", 0);
  bool done = false;
  m.start_thread(p, "statics", [&done] {
    (void)simulated_waiter();
    (void)owner::process_word_waiter();
    (void)owner::process_margin_floor();
    (void)system_page_bytes();
    done = true;
  });
  while (m.step(UINT64_MAX)) {
  }
  GAR_ASSERT(done);
  k.kill(p);
  kernel_now = nullptr;
}

}  // namespace gar::sim

// The client library's word waiter, too, is the machine's.
gar::word_wait_probe
client_probe(gar::software_wait how, std::span<const gar::monitor_pair* const> pairs) asm(
    "__wrap__ZN3gar15probe_word_waitENS_13software_waitESt4spanIKPKNS_12monitor_"
    "pairELm18446744073709551615EE");
gar::word_wait_probe
real_probe(gar::software_wait how, std::span<const gar::monitor_pair* const> pairs) asm(
    "__real__ZN3gar15probe_word_waitENS_13software_waitESt4spanIKPKNS_12monitor_"
    "pairELm18446744073709551615EE");
gar::word_wait_probe client_probe(gar::software_wait how,
                                  std::span<const gar::monitor_pair* const> pairs) {
  if (pairs.data() != gar::monitor_pairs.data()) return real_probe(how, pairs);
  return {{gar::word_wait_kind::mwaitx, true, "simulated"}, gar::sim::simulated_waiter()};
}

std::vector<gar::driver_capability> no_drivers(gar::probe_depth) asm(
    "__wrap__ZN3gar13probe_driversENS_11probe_depthE");
std::vector<gar::driver_capability> no_drivers(gar::probe_depth) {
  return {};
}

bool logs_level(gar::log_level level) asm("__wrap__ZN3gar4logsENS_9log_levelE");
bool logs_level(gar::log_level) {
  return true;
}

void log_line(gar::log_level level, std::string_view text) asm(
    "__wrap__ZN3gar3logENS_9log_levelESt17basic_string_viewIcSt11char_traitsIcEE");
void log_line(gar::log_level level, std::string_view text) {
  if (gar::sim::machine* const m = gar::sim::machine_now) {
    m->say(m->actor(), "{}: {}", gar::name_of(level), text);
  }
}
