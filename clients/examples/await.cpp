// What await.c does, in C++: with a readback point and a timeout.
// usage: await_cpp
#include <cstdio>
#include <gar.hpp>

namespace {

struct simulated {
  simulated() {
    gar::failure::check(gar_sim_create(&sim));
    gar::failure::check(gar_sim_queue_create(sim, &queue));
  }
  ~simulated() {
    gar_sim_queue_destroy(queue);
    gar_sim_destroy(sim);
  }
  gar_sim* sim = nullptr;
  gar_sim_queue* queue = nullptr;
};

int run() {
  simulated device;
  gar::client client;
  gar::stream stream = client.open_sim(device.queue, "example");
  gar::wait_options at;
  at.point = "readback";
  for (int i = 1; i <= 3; ++i) {
    uint64_t truth = 0;
    gar::failure::check(gar_sim_submit(device.queue, 2'000'000, &truth, 1));
    const uint64_t sequence = stream.record();
    if (!stream.wait_for(sequence, std::chrono::microseconds(100), at)) std::puts("not yet");
    const gar_report report = stream.wait(sequence, at);
    if (truth != 1) return 2;  // success before the work was done
    std::printf("wait %d: %llu us\n", i, static_cast<unsigned long long>(report.wait_ns / 1000));
  }
  return 0;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const gar::failure& e) {
    std::fprintf(stderr, "0x%04x %s: %s\n", static_cast<unsigned>(e.number()), e.name(), e.what());
    return 1;
  }
}
