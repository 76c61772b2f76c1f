// Stream: one stream of a device, its records, and the words they are stored in.
//
// A record enqueues the store of the next number behind the stream's work; the device is asked, per
// number, whether that work is done. Both may be called by several threads at the same time.
//
//     attached (a binding) -> record ... -> attached again (another gard) -> record ... -> settled
//     failed: a record or the device failed; no more records, earlier numbers can still be asked
//     for
//
// Invariants: one record is atomic: arm, then count the number as issued; the word never goes
// backwards. A number at or below `confirmed` is done. Success is only what the authority said.
// Threads: any, but settle and let_go (one). Blocking: settle; record as the device's arm does.
// Lock order: arming_, then state_.
// Errors: Backend, and StreamFailed from then on; LimitRecords; InvalidArgument.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "clients/garclient/binding.hpp"
#include "clients/garclient/device_stream.hpp"
#include "lib/core/error.hpp"
#include "lib/core/record_ring.hpp"

namespace gar::owner {

class stream {
 public:
  // No device: the word is its own authority.
  stream(uint64_t id, std::optional<device_stream> device, std::string name)
      : id_(id), device_(std::move(device)), name_(std::move(name)), ring_(0) {}

  uint64_t id() const { return id_; }
  const std::string& name() const { return name_; }
  const device_stream* device() const { return device_ ? &*device_ : nullptr; }
  bool word_is_authority() const { return !device_; }
  // Records of its device store nothing: only the authority knows.
  bool stores_nothing() const { return device_ && !device_->stores(); }

  // Where numbers are stored from now on; `where.base` is the last value of that word. Waits for a
  // record that is being made, unless `patient` is false: then that record's end does it.
  void attach(binding where, bool patient = true);
  // A gard is asked once to open it: false where this one was asked already.
  bool begin_opening(const std::shared_ptr<link>& at);
  void may_open_again();
  uint64_t last() const;

  result<uint64_t> record();
  // The authority. Never blocks for longer than the device's query.
  result<bool> query(uint64_t sequence);
  // The device's own ways of waiting, where it has them; false: the time passed.
  result<bool> block(uint64_t sequence, duration timeout);
  result<bool> poll(uint64_t sequence, duration timeout);
  // Is there nothing on the stream but what was recorded?
  result<bool> idle() const;
  // Stores a word stream's number.
  result<void> signal(uint64_t sequence);

  // InvalidArgument unless the number was recorded.
  result<void> check_recorded(uint64_t sequence) const;
  bool is_confirmed(uint64_t sequence) const;
  // Its probes are answered until it is about to close.
  bool answers() const { return answers_.load(std::memory_order_acquire); }
  void stop_answering() { answers_.store(false, std::memory_order_release); }
  // Where this number is stored.
  std::shared_ptr<const binding> binding_of(uint64_t sequence) const;
  std::shared_ptr<const binding> current() const;

  // Old bindings whose last store has landed; letting go of them may unregister pages.
  std::vector<std::shared_ptr<const binding>> take_settled();
  bool has_settled() const;  // takes no lock where there are none

  // Blocks until every store has landed.
  result<void> settle() noexcept;
  // All bindings, oldest first; the stream has none afterwards.
  std::vector<std::shared_ptr<const binding>> let_go() noexcept;

 private:
  void come_next(binding where);  // state_ held
  void adopt_next();              // both locks held
  void store(uint64_t sequence);
  size_t settled_count() const;  // state_ held
  result<bool> ask(uint64_t sequence) const;
  std::optional<result<bool>> known(uint64_t sequence) const;
  result<bool> learn(uint64_t sequence, const result<bool>& answer);
  result<void> refuse_if_failed() const;  // state_ held
  result<void> make_room();

  const uint64_t id_;
  const std::optional<device_stream> device_;
  const std::string name_;

  std::mutex arming_;  // one record at a time
  mutable std::mutex state_;
  record_ring ring_;
  uint64_t signalled_ = 0;  // word streams
  std::shared_ptr<binding> current_;
  std::shared_ptr<binding> next_;
  std::weak_ptr<link> asked_;
  std::vector<std::shared_ptr<const binding>> old_;  // oldest first, with room for the other two
  std::atomic<bool> has_old_{false};                 // it is not empty
  std::optional<error> failure_;                     // the first one, of whatever kind
  std::optional<uint64_t> failed_from_;              // the authority failed for it and all after,
  std::optional<error> authority_failure_;           // with this
  std::atomic<bool> answers_{true};
};

}  // namespace gar::owner
