#include <atomic>

#include "clients/demo/lane.hpp"

namespace gar {
namespace {

class sim_lane : public lane {
 public:
  static demo_result<std::unique_ptr<lane>> open(gar_client* client, gar_sim* sim) {
    auto opened = std::make_unique<sim_lane>();
    if (const int e = gar_sim_queue_create(sim, &opened->queue_))
      return library_failure("gar_sim_queue_create", e);
    if (const int e = gar_sim_stream_open(client, opened->queue_, nullptr, &opened->stream_))
      return library_failure("gar_sim_stream_open", e);
    return std::unique_ptr<lane>(std::move(opened));
  }

  ~sim_lane() override {
    gar_stream_close(stream_);
    if (queue_) gar_sim_queue_destroy(queue_);
  }

  demo_result<submitted> submit(duration takes) override {
    submitted piece{0, ++number_};
    if (const int e = gar_sim_submit(queue_, takes.ns, &truth_, piece.number))
      return library_failure("gar_sim_submit", e);
    if (const int e = gar_record(stream_, &piece.sequence)) return library_failure("gar_record", e);
    return piece;
  }

  uint64_t truth() const override {
    return std::atomic_ref<uint64_t>(truth_).load(std::memory_order_acquire);
  }

  std::optional<instant> stored_at(uint64_t sequence) const override {
    const uint64_t ns = gar_sim_stored_ns(queue_, sequence);
    return ns == 0 ? std::nullopt : std::optional(instant{ns});
  }

  gar_stream* stream() const override { return stream_; }

 private:
  gar_sim_queue* queue_ = nullptr;
  gar_stream* stream_ = nullptr;
  uint64_t number_ = 0;
  mutable uint64_t truth_ = 0;  // the device writes it
};

class sim_device_of_lanes : public lane_device {
 public:
  static demo_result<std::unique_ptr<lane_device>> open() {
    auto opened = std::make_unique<sim_device_of_lanes>();
    if (const int e = gar_sim_create(&opened->sim_)) return library_failure("gar_sim_create", e);
    return std::unique_ptr<lane_device>(std::move(opened));
  }

  ~sim_device_of_lanes() override {
    if (sim_) gar_sim_destroy(sim_);
  }

  std::string name() const override { return "simulated device"; }
  demo_result<std::unique_ptr<lane>> open(gar_client* client, uint32_t) override {
    return sim_lane::open(client, sim_);
  }

 private:
  gar_sim* sim_ = nullptr;
};

}  // namespace

demo_result<std::unique_ptr<lane_device>> open_sim() {
  return sim_device_of_lanes::open();
}

}  // namespace gar
