#include "clients/garclient/ring_waits.hpp"

#include <algorithm>
#include <utility>

#include "lib/linux/futex.hpp"
#include "lib/linux/steady_clock.hpp"
#include "lib/linux/word_wait.hpp"

namespace gar::owner {
namespace {

// Then those who had news are stepped, without the lock.
constexpr size_t ends_per_hold = news_batch::waits_max;

}  // namespace

ring_waits::ring_waits(ring_client ring) : ring_(std::move(ring)), slots_(ring_.entries()) {
  free_.reserve(slots_.size());
  for (size_t i = slots_.size(); i > 0; --i) free_.push_back(static_cast<uint16_t>(i - 1));
}

// ---- Slots.

std::optional<uint16_t> ring_waits::free_slot() {
  if (broken() || free_.empty() || !ring_.room()) return std::nullopt;
  const uint16_t index = free_.back();
  free_.pop_back();
  return index;
}

void ring_waits::release(uint32_t index) {
  if (slots_[index].cancel_due) --cancels_due_;
  slots_[index] = {};
  free_.push_back(static_cast<uint16_t>(index));
}

bool ring_waits::took_all() const {
  std::lock_guard lock(lock_);
  return ring_.taken(ring_.submitted());
}

bool ring_waits::no_slot_free() const {
  std::lock_guard lock(lock_);
  return free_.empty();
}

bool ring_waits::submit(mailbox& box, const proto::ring_request& asked) {
  std::lock_guard lock(lock_);
  const std::optional<uint16_t> index = free_slot();
  if (!index) return false;
  slots_[*index] = {slot::held::wait, false, asked.stream, &box};
  box.registered = true;
  box.slot = *index;
  box.stream_id = asked.stream;
  box.target = asked.target;
  ring_.submit_wait(*index, asked);
  box.submitted = ring_.submitted();
  return true;
}

bool ring_waits::submit_point(uint32_t number, std::string_view name) {
  std::lock_guard lock(lock_);
  const std::optional<uint16_t> index = free_slot();
  if (!index) return false;
  slots_[*index].now = slot::held::point;
  ring_.submit_point(*index, number, name);
  return true;
}

void ring_waits::collect(mailbox& box, owner_wait& into, bool confirmed) {
  std::lock_guard lock(lock_);
  box.tell(into, confirmed);
}

bool ring_waits::forget(mailbox& box, bool cancel) {
  std::lock_guard lock(lock_);
  if (heir_ == &box) {
    heir_ = nullptr;
    pass_on();
  }
  if (box.slot == mailbox::no_slot) return false;
  slot& s = slots_[box.slot];
  s.now = slot::held::orphan;
  s.box = nullptr;
  const auto index = static_cast<uint16_t>(std::exchange(box.slot, mailbox::no_slot));
  if (!cancel || broken()) return false;
  if (ring_.room()) {
    ring_.submit_cancel(index);
    return true;
  }
  s.cancel_due = true;
  ++cancels_due_;
  return false;
}

bool ring_waits::submit_cancels() {
  if (!cancels_left()) return false;
  std::lock_guard lock(lock_);
  bool any = false;
  for (size_t i = 0; i < slots_.size() && cancels_left() && ring_.room(); ++i) {
    if (!slots_[i].cancel_due) continue;
    slots_[i].cancel_due = false;
    --cancels_due_;
    ring_.submit_cancel(static_cast<uint16_t>(i));
    any = true;
  }
  return any;
}

void ring_waits::heard_about(uint32_t stream_id, uint64_t target, instant now) {
  std::lock_guard lock(lock_);
  for (slot& s : slots_) {
    if (s.box && s.stream_id == stream_id && s.box->target == target) s.box->heard = now;
  }
}

bool ring_waits::has_orphans(uint32_t stream_id) const {
  std::lock_guard lock(lock_);
  if (broken()) return false;
  for (const slot& s : slots_) {
    if (s.now == slot::held::orphan && s.stream_id == stream_id) return true;
  }
  return false;
}

// ---- Ends.

ring_waits::taken ring_waits::take(const step_function& step) {
  taken what;
  for (bool more = true; more;) {
    news_batch news;
    {
      std::lock_guard lock(lock_);
      for (size_t i = 0; more && i < ends_per_hold; ++i) more = take_one(news, what);
    }
    news.tell(step);
  }
  return what;
}

// false: there is no more.
bool ring_waits::take_one(news_batch& news, taken& what) {
  if (broken()) return false;
  const result<std::optional<ring_client::end>> end = ring_.take_end();
  if (end && !*end) return false;
  const slot::held held = end ? slots_[(*end)->slot].now : slot::held::free;
  if (held == slot::held::free) {
    broken_.store(true, std::memory_order_release);
    lose_waits();
    return false;
  }
  const uint32_t index = (*end)->slot;
  what.any = true;
  what.orphans = what.orphans || held == slot::held::orphan;
  if (held == slot::held::point && (*end)->entry.code != 0) points_refused_.store(true);
  if (mailbox* const box = slots_[index].box) {
    box->completion = (*end)->entry;
    box->slot = mailbox::no_slot;
    if (box->stepped) {
      news.add(*box->stepped);
    } else {
      give_news(*box);
    }
  }
  release(index);
  return true;
}

void ring_waits::give_news(mailbox& box) {
  std::atomic_ref<uint32_t>(box.signal).fetch_add(1, std::memory_order_release);
  if (!box.asleep) return;
  wake_up(box);
  futex_wake(box.signal);
}

void ring_waits::lose_waits() {
  for (slot& s : slots_) {
    if (!s.box) continue;
    s.box->lost = true;
    s.box->slot = mailbox::no_slot;
    // Asynchronous ones are all stepped, by whoever makes the link lost.
    if (!s.box->stepped) give_news(*s.box);
    s.box = nullptr;
  }
  ring_.end_sleep();
}

void ring_waits::lose() {
  std::lock_guard lock(lock_);
  broken_.store(true, std::memory_order_release);
  lose_waits();
}

// ---- Waiting.

void ring_waits::fall_asleep(mailbox& box) {
  box.asleep = true;
  box.before = nullptr;
  box.after = asleep_;
  if (asleep_) asleep_->before = &box;
  asleep_ = &box;
}

void ring_waits::wake_up(mailbox& box) {
  box.asleep = false;
  if (box.after) box.after->before = box.before;
  (box.before ? box.before->after : asleep_) = box.after;
}

void ring_waits::pass_on() {
  if (reader_ || heir_ || !asleep_) return;
  heir_ = asleep_;
  give_news(*heir_);
}

// Under the lock, since another thread may have taken this one's news out of the ring without
// having told it yet.
bool ring_waits::may_sleep(const mailbox& box, uint32_t seen) const {
  std::lock_guard lock(lock_);
  return box.signal_now() == seen && !ring_.has_end() && !broken();
}

ring_waits::taken ring_waits::look_for_news(mailbox& box, uint32_t seen, instant until,
                                            const step_function& step) {
  taken what;
  const steady_clock clock;
  while (box.signal_now() == seen && !broken()) {
    if (ring_.has_end()) {
      what.add(take(step));
    } else if (clock.now() >= until) {
      break;
    } else {
      detail::relax_cpu();
    }
  }
  return what;
}

ring_waits::taken ring_waits::sleep_for_news(mailbox& box, uint32_t seen, instant until,
                                             const step_function& step) {
  bool reads = false;
  {
    std::lock_guard lock(lock_);
    if (box.signal_now() != seen) return {};
    if (heir_ == &box) heir_ = nullptr;
    reads = !reader_ && !broken();
    if (reads) {
      reader_ = &box;
    } else {
      fall_asleep(box);
    }
  }
  if (reads) return read_for_all(box, seen, until, step);
  futex_wait(box.signal, seen, until);
  std::lock_guard lock(lock_);
  if (box.asleep) wake_up(box);
  return {};
}

ring_waits::taken ring_waits::read_for_all(mailbox& box, uint32_t seen, instant until,
                                           const step_function& step) {
  // What is thrown here passes the reading on too: the others sleep beside the ring.
  struct reading {
    ring_waits& of;
    ~reading() {
      std::lock_guard lock(of.lock_);
      of.reader_ = nullptr;
      of.pass_on();
    }
  };
  const reading until_left{*this};
  const steady_clock clock;
  taken what;
  do {
    const uint32_t signal = ring_.signal();
    ring_.want(proto::wants_futex);
    if (may_sleep(box, seen)) ring_.sleep(signal, until);
    what.add(take(step));
  } while (box.signal_now() == seen && !broken() && clock.now() < until);
  return what;
}

}  // namespace gar::owner
