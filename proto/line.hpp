// The completion line: the 64 bytes a device stores into and everybody else waits on.
//
// A stream stores a rising 64-bit number into one word of a line behind its work. Whoever waits
// compares the word with the number it wants. Eight words share a line so that one hardware
// monitor, whose granule is the line, watches eight streams.
//
//   offset  0      8      16                    56
//          +------+------+------+-- ... --+------+
//          | w[0] | w[1] | w[2] |         | w[7] |      little-endian u64 each
//          +------+------+------+-- ... --+------+
//   written by: the stream's device, or the owning process when it opens the slot
//   read by:    the owning process and gard
//
// Memory order: the device's store is release (its fence orders it behind the work); every read is
// an acquire (`load_word`), which pairs with it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gar::proto {

inline constexpr size_t line_bytes = 64;
inline constexpr size_t words_per_line = 8;

struct alignas(line_bytes) completion_line {
  uint64_t word[words_per_line];
};

static_assert(sizeof(completion_line) == line_bytes);
static_assert(alignof(completion_line) == line_bytes);
static_assert(std::is_standard_layout_v<completion_line>);
static_assert(std::is_trivially_copyable_v<completion_line>);
static_assert(offsetof(completion_line, word) == 0);
static_assert(offsetof(completion_line, word[1]) == 8);
static_assert(offsetof(completion_line, word[2]) == 16);
static_assert(offsetof(completion_line, word[3]) == 24);
static_assert(offsetof(completion_line, word[4]) == 32);
static_assert(offsetof(completion_line, word[5]) == 40);
static_assert(offsetof(completion_line, word[6]) == 48);
static_assert(offsetof(completion_line, word[7]) == 56);
static_assert(std::atomic_ref<uint64_t>::is_always_lock_free,
              "a word is read from a read-only mapping, which a locked read would write to");

// Acquire read of a shared word; pairs with the release store of whoever writes it. Works on a
// read-only mapping.
inline uint64_t load_word(const uint64_t& word) {
  return std::atomic_ref<uint64_t>(const_cast<uint64_t&>(word)).load(std::memory_order_acquire);
}

// Release store by a CPU; pairs with load_word.
inline void store_word(uint64_t& word, uint64_t value) {
  std::atomic_ref<uint64_t>(word).store(value, std::memory_order_release);
}

}  // namespace gar::proto
