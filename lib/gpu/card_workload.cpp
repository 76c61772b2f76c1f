#include "lib/gpu/card_workload.hpp"

#include <array>
#include <chrono>
#include <cstdlib>

#include "lib/gpu/gpu_cuda.hpp"
#include "lib/gpu/gpu_hip.hpp"

namespace gar {
namespace {

using steady = std::chrono::steady_clock;

constexpr uint64_t word_bytes = sizeof(uint32_t);
constexpr uint64_t filled_bytes_first = 16 << 20;
constexpr uint64_t filled_bytes_max = 1 << 30;
constexpr uint64_t fill_ns_min = 100'000;  // a shorter fill costs more to submit than to run
constexpr uint64_t fills_max = 1 << 17;    // of one piece of work
constexpr uint64_t truth_page_bytes = 4096;
constexpr int timings = 3;

// Device memory, as the vendors have it beside streams.
class card_memory {
 public:
  virtual ~card_memory() = default;
  virtual std::string device_name(int32_t device) const = 0;
  virtual driver_status allocate(uint64_t bytes, uint64_t& address) const = 0;
  virtual driver_status release(uint64_t address) const = 0;
  // Sets 32-bit words, behind all work of the stream.
  virtual driver_status fill(void* stream, uint64_t address, uint32_t value,
                             uint64_t words) const = 0;
};

class cuda_memory final : public card_memory {
 public:
  explicit cuda_memory(const cuda_driver& calls) : calls_(calls) {}
  bool whole() const {
    return calls_.DeviceGetName && calls_.MemAlloc && calls_.MemFree && calls_.MemsetD32Async;
  }

  std::string device_name(int32_t device) const override {
    std::array<char, 128> name{};
    if (calls_.DeviceGetName(name.data(), static_cast<int>(name.size()), device) != 0) return "?";
    return name.data();
  }
  driver_status allocate(uint64_t bytes, uint64_t& address) const override {
    return {calls_.MemAlloc(&address, bytes), "cuMemAlloc_v2"};
  }
  driver_status release(uint64_t address) const override {
    return {calls_.MemFree(address), "cuMemFree_v2"};
  }
  driver_status fill(void* stream, uint64_t address, uint32_t value,
                     uint64_t words) const override {
    return {calls_.MemsetD32Async(address, value, words, static_cast<cuda::stream>(stream)),
            "cuMemsetD32Async"};
  }

 private:
  const cuda_driver& calls_;
};

class hip_memory final : public card_memory {
 public:
  explicit hip_memory(const hip_driver& calls) : calls_(calls) {}
  bool whole() const {
    return calls_.DeviceGetName && calls_.Malloc && calls_.Free && calls_.MemsetD32Async;
  }

  std::string device_name(int32_t device) const override {
    std::array<char, 128> name{};
    if (calls_.DeviceGetName(name.data(), static_cast<int>(name.size()), device) != 0) return "?";
    return name.data();
  }
  driver_status allocate(uint64_t bytes, uint64_t& address) const override {
    void* at = nullptr;
    const hip::status made = calls_.Malloc(&at, bytes);
    address = reinterpret_cast<uintptr_t>(at);
    return {made, "hipMalloc"};
  }
  driver_status release(uint64_t address) const override {
    return {calls_.Free(reinterpret_cast<void*>(address)), "hipFree"};
  }
  driver_status fill(void* stream, uint64_t address, uint32_t value,
                     uint64_t words) const override {
    return {calls_.MemsetD32Async(reinterpret_cast<void*>(address), static_cast<int>(value), words,
                                  static_cast<hip::stream>(stream)),
            "hipMemsetD32Async"};
  }

 private:
  const hip_driver& calls_;
};

struct card_calls {
  const stream_driver* streams;
  std::unique_ptr<const card_memory> memory;
};

template <class Streams, class Memory>
result<card_calls> calls_of(const char* name) {
  result<const Streams*> streams = Streams::process();
  if (!streams) return streams.error();
  auto memory = std::make_unique<Memory>((*streams)->calls());
  if (!memory->whole()) return error(errc::Unavailable, {name, "it does not fill memory"});
  return card_calls{*streams, std::move(memory)};
}

}  // namespace

struct card_workload::state {
  explicit state(card_calls with) : calls(std::move(with)) {}
  ~state();

  result<void> start();
  result<void> allocate(uint64_t bytes);
  result<void> calibrate();
  result<uint64_t> timed_fill();
  driver_status fill(uint64_t bytes) {
    return calls.memory->fill(stream, buffer, 0, std::max(bytes / word_bytes, uint64_t{1}));
  }
  result<void> checked(const driver_status& status) const;

  card_calls calls;
  domain_id domain;
  void* stream = nullptr;
  void* event = nullptr;
  uint64_t buffer = 0;
  uint64_t buffer_bytes = 0;
  uint64_t fill_ns = 1;  // of the whole buffer
  uint64_t* truth = nullptr;
  uint64_t truth_address = 0;
};

result<void> card_workload::state::checked(const driver_status& status) const {
  if (status) return {};
  return error(errc::Backend,
               {status.call,
                std::to_string(status.number) + " (" + calls.streams->text_of(status.number) + ")"},
               status.number);
}

result<void> card_workload::state::start() {
  const stream_driver& streams = *calls.streams;
  if (result<void> r = checked(streams.retain(0, domain)); !r) return r;
  const driver_place place(streams, domain);
  if (result<void> r = checked(place.entered()); !r) return r;
  if (result<void> r = checked(streams.create_stream(stream)); !r) return r;
  if (result<void> r = checked(streams.create_event(event)); !r) return r;
  truth = static_cast<uint64_t*>(std::aligned_alloc(truth_page_bytes, truth_page_bytes));
  if (!truth) return error(errc::SystemCall, {"aligned_alloc", "no memory"});
  *truth = 0;
  if (result<void> r = checked(streams.register_page(truth, truth_page_bytes)); !r) return r;
  if (result<void> r = checked(streams.device_address(truth, truth_address)); !r) return r;
  return calibrate();
}

result<void> card_workload::state::allocate(uint64_t bytes) {
  if (buffer) (void)calls.memory->release(buffer);
  buffer = 0;
  if (result<void> r = checked(calls.memory->allocate(bytes, buffer)); !r) return r;
  buffer_bytes = bytes;
  return {};
}

// A buffer that takes long enough to fill, and how long that is: the shortest of a few.
result<void> card_workload::state::calibrate() {
  for (uint64_t bytes = filled_bytes_first;; bytes *= 4) {
    if (result<void> r = allocate(bytes); !r) return r;
    fill_ns = UINT64_MAX;
    for (int i = 0; i < timings; ++i) {
      result<uint64_t> took = timed_fill();
      if (!took) return took.error();
      fill_ns = std::max(std::min(fill_ns, *took), uint64_t{1});
    }
    if (fill_ns >= fill_ns_min || bytes * 4 > filled_bytes_max) return {};
  }
}

result<uint64_t> card_workload::state::timed_fill() {
  const auto start = steady::now();
  driver_status status = fill(buffer_bytes);
  if (status) status = calls.streams->record_event(event, stream);
  if (status) status = calls.streams->synchronize_event(event);
  if (result<void> r = checked(status); !r) return r.error();
  return static_cast<uint64_t>((steady::now() - start) / std::chrono::nanoseconds(1));
}

card_workload::state::~state() {
  if (!domain) return;
  {
    const stream_driver& streams = *calls.streams;
    const driver_place place(streams, domain);
    if (event) {
      if (streams.record_event(event, stream)) (void)streams.synchronize_event(event);
      (void)streams.destroy_event(event);
    }
    if (truth_address) (void)streams.unregister_page(truth);
    if (buffer) (void)calls.memory->release(buffer);
    if (stream) (void)streams.destroy_stream(stream);
  }
  std::free(truth);
  (void)calls.streams->release(domain);
}

result<std::unique_ptr<card_workload>> card_workload::create(card_vendor vendor) {
  result<card_calls> calls = vendor == card_vendor::cuda
                                 ? calls_of<cuda_streams, cuda_memory>("cuda")
                                 : calls_of<hip_streams, hip_memory>("hip");
  if (!calls) return calls.error();
  auto made = std::make_unique<state>(std::move(*calls));
  if (result<void> started = made->start(); !started) return started.error();
  return std::unique_ptr<card_workload>(new card_workload(std::move(made)));
}

card_workload::card_workload(std::unique_ptr<state> s) : state_(std::move(s)) {}
card_workload::~card_workload() = default;

std::string card_workload::device_name() const {
  return state_->calls.memory->device_name(state_->domain.device);
}
void* card_workload::stream() const {
  return state_->stream;
}
const stream_driver& card_workload::driver() const {
  return *state_->calls.streams;
}
const domain_id& card_workload::domain() const {
  return state_->domain;
}
const uint64_t* card_workload::truth() const {
  return state_->truth;
}

result<void> card_workload::submit(uint64_t duration_ns, uint32_t number) {
  const uint64_t whole = duration_ns / state_->fill_ns;
  if (whole > fills_max) {
    return error(errc::InvalidArgument,
                 {"duration_ns", std::to_string(duration_ns) + " is too long for this device"});
  }
  const driver_place place(*state_->calls.streams, state_->domain);
  if (result<void> r = state_->checked(place.entered()); !r) return r;
  const double rest =
      static_cast<double>(duration_ns % state_->fill_ns) / static_cast<double>(state_->fill_ns);
  const auto rest_bytes = static_cast<uint64_t>(rest * static_cast<double>(state_->buffer_bytes));
  driver_status status = state_->fill(rest_bytes);
  for (uint64_t i = 0; i < whole && status; ++i) status = state_->fill(state_->buffer_bytes);
  if (status) {
    status = state_->calls.memory->fill(state_->stream, state_->truth_address, number,
                                        sizeof(uint64_t) / word_bytes);
  }
  return state_->checked(status);
}

}  // namespace gar
