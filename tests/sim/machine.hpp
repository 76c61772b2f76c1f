// Machine: simulated processes and threads on one real thread, and their time.
//
// Code that blocks, spins and wakes others is run as it is, each of its threads on a stack of its
// own. A thread runs until it blocks, or until something else is due: every simulated system call
// and every read of the clock costs a little time, and is a place where another thread may go
// first. Which does, and how late a thread runs that was woken, is drawn from the seed.
//
//   thread   ready (an event at its time) -> running -> blocked on keys -> ready ... -> ended
//   process  running <-> frozen (its threads' turns are put off); killed: gone, nothing unwound
//
// Invariants: one thread runs at a time; time never goes back; the same seed gives the same run.
// Threads: one real thread. Ownership: a process owns its threads and memory (memory.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "lib/core/time.hpp"
#include "tests/sim/memory.hpp"
#include "tests/sim/random.hpp"
#include "tests/sim/trace.hpp"

namespace gar::sim {

struct open_file;
struct process;

enum class woken_by : uint8_t { event, time, nothing };

struct thread {
  enum class state : uint8_t { ready, running, blocked, ended };

  process* of = nullptr;
  std::string name;
  uint64_t number = 0;
  state now = state::ready;
  void* context = nullptr;
  std::byte* stack = nullptr;
  std::function<void()> body;
  bool body_is_its_own = false;  // the process's memory
  std::vector<const void*> keys;
  woken_by why = woken_by::event;
  uint64_t turn = 0;                       // events of earlier turns are stale
  uint32_t clock_reads = 0;                // since it last blocked
  void* exceptions[2] = {};                // the C++ runtime's, of this thread
  std::map<unsigned, const void*> locals;  // by key
  void* host = nullptr;                    // of its inline waits; the process's memory
  const uint64_t* armed_line = nullptr;
  uint64_t armed_words[8] = {};
  bool monitoring = false;
};

struct process {
  std::string name;
  int pid = 0;
  uint32_t uid = 1000;
  bool frozen = false;
  std::string plan_text;  // its $GAR_PLAN; empty: none
  memory_owner memory;
  std::vector<std::unique_ptr<thread>> threads;
  std::vector<std::shared_ptr<open_file>> files;  // by number
  std::vector<std::shared_ptr<open_file>> mapped;
  std::vector<thread*> put_off;  // that had their turn while it was frozen
};

// How unkind the machine's scheduler is in this run. Chances per million.
struct machine_faults {
  uint32_t spurious = 0;      // a blocking call ends for nothing
  uint32_t late_wake = 0;     // a woken thread runs late
  uint64_t late_wake_ns = 0;  // at most so much
  uint32_t oversleep = 0;     // a sleep ends late
  uint64_t oversleep_ns = 0;  // at most so much
  uint32_t preempted = 0;     // a thread loses the CPU at a system call
  uint64_t preempted_ns = 0;
};

struct machine_counts {
  uint64_t spurious = 0;
  uint64_t late_wakes = 0;
  uint64_t oversleeps = 0;
  uint64_t preemptions = 0;
  uint64_t turns = 0;
};

class machine {
 public:
  machine(uint64_t seed, bool print_all);
  ~machine();
  machine(const machine&) = delete;
  machine& operator=(const machine&) = delete;

  uint64_t now_ns() const { return now_ns_ + slice_ns_; }
  instant now() const { return {now_ns()}; }

  // ---- By whoever drives the run.
  process& start_process(std::string name, uint32_t uid);
  thread& start_thread(process& of, std::string name, std::function<void()> body);
  void kill(process& which);
  void freeze(process& which);
  void thaw(process& which);
  void at(uint64_t when_ns, std::function<void()> what);
  // The next event; false: there is none. `limit_ns`: none behind it.
  bool step(uint64_t limit_ns);
  const std::vector<std::unique_ptr<process>>& processes() const { return processes_; }

  // ---- By the running thread, out of a system call.
  thread* running() const { return running_; }
  // A place where others may go first.
  void pass(uint64_t cost_ns);
  uint64_t read_clock();
  // Until a key is woken, or `until`. Spurious where the run has it so and the caller allows.
  woken_by block(std::initializer_list<const void*> keys, instant until, bool may_be_spurious);
  woken_by block(const std::vector<const void*>& keys, instant until, bool may_be_spurious);
  void sleep_until(instant at);
  // As one that watches a line of memory: a store to it ends the wait.
  void arm(const uint64_t* line);
  void monitor(instant until);
  [[noreturn]] void end_thread();
  size_t wake(const void* key);

  random_source random;
  trace log;
  machine_faults faults;
  machine_counts counts;

  template <class... A>
  void say(std::string_view actor, fmt::format_string<A...> text, A&&... args) {
    const memory_scope own(nullptr);
    log.add(now_ns(), actor, text, std::forward<A>(args)...);
  }
  // Of the running thread.
  std::string_view actor() const;

 private:
  struct event {
    uint64_t at_ns;
    uint64_t order;
    thread* who;  // null: `what`
    uint64_t turn;
    size_t what;
    bool operator<(const event& other) const {
      return at_ns != other.at_ns ? at_ns > other.at_ns : order > other.order;
    }
  };

  void schedule(thread& who, uint64_t at_ns);
  void make_ready(thread& who, woken_by why);
  void run(thread& who);
  void leave();
  void look_at_monitors();
  void release(thread& gone);

  uint64_t now_ns_ = 1'000'000'000;  // an instant of 0 means "long ago" in places
  uint64_t slice_ns_ = 0;
  uint64_t order_ = 0;
  uint64_t threads_made_ = 0;
  int last_pid_ = 100;
  thread* running_ = nullptr;
  thread* ended_ = nullptr;
  void* driver_ = nullptr;
  std::priority_queue<event> events_;
  std::vector<std::function<void()>> actions_;
  std::vector<size_t> free_actions_;
  std::vector<std::unique_ptr<process>> processes_;
  std::vector<thread*> monitors_;
};

// The machine of the run; null between runs.
extern machine* machine_now;

// Runs until `what` returns as the simulator itself: its memory is nobody's.
inline thread* running_thread() {
  return machine_now ? machine_now->running() : nullptr;
}

}  // namespace gar::sim
