// The C interface: the simulated device.
#include <utility>

#include "clients/garclient/handles.hpp"
#include "clients/garclient/last_error.hpp"
#include "lib/gpu/gpu_sim.hpp"
#include "lib/linux/signals_blocked.hpp"
#include "lib/linux/timer_slack.hpp"

using namespace gar;
using namespace gar::owner;

struct gar_sim {
  std::unique_ptr<sim_device> device;
};

struct gar_sim_queue {
  sim_queue queue;
  sim_device* device;
};

namespace {

void prepare_device_thread() {
  (void)set_timer_slack_ns(timer_slack_ns_least);  // where refused, work ends a little late
}

}  // namespace

extern "C" {

int gar_sim_create(gar_sim** sim) {
  return entry([&]() -> result<void> {
    result<void> out = not_null(sim, "sim");
    if (!out) return out;
    const signals_blocked during;
    result<std::unique_ptr<sim_device>> device = sim_device::create(&prepare_device_thread);
    if (!device) return device.error();
    *sim = new gar_sim{std::move(*device)};
    return {};
  });
}

void gar_sim_destroy(gar_sim* sim) {
  delete sim;
}

int gar_sim_queue_create(gar_sim* sim, gar_sim_queue** queue) {
  return entry([&]() -> result<void> {
    result<void> given = not_null(sim, "sim");
    if (given) given = not_null(queue, "queue");
    if (!given) return given;
    *queue = new gar_sim_queue{sim_queue(*sim->device), sim->device.get()};
    return {};
  });
}

void gar_sim_queue_destroy(gar_sim_queue* queue) {
  delete queue;
}

int gar_sim_submit(gar_sim_queue* queue, uint64_t duration_ns, uint64_t* truth, uint64_t value) {
  return entry([&]() -> result<void> {
    result<void> given = not_null(queue, "queue");
    if (!given) return given;
    return queue->queue.submit(duration_ns, truth, value);
  });
}

int gar_sim_fault(gar_sim_queue* queue, int fault, uint64_t value) {
  return entry([&]() -> result<void> {
    result<void> given = not_null(queue, "queue");
    if (!given) return given;
    return queue->queue.fault(static_cast<sim_fault>(fault), value);
  });
}

int gar_sim_stream_open(gar_client* c, gar_sim_queue* queue, const gar_stream_options* options,
                        gar_stream** opened) {
  return entry([&]() -> result<void> {
    result<void> given = not_null(queue, "queue");
    if (!given) return given;
    const auto ops = std::make_shared<const gar_device_ops>(*sim_ops());
    return open_handle(c, device_stream(ops, queue->device, &queue->queue), options, nullptr,
                       opened);
  });
}

uint64_t gar_sim_stored_ns(gar_sim_queue* queue, uint64_t sequence) {
  return queue ? queue->queue.stored_ns(sequence) : 0;
}

}  // extern "C"
