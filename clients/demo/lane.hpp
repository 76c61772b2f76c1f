// A lane: one stream of the demo under one plan, and the work that runs on it.
//
// Model: `submit` enqueues a piece of work that writes the piece's number as its last act, then
// records; the record's sequence number is what is waited for. `truth` is the last number that the
// work itself wrote: the demo's own witness, in which neither gard nor the library has a hand.
//
// Threads: one at a time. Blocking: `submit`, as the device does. Ownership: a lane closes its
// stream before its work goes; client and device outlive it. Errors: Unavailable, Backend and what
// the library answers, with the call that failed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "clients/demo/failure.hpp"
#include "clients/garclient/gar.h"
#include "lib/core/time.hpp"

namespace gar {

class lane {
 public:
  virtual ~lane() = default;

  struct submitted {
    uint64_t sequence;  // to wait for
    uint64_t number;    // what the truth says once the work is done; the work before wrote another
  };
  virtual demo_result<submitted> submit(duration takes) = 0;
  virtual uint64_t truth() const = 0;
  // When the store of `sequence` landed; nullopt where nobody knows.
  virtual std::optional<instant> stored_at(uint64_t sequence) const = 0;
  virtual gar_stream* stream() const = 0;
};

// What the lanes of one process run on.
class lane_device {
 public:
  virtual ~lane_device() = default;

  virtual std::string name() const = 0;
  // The lane of stream `index` for this client.
  virtual demo_result<std::unique_ptr<lane>> open(gar_client* client, uint32_t index) = 0;
};

demo_result<std::unique_ptr<lane_device>> open_sim();
// `streams` queues of work, each of which the lanes of all plans share.
demo_result<std::unique_ptr<lane_device>> open_vulkan(uint32_t streams);
demo_result<std::unique_ptr<lane_device>> open_cuda(uint32_t streams);
demo_result<std::unique_ptr<lane_device>> open_hip(uint32_t streams);

}  // namespace gar
