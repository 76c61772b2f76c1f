// A stream of a fake vendor's for the suite that every device passes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lib/gpu/event_stream.hpp"

namespace gar {

template <class World>
class event_rig {
 public:
  static std::string why_not() { return World::fake().why_not(); }

  event_rig() {
    World::use_device(0);
    handle_ = World::make_stream(1);
    stream_ = World::open(handle_).value();
  }
  ~event_rig() {
    stream_.reset();
    World::destroy_stream(handle_);
  }

  const gar_device_ops* ops() { return World::ops(); }
  void* device() { return stream_->device_key(); }
  void* stream() { return stream_.get(); }
  void submit(uint64_t duration_ns, uint64_t value) {
    World::fake().fake_submit(handle_, duration_ns, &truth_, value);
  }
  const uint64_t& truth() const { return truth_; }

 private:
  uint64_t truth_ = 0;
  void* handle_ = nullptr;
  std::unique_ptr<event_stream> stream_;
};

}  // namespace gar
