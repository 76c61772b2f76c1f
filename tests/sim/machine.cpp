#include "tests/sim/machine.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <boost/context/detail/fcontext.hpp>
#include <cstdlib>
#include <cstring>

#include "lib/core/error.hpp"

// A killed thread's stack is left as it stands, which Boost.Context's own fibers would unwind; so
// the layer below them is used, which only switches.

namespace gar::sim {

machine* machine_now = nullptr;

namespace {

namespace context = boost::context::detail;

constexpr size_t stack_bytes = 256 << 10;
constexpr uint64_t clock_read_ns = 40;
constexpr uint64_t spinning_read_ns = 1000;  // of a thread that looks and looks
constexpr uint32_t reads_before_spinning = 24;
constexpr uint64_t long_spinning_read_ns = 5000;  // of one that goes on for long
constexpr uint32_t reads_before_long_spinning = 100;

std::vector<std::byte*> free_stacks;

std::byte* take_stack() {
  if (free_stacks.empty()) return static_cast<std::byte*>(std::aligned_alloc(4096, stack_bytes));
  std::byte* taken = free_stacks.back();
  free_stacks.pop_back();
  return taken;
}

// The exceptions that are being handled are known to the C++ runtime per real thread.
void swap_exceptions(thread& of) {
  auto* there = reinterpret_cast<void**>(abi::__cxa_get_globals());
  std::swap(there[0], of.exceptions[0]);
  std::swap(there[1], of.exceptions[1]);
}

}  // namespace

machine::machine(uint64_t seed, bool print_all) : random(seed), log(print_all) {
  machine_now = this;
}

machine::~machine() {
  for (const std::unique_ptr<process>& p : processes_) kill(*p);
  machine_now = nullptr;
}

std::string_view machine::actor() const {
  return running_ ? std::string_view(running_->name) : std::string_view("world");
}

process& machine::start_process(std::string name, uint32_t uid) {
  const memory_scope own(nullptr);
  processes_.push_back(std::make_unique<process>());
  process& p = *processes_.back();
  p.name = std::move(name);
  p.uid = uid;
  p.pid = ++last_pid_;
  p.files.resize(3);
  return p;
}

namespace {

// What a new thread's stack begins with.
struct start {
  machine* of;
  thread* self;
  void** driver;
};

void enter(context::transfer_t from) {
  const start s = *static_cast<start*>(from.data);
  *s.driver = from.fctx;
  s.self->body();
  s.of->end_thread();
}

}  // namespace

thread& machine::start_thread(process& of, std::string name, std::function<void()> body) {
  const bool body_is_its_own = memory_owner_now != nullptr;
  const memory_scope own(nullptr);
  of.threads.push_back(std::make_unique<thread>());
  thread& t = *of.threads.back();
  t.body_is_its_own = body_is_its_own;
  t.of = &of;
  t.name.assign(name);  // a copy: this memory outlives the process's
  t.number = ++threads_made_;
  t.body = std::move(body);
  t.stack = take_stack();
  t.context = context::make_fcontext(t.stack + stack_bytes, stack_bytes, &enter);
  schedule(t, now_ns() + random.between(500, 20'000));
  return t;
}

void machine::release(thread& gone) {
  gone.now = thread::state::ended;
  ++gone.turn;
  if (gone.stack) free_stacks.push_back(std::exchange(gone.stack, nullptr));
  std::erase(monitors_, &gone);
}

void machine::kill(process& which) {
  const memory_scope own(nullptr);
  for (const std::unique_ptr<thread>& t : which.threads) {
    GAR_ASSERT(t.get() != running_);
    // What a thread of the process started another with is the process's memory, and goes with it.
    if (t->body_is_its_own) new (&t->body) std::function<void()>();
    t->body = nullptr;
    release(*t);
  }
  which.put_off.clear();
  which.files.clear();
  which.mapped.clear();
  which.memory.free_all();
}

void machine::freeze(process& which) {
  which.frozen = true;
}

void machine::thaw(process& which) {
  which.frozen = false;
  for (thread* t : std::exchange(which.put_off, {})) schedule(*t, now_ns());
}

void machine::at(uint64_t when_ns, std::function<void()> what) {
  const memory_scope own(nullptr);
  size_t place = actions_.size();
  if (free_actions_.empty()) {
    actions_.push_back(std::move(what));
  } else {
    place = free_actions_.back();
    free_actions_.pop_back();
    actions_[place] = std::move(what);
  }
  events_.push({std::max(when_ns, now_ns()), ++order_, nullptr, 0, place});
}

void machine::schedule(thread& who, uint64_t at_ns) {
  const memory_scope own(nullptr);
  events_.push({at_ns, ++order_, &who, who.turn, 0});
}

void machine::make_ready(thread& who, woken_by why) {
  uint64_t at_ns = now_ns();
  if (why != woken_by::nothing) {
    at_ns += random.between(200, 4'000);
    if (random.chance(faults.late_wake)) {
      ++counts.late_wakes;
      at_ns += random.below(faults.late_wake_ns);
    }
  }
  ++who.turn;
  who.now = thread::state::ready;
  who.why = why;
  schedule(who, at_ns);
}

bool machine::step(uint64_t limit_ns) {
  if (events_.empty() || events_.top().at_ns > limit_ns) {
    now_ns_ = std::max(now_ns_, limit_ns == UINT64_MAX ? 0 : limit_ns);
    return false;
  }
  const event next = events_.top();
  events_.pop();
  now_ns_ = std::max(now_ns_, next.at_ns);
  if (!next.who) {
    const std::function<void()> what = std::move(actions_[next.what]);
    free_actions_.push_back(next.what);
    what();
    look_at_monitors();
    return true;
  }
  thread& who = *next.who;
  if (next.turn != who.turn || who.now == thread::state::ended) return true;
  if (who.of->frozen) {
    who.of->put_off.push_back(&who);
    return true;
  }
  if (who.now == thread::state::blocked) {  // its time has come
    who.why = woken_by::time;
    ++who.turn;
  }
  run(who);
  look_at_monitors();
  return true;
}

void machine::run(thread& who) {
  ++counts.turns;
  who.now = thread::state::running;
  who.keys.clear();
  if (std::exchange(who.monitoring, false)) std::erase(monitors_, &who);
  running_ = &who;
  const uint64_t next_ns = now_ns_;
  slice_ns_ = 0;
  swap_exceptions(who);
  {
    const memory_scope its(&who.of->memory);
    start first{this, &who, &driver_};
    const context::transfer_t back = context::jump_fcontext(who.context, &first);
    who.context = back.fctx;
  }
  swap_exceptions(who);
  // What is due meanwhile is not late: the thread looked at each of its steps whether something is.
  now_ns_ += std::exchange(slice_ns_, 0);
  if (!events_.empty()) now_ns_ = std::max(next_ns, std::min(now_ns_, events_.top().at_ns));
  running_ = nullptr;
  if (thread* gone = std::exchange(ended_, nullptr)) {
    gone->body = nullptr;
    gone->body_is_its_own = false;
    release(*gone);
    wake(gone);
  }
}

void machine::leave() {
  memory_owner* const mine = memory_owner_now;
  const context::transfer_t again = context::jump_fcontext(driver_, nullptr);
  driver_ = again.fctx;
  memory_owner_now = mine;
}

void machine::end_thread() {
  ended_ = running_;
  leave();
  std::abort();
}

void machine::pass(uint64_t cost_ns) {
  if (!running_) return;
  slice_ns_ += cost_ns;
  if (random.chance(faults.preempted)) {
    ++counts.preemptions;
    slice_ns_ += random.below(faults.preempted_ns);
  }
  if (events_.empty() || events_.top().at_ns > now_ns()) return;
  thread& self = *running_;
  self.now = thread::state::ready;
  ++self.turn;
  schedule(self, now_ns());
  leave();
}

uint64_t machine::read_clock() {
  if (!running_) return now_ns();
  const uint32_t reads = ++running_->clock_reads;
  pass(reads < reads_before_spinning        ? clock_read_ns
       : reads < reads_before_long_spinning ? spinning_read_ns
                                            : long_spinning_read_ns);
  return now_ns();
}

namespace {

// No sleep ends before its time, and none on it.
duration overslept(machine& on) {
  uint64_t late_ns = on.random.between(1'000, 40'000);
  if (on.random.chance(on.faults.oversleep)) {
    ++on.counts.oversleeps;
    late_ns += on.random.below(on.faults.oversleep_ns);
  }
  return {late_ns};
}

}  // namespace

woken_by machine::block(std::initializer_list<const void*> keys, instant until,
                        bool may_be_spurious) {
  const memory_scope own(nullptr);
  return block(std::vector<const void*>(keys), until, may_be_spurious);
}

woken_by machine::block(const std::vector<const void*>& keys, instant until, bool may_be_spurious) {
  const memory_scope own(nullptr);
  thread& self = *running_;
  self.clock_reads = 0;
  self.keys = keys;
  self.now = thread::state::blocked;
  ++self.turn;
  if (may_be_spurious && random.chance(faults.spurious)) {
    ++counts.spurious;
    until = std::min(until, instant{now_ns() + random.spread(100, 1'000'000)});
  } else if (until != instant::never()) {
    until = until + overslept(*this);
  }
  if (until != instant::never()) schedule(self, std::max(until.ns, now_ns()));
  leave();
  return self.why;
}

void machine::sleep_until(instant at) {
  block({}, at, false);
}

void machine::arm(const uint64_t* line) {
  thread& self = *running_;
  self.armed_line =
      reinterpret_cast<const uint64_t*>(reinterpret_cast<uintptr_t>(line) & ~uintptr_t{63});
  std::memcpy(self.armed_words, self.armed_line, sizeof(self.armed_words));
}

void machine::monitor(instant until) {
  thread& self = *running_;
  if (std::memcmp(self.armed_words, self.armed_line, sizeof(self.armed_words)) != 0) return;
  self.monitoring = true;
  {
    const memory_scope own(nullptr);
    monitors_.push_back(&self);
  }
  block({}, until, true);
}

void machine::look_at_monitors() {
  for (size_t i = 0; i < monitors_.size(); ++i) {
    thread& t = *monitors_[i];
    if (t.now != thread::state::blocked) continue;
    if (std::memcmp(t.armed_words, t.armed_line, sizeof(t.armed_words)) == 0) continue;
    make_ready(t, woken_by::nothing);
  }
}

size_t machine::wake(const void* key) {
  size_t woken = 0;
  for (const std::unique_ptr<process>& p : processes_) {
    for (const std::unique_ptr<thread>& t : p->threads) {
      if (t->now != thread::state::blocked) continue;
      if (std::find(t->keys.begin(), t->keys.end(), key) == t->keys.end()) continue;
      make_ready(*t, woken_by::event);
      ++woken;
    }
  }
  return woken;
}

}  // namespace gar::sim
