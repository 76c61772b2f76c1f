#include "daemon/wait_service.hpp"

namespace gar {

void wait_service::open(executor_kind kind, shared_node& decisions, const reactor_parts& parts,
                        std::optional<ring_parts> ring, size_t naive_workers,
                        const std::function<void()>& on_thread) {
  switch (kind) {
    case executor_kind::io_uring:
      executor_.emplace<ring_reactor>(decisions, parts, on_thread,
                                      std::make_unique<socket_traffic>(std::move(ring->sockets)),
                                      std::move(ring->ring));
      break;
    case executor_kind::gpu_reactor:
      executor_.emplace<doorbell_reactor>(decisions, parts, on_thread, nullptr);
      break;
    case executor_kind::naive:
      executor_.emplace<naive_pool>(decisions, parts.waiter, naive_workers, on_thread, parts.alive,
                                    parts.latency);
      break;
  }
}

reactor_counts wait_service::counts() const {
  return std::visit(
      [](const auto& e) -> reactor_counts {
        if constexpr (std::is_same_v<std::decay_t<decltype(e)>, std::monostate>) {
          return {};
        } else {
          return e.counts();
        }
      },
      executor_);
}

}  // namespace gar
