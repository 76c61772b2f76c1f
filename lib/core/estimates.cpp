#include "lib/core/estimates.hpp"

#include <bit>
#include <utility>

#include "lib/core/error.hpp"

namespace gar {
namespace {

constexpr uint8_t window_max = 16;

// Neighbouring ids must not share buckets by pattern (the finish of splitmix64).
uint64_t mixed(uint64_t key) {
  key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9;
  key = (key ^ (key >> 27)) * 0x94d049bb133111eb;
  return key ^ (key >> 31);
}

}  // namespace

estimates::estimates(size_t points_max)
    : points_max_(points_max), bucket_(std::bit_ceil(points_max * 2), none) {
  GAR_ASSERT(points_max > 0 && points_max < none);
  entry_.reserve(points_max);
}

duration estimates::sleep_for(uint64_t key, const plan& how, sleep_lateness* sleeps) {
  const uint32_t at = index_of(key);
  if (at == none) return {};
  use(at);
  if (!how.predict) return {};
  const estimator& of = entry_[at].of;
  return sleeps ? sleeps->sleep_for(of, *how.predict) : of.sleep_for(*how.predict);
}

void estimates::record(uint64_t key, const sample& s, const plan& how) {
  if (s.what == sample::kind::none) return;
  uint32_t at = index_of(key);
  if (at == none) {
    at = insert(key);
  } else {
    use(at);
  }
  entry_[at].of.record(s, how.predict ? how.predict->window : window_max);
}

bool estimates::erase(uint64_t key) {
  const uint32_t at = index_of(key);
  if (at == none) return false;
  remove(at);
  return true;
}

const estimator* estimates::find(uint64_t key) const {
  const uint32_t at = index_of(key);
  return at == none ? nullptr : &entry_[at].of;
}

uint32_t& estimates::bucket_of(uint64_t key) {
  return bucket_[mixed(key) & (bucket_.size() - 1)];
}

uint32_t estimates::index_of(uint64_t key) const {
  uint32_t at = bucket_[mixed(key) & (bucket_.size() - 1)];
  while (at != none && entry_[at].key != key) at = entry_[at].next_in_bucket;
  return at;
}

uint32_t estimates::insert(uint64_t key) {
  if (size_ == points_max_) {
    remove(oldest_);
    ++forgotten_;
  }
  const uint32_t at = take_free();
  entry_[at] = {};
  entry_[at].key = key;
  uint32_t& bucket = bucket_of(key);
  entry_[at].next_in_bucket = std::exchange(bucket, at);
  link_newest(at);
  ++size_;
  return at;
}

uint32_t estimates::take_free() {
  if (free_ != none) return std::exchange(free_, entry_[free_].next_in_bucket);
  entry_.emplace_back();
  return static_cast<uint32_t>(entry_.size() - 1);
}

void estimates::remove(uint32_t at) {
  uint32_t* link = &bucket_of(entry_[at].key);
  while (*link != at) link = &entry_[*link].next_in_bucket;
  *link = entry_[at].next_in_bucket;
  unlink(at);
  entry_[at].next_in_bucket = std::exchange(free_, at);
  --size_;
}

void estimates::link_newest(uint32_t at) {
  entry_[at].newer = none;
  entry_[at].older = newest_;
  (newest_ == none ? oldest_ : entry_[newest_].newer) = at;
  newest_ = at;
}

void estimates::unlink(uint32_t at) {
  const uint32_t newer = entry_[at].newer;
  const uint32_t older = entry_[at].older;
  (newer == none ? newest_ : entry_[newer].older) = older;
  (older == none ? oldest_ : entry_[older].newer) = newer;
}

void estimates::use(uint32_t at) {
  if (at == newest_) return;
  unlink(at);
  link_newest(at);
}

}  // namespace gar
