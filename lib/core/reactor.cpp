#include "lib/core/reactor.hpp"

#include <algorithm>

namespace gar {

reactor::~reactor() {
  for (const std::unique_ptr<root>& r : roots_) {
    if (r->outermost) r->outermost.destroy();
  }
}

reactor::root* reactor::spawn(task<> t) {
  if (free_.empty()) {
    roots_.push_back(std::make_unique<root>());
    free_.push_back(roots_.back().get());
    // Grown here and never on the way from a store to a wake.
    if (ready_.capacity() < roots_.size()) {
      const size_t room = roots_.size() * 2;
      ready_.reserve(room);
      running_.reserve(room);
      armed_.reserve(room);
      heap_.reserve(room);
    }
  }
  root* r = free_.back();
  free_.pop_back();
  *r = root{};
  r->armed_index = none;
  r->heap_index = none;
  auto frame = t.release();
  frame.promise().root = r;
  r->failure = &frame.promise().failure;
  r->outermost = frame;
  r->resume = frame;
  ready_.push_back(r);
  return r;
}

void reactor::wake(root& who) {
  if (who.now == root::state::waiting) {
    ++statistics_.woken;
    make_ready(who, woke::event);
  } else {
    who.wake_again = true;
  }
}

void reactor::cancel(root& who) {
  who.cancelled = true;
  if (who.now == root::state::waiting) {
    ++statistics_.woken;
    make_ready(who, woke::cancelled);
  }
}

duration reactor::park_max() const {
  duration shortest = duration::max();
  for (const armed_word& a : armed_) {
    if (a.who->park && a.who->park < shortest) shortest = a.who->park;
  }
  return shortest;
}

bool reactor::any_complete() const {
  for (const armed_word& a : armed_) {
    if (reached(proto::load_word(*a.word), a.target)) return true;
  }
  return false;
}

void reactor::run_ready() {
  running_.swap(ready_);
  for (root* r : running_) {
    ++statistics_.polls;
    r->now = root::state::running;
    r->resume.resume();
    if (r->outermost.done()) end(*r);
  }
  running_.clear();
}

size_t reactor::look() {
  const size_t ready_before = ready_.size();
  for (size_t i = 0; i < armed_.size();) {
    const armed_word& a = armed_[i];
    if (reached(proto::load_word(*a.word), a.target)) {
      make_ready(*a.who, woke::complete);  // moves the last armed word to i
    } else {
      ++i;
    }
  }
  while (!heap_.empty() && heap_.front()->deadline <= now_) {
    make_ready(*heap_.front(), woke::deadline);
  }
  const size_t woken = ready_.size() - ready_before;
  statistics_.woken += woken;
  return woken;
}

bool reactor::suspend(root& who, std::coroutine_handle<> at, const suspension& s) {
  who.resume = at;
  if (who.inline_only) return true;  // the runner reports it
  if (who.cancelled) {
    who.why = woke::cancelled;
    return false;
  }
  if (std::exchange(who.wake_again, false)) {
    who.why = woke::event;
    return false;
  }
  if (!s.what.empty() && s.what.complete()) {
    who.why = woke::complete;
    return false;
  }
  who.now = root::state::waiting;
  who.descriptor = s.what;
  who.deadline = s.deadline;
  who.park = s.park;
  who.parked_before = statistics_.parked;
  if (!s.what.empty()) {
    who.armed_index = armed_.size();
    armed_.push_back({s.what.word(), s.what.target(), &who});
  }
  if (s.deadline != instant::never()) heap_push(who);
  return true;
}

bool reactor::yield_from(root& who, std::coroutine_handle<> at) {
  who.resume = at;
  if (who.inline_only) return false;  // nobody else to give way to
  who.now = root::state::ready;
  ready_.push_back(&who);
  return true;
}

void reactor::make_ready(root& who, woke why) {
  disarm(who);
  who.why = why;
  who.now = root::state::ready;
  ready_.push_back(&who);
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
  if (*who.failure && !failure_) failure_ = *who.failure;
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
