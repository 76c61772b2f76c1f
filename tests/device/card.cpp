#include "tests/device/card.hpp"

#include <sys/mman.h>

#include <algorithm>

#include "lib/linux/steady_clock.hpp"
#include "proto/line.hpp"
#include "tests/device/kernels.hpp"

namespace gar::device_check {
namespace {

constexpr size_t words_bytes = card::words_max * proto::line_bytes;
constexpr size_t filled_bytes = size_t{64} << 20;

template <class Made>
const Made& checked(const result<const Made*>& made) {
  if (!made) throw broken(made.error().headline());
  return **made;
}

}  // namespace

card::card(const options& wanted)
    : driver_(checked(cuda_driver::process())), calls_(device_check::need(card_calls::resolve())) {
  need(calls_.DeviceGet(&device_, 0), "cuDeviceGet");
  need(calls_.DevicePrimaryCtxSetFlags(device_, schedule_spin), "cuDevicePrimaryCtxSetFlags_v2");
  cuda::context context = nullptr;
  need(driver_.DevicePrimaryCtxRetain(&context, device_), "cuDevicePrimaryCtxRetain");
  if (!wanted.kernels) kernels_refused_ = "told not to use kernels";
  primary_ = make_place(context);
  make_words();
  if (!has_kernels()) need(calls_.MemAlloc(&filled_, filled_bytes), "cuMemAlloc_v2");
}

card::place card::make_place(cuda::context context) {
  place made;
  made.context = context;
  enter(made);
  if (!has_kernels()) return made;
  module_handle loaded = nullptr;
  if (cuda::status s = calls_.ModuleLoadData(&loaded, kernels); s != cuda::success) {
    kernels_refused_ = "cuModuleLoadData failed with status " + std::to_string(s) + " (" +
                       driver_.text_of(s) + ")";
    return made;
  }
  need(calls_.ModuleGetFunction(&made.spin_then_store, loaded, "spin_then_store"),
       "cuModuleGetFunction");
  need(calls_.ModuleGetFunction(&made.store_to, loaded, "store_to"), "cuModuleGetFunction");
  return made;
}

const card::place& card::blocking() {
  if (blocking_.context) return blocking_;
  cuda::context context = nullptr;
  need(calls_.CtxCreate(&context, schedule_blocking_sync, device_), "cuCtxCreate_v2");
  blocking_ = make_place(context);
  enter(primary_);
  return blocking_;
}

// Portable, so that both contexts know them.
void card::make_words() {
  void* at =
      ::mmap(nullptr, words_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw broken("no memory for the words");
  words_ = at;
  need(
      driver_.MemHostRegister(at, words_bytes, cuda::register_portable | cuda::register_device_map),
      "cuMemHostRegister_v2");
  need(driver_.MemHostGetDevicePointer(&words_address_, at, 0), "cuMemHostGetDevicePointer_v2");
}

std::string card::name() const {
  char text[128] = {};
  need(calls_.DeviceGetName(text, sizeof(text), device_), "cuDeviceGetName");
  return text;
}

int card::attribute(unsigned which) const {
  int value = 0;
  need(calls_.DeviceGetAttribute(&value, which, device_), "cuDeviceGetAttribute");
  return value;
}

unsigned card::primary_flags() const {
  unsigned flags = 0;
  int active = 0;
  need(calls_.DevicePrimaryCtxGetState(device_, &flags, &active), "cuDevicePrimaryCtxGetState");
  return flags;
}

void card::enter(const place& at) const {
  need(calls_.CtxSetCurrent(at.context), "cuCtxSetCurrent");
}

cuda::stream card::make_stream(const place& at) const {
  enter(at);
  cuda::stream made = nullptr;
  need(driver_.StreamCreate(&made, cuda::stream_non_blocking), "cuStreamCreate");
  return made;
}

void card::destroy_stream(cuda::stream stream) const {
  need(driver_.StreamDestroy(stream), "cuStreamDestroy_v2");
}

const uint64_t& card::word(size_t index) const {
  GAR_ASSERT(index < words_max);
  return static_cast<const proto::completion_line*>(words_)[index].word[0];
}

cuda::device_pointer card::address_of(size_t index) const {
  GAR_ASSERT(index < words_max);
  return words_address_ + index * proto::line_bytes;
}

// ---- Work.

void card::submit(const place& at, cuda::stream on, uint64_t rounds, size_t word,
                  uint64_t number) const {
  cuda::device_pointer address = address_of(word);
  if (has_kernels()) {
    void* parameters[] = {&rounds, &address, &number};
    launch(at.spin_then_store, on, parameters);
    return;
  }
  constexpr uint64_t rounds_max = filled_bytes / sizeof(uint32_t);
  for (uint64_t left = rounds; left > 0;) {
    const uint64_t now = std::min(left, rounds_max);
    need(calls_.MemsetD32Async(filled_, 0, now, on), "cuMemsetD32Async");
    left -= now;
  }
  need(calls_.MemsetD32Async(address, static_cast<unsigned>(number), 2, on), "cuMemsetD32Async");
}

void card::submit_fault(const place& at, cuda::stream on) const {
  if (!has_kernels()) throw broken("needs a kernel: " + kernels_refused_);
  uint64_t nowhere = 0x10;
  void* parameters[] = {&nowhere};
  launch(at.store_to, on, parameters);
}

void card::launch(function_handle kernel, cuda::stream on, void** parameters) const {
  need(calls_.LaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, on, parameters, nullptr), "cuLaunchKernel");
}

uint64_t card::time_of(cuda::stream on, uint64_t rounds) const {
  const instant start = steady_clock().now();
  submit(primary_, on, rounds, words_max - 1, 1);
  need(calls_.StreamSynchronize(on), "cuStreamSynchronize");
  return (steady_clock().now() - start).ns;
}

// The first runs also bring the card to its working clock.
uint64_t card::rounds_per_ms() const {
  constexpr uint64_t enough_ns = 20'000'000;
  constexpr uint64_t rounds_max = uint64_t{1} << 40;
  constexpr int repeats = 10;
  const cuda::stream on = make_stream(primary_);
  uint64_t rounds = 1024;
  uint64_t took_ns = time_of(on, rounds);
  while (took_ns < enough_ns && rounds < rounds_max) {
    rounds *= 2;
    took_ns = time_of(on, rounds);
  }
  for (int i = 0; i < repeats; ++i) took_ns = std::min(took_ns, time_of(on, rounds));
  destroy_stream(on);
  return std::max<uint64_t>(1, rounds * 1'000'000 / std::max<uint64_t>(1, took_ns));
}

void card::need(cuda::status status, const char* call) const {
  if (status == cuda::success) return;
  throw broken(std::string(call) + " failed with status " + std::to_string(status) + " (" +
               driver_.text_of(status) + ")");
}

}  // namespace gar::device_check
