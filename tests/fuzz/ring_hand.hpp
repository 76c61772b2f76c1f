// A client's hand on its ring: it asks as PROTOCOL.md says, or scribbles over any word.
//
//   clean (each slot asked for ends once, for a cause) -- scribble --> soiled (nothing is known)
//
// Threads: one. Ownership: the ring's memory outlives it.
#pragma once

#include <array>
#include <cstring>
#include <map>
#include <string_view>

#include "lib/core/codec.hpp"
#include "tests/fuzz/live_core.hpp"

namespace gar::fuzz {

class ring_hand {
 public:
  explicit ring_hand(std::byte* ring) : ring_(ring) {}

  bool in_flight(uint16_t slot) const { return waits_.contains(slot) || points_.contains(slot); }

  // `expected`: whose end may be for which causes.
  void ask(uint16_t slot, const proto::wait& w, const wait_start& expected) {
    proto::ring_request& r = slot_at(slot).request;
    r = {w.target,          w.age_ns, w.timeout_ns,
         w.plan_generation, w.stream, w.stream_generation,
         w.point_number,    w.rows,   {}};
    waits_[slot] = {expected, false};
    submit(slot, proto::submit_wait);
  }
  void name_point(uint16_t slot, uint32_t number, std::string_view name) {
    slot_at(slot).request = {};
    slot_at(slot).request.point = number;
    std::memset(slot_at(slot).point_name, 0, sizeof(slot_at(slot).point_name));
    std::memcpy(slot_at(slot).point_name, name.data(), name.size());
    points_.insert(slot);
    submit(slot, proto::submit_point);
  }
  void cancel(uint16_t slot) {
    if (const auto at = waits_.find(slot); at != waits_.end()) at->second.cancelled = true;
    submit(slot, proto::submit_cancel);
  }
  void add_outcome(const proto::outcome_entry& e) {
    auto* table = reinterpret_cast<proto::ring_outcome*>(ring_ + proto::ring_outcomes_offset);
    table[header().outcome_tail % proto::ring_outcomes] = {e, 0};
    ++header().outcome_tail;
  }
  // Any 8 bytes of it.
  void scribble(size_t at, uint64_t what) {
    constexpr size_t words = proto::ring_bytes(shared_memory::ring_entries) / sizeof(what);
    std::memcpy(ring_ + at % words * sizeof(what), &what, sizeof(what));
    soiled_ = true;
  }

  // Calls check(expected, code, cancelled) for each wait of a clean ring that has ended.
  template <class Check>
  void check_ends(Check&& check) {
    if (soiled_) return;
    const auto* table = reinterpret_cast<const uint32_t*>(
        ring_ + proto::ring_complete_offset(shared_memory::ring_entries));
    must(header().complete_tail - head_ <= shared_memory::ring_entries);
    for (; head_ != header().complete_tail; ++head_) {
      const auto slot = static_cast<uint16_t>(table[head_ % shared_memory::ring_entries]);
      const proto::ring_completion& c = slot_at(slot).completion;
      if (points_.erase(slot) > 0) continue;
      const auto at = waits_.find(slot);
      must(at != waits_.end());
      if (!is_refusal(c.code)) check(at->second.expected, c.code, at->second.cancelled);
      waits_.erase(at);
    }
  }

 private:
  struct asked {
    wait_start expected;
    bool cancelled;
  };

  static bool is_refusal(uint16_t code) {
    const auto number = [](errc e) { return static_cast<uint16_t>(e); };
    return code != 0 && code != number(errc::TimedOut) && code != number(errc::Cancelled) &&
           code != number(errc::Backend);
  }
  proto::ring_header& header() const { return *reinterpret_cast<proto::ring_header*>(ring_); }
  proto::ring_slot& slot_at(uint16_t slot) const {
    auto* slots = reinterpret_cast<proto::ring_slot*>(
        ring_ + proto::ring_slots_offset(shared_memory::ring_entries));
    return slots[slot];
  }
  void submit(uint16_t slot, uint16_t op) {
    auto* table = reinterpret_cast<proto::submission*>(ring_ + proto::ring_submit_offset);
    table[header().submit_tail % shared_memory::ring_entries] = {slot, op};
    ++header().submit_tail;
  }

  std::byte* ring_;
  uint64_t head_ = 0;
  bool soiled_ = false;
  std::map<uint16_t, asked> waits_;
  std::set<uint16_t> points_;
};

}  // namespace gar::fuzz
