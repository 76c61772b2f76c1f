// A simulated device for tests: one device, one queue, the word its work writes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lib/gpu/gpu_sim.hpp"
#include "lib/linux/timer_slack.hpp"

namespace gar {

class sim_rig {
 public:
  static std::string why_not() { return {}; }

  sim_rig()
      : device_(sim_device::create([] { (void)set_timer_slack_ns(timer_slack_ns_least); }).value()),
        queue_(*device_) {}

  const gar_device_ops* ops() { return sim_ops(); }
  void* device() { return device_.get(); }
  void* stream() { return &queue_; }
  sim_queue& queue() { return queue_; }
  void submit(uint64_t duration_ns, uint64_t value) {
    queue_.submit(duration_ns, &truth_, value).value();
  }
  const uint64_t& truth() const { return truth_; }

 private:
  uint64_t truth_ = 0;  // outlives the queue that writes it
  std::unique_ptr<sim_device> device_;
  sim_queue queue_;
};

}  // namespace gar
