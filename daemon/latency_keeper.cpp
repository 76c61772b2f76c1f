#include "daemon/latency_keeper.hpp"

#include <algorithm>
#include <system_error>

#include "daemon/log.hpp"
#include "lib/linux/futex.hpp"
#include "lib/linux/signals_blocked.hpp"
#include "lib/linux/thread_placement.hpp"

namespace gar {

latency_keeper::latency_keeper(bool wanted, const char* device) : wanted_(wanted) {
  if (!wanted) return;
  result<cpu_latency> opened = cpu_latency::open(device);
  if (!opened) {
    refuse(opened.error());
    return;
  }
  device_ = std::move(*opened);
  const signals_blocked during;
  try {
    active_.store(true);
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& e) {
    refuse(error(errc::SystemCall, {"pthread_create", e.code().message()}, e.code().value()));
  }
}

latency_keeper::~latency_keeper() {
  if (!thread_.joinable()) return;
  stopping_.store(true);
  wake();
  thread_.join();
}

void latency_keeper::begin() {
  due_.fetch_add(1, std::memory_order_seq_cst);
  if (active_.load(std::memory_order_relaxed) && !held_.load(std::memory_order_seq_cst)) wake();
}

void latency_keeper::end() {
  last_due_ns_.store(steady_clock().now().ns, std::memory_order_relaxed);
  due_.fetch_sub(1, std::memory_order_release);
}

cpu_latency_snapshot latency_keeper::snapshot() const {
  cpu_latency_snapshot s;
  s.requested = wanted_;
  s.held = held_.load(std::memory_order_relaxed);
  s.changes = changes_.load(std::memory_order_relaxed);
  const std::lock_guard hold(lock_);
  s.refused = refused_;
  return s;
}

void latency_keeper::run() {
  name_thread("gard-latency");
  steady_clock clock;
  latency_hold hold;
  while (!stopping_.load()) {
    const uint32_t seen = std::atomic_ref<uint32_t>(news_).load(std::memory_order_acquire);
    const instant now = clock.now();
    if (due_.load(std::memory_order_seq_cst) > 0) {
      hold.due(now);
    } else if (const uint64_t last_ns = last_due_ns_.load(std::memory_order_relaxed)) {
      hold.due({last_ns});
    }
    act(hold.step(now));
    if (!device_) return;
    // Not held: whoever counts from here on sees it and wakes.
    if (!hold.held() && due_.load(std::memory_order_seq_cst) > 0) continue;
    futex_wait(news_, seen, hold.next());
  }
  device_.reset();  // closed is released
}

void latency_keeper::act(latency_hold::change what) {
  if (what == latency_hold::change::none) return;
  const bool holds = what == latency_hold::change::hold;
  held_.store(holds, std::memory_order_seq_cst);
  result<void> done = holds ? device_->hold() : device_->release();
  if (!done) {
    device_.reset();
    held_.store(false);
    return refuse(done.error());
  }
  changes_.fetch_add(1, std::memory_order_relaxed);
  say(holds, std::nullopt);
}

void latency_keeper::tell(changed_function changed) {
  const std::lock_guard hold(telling_);
  changed_ = std::move(changed);
}

void latency_keeper::say(bool held, const std::optional<error>& refused) {
  const std::lock_guard hold(telling_);
  if (changed_) changed_(held, refused);
}

void latency_keeper::refuse(const error& why) {
  active_.store(false);
  log(log_level::error, "latency.cpu_dma_latency: " + why.headline());
  say(false, why);
  const std::lock_guard hold(lock_);
  refused_ = why.text();
}

void latency_keeper::wake() {
  std::atomic_ref<uint32_t>(news_).fetch_add(1, std::memory_order_release);
  futex_wake(news_);
}

}  // namespace gar
