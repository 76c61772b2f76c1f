// A Vulkan stream for tests, over whatever driver of this machine qualifies.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lib/gpu/gpu_vulkan.hpp"
#include "lib/gpu/vulkan_workload.hpp"

namespace gar {

class vulkan_rig {
 public:
  // Empty, or why no Vulkan device can be had here. Errors other than Unavailable are failures of
  // ours, and show up in the constructor.
  static std::string why_not() {
    result<std::unique_ptr<vulkan_workload>> tried = vulkan_workload::create();
    const bool absent = !tried && tried.error().code() == errc::Unavailable;
    return absent ? tried.error().text() : std::string();
  }

  vulkan_rig()
      : workload_(vulkan_workload::create().value()),
        queue_(vulkan_queue::create(workload_->handles()).value()) {}

  const gar_device_ops* ops() { return vulkan_ops(); }
  void* device() { return queue_->device_key(); }
  void* stream() { return queue_.get(); }
  vulkan_workload& workload() { return *workload_; }
  vulkan_queue& queue() { return *queue_; }
  void submit(uint64_t duration_ns, uint64_t value) {
    workload_->submit(duration_ns, value).value();
  }
  const uint64_t& truth() const { return *workload_->truth(); }

 private:
  std::unique_ptr<vulkan_workload> workload_;
  std::unique_ptr<vulkan_queue> queue_;
};

}  // namespace gar
