#include "bench/processes.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "lib/linux/thread_placement.hpp"
#include "lib/linux/timer_slack.hpp"
#include "lib/linux/word_wait.hpp"

namespace gar::bench {
namespace {

uint64_t read_clock(clockid_t id) {
  timespec t{};
  if (::clock_gettime(id, &t) != 0) return 0;
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

cpu_set_t allowed_at_start() {
  cpu_set_t set;
  CPU_ZERO(&set);
  ::sched_getaffinity(0, sizeof(set), &set);
  return set;
}

const cpu_set_t start_set = allowed_at_start();

cores find_cores() {
  std::vector<unsigned> usable;
  for (unsigned i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &start_set)) usable.push_back(i);
  }
  cores found;
  found.count = static_cast<unsigned>(usable.size());
  if (usable.empty()) return found;
  found.gard = usable[0];
  found.client = usable[usable.size() > 1 ? 1 : 0];
  if (usable.size() > 2) found.producer = usable[2];
  return found;
}

}  // namespace

void* map_shared(size_t bytes) {
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw cannot_measure(std::string("mmap: ") + std::strerror(errno));
  return at;
}

void unmap_shared(void* at, size_t bytes) {
  ::munmap(at, bytes);
}

child::child(const std::function<void()>& body) {
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) throw cannot_measure(std::string("fork: ") + std::strerror(errno));
  if (pid_ > 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  try {
    body();
  } catch (...) {
    ::_exit(1);
  }
  ::_exit(0);
}

child::~child() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool child::join() {
  int status = 1;
  if (pid_ <= 0) return false;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

const cores& machine_cores() {
  static const cores found = find_cores();
  return found;
}

on_core::on_core(unsigned core) {
  // A core that cannot be had leaves the thread where it is, on both sides of a comparison.
  (void)pin_thread(core).has_value();
}

on_core::~on_core() {
  ::sched_setaffinity(0, sizeof(start_set), &start_set);
}

void settle_child(unsigned core, bool preempts) {
  (void)pin_thread(core).has_value();
  (void)set_timer_slack_ns(timer_slack_ns_least).has_value();
  if (preempts) (void)schedule_fifo(1).has_value();
}

void keep_awake(unsigned core) {
  (void)pin_thread(core).has_value();
  const sched_param none{};
  if (::sched_setscheduler(0, SCHED_IDLE, &none) != 0)
    throw cannot_measure("SCHED_IDLE is refused");
  for (;;) detail::relax_cpu();
}

uint64_t cpu_ns_of(pid_t pid) {
  clockid_t id{};
  if (::clock_getcpuclockid(pid, &id) != 0) return 0;
  return read_clock(id);
}

uint64_t own_cpu_ns() {
  return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

}  // namespace gar::bench
