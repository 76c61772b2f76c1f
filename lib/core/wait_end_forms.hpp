// Wait end forms: one end of a wait, as each reads it that is told of it.
//
//   completion_of   the client, by its socket
//   in_ring         the client, in its ring
//   note_of         the node, for its books
//   traced          whoever traces the waits
//
// A success says what its report says; a failure has its code and nothing else, but what the device
// said where its owner's verdict ended the wait.
// Threads: values. Allocation: none. Ownership: an ending refers to what the board keeps of the
// wait, and lives no longer.
#pragma once

#include <cstring>
#include <string>

#include "lib/core/client_ring.hpp"
#include "lib/core/codec.hpp"
#include "lib/core/delegated.hpp"
#include "lib/core/wait_trace.hpp"

namespace gar {

// What the owner's device said about a wait that failed.
struct device_failure {
  int32_t status = 0;
  std::string call;
};

struct wait_ending {
  session_id session = 0;
  uint64_t cookie = 0;
  uint32_t stream = 0;
  uint32_t place = 0;
  bool by_ring = false;
  instant start;
  errc why{};  // none: a success
  const wait_report& how;
  bool confirmed = false;  // of a success, as what follows: by the authority
  bool lost_store = false;
  const device_failure* failed = nullptr;  // of one that ended so

  uint16_t code() const { return static_cast<uint16_t>(why); }
};

inline proto::completion_entry completion_of(const wait_ending& e) {
  proto::completion_entry c{};
  c.cookie = e.cookie;
  c.code = e.code();
  if (c.code == 0) {
    c.wait_ns = e.how.wait.ns;
    c.slept_ns = e.how.slept.ns;
    c.parks = e.how.parks;
    c.backstop_queries = e.how.backstop_queries;
    c.kind = static_cast<uint8_t>(e.how.kind);
    c.confirmed = e.confirmed;
  } else if (e.failed) {
    c.status = e.failed->status;
    proto::set_call(c.call, e.failed->call);
  }
  return c;
}

inline proto::ring_completion in_ring(const proto::completion_entry& from) {
  proto::ring_completion c{};
  c.wait_ns = from.wait_ns;
  c.slept_ns = from.slept_ns;
  c.parks = from.parks;
  c.backstop_queries = from.backstop_queries;
  c.code = from.code;
  c.kind = from.kind;
  c.confirmed = from.confirmed;
  c.status = from.status;
  std::memcpy(c.call, from.call, sizeof(c.call));
  return c;
}

inline traced_wait traced(const wait_ending& e) {
  traced_wait t;
  t.session = e.session;
  t.stream = e.stream;
  t.start = e.start;
  t.code = e.code();
  if (t.code != 0) return t;
  t.confirmed = e.confirmed;
  t.seen = e.start + e.how.wait;
  t.slept = e.how.slept;
  t.parks = e.how.parks;
  t.backstop_queries = e.how.backstop_queries;
  t.kind = e.how.kind;
  return t;
}

inline wait_end note_of(const wait_ending& e) {
  wait_end note;
  note.session = e.session;
  note.place = e.place;
  note.by_ring = e.by_ring;
  note.code = e.code();
  if (note.code != 0) return note;
  note.wait = e.how.wait;
  note.slept = e.how.slept;
  note.parks = e.how.parks;
  note.backstop_queries = e.how.backstop_queries;
  note.kind = e.how.kind;
  note.lost_store = e.lost_store;
  return note;
}

}  // namespace gar
