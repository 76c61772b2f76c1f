#include "lib/gpu/vulkan_commands.hpp"

namespace gar {

vulkan_commands::~vulkan_commands() {
  // A lost device runs nothing any more, so whatever the wait answers, nothing is in use after it.
  if (timeline_) (void)wait(promised_value_, UINT64_MAX);
  if (timeline_) calls_.DestroySemaphore(device_, timeline_, nullptr);
  if (pool_) calls_.DestroyCommandPool(device_, pool_, nullptr);
}

vulkan_status vulkan_commands::open(uint32_t queue_family_index) {
  const VkCommandPoolCreateInfo pool{.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                     .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT |
                                              VK_COMMAND_POOL_CREATE_TRANSIENT_BIT,
                                     .queueFamilyIndex = queue_family_index};
  vulkan_status status{calls_.CreateCommandPool(device_, &pool, nullptr, &pool_),
                       "vkCreateCommandPool"};
  if (!status) return status;
  const VkSemaphoreTypeCreateInfo type{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                       .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
                                       .initialValue = 0};
  const VkSemaphoreCreateInfo semaphore{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                        .pNext = &type};
  return {calls_.CreateSemaphore(device_, &semaphore, nullptr, &timeline_), "vkCreateSemaphore"};
}

vulkan_status vulkan_commands::take(VkCommandBuffer& command) {
  if (free_.empty()) {
    const VkCommandBufferAllocateInfo one{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                          .commandPool = pool_,
                                          .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                          .commandBufferCount = 1};
    const VkResult made = calls_.AllocateCommandBuffers(device_, &one, &command);
    if (made != VK_SUCCESS) return {made, "vkAllocateCommandBuffers"};
  } else {
    command = free_.back();
    free_.pop_back();
  }
  const VkCommandBufferBeginInfo begin{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                       .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
  const VkResult begun = calls_.BeginCommandBuffer(command, &begin);
  if (begun != VK_SUCCESS) give_back(command);
  return {begun, "vkBeginCommandBuffer"};
}

uint64_t vulkan_commands::promise(VkCommandBuffer command) {
  running_.emplace_back(++promised_value_, command);
  return promised_value_;
}

void vulkan_commands::retract() {
  // A lost device may have told any value, and so have taken it out already.
  if (running_.empty() || running_.back().first != promised_value_) return;
  --promised_value_;
  give_back(running_.back().second);
  running_.pop_back();
}

vulkan_status vulkan_commands::submit(VkQueue queue, VkCommandBuffer command,
                                      uint64_t value) const {
  const VkResult ended = calls_.EndCommandBuffer(command);
  if (ended != VK_SUCCESS) return {ended, "vkEndCommandBuffer"};
  const VkTimelineSemaphoreSubmitInfo timeline{
      .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
      .signalSemaphoreValueCount = 1,
      .pSignalSemaphoreValues = &value};
  const VkSubmitInfo info{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                          .pNext = &timeline,
                          .commandBufferCount = 1,
                          .pCommandBuffers = &command,
                          .signalSemaphoreCount = 1,
                          .pSignalSemaphores = &timeline_};
  return {calls_.QueueSubmit(queue, 1, &info, VK_NULL_HANDLE), "vkQueueSubmit"};
}

void vulkan_commands::recycle(uint64_t value) {
  while (!running_.empty() && running_.front().first <= value) {
    free_.push_back(running_.front().second);
    running_.pop_front();
  }
}

vulkan_status vulkan_commands::reached_value(uint64_t& value) const {
  const VkResult got = calls_.GetSemaphoreCounterValue(device_, timeline_, &value);
  const bool impossible = got == VK_SUCCESS && value > promised_value_;
  return {impossible ? VK_ERROR_DEVICE_LOST : got, "vkGetSemaphoreCounterValue"};
}

vulkan_status vulkan_commands::wait(uint64_t value, uint64_t timeout_ns) const {
  const VkSemaphoreWaitInfo info{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                 .semaphoreCount = 1,
                                 .pSemaphores = &timeline_,
                                 .pValues = &value};
  return {calls_.WaitSemaphores(device_, &info, timeout_ns), "vkWaitSemaphores"};
}

void barrier(const vulkan_device_calls& calls, VkCommandBuffer command, vulkan_order order) {
  const bool from_all = order == vulkan_order::all_to_transfer;
  const bool to_host = order == vulkan_order::transfer_to_host;
  const VkMemoryBarrier memory{
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
      .srcAccessMask = from_all ? VkAccessFlags{VK_ACCESS_MEMORY_WRITE_BIT}
                                : VkAccessFlags{VK_ACCESS_TRANSFER_WRITE_BIT},
      .dstAccessMask = to_host ? VkAccessFlags{VK_ACCESS_HOST_READ_BIT}
                               : VkAccessFlags{VK_ACCESS_TRANSFER_WRITE_BIT}};
  calls.CmdPipelineBarrier(
      command, from_all ? VK_PIPELINE_STAGE_ALL_COMMANDS_BIT : VK_PIPELINE_STAGE_TRANSFER_BIT,
      to_host ? VK_PIPELINE_STAGE_HOST_BIT : VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 1, &memory, 0,
      nullptr, 0, nullptr);
}

}  // namespace gar
