// A raw client that asks through shared memory: fills a slot, submits it, rings, and looks for the
// end. It never blocks: what a client pays that is awake.
//
// Model: a slot of the ring is free, or asked; its index comes back with the end.
// Invariant: the caller asks in free slots only. Threads: one. Errors: cannot_measure.
#pragma once

#include <optional>

#include "bench/raw_client.hpp"

namespace gar::bench {

class raw_ring : public raw_client {
 public:
  raw_ring(const std::string& socket, const std::string& name)
      : raw_client(socket, name, proto::feature_ring) {}

  // Did gard give it one? Else it is a client by socket.
  bool has_ring() const { return ring_.has_value(); }
  uint32_t entries() const { return ring_->entries(); }

  void ask(uint32_t slot, size_t stream, uint64_t target);
  // Makes gard see what was asked since the last time.
  void announce();
  // The slot of a wait that ended, where one did.
  std::optional<uint32_t> take();

 private:
  uint64_t rings_ = 0;
};

// `cannot_measure` where gard gives no ring.
void need_ring(const raw_ring& client);

}  // namespace gar::bench
