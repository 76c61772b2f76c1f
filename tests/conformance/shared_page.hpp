// A page of completion words as both sides hold it, and as a device was told of it.
//
// Made and mapped read-only as gard does, mapped writable as a client does, so that what a test
// reads went through a second mapping of the same memory. Ownership: the device outlives it.
// Errors: `mapped()` is false and `failure()` says why.
#pragma once

#include <fcntl.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "lib/linux/lines_page.hpp"
#include "lib/port/gar_device.h"
#include "proto/line.hpp"

namespace gar {

class shared_page {
 public:
  shared_page(const gar_device_ops& ops, void* device) : ops_(ops), device_(device) {
    result<lines_page> made = lines_page::make();
    if (!made) return;
    reader_ = std::move(*made);
    result<lines_page> received =
        lines_page::receive(unique_fd(fcntl(reader_->fd(), F_DUPFD_CLOEXEC, 0)), reader_->bytes());
    if (!received) return;
    writer_ = std::move(*received);
    page_ = {writer_->data(), writer_->bytes(), nullptr};
    mapped_ = ops_.map(device_, page_.host, page_.bytes, &page_.mapping, &failure_) == 0;
  }
  ~shared_page() { unmap(); }
  shared_page(const shared_page&) = delete;
  shared_page& operator=(const shared_page&) = delete;

  void unmap() {
    if (mapped_) ops_.unmap(device_, page_.mapping);
    mapped_ = false;
  }
  bool mapped() const { return mapped_; }
  const gar_device_failure& failure() const { return failure_; }

  gar_device_store store(size_t word_index, uint64_t value) const {
    return {&page_, word_index * sizeof(uint64_t), value};
  }
  // Read through gard's mapping.
  uint64_t word(size_t word_index) const { return proto::load_word(reader_->word(word_index)); }
  void set(size_t word_index, uint64_t value) {
    proto::store_word(writer_->writable_word(word_index), value);
  }

 private:
  const gar_device_ops& ops_;
  void* device_;
  std::optional<lines_page> reader_, writer_;
  gar_mapped_page page_{};
  gar_device_failure failure_{};
  bool mapped_ = false;
};

}  // namespace gar
