#include "clients/garclient/stream.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "clients/garclient/link.hpp"

namespace gar::owner {
namespace {

// The later of two numbers in wrapping order.
uint64_t later(uint64_t a, uint64_t b) {
  return reached(a, b) ? a : b;
}

size_t offset_of(const binding& b) {
  return b.word_index * sizeof(uint64_t);
}

}  // namespace

void stream::attach(binding where, bool patient) {
  std::unique_lock arming(arming_, std::defer_lock);
  if (patient) {
    arming.lock();
  } else if (!arming.try_lock()) {
    std::lock_guard lock(state_);
    come_next(std::move(where));
    // The record may have ended before it could see this.
    if (!arming.try_lock()) return;
    adopt_next();
    return;
  }
  std::lock_guard lock(state_);
  come_next(std::move(where));
  adopt_next();
}

// What becomes of it later allocates nothing: a record must not fail behind its store, nor a close.
void stream::come_next(binding where) {
  old_.reserve(old_.size() + 3);
  next_ = std::make_shared<binding>(std::move(where));
}

bool stream::begin_opening(const std::shared_ptr<link>& at) {
  std::lock_guard lock(state_);
  if (asked_.lock() == at) return false;
  asked_ = at;
  return true;
}

void stream::may_open_again() {
  std::lock_guard lock(state_);
  asked_.reset();
}

void stream::adopt_next() {
  if (!next_) return;
  std::shared_ptr<binding> next = std::exchange(next_, nullptr);
  const uint64_t base = current_ ? later(next->base, ring_.last()) : next->base;
  next->base = base;
  // gard compares with this word: until the first store here it says what was stored elsewhere.
  proto::store_word(next->word(), base);
  if (current_) {
    ring_.rebase(base);
    old_.push_back(current_);
    has_old_.store(true, std::memory_order_relaxed);
  } else {
    ring_ = record_ring(base);
    signalled_ = base;
  }
  current_ = std::move(next);
}

uint64_t stream::last() const {
  std::lock_guard lock(state_);
  return ring_.last();
}

result<uint64_t> stream::record() {
  std::lock_guard arming(arming_);
  result<void> room = make_room();
  if (!room) return room.error();

  std::shared_ptr<binding> at;
  uint64_t sequence = 0;
  {
    std::lock_guard lock(state_);
    adopt_next();
    at = current_;
    sequence = ring_.next();
  }
  if (device_) {
    const gar_device_store word{&at->mapped.page(), offset_of(*at), sequence};
    gar_device_store bell{};
    if (at->bell_mapped) {
      bell = {&at->bell_mapped.page(), at->via->bell_offset_bytes(),
              proto::bell_value(at->via->client_id(), at->stream_id, sequence)};
    }
    result<void> armed = device_->arm(sequence, word, at->bell_mapped ? &bell : nullptr);
    if (!armed) {
      std::lock_guard lock(state_);
      // A device that refuses a record has enqueued nothing.
      if (!failure_ && armed.error().code() == errc::Backend) failure_ = armed.error();
      return armed.error();
    }
  }
  std::lock_guard lock(state_);
  ring_.issued();
  adopt_next();
  return sequence;
}

result<void> stream::refuse_if_failed() const {
  if (!failure_) return {};
  return error(errc::StreamFailed, {failure_->text()}, failure_->os_number());
}

result<void> stream::make_room() {
  uint64_t oldest = 0;
  {
    std::lock_guard lock(state_);
    result<void> usable = refuse_if_failed();
    if (!usable || !ring_.full()) return usable;
    oldest = ring_.oldest();
  }
  result<bool> done = query(oldest);
  if (!done) return done.error();
  if (!*done) return error(errc::LimitRecords, {std::to_string(proto::records_unconfirmed_max)});
  return {};
}

result<bool> stream::query(uint64_t sequence) {
  if (const auto answer = known(sequence)) return *answer;
  return learn(sequence, ask(sequence));
}

result<bool> stream::block(uint64_t sequence, duration timeout) {
  if (const auto answer = known(sequence)) return *answer;
  return learn(sequence, device_->block(sequence, timeout));
}

result<bool> stream::poll(uint64_t sequence, duration timeout) {
  if (const auto answer = known(sequence)) return *answer;
  return learn(sequence, device_->poll(sequence, timeout));
}

std::optional<result<bool>> stream::known(uint64_t sequence) const {
  std::lock_guard lock(state_);
  if (ring_.is_confirmed(sequence)) return result<bool>(true);
  if (failed_from_ && reached(sequence, *failed_from_)) return result<bool>(*authority_failure_);
  return std::nullopt;
}

result<bool> stream::learn(uint64_t sequence, const result<bool>& answer) {
  std::lock_guard lock(state_);
  if (answer) {
    if (*answer) ring_.confirm(sequence);
    return answer;
  }
  if (!failure_) failure_ = answer.error();
  if (!failed_from_ || reached(*failed_from_, sequence)) {
    failed_from_ = sequence;
    authority_failure_ = answer.error();
  }
  return answer;
}

result<bool> stream::ask(uint64_t sequence) const {
  if (device_) return device_->query(sequence);
  std::lock_guard lock(state_);
  return reached(signalled_, sequence);
}

result<bool> stream::idle() const {
  if (!device_) return true;
  return device_->idle();
}

result<void> stream::signal(uint64_t sequence) {
  std::lock_guard lock(state_);
  if (device_) return error(errc::InvalidArgument, {"stream", "not a word stream"});
  if (!reached(ring_.last(), sequence) || !reached(sequence, signalled_)) {
    if (reached(signalled_, sequence) && ring_.is_recorded(sequence)) return {};
    return error(errc::InvalidArgument,
                 {"sequence", std::to_string(sequence) + " was never recorded on this stream"});
  }
  signalled_ = sequence;
  store(sequence);
  return {};
}

void stream::store(uint64_t sequence) {
  const auto into = [sequence](const binding& b) {
    if (reached(b.base, sequence)) return;
    proto::store_word(b.word(), sequence);
    if (b.via) b.via->ring_bell(b.stream_id, sequence);
  };
  for (const std::shared_ptr<const binding>& b : old_) into(*b);
  into(*current_);
}

result<void> stream::check_recorded(uint64_t sequence) const {
  std::lock_guard lock(state_);
  if (ring_.is_recorded(sequence)) return {};
  return error(errc::InvalidArgument,
               {"sequence", std::to_string(sequence) + " was never recorded on this stream"});
}

bool stream::is_confirmed(uint64_t sequence) const {
  std::lock_guard lock(state_);
  return ring_.is_confirmed(sequence);
}

std::shared_ptr<const binding> stream::binding_of(uint64_t sequence) const {
  std::lock_guard lock(state_);
  if (!reached(current_->base, sequence)) return current_;
  for (auto b = old_.rbegin(); b != old_.rend(); ++b) {
    if (!reached((*b)->base, sequence)) return *b;
  }
  return current_;
}

std::shared_ptr<const binding> stream::current() const {
  std::lock_guard lock(state_);
  return current_;
}

size_t stream::settled_count() const {
  // Stores of one stream land in order: once a later one landed, those into older words have.
  size_t count = 0;
  for (size_t i = 0; i < old_.size(); ++i) {
    const binding& after = i + 1 < old_.size() ? *old_[i + 1] : *current_;
    const bool stored = proto::load_word(after.word()) != after.base;
    if (stored && ring_.is_confirmed(after.base)) count = i + 1;
  }
  return count;
}

bool stream::has_settled() const {
  if (!has_old_.load(std::memory_order_relaxed)) return false;
  std::lock_guard lock(state_);
  return !old_.empty() && settled_count() > 0;
}

std::vector<std::shared_ptr<const binding>> stream::take_settled() {
  std::lock_guard lock(state_);
  const auto end = old_.begin() + static_cast<std::ptrdiff_t>(settled_count());
  std::vector<std::shared_ptr<const binding>> taken(old_.begin(), end);
  old_.erase(old_.begin(), end);
  has_old_.store(!old_.empty(), std::memory_order_relaxed);
  return taken;
}

result<void> stream::settle() noexcept {
  if (!device_) return {};
  std::lock_guard arming(arming_);
  try {
    return device_->settle();
  } catch (const std::bad_alloc&) {
    return error(errc::Backend);  // it failed, and there is no memory to say how
  }
}

std::vector<std::shared_ptr<const binding>> stream::let_go() noexcept {
  std::lock_guard arming(arming_);
  std::lock_guard lock(state_);
  std::vector<std::shared_ptr<const binding>> all = std::exchange(old_, {});
  has_old_.store(false, std::memory_order_relaxed);
  if (current_) all.push_back(std::exchange(current_, nullptr));
  if (next_) all.push_back(std::exchange(next_, nullptr));
  return all;
}

}  // namespace gar::owner
