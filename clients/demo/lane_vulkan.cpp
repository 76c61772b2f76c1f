#include <vector>

#include "clients/demo/lane.hpp"
#include "lib/gpu/vulkan_workload.hpp"
#include "proto/line.hpp"

namespace gar {
namespace {

// A device and queue of its own, which the lanes of all plans share: they take turns.
struct vulkan_work {
  std::unique_ptr<vulkan_workload> workload;
  uint64_t number = 0;
};

class vulkan_lane : public lane {
 public:
  static demo_result<std::unique_ptr<lane>> open(gar_client* client, vulkan_work& work) {
    auto opened = std::make_unique<vulkan_lane>(work);
    const vulkan_queue_handles handles = work.workload->handles();
    gar_vulkan_queue queue{};
    queue.struct_bytes = sizeof(queue);
    queue.instance = handles.instance;
    queue.physical_device = handles.physical_device;
    queue.device = handles.device;
    queue.queue = handles.queue;
    queue.queue_family_index = handles.queue_family_index;
    queue.lock = handles.lock;
    queue.unlock = handles.unlock;
    queue.lock_context = handles.lock_context;
    if (const int e = gar_vulkan_stream_open(client, &queue, nullptr, &opened->stream_)) {
      return library_failure("gar_vulkan_stream_open", e);
    }
    return std::unique_ptr<lane>(std::move(opened));
  }

  explicit vulkan_lane(vulkan_work& work) : work_(work) {}
  ~vulkan_lane() override { gar_stream_close(stream_); }

  demo_result<submitted> submit(duration takes) override {
    submitted piece{0, ++work_.number};
    const result<void> sent = work_.workload->submit(takes.ns, piece.number);
    if (!sent) return failure_of("submitting work", sent.error());
    if (const int e = gar_record(stream_, &piece.sequence)) return library_failure("gar_record", e);
    return piece;
  }

  uint64_t truth() const override { return proto::load_word(*work_.workload->truth()); }
  // The driver stores, and tells nobody when.
  std::optional<instant> stored_at(uint64_t) const override { return std::nullopt; }
  gar_stream* stream() const override { return stream_; }

 private:
  vulkan_work& work_;
  gar_stream* stream_ = nullptr;
};

class vulkan_device_of_lanes : public lane_device {
 public:
  static demo_result<std::unique_ptr<lane_device>> open(uint32_t streams) {
    auto opened = std::make_unique<vulkan_device_of_lanes>();
    opened->works_.resize(streams);
    for (vulkan_work& work : opened->works_) {
      auto workload = vulkan_workload::create();
      if (!workload) return failure_of("vulkan", workload.error());
      work.workload = std::move(*workload);
    }
    return std::unique_ptr<lane_device>(std::move(opened));
  }

  std::string name() const override { return works_.front().workload->device_name(); }
  demo_result<std::unique_ptr<lane>> open(gar_client* client, uint32_t index) override {
    return vulkan_lane::open(client, works_[index]);
  }

 private:
  std::vector<vulkan_work> works_;  // never resized once lanes refer to them
};

}  // namespace

demo_result<std::unique_ptr<lane_device>> open_vulkan(uint32_t streams) {
  return vulkan_device_of_lanes::open(streams);
}

}  // namespace gar
