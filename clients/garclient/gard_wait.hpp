// Gard wait: one wait that gard runs, at its owner.
//
// The machine in lib/core/owner_wait.hpp decides; this registers the wait, carries gard's news to
// the machine and the machine's questions to the device. A thread that waits and an asynchronous
// wait do the same steps; they differ in who takes the next one.
//
//   begin -> sleeps -> go ... -> ended, or left (goes on without gard, or is registered again)
//
// Invariants: whatever ends it, an exception too, leaves nothing of it at the link.
// Threads: one at a time. Blocking: as the device's query does.
// Errors: those of the authority, TimedOut and Cancelled, in `take_end`.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "clients/garclient/binding.hpp"
#include "clients/garclient/mailbox.hpp"
#include "clients/garclient/wait_order.hpp"
#include "lib/core/owner_wait.hpp"
#include "lib/core/plan_cache.hpp"
#include "lib/linux/steady_clock.hpp"

namespace gar::owner {

class gard_wait {
 public:
  enum class now : uint8_t { sleeps, ended, left };
  struct state {
    now what;
    instant until = instant::never();  // sleeps: the next step without news
    uint32_t seen = 0;                 // of the mailbox's signal, before it was read
    bool at_gard = false;              // news may come
  };

  // `order` outlives it; `where` is at a gard. `stepped`: null for a thread that waits.
  gard_wait(const wait_order& order, const plan_cache::choice& c,
            std::shared_ptr<const binding> where, async_wait* stepped);
  ~gard_wait();
  gard_wait(const gard_wait&) = delete;
  gard_wait& operator=(const gard_wait&) = delete;

  state begin();
  state go();
  // The program ends it.
  void cancel(errc why);

  link& via() const { return *where_->via; }
  const mailbox& box() const { return box_; }
  mailbox& box() { return box_; }
  wait_end take_end() { return std::move(end_); }
  owner_wait::reason leaving() const { return leaving_; }

 private:
  proto::wait message() const;
  state over(owner_wait::todo how);
  void take_over();

  const wait_order* order_;
  plan_cache::choice choice_;
  std::shared_ptr<const binding> where_;
  steady_clock clock_;
  std::optional<owner_wait> machine_;
  mailbox box_;
  wait_end end_;
  owner_wait::reason leaving_ = owner_wait::reason::lost;
};

}  // namespace gar::owner
