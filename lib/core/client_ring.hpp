// Client ring: gard's view of one client's ring, whose memory the client writes at any time.
//
// proto/ring.hpp has the layout and the order of stores. Here is the one place that reads it:
// every field is copied once into private memory and checked there, and what is in flight is kept
// here and never read back. A client that scribbles over its ring harms itself.
//
//   take:  begin() says how many requests wait -> next() ... next() -> end_of_take()
//   give:  complete() ... complete() -> publish() -> [a full fence, by the caller] -> take_wants()
//
// Invariants: at most `entries` requests are taken at one begin(); a slot's completion is written
// only by complete(); nothing that the client writes moves an access out of the ring.
// Memory order: begin() reads the tail with acquire, publish() writes it with release. Both pair
// with the client's.
// Threads: one, the reactor's. Blocking, allocation: no. Ownership: the memory outlives this.
// Errors: MalformedMessage, which ends the session.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "lib/core/error.hpp"
#include "proto/ring.hpp"

namespace gar {

class client_ring {
 public:
  client_ring() = default;
  // `memory`: ring_bytes(entries) bytes, 64-aligned.
  client_ring(std::byte* memory, uint32_t entries) : memory_(memory), entries_(entries) {
    GAR_ASSERT(proto::valid_ring_entries(entries));
  }

  uint32_t entries() const { return entries_; }

  // ---- requests

  // How many are there to take now.
  result<uint32_t> begin() {
    const uint64_t tail = word(header().submit_tail).load(std::memory_order_acquire);
    if (tail - taken_ > entries_) return broken("submit_tail", tail, taken_);
    return static_cast<uint32_t>(tail - taken_);
  }
  // Something was asked that was not taken. May be wrong where the client breaks the protocol.
  bool has_requests() const {
    return word(header().submit_tail).load(std::memory_order_relaxed) != taken_ ||
           word(header().outcome_tail).load(std::memory_order_relaxed) != outcomes_taken_;
  }
  // The next of those; its slot is not checked.
  proto::submission next() {
    const size_t at = taken_++ & (entries_ - 1);
    return copy<proto::submission>(proto::ring_submit_offset + at * sizeof(proto::submission));
  }
  proto::ring_request request(uint16_t slot) const {
    return copy<proto::ring_request>(slot_offset(slot));
  }
  struct name_field {
    char text[proto::name_field_bytes];
  };
  name_field point_name(uint16_t slot) const {
    return copy<name_field>(slot_offset(slot) + offsetof(proto::ring_slot, point_name));
  }
  void end_of_take() {
    word(header().submit_head).store(taken_, std::memory_order_release);
    word(header().outcome_head).store(outcomes_taken_, std::memory_order_release);
  }

  // ---- outcomes

  result<uint32_t> begin_outcomes() {
    const uint64_t tail = word(header().outcome_tail).load(std::memory_order_acquire);
    if (tail - outcomes_taken_ > proto::ring_outcomes) {
      return broken("outcome_tail", tail, outcomes_taken_);
    }
    return static_cast<uint32_t>(tail - outcomes_taken_);
  }
  proto::ring_outcome next_outcome() {
    const size_t at = outcomes_taken_++ % proto::ring_outcomes;
    return copy<proto::ring_outcome>(proto::ring_outcomes_offset +
                                     at * sizeof(proto::ring_outcome));
  }

  // ---- ends

  // `slot` is in flight, and is the client's again once this is published.
  void complete(uint16_t slot, const proto::ring_completion& how) {
    const size_t at = slot_offset(slot) + offsetof(proto::ring_slot, completion);
    const bool has_call = how.call[0] != '\0';
    std::memcpy(memory_ + at, &how,
                has_call ? sizeof(how) : offsetof(proto::ring_completion, call));
    const uint32_t index = slot;
    std::memcpy(
        memory_ + proto::ring_complete_offset(entries_) + (ended_ & (entries_ - 1)) * sizeof(index),
        &index, sizeof(index));
    ++ended_;
  }
  void publish() { word(header().complete_tail).store(ended_, std::memory_order_release); }
  // After a full fence: how the client wants to be woken, once; 0: not at all.
  uint32_t take_wants() {
    const std::atomic_ref<uint32_t> wants(header().wants);
    if (wants.load(std::memory_order_relaxed) == 0) return 0;
    return wants.exchange(0, std::memory_order_acq_rel);
  }
  // The futex word that the client blocks on, changed.
  const uint32_t& raise_signal() {
    uint32_t& signal = header().signal;
    std::atomic_ref<uint32_t>(signal).store(++signalled_, std::memory_order_release);
    return signal;
  }

 private:
  proto::ring_header& header() const { return *reinterpret_cast<proto::ring_header*>(memory_); }
  static std::atomic_ref<uint64_t> word(uint64_t& w) { return std::atomic_ref<uint64_t>(w); }
  size_t slot_offset(uint16_t slot) const {
    GAR_ASSERT(slot < entries_);
    return proto::ring_slots_offset(entries_) + slot * sizeof(proto::ring_slot);
  }

  // Each word once, whoever writes there meanwhile.
  template <class T>
  T copy(size_t offset_bytes) const {
    using unit = std::conditional_t<sizeof(T) % sizeof(uint64_t) == 0, uint64_t, uint32_t>;
    static_assert(sizeof(T) % sizeof(unit) == 0 && std::is_trivially_copyable_v<T>);
    unit words[sizeof(T) / sizeof(unit)];
    auto* from = reinterpret_cast<unit*>(memory_ + offset_bytes);
    for (size_t i = 0; i < std::size(words); ++i) {
      words[i] = std::atomic_ref<unit>(from[i]).load(std::memory_order_relaxed);
    }
    T value;
    std::memcpy(&value, words, sizeof(value));
    return value;
  }

  static error broken(const char* tail, uint64_t says, uint64_t taken) {
    return error(errc::MalformedMessage,
                 {std::string("ring: ") + tail + " is " + std::to_string(says) + ", taken are " +
                  std::to_string(taken)});
  }

  std::byte* memory_ = nullptr;
  uint32_t entries_ = 0;
  uint32_t signalled_ = 0;
  uint64_t taken_ = 0;
  uint64_t outcomes_taken_ = 0;
  uint64_t ended_ = 0;
};

}  // namespace gar
