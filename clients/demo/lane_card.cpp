// Lanes on CUDA and HIP streams.
#include <vector>

#include "clients/demo/lane.hpp"
#include "lib/gpu/card_workload.hpp"
#include "proto/line.hpp"

namespace gar {
namespace {

using open_stream = int(gar_client*, void*, const gar_stream_options*, gar_stream**);

struct card_vendor_calls {
  card_vendor vendor;
  const char* name;
  open_stream* open;
  const char* open_name;
};

// A stream of its own, which the lanes of all plans share: they take turns.
struct card_work {
  std::unique_ptr<card_workload> workload;
  uint32_t number = 0;
};

class card_lane : public lane {
 public:
  static demo_result<std::unique_ptr<lane>> open(gar_client* client, card_work& work,
                                                 const card_vendor_calls& calls) {
    auto opened = std::make_unique<card_lane>(work);
    const driver_place place(work.workload->driver(), work.workload->domain());
    void* stream = work.workload->stream();
    if (const int e = calls.open(client, stream, nullptr, &opened->stream_)) {
      return library_failure(calls.open_name, e);
    }
    return std::unique_ptr<lane>(std::move(opened));
  }

  explicit card_lane(card_work& work) : work_(work) {}
  ~card_lane() override { gar_stream_close(stream_); }

  demo_result<submitted> submit(duration takes) override {
    const uint32_t number = ++work_.number;
    submitted piece{0, card_workload::truth_of(number)};
    const result<void> sent = work_.workload->submit(takes.ns, number);
    if (!sent) return failure_of("submitting work", sent.error());
    if (const int e = gar_record(stream_, &piece.sequence)) return library_failure("gar_record", e);
    return piece;
  }

  uint64_t truth() const override { return proto::load_word(*work_.workload->truth()); }
  // The driver stores, and tells nobody when.
  std::optional<instant> stored_at(uint64_t) const override { return std::nullopt; }
  gar_stream* stream() const override { return stream_; }

 private:
  card_work& work_;
  gar_stream* stream_ = nullptr;
};

class card_device_of_lanes : public lane_device {
 public:
  static demo_result<std::unique_ptr<lane_device>> open(const card_vendor_calls& calls,
                                                        uint32_t streams) {
    auto opened = std::make_unique<card_device_of_lanes>(calls);
    opened->works_.resize(streams);
    for (card_work& work : opened->works_) {
      auto workload = card_workload::create(calls.vendor);
      if (!workload) return failure_of(calls.name, workload.error());
      work.workload = std::move(*workload);
    }
    return std::unique_ptr<lane_device>(std::move(opened));
  }

  explicit card_device_of_lanes(const card_vendor_calls& calls) : calls_(calls) {}

  std::string name() const override { return works_.front().workload->device_name(); }
  demo_result<std::unique_ptr<lane>> open(gar_client* client, uint32_t index) override {
    return card_lane::open(client, works_[index], calls_);
  }

 private:
  const card_vendor_calls calls_;
  std::vector<card_work> works_;  // never resized once lanes refer to them
};

}  // namespace

demo_result<std::unique_ptr<lane_device>> open_cuda(uint32_t streams) {
  return card_device_of_lanes::open(
      {card_vendor::cuda, "cuda", gar_cuda_stream_open, "gar_cuda_stream_open"}, streams);
}

demo_result<std::unique_ptr<lane_device>> open_hip(uint32_t streams) {
  return card_device_of_lanes::open(
      {card_vendor::hip, "hip", gar_hip_stream_open, "gar_hip_stream_open"}, streams);
}

}  // namespace gar
