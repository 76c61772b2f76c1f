// Delegated waits as values: what the node hands to the executor, and what comes back.
//
// The node (io thread) decides whether a wait is taken and under which plan; the executor runs it
// and knows nothing of sessions, quotas or plans. These are the values that pass between the two.
//
// Threads: values. Units: in the types.
#pragma once

#include <cstdint>

#include "lib/core/descriptor.hpp"
#include "lib/core/time.hpp"
#include "lib/core/wait_machine.hpp"
#include "proto/wire.hpp"

namespace gar {

using session_id = uint64_t;  // also the welcome's client_id; never 0, never reused

// One wait that came by a message, as the node and the executor name it. A session's places are
// used again, but only after the node knows of the end: who is told in order never confuses two.
struct wait_name {
  session_id session = 0;
  uint32_t place = 0;
};

// One wait that was taken.
struct wait_start {
  session_id session = 0;
  uint64_t cookie = 0;
  uint32_t place = 0;   // on its session; by ring: its slot
  uint32_t stream = 0;  // index on its session, below the session's most streams
  uint32_t stream_generation = 0;
  bool word_authority = false;
  bool by_ring = false;  // its end goes into its slot
  memory_descriptor word;
  wait_terms how;  // its start is at the client, before now
};

// One wait that ended by itself: not one that was dropped with its session.
struct wait_end {
  session_id session = 0;
  duration wait;  // of a success, as what follows: from its start to its end
  duration slept;
  uint32_t place = 0;
  uint32_t parks = 0;
  uint32_t backstop_queries = 0;
  uint16_t code = 0;  // 0: a success
  wait_kind kind = wait_kind::immediate;
  bool by_ring : 1 = false;
  bool lost_store : 1 = false;  // the owner's answer ended it, and the word had not come

  wait_report report() const {
    return {kind, sample_of(kind, wait), wait, slept, parks, backstop_queries, 0};
  }
};
static_assert(sizeof(wait_end) == 40);

// The longest single park of a wait that has no bound of its own: what it may be late by where
// nobody rings the doorbell, or for news that do not touch its word.
inline constexpr duration block_park_max = from_ms(1);

// What the owner's authority answered for one probe.
struct probe_answer {
  session_id session = 0;
  proto::status_entry status;
};

}  // namespace gar
