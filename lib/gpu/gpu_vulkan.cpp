#include "lib/gpu/gpu_vulkan.hpp"

#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "lib/core/descriptor.hpp"
#include "lib/gpu/device_failure.hpp"
#include "lib/gpu/vulkan_commands.hpp"
#include "lib/gpu/vulkan_device.hpp"
#include "lib/gpu/vulkan_physical.hpp"

namespace gar {
namespace {

using steady = std::chrono::steady_clock;

int failed(gar_device_failure* failure, vulkan_status status) {
  return device_failed(failure, status.result, status.call);
}

void store(const vulkan_device_calls& calls, VkCommandBuffer command,
           const gar_device_store& target) {
  const auto* page = static_cast<const vulkan_page*>(target.page->mapping);
  calls.CmdUpdateBuffer(command, page->buffer, target.offset_bytes, sizeof target.value,
                        &target.value);
}

}  // namespace

struct vulkan_queue::state {
  state(const vulkan_queue_handles& handles, std::shared_ptr<vulkan_device> on)
      : lock(handles.lock),
        unlock(handles.unlock),
        lock_context(handles.lock_context),
        device(std::move(on)),
        queue(static_cast<VkQueue>(handles.queue)),
        commands(device->calls(), device->handle()) {}

  bool own(const gar_device_store& target) const {
    const auto* page =
        store_fits(target) ? static_cast<vulkan_page*>(target.page->mapping) : nullptr;
    return page && page->device == device;
  }
  vulkan_status begin(VkCommandBuffer& command);
  vulkan_status submit(uint64_t sequence, VkCommandBuffer command);
  bool confirmed_to(uint64_t sequence) const;
  vulkan_status confirm();
  std::optional<uint64_t> value_of(uint64_t sequence);

  // The program's lock is taken before ours: it may be held, recursively, by who calls us.
  void (*lock)(void*);
  void (*unlock)(void*);
  void* lock_context;

  std::shared_ptr<vulkan_device> device;
  VkQueue queue;

  std::mutex records;  // guards what follows, but for the atomics
  vulkan_commands commands;
  std::deque<std::pair<uint64_t, uint64_t>> unconfirmed;  // sequence, timeline value

  std::atomic<bool> any_confirmed{false};
  std::atomic<uint64_t> confirmed{0};
};

result<std::unique_ptr<vulkan_queue>> vulkan_queue::create(const vulkan_queue_handles& handles) {
  if (!handles.instance || !handles.physical_device || !handles.device || !handles.queue) {
    return error(errc::InvalidArgument, {"vulkan queue", "a handle is null"});
  }
  if (!handles.lock != !handles.unlock) {
    return error(errc::InvalidArgument, {"vulkan queue", "lock and unlock come together"});
  }
  result<std::shared_ptr<vulkan_device>> device =
      vulkan_device::of(static_cast<VkInstance>(handles.instance),
                        static_cast<VkPhysicalDevice>(handles.physical_device),
                        static_cast<VkDevice>(handles.device));
  if (!device) return device.error();
  auto made = std::make_unique<state>(handles, std::move(*device));
  if (vulkan_status opened = made->commands.open(handles.queue_family_index); !opened) {
    return vulkan_failed(opened.call, opened.result);
  }
  return std::unique_ptr<vulkan_queue>(new vulkan_queue(std::move(made)));
}

vulkan_queue::vulkan_queue(std::unique_ptr<state> s) : state_(std::move(s)) {}
vulkan_queue::~vulkan_queue() = default;

void* vulkan_queue::device_key() const {
  return state_->device.get();
}

// ---- Recording.

int vulkan_queue::arm(uint64_t sequence, const gar_device_store& word, const gar_device_store* bell,
                      gar_device_failure* failure) {
  if (!state_->own(word) || (bell && !state_->own(*bell))) {
    return device_failed(failure, VK_ERROR_INVALID_EXTERNAL_HANDLE, "vkCmdUpdateBuffer");
  }
  VkCommandBuffer command = VK_NULL_HANDLE;
  if (vulkan_status begun = state_->begin(command); !begun) return failed(failure, begun);
  const vulkan_device_calls& calls = state_->device->calls();
  barrier(calls, command, vulkan_order::all_to_transfer);
  store(calls, command, word);
  if (bell) {
    barrier(calls, command, vulkan_order::transfer_to_transfer);
    store(calls, command, *bell);
  }
  barrier(calls, command, vulkan_order::transfer_to_host);
  const vulkan_status submitted = state_->submit(sequence, command);
  return submitted ? 0 : failed(failure, submitted);
}

vulkan_status vulkan_queue::state::begin(VkCommandBuffer& command) {
  std::lock_guard hold(records);
  if (vulkan_status confirmed_now = confirm(); !confirmed_now) return confirmed_now;
  if (unconfirmed.size() >= vulkan_records_max) {
    return {VK_NOT_READY, "vkGetSemaphoreCounterValue"};
  }
  return commands.take(command);
}

// A driver may take its time to submit, so others may ask meanwhile: the record is entered before,
// and taken out again if it was refused.
vulkan_status vulkan_queue::state::submit(uint64_t sequence, VkCommandBuffer command) {
  uint64_t value = 0;
  {
    std::lock_guard hold(records);
    value = commands.promise(command);
    unconfirmed.emplace_back(sequence, value);
  }
  if (lock) lock(lock_context);
  device->submitting().lock();
  const vulkan_status submitted = commands.submit(queue, command, value);
  device->submitting().unlock();
  if (unlock) unlock(lock_context);
  if (submitted) return submitted;
  std::lock_guard hold(records);
  commands.retract();
  if (!unconfirmed.empty() && unconfirmed.back().second == value) unconfirmed.pop_back();
  return submitted;
}

// ---- Asking.

bool vulkan_queue::state::confirmed_to(uint64_t sequence) const {
  return any_confirmed.load(std::memory_order_acquire) &&
         reached(confirmed.load(std::memory_order_acquire), sequence);
}

// Takes in what the device has done since; `records` is held.
vulkan_status vulkan_queue::state::confirm() {
  uint64_t value = 0;
  vulkan_status status = commands.reached_value(value);
  if (!status) return status;
  commands.recycle(value);
  while (!unconfirmed.empty() && unconfirmed.front().second <= value) {
    confirmed.store(unconfirmed.front().first, std::memory_order_release);
    any_confirmed.store(true, std::memory_order_release);
    unconfirmed.pop_front();
  }
  return status;
}

int vulkan_queue::query(uint64_t sequence, gar_device_failure* failure) {
  if (state_->confirmed_to(sequence)) return GAR_DONE;
  std::lock_guard hold(state_->records);
  if (vulkan_status status = state_->confirm(); !status) return failed(failure, status);
  return state_->confirmed_to(sequence) ? GAR_DONE : GAR_PENDING;
}

// The timeline value at which `sequence` is done; none where no record covers it.
std::optional<uint64_t> vulkan_queue::state::value_of(uint64_t sequence) {
  std::lock_guard hold(records);
  for (const auto& [recorded, value] : unconfirmed) {
    if (reached(recorded, sequence)) return value;
  }
  return std::nullopt;
}

int vulkan_queue::block(uint64_t sequence, uint64_t timeout_ns, gar_device_failure* failure) {
  if (int answer = query(sequence, failure); answer != GAR_PENDING) return answer;
  const std::optional<uint64_t> value = state_->value_of(sequence);
  // It was confirmed between the two looks, or nothing will ever signal it.
  if (!value) {
    if (state_->confirmed_to(sequence)) return GAR_DONE;
    return device_failed(failure, VK_NOT_READY, "vkWaitSemaphores");
  }
  const vulkan_status waited = state_->commands.wait(*value, timeout_ns);
  if (waited.result == VK_TIMEOUT) return GAR_PENDING;
  return waited ? query(sequence, failure) : failed(failure, waited);
}

int vulkan_queue::poll(uint64_t sequence, uint64_t timeout_ns, gar_device_failure* failure) {
  const steady::time_point start = steady::now();
  for (;;) {
    const int answer = query(sequence, failure);
    if (answer != GAR_PENDING) return answer;
    const auto passed =
        static_cast<uint64_t>((steady::now() - start) / std::chrono::nanoseconds(1));
    if (passed >= timeout_ns) return GAR_PENDING;
  }
}

int vulkan_queue::settle(gar_device_failure* failure) {
  uint64_t last = 0;
  {
    std::lock_guard hold(state_->records);
    last = state_->commands.promised_value();
  }
  const vulkan_status waited = state_->commands.wait(last, UINT64_MAX);
  return waited ? 0 : failed(failure, waited);
}

bool vulkan_is_built() {
  return true;
}

result<std::string> usable_vulkan_device() {
  result<vulkan_instance> instance = vulkan_instance::create();
  if (!instance) return instance.error();
  result<vulkan_physical> best = instance->best();
  if (!best) return best.error();
  return best->name;
}

const gar_device_ops* vulkan_ops() {
  static constexpr auto queue = [](void* stream) { return static_cast<vulkan_queue*>(stream); };
  static const gar_device_ops ops{
      .struct_bytes = sizeof(gar_device_ops),
      .name = "vulkan",
      .map = [](void* device, void* host, size_t bytes, void** mapping,
                gar_device_failure* failure) -> int {
        auto page = static_cast<vulkan_device*>(device)->import(host, bytes, failure);
        if (!page) return GAR_FAILED;
        *mapping = page.release();
        return 0;
      },
      .unmap = [](void*, void* mapping) -> int {
        vulkan_device::release(std::unique_ptr<vulkan_page>(static_cast<vulkan_page*>(mapping)));
        return 0;
      },
      .arm = [](void* stream, uint64_t sequence, const gar_device_store* word,
                const gar_device_store* bell, gar_device_failure* failure) -> int {
        return queue(stream)->arm(sequence, *word, bell, failure);
      },
      .query = [](void* stream, uint64_t sequence, gar_device_failure* failure) -> int {
        return queue(stream)->query(sequence, failure);
      },
      .block = [](void* stream, uint64_t sequence, uint64_t timeout_ns, gar_device_failure* failure)
          -> int { return queue(stream)->block(sequence, timeout_ns, failure); },
      .poll = [](void* stream, uint64_t sequence, uint64_t timeout_ns, gar_device_failure* failure)
          -> int { return queue(stream)->poll(sequence, timeout_ns, failure); },
      .park = nullptr,  // its words are plain host memory: the library parks on them best
      .idle = nullptr,
      .settle = [](void* stream, gar_device_failure* failure) -> int {
        return queue(stream)->settle(failure);
      },
  };
  return &ops;
}

}  // namespace gar
