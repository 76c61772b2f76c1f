// What a build without Vulkan headers answers instead of vulkan_workload.cpp.
#include "lib/gpu/vulkan_workload.hpp"

namespace gar {
namespace {

error absent() {
  return error(errc::Unavailable, {"vulkan", "built without Vulkan headers"});
}

}  // namespace

struct vulkan_workload::state {
  std::string name;
};

result<std::unique_ptr<vulkan_workload>> vulkan_workload::create() {
  return absent();
}

vulkan_workload::vulkan_workload(std::unique_ptr<state> s) : state_(std::move(s)) {}
vulkan_workload::~vulkan_workload() = default;

const std::string& vulkan_workload::device_name() const {
  return state_->name;
}
vulkan_queue_handles vulkan_workload::handles() const {
  return {};
}
result<void> vulkan_workload::submit(uint64_t, uint64_t) {
  return absent();
}
const uint64_t* vulkan_workload::truth() const {
  return nullptr;
}

}  // namespace gar
