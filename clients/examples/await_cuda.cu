// Awaits kernels on a CUDA stream, with the runtime's own types: a cudaStream_t is all that is
// needed. Compiled with nvcc; nothing of CUDA is linked for gard's sake.
// usage: await_cuda. Exit status 77: there is no device, and why.
#include <cstdio>
#include <gar.h>
#include <stdexcept>
#include <string>

namespace {

// Lasts for some rounds, then writes `number` where the host can read it.
__global__ void compute(unsigned long long rounds, volatile int* word, int number) {
  unsigned long long mixed = rounds;
  for (unsigned long long i = 0; i < rounds; ++i) mixed = mixed * 6364136223846793005ull + 1;
  *word = mixed == 0 ? -1 : number;
  __threadfence_system();
}

struct no_device : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  const std::string what = std::string(call) + ": " + cudaGetErrorString(status);
  if (status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver ||
      status == cudaErrorStubLibrary) {
    throw no_device(what);
  }
  throw std::runtime_error(what);
}

void check_gar(int number, const char* call) {
  if (number == 0) return;
  char text[1024];
  gar_last_error(text, sizeof(text));
  throw std::runtime_error(std::string(call) + ": " + gar_error_name(number) + ": " + text);
}

int run() {
  cudaStream_t cuda = nullptr;
  int* word = nullptr;
  int* word_on_device = nullptr;
  check(cudaStreamCreateWithFlags(&cuda, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  check(cudaHostAlloc(&word, sizeof(*word), cudaHostAllocMapped), "cudaHostAlloc");
  check(cudaHostGetDevicePointer(&word_on_device, word, 0), "cudaHostGetDevicePointer");

  gar_client* client = nullptr;
  gar_stream* stream = nullptr;
  check_gar(gar_connect(nullptr, &client), "gar_connect");
  check_gar(gar_cuda_stream_open(client, cuda, nullptr, &stream), "gar_cuda_stream_open");
  for (int i = 1; i <= 3; ++i) {
    compute<<<1, 1, 0, cuda>>>(1000000, word_on_device, i);
    check(cudaGetLastError(), "launching the kernel");
    uint64_t sequence = 0;
    gar_report report;
    check_gar(gar_record(stream, &sequence), "gar_record");
    check_gar(gar_wait(stream, sequence, nullptr, &report), "gar_wait");
    if (*static_cast<volatile int*>(word) != i) return 2;  // success before the work was done
    std::printf("wait %d: %llu us\n", i, static_cast<unsigned long long>(report.wait_ns / 1000));
  }
  check_gar(gar_stream_close(stream), "gar_stream_close");
  check_gar(gar_close(client), "gar_close");
  check(cudaFreeHost(word), "cudaFreeHost");
  check(cudaStreamDestroy(cuda), "cudaStreamDestroy");
  return 0;
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
