#include "clients/garclient/service_thread.hpp"

#include <pthread.h>

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

#include "lib/core/query_pace.hpp"
#include "lib/gpu/patient_thread.hpp"
#include "lib/linux/signals_blocked.hpp"
#include "lib/linux/timer_slack.hpp"

namespace gar::owner {
namespace {

// One piece of work without memory must not cost the program its thread, nor its life.
template <class F>
void surviving(F&& work) {
  try {
    work();
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace

// The thread's idle port: it sleeps on descriptors, and looks at armed words between short sleeps,
// because no store by a device ends a sleep in the kernel.
class service_thread::idle {
 public:
  explicit idle(service_thread& owner) : owner_(&owner) {}

  void prepare() {}
  void expect() {}
  template <class Complete>
  void park(instant until, Complete&& complete) {
    query_pace pace(from_ms(1));
    for (;;) {
      if (complete()) return;
      const instant now = owner_->clock_.now();
      if (now >= until) return;
      owner_->wait_until(std::min(until, now + pace.next()));
      if (owner_->woken()) return;
    }
  }
  void sleep_until(instant at) { owner_->wait_until(at); }
  void block() { owner_->wait_until(instant::never()); }

 private:
  service_thread* owner_;
};

result<void> service_thread::start() {
  if (running()) return {};
  std::lock_guard lock(start_lock_);
  if (running()) return {};
  result<event_fd> kick = event_fd::make();
  if (!kick) return kick.error();
  kick_ = std::move(*kick);
  const signals_blocked during;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& e) {
    return error(errc::SystemCall, {"pthread_create", e.code().message()}, e.code().value());
  }
  running_.store(true, std::memory_order_release);
  return {};
}

void service_thread::stop() {
  std::lock_guard lock(start_lock_);
  if (!running()) return;
  {
    std::lock_guard posts(posts_lock_);
    stopping_ = true;
  }
  kick_->raise();
  thread_.join();
  running_.store(false, std::memory_order_release);
}

void service_thread::post(std::function<void()> work) {
  bool first = false;
  {
    std::lock_guard lock(posts_lock_);
    first = posts_.empty();
    posts_.push_back(std::move(work));
  }
  if (first) kick_->raise();
}

void service_thread::await_turn() noexcept {
  std::unique_lock lock(posts_lock_);
  const uint64_t mine = ++turns_asked_;
  kick_->raise();
  turn_begun_.wait(lock, [&] { return turns_begun_ >= mine; });
}

void service_thread::need_by(instant due) {
  // Before it sleeps the thread first announces an endless sleep and then asks what is due. So it
  // either finds what the caller has just added, or is seen to sleep too long here.
  if (running() && sleeps_until_ns_.load(std::memory_order_seq_cst) > due.ns) kick_->raise();
}

bool service_thread::take_ready(int fd) {
  for (watched_fd& w : watched()) {
    if (w.fd == fd) return std::exchange(w.ready, false);
  }
  return false;
}

duration service_thread::cpu_time() const {
  if (!running()) return {};
  return steady_clock::cpu_time_of(const_cast<std::thread&>(thread_).native_handle());
}

bool service_thread::woken() {
  const std::span<watched_fd> all = watched();
  return std::any_of(all.begin(), all.end(), [](const watched_fd& w) { return w.ready; });
}

void service_thread::run() {
  pthread_setname_np(pthread_self(), "gar-service");
  mark_thread_impatient();  // a driver that is slow to answer must not hold up gard's probes
  (void)set_timer_slack_ns(timer_slack_ns_least);  // where refused, sleeps are a little longer
  reactor_.advance(clock_.now());
  idle idles(*this);
  for (bool stopping = false;;) {
    const turned how = turn(reactor_, clock_, idles, [&] {
      // Tasks that are always ready must not keep gard's messages waiting.
      if (!std::exchange(looked_, false)) look(instant{});
      const bool posted = take_posts();
      bool served = true;
      surviving([&] { served = duties_.serve(); });
      return served || posted;
    });
    // Each task catches what it can and tells whom it concerns; what leaves one all the same has
    // nobody left to tell.
    (void)reactor_.take_failure();
    if (!stopping) {
      std::lock_guard lock(posts_lock_);
      stopping = stopping_ && posts_.empty();
    }
    if (stopping && reactor_.tasks() == 0) return;
    if (how == turned::empty && !stopping) idles.block();
  }
}

bool service_thread::take_posts() {
  std::vector<std::function<void()>> work;
  uint64_t asked = 0;
  {
    std::lock_guard lock(posts_lock_);
    work.swap(posts_);
    asked = turns_asked_;
  }
  for (std::function<void()>& w : work) surviving(w);
  std::lock_guard lock(posts_lock_);
  if (turns_begun_ < asked) {
    turns_begun_ = asked;
    turn_begun_.notify_all();
  }
  return !work.empty();
}

void service_thread::wait_until(instant until) {
  sleeps_until_ns_.store(duration::ns_max, std::memory_order_seq_cst);
  const instant wake_at = std::min(until, duties_.due());
  sleeps_until_ns_.store(wake_at.ns, std::memory_order_seq_cst);
  look(wake_at);
  looked_ = true;
}

// At the descriptors, until one is ready or `until`.
void service_thread::look(instant until) {
  watched_.front().fd = kick_->fd();
  watched_count_ = 1 + duties_.watched(std::span(watched_).subspan(1));
  wait_readable(watched(), until);
  if (watched_.front().ready) kick_->lower();
}

}  // namespace gar::owner
