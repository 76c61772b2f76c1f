#include "clients/garclient/device_mapping.hpp"

#include <algorithm>

#include "clients/garclient/kept.hpp"

namespace gar::owner {

result<device_mappings::share> device_mappings::get(const device_stream& device,
                                                    std::shared_ptr<const void> memory, void* host,
                                                    size_t bytes) {
  std::lock_guard lock(mutex_);
  for (entry& e : entries_) {
    if (e.device == device.device() && e.ops->map == device.ops()->map && e.page.host == host) {
      ++e.shares;
      return share(shared_from_this(), &e);
    }
  }
  // Its place is had before the device knows of the page: what it mapped must not be forgotten.
  std::list<entry> fresh;
  fresh.push_back({device.ops(), device.device(), std::move(memory), {host, bytes, nullptr}, 1});
  gar_device_failure failure{};
  void*& mapping = fresh.front().page.mapping;
  if (device.ops()->map(device.device(), host, bytes, &mapping, &failure) != 0) {
    return backend_error(failure);
  }
  entries_.splice(entries_.end(), fresh);
  return share(shared_from_this(), &entries_.back());
}

const gar_mapped_page& device_mappings::share::page() const {
  return entry_->page;
}

void device_mappings::share::release() {
  if (!entry_) return;
  std::shared_ptr<const void> memory;  // freed after the lock
  std::lock_guard lock(table_->mutex_);
  if (--entry_->shares == 0) {
    memory = std::move(entry_->memory);
    if (entry_->ops->unmap(entry_->device, entry_->page.mapping) != 0) {
      table_->kept_.fetch_add(1, std::memory_order_relaxed);
      keep_for_ever(std::move(memory));
    }
    table_->entries_.remove_if([this](const entry& e) { return &e == entry_; });
  }
  entry_ = nullptr;
}

void device_mappings::share::leak() {
  if (!entry_) return;
  std::lock_guard lock(table_->mutex_);
  // The share of nobody keeps it, and the table that holds it.
  ++entry_->shares;
  keep_for_ever(table_);
}

}  // namespace gar::owner
