// A program that uses HIP, and its streams as devices of the port.
#pragma once

#include <memory>

#include "lib/gpu/gpu_hip.hpp"
#include "tests/gpu/hip_program.hpp"
#include "tests/gpu/scratch_memory.hpp"

namespace gar {

struct hip_world : hip_program {
  static result<std::unique_ptr<event_stream>> open(void* stream) {
    return open_hip_stream(stream, make_test_scratch);
  }
  static const gar_device_ops* ops() { return hip_ops(); }
};

}  // namespace gar
