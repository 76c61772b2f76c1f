// Device mapping: a page that a device has been told of, once for all its streams.
//
// Registering host memory with a driver is slow and may be done once per page and device only. So
// the streams of one device share one mapping per page, and the last of them takes it back.
//
//   absent -> get (the device's `map`) -> shared -> last reference gone (`unmap`) -> absent
//                                                -> leak, or an `unmap` that failed -> mapped
//                                                   until the process ends
//
// Invariants: at most one mapping per (device, page) at any time; the memory stays while mapped.
// Threads: any; `map` and `unmap` of one table are never called at the same time.
// Blocking: as the device's map and unmap do.
// Errors: Backend, from the device's map.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

#include "clients/garclient/device_stream.hpp"
#include "lib/core/error.hpp"

namespace gar::owner {

class device_mappings : public std::enable_shared_from_this<device_mappings> {
  struct entry;

 public:
  // A share in one mapping.
  class share {
   public:
    share() = default;
    share(share&& other) noexcept
        : table_(std::move(other.table_)), entry_(std::exchange(other.entry_, nullptr)) {}
    share& operator=(share&& other) noexcept {
      if (this != &other) {
        release();
        table_ = std::move(other.table_);
        entry_ = std::exchange(other.entry_, nullptr);
      }
      return *this;
    }
    ~share() { release(); }

    explicit operator bool() const { return entry_ != nullptr; }
    const gar_mapped_page& page() const;
    // Never unmapped any more.
    void leak();

   private:
    friend class device_mappings;
    share(std::shared_ptr<device_mappings> table, entry* of)
        : table_(std::move(table)), entry_(of) {}
    void release();

    std::shared_ptr<device_mappings> table_;
    entry* entry_ = nullptr;
  };

  // `memory` owns the bytes at `host` and is kept as long as the mapping.
  result<share> get(const device_stream& device, std::shared_ptr<const void> memory, void* host,
                    size_t bytes);

  // Mappings that their device did not give back.
  uint64_t kept() const { return kept_.load(std::memory_order_relaxed); }

 private:
  struct entry {
    std::shared_ptr<const gar_device_ops> ops;
    void* device;
    std::shared_ptr<const void> memory;
    gar_mapped_page page;
    size_t shares;
  };

  std::atomic<uint64_t> kept_{0};
  std::mutex mutex_;
  std::list<entry> entries_;
};

}  // namespace gar::owner
