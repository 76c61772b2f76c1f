// Delegated waits as values: what the node hands to the executor, and what comes back.
//
// The node (io thread) decides whether a wait is taken and under which plan; the executor runs it
// and knows nothing of sessions, quotas or plans. These are the values that pass between the two.
//
// Threads: values. Units: in the types.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/core/descriptor.hpp"
#include "lib/core/error.hpp"
#include "lib/core/plan.hpp"
#include "lib/core/time.hpp"
#include "lib/core/wait.hpp"
#include "proto/wire.hpp"

namespace gar {

using session_id = uint64_t;  // also the welcome's client_id; never 0, never reused
using wait_id = uint64_t;     // never 0, never reused

// One wait that was taken.
struct wait_start {
  wait_id id = 0;
  session_id session = 0;
  uint64_t cookie = 0;
  uint32_t stream = 0;  // index on its session, below the session's most streams
  uint32_t stream_generation = 0;
  bool word_authority = false;
  bool by_ring = false;  // the cookie is its slot, and its end goes there
  memory_descriptor word;
  plan how;
  duration sleep;  // what the point's estimate asks for
  instant start;   // at the client; before now
  instant deadline = instant::never();
};

// One wait that ended by itself: not one that was dropped with its session.
struct wait_end {
  wait_id id = 0;
  session_id session = 0;
  std::optional<error> failure;
  wait_report report;  // of a success
  bool by_ring = false;
  bool lost_store = false;  // the owner's answer ended it, and the word had not come
  uint16_t slot = 0;        // of the ring
};

// What the owner's authority answered for one probe.
struct probe_answer {
  session_id session = 0;
  proto::status_entry status;
};

}  // namespace gar
