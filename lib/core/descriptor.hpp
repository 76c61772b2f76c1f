// Slot and memory descriptor: what it means that a wait is complete.
//
// A device stores rising numbers into a word; a waiter wants to know when the word has reached its
// own number. The comparison wraps, so a stream may run for ever, and a later store that lands
// before anyone looked still completes an earlier target.
//
// Threads: values; reading the word is an acquire load (pairs with the device's release store).
#pragma once

#include <cstdint>
#include <optional>

#include "proto/line.hpp"

namespace gar {

// An index 0..7 into a line, checked once when it is made.
class slot {
 public:
  static constexpr std::optional<slot> make(uint64_t index) {
    if (index >= proto::words_per_line) return std::nullopt;
    return slot(static_cast<uint8_t>(index));
  }
  constexpr uint8_t index() const { return index_; }
  constexpr bool operator==(const slot&) const = default;

 private:
  constexpr explicit slot(uint8_t index) : index_(index) {}
  uint8_t index_;
};

// Has `word` reached `target`? In wrapping order: true while target is at most 2^63 - 1 behind.
constexpr bool reached(uint64_t word, uint64_t target) {
  return static_cast<int64_t>(word - target) >= 0;
}

// (line, slot, target). Does not own the line; whoever registers it keeps the page mapped.
class memory_descriptor {
 public:
  memory_descriptor() = default;
  memory_descriptor(const proto::completion_line& line, slot at, uint64_t target)
      : word_(&line.word[at.index()]), target_(target) {}
  // For a word that does not lie in a line: a producer's own 8 bytes, or a test's.
  memory_descriptor(const uint64_t& word, uint64_t target) : word_(&word), target_(target) {}

  bool empty() const { return word_ == nullptr; }
  bool complete() const { return reached(proto::load_word(*word_), target_); }
  const uint64_t* word() const { return word_; }
  uint64_t target() const { return target_; }

 private:
  const uint64_t* word_ = nullptr;
  uint64_t target_ = 0;
};

}  // namespace gar
