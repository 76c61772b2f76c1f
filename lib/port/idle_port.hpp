// idle_port: how a reactor's thread spends the time in which no task is ready.
//
//   prepare()               remember what the shared doorbell says now, before the reactor looks at
//                           its words
//   expect()                what is waited for may come any moment: until further notice a fast
//                           answer is worth some CPU. An implementation that answers fast anyway
//                           ignores it
//   park(until, complete)   return when a word that is waited for changed, when a request came, or
//                           at `until`; at once if the doorbell changed since prepare().
//                           `complete()` looks at the words themselves: true means return. An
//                           implementation without a doorbell calls it; one with hardware monitors
//                           re-checks it after arming.
//   sleep_until(at)         return at `at` (it may overshoot) or when a request came
//   block()                 return when a request came; uses no CPU
//
// Every return means "look again", nothing more. A request that was handed over before the call is
// never slept over: each verb re-checks for requests after it announced that it is about to wait.
// Called from the reactor's thread alone.
#pragma once

#include "lib/core/time.hpp"

namespace gar {

struct always_false {
  bool operator()() const { return false; }
};

template <class I>
concept idle_port = requires(I& i, instant at, always_false complete) {
  i.prepare();
  i.expect();
  i.park(at, complete);
  i.sleep_until(at);
  i.block();
};

}  // namespace gar
