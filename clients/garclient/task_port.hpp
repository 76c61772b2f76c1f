// Task port: the five verbs of an asynchronous wait, a task of the service thread.
//
// Nothing here may hold the thread up, since gard's probes wait for it: `block` and `poll` are
// queries with growing pauses, 20 us to 1 ms, and a park is an armed word of the reactor: the
// thread parks for all tasks at once, and this one is resumed only for its word or its backstop.
//
// Threads: the service thread. Blocking: as the device's query does.
// Errors: those of the authority; Cancelled.
#pragma once

#include <algorithm>

#include "clients/garclient/stream.hpp"
#include "lib/core/descriptor.hpp"
#include "lib/core/plan.hpp"
#include "lib/core/query_pace.hpp"
#include "lib/core/reactor.hpp"
#include "lib/port/completion_port.hpp"

namespace gar::owner {

class task_port {
 public:
  task_port(reactor& host, stream& of, const binding& where, const plan& how, uint64_t sequence,
            instant deadline)
      : host_(&host),
        of_(&of),
        where_(&where),
        how_(how),
        sequence_(sequence),
        deadline_(deadline) {}

  frame_pool& frames() { return host_->frames(); }

  result<bool> query(uint64_t sequence) { return of_->query(sequence); }
  reactor::task<result<bool>> block(uint64_t sequence) {
    return query_with_pauses(*this, sequence, from_ms(1));
  }
  reactor::task<result<bool>> poll(uint64_t sequence) {
    const bool flag = how_.park == park_kind::flag;
    return query_with_pauses(*this, sequence, flag ? how_.backstop : from_ms(1));
  }
  result<void> arm() { return {}; }
  reactor::task<result<park_answer>> park(park_bound bound) {
    return park_to_backstop(*this, bound);
  }

 private:
  static reactor::task<result<bool>> query_with_pauses(task_port& self, uint64_t sequence,
                                                       duration most) {
    query_pace pace(most);
    for (;;) {
      result<bool> done = self.of_->query(sequence);
      if (!done || *done) co_return done;
      const instant now = self.host_->now();
      if (now >= self.deadline_) co_return false;
      const instant until = std::min(now + pace.next(), self.deadline_);
      const reactor::woke why = co_await self.host_->sleep_until(until);
      if (why == reactor::woke::cancelled) co_return error(errc::Cancelled);
    }
  }

  static reactor::task<result<park_answer>> park_to_backstop(task_port& self, park_bound bound) {
    const memory_descriptor word(self.where_->word(), self.sequence_);
    const instant until = self.host_->now() + bound.backstop;
    const uint64_t before = self.host_->statistics().parked;
    const reactor::woke why = co_await self.host_->wait(word, until, bound.park);
    if (why == reactor::woke::cancelled) co_return error(errc::Cancelled);
    const uint64_t parks = self.host_->statistics().parked - before;
    co_return park_answer{why == reactor::woke::complete,
                          static_cast<uint32_t>(std::min<uint64_t>(parks, UINT32_MAX))};
  }

  reactor* host_;
  stream* of_;
  const binding* where_;
  plan how_;
  uint64_t sequence_;
  instant deadline_;
};

static_assert(completion_port<task_port>);

}  // namespace gar::owner
