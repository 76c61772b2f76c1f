// Accept pause: how long a listener of gard's rests where nobody could be accepted.
//
// Mostly that means that no descriptor is left. Who knocks stays in the queue and keeps the
// listener readable, so that without a rest the thread would spin.
#pragma once

#include "lib/core/time.hpp"

namespace gar {

inline constexpr duration accept_pause = from_ms(100);

}  // namespace gar
