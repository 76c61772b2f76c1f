// Session: what gard knows about one connection.
//
//   greeting  -- hello -->  established  -- bye, end of file, fatal error -->  gone
//      `-- ask (any number), bye, 1 s without either --> gone
//
// Streams and points are tables of the session alone: what one client does never moves another's.
//
// Invariants: `cookies` and `ring` hold exactly the session's pending waits; a stream's id on the
// wire is its index and generation, and a closed stream's index comes back with a new generation.
// Threads: one. Ownership: the node's.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/core/codec.hpp"
#include "lib/core/delegated.hpp"
#include "lib/core/estimator.hpp"
#include "lib/core/node_snapshot.hpp"
#include "lib/core/plan_registry.hpp"
#include "lib/core/slot_table.hpp"

namespace gar {

// Who connected, as the kernel says.
struct peer {
  uint32_t uid = 0;
  uint32_t gid = 0;
  int64_t pid = 0;  // 0: not known
};

// The history of one place where waits happen: a named point, or a stream whose waits name none.
struct readback {
  estimator of;
  uint64_t waits = 0;
  kind_counts kinds;
  uint8_t window = 0;  // of the last plan that predicted here; 0: none did
};

struct session_stream {
  bool open = false;
  uint32_t generation = 0;
  uint8_t authority = proto::authority_owner;
  std::string name;
  slot_place at;
  uint64_t base = 0;
  uint64_t pending = 0;
  uint64_t completed = 0;
  readback history;
};

struct session_point {
  std::string name;      // empty: never named
  uint32_t version = 0;  // rises with each new name
  readback history;
};

struct pending_wait {
  session_id session = 0;
  uint64_t cookie = 0;
  uint32_t stream = 0;
  uint32_t point = 0;  // 0: the stream's own history
  uint32_t point_version = 0;
  plan how;
  instant start;
  bool cancelled = false;
};

// The waits that came by the client's ring: their slot is their name.
struct ring_books {
  struct taken {
    wait_id id = 0;  // 0: nothing is in flight in this slot
    pending_wait wait;
  };

  uint32_t entries = 0;
  std::vector<taken> slots;  // as far as used
  size_t pending = 0;

  taken& at(uint16_t slot) {
    if (slot >= slots.size()) slots.resize(std::min<size_t>(entries, size_t{slot} * 2 + 16));
    return slots[slot];
  }
};

// What one uid holds on the machine.
struct user_holdings {
  uint32_t clients = 0;
  uint32_t streams = 0;
  uint32_t waits = 0;
};

struct session {
  enum class state : uint8_t { greeting, established };

  session_id id = 0;
  peer who;
  user_holdings* user = nullptr;  // of who.uid
  state now = state::greeting;
  instant connected;
  instant greet_until;
  std::string name;
  std::vector<proto::driver_state> drivers;

  slot_table slots;
  std::vector<session_stream> streams;
  std::vector<uint32_t> free_streams;
  uint32_t open_streams = 0;
  std::vector<session_point> points;  // by number, as far as named; [0] is not used
  std::unordered_map<uint64_t, wait_id> cookies;
  std::optional<ring_books> ring;  // for a client that is notified through one
  std::array<std::shared_ptr<const published_plans>, 2> published;  // newest first

  wait_counts waits;
  kind_counts kinds;
  uint64_t refusals = 0;

  size_t pending() const { return cookies.size() + (ring ? ring->pending : 0); }
  // nullptr unless this very stream is open.
  session_stream* stream_of(uint32_t index, uint32_t generation) {
    if (index >= streams.size()) return nullptr;
    session_stream& s = streams[index];
    return s.open && s.generation == generation ? &s : nullptr;
  }
  session_point* point_of(uint32_t number) {
    if (number == 0 || number >= points.size() || points[number].name.empty()) return nullptr;
    return &points[number];
  }
};

}  // namespace gar
