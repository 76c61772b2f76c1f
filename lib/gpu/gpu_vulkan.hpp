// A program's Vulkan queue as a stream: the store is a transfer command behind the queue's work,
// the authority a timeline semaphore.
//
// Model: the lines page is host memory imported into the program's VkDevice as a buffer. A record
// submits one small command buffer:
//
//   everything before it -> [barrier] word := value [barrier] bell := value [barrier to the host]
//   and signals our timeline semaphore with the next value of a counter of our own
//
// Commands of a queue are ordered by barriers across its submissions, so the word is stored after
// all work that was submitted before, and a timeline value that was reached says that the work, the
// word and the bell are all done.
//
// Invariants: timeline values rise by one, whatever the sequence numbers do (they may wrap). At
// most vulkan_records_max records are not known to be done; a command buffer is used again only
// then. Threads: any thread may call; `arm` is never called twice at once for one stream
// (gar_device.h). `block`, `poll`, `settle` and the destructor wait; nothing else does. `lock` and
// `unlock` are called around vkQueueSubmit and nothing else. Ownership: the program's handles
// outlive the stream and every page mapped through it. Pages may outlive the stream. Errors: of
// create: Unavailable (what is missing, by name; or "built without Vulkan headers"), ForeignStream,
// Backend. Verbs fail with the VkResult and the call's name; a lost device is VK_ERROR_DEVICE_LOST
// from then on. Units: ns. Does not: check that the VkDevice was created with the timeline
// semaphore feature; Vulkan has no way to ask. And an 8-byte vkCmdUpdateBuffer is not promised to
// be one store: a word seen half-written costs a query of the authority, as any early word does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "lib/core/error.hpp"
#include "lib/port/gar_device.h"

namespace gar {

inline constexpr size_t vulkan_records_max = 256;  // of one stream, not known to be done

// The program's own handles, as in the C interface.
struct vulkan_queue_handles {
  void* instance = nullptr;         // VkInstance
  void* physical_device = nullptr;  // VkPhysicalDevice
  void* device = nullptr;           // VkDevice
  void* queue = nullptr;            // VkQueue
  uint32_t queue_family_index = 0;
  void (*lock)(void* context) = nullptr;
  void (*unlock)(void* context) = nullptr;
  void* lock_context = nullptr;
};

class vulkan_queue {
 public:
  static result<std::unique_ptr<vulkan_queue>> create(const vulkan_queue_handles& handles);

  // Waits for what was submitted.
  ~vulkan_queue();
  vulkan_queue(const vulkan_queue&) = delete;
  vulkan_queue& operator=(const vulkan_queue&) = delete;

  // What `map` takes as its device: the same for every stream of one VkDevice, as long as one of
  // them or a page mapped through it lives. A page is mapped once per key.
  void* device_key() const;

  // The port's verbs; see gar_device.h.
  int arm(uint64_t sequence, const gar_device_store& word, const gar_device_store* bell,
          gar_device_failure* failure);
  int query(uint64_t sequence, gar_device_failure* failure);
  int block(uint64_t sequence, uint64_t timeout_ns, gar_device_failure* failure);
  int poll(uint64_t sequence, uint64_t timeout_ns, gar_device_failure* failure);
  int settle(gar_device_failure* failure);

 private:
  struct state;
  explicit vulkan_queue(std::unique_ptr<state> s);

  std::unique_ptr<state> state_;
};

// Were Vulkan headers there when this was built?
bool vulkan_is_built();

// The name of the best device of this machine that can store completion words. Starts the drivers.
// Errors: Unavailable, with the reason of every device there is; Backend.
result<std::string> usable_vulkan_device();

// The port over it: `device` is a device_key(), `stream` a vulkan_queue*. It has no `idle`: what
// else was submitted to the queue only the program knows.
const gar_device_ops* vulkan_ops();

}  // namespace gar
