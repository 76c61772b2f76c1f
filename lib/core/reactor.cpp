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
  if (free_.empty()) {
    roots_.push_back(std::make_unique<root>());
    free_.push_back(roots_.back().get());
    grow_tables();
  }
  root* r = free_.back();
  free_.pop_back();
  *r = root{};
  r->armed_index = none;
  r->heap_index = none;
  auto frame = t.release();
  GAR_ASSERT(frame && !frame.done());
  frame.promise().root = r;
  r->failure = &frame.promise().failure;
  r->outermost = frame;
  r->resume = frame;
  ready_.push_back(r);
  return r;
}

// Here, and never on the way from a store to a wake.
void reactor::grow_tables() {
  if (ready_.capacity() >= roots_.size() && running_.capacity() >= roots_.size()) return;
  const size_t room = roots_.size() * 2;
  free_.reserve(room);
  ready_.reserve(room);
  yielded_.reserve(room);
  running_.reserve(room);
  armed_.reserve(room);
  heap_.reserve(room);
}

void reactor::wake(root& who) {
  if (who.now == root::state::waiting && who.takes_events) {
    make_ready(who, woke::event);
  } else {
    who.wake_again = true;
  }
}

void reactor::cancel(root& who) {
  who.cancelled = true;
  if (who.now == root::state::waiting) make_ready(who, woke::cancelled);
}

void reactor::forget(root& who) {
  GAR_ASSERT(who.outermost && who.now != root::state::running);
  disarm(who);
  if (who.now == root::state::ready) {
    std::erase(ready_, &who);
    std::erase(yielded_, &who);
    std::replace(running_.begin(), running_.end(), &who, static_cast<root*>(nullptr));
  }
  std::exchange(who.outermost, nullptr).destroy();
  free_.push_back(&who);
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
    root* r = std::exchange(running_[i], nullptr);
    if (!r) continue;
    ++statistics_.polls;
    r->now = root::state::running;
    r->resume.resume();
    if (r->outermost.done()) end(*r);
  }
  running_.clear();
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

bool reactor::suspend(root& who, std::coroutine_handle<> at, const suspension& s) {
  who.resume = at;
  if (who.inline_only) return !answer_inline(who, s);
  who.takes_events = s.takes_events;
  who.parked_before = statistics_.parked;
  if (who.cancelled) {
    make_ready(who, woke::cancelled);
  } else if (s.takes_events && std::exchange(who.wake_again, false)) {
    make_ready(who, woke::event);
  } else if (!s.what.empty() && s.what.complete()) {
    make_ready(who, woke::complete);
  } else {
    arm(who, s);
  }
  return true;
}

bool reactor::answer_inline(root& who, const suspension& s) const {
  const bool complete = !s.what.empty() && s.what.complete();
  who.why = complete ? woke::complete : woke::deadline;
  return complete || s.deadline <= now_;
}

void reactor::arm(root& who, const suspension& s) {
  who.now = root::state::waiting;
  who.deadline = s.deadline;
  const bool rested = std::exchange(who.rested, s.what.empty());
  if (!s.what.empty()) {
    expecting_ = expecting_ || rested;
    who.armed_index = armed_.size();
    armed_.push_back({s.what.word(), s.what.target(), s.park ? s.park : park_longest, &who});
  }
  if (s.deadline != instant::never()) heap_push(who);
}

bool reactor::yield_from(root& who, std::coroutine_handle<> at) {
  who.resume = at;
  if (who.inline_only) return false;  // nobody else to give way to
  make_ready(who, woke::event, yielded_);
  return true;
}

void reactor::make_ready(root& who, woke why) {
  make_ready(who, why, ready_);
}

void reactor::make_ready(root& who, woke why, std::vector<root*>& queue) {
  disarm(who);
  ++statistics_.woken;
  who.why = why;
  who.now = root::state::ready;
  queue.push_back(&who);
}

void reactor::disarm(root& who) {
  if (who.armed_index != none) {
    armed_[who.armed_index] = armed_.back();
    armed_[who.armed_index].who->armed_index = who.armed_index;
    armed_.pop_back();
    who.armed_index = none;
  }
  if (who.heap_index != none) heap_remove(who);
}

void reactor::end(root& who) {
  if (*who.failure) failures_.push_back(*who.failure);
  std::exchange(who.outermost, nullptr).destroy();
  free_.push_back(&who);
}

void reactor::heap_place(size_t index, root* who) {
  heap_[index] = who;
  who->heap_index = index;
}

void reactor::heap_push(root& who) {
  heap_.push_back(&who);
  who.heap_index = heap_.size() - 1;
  sift_up(who.heap_index);
}

void reactor::heap_remove(root& who) {
  const size_t index = std::exchange(who.heap_index, none);
  root* last = heap_.back();
  heap_.pop_back();
  if (last == &who) return;
  heap_place(index, last);
  sift_up(index);
  sift_down(last->heap_index);
}

void reactor::sift_up(size_t index) {
  root* moving = heap_[index];
  while (index > 0) {
    const size_t parent = (index - 1) / 2;
    if (heap_[parent]->deadline <= moving->deadline) break;
    heap_place(index, heap_[parent]);
    index = parent;
  }
  heap_place(index, moving);
}

void reactor::sift_down(size_t index) {
  root* moving = heap_[index];
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
