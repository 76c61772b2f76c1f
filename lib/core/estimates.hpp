// Estimates: the estimators of many readback points, in a table that cannot grow.
//
// A peer chooses how many points it waits at, so the memory for them must have a maximum: when the
// table is full the point that was used least recently is forgotten, and its next wait is cold.
//
//     key -> estimator; a point is used by sleep_for and by record
//     order of use: newest <-> ... <-> oldest (the next one to be forgotten)
//
// Invariants: at most `points_max` points; nothing is allocated after construction.
// Threads: one at a time. Blocking: never. Cost: constant for each call, but erase_if and for_each.
// The key is the caller's: a number made of its own ids, never a peer's bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/core/estimator.hpp"
#include "lib/core/plan.hpp"
#include "lib/core/sleep_lateness.hpp"
#include "lib/core/time.hpp"

namespace gar {

class estimates {
 public:
  // 1 point at least.
  explicit estimates(size_t points_max);

  // How long a wait at this point sleeps under this plan: 0 for an unknown point and for a plan
  // without prediction. No margin is less than the floor of `sleeps`, where there is one.
  duration sleep_for(uint64_t key, const plan& how, sleep_lateness* sleeps = nullptr);
  // Does nothing for sample::none(). A plan without prediction records too: a later one that
  // predicts then starts warm.
  void record(uint64_t key, const sample& s, const plan& how);
  // false: no such point.
  bool erase(uint64_t key);

  // nullptr where unknown. Not a use. Valid until the next record or erase.
  const estimator* find(uint64_t key) const;
  size_t size() const { return size_; }
  uint64_t forgotten() const { return forgotten_; }  // points that made room for another

  // `see(key, const estimator&)`, the most recently used first.
  template <class See>
  void for_each(See&& see) const {
    for (uint32_t at = newest_; at != none; at = entry_[at].older)
      see(entry_[at].key, entry_[at].of);
  }
  // Erases each point whose key `drop(key)` names: those of a client that left.
  template <class Drop>
  size_t erase_if(Drop&& drop) {
    size_t erased = 0;
    for (uint32_t at = newest_; at != none;) {
      const uint32_t older = entry_[at].older;
      if (drop(entry_[at].key)) {
        remove(at);
        ++erased;
      }
      at = older;
    }
    return erased;
  }

 private:
  static constexpr uint32_t none = UINT32_MAX;
  struct entry {
    uint64_t key = 0;
    estimator of;
    uint32_t newer = none;
    uint32_t older = none;
    uint32_t next_in_bucket = none;  // and the list of free entries
  };

  uint32_t& bucket_of(uint64_t key);
  uint32_t index_of(uint64_t key) const;
  uint32_t insert(uint64_t key);
  uint32_t take_free();
  void remove(uint32_t at);
  void link_newest(uint32_t at);
  void unlink(uint32_t at);
  void use(uint32_t at);

  size_t points_max_;
  std::vector<entry> entry_;      // reserved whole, used from the front
  std::vector<uint32_t> bucket_;  // a power of two, at least twice points_max
  uint32_t newest_ = none;
  uint32_t oldest_ = none;
  uint32_t free_ = none;
  size_t size_ = 0;
  uint64_t forgotten_ = 0;
};

}  // namespace gar
