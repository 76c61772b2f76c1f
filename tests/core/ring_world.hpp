// A node_world whose clients may have rings.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "lib/core/ring_intake.hpp"
#include "tests/core/node_world.hpp"
#include "tests/core/raw_ring.hpp"

namespace gar::test {

class ring_world {
 public:
  explicit ring_world(node_limits limits = with_entries(64)) : world(options(limits)) {}

  static node_limits with_entries(uint32_t entries) {
    node_limits limits;
    limits.ring_entries = entries;
    return limits;
  }

  struct client {
    node_world::client base;
    raw_ring* ring = nullptr;
    ring_seat* seat = nullptr;
    session_id id() const { return base.id; }
  };

  client connect(const std::string& name = "a", uint32_t uid = 1000) {
    client c{world.connect(name, uid, proto::feature_ring)};
    kept& k = kept_.at(c.id());
    k.seat.session = c.id();
    k.seat.ring = client_ring(k.ring.data(), k.ring.entries());
    k.seat.waits = &world.waits.board().attach(c.id(), k.seat.ring);
    c.ring = &k.ring;
    c.seat = &k.seat;
    return c;
  }

  void fill(client& c, uint16_t slot, const proto::opened& s, uint64_t target) {
    c.ring->slot(slot).request = {target, 0, 0, c.base.generation, s.stream, s.stream_generation,
                                  0,      0, {}};
  }
  void ask(client& c, uint16_t slot, const proto::opened& s, uint64_t target) {
    fill(c, slot, s, target);
    c.ring->submit(slot, proto::submit_wait);
  }
  // As the reactor's thread, when the client's flag is set.
  bool take(client& c) {
    const bool goes_on = take_ring(world.decisions, world.waits, *c.seat, world.clock.now());
    world.settle();
    return goes_on;
  }
  // The next end: its slot, and what stands there.
  std::pair<int, proto::ring_completion> ended(client& c) {
    const std::optional<uint32_t> slot = c.ring->next_end();
    if (!slot) return {-1, {}};
    return {static_cast<int>(*slot), c.ring->slot(*slot).completion};
  }

  node_world world;

 private:
  struct kept {
    raw_ring ring;
    ring_seat seat;
  };
  node_options options(node_limits limits) {
    node_options o = world_options(limits);
    o.make_ring = [this](session_id of, uint32_t entries) -> result<uint32_t> {
      kept_.emplace(of, kept{raw_ring(entries), {}});
      return static_cast<uint32_t>(kept_.size() - 1);
    };
    return o;
  }
  std::map<session_id, kept> kept_;
};

}  // namespace gar::test
