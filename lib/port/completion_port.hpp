// completion_port: what one wait needs to know from the device, in exactly five verbs.
//
//   query(seq)    is it done? Never blocks for long. The authority: only this, block and poll may
//                 say that a wait succeeded.
//   block(seq)    the vendor's blocking wait. true: done; false: the wait's deadline passed.
//   poll(seq)     query to done. true: done; false: the wait's deadline passed.
//   arm()         enqueue the store of the next sequence number behind the pending work. Does
//                 nothing where the wait is for a number that was recorded before.
//   park(bound)   wait on the word. The answer `arrived` says whether to ask the authority now; an
//                 early "no" (a spurious wake) is allowed at any time, and so is "yes" when the
//                 port learned by other means that the authority has an answer.
//
// Each verb gives a result<...> where the host blocks, or something to co_await for that result
// where the host suspends. An error of any verb ends the wait with that error, unchanged. A port
// belongs to one wait at a time and is called from the wait's host alone.
#pragma once

#include <cstdint>

#include "lib/core/time.hpp"

namespace gar {

struct park_bound {
  duration park;      // the longest single park, already cut to what is left to the backstop
  duration backstop;  // what is left until the wait wants control back; >= park
};

struct park_answer {
  bool arrived = false;  // ask the authority now
  uint32_t parks = 1;  // how many single parks this took; a host may take several before answering
};

template <class P>
concept completion_port = requires(P& p, uint64_t sequence, park_bound bound) {
  p.query(sequence);
  p.block(sequence);
  p.poll(sequence);
  p.arm();
  p.park(bound);
};

}  // namespace gar
