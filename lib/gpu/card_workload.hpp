// Real work on a CUDA or HIP stream, of about the duration asked: for the demo.
//
// As vulkan_workload.hpp is for Vulkan: each piece of work fills device memory as often as the
// duration needs, and then writes the truth, a number that whoever was told "done" reads.
//
//   work:  fill, fill, ... fill -> fill of the truth's two halves, each with the piece's number
//
// Invariants: the stream is the workload's own, of the first device's primary domain; the truth is
// written by the work, not by the means that wake a waiter.
// Threads: any, one at a time. Blocking: create (the driver starts and is timed), the destructor
// until all work has run. Ownership: streams opened over `stream()` end before the workload.
// Errors: Unavailable, naming what is missing; Backend; InvalidArgument for a duration that is out
// of range. Units: ns. Does not: keep a duration exactly.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lib/core/error.hpp"
#include "lib/gpu/stream_driver.hpp"

namespace gar {

enum class card_vendor : uint8_t { cuda, hip };

class card_workload {
 public:
  static result<std::unique_ptr<card_workload>> create(card_vendor vendor);
  ~card_workload();
  card_workload(const card_workload&) = delete;
  card_workload& operator=(const card_workload&) = delete;

  std::string device_name() const;
  void* stream() const;
  // The stream's domain, for making it current (driver_place).
  const stream_driver& driver() const;
  const domain_id& domain() const;

  // Enqueues work of about that duration, at whose end the truth is truth_of(number).
  result<void> submit(uint64_t duration_ns, uint32_t number);
  static uint64_t truth_of(uint32_t number) { return uint64_t{number} << 32 | number; }
  // Read it with proto::load_word; starts at 0.
  const uint64_t* truth() const;

 private:
  struct state;
  explicit card_workload(std::unique_ptr<state> s);

  std::unique_ptr<state> state_;
};

}  // namespace gar
