// Asynchronous waits: those that have not ended yet.
//
// A wait that gard runs has no thread and is no task: whoever has news of it takes its next step.
// One that is run here is a task of the service thread.
//
//   added (stepping) -> resting -> stepping ... -> ended (its place is free for another)
//                                  stepping -> a task -> ended
//
// Invariants: one step at a time; who comes while one is taken leaves it to the stepper to look
// again. An object stays at its address for ever, so that late news of it can do no harm.
// Threads: any; fields as named. Blocking: await_none_of. Allocation: `add` alone, up to the
// high-water mark: whatever has begun can be cancelled without memory.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "clients/garclient/gard_wait.hpp"
#include "clients/garclient/plan_picks.hpp"
#include "clients/garclient/wait_order.hpp"
#include "lib/core/plan_cache.hpp"
#include "lib/core/reactor.hpp"

namespace gar::owner {

struct async_wait {
  // The stepper's, or the task's.
  wait_order order;
  uint64_t ticket = 0;
  void* user_data = nullptr;
  plan_cache::choice choice;
  plan_picks picks;
  std::optional<gard_wait> at_gard;

  // The service thread's.
  reactor* host = nullptr;
  reactor::root* root = nullptr;  // set when it is spawned
  frame_pool& frames() { return host->frames(); }

  // The table's.
  enum class phase : uint8_t { free, resting, stepping, stepping_again, task };
  phase now = phase::free;
  errc cancelled{};
  instant until = instant::never();
  size_t index = 0;
};

class async_waits {
 public:
  async_wait& add(const wait_order& order, uint64_t ticket, void* user_data);
  // The wait has ended, and was put.
  void remove(async_wait& w);

  // false: it is not to be stepped now, or its stepper will look again.
  bool begin_step(async_wait& w);
  // false: look again. `until`: when it is stepped next where nothing comes.
  bool rest(async_wait& w, instant until);
  void become_task(async_wait& w);
  // Why it was cancelled; 0: it was not.
  errc cancelled(const async_wait& w) const;

  // A wait that was cancelled. It is to be stepped; as a task it is due, and the service thread's.
  struct found {
    async_wait* wait = nullptr;
    bool is_task = false;
  };
  found cancel(uint64_t ticket, errc why);
  // The next one of the stream (null: of any) that was not cancelled yet.
  found cancel_next_of(const stream* s, errc why);
  void await_none_of(const stream* s);

  // ---- The service thread.
  instant earliest() const;
  // All are due at once, and one that is being stepped is looked at again: gard is gone.
  void make_due();
  // Those that are due, each told once.
  size_t take_due(instant now, std::span<async_wait*> into);
  // The wait's task, if it was cancelled; null before it is spawned.
  reactor::root* cancelled_task(const async_wait& w) const;

 private:
  found cancel(async_wait& w, errc why);  // lock_ held
  bool any_of(const stream* s) const;     // lock_ held

  mutable std::mutex lock_;
  std::condition_variable gone_;
  size_t watchers_ = 0;
  std::vector<std::unique_ptr<async_wait>> all_;
  std::vector<async_wait*> free_;
  std::vector<async_wait*> active_;
  instant earliest_ = instant::never();  // or before it
};

}  // namespace gar::owner
