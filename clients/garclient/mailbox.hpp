// Mailbox: what gard has said about one delegated wait, until whoever runs the wait reads it.
//
// A wait is run by the thread that waits, which sleeps on `signal`; or, an asynchronous one, a step
// at a time by whoever has news of it.
//
// Model: empty -> news (signal rises, the runner wakes or is stepped) -> read -> empty
//
// Invariants: belongs to one wait; the link's table of pending waits points to it from registering
// to forgetting.
// Threads: the news, and the links of the ring's list, under that table's lock; `registered`,
// `submitted` and `kick_due` by the runner alone; `signal` by both.
// Memory order: `signal` is raised with release after the news, read with acquire.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "lib/core/codec.hpp"
#include "lib/core/error.hpp"
#include "lib/core/owner_wait.hpp"
#include "lib/core/time.hpp"

namespace gar::owner {

struct async_wait;

struct mailbox {
  static constexpr uint32_t no_slot = UINT32_MAX;

  // The wait.
  bool registered = false;
  uint64_t cookie = 0;  // of a wait by socket
  uint32_t slot = no_slot;
  uint32_t stream_id = 0;
  uint64_t target = 0;
  uint64_t submitted = 0;  // requests in the ring, up to this one
  instant kick_due;        // the wait's thread alone: gard is sent a message if it has not taken it

  // News.
  std::optional<proto::completion_entry> completion;
  std::optional<errc> refusal;
  bool lost = false;
  instant heard;

  // Who runs it: a thread that sleeps on `signal`, or steps.
  uint32_t signal = 0;
  async_wait* stepped = nullptr;
  bool asleep = false;  // in the ring's list
  mailbox* before = nullptr;
  mailbox* after = nullptr;

  // Carries the news to the wait's machine. `confirmed`: the owner knows that the target is done;
  // gard's word for that is not taken.
  void tell(owner_wait& into, bool confirmed) {
    if (heard != instant{}) into.heard(heard);
    if (completion) {
      completion->confirmed = confirmed ? 1 : 0;
      into.completed(*std::exchange(completion, {}));
    }
    if (refusal) into.refused(*std::exchange(refusal, {}));
    if (lost) into.lost();
  }
  uint32_t signal_now() const {
    return std::atomic_ref<uint32_t>(const_cast<uint32_t&>(signal)).load(std::memory_order_acquire);
  }
};

// Takes a step of an asynchronous wait that has news. Called without a lock held.
using step_function = std::function<void(async_wait&)>;

// The asynchronous waits that one frame had news of. A wait may have ended by the time it is
// stepped, and its place been given to another: a step without news does nothing.
class news_batch {
 public:
  static constexpr size_t waits_max = proto::completion_entries_max;

  void add(async_wait& w) { waits_[count_++] = &w; }
  void tell(const step_function& step) {
    for (size_t i = 0; i < count_; ++i) step(*waits_[i]);
    count_ = 0;
  }

 private:
  std::array<async_wait*, waits_max> waits_;
  size_t count_ = 0;
};

}  // namespace gar::owner
