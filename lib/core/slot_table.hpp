// Slot table: which words of a client's pages its streams have.
//
//   never used -> open -> free (its last number kept) -> open ...
//
// A slot is used again only after its stream was closed, and then goes on from where it stopped:
// numbers of one word never restart, so a store of the old stream can never look like the new
// one's.
//
// Invariants: at most `pages` pages; a slot has one stream at most; the base given out is never
// before, in wrapping order, the slot's last number.
// Threads: one. Allocation: when a page is added or a word used for the first time: most clients
// use a few of a page's hundreds.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lib/core/descriptor.hpp"
#include "lib/core/error.hpp"
#include "proto/limits.hpp"

namespace gar {

// A word's place: page, and index into its words.
struct slot_place {
  uint16_t page = 0;
  uint16_t word = 0;

  uint16_t line() const { return static_cast<uint16_t>(word / proto::words_per_line); }
  uint16_t slot() const { return static_cast<uint16_t>(word % proto::words_per_line); }
};

class slot_table {
 public:
  // `words`: the page's first word; the page outlives the table.
  void add_page(const uint64_t* words, size_t count) {
    pages_.push_back({words, count, {}, count});
  }
  size_t pages() const { return pages_.size(); }
  const uint64_t& word(slot_place at) const { return pages_[at.page].words[at.word]; }

  struct taken {
    slot_place at;
    uint64_t base;
  };
  // Nothing when every slot of every page is open.
  std::optional<taken> take(uint64_t asked_base) {
    for (size_t p = 0; p < pages_.size(); ++p) {
      page_state& page = pages_[p];
      if (page.left == 0) continue;
      if (page.slots.size() < page.count) {
        page.slots.push_back({true, asked_base});
        --page.left;
        return taken{{static_cast<uint16_t>(p), static_cast<uint16_t>(page.slots.size() - 1)},
                     asked_base};
      }
      for (size_t w = page.search_from;; w = (w + 1) % page.slots.size()) {
        slot_state& s = page.slots[w];
        if (s.open) continue;
        page.search_from = (w + 1) % page.slots.size();
        --page.left;
        const uint64_t base = reached(s.last, asked_base) ? s.last : asked_base;
        s = {true, base};
        return taken{{static_cast<uint16_t>(p), static_cast<uint16_t>(w)}, base};
      }
    }
    return std::nullopt;
  }

  void free(slot_place at, uint64_t last) {
    page_state& page = pages_[at.page];
    slot_state& s = page.slots[at.word];
    GAR_ASSERT(s.open);
    s.open = false;
    if (reached(last, s.last)) s.last = last;
    ++page.left;
  }

 private:
  struct slot_state {
    bool open = false;
    uint64_t last = 0;
  };
  struct page_state {
    const uint64_t* words;
    size_t count;
    std::vector<slot_state> slots;  // as far as used
    size_t left;                    // slots not open
    size_t search_from = 0;         // the oldest closed slot comes last
  };
  std::vector<page_state> pages_;
};

}  // namespace gar
