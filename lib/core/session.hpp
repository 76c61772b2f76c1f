// Session: what gard knows about one connection.
//
//   greeting  -- hello -->  established  -- bye, end of file, fatal error -->  gone
//      `-- ask (any number), bye, 1 s without either --> gone
//
// Streams and points are tables of the session alone: what one client does never moves another's.
//
// Invariants: `by_message` and `ring` hold exactly the session's pending waits; a stream's id on
// the wire is its index and generation, and a closed stream's index comes back with a new
// generation. Threads: one. Ownership: the node's.
#pragma once

#include <algorithm>
#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/core/codec.hpp"
#include "lib/core/delegated.hpp"
#include "lib/core/estimator.hpp"
#include "lib/core/node_snapshot.hpp"
#include "lib/core/plan_registry.hpp"
#include "lib/core/slot_table.hpp"
#include "lib/core/wait_statistics.hpp"

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
  uint64_t waited_ns = 0;  // as in wait_counts
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
  uint64_t waited_ns = 0;  // as in wait_counts
  kind_counts kinds;
  readback history;
};

struct session_point {
  std::string name;      // empty: never named
  uint32_t version = 0;  // rises with each new name
  readback history;
};

struct pending_wait {
  enum class state : uint8_t { free, running, cancelled };

  instant start;
  uint64_t cookie = 0;
  uint32_t stream = 0;
  uint32_t point_version = 0;  // of a free place of message_books: the next one
  uint16_t point = 0;          // 0: the stream's own history
  uint8_t window = 1;          // of samples, where its end is remembered
  state now = state::free;
  uint8_t plan_number = 0;  // in wait_statistics
  park_kind park = park_kind::poll;
};
static_assert(sizeof(pending_wait) == 32);
static_assert(wait_statistics::plans_max <= UINT8_MAX);
static_assert(proto::points_per_client_max <= UINT16_MAX);

// The waits that came by messages: the client names them by their cookie, gard by their place.
class message_books {
 public:
  size_t pending() const { return by_cookie_.size(); }
  bool has(uint64_t cookie) const { return by_cookie_.contains(cookie); }
  std::optional<uint32_t> find(uint64_t cookie) const {
    const auto at = by_cookie_.find(cookie);
    return at == by_cookie_.end() ? std::nullopt : std::optional(at->second);
  }
  pending_wait& at(uint32_t place) { return places_[place]; }

  // The cookie is in use nowhere.
  uint32_t put(const pending_wait& w) {
    const uint32_t place = free_;
    if (place == places_.size()) {
      places_.push_back(w);
      free_ = place + 1;
    } else {
      free_ = std::exchange(places_[place], w).point_version;
    }
    by_cookie_.emplace(w.cookie, place);
    return place;
  }
  // Nothing where none is there.
  std::optional<pending_wait> take(uint32_t place) {
    if (place >= places_.size() || places_[place].now == pending_wait::state::free) return {};
    const pending_wait w = std::exchange(places_[place], {});
    places_[place].point_version = std::exchange(free_, place);
    by_cookie_.erase(w.cookie);
    return w;
  }
  template <class See>
  void for_each(See&& see) const {
    for (const pending_wait& w : places_) {
      if (w.now != pending_wait::state::free) see(w);
    }
  }

 private:
  std::vector<pending_wait> places_;
  uint32_t free_ = 0;  // the place that is taken next; the first unused one where none is free
  boost::unordered_flat_map<uint64_t, uint32_t> by_cookie_;
};

// The waits that came by the client's ring: their slot is their name.
struct ring_books {
  uint32_t entries = 0;
  std::vector<pending_wait> slots;  // as far as used
  size_t pending = 0;

  pending_wait& at(size_t slot) {
    if (slot >= slots.size()) {
      slots.reserve(entries);  // once: grown in steps it would leave holes as large as itself
      slots.resize(slot + 1);
    }
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
  message_books by_message;
  std::optional<ring_books> ring;  // for a client that is notified through one
  std::array<std::shared_ptr<const published_plans>, 2> published;  // newest first

  wait_counts waits;
  kind_counts kinds;
  uint64_t refusals = 0;

  size_t pending() const { return by_message.pending() + (ring ? ring->pending : 0); }
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
