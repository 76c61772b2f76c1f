// The simulated device: streams in order, durations as told, faults on request.
//
// What a wait does when a store is lost, late or early, or when the device dies, cannot be asked of
// real hardware. Here it can: a device is one thread that runs all its queues in real time.
//
// Model: a queue holds work and records and runs them in the order they came.
//   work    of duration d ends d after whatever is before it ended, or after its own submission,
//           whichever is later; at its end it stores its value into its truth word
//   record  executes when everything before it ended: the authority answers done for its number,
//           then the word's store lands, then the doorbell's
// Because every duration is known when it is submitted, each end is known then too; the thread only
// sleeps to the next one.
//
// Faults, each applied once, to the next record or work enqueued:
//   lost store     the record's stores never land; the authority still answers
//   late store     they land that long after the record executed
//   early store    they land as soon as the work before the record starts
//   device error   the work fails at its end with that status; nothing enqueued after it ever runs,
//                  and every number recorded after it answers failed
//   arm error      the record is refused with that status, and enqueues nothing
//
// Invariants: the stores of one queue land in the order of their records, so its word never goes
// backwards: one that is late holds up those behind it, and one that is early takes along those
// before it. A truth word is written before any store, or any answer, that says so.
// Threads: any thread may call anything; `block`, `poll` and `settle` wait, nothing else does.
// Queues of one device run at the same time as each other. `query` takes no lock. Ownership: a
// queue's device outlives it; truth words and pages outlive what was enqueued for them. Destroying
// a queue forgets what it has not run yet. Memory order: truth, words and bells are written by
// release stores (pair with proto::load_word); a query's acquire pairs with the thread's release of
// what it counted done. Units: ns of CLOCK_MONOTONIC. Does not: keep numbers apart of two streams
// that are open on one queue at the same time. One after the other is fine: a number that does not
// follow the last one starts a new count.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "lib/core/error.hpp"
#include "lib/core/time.hpp"
#include "lib/port/gar_device.h"

namespace gar {

// The numbers are those of the C interface.
enum class sim_fault : int {
  lost_store = 1,
  late_store = 2,
  early_store = 3,
  device_error = 4,
  arm_error = 5,
};

inline constexpr size_t sim_items_max = 65536;    // of one queue, not run yet
inline constexpr size_t sim_landings_max = 1024;  // of one queue, remembered

class sim_queue;

class sim_device {
 public:
  // `prepare_thread` is called once on the device's thread before it runs anything: whoever may
  // make system calls sets the thread's timer slack there, without which work ends up to 50 us
  // late. May be null. Errors: SystemCall when no thread can be had.
  static result<std::unique_ptr<sim_device>> create(void (*prepare_thread)());

  // Every queue was destroyed before.
  ~sim_device();
  sim_device(const sim_device&) = delete;
  sim_device& operator=(const sim_device&) = delete;

 private:
  friend class sim_queue;

  sim_device() = default;
  void run();
  // Runs `queue` at `due`; the lock is held.
  void schedule(sim_queue& queue, instant due);
  void forget(sim_queue& queue);

  std::mutex lock_;  // guards everything of the device and of its queues that is not atomic
  std::condition_variable earlier_;
  std::set<std::pair<instant, sim_queue*>> due_;  // each queue that has something to run, once
  bool stopping_ = false;
  std::thread thread_;
};

class sim_queue {
 public:
  explicit sim_queue(sim_device& device);
  ~sim_queue();
  sim_queue(const sim_queue&) = delete;
  sim_queue& operator=(const sim_queue&) = delete;

  // Enqueues work; `truth` may be null. Accepted on a failed queue too, and never run there.
  // Errors: Backend, when sim_items_max wait already.
  result<void> submit(uint64_t duration_ns, uint64_t* truth, uint64_t value);

  // Errors: InvalidArgument for a fault that does not exist.
  result<void> fault(sim_fault what, uint64_t value);

  // When the store of `sequence` landed; 0 if it did not, or is not among the last ones kept.
  uint64_t stored_ns(uint64_t sequence) const;

  // The port's verbs; see gar_device.h. `settle` waits for the last record too, so that nothing
  // enqueued before it is still to be written.
  int arm(uint64_t sequence, const gar_device_store& word, const gar_device_store* bell,
          gar_device_failure* failure);
  int query(uint64_t sequence, gar_device_failure* failure) const;
  int block(uint64_t sequence, uint64_t timeout_ns, gar_device_failure* failure);
  int poll(uint64_t sequence, uint64_t timeout_ns, gar_device_failure* failure) const;
  int idle(gar_device_failure* failure) const;
  int settle(gar_device_failure* failure);

 private:
  friend class sim_device;

  struct item {
    instant at;  // when it ends (work) or executes (record)
    bool record = false;
    bool fails = false;
    uint64_t* truth = nullptr;
    uint64_t value = 0;  // of the truth, or the record's number
  };
  struct landing {
    instant at;
    uint64_t sequence = 0;
    uint64_t* word = nullptr;
    uint64_t word_value = 0;
    uint64_t* bell = nullptr;
    uint64_t bell_value = 0;
  };
  struct pending_fault {
    sim_fault what{};
    uint64_t value = 0;
    bool set = false;
  };

  // All of these with the device's lock held.
  bool follows(uint64_t sequence);
  void enqueue_stores(uint64_t sequence, instant now, const pending_fault& fault,
                      const gar_device_store& word, const gar_device_store* bell);
  void advance(instant now);
  void end(const item& ended);
  void land(const landing& store);
  void reschedule();

  sim_device& device_;
  std::deque<item> items_;      // `at` never falls
  std::deque<landing> stores_;  // land in this order, each not before its `at`
  std::deque<std::pair<uint64_t, uint64_t>> landed_;  // number, ns
  instant due_{};
  bool scheduled_ = false;

  instant ends_{};          // of everything enqueued so far
  instant work_starts_{};   // of the last work enqueued
  bool work_runs_ = false;  // will the last work enqueued ever start?
  bool work_unrecorded_ = false;
  bool doomed_ = false;  // a work that fails was enqueued
  pending_fault record_fault_;
  pending_fault work_fault_;

  size_t records_waiting_ = 0;  // enqueued, and will execute
  bool counting_ = false;
  uint64_t last_armed_ = 0;

  int32_t status_ = 0;  // of the failure; written before `failed_`
  std::atomic<bool> failed_{false};
  std::atomic<bool> recorded_{false};
  std::atomic<uint64_t> done_{0};

  mutable std::condition_variable progressed_;
};

// The port over it: `device` is a sim_device*, `stream` a sim_queue*.
const gar_device_ops* sim_ops();

}  // namespace gar
