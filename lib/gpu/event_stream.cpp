#include "lib/gpu/event_stream.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <string>

#include "lib/core/query_pace.hpp"
#include "lib/gpu/device_failure.hpp"
#include "lib/gpu/process_exit.hpp"
#include "proto/line.hpp"

namespace gar {
namespace {

using steady = std::chrono::steady_clock;

constexpr const char* exiting_call = "a call while the process exits";
constexpr duration pause_most = from_ms(1);
constexpr duration word_patience = from_ms(1000);

// Each thread's own, never used again: std::thread::id is, once its thread has ended, and the next
// thread of that id has another default stream.
uint64_t this_thread() {
  static std::atomic<uint64_t> count{0};
  thread_local uint64_t number = 0;
  if (number == 0) number = ++count;
  return number;
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
      stores_(std::move(stores)),
      authority_(domain_) {}

event_stream::~event_stream() {
  if (!settle_event_ || process_is_exiting() || domain_->lost()) return;
  const driver_place place(driver_, domain_->id());
  if (place.entered()) (void)driver_.destroy_event(settle_event_);
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
  // A default stream is not refused where its domain is current.
  if (kind_ == stream_kind::own) {
    const driver_status moved = driver_.make_current(domain_->id(), before);
    if (!moved) return fail_record(moved, failure);
  }
  int answer = refuse_capturing(failure);
  if (answer == 0) answer = record(sequence, word, bell, failure);
  driver_.leave(before);
  return answer;
}

int event_stream::record(uint64_t sequence, const gar_device_store& word,
                         const gar_device_store* bell, gar_device_failure* failure) {
  event_ring::slot* in = nullptr;
  driver_status enqueued = authority_.take(in);
  if (enqueued) enqueued = driver_.record_event(in->event, handle_);
  // A capture has begun since it was looked for; nothing was enqueued yet.
  const bool refused = driver_.refused_by_capture(enqueued.number);
  if (enqueued) {
    // From here on stores may be pending, whatever becomes of the record.
    touched_ = true;
    aim(word, sequence);
    if (bell) aim(*bell, sequence);
    enqueued = enqueue_stores(word, bell);
  }
  if (enqueued) {
    authority_.publish(sequence, in);
    last_ = sequence;
    last_word_ = host_word(word);
    return 0;
  }
  if (in) authority_.give_back(in);
  if (!refused) return fail_record(enqueued, failure);
  driver_.forget_error();
  return device_refused(failure, errc::Capturing, "recording", "a capture has just begun");
}

int event_stream::make_room(gar_device_failure* failure) {
  if (std::optional<int> said = authority_.failed(failure)) return *said;
  if (record_failure_) return record_failure_.repeat(failure);
  const std::optional<uint64_t> oldest = authority_.oldest_if_full();
  if (!oldest) return 0;
  const int answer = query(*oldest, failure);
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
  if (thread_ == 0) thread_ = this_thread();
  if (thread_ == this_thread()) return 0;
  return device_refused(failure, errc::ForeignStream, "the calling thread",
                        "the thread that recorded first");
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

driver_status event_stream::enqueue_stores(const gar_device_store& word,
                                           const gar_device_store* bell) {
  if (stores_.way == store_way::none) return {};
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

void event_stream::aim(const gar_device_store& store, uint64_t sequence) {
  if (stores_.way != store_way::none) authority_.aim(mapping_of(store).unproven, sequence);
}

int event_stream::fail_record(const driver_status& status, gar_device_failure* failure) {
  driver_.forget_error();
  if (driver_.domain_is_gone(status.number)) domain_->lose();
  record_failure_.note(status, driver_.text_of(status.number));
  return record_failure_.repeat(failure);
}

// ---- Asking the stream itself.

int event_stream::idle(gar_device_failure* failure) {
  // A default stream would answer for whatever it means on this thread.
  if (kind_ != stream_kind::own) return GAR_PENDING;
  if (authority_.asks_elsewhere()) return GAR_PENDING;
  if (std::optional<int> said = authority_.failed(failure)) return *said;
  if (process_is_exiting()) return GAR_PENDING;
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
  return authority_.not_yet(answer) ? GAR_PENDING : authority_.fail(answer, failure);
}

// ---- Settling: an event behind the last stores says that they have landed.

int event_stream::settle(gar_device_failure* failure) {
  if (!touched_) return 0;
  if (domain_->lost()) {
    if (std::optional<int> said = authority_.failed(failure)) return *said;
  }
  if (process_is_exiting()) return device_failed(failure, EPERM, exiting_call);
  // On another thread the handle is another stream.
  const bool reachable = kind_ != stream_kind::default_of_thread || thread_ == this_thread();
  return reachable ? settle_behind(failure) : settle_by_word(failure);
}

int event_stream::settle_behind(gar_device_failure* failure) {
  driver_status status;
  bool capturing = false;
  {
    const driver_place place(driver_, domain_->id());
    status = place.entered() ? driver_.is_capturing(handle_, capturing) : place.entered();
    if (status && !capturing) status = driver_.record_event(settle_event_, handle_);
    if (status && !capturing) status = driver_.synchronize_event(settle_event_);
  }
  if (capturing || driver_.refused_by_capture(status.number)) return settle_by_word(failure);
  if (!status) return authority_.fail(status, failure);
  authority_.landed();
  return 0;
}

// Where nothing more can be recorded: the last record's own event, then its word, in a while. That
// its bell has landed, too, is left to whoever unmaps its page.
int event_stream::settle_by_word(gar_device_failure* failure) {
  const int ended = block(last_, UINT64_MAX, failure);
  if (ended != GAR_DONE) return GAR_FAILED;
  if (stores_.way == store_way::none) return 0;
  const auto until = steady::now() + std::chrono::nanoseconds(word_patience.ns);
  query_pace pace(pause_most);
  while (!reached(proto::load_word(*last_word_), last_)) {
    if (steady::now() >= until) {
      return device_failed(failure, ETIMEDOUT, "a store that did not land");
    }
    std::this_thread::sleep_for(std::chrono::nanoseconds(pace.next().ns));
  }
  return 0;
}

}  // namespace gar
