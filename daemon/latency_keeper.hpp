// Latency keeper: holds the machine's CPUs out of deep sleep while waits are due.
//
// Changing it takes a system call that wakes every CPU, which no thread that waits should make. So
// the executor only counts the waits that are due, and a thread of the keeper's own decides (by
// latency_hold) and acts.
//
//   executor  --begin, end--> count, time of the last one --> keeper's thread --> cpu_latency
//
// Invariants: without leave from the configuration there is no thread and nothing is opened. With
// nothing held and nothing due the thread blocks in the kernel. `begin` makes a system call only
// where nothing is held yet. A refusal is kept as a sentence and ends the holding, never gard.
// Threads: begin and end by any; snapshot by the io thread. Blocking: the destructor joins.
// Memory order: `begin` counts, then looks whether it is held; the thread says that it is not, then
// looks at the count: one of them sees the other.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "lib/core/latency_hold.hpp"
#include "lib/core/node_snapshot.hpp"
#include "lib/linux/cpu_latency.hpp"
#include "lib/linux/steady_clock.hpp"

namespace gar {

class latency_keeper {
 public:
  // Opens the device where `wanted`; before privileges drop.
  explicit latency_keeper(bool wanted, const char* device = cpu_latency_device);
  ~latency_keeper();
  latency_keeper(const latency_keeper&) = delete;
  latency_keeper& operator=(const latency_keeper&) = delete;

  // A wait became due; as often as `end`.
  void begin();
  void end();

  cpu_latency_snapshot snapshot() const;

  // Is called by the keeper's thread with each change: held, or released, or refused for good. When
  // this returns, nothing that was told before is called any more.
  using changed_function = std::function<void(bool held, const std::optional<error>& refused)>;
  void tell(changed_function changed);

 private:
  void run();
  void act(latency_hold::change what);
  void refuse(const error& why);
  void say(bool held, const std::optional<error>& refused);
  void wake();

  bool wanted_;
  std::optional<cpu_latency> device_;  // the thread's, once that runs
  std::atomic<uint32_t> due_ = 0;
  std::atomic<uint64_t> last_due_ns_ = 0;
  std::atomic<bool> active_ = false;  // the thread runs and nothing was refused
  std::atomic<bool> held_ = false;
  std::atomic<bool> stopping_ = false;
  std::atomic<uint64_t> changes_ = 0;
  uint32_t news_ = 0;  // a futex word: changes with each wake
  mutable std::mutex lock_;
  std::optional<std::string> refused_;
  std::mutex telling_;
  changed_function changed_;
  std::thread thread_;
};

// What one thread says of its own waits: due or not, as often as it likes.
class due_waits {
 public:
  explicit due_waits(latency_keeper* keeper) : keeper_(keeper) {}
  ~due_waits() { say(false); }
  due_waits(const due_waits&) = delete;
  due_waits& operator=(const due_waits&) = delete;

  void say(bool any) {
    if (any == said_) return;
    said_ = any;
    if (!keeper_) return;
    any ? keeper_->begin() : keeper_->end();
  }

 private:
  latency_keeper* keeper_;  // none: nobody wants to know
  bool said_ = false;
};

}  // namespace gar
