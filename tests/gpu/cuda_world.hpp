// A program that uses CUDA, and its streams as devices of the port.
#pragma once

#include <memory>

#include "lib/gpu/gpu_cuda.hpp"
#include "tests/gpu/cuda_program.hpp"
#include "tests/gpu/scratch_memory.hpp"

namespace gar {

struct cuda_world : cuda_program {
  static result<std::unique_ptr<event_stream>> open(void* stream) {
    return open_cuda_stream(stream, make_test_scratch);
  }
  static const gar_device_ops* ops() { return cuda_ops(); }
};

}  // namespace gar
