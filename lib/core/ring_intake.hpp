// Ring intake: what one client asks through its ring, taken by the thread that runs the waits.
//
// A request by ring must not travel through another thread: whoever looks at the words takes the
// requests too. The node still decides each of them; only the way there is short.
//
//   take_ring: how many -> each: copy, check, node, board -> outcomes -> heads
//
// Invariants: at most one ring's length of requests is taken at a time; a request that breaks the
// protocol ends its session, with the node's fatal error, and what came before it counts; every
// other one is in flight or has its completion afterwards.
// Threads: the reactor's, under the lock of the node. Blocking: never. Allocation: for a refusal,
// and while tables grow. Errors: answered to the client.
#pragma once

#include "lib/core/delegated_wait.hpp"
#include "lib/core/node.hpp"

namespace gar {

// One client's ring, as the reactor's thread serves it.
struct ring_seat {
  session_id session = 0;
  client_ring ring;
  reactor_board::session_state* waits = nullptr;  // of `attach`
  uint32_t fruitless = 0;                         // looks in a row that found nothing
};

// false: the session is gone, or this ended it; its ring is looked at no more.
bool take_ring(node& decisions, delegated_waits& waits, ring_seat& seat, instant now);

}  // namespace gar
