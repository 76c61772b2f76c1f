#include "lib/core/reactor.hpp"

#include <algorithm>
#include <utility>

#include "lib/core/planted.hpp"

namespace gar {

reactor::~reactor() {
  // A frame's end may wake or cancel another task; roots and tables outlive all frames.
  for (const std::unique_ptr<root>& r : roots_) {
    if (r->outermost) std::exchange(r->outermost, nullptr).destroy();
  }
}

reactor::root* reactor::spawn(task<> t) {
  // All that may fail comes before anything has changed.
  if (free_.empty()) grow_roots();
  if (tasks_ == room_) grow_tables();
  root* r = free_.back();
  free_.pop_back();
  *r = root{};
  r->on_turn = resume;
  auto frame = t.release();
  GAR_ASSERT(frame && !frame.done());
  frame.promise().root = r;
  r->failure = &frame.promise().failure;
  r->outermost = frame;
  r->resume = frame;
  start(*r);
  return r;
}

void reactor::start(pending& who) {
  if (tasks_ == room_) grow_tables();
  ++tasks_;
  ready_.push_back(&who);
}

void reactor::grow_roots() {
  if (roots_.size() == roots_.capacity()) roots_.reserve(2 * (roots_.size() + 1));
  free_.reserve(roots_.capacity());
  failures_.reserve(roots_.capacity());
  roots_.push_back(std::make_unique<root>());
  free_.push_back(roots_.back().get());
}

// Here, and never on the way from a store to a wake.
void reactor::grow_tables() {
  const size_t room = 2 * (tasks_ + 1);
  ready_.reserve(room);
  yielded_.reserve(room);
  running_.reserve(room);
  armed_.reserve(room);
  heap_.reserve(room);
  room_ = room;
}

void reactor::wake(pending& who) {
  if (who.now == pending::state::waiting && who.takes_events) {
    make_ready(who, woke::event);
  } else {
    who.wake_again = true;
  }
}

void reactor::cancel(pending& who) {
  who.cancelled = true;
  if (who.now == pending::state::waiting) make_ready(who, woke::cancelled);
}

void reactor::take_off(pending& who) {
  GAR_ASSERT(who.now != pending::state::running);
  disarm(who);
  if (who.now == pending::state::ready) {
    std::erase(ready_, &who);
    std::erase(yielded_, &who);
    std::replace(running_.begin(), running_.end(), &who, static_cast<pending*>(nullptr));
  }
  --tasks_;
}

void reactor::forget(pending& who) {
  take_off(who);
}

void reactor::forget_root(root& who) {
  GAR_ASSERT(who.outermost);
  take_off(who);
  std::exchange(who.outermost, nullptr).destroy();
  free_.push_back(&who);
}

void reactor::ended(pending& who) {
  GAR_ASSERT(who.now == pending::state::running);
  --tasks_;
}

std::exception_ptr reactor::take_failure() {
  if (failures_.empty()) return nullptr;
  std::exception_ptr oldest = failures_.front();
  failures_.erase(failures_.begin());
  return oldest;
}

bool reactor::any_complete() const {
  for (const armed_word& a : armed_) {
    if (reached(proto::load_word(*a.word), a.target)) return true;
  }
  return false;
}

void reactor::run_ready() {
  GAR_ASSERT(running_.empty());  // a task must not run the reactor it runs on
  running_.swap(ready_);
  running_.insert(running_.end(), yielded_.begin(), yielded_.end());
  yielded_.clear();
  // By index: a task that spawns may grow the table, one that forgets leaves a hole in it.
  for (size_t i = 0; i < running_.size(); ++i) {
    pending* who = std::exchange(running_[i], nullptr);
    if (!who) continue;
    ++statistics_.polls;
    who->now = pending::state::running;
    who->on_turn(*this, *who);  // may have ended it
  }
  running_.clear();
}

void reactor::resume(reactor& owner, pending& who) {
  root& r = static_cast<root&>(who);
  r.resume.resume();
  if (!r.outermost.done()) return;
  if (*r.failure) owner.failures_.push_back(*r.failure);
  owner.ended(r);
  std::exchange(r.outermost, nullptr).destroy();
  owner.free_.push_back(&r);
}

namespace {

bool is_reached(uint64_t word, uint64_t target) {
  if (planted(bug::plain_comparison)) return word >= target;
  return reached(word, target);
}

}  // namespace

size_t reactor::look() {
  const size_t ready_before = ready_.size();
  park_max_ = park_longest;
  for (size_t i = 0; i < armed_.size();) {
    const armed_word& a = armed_[i];
    if (is_reached(proto::load_word(*a.word), a.target)) {
      expecting_ = true;
      make_ready(*a.who, woke::complete);  // moves the last armed word to i
    } else {
      park_max_ = std::min(park_max_, a.park);
      ++i;
    }
  }
  while (!heap_.empty() && heap_.front()->deadline <= now_) {
    make_ready(*heap_.front(), woke::deadline);
  }
  return ready_.size() - ready_before;
}

bool reactor::suspend_root(root& who, std::coroutine_handle<> at, const wanted& w) {
  who.resume = at;
  if (who.inline_only) return !answer_inline(who, w);
  suspend(who, w);
  return true;
}

void reactor::suspend(pending& who, const wanted& w) {
  who.takes_events = w.takes_events;
  who.parked_before = static_cast<uint32_t>(statistics_.parked);
  if (who.cancelled) return make_ready(who, woke::cancelled);
  if (w.takes_events && who.wake_again) {
    who.wake_again = false;
    return make_ready(who, woke::event);
  }
  if (!w.what.empty() && w.what.complete()) return make_ready(who, woke::complete);
  arm(who, w);
}

bool reactor::answer_inline(root& who, const wanted& w) const {
  const bool complete = !w.what.empty() && w.what.complete();
  who.why = complete ? woke::complete : woke::deadline;
  return complete || w.deadline <= now_;
}

void reactor::arm(pending& who, const wanted& w) {
  who.now = pending::state::waiting;
  who.deadline = w.deadline;
  const bool rested = who.rested;
  who.rested = w.what.empty();
  if (!w.what.empty()) {
    expecting_ = expecting_ || rested;
    who.armed_index = static_cast<uint32_t>(armed_.size());
    armed_.push_back({w.what.word(), w.what.target(), w.park ? w.park : park_longest, &who});
  }
  if (w.deadline != instant::never()) heap_push(who);
}

bool reactor::yield_from(root& who, std::coroutine_handle<> at) {
  who.resume = at;
  if (who.inline_only) return false;  // nobody else to give way to
  yield(who);
  return true;
}

void reactor::make_ready(pending& who, woke why, std::vector<pending*>& queue) {
  disarm(who);
  ++statistics_.woken;
  who.why = why;
  who.now = pending::state::ready;
  queue.push_back(&who);
}

void reactor::disarm(pending& who) {
  if (who.armed_index != pending::nowhere) {
    armed_[who.armed_index] = armed_.back();
    armed_[who.armed_index].who->armed_index = who.armed_index;
    armed_.pop_back();
    who.armed_index = pending::nowhere;
  }
  if (who.heap_index != pending::nowhere) heap_remove(who);
}

void reactor::heap_place(size_t index, pending* who) {
  heap_[index] = who;
  who->heap_index = static_cast<uint32_t>(index);
}

void reactor::heap_push(pending& who) {
  heap_.push_back(&who);
  who.heap_index = static_cast<uint32_t>(heap_.size() - 1);
  sift_up(who.heap_index);
}

void reactor::heap_remove(pending& who) {
  const size_t index = std::exchange(who.heap_index, pending::nowhere);
  pending* last = heap_.back();
  heap_.pop_back();
  if (last == &who) return;
  heap_place(index, last);
  sift_up(index);
  sift_down(last->heap_index);
}

void reactor::sift_up(size_t index) {
  pending* moving = heap_[index];
  while (index > 0) {
    const size_t parent = (index - 1) / 2;
    if (heap_[parent]->deadline <= moving->deadline) break;
    heap_place(index, heap_[parent]);
    index = parent;
  }
  heap_place(index, moving);
}

void reactor::sift_down(size_t index) {
  pending* moving = heap_[index];
  for (;;) {
    size_t child = 2 * index + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && heap_[child + 1]->deadline < heap_[child]->deadline) ++child;
    if (heap_[child]->deadline >= moving->deadline) break;
    heap_place(index, heap_[child]);
    index = child;
  }
  heap_place(index, moving);
}

}  // namespace gar
