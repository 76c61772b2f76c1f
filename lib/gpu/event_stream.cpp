#include "lib/gpu/event_stream.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <sstream>

#include "lib/core/query_pace.hpp"
#include "lib/gpu/device_failure.hpp"
#include "lib/gpu/patient_thread.hpp"
#include "lib/gpu/process_exit.hpp"
#include "proto/line.hpp"

namespace gar {
namespace {

using steady = std::chrono::steady_clock;

constexpr const char* exiting_call = "a call while the process exits";
constexpr const char* unrecorded_call = "a wait for a number that was never recorded";
constexpr duration pause_most = from_ms(1);
constexpr duration patience = from_us(200);  // of an impatient thread, for one answer
constexpr duration word_patience = from_ms(1000);

uint64_t elapsed_ns(steady::time_point since) {
  return static_cast<uint64_t>((steady::now() - since) / std::chrono::nanoseconds(1));
}

void pause(duration time) {
  std::this_thread::sleep_for(std::chrono::nanoseconds(time.ns));
}

std::string name_of(std::thread::id thread) {
  std::ostringstream text;
  text << "thread " << thread;
  return text.str();
}

page_mapping& mapping_of(const gar_device_store& store) {
  return *static_cast<page_mapping*>(store.page->mapping);
}

device_store seen_by_device(const gar_device_store& store) {
  return {mapping_of(store).address + store.offset_bytes, store.value};
}

const uint64_t* host_word(const gar_device_store& store) {
  return reinterpret_cast<const uint64_t*>(static_cast<char*>(store.page->host) +
                                           store.offset_bytes);
}

error backend(const stream_driver& driver, const driver_status& status) {
  return error(
      errc::Backend,
      {status.call, std::to_string(status.number) + " (" + driver.text_of(status.number) + ")"},
      status.number);
}

// The domain that a stream handle means on this thread.
result<domain_id> owner_of(const stream_driver& driver, void* handle) {
  const driver_place place(driver, {});
  if (!place.entered()) return backend(driver, place.entered());
  domain_id owner;
  if (driver_status asked = driver.domain_of(handle, owner); !asked) return backend(driver, asked);
  return owner;
}

}  // namespace

result<std::unique_ptr<event_stream>> event_stream::open(event_domains& domains, void* handle,
                                                         make_scratch_page* scratch) {
  watch_process_exit();
  const stream_driver& driver = domains.driver();
  result<std::shared_ptr<event_domain>> domain = domains.at_current();
  if (!domain) return domain.error();
  result<domain_id> owner = owner_of(driver, handle);
  if (!owner) return owner.error();
  if (*owner != (*domain)->id()) domain = domains.renewed(*domain);
  if (!domain) return domain.error();
  if (*owner != (*domain)->id()) {
    return error(errc::ForeignStream,
                 {driver.domain_text(*owner), driver.domain_text((*domain)->id())});
  }
  result<probed_store> stores = domains.stores_in(*domain, scratch);
  if (!stores) return stores.error();
  std::unique_ptr<event_stream> stream(new event_stream(*domain, handle, std::move(*stores)));
  const driver_place place(driver, (*domain)->id());
  if (!place.entered()) return backend(driver, place.entered());
  if (driver_status made = driver.create_event(stream->settle_event_); !made) {
    return backend(driver, made);
  }
  return stream;
}

event_stream::event_stream(std::shared_ptr<event_domain> domain, void* handle, probed_store stores)
    : domain_(std::move(domain)),
      driver_(domain_->all().driver()),
      handle_(handle),
      kind_(driver_.kind_of(handle)),
      stores_(std::move(stores)) {}

event_stream::~event_stream() {
  std::unique_lock hold(state_);
  answered_.wait(hold, [this] { return !asked_elsewhere_; });
  if (process_is_exiting() || domain_->lost()) return;
  const driver_place place(driver_, domain_->id());
  if (!place.entered()) return;
  for (const event_ring::slot& slot : ring_.slots()) (void)driver_.destroy_event(slot.event);
  if (settle_event_) (void)driver_.destroy_event(settle_event_);
}

// ---- Recording. Everything that may refuse comes before the first call that enqueues.

int event_stream::arm(uint64_t sequence, const gar_device_store& word, const gar_device_store* bell,
                      gar_device_failure* failure) {
  if (!store_fits(word) || (bell && !store_fits(*bell))) {
    return device_failed(failure, EINVAL, "a store outside its page");
  }
  if (process_is_exiting()) return device_failed(failure, EPERM, exiting_call);
  if (int refused = make_room(failure); refused != 0) return refused;
  if (int refused = refuse_elsewhere(failure); refused != 0) return refused;

  thread_state before;
  const driver_status moved = driver_.make_current(domain_->id(), before);
  if (!moved) return fail_record(moved, failure);
  int answer = refuse_capturing(failure);
  if (answer == 0) {
    event_ring::slot* in = nullptr;
    driver_status enqueued = take_event(in);
    if (enqueued) {
      // From here on something may be pending, whatever becomes of the record.
      std::lock_guard hold(state_);
      touched_ = true;
      aim(word, sequence);
      if (bell) aim(*bell, sequence);
    }
    if (enqueued) enqueued = enqueue(*in, word, bell);
    if (enqueued) {
      std::lock_guard hold(state_);
      ring_.publish(sequence, in);
      last_word_ = host_word(word);
    } else {
      answer = fail_record(enqueued, failure);
      driver_.forget_error();
      std::lock_guard hold(state_);
      if (in) ring_.give_back(in);
    }
  }
  driver_.leave(before);
  return answer;
}

int event_stream::make_room(gar_device_failure* failure) {
  std::unique_lock hold(state_);
  if (failure_) return repeat(*failure_, failure);
  if (record_failure_) return repeat(*record_failure_, failure);
  if (!ring_.full()) return 0;
  const uint64_t oldest = ring_.oldest();
  hold.unlock();
  const int answer = query(oldest, failure);
  if (answer == GAR_DONE) return 0;
  if (answer == GAR_FAILED) return answer;
  return device_refused(failure, errc::LimitRecords,
                        std::to_string(proto::records_unconfirmed_max));
}

// The handles of default streams mean something else on another thread or in another domain.
int event_stream::refuse_elsewhere(gar_device_failure* failure) {
  if (kind_ == stream_kind::own) return 0;
  domain_id current;
  const driver_status asked = driver_.current_domain(current, false);
  if (!asked && !driver_.domain_is_gone(asked.number)) return fail_record(asked, failure);
  if (!asked || !current) {
    driver_.forget_error();
    return device_refused(failure, errc::NoDomain, "the calling thread");
  }
  if (current != domain_->id()) {
    return device_refused(failure, errc::ForeignStream, driver_.domain_text(current),
                          driver_.domain_text(domain_->id()));
  }
  if (kind_ != stream_kind::default_of_thread) return 0;
  std::lock_guard hold(state_);
  const std::thread::id here = std::this_thread::get_id();
  if (!thread_) thread_ = here;
  if (*thread_ == here) return 0;
  return device_refused(failure, errc::ForeignStream, name_of(here), name_of(*thread_));
}

int event_stream::refuse_capturing(gar_device_failure* failure) {
  bool capturing = false;
  const driver_status asked = driver_.is_capturing(handle_, capturing);
  if (asked && !capturing) return 0;
  driver_.forget_error();
  if (!asked && !driver_.refused_by_capture(asked.number)) return fail_record(asked, failure);
  const char* what = asked ? "the stream is being captured"
                           : "another stream is, which the default stream would have to wait for";
  return device_refused(failure, errc::Capturing, "recording", what);
}

// A new event only where every other one is in use: in the long run there are enough.
driver_status event_stream::take_event(event_ring::slot*& taken) {
  {
    std::lock_guard hold(state_);
    taken = ring_.take();
  }
  if (taken) return {};
  const driver_place place(driver_, domain_->id());
  if (!place.entered()) return place.entered();
  void* event = nullptr;
  const driver_status made = driver_.create_event(event);
  if (!made) return made;
  std::lock_guard hold(state_);
  taken = ring_.add(event);
  return made;
}

driver_status event_stream::enqueue(event_ring::slot& in, const gar_device_store& word,
                                    const gar_device_store* bell) {
  const driver_status recorded = driver_.record_event(in.event, handle_);
  if (!recorded || stores_.way == store_way::none) return recorded;
  return enqueue_stores(word, bell);
}

driver_status event_stream::enqueue_stores(const gar_device_store& word,
                                           const gar_device_store* bell) {
  std::array<device_store, 2> both{seen_by_device(word), {}};
  size_t count = 1;
  if (bell) both[count++] = seen_by_device(*bell);
  if (stores_.way == store_way::batch) {
    return driver_.store_batch(handle_, std::span(both).first(count));
  }
  for (size_t i = 0; i < count; ++i) {
    if (driver_status stored = driver_.store(handle_, both[i]); !stored) return stored;
  }
  return {};
}

// Notes that a store of `sequence` goes to that page.
void event_stream::aim(const gar_device_store& store, uint64_t sequence) {
  if (stores_.way == store_way::none) return;
  const unproven_count& unproven = mapping_of(store).unproven;
  for (store_target& target : targets_) {
    if (target.unproven != unproven) continue;
    target.last = sequence;
    return;
  }
  unproven->fetch_add(1);
  targets_.push_back({unproven, sequence});
}

// Stores of a stream land in order, each before the event of the next record is done.
void event_stream::prove_before(uint64_t sequence) {
  std::erase_if(targets_, [sequence](const store_target& target) {
    if (target.last == sequence || !reached(sequence, target.last)) return false;
    target.unproven->fetch_sub(1);
    return true;
  });
}

void event_stream::prove_all() {
  for (const store_target& target : targets_) target.unproven->fetch_sub(1);
  targets_.clear();
}

// ---- Asking.

std::optional<int> event_stream::known(uint64_t sequence, gar_device_failure* failure) {
  if (ring_.is_confirmed(sequence)) return GAR_DONE;
  if (failure_) return repeat(*failure_, failure);
  if (process_is_exiting()) return GAR_PENDING;
  return std::nullopt;
}

std::optional<event_ring::record> event_stream::pin(uint64_t sequence) {
  std::lock_guard hold(state_);
  return ring_.pin(sequence);
}

// What a driver's answer about an event means; the event is not being asked any more.
int event_stream::learn(const event_ring::record& asked, const driver_status& answer,
                        gar_device_failure* failure) {
  const bool wait = driver_.pending(answer.number) || driver_.refused_by_capture(answer.number);
  std::unique_lock hold(state_);
  ring_.unpin(asked);
  if (answer) {
    ring_.confirm(asked.sequence);
    prove_before(asked.sequence);
    return GAR_DONE;
  }
  // It may have been seen done by somebody else meanwhile.
  if (ring_.is_confirmed(asked.sequence)) return GAR_DONE;
  if (wait) return GAR_PENDING;
  hold.unlock();
  return fail(answer, failure);
}

int event_stream::query(uint64_t sequence, gar_device_failure* failure) {
  if (driver_.query_may_block() && thread_is_impatient()) {
    return query_elsewhere(sequence, failure);
  }
  return query_here(sequence, failure);
}

int event_stream::query_here(uint64_t sequence, gar_device_failure* failure) {
  std::optional<event_ring::record> asked;
  {
    std::lock_guard hold(state_);
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

int event_stream::query_elsewhere(uint64_t sequence, gar_device_failure* failure) {
  std::unique_lock hold(state_);
  if (std::optional<int> answer = known(sequence, failure)) return *answer;
  if (!asked_elsewhere_) {
    asked_elsewhere_ = true;
    const bool posted = post_to_patient_thread([this, sequence] {
      (void)query_here(sequence, nullptr);
      std::lock_guard done(state_);
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

int event_stream::block(uint64_t sequence, uint64_t timeout_ns, gar_device_failure* failure) {
  // The vendor's blocking wait knows no timeout.
  if (timeout_ns != UINT64_MAX) return wait_by_query(sequence, timeout_ns, failure);
  {
    std::lock_guard hold(state_);
    if (std::optional<int> answer = known(sequence, failure)) return *answer;
  }
  const std::optional<event_ring::record> asked = pin(sequence);
  if (!asked) return device_failed(failure, EINVAL, unrecorded_call);
  driver_status answer;
  {
    const driver_place place(driver_, domain_->id());
    answer = place.entered() ? driver_.synchronize_event(asked->in->event) : place.entered();
  }
  const int ended = learn(*asked, answer, failure);
  return ended == GAR_PENDING ? wait_by_query(sequence, timeout_ns, failure) : ended;
}

int event_stream::wait_by_query(uint64_t sequence, uint64_t timeout_ns,
                                gar_device_failure* failure) {
  const steady::time_point start = steady::now();
  query_pace pace(pause_most);
  for (;;) {
    const int answer = query_here(sequence, failure);
    if (answer != GAR_PENDING) return answer;
    const uint64_t passed_ns = elapsed_ns(start);
    if (passed_ns >= timeout_ns) return GAR_PENDING;
    pause(std::min(pace.next(), duration{timeout_ns - passed_ns}));
  }
}

int event_stream::poll(uint64_t sequence, uint64_t timeout_ns, gar_device_failure* failure) {
  constexpr int queries_per_look = 16;  // at the clock
  std::optional<event_ring::record> asked;
  {
    std::lock_guard hold(state_);
    if (std::optional<int> answer = known(sequence, failure)) return *answer;
    asked = ring_.pin(sequence);
    if (!asked) return device_failed(failure, EINVAL, unrecorded_call);
  }
  const auto not_yet = [this](const driver_status& s) {
    return driver_.pending(s.number) || driver_.refused_by_capture(s.number);
  };
  driver_status answer;
  {
    const driver_place place(driver_, domain_->id());
    answer = place.entered();
    const steady::time_point start = steady::now();
    for (bool more = bool(answer); more;) {
      for (int i = 0; i < queries_per_look && more; ++i) {
        answer = driver_.query_event(asked->in->event);
        more = not_yet(answer);
      }
      more = more && elapsed_ns(start) < timeout_ns && !process_is_exiting();
    }
  }
  return learn(*asked, answer, failure);
}

int event_stream::idle(gar_device_failure* failure) {
  // A default stream would answer for whatever it means on this thread.
  if (kind_ != stream_kind::own) return GAR_PENDING;
  if (driver_.query_may_block() && thread_is_impatient()) return GAR_PENDING;
  {
    std::lock_guard hold(state_);
    if (failure_) return repeat(*failure_, failure);
    if (process_is_exiting()) return GAR_PENDING;
  }
  driver_status answer;
  {
    const driver_place place(driver_, domain_->id());
    bool capturing = false;
    answer = place.entered() ? driver_.is_capturing(handle_, capturing) : place.entered();
    // To query a stream that is being captured would spoil the capture.
    if (answer && capturing) return GAR_PENDING;
    if (answer) answer = driver_.query_stream(handle_);
  }
  if (answer) return GAR_DONE;
  if (driver_.pending(answer.number) || driver_.refused_by_capture(answer.number)) {
    return GAR_PENDING;
  }
  return fail(answer, failure);
}

// ---- Settling: an event behind the last stores says that they have landed.

int event_stream::settle(gar_device_failure* failure) {
  bool reachable = true;
  {
    std::lock_guard hold(state_);
    if (!touched_) return 0;
    if (failure_ && domain_->lost()) return repeat(*failure_, failure);
    if (kind_ == stream_kind::default_of_thread) {
      reachable = thread_ == std::this_thread::get_id();
    }
  }
  if (process_is_exiting()) return device_failed(failure, EPERM, exiting_call);
  return reachable ? settle_behind(failure) : settle_by_word(failure);
}

int event_stream::settle_behind(gar_device_failure* failure) {
  driver_status status;
  {
    const driver_place place(driver_, domain_->id());
    bool capturing = false;
    status = place.entered() ? driver_.is_capturing(handle_, capturing) : place.entered();
    if (status && !capturing) {
      status = driver_.record_event(settle_event_, handle_);
      if (status) status = driver_.synchronize_event(settle_event_);
      if (status) {
        std::lock_guard hold(state_);
        if (ring_.ever_recorded()) ring_.confirm(ring_.last());
        prove_all();
        return 0;
      }
    } else if (status) {
      status.number = 0;  // being captured: nothing may be recorded there
    }
  }
  if (status || driver_.refused_by_capture(status.number)) return settle_by_word(failure);
  return fail(status, failure);
}

// Where nothing more can be recorded: the last record's own event, then its word, in a while. That
// its bell has landed, too, is left to whoever unmaps its page.
int event_stream::settle_by_word(gar_device_failure* failure) {
  uint64_t last = 0;
  const uint64_t* word = nullptr;
  {
    std::lock_guard hold(state_);
    last = ring_.last();
    word = last_word_;
  }
  const int ended = block(last, UINT64_MAX, failure);
  if (ended != GAR_DONE) return GAR_FAILED;
  if (stores_.way == store_way::none) return 0;
  const steady::time_point start = steady::now();
  query_pace pace(pause_most);
  while (!reached(proto::load_word(*word), last)) {
    if (elapsed_ns(start) >= word_patience.ns) {
      return device_failed(failure, ETIMEDOUT, "a store that did not land");
    }
    pause(pace.next());
  }
  return 0;
}

// ---- Failing, once and for all.

int event_stream::fail_record(const driver_status& status, gar_device_failure* failure) {
  return note(record_failure_, status, failure);
}

int event_stream::fail(const driver_status& status, gar_device_failure* failure) {
  return note(failure_, status, failure);
}

int event_stream::note(std::optional<first_failure>& first, const driver_status& status,
                       gar_device_failure* failure) {
  if (driver_.domain_is_gone(status.number)) domain_->lose();
  std::string text = driver_.text_of(status.number);
  std::lock_guard hold(state_);
  if (!first) first = first_failure{status.number, status.call, std::move(text)};
  return repeat(*first, failure);
}

int event_stream::repeat(const first_failure& first, gar_device_failure* failure) {
  return device_failed(failure, first.status, first.call, first.text);
}

}  // namespace gar
