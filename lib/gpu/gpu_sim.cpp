#include "lib/gpu/gpu_sim.hpp"

#include <cerrno>
#include <chrono>
#include <string>
#include <system_error>

#include "lib/core/descriptor.hpp"
#include "lib/gpu/device_failure.hpp"
#include "proto/line.hpp"

namespace gar {
namespace {

constexpr const char* submit_call = "sim_queue_submit";
constexpr const char* record_call = "sim_queue_record";

using steady = std::chrono::steady_clock;

// steady_clock is CLOCK_MONOTONIC, and what a condition variable can wait for.
instant now() {
  return {static_cast<uint64_t>(steady::now().time_since_epoch() / std::chrono::nanoseconds(1))};
}

instant deadline_of(uint64_t timeout_ns) {
  return timeout_ns == UINT64_MAX ? instant::never() : now() + duration{timeout_ns};
}

// An instant that steady_clock can say; what lies beyond its range never comes anyhow.
bool representable(instant at) {
  return at.ns < static_cast<uint64_t>(steady::duration::max().count());
}

steady::time_point point_of(instant at) {
  return steady::time_point(std::chrono::nanoseconds(at.ns));
}

// Waits for `changed` until `holds` or the deadline; what `holds` says then.
template <class Condition>
bool wait_for(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
              instant deadline, Condition holds) {
  if (representable(deadline)) return changed.wait_until(lock, point_of(deadline), holds);
  changed.wait(lock, holds);
  return true;
}

uint64_t* target_of(const gar_device_store& store) {
  return reinterpret_cast<uint64_t*>(static_cast<char*>(store.page->host) + store.offset_bytes);
}

}  // namespace

// ---- The device: one thread, and which queue is due when.

result<std::unique_ptr<sim_device>> sim_device::create(void (*prepare_thread)()) {
  std::unique_ptr<sim_device> device(new sim_device);
  try {
    device->thread_ = std::thread([d = device.get(), prepare_thread] {
      if (prepare_thread) prepare_thread();
      d->run();
    });
  } catch (const std::system_error& failed) {
    return error(errc::SystemCall, {"pthread_create", failed.code().message()},
                 failed.code().value());
  }
  return device;
}

sim_device::~sim_device() {
  {
    std::lock_guard hold(lock_);
    GAR_ASSERT(due_.empty());
    stopping_ = true;
  }
  earlier_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void sim_device::run() {
  std::unique_lock hold(lock_);
  while (!stopping_) {
    if (due_.empty() || !representable(due_.begin()->first)) {
      earlier_.wait(hold);
      continue;
    }
    auto [due, queue] = *due_.begin();
    const instant at = now();
    if (due > at) {
      earlier_.wait_until(hold, point_of(due));
      continue;
    }
    forget(*queue);
    queue->advance(at);
  }
}

void sim_device::schedule(sim_queue& queue, instant due) {
  forget(queue);
  queue.due_ = due;
  queue.scheduled_ = true;
  auto [place, inserted] = due_.emplace(due, &queue);
  GAR_ASSERT(inserted);
  if (place == due_.begin()) earlier_.notify_one();
}

void sim_device::forget(sim_queue& queue) {
  if (!queue.scheduled_) return;
  due_.erase({queue.due_, &queue});
  queue.scheduled_ = false;
}

// ---- The queue: what is enqueued, and when it will run.

sim_queue::sim_queue(sim_device& device) : device_(device) {}

sim_queue::~sim_queue() {
  std::lock_guard hold(device_.lock_);
  device_.forget(*this);
}

result<void> sim_queue::submit(uint64_t duration_ns, uint64_t* truth, uint64_t value) {
  std::lock_guard hold(device_.lock_);
  if (items_.size() >= sim_items_max) {
    return error(errc::Backend, {submit_call, std::to_string(ENOSPC)}, ENOSPC);
  }
  work_unrecorded_ = true;
  work_runs_ = !doomed_;
  if (doomed_) return {};
  const pending_fault fault = std::exchange(work_fault_, {});
  work_starts_ = std::max(ends_, now());
  ends_ = work_starts_ + duration{duration_ns};
  if (fault.set) {
    doomed_ = true;
    status_ = static_cast<int32_t>(fault.value);
  }
  items_.push_back({.at = ends_, .fails = fault.set, .truth = truth, .value = value});
  reschedule();
  return {};
}

result<void> sim_queue::fault(sim_fault what, uint64_t value) {
  std::lock_guard hold(device_.lock_);
  switch (what) {
    case sim_fault::device_error:
      work_fault_ = {what, value, true};
      return {};
    case sim_fault::lost_store:
    case sim_fault::late_store:
    case sim_fault::early_store:
    case sim_fault::arm_error:
      record_fault_ = {what, value, true};
      return {};
  }
  return error(errc::InvalidArgument,
               {"fault", std::to_string(static_cast<int>(what)) + " is not a fault"});
}

int sim_queue::arm(uint64_t sequence, const gar_device_store& word, const gar_device_store* bell,
                   gar_device_failure* failure) {
  if (!store_fits(word) || (bell && !store_fits(*bell))) {
    return device_failed(failure, EINVAL, record_call);
  }
  std::lock_guard hold(device_.lock_);
  const pending_fault fault = std::exchange(record_fault_, {});
  if (fault.set && fault.what == sim_fault::arm_error) {
    return device_failed(failure, static_cast<int32_t>(fault.value), record_call);
  }
  if (items_.size() >= sim_items_max) return device_failed(failure, ENOSPC, record_call);
  if (!follows(sequence)) return device_failed(failure, EBUSY, record_call);
  last_armed_ = sequence;
  work_unrecorded_ = false;
  const instant at = now();
  enqueue_stores(sequence, at, fault, word, bell);
  if (!doomed_) {
    ends_ = std::max(ends_, at);
    items_.push_back({.at = ends_, .record = true, .value = sequence});
    ++records_waiting_;
  }
  reschedule();
  return 0;
}

// Makes `sequence` the next number of the count, or the first of a new one where the last count is
// over. False: records of another count are still to execute.
bool sim_queue::follows(uint64_t sequence) {
  if (counting_ && !reached(last_armed_, sequence)) return true;
  if (records_waiting_ > 0) return false;
  counting_ = true;
  done_.store(sequence - 1, std::memory_order_release);
  recorded_.store(true, std::memory_order_release);
  return true;
}

void sim_queue::enqueue_stores(uint64_t sequence, instant at, const pending_fault& fault,
                               const gar_device_store& word, const gar_device_store* bell) {
  const bool early = fault.set && fault.what == sim_fault::early_store;
  if (fault.set && fault.what == sim_fault::lost_store) return;
  // Behind work that fails nothing lands, except what lands when that very work starts.
  if (doomed_ && !(early && work_runs_)) return;

  landing store{.at = std::max(ends_, at), .sequence = sequence};
  if (fault.set && fault.what == sim_fault::late_store) store.at = store.at + duration{fault.value};
  if (early) store.at = std::max(work_starts_, at);
  store.word = target_of(word);
  store.word_value = word.value;
  if (bell) {
    store.bell = target_of(*bell);
    store.bell_value = bell->value;
  }
  if (early) {
    for (landing& before : stores_) before.at = std::min(before.at, store.at);
  }
  stores_.push_back(store);
}

uint64_t sim_queue::stored_ns(uint64_t sequence) const {
  std::lock_guard hold(device_.lock_);
  for (auto at = landed_.rbegin(); at != landed_.rend(); ++at) {
    if (at->first == sequence) return at->second;
  }
  return 0;
}

// ---- Running, on the device's thread.

void sim_queue::advance(instant at) {
  while (!items_.empty() && items_.front().at <= at) {
    const item ended = items_.front();
    items_.pop_front();
    end(ended);
  }
  while (!stores_.empty() && stores_.front().at <= at) {
    land(stores_.front());
    stores_.pop_front();
  }
  reschedule();
  progressed_.notify_all();
}

void sim_queue::end(const item& ended) {
  if (ended.record) {
    --records_waiting_;
    done_.store(ended.value, std::memory_order_release);
  } else if (ended.fails) {
    failed_.store(true, std::memory_order_release);
  } else if (ended.truth) {
    proto::store_word(*ended.truth, ended.value);
  }
}

void sim_queue::land(const landing& store) {
  // Read before the store, so that nobody is seen to have woken before what woke them.
  landed_.emplace_back(store.sequence, now().ns);
  if (landed_.size() > sim_landings_max) landed_.pop_front();
  proto::store_word(*store.word, store.word_value);
  if (store.bell) proto::store_word(*store.bell, store.bell_value);
}

void sim_queue::reschedule() {
  instant due = instant::never();
  if (!items_.empty()) due = std::min(due, items_.front().at);
  if (!stores_.empty()) due = std::min(due, stores_.front().at);
  if (items_.empty() && stores_.empty()) return device_.forget(*this);
  if (scheduled_ && due_ == due) return;
  device_.schedule(*this, due);
}

// ---- Asking.

int sim_queue::query(uint64_t sequence, gar_device_failure* failure) const {
  // The failure first: once it is seen, nothing more is counted done, so `done_` is final.
  const bool failed = failed_.load(std::memory_order_acquire);
  if (recorded_.load(std::memory_order_acquire) &&
      reached(done_.load(std::memory_order_acquire), sequence)) {
    return GAR_DONE;
  }
  return failed ? device_failed(failure, status_, submit_call) : GAR_PENDING;
}

int sim_queue::block(uint64_t sequence, uint64_t timeout_ns, gar_device_failure* failure) {
  int answer = GAR_PENDING;
  const auto answered = [&] {
    answer = query(sequence, failure);
    return answer != GAR_PENDING;
  };
  if (answered()) return answer;
  std::unique_lock hold(device_.lock_);
  wait_for(progressed_, hold, deadline_of(timeout_ns), answered);
  return answer;
}

int sim_queue::poll(uint64_t sequence, uint64_t timeout_ns, gar_device_failure* failure) const {
  const instant deadline = deadline_of(timeout_ns);
  for (;;) {
    const int answer = query(sequence, failure);
    if (answer != GAR_PENDING || now() >= deadline) return answer;
  }
}

int sim_queue::idle(gar_device_failure* failure) const {
  std::lock_guard hold(device_.lock_);
  if (failed_.load(std::memory_order_relaxed)) return device_failed(failure, status_, submit_call);
  return work_unrecorded_ && !items_.empty() ? GAR_PENDING : GAR_DONE;
}

int sim_queue::settle(gar_device_failure*) {
  std::unique_lock hold(device_.lock_);
  progressed_.wait(hold, [this] { return stores_.empty() && records_waiting_ == 0; });
  return 0;
}

const gar_device_ops* sim_ops() {
  static constexpr auto queue = [](void* stream) { return static_cast<sim_queue*>(stream); };
  static const gar_device_ops ops{
      .struct_bytes = sizeof(gar_device_ops),
      .name = "sim",
      // The device is this process: a page is known as soon as it is mapped.
      .map = [](void*, void* host, size_t, void** mapping, gar_device_failure*) -> int {
        *mapping = host;
        return 0;
      },
      .unmap = [](void*, void*) -> int { return 0; },
      .arm = [](void* stream, uint64_t sequence, const gar_device_store* word,
                const gar_device_store* bell, gar_device_failure* failure) -> int {
        return queue(stream)->arm(sequence, *word, bell, failure);
      },
      .query = [](void* stream, uint64_t sequence, gar_device_failure* failure) -> int {
        return queue(stream)->query(sequence, failure);
      },
      .block = [](void* stream, uint64_t sequence, uint64_t timeout_ns, gar_device_failure* failure)
          -> int { return queue(stream)->block(sequence, timeout_ns, failure); },
      .poll = [](void* stream, uint64_t sequence, uint64_t timeout_ns, gar_device_failure* failure)
          -> int { return queue(stream)->poll(sequence, timeout_ns, failure); },
      .park = nullptr,  // its words are plain memory: the library parks on them best
      .idle = [](void* stream, gar_device_failure* failure) -> int {
        return queue(stream)->idle(failure);
      },
      .settle = [](void* stream, gar_device_failure* failure) -> int {
        return queue(stream)->settle(failure);
      },
  };
  return &ops;
}

}  // namespace gar
