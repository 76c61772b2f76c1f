// Event log: what happened on the node lately, for a person who watches.
//
// Counters say how often, a log file is read later; whoever looks for a cause wants to see things
// as they happen. So the last ones are kept and read by number. What one user's clients do must not
// push out what happened to others: each user has a ring of its own, and the node one.
//
//   add --> kept, numbered from 1 --> pushed out by that ring's later ones
//                  `-- read_after(number): in order, with how many are gone
//
// Invariants: at most kept_max events of one user, of users_max users, are kept, those of the user
// whose last one is oldest go first; `counts` counts them all. A reader sees each event that is
// kept once, in order, and is told how many it missed; one that may see only one user's is told of
// no others.
// Threads: the node's. Allocation: with each event; never on the way from a store to a wake.
// Time: by the clock that was handed in, read once an event.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/delegated.hpp"
#include "lib/core/time.hpp"

namespace gar {

enum class event_kind : uint8_t {
  client_connected,
  client_left,
  client_refused,  // turned away, or thrown out
  stream_opened,
  stream_closed,
  request_refused,  // by a limit, or because it was wrong
  wait_failed,
  wait_timed_out,
  early_word,  // the word came before the device said done
  lost_store,  // a backstop ended the wait: the word had not come
  plan_changed,
  warning,       // something runs otherwise than it was asked to
  latency_held,  // the CPUs are kept out of deep sleep
  latency_released,
};
inline constexpr size_t event_kinds = 14;

std::string_view name_of(event_kind kind);

struct node_event {
  uint64_t number = 0;
  instant at;
  event_kind what{};
  std::optional<uint32_t> uid;  // whose client it is about; not set: the node
  session_id client = 0;        // 0: none
  std::optional<uint32_t> stream;
  uint16_t code = 0;  // an error's number, where there is one
  std::string name;   // the client's
  std::string text;   // what a person reads
};

class event_log {
 public:
  static constexpr size_t kept_max = 1024;
  static constexpr size_t users_max = 16;

  explicit event_log(std::function<instant()> clock) : clock_(std::move(clock)) {}

  // Numbers and dates it.
  void add(node_event e);

  struct reading {
    std::vector<node_event> events;
    uint64_t next = 0;  // what to read after, to go on
    uint64_t lost = 0;  // between `after` and these, pushed out meanwhile
    bool more = false;  // there are some behind these
  };
  // The first `most` behind `after`; `uid` set: of this user's clients alone, under numbers of
  // their own. An `after` that is still to come: as 0.
  reading read_after(uint64_t after, std::optional<uint32_t> uid, size_t most) const;
  // The last number so far, as that reader counts.
  uint64_t last(std::optional<uint32_t> uid) const;

  const std::array<uint64_t, event_kinds>& counts() const { return counts_; }

 private:
  // One user's, or the node's: in order.
  struct ring {
    std::deque<node_event> kept;
    uint64_t added = 0;
  };

  ring& ring_of(std::optional<uint32_t> uid);
  reading read_all(uint64_t after, size_t most) const;
  reading read_one(const ring& from, uint64_t after, size_t most) const;

  std::function<instant()> clock_;
  std::map<std::optional<uint32_t>, ring> rings_;
  uint64_t last_ = 0;
  std::array<uint64_t, event_kinds> counts_{};
};

}  // namespace gar
