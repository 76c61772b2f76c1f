// Command buffers of one queue family that are used over and over, each with its timeline value.
//
// A command buffer may be recorded again only when the device has run it; the timeline semaphore
// that its submission signals tells. Both the completion stores and the demo's work run through
// this.
//
//   take -> record -> submit (signals the next value) -> recycle, once that value was reached
//
// Threads: none of its own; the owner serialises take, submit and recycle. `reached_value` and
// `wait` from any thread. Blocking: `wait`, and the destructor until everything submitted has run.
// Ownership: the device outlives it.
// Errors: VkResult of the call that failed, with its name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "lib/gpu/vulkan_calls.hpp"

namespace gar {

// A VkResult and the call that gave it.
struct vulkan_status {
  VkResult result = VK_SUCCESS;
  const char* call = "";
  explicit operator bool() const { return result == VK_SUCCESS; }
};

class vulkan_commands {
 public:
  vulkan_commands(const vulkan_device_calls& calls, VkDevice device)
      : calls_(calls), device_(device) {}
  ~vulkan_commands();
  vulkan_commands(const vulkan_commands&) = delete;
  vulkan_commands& operator=(const vulkan_commands&) = delete;

  vulkan_status open(uint32_t queue_family_index);

  // A command buffer that is begun.
  vulkan_status take(VkCommandBuffer& command);
  // Back unused.
  void give_back(VkCommandBuffer command) { free_.push_back(command); }
  // Says that the command buffer will be submitted next, and the value that will tell it has run.
  uint64_t promise(VkCommandBuffer command);
  // Ends and submits it; touches nothing else here, so that others may ask meanwhile.
  vulkan_status submit(VkQueue queue, VkCommandBuffer command, uint64_t value) const;
  // The last promise was not kept: its submission failed.
  void retract();

  // Makes the command buffers of every value up to `value` usable again.
  void recycle(uint64_t value);

  // The value of the last promise; 0 before the first.
  uint64_t promised_value() const { return promised_value_; }
  size_t running_count() const { return running_.size(); }

  // How far the device came. A lost device may answer any value; one that was never promised is
  // told as VK_ERROR_DEVICE_LOST.
  vulkan_status reached_value(uint64_t& value) const;
  // VK_TIMEOUT where the timeout passed. UINT64_MAX: none.
  vulkan_status wait(uint64_t value, uint64_t timeout_ns) const;

 private:
  const vulkan_device_calls& calls_;
  VkDevice device_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkSemaphore timeline_ = VK_NULL_HANDLE;
  uint64_t promised_value_ = 0;
  std::vector<VkCommandBuffer> free_;
  std::deque<std::pair<uint64_t, VkCommandBuffer>> running_;  // by rising value
};

// All that came before in the queue, made visible to transfers; transfers to transfers; transfers
// to the host.
enum class vulkan_order { all_to_transfer, transfer_to_transfer, transfer_to_host };
void barrier(const vulkan_device_calls& calls, VkCommandBuffer command, vulkan_order order);

}  // namespace gar
