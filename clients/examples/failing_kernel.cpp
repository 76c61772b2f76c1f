// A kernel that fails while a wait for it is pending: the wait ends with Backend and the driver's
// own words, and never hangs, though the store that would have ended it never comes. The context is
// lost then, as CUDA has it; the process would have to be started again.
// usage: failing_kernel (compiled with CUDA's headers, linked with -lcuda -lgarclient). Exit status
// 77: there is no device, and why.
#include <cuda.h>

#include <cstdio>
#include <gar.hpp>
#include <stdexcept>
#include <string>

namespace {

// Stores to wherever it is told.
constexpr const char* kernel_text = R"(
.version 6.0
.target sm_50
.address_size 64
.visible .entry store_to(.param .u64 address)
{
  .reg .u64 %at, %one;
  ld.param.u64 %at, [address];
  mov.u64 %one, 1;
  st.volatile.global.u64 [%at], %one;
  ret;
}
)";

struct no_device : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void check(CUresult status, const char* call) {
  if (status == CUDA_SUCCESS) return;
  const char* name = nullptr;
  (void)cuGetErrorName(status, &name);
  const std::string what = std::string(call) + ": " + (name ? name : "unknown status");
  if (status == CUDA_ERROR_NO_DEVICE || status == CUDA_ERROR_STUB_LIBRARY) throw no_device(what);
  throw std::runtime_error(what);
}

void launch_faulting_kernel(CUstream stream) {
  CUmodule module = nullptr;
  CUfunction store_to = nullptr;
  check(cuModuleLoadData(&module, kernel_text), "cuModuleLoadData");
  check(cuModuleGetFunction(&store_to, module, "store_to"), "cuModuleGetFunction");
  unsigned long long nowhere = 16;
  void* parameters[] = {&nowhere};
  check(cuLaunchKernel(store_to, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr),
        "cuLaunchKernel");
}

int run() {
  CUcontext context = nullptr;
  CUstream cuda = nullptr;
  check(cuInit(0), "cuInit");
  check(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
  check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  check(cuStreamCreate(&cuda, CU_STREAM_NON_BLOCKING), "cuStreamCreate");

  gar::client client;
  gar::stream stream = client.open_cuda(cuda, "example");
  launch_faulting_kernel(cuda);
  try {
    stream.wait(stream.record());
  } catch (const gar::failure& e) {
    std::printf("0x%04x %s: %s\n", static_cast<unsigned>(e.number()), e.name(), e.what());
    return e.number() == GAR_E_BACKEND ? 0 : 1;
  }
  std::fprintf(stderr, "the wait succeeded, though the kernel failed\n");
  return 2;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const no_device& e) {
    std::printf("skipped: %s\n", e.what());
    return 77;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
