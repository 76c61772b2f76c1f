#include "bench/raw_ring.hpp"

#include <atomic>

namespace gar::bench {

void raw_ring::ask(uint32_t slot, size_t stream, uint64_t target) {
  const proto::wait w = wait_for(stream, target, slot);
  proto::ring_request request{};
  request.target = w.target;
  request.plan_generation = w.plan_generation;
  request.stream = w.stream;
  request.stream_generation = w.stream_generation;
  ring_->submit_wait(static_cast<uint16_t>(slot), request);
}

void raw_ring::announce() {
  auto* flags =
      reinterpret_cast<uint8_t*>(doorbell_page() + offsetof(proto::doorbell_page, request_flags));
  std::atomic_ref<uint8_t>(flags[request_flag()]).store(1, std::memory_order_release);
  ring_for_requests(++rings_);
}

std::optional<uint32_t> raw_ring::take() {
  const std::optional<ring_client::end> end = must(ring_->take_end(), "ring");
  if (!end) return std::nullopt;
  if (end->entry.code != 0) throw cannot_measure("gard ended a wait with an error");
  return end->slot;
}

void need_ring(const raw_ring& client) {
  if (!client.has_ring()) throw cannot_measure("this gard gives no ring");
}

}  // namespace gar::bench
