#include "tests/fake/fake_machine.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <utility>

namespace fake {
namespace {

thread_local unsigned thread_mode = mode_global;

// Each thread's own, never used again; std::thread::id is, once its thread has ended.
uint64_t this_thread() {
  static std::atomic<uint64_t> count{0};
  thread_local uint64_t number = 0;
  if (number == 0) number = ++count;
  return number;
}

constexpr uint64_t fill_bytes_per_us = 1000;  // about 1 GB/s: work that lasts, in small memory
constexpr size_t log_max = 1 << 20;

void store_release(uint64_t* target, uint64_t value) {
  std::atomic_ref<uint64_t>(*target).store(value, std::memory_order_release);
}

}  // namespace

machine& machine::get() {
  static machine* const made = new machine;
  return *made;
}

// ---- Calls.

status machine::begin(const char* call) {
  uint64_t delay_ns = 0;
  status answer = success;
  {
    std::lock_guard hold(lock);
    delay_ns = told.delay_ns(call);
    answer = told.answer_to(call);
  }
  if (delay_ns > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(delay_ns));
  return answer;
}

status machine::end(const char* call, status answer, uint64_t a, uint64_t b, uint64_t c) {
  std::lock_guard hold(lock);
  if (log.size() == log_max) log.erase(log.begin(), log.begin() + log_max / 2);
  fake_call entry{{}, {a, b, c}, answer, this_thread()};
  std::strncpy(entry.name, call, sizeof(entry.name) - 1);
  log.push_back(entry);
  return answer;
}

void machine::violation(const std::string& what) {
  violations.push_back(what);
}

status machine::init() {
  if (told.init_status() != success) return told.init_status();
  if (told.devices() == 0) return no_device;
  initialized_ = true;
  return success;
}

// ---- Contexts.

context* machine::create(int device) {
  contexts_.push_back(std::make_unique<context>(context{device, false}));
  return contexts_.back().get();
}

context* machine::primary(int device) {
  primary_context& p = primaries_[device];
  if (!p.now || !p.now->alive) {
    p.now = create(device);
    p.now->primary = true;
  }
  return p.now;
}

status machine::retain(int device, context** retained) {
  if (device < 0 || device >= told.devices()) return invalid_device;
  *retained = primary(device);
  ++primaries_[device].references;
  return success;
}

status machine::release(int device, bool last_destroys) {
  if (device < 0 || device >= told.devices()) return invalid_device;
  primary_context& p = primaries_[device];
  if (p.references == 0) {
    violation("a primary context was released more often than retained");
    return invalid_context;
  }
  if (--p.references == 0 && p.now && last_destroys) destroy(p.now);
  return success;
}

void machine::reset(int device) {
  if (primaries_[device].now) destroy(primaries_[device].now);
}

status machine::destroy(context* c) {
  if (!c->alive) return context_is_destroyed;
  c->alive = false;
  for (auto& s : streams_) {
    if (s->in == c) s->queue.clear();
  }
  memory_.remove_all(c);
  changed.notify_all();
  return success;
}

status machine::usable(const context* c) const {
  if (!c) return invalid_context;
  if (!c->alive) return context_is_destroyed;
  return c->sticky;
}

// ---- Streams.

stream* machine::create_stream(context* in, bool blocking) {
  auto made = std::make_unique<stream>();
  made->in = in;
  made->blocking = blocking;
  known_streams_.insert(made.get());
  streams_.push_back(std::move(made));
  ++live_streams_;
  return streams_.back().get();
}

status machine::destroy_stream(stream* s) {
  if (!s->alive) {
    violation("a stream was destroyed twice");
    return invalid_handle;
  }
  s->alive = false;
  --live_streams_;
  changed.notify_all();
  return usable(s->in);
}

status machine::resolve(void* handle, context* current, stream** found) {
  const auto number = reinterpret_cast<uintptr_t>(handle);
  if (number <= 2) {
    if (status s = usable(current); s != success) return s;
    stream*& of = number == 2 ? per_thread_[{this_thread(), current}] : legacy_[current];
    if (!of) {
      of = create_stream(current, true);
      of->legacy = number != 2;
      --live_streams_;  // nobody made it
    }
    *found = of;
    return success;
  }
  auto* s = static_cast<stream*>(handle);
  if (!known_streams_.contains(s) || !s->alive) {
    violation("a stream was used that is not there");
    return invalid_handle;
  }
  *found = s;
  return usable(s->in);
}

status machine::enqueue(stream* s, operation o, const char* call) {
  if (status bad = usable(s->in); bad != success) return bad;
  const bool programs_own = o.kind == operation::what::work;
  if (legacy_blocked(s)) {
    if (!programs_own) violation(std::string(call) + " on the default stream during a capture");
    for (stream* one : std::set<stream*>(capturing_)) {
      if (one->in == s->in && one->blocking) invalidate(one);
    }
    return capture_implicit;
  }
  if (s->capture != 0) {
    if (!programs_own) violation(std::string(call) + " on a stream that is being captured");
    return success;  // it becomes part of the graph, and is not run
  }
  if (o.into) ++o.into->pending_stores;
  s->queue.push_back(std::move(o));
  if (!s->has_thread) {
    s->has_thread = true;
    std::thread([this, s] { run(s); }).detach();
  }
  changed.notify_all();
  return success;
}

void machine::run(stream* s) {
  held_lock held(lock);
  for (;;) {
    changed.wait(held, [s] { return !s->queue.empty() || !s->alive || !s->in->alive; });
    if (s->queue.empty()) {
      s->has_thread = false;
      return;
    }
    operation next = std::move(s->queue.front());
    s->queue.pop_front();
    s->running = true;
    execute(s, next, held);
    s->running = false;
    changed.notify_all();
  }
}

void machine::execute(stream* s, operation& o, held_lock& held) {
  const auto dead = [s] { return !s->in->alive || s->in->sticky != success; };
  if (o.duration_ns > 0) {
    changed.wait_for(held, std::chrono::nanoseconds(o.duration_ns), dead);
  }
  if (o.into) --o.into->pending_stores;
  if (dead()) return;
  switch (o.kind) {
    case operation::what::mark:
      o.marked->reached = std::max(o.marked->reached, o.mark);
      return;
    case operation::what::work:
      if (o.fault != success) s->in->sticky = o.fault;
      break;
    case operation::what::function:
      held.unlock();
      o.function(o.data);
      held.lock();
      return;
    case operation::what::store:
      if (o.lost) return;
      if (!o.into->alive) {
        violation("a store into memory that is not registered any more");
        return;
      }
      break;
  }
  if (o.target && o.fault == success) store_release(o.target, o.value);
}

status machine::query_stream(stream* s) {
  if (s->capture != 0) {
    invalidate(s);
    return capture_unsupported;
  }
  if (legacy_blocked(s)) return capture_implicit;
  if (status no = unsafe(); no != success) return no;
  if (status bad = usable(s->in); bad != success) return bad;
  return idle(s) ? success : not_ready;
}

status machine::synchronize_stream(stream* s, held_lock& held) {
  if (s->capture != 0) {
    invalidate(s);
    return capture_unsupported;
  }
  if (status no = unsafe(); no != success) return no;
  changed.wait(held, [this, s] { return usable(s->in) != success || idle(s); });
  return usable(s->in);
}

status machine::synchronize(context* c, held_lock& held) {
  if (status bad = usable(c); bad != success) return bad;
  bool captured = false;
  for (stream* one : std::set<stream*>(capturing_)) {
    if (one->in != c) continue;
    captured = true;
    invalidate(one);
  }
  if (captured) return capture_unsupported;
  if (status no = unsafe(); no != success) return no;
  changed.wait(held, [this, c] {
    return usable(c) != success ||
           std::all_of(streams_.begin(), streams_.end(),
                       [&](const auto& s) { return s->in != c || idle(s.get()); });
  });
  return usable(c);
}

// ---- Events.

event* machine::create_event(context* in, unsigned flags) {
  events_.push_back(std::make_unique<event>(event{in, flags}));
  ++live_events_;
  return events_.back().get();
}

status machine::destroy_event(event* e) {
  if (!e->alive) {
    violation("an event was destroyed twice");
    return invalid_handle;
  }
  e->alive = false;
  --live_events_;
  return success;
}

status machine::record(event* e, stream* s) {
  if (!e->alive) {
    violation("an event was recorded after it was destroyed");
    return invalid_handle;
  }
  if (e->in != s->in) return invalid_handle;
  operation mark;
  mark.kind = operation::what::mark;
  mark.marked = e;
  mark.mark = e->recorded + 1;
  const bool captured = s->capture != 0;
  const status queued = enqueue(s, std::move(mark), "an event record");
  if (queued != success) return queued;
  e->captured = captured;
  if (!captured) ++e->recorded;
  return success;
}

status machine::query_event(event* e) {
  if (!e->alive) {
    violation("an event was queried after it was destroyed");
    return invalid_handle;
  }
  if (status no = unsafe(); no != success) return no;
  if (e->captured) return captured_event;
  if (status bad = usable(e->in); bad != success) return bad;
  return e->reached >= e->recorded ? success : not_ready;
}

status machine::synchronize_event(event* e, held_lock& held) {
  if (!e->alive) {
    violation("an event was waited for after it was destroyed");
    return invalid_handle;
  }
  if (status no = unsafe(); no != success) return no;
  if (e->captured) return captured_event;
  const uint64_t until = e->recorded;
  changed.wait(held, [&] { return usable(e->in) != success || e->reached >= until; });
  return usable(e->in);
}

// ---- Host memory.

status machine::register_memory(context* in, void* host, size_t bytes, bool portable) {
  if (status no = unsafe(); no != success) return no;
  if (status bad = usable(in); bad != success) return bad;
  rlimit may_lock{};
  if (getrlimit(RLIMIT_MEMLOCK, &may_lock) == 0 && bytes > may_lock.rlim_cur) return out_of_memory;
  return memory_.add(in, host, bytes, portable);
}

status machine::unregister_memory(context* in, void* host) {
  if (status no = unsafe(); no != success) return no;
  if (status bad = usable(in); bad != success) return bad;
  const std::shared_ptr<registration> removed = memory_.remove(in, host);
  if (!removed) return not_registered;
  if (removed->pending_stores > 0) {
    violation("memory was unregistered while stores into it were pending");
  }
  return success;
}

status machine::device_address(context* in, void* host, uint64_t* address) {
  if (status bad = usable(in); bad != success) return bad;
  if (!memory_.at(in, host)) return invalid_value;
  *address = memory::seen_by_device(host);
  return success;
}

status machine::store(stream* s, uint64_t address, uint64_t value, const char* call) {
  if (status bad = usable(s->in); bad != success) return bad;
  if (address % sizeof(uint64_t) != 0) return invalid_value;
  uint64_t* const target = memory::host_word(address);
  if (!target) {
    violation("a store to an address that the device does not know");
    return invalid_value;
  }
  operation o;
  o.kind = operation::what::store;
  o.into = memory_.at(s->in, target);
  if (!o.into) {
    violation("a store into memory that is not registered");
    return invalid_value;
  }
  o.target = target;
  o.value = value;
  const store_fate fate = told.fate_of_store();
  o.lost = fate.lost;
  o.duration_ns = fate.delay_ns;
  return enqueue(s, std::move(o), call);
}

// ---- Device memory.

status machine::fill(stream* s, uint64_t address, uint32_t value, size_t count, const char* call) {
  operation o;
  o.duration_ns = count * sizeof(uint32_t) * 1000 / fill_bytes_per_us;
  o.value = value;
  o.target = memory::host_word(address);
  if (o.target) {
    o.into = memory_.at(s->in, o.target);
    if (!o.into || count != 2) return invalid_value;
    o.kind = operation::what::store;
    o.value = uint64_t{value} << 32 | value;
  } else if (!memory_.allocated(address)) {
    return invalid_value;
  }
  return enqueue(s, std::move(o), call);
}

status machine::work(stream* s, uint64_t duration_ns, uint64_t address, uint64_t value,
                     const char* call) {
  operation o;
  o.duration_ns = duration_ns;
  o.value = value;
  o.target = memory::host_word(address);
  if (o.target) o.into = memory_.at(s->in, o.target);
  if (!o.into && !memory_.allocated(address)) o.fault = illegal_address;
  return enqueue(s, std::move(o), call);
}

// ---- Captures.

bool machine::legacy_blocked(const stream* s) const {
  return s->legacy && std::any_of(capturing_.begin(), capturing_.end(), [s](const stream* one) {
           return one->in == s->in && one->blocking;
         });
}

void machine::invalidate(stream* s) {
  s->capture = 2;
}

status machine::begin_capture(stream* s, unsigned mode) {
  if (s->legacy || s->capture != 0) return capture_unsupported;
  s->capture = 1;
  s->capture_mode = mode;
  s->capture_thread = this_thread();
  capturing_.insert(s);
  return success;
}

status machine::end_capture(stream* s) {
  if (s->capture == 0) return capture_unmatched;
  const bool whole = s->capture == 1;
  s->capture = 0;
  capturing_.erase(s);
  return whole ? success : capture_invalidated;
}

status machine::capture_of(stream* s, unsigned* state) {
  if (legacy_blocked(s)) return capture_implicit;
  *state = s->capture;
  return success;
}

status machine::unsafe() {
  if (thread_mode == mode_relaxed) return success;
  bool prohibited = false;
  for (stream* one : std::set<stream*>(capturing_)) {
    const bool mine = one->capture_thread == this_thread();
    const bool counts = mine ? one->capture_mode != mode_relaxed
                             : thread_mode == mode_global && one->capture_mode == mode_global;
    if (!counts) continue;
    prohibited = true;
    invalidate(one);
  }
  return prohibited ? capture_unsupported : success;
}

unsigned machine::exchange_mode(unsigned mode) {
  return std::exchange(thread_mode, mode);
}

}  // namespace fake
