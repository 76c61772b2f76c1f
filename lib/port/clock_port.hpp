// clock_port: where the core reads the time.
//
// `now()` never goes backwards. It neither blocks nor allocates. Within one turn of a reactor the
// time is frozen; only the turn's owner advances it.
#pragma once

#include <concepts>

#include "lib/core/time.hpp"

namespace gar {

template <class C>
concept clock_port = requires(C& c) {
  { c.now() } -> std::same_as<instant>;
};

}  // namespace gar
