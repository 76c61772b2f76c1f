// The C interface: a program's own Vulkan queue.
#include <utility>

#include "clients/garclient/handles.hpp"
#include "clients/garclient/last_error.hpp"
#include "lib/gpu/gpu_vulkan.hpp"

using namespace gar;
using namespace gar::owner;

extern "C" {

int gar_vulkan_stream_open(gar_client* c, const gar_vulkan_queue* queue,
                           const gar_stream_options* options, gar_stream** opened) {
  return entry([&]() -> result<void> {
    result<void> given = not_null(queue, "queue");
    if (!given) return given;
    const result<gar_vulkan_queue> q = read_struct(queue, "queue");
    if (!q) return q.error();
    const std::pair<const void*, const char*> needed[] = {
        {q->instance, "queue->instance"},
        {q->physical_device, "queue->physical_device"},
        {q->device, "queue->device"},
        {q->queue, "queue->queue"},
    };
    for (const auto& [pointer, what] : needed) {
      given = not_null(pointer, what);
      if (!given) return given;
    }
    if ((q->lock == nullptr) != (q->unlock == nullptr)) {
      return invalid("queue->lock", "needs unlock, and unlock needs lock");
    }
    if (q->reserved != 0) return invalid("queue->reserved", "is not 0");
    result<std::unique_ptr<vulkan_queue>> made =
        vulkan_queue::create({q->instance, q->physical_device, q->device, q->queue,
                              q->queue_family_index, q->lock, q->unlock, q->lock_context});
    if (!made) return made.error();
    const std::shared_ptr<vulkan_queue> side = std::move(*made);
    const auto ops = std::make_shared<const gar_device_ops>(*vulkan_ops());
    return open_handle(c, device_stream(ops, side->device_key(), side.get()), options, side,
                       opened);
  });
}

}  // extern "C"
