// timer_port: how one wait sleeps until a predicted completion.
//
// `sleep_until(at)` gives something a wait can co_await for a result<void>, or that result itself
// where the host blocks. It may overshoot; it never returns success before `at`. It fails with
// Cancelled when the wait is cancelled, and the wait then ends with that error.
#pragma once

#include "lib/core/time.hpp"

namespace gar {

template <class T>
concept timer_port = requires(T& t, instant at) {
  t.sleep_until(at);
};

}  // namespace gar
