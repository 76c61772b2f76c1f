// A ring in plain memory, and its client's side of it: one that can break every rule.
#pragma once

#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string_view>

#include "proto/ring.hpp"

namespace gar::test {

class raw_ring {
 public:
  explicit raw_ring(uint32_t entries)
      : entries_(entries), lines_(new line[proto::ring_bytes(entries) / sizeof(line) + 1]()) {}

  std::byte* data() const { return reinterpret_cast<std::byte*>(lines_.get()); }
  size_t bytes() const { return proto::ring_bytes(entries_); }
  uint32_t entries() const { return entries_; }
  proto::ring_header& header() const { return *reinterpret_cast<proto::ring_header*>(data()); }
  proto::ring_slot& slot(uint32_t i) const {
    auto* slots = reinterpret_cast<proto::ring_slot*>(data() + proto::ring_slots_offset(entries_));
    return slots[i];
  }
  proto::ring_outcome& outcome(uint64_t i) const {
    auto* table = reinterpret_cast<proto::ring_outcome*>(data() + proto::ring_outcomes_offset);
    return table[i % proto::ring_outcomes];
  }

  void submit(uint16_t slot, uint16_t op) {
    auto* table = reinterpret_cast<proto::submission*>(data() + proto::ring_submit_offset);
    table[tail_ & (entries_ - 1)] = {slot, op};
    set_tail(tail_ + 1);
  }
  void set_tail(uint64_t tail) {
    tail_ = tail;
    std::atomic_ref<uint64_t>(header().submit_tail).store(tail, std::memory_order_release);
  }
  void submit_point(uint16_t slot, uint32_t number, std::string_view name) {
    this->slot(slot).request = {};
    this->slot(slot).request.point = number;
    std::memset(this->slot(slot).point_name, 0, sizeof(this->slot(slot).point_name));
    std::memcpy(this->slot(slot).point_name, name.data(), name.size());
    submit(slot, proto::submit_point);
  }
  void add_outcome(const proto::outcome_entry& e) {
    uint64_t& tail = header().outcome_tail;
    outcome(tail) = {e, 0};
    std::atomic_ref<uint64_t>(tail).store(tail + 1, std::memory_order_release);
  }

  // The slot of the next end that gard has published.
  std::optional<uint32_t> next_end() {
    const std::atomic_ref<uint64_t> tail(header().complete_tail);
    if (tail.load(std::memory_order_acquire) == head_) return std::nullopt;
    const auto* table =
        reinterpret_cast<const uint32_t*>(data() + proto::ring_complete_offset(entries_));
    return table[head_++ & (entries_ - 1)];
  }

 private:
  struct alignas(64) line {
    std::byte bytes[64];
  };
  uint32_t entries_;
  uint64_t tail_ = 0;
  uint64_t head_ = 0;
  std::unique_ptr<line[]> lines_;
};

}  // namespace gar::test
