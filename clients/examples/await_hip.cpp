// Awaits fills on a HIP stream: plain C++, compiled with HIP's headers and linked with libamdhip64.
// usage: await_hip. Exit status 77: there is no device, and why.
#include <hip/hip_runtime_api.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <gar.hpp>
#include <stdexcept>
#include <string>

namespace {

constexpr size_t filled_bytes = size_t{16} << 20;
constexpr size_t page_bytes = 4096;

struct no_device : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void check(hipError_t status, const char* call) {
  if (status == hipSuccess) return;
  const std::string what = std::string(call) + ": " + hipGetErrorName(status);
  if (status == hipErrorNoDevice || status == hipErrorInvalidDevice) throw no_device(what);
  throw std::runtime_error(what);
}

// A stream, memory to fill, and a word of host memory that the last fill writes.
struct device {
  hipStream_t stream = nullptr;
  void* filled = nullptr;
  void* word = nullptr;
  void* word_on_device = nullptr;

  device() {
    check(hipInit(0), "hipInit");
    check(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking), "hipStreamCreateWithFlags");
    check(hipMalloc(&filled, filled_bytes), "hipMalloc");
    word = std::aligned_alloc(page_bytes, page_bytes);
    check(hipHostRegister(word, page_bytes, hipHostRegisterMapped), "hipHostRegister");
    check(hipHostGetDevicePointer(&word_on_device, word, 0), "hipHostGetDevicePointer");
  }
  device(const device&) = delete;
  device& operator=(const device&) = delete;
  ~device() {
    (void)hipHostUnregister(word);
    (void)hipFree(filled);
    (void)hipStreamDestroy(stream);
    std::free(word);
  }

  void submit(int number) const {
    check(hipMemsetD32Async(filled, number, filled_bytes / sizeof(int), stream),
          "hipMemsetD32Async");
    check(hipMemsetD32Async(word_on_device, number, 2, stream), "hipMemsetD32Async");
  }
  int last_done() const {
    return std::atomic_ref<int>(*static_cast<int*>(word)).load(std::memory_order_acquire);
  }
};

int run() {
  const device gpu;
  gar::client client;
  gar::stream stream = client.open_hip(gpu.stream, "example");
  for (int i = 1; i <= 3; ++i) {
    gpu.submit(i);
    const gar_report report = stream.wait(stream.record());
    if (gpu.last_done() != i) return 2;  // success before the work was done
    std::printf("wait %d: %llu us\n", i, static_cast<unsigned long long>(report.wait_ns / 1000));
  }
  return 0;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const no_device& e) {
    std::printf("skipped: %s\n", e.what());
    return 77;
  } catch (const gar::failure& e) {
    std::fprintf(stderr, "0x%04x %s: %s\n", static_cast<unsigned>(e.number()), e.name(), e.what());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
  }
  return 1;
}
