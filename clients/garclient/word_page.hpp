// Word page: memory whose words streams store into, gard's or the library's own.
//
//   gard's   received with a welcome or later; gard says which word belongs to which stream
//   own      made here for streams that no gard knows; `own_pages` gives the words out
//
// Invariants: a leaked page stays mapped until the process ends, because a device may still store
// into it. The sequence of a word never restarts: a word is given out with its last value as base.
// Threads: own_pages by any; words through proto::load_word and store_word.
// Errors: SystemCall; MalformedMessage for a descriptor that is not what was promised; LimitStreams
// when every word of every page is taken.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "lib/core/error.hpp"
#include "lib/linux/lines_page.hpp"

namespace gar::owner {

class word_page {
 public:
  static result<std::shared_ptr<word_page>> make_own();
  static result<std::shared_ptr<word_page>> of_gard(unique_fd fd, size_t bytes);

  void* host() const { return host_; }
  size_t bytes() const { return bytes_; }
  size_t words() const { return bytes_ / sizeof(uint64_t); }
  uint64_t& word(size_t index) const { return static_cast<uint64_t*>(host_)[index]; }

  // Keeps the page until the process ends. true for the first who does.
  static bool leak(const std::shared_ptr<word_page>& page);

 private:
  word_page() = default;

  std::optional<lines_page> of_gard_;
  mapping own_;
  void* host_ = nullptr;
  size_t bytes_ = 0;
  std::atomic<bool> leaked_{false};
};

class own_pages {
 public:
  struct place {
    std::shared_ptr<word_page> page;
    size_t word_index = 0;
    uint64_t base = 0;  // the last value ever stored there
  };

  result<place> take();
  // `last` is the last number that was ever enqueued there, and it has landed.
  void give_back(const place& where, uint64_t last);

 private:
  struct entry {
    std::shared_ptr<word_page> page;
    std::vector<size_t> free;
    std::vector<uint64_t> base;
  };
  std::mutex mutex_;
  std::vector<entry> pages_;
};

}  // namespace gar::owner
