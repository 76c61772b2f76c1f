// CUDA and HIP streams as devices of the port, over a fake driver: what tests of both need.
//
// The fake logs every call; most tests say which calls were made, in which order, or that none was.
// A World (cuda_world.hpp, hip_world.hpp) is a program that uses the vendor's interface. Work that
// must still be running when a test looks is an hour long, and ends with a reset of the device.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "lib/gpu/event_stream.hpp"
#include "lib/gpu/patient_thread.hpp"
#include "lib/port/gar_device.h"
#include "tests/conformance/shared_page.hpp"
#include "tests/gpu/cuda_world.hpp"
#include "tests/gpu/hip_world.hpp"

namespace gar {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

inline constexpr uint64_t hour_ns = 3'600'000'000'000;
inline constexpr uint64_t ms_ns = 1'000'000;
inline constexpr uint64_t no_timeout = UINT64_MAX;
inline constexpr unsigned blocking = 0;
inline constexpr unsigned non_blocking = 1;
inline constexpr unsigned capture_global = 0;
inline constexpr unsigned capture_of_thread = 1;
inline constexpr unsigned capture_relaxed = 2;

inline void* default_stream(uintptr_t number) {
  return reinterpret_cast<void*>(number);
}

// How much memory this process may lock, for as long as it lives.
class memory_lock_limit {
 public:
  explicit memory_lock_limit(rlim_t bytes) {
    getrlimit(RLIMIT_MEMLOCK, &before_);
    const rlimit now{bytes, before_.rlim_max};
    setrlimit(RLIMIT_MEMLOCK, &now);
  }
  ~memory_lock_limit() { setrlimit(RLIMIT_MEMLOCK, &before_); }
  memory_lock_limit(const memory_lock_limit&) = delete;
  memory_lock_limit& operator=(const memory_lock_limit&) = delete;

 private:
  rlimit before_{};
};

template <class World>
class event_fixture : public testing::Test {
 protected:
  static constexpr size_t word = 9;
  static constexpr size_t bell = 3;

  void SetUp() override {
    if (std::string why = fake().why_not(); !why.empty()) GTEST_SKIP() << why;
    World::use_device(0);
    handle_ = World::make_stream(non_blocking);
  }
  void TearDown() override {
    if (!fake().why_not().empty()) return;
    EXPECT_THAT(fake().violations(), IsEmpty());
  }

  static fake_library& fake() { return World::fake(); }
  static const gar_device_ops* ops() { return World::ops(); }

  // Opens a stream with its pages.
  struct opened {
    std::unique_ptr<event_stream> stream;
    std::unique_ptr<shared_page> lines;
    gar_device_failure failure{};

    int record(uint64_t sequence) {
      const gar_device_store to_word = lines->store(word, sequence);
      const gar_device_store to_bell = lines->store(word + 8, sequence);
      return ops()->arm(stream.get(), sequence, &to_word, &to_bell, &failure);
    }
    int query(uint64_t sequence) { return ops()->query(stream.get(), sequence, &failure); }
    int finish(uint64_t sequence) {
      return ops()->block(stream.get(), sequence, no_timeout, &failure);
    }
    int settle() { return ops()->settle(stream.get(), &failure); }
    uint64_t stored() const { return lines->word(word); }
  };
  opened open(void* handle) {
    opened o;
    o.stream = World::open(handle).value();
    o.lines = std::make_unique<shared_page>(*ops(), o.stream->device_key());
    EXPECT_TRUE(o.lines->mapped()) << o.lines->failure().call << ' ' << o.lines->failure().status;
    return o;
  }
  opened open() { return open(handle_); }

  // Keeps the memory of a page that could not be given back, as the library does.
  static void keep(std::unique_ptr<shared_page> page) {
    static auto* const kept = new std::vector<std::unique_ptr<shared_page>>;
    kept->push_back(std::move(page));
  }
  // Ends all work of the device, whatever it has still to do.
  void end_everything() { fake().fake_reset(0); }
  void submit(uint64_t duration_ns) { fake().fake_submit(handle_, duration_ns, nullptr, 0); }

  // The calls since the log was cleared that put something on a stream.
  static std::vector<std::string> enqueued() {
    std::vector<std::string> all;
    for (const std::string& name : fake().names()) {
      for (const char* one : {World::record_event, World::store, World::batch}) {
        if (name == one) all.push_back(name);
      }
    }
    return all;
  }
  static size_t first(const std::string& name) {
    const std::vector<std::string> all = fake().names();
    return static_cast<size_t>(std::find(all.begin(), all.end(), name) - all.begin());
  }
  static size_t last(const std::string& name) {
    const std::vector<std::string> all = fake().names();
    return static_cast<size_t>(all.rend() - std::find(all.rbegin(), all.rend(), name));
  }

  void* handle_ = nullptr;
};

using vendors = testing::Types<cuda_world, hip_world>;
struct vendor_name {
  template <class World>
  static std::string GetName(int) {
    return World::name;
  }
};

}  // namespace gar
