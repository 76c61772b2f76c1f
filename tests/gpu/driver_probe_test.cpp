// What a process is told about its drivers: present, or the very reason why not.
#include "lib/gpu/driver_probe.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

namespace gar {
namespace {

using testing::HasSubstr;

// The stand-ins are built beside this program; FAKE_DIRECTORY says where.
using library_list = std::array<const char*, 1>;
constexpr library_list two_devices{FAKE_DIRECTORY "/libfake_cuda_two.so"};
constexpr library_list never_loaded{FAKE_DIRECTORY "/libfake_cuda_never_loaded.so"};
constexpr library_list never_started{FAKE_DIRECTORY "/libfake_cuda_never_started.so"};
constexpr library_list stub{FAKE_DIRECTORY "/libfake_cuda_stub.so"};
constexpr library_list half{FAKE_DIRECTORY "/libfake_cuda_half.so"};
constexpr library_list empty{FAKE_DIRECTORY "/libfake_hip_empty.so"};
constexpr library_list missing{"libgar_no_such_driver.so.1"};

class loaded {
 public:
  explicit loaded(const library_list& library) : handle_(dlopen(library[0], RTLD_NOW)) {}
  ~loaded() {
    if (handle_) dlclose(handle_);
  }
  loaded(const loaded&) = delete;
  loaded& operator=(const loaded&) = delete;
  explicit operator bool() const { return handle_; }

 private:
  void* handle_;
};

TEST(driver_probe, names_a_library_that_is_missing) {
  const driver_capability cuda = probe_cuda(probe_depth::full, missing);
  EXPECT_FALSE(cuda.available);
  EXPECT_THAT(cuda.why, HasSubstr("libgar_no_such_driver.so.1"));
  EXPECT_THAT(probe_hip(probe_depth::full, missing).why, HasSubstr("libgar_no_such_driver.so.1"));
}

TEST(driver_probe, takes_the_first_library_that_is_there) {
  const std::array<const char*, 2> libraries{missing[0], two_devices[0]};
  EXPECT_TRUE(probe_cuda(probe_depth::full, libraries).available);
}

TEST(driver_probe, counts_devices_when_it_may_start_the_driver) {
  const driver_capability cuda = probe_cuda(probe_depth::full, two_devices);
  EXPECT_TRUE(cuda.available) << cuda.why;
  EXPECT_EQ(cuda.found, "2 devices");
  EXPECT_EQ(cuda.why, "");
}

TEST(driver_probe, takes_status_34_as_no_driver) {
  const driver_capability cuda = probe_cuda(probe_depth::full, stub);
  EXPECT_FALSE(cuda.available);
  EXPECT_THAT(cuda.why, HasSubstr("cuInit failed with status 34"));
  EXPECT_THAT(cuda.why, HasSubstr("stub"));
}

TEST(driver_probe, names_a_symbol_that_is_missing) {
  const driver_capability cuda = probe_cuda(probe_depth::full, half);
  EXPECT_FALSE(cuda.available);
  EXPECT_THAT(cuda.why, HasSubstr("does not export cuDeviceGetCount"));
}

TEST(driver_probe, says_when_a_driver_has_no_device) {
  const driver_capability hip = probe_hip(probe_depth::full, empty);
  EXPECT_FALSE(hip.available);
  EXPECT_EQ(hip.why, "no device");
}

TEST(driver_probe, of_a_hello_loads_nothing) {
  const driver_capability cuda = probe_cuda(probe_depth::loaded, never_loaded);
  EXPECT_FALSE(cuda.available);
  EXPECT_THAT(cuda.why, HasSubstr("not loaded in this process"));
  EXPECT_EQ(dlopen(never_loaded[0], RTLD_NOW | RTLD_NOLOAD), nullptr);
}

TEST(driver_probe, of_a_hello_starts_nothing) {
  const loaded library(never_started);
  ASSERT_TRUE(library);
  for (int i = 0; i < 2; ++i) {
    const driver_capability cuda = probe_cuda(probe_depth::loaded, never_started);
    EXPECT_TRUE(cuda.available);
    EXPECT_EQ(cuda.found, "not started in this process yet");
  }
}

TEST(driver_probe, of_a_hello_counts_where_the_program_started_the_driver) {
  const loaded library(two_devices);
  ASSERT_TRUE(library);
  ASSERT_TRUE(probe_cuda(probe_depth::full, two_devices).available);
  EXPECT_EQ(probe_cuda(probe_depth::loaded, two_devices).found, "2 devices");
}

}  // namespace
}  // namespace gar
