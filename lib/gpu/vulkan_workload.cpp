#include "lib/gpu/vulkan_workload.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "lib/gpu/vulkan_commands.hpp"
#include "lib/gpu/vulkan_physical.hpp"

namespace gar {
namespace {

using steady = std::chrono::steady_clock;

// Small enough to stay in a core's cache: what several processes then share is cores, not memory
// bandwidth, and a fill of half of it takes half as long.
constexpr uint64_t filled_bytes_software = 2 << 20;
constexpr uint64_t filled_bytes_card = 64 << 20;
constexpr uint64_t fill_bytes_min = 4096;
constexpr uint64_t truth_bytes = 64;
constexpr uint64_t fills_max = 1 << 16;  // of one piece of work
constexpr uint64_t timed_fills = 8;
constexpr int timings = 5;

struct device_memory {
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
};

// A queue family that can fill a buffer.
std::optional<uint32_t> transfer_family(const vulkan_instance_calls& calls,
                                        VkPhysicalDevice device) {
  uint32_t count = 0;
  calls.GetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  calls.GetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  constexpr VkQueueFlags able = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
  for (uint32_t i = 0; i < count; ++i) {
    if (families[i].queueFlags & able) return i;
  }
  return std::nullopt;
}

result<VkDevice> create_device(const vulkan_instance_calls& calls, const vulkan_physical& physical,
                               uint32_t family) {
  std::vector<const char*> extensions{VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME};
  if (physical.api_version < VK_API_VERSION_1_2) {
    extensions.push_back(VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME);
  }
  const float priority = 1.0F;
  const VkDeviceQueueCreateInfo queue{.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                      .queueFamilyIndex = family,
                                      .queueCount = 1,
                                      .pQueuePriorities = &priority};
  VkPhysicalDeviceTimelineSemaphoreFeatures timeline{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
      .timelineSemaphore = VK_TRUE};
  const VkDeviceCreateInfo info{.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                .pNext = &timeline,
                                .queueCreateInfoCount = 1,
                                .pQueueCreateInfos = &queue,
                                .enabledExtensionCount = static_cast<uint32_t>(extensions.size()),
                                .ppEnabledExtensionNames = extensions.data()};
  VkDevice device = VK_NULL_HANDLE;
  const VkResult made = calls.CreateDevice(physical.handle, &info, nullptr, &device);
  if (made != VK_SUCCESS) return vulkan_failed("vkCreateDevice", made);
  return device;
}

uint64_t elapsed_ns(steady::time_point since) {
  return static_cast<uint64_t>((steady::now() - since) / std::chrono::nanoseconds(1));
}

}  // namespace

struct vulkan_workload::state {
  explicit state(vulkan_instance own) : instance(std::move(own)) {}
  ~state();

  result<void> open();
  result<device_memory> allocate(uint64_t bytes, VkMemoryPropertyFlags needed);
  result<void> map_truth();
  result<void> calibrate();
  result<uint64_t> fastest_ns(uint64_t bytes);
  uint64_t bytes_of(uint64_t duration_ns) const;
  result<uint64_t> enqueue(uint64_t bytes, std::optional<uint64_t> truth_value);
  void record(VkCommandBuffer command, uint64_t bytes, std::optional<uint64_t> truth_value);

  vulkan_instance instance;
  vulkan_physical physical;
  uint32_t family = 0;
  VkDevice device = VK_NULL_HANDLE;
  VkQueue queue = VK_NULL_HANDLE;
  vulkan_device_calls calls;
  std::optional<vulkan_commands> commands;

  device_memory filled, told;
  uint64_t filled_bytes = 0;
  uint64_t* truth = nullptr;

  // Of a piece of work: what it takes at least, and what each further byte adds.
  uint64_t least_ns = 0;
  double byte_ns = 1;

  std::mutex submitting;  // one at a time records; held while it submits to keep numbers in order
  std::mutex queue_lock;  // around each submission, also those of a stream over the queue
};

result<std::unique_ptr<vulkan_workload>> vulkan_workload::create() {
  result<vulkan_instance> instance = vulkan_instance::create();
  if (!instance) return instance.error();
  auto made = std::make_unique<state>(std::move(*instance));
  if (result<void> opened = made->open(); !opened) return opened.error();
  if (result<void> timed = made->calibrate(); !timed) return timed.error();
  return std::unique_ptr<vulkan_workload>(new vulkan_workload(std::move(made)));
}

vulkan_workload::vulkan_workload(std::unique_ptr<state> s) : state_(std::move(s)) {}
vulkan_workload::~vulkan_workload() = default;

const std::string& vulkan_workload::device_name() const {
  return state_->physical.name;
}

const uint64_t* vulkan_workload::truth() const {
  return state_->truth;
}

vulkan_queue_handles vulkan_workload::handles() const {
  return {.instance = state_->instance.handle(),
          .physical_device = state_->physical.handle,
          .device = state_->device,
          .queue = state_->queue,
          .queue_family_index = state_->family,
          .lock = [](void* lock) { static_cast<std::mutex*>(lock)->lock(); },
          .unlock = [](void* lock) { static_cast<std::mutex*>(lock)->unlock(); },
          .lock_context = &state_->queue_lock};
}

// ---- Starting and ending.

result<void> vulkan_workload::state::open() {
  result<vulkan_physical> best = instance.best();
  if (!best) return best.error();
  physical = *best;
  const std::optional<uint32_t> able = transfer_family(instance.calls(), physical.handle);
  if (!able) return error(errc::Unavailable, {"vulkan", physical.name + ": no queue can fill"});
  family = *able;
  result<VkDevice> created = create_device(instance.calls(), physical, family);
  if (!created) return created.error();
  result<vulkan_device_calls> resolved = vulkan_device_calls::of(instance.calls(), *created);
  if (!resolved) return resolved.error();
  device = *created;
  calls = *resolved;
  calls.GetDeviceQueue(device, family, 0, &queue);
  commands.emplace(calls, device);
  if (vulkan_status opened = commands->open(family); !opened) {
    return vulkan_failed(opened.call, opened.result);
  }
  filled_bytes =
      physical.type == VK_PHYSICAL_DEVICE_TYPE_CPU ? filled_bytes_software : filled_bytes_card;
  result<device_memory> large = allocate(filled_bytes, 0);
  if (!large) return large.error();
  filled = *large;
  return map_truth();
}

result<void> vulkan_workload::state::map_truth() {
  result<device_memory> small = allocate(
      truth_bytes, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
  if (!small) return small.error();
  told = *small;
  void* at = nullptr;
  const VkResult mapped = calls.MapMemory(device, told.memory, 0, VK_WHOLE_SIZE, 0, &at);
  if (mapped != VK_SUCCESS) return vulkan_failed("vkMapMemory", mapped);
  truth = static_cast<uint64_t*>(at);
  *truth = 0;
  return {};
}

vulkan_workload::state::~state() {
  if (!device) return;
  commands.reset();  // waits for the work
  for (const device_memory& one : {filled, told}) {
    if (one.buffer) calls.DestroyBuffer(device, one.buffer, nullptr);
    if (one.memory) calls.FreeMemory(device, one.memory, nullptr);
  }
  calls.DestroyDevice(device, nullptr);
}

result<device_memory> vulkan_workload::state::allocate(uint64_t bytes,
                                                       VkMemoryPropertyFlags needed) {
  device_memory made;
  const VkBufferCreateInfo buffer{.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                  .size = bytes,
                                  .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                                  .sharingMode = VK_SHARING_MODE_EXCLUSIVE};
  VkResult status = calls.CreateBuffer(device, &buffer, nullptr, &made.buffer);
  if (status != VK_SUCCESS) return vulkan_failed("vkCreateBuffer", status);

  VkMemoryRequirements needs{};
  calls.GetBufferMemoryRequirements(device, made.buffer, &needs);
  VkPhysicalDeviceMemoryProperties memory{};
  instance.calls().GetPhysicalDeviceMemoryProperties(physical.handle, &memory);
  uint32_t type = 0;
  while (type < memory.memoryTypeCount &&
         !((needs.memoryTypeBits >> type & 1) &&
           (memory.memoryTypes[type].propertyFlags & needed) == needed)) {
    ++type;
  }
  const VkMemoryAllocateInfo info{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                  .allocationSize = needs.size,
                                  .memoryTypeIndex = type};
  status = type == memory.memoryTypeCount
               ? VK_ERROR_FEATURE_NOT_PRESENT
               : calls.AllocateMemory(device, &info, nullptr, &made.memory);
  const char* call = "vkAllocateMemory";
  if (status == VK_SUCCESS) {
    call = "vkBindBufferMemory";
    status = calls.BindBufferMemory(device, made.buffer, made.memory, 0);
  }
  if (status == VK_SUCCESS) return made;
  calls.DestroyBuffer(device, made.buffer, nullptr);
  if (made.memory) calls.FreeMemory(device, made.memory, nullptr);
  return vulkan_failed(call, status);
}

// ---- How long a fill takes.

result<void> vulkan_workload::state::calibrate() {
  // The first fill also pays for the memory's first touch and the driver's start.
  if (result<uint64_t> warm = fastest_ns(filled_bytes); !warm) return warm.error();
  result<uint64_t> least = fastest_ns(fill_bytes_min);
  if (!least) return least.error();
  const uint64_t timed_bytes = timed_fills * filled_bytes;
  result<uint64_t> full = fastest_ns(timed_bytes);
  if (!full) return full.error();
  least_ns = std::min(*least, *full - 1);
  byte_ns = static_cast<double>(*full - least_ns) / static_cast<double>(timed_bytes);
  return {};
}

result<uint64_t> vulkan_workload::state::fastest_ns(uint64_t bytes) {
  uint64_t fastest = UINT64_MAX;
  for (int i = 0; i < timings; ++i) {
    const steady::time_point start = steady::now();
    result<uint64_t> value = enqueue(bytes, std::nullopt);
    if (!value) return value.error();
    const vulkan_status waited = commands->wait(*value, UINT64_MAX);
    if (!waited) return vulkan_failed(waited.call, waited.result);
    fastest = std::min(fastest, elapsed_ns(start));
  }
  return std::max<uint64_t>(fastest, 2);
}

uint64_t vulkan_workload::state::bytes_of(uint64_t duration_ns) const {
  if (duration_ns <= least_ns) return fill_bytes_min;
  const double bytes = static_cast<double>(duration_ns - least_ns) / byte_ns;
  const auto most = static_cast<double>(filled_bytes) * static_cast<double>(fills_max);
  const auto whole = static_cast<uint64_t>(std::min(bytes, most));
  return std::max(fill_bytes_min, whole / 4 * 4);
}

// ---- Working.

result<void> vulkan_workload::submit(uint64_t duration_ns, uint64_t value) {
  if (duration_ns > workload_duration_ns_max) {
    return error(errc::InvalidArgument,
                 {"duration", std::to_string(duration_ns) + " ns is more than " +
                                  std::to_string(workload_duration_ns_max) + " ns"});
  }
  result<uint64_t> submitted = state_->enqueue(state_->bytes_of(duration_ns), value);
  if (!submitted) return submitted.error();
  return {};
}

result<uint64_t> vulkan_workload::state::enqueue(uint64_t bytes,
                                                 std::optional<uint64_t> truth_value) {
  std::lock_guard hold(submitting);
  uint64_t done = 0;
  vulkan_status status = commands->reached_value(done);
  if (!status) return vulkan_failed(status.call, status.result);
  commands->recycle(done);
  if (commands->running_count() >= workload_running_max) {
    return vulkan_failed("vkGetSemaphoreCounterValue", VK_NOT_READY);
  }
  VkCommandBuffer command = VK_NULL_HANDLE;
  status = commands->take(command);
  if (!status) return vulkan_failed(status.call, status.result);
  record(command, bytes, truth_value);
  const uint64_t value = commands->promise(command);
  {
    std::lock_guard queue_hold(queue_lock);
    status = commands->submit(queue, command, value);
  }
  if (status) return value;
  commands->retract();
  return vulkan_failed(status.call, status.result);
}

void vulkan_workload::state::record(VkCommandBuffer command, uint64_t bytes,
                                    std::optional<uint64_t> truth_value) {
  barrier(calls, command, vulkan_order::all_to_transfer);
  for (uint64_t left = bytes; left > 0;) {
    const uint64_t now = std::min(left, filled_bytes);
    calls.CmdFillBuffer(command, filled.buffer, 0, now, 0x5a5a5a5a);
    barrier(calls, command, vulkan_order::transfer_to_transfer);
    left -= now;
  }
  if (!truth_value) return;
  calls.CmdUpdateBuffer(command, told.buffer, 0, sizeof *truth_value, &*truth_value);
  barrier(calls, command, vulkan_order::transfer_to_host);
}

}  // namespace gar
