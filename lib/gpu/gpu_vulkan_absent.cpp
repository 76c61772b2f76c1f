// What a build without Vulkan headers answers instead of gpu_vulkan.cpp.
#include "lib/gpu/device_failure.hpp"
#include "lib/gpu/gpu_vulkan.hpp"

namespace gar {
namespace {

constexpr int absent = -1;
constexpr const char* why = "built without Vulkan headers";

int refuse(gar_device_failure* failure) {
  return device_failed(failure, absent, why);
}

}  // namespace

struct vulkan_queue::state {};

result<std::unique_ptr<vulkan_queue>> vulkan_queue::create(const vulkan_queue_handles&) {
  return error(errc::Unavailable, {"vulkan", why});
}

vulkan_queue::vulkan_queue(std::unique_ptr<state> s) : state_(std::move(s)) {}
vulkan_queue::~vulkan_queue() = default;

void* vulkan_queue::device_key() const {
  return nullptr;
}

int vulkan_queue::arm(uint64_t, const gar_device_store&, const gar_device_store*,
                      gar_device_failure* failure) {
  return refuse(failure);
}
int vulkan_queue::query(uint64_t, gar_device_failure* failure) {
  return refuse(failure);
}
int vulkan_queue::block(uint64_t, uint64_t, gar_device_failure* failure) {
  return refuse(failure);
}
int vulkan_queue::poll(uint64_t, uint64_t, gar_device_failure* failure) {
  return refuse(failure);
}
int vulkan_queue::settle(gar_device_failure* failure) {
  return refuse(failure);
}

bool vulkan_is_built() {
  return false;
}

result<std::string> usable_vulkan_device() {
  return error(errc::Unavailable, {"vulkan", why});
}

// No stream can be made, so nothing ever asks these.
const gar_device_ops* vulkan_ops() {
  static const gar_device_ops ops{
      .struct_bytes = sizeof(gar_device_ops),
      .name = "vulkan",
      .map = [](void*, void*, size_t, void**, gar_device_failure* failure) -> int {
        return refuse(failure);
      },
      .unmap = [](void*, void*) -> int { return 0; },
      .arm = [](void*, uint64_t, const gar_device_store*, const gar_device_store*,
                gar_device_failure* failure) -> int { return refuse(failure); },
      .query = [](void*, uint64_t, gar_device_failure* failure) -> int { return refuse(failure); },
      .block = nullptr,
      .poll = nullptr,
      .park = nullptr,
      .idle = nullptr,
      .settle = [](void*, gar_device_failure* failure) -> int { return refuse(failure); },
  };
  return &ops;
}

}  // namespace gar
