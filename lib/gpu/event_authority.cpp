#include "lib/gpu/event_authority.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "lib/core/query_pace.hpp"
#include "lib/gpu/patient_thread.hpp"
#include "lib/gpu/process_exit.hpp"

namespace gar {
namespace {

using steady = std::chrono::steady_clock;

constexpr const char* unrecorded_call = "a wait for a number that was never recorded";
constexpr duration pause_most = from_ms(1);
constexpr duration patience = from_us(200);  // of an impatient thread, for one answer

uint64_t elapsed_ns(steady::time_point since) {
  return static_cast<uint64_t>((steady::now() - since) / std::chrono::nanoseconds(1));
}

}  // namespace

event_authority::~event_authority() {
  std::unique_lock hold(lock_);
  answered_.wait(hold, [this] { return !asked_elsewhere_; });
  if (process_is_exiting() || domain_->lost()) return;
  const driver_place place(driver_, domain_->id());
  if (!place.entered()) return;
  for (const event_ring::slot& slot : ring_.slots()) (void)driver_.destroy_event(slot.event);
}

// ---- For whoever records.

std::optional<uint64_t> event_authority::oldest_if_full() {
  std::lock_guard hold(lock_);
  if (!ring_.full()) return std::nullopt;
  return ring_.oldest();
}

// A new event only where every other one is in use: in the long run there are enough.
driver_status event_authority::take(event_ring::slot*& taken) {
  {
    std::lock_guard hold(lock_);
    taken = ring_.take();
  }
  if (taken) return {};
  const driver_place place(driver_, domain_->id());
  if (!place.entered()) return place.entered();
  void* event = nullptr;
  const driver_status made = driver_.create_event(event);
  if (!made) return made;
  std::lock_guard hold(lock_);
  taken = ring_.add(event);
  return made;
}

void event_authority::give_back(event_ring::slot* taken) {
  std::lock_guard hold(lock_);
  ring_.give_back(taken);
}

void event_authority::aim(const unproven_count& page, uint64_t sequence) {
  std::lock_guard hold(lock_);
  unproven_.aim(page, sequence);
}

void event_authority::publish(uint64_t sequence, event_ring::slot* taken) {
  std::lock_guard hold(lock_);
  ring_.publish(sequence, taken);
}

void event_authority::landed() {
  std::lock_guard hold(lock_);
  if (ring_.ever_recorded()) ring_.confirm(ring_.last());
  unproven_.prove_all();
}

// ---- What is known without asking.

std::optional<int> event_authority::known(uint64_t sequence, gar_device_failure* failure) {
  if (ring_.is_confirmed(sequence)) return GAR_DONE;
  if (failure_) return failure_.repeat(failure);
  if (process_is_exiting()) return GAR_PENDING;
  return std::nullopt;
}

std::optional<int> event_authority::failed(gar_device_failure* failure) {
  std::lock_guard hold(lock_);
  if (!failure_) return std::nullopt;
  return failure_.repeat(failure);
}

int event_authority::fail(const driver_status& status, gar_device_failure* failure) {
  if (driver_.domain_is_gone(status.number)) domain_->lose();
  std::string text = driver_.text_of(status.number);
  std::lock_guard hold(lock_);
  failure_.note(status, std::move(text));
  return failure_.repeat(failure);
}

// ---- Asking.

// The event that answers for `sequence`, kept for asking it; or the answer, where it is known.
std::optional<int> event_authority::pin(uint64_t sequence, event_ring::record& asked,
                                        gar_device_failure* failure) {
  std::lock_guard hold(lock_);
  if (std::optional<int> answer = known(sequence, failure)) return answer;
  const std::optional<event_ring::record> found = ring_.pin(sequence);
  if (!found) return device_failed(failure, EINVAL, unrecorded_call);
  asked = *found;
  return std::nullopt;
}

// What a driver's answer about an event means; the event is not being asked any more.
int event_authority::learn(const event_ring::record& asked, const driver_status& answer,
                           gar_device_failure* failure) {
  const bool wait = not_yet(answer);
  std::unique_lock hold(lock_);
  ring_.unpin(asked);
  if (answer) {
    ring_.confirm(asked.sequence);
    unproven_.prove_before(asked.sequence);
    return GAR_DONE;
  }
  // It may have been seen done by somebody else meanwhile.
  if (ring_.is_confirmed(asked.sequence)) return GAR_DONE;
  if (wait) return GAR_PENDING;
  hold.unlock();
  return fail(answer, failure);
}

bool event_authority::asks_elsewhere() const {
  return driver_.query_may_block() && thread_is_impatient();
}

int event_authority::query(uint64_t sequence, gar_device_failure* failure) {
  return asks_elsewhere() ? query_elsewhere(sequence, failure) : query_here(sequence, failure);
}

int event_authority::query_here(uint64_t sequence, gar_device_failure* failure) {
  std::optional<event_ring::record> asked;
  {
    std::lock_guard hold(lock_);
    if (std::optional<int> answer = known(sequence, failure)) return *answer;
    asked = ring_.pin(sequence);
    if (!asked) return GAR_PENDING;
  }
  driver_status answer;
  {
    const driver_place place(driver_, domain_->id());
    answer = place.entered() ? driver_.query_event(asked->in->event) : place.entered();
  }
  return learn(*asked, answer, failure);
}

int event_authority::query_elsewhere(uint64_t sequence, gar_device_failure* failure) {
  std::unique_lock hold(lock_);
  if (std::optional<int> answer = known(sequence, failure)) return *answer;
  if (!asked_elsewhere_) {
    asked_elsewhere_ = true;
    const bool posted = post_to_patient_thread([this, sequence] {
      (void)query_here(sequence, nullptr);
      std::lock_guard done(lock_);
      asked_elsewhere_ = false;
      answered_.notify_all();
    });
    if (!posted) {
      asked_elsewhere_ = false;
      return GAR_PENDING;  // there is no thread that could ask; the next call tries again
    }
  }
  answered_.wait_for(hold, std::chrono::nanoseconds(patience.ns),
                     [this] { return !asked_elsewhere_; });
  return known(sequence, failure).value_or(GAR_PENDING);
}

int event_authority::block(uint64_t sequence, uint64_t timeout_ns, gar_device_failure* failure) {
  // The vendor's blocking wait knows no timeout.
  if (timeout_ns != UINT64_MAX) return wait_by_query(sequence, timeout_ns, failure);
  event_ring::record asked{};
  if (std::optional<int> answer = pin(sequence, asked, failure)) return *answer;
  driver_status answer;
  {
    const driver_place place(driver_, domain_->id());
    answer = place.entered() ? driver_.synchronize_event(asked.in->event) : place.entered();
  }
  const int ended = learn(asked, answer, failure);
  return ended == GAR_PENDING ? wait_by_query(sequence, timeout_ns, failure) : ended;
}

int event_authority::wait_by_query(uint64_t sequence, uint64_t timeout_ns,
                                   gar_device_failure* failure) {
  const steady::time_point start = steady::now();
  query_pace pace(pause_most);
  for (;;) {
    const int answer = query_here(sequence, failure);
    if (answer != GAR_PENDING) return answer;
    const uint64_t passed_ns = elapsed_ns(start);
    if (passed_ns >= timeout_ns) return GAR_PENDING;
    const duration pause = std::min(pace.next(), duration{timeout_ns - passed_ns});
    std::this_thread::sleep_for(std::chrono::nanoseconds(pause.ns));
  }
}

int event_authority::poll(uint64_t sequence, uint64_t timeout_ns, gar_device_failure* failure) {
  constexpr int queries_per_look = 16;  // at the clock
  event_ring::record asked{};
  if (std::optional<int> answer = pin(sequence, asked, failure)) return *answer;
  driver_status answer;
  {
    const driver_place place(driver_, domain_->id());
    answer = place.entered();
    const steady::time_point start = steady::now();
    for (bool more = bool(answer); more;) {
      for (int i = 0; i < queries_per_look && more; ++i) {
        answer = driver_.query_event(asked.in->event);
        more = not_yet(answer);
      }
      more = more && elapsed_ns(start) < timeout_ns && !process_is_exiting();
    }
  }
  return learn(asked, answer, failure);
}

}  // namespace gar
