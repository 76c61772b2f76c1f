// Real work on a real driver, of about the duration asked: for the demo and the tests.
//
// Waiting is only worth showing on something that takes its time. Each piece of work fills a buffer
// as often as the duration needs, and then writes a rising number, the truth, that whoever was told
// "done" reads: reading less than the number of that work is a wait that lied.
//
//   work:  fill, fill, ... fill -> [barrier] truth := value -> [barrier to the host]
//
// Invariants: one device and one queue per workload, created for it, so that workloads run beside
// each other even where a driver has a single queue; the truth is written before anything submitted
// later. Threads: any; submissions to the queue are serialised, also those of a stream opened over
// handles(). Blocking: create (hundreds of ms: the driver starts and is timed), the destructor
// until all work has run; submit for as long as the driver likes. Ownership: streams opened over
// handles(), and pages mapped through them, end before the workload. Errors: Unavailable (what is
// missing, by name); Backend; InvalidArgument for a duration that is out of range. Units: ns. Does
// not: keep a duration exactly. Other work on the same cores or memory makes it longer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "lib/core/error.hpp"
#include "lib/gpu/gpu_vulkan.hpp"

namespace gar {

inline constexpr uint64_t workload_duration_ns_max = 10'000'000'000;
inline constexpr size_t workload_running_max = 1024;  // pieces of work submitted and not done

class vulkan_workload {
 public:
  // On the best device that qualifies.
  static result<std::unique_ptr<vulkan_workload>> create();
  ~vulkan_workload();
  vulkan_workload(const vulkan_workload&) = delete;
  vulkan_workload& operator=(const vulkan_workload&) = delete;

  const std::string& device_name() const;
  // For opening a stream on the queue; with a lock that keeps it apart from `submit`.
  vulkan_queue_handles handles() const;

  // Enqueues work of about that duration, at whose end the truth is `value`.
  result<void> submit(uint64_t duration_ns, uint64_t value);

  // Read it with proto::load_word; starts at 0.
  const uint64_t* truth() const;

 private:
  struct state;
  explicit vulkan_workload(std::unique_ptr<state> s);

  std::unique_ptr<state> state_;
};

}  // namespace gar
