#include "clients/garclient/async_wait.hpp"

#include <algorithm>

namespace gar::owner {

using phase = async_wait::phase;

namespace {

constexpr size_t room_least = 16;

}  // namespace

async_wait& async_waits::add(const wait_order& order, uint64_t ticket, void* user_data) {
  std::lock_guard lock(lock_);
  if (free_.empty()) {
    if (all_.size() == all_.capacity()) {
      // Removing must never allocate.
      const size_t room = std::max(room_least, all_.size() * 2);
      free_.reserve(room);
      active_.reserve(room);
      all_.reserve(room);
    }
    all_.push_back(std::make_unique<async_wait>());
    free_.push_back(all_.back().get());
  }
  async_wait& w = *free_.back();
  w.order = order;
  w.ticket = ticket;
  w.user_data = user_data;
  w.picks = {};
  w.root = nullptr;
  w.cancelled = {};
  w.until = instant::never();
  w.now = phase::stepping;
  w.index = active_.size();
  free_.pop_back();
  active_.push_back(&w);
  return w;
}

void async_waits::remove(async_wait& w) {
  w.at_gard.reset();
  std::shared_ptr<stream> of;  // let go of without the lock
  std::lock_guard lock(lock_);
  of.swap(w.order.of);
  active_.back()->index = w.index;
  std::swap(active_[w.index], active_.back());
  active_.pop_back();
  w.now = phase::free;
  free_.push_back(&w);
  if (watchers_ > 0) gone_.notify_all();
}

bool async_waits::begin_step(async_wait& w) {
  std::lock_guard lock(lock_);
  if (w.now == phase::stepping) w.now = phase::stepping_again;
  if (w.now != phase::resting) return false;
  w.now = phase::stepping;
  return true;
}

bool async_waits::rest(async_wait& w, instant until) {
  std::lock_guard lock(lock_);
  if (w.now == phase::stepping_again) {
    w.now = phase::stepping;
    return false;
  }
  w.now = phase::resting;
  w.until = until;
  earliest_ = std::min(earliest_, until);
  return true;
}

void async_waits::become_task(async_wait& w) {
  std::lock_guard lock(lock_);
  w.now = phase::task;
}

errc async_waits::cancelled(const async_wait& w) const {
  std::lock_guard lock(lock_);
  return w.cancelled;
}

async_waits::found async_waits::cancel(uint64_t ticket, errc why) {
  std::lock_guard lock(lock_);
  for (async_wait* w : active_) {
    if (w->ticket != ticket) continue;
    return cancel(*w, why);
  }
  return {};
}

async_waits::found async_waits::cancel_next_of(const stream* s, errc why) {
  std::lock_guard lock(lock_);
  for (async_wait* w : active_) {
    if (w->cancelled == why || (s && w->order.of.get() != s)) continue;
    return cancel(*w, why);
  }
  return {};
}

async_waits::found async_waits::cancel(async_wait& w, errc why) {
  w.cancelled = why;
  const bool is_task = w.now == phase::task;
  if (is_task) w.until = earliest_ = instant{};
  return {&w, is_task};
}

reactor::root* async_waits::cancelled_task(const async_wait& w) const {
  std::lock_guard lock(lock_);
  return w.now == phase::task && w.cancelled != errc{} ? w.root : nullptr;
}

bool async_waits::any_of(const stream* s) const {
  return std::any_of(active_.begin(), active_.end(),
                     [s](const async_wait* w) { return !s || w->order.of.get() == s; });
}

void async_waits::await_none_of(const stream* s) {
  std::unique_lock lock(lock_);
  ++watchers_;
  gone_.wait(lock, [&] { return !any_of(s); });
  --watchers_;
}

instant async_waits::earliest() const {
  std::lock_guard lock(lock_);
  return earliest_;
}

void async_waits::make_due() {
  std::lock_guard lock(lock_);
  for (async_wait* w : active_) {
    w->until = instant{};
    // Its stepper may have looked before gard was gone, and sets `until` anew when it lets it rest.
    if (w->now == phase::stepping) w->now = phase::stepping_again;
  }
  earliest_ = instant{};
}

size_t async_waits::take_due(instant now, std::span<async_wait*> into) {
  std::lock_guard lock(lock_);
  if (earliest_ > now) return 0;
  size_t count = 0;
  instant left = instant::never();
  for (async_wait* w : active_) {
    if (w->until <= now && count < into.size()) {
      w->until = instant::never();
      into[count++] = w;
    }
    left = std::min(left, w->until);
  }
  earliest_ = left;
  return count;
}

}  // namespace gar::owner
