// The pages that one stream's stores go to and are not known to have landed in.
//
// A page may be unmapped only when no store into it is pending. Stores of a stream land in order,
// each before the event of the next record is done, so what the events say proves them; a page
// whose count is 0 can be let go without a synchronize, which would wait for everybody's work.
//
//   aim (a store goes there) -> unproven -> prove_before a later number, or prove_all
//
// Invariants: a page is counted once for each stream with stores into it. Threads: one at a time;
// the counts are read by any. Ownership: a count outlives its page. Errors: none.
// Does not: look at a word. A store that never lands stays unproven until a later event is done.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "lib/core/descriptor.hpp"

namespace gar {

// Of a page: how many streams have stores into it that are not known to have landed.
using unproven_count = std::shared_ptr<std::atomic<uint32_t>>;

class unproven_stores {
 public:
  // The store of `sequence` goes to that page.
  void aim(const unproven_count& page, uint64_t sequence) {
    for (target& known : targets_) {
      if (known.page != page) continue;
      known.last = sequence;
      return;
    }
    page->fetch_add(1);
    targets_.push_back({page, sequence});
  }

  // The event of `sequence` is done: the stores of every earlier number have landed.
  void prove_before(uint64_t sequence) {
    std::erase_if(targets_, [sequence](const target& known) {
      if (known.last == sequence || !reached(sequence, known.last)) return false;
      known.page->fetch_sub(1);
      return true;
    });
  }

  // Something behind the last store is done.
  void prove_all() {
    for (const target& known : targets_) known.page->fetch_sub(1);
    targets_.clear();
  }

 private:
  struct target {
    unproven_count page;
    uint64_t last;
  };

  std::vector<target> targets_;
};

}  // namespace gar
