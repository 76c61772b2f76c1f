// Request flags: which clients' rings are to be looked at, one byte each on the doorbell page.
//
// Thousands of rings, of which a few have news: a client sets the byte that its welcome named, gard
// takes it back and looks at that ring. Eight are read at a time.
//
//   unwatched -> watched: clear <-> set (by anybody on the machine) -> unwatched
//
// The page is trusted for nothing: a flag that is not watched is never looked at, and a forged one
// costs its ring one look.
//
// Memory order: `take` exchanges, a full fence, before the ring is read; pairs with the client's
// release store of the flag.
// Threads: the reactor's. Blocking: no. Allocation: no. Ownership: the doorbell outlives this.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "lib/core/error.hpp"
#include "lib/linux/doorbell.hpp"

namespace gar {

class request_flags {
 public:
  explicit request_flags(const doorbell& bell) : flags_(bell.request_flags()) {}

  void watch(size_t flag) {
    GAR_ASSERT(flag < proto::request_flags_max);
    set_mask(flag, 0xff);
    words_ = std::max(words_, flag / flags_per_word + 1);
  }
  void unwatch(size_t flag) {
    set_mask(flag, 0);
    while (words_ > 0 && mask_[words_ - 1] == 0) --words_;
  }

  bool watched(size_t flag) const {
    return reinterpret_cast<const uint8_t*>(mask_.data())[flag] != 0;
  }

  bool any() const {
    for (size_t i = 0; i < words_; ++i) {
      if (set_in(i) != 0) return true;
    }
    return false;
  }

  // Calls see(flag) for each that is watched and set, after it is clear again.
  template <class See>
  void take(See&& see) {
    for (size_t i = 0; i < words_; ++i) {
      uint64_t set = set_in(i);
      for (size_t in_word = 0; set != 0; ++in_word, set >>= 8) {
        if ((set & 0xff) == 0) continue;
        const size_t flag = i * flags_per_word + in_word;
        std::atomic_ref<uint8_t>(flags_[flag]).exchange(0, std::memory_order_seq_cst);
        see(flag);
      }
    }
  }

 private:
  static constexpr size_t flags_per_word = sizeof(uint64_t);
  static_assert(proto::request_flags_max % flags_per_word == 0);

  uint64_t set_in(size_t word) const {
    auto& flags = *reinterpret_cast<uint64_t*>(flags_ + word * flags_per_word);
    return std::atomic_ref<uint64_t>(flags).load(std::memory_order_acquire) & mask_[word];
  }
  void set_mask(size_t flag, uint8_t to) {
    auto* bytes = reinterpret_cast<uint8_t*>(mask_.data());
    bytes[flag] = to;
  }

  uint8_t* flags_;
  std::array<uint64_t, proto::request_flags_max / flags_per_word> mask_{};
  size_t words_ = 0;  // up to the last that is watched
};

}  // namespace gar
