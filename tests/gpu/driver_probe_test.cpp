// What a process is told about its drivers: present, or the very reason why not. The refusals that
// a driver has by itself are in driver_test.cpp.
#include "lib/gpu/driver_probe.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <string>

namespace gar {
namespace {

using testing::HasSubstr;

// The fake drivers are named by path, so that these tests need no environment; each is a process of
// its own, with a driver that nobody has loaded yet.
using library_list = std::array<const char*, 1>;
constexpr library_list fake_cuda{FAKE_DIRECTORY "/libcuda.so.1"};
constexpr library_list fake_hip{FAKE_DIRECTORY "/libamdhip64.so.6"};
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
  const std::array<const char*, 2> libraries{missing[0], fake_cuda[0]};
  EXPECT_TRUE(probe_cuda(probe_depth::full, libraries).available);
}

TEST(driver_probe, counts_devices_when_it_may_start_the_driver) {
  for (const driver_capability& found :
       {probe_cuda(probe_depth::full, fake_cuda), probe_hip(probe_depth::full, fake_hip)}) {
    EXPECT_TRUE(found.available) << found.why;
    EXPECT_EQ(found.found, "2 devices");
    EXPECT_EQ(found.why, "");
  }
}

TEST(driver_probe, says_when_a_driver_has_no_device) {
  setenv("FAKE_DEVICES", "0", 1);
  const driver_capability hip = probe_hip(probe_depth::full, fake_hip);
  EXPECT_FALSE(hip.available);
  EXPECT_THAT(hip.why, HasSubstr("no device"));
}

TEST(driver_probe, of_a_hello_loads_nothing) {
  const driver_capability cuda = probe_cuda(probe_depth::loaded, fake_cuda);
  EXPECT_FALSE(cuda.available);
  EXPECT_THAT(cuda.why, HasSubstr("not loaded in this process"));
  EXPECT_EQ(dlopen(fake_cuda[0], RTLD_NOW | RTLD_NOLOAD), nullptr);
}

TEST(driver_probe, of_a_hello_looks_for_no_file) {
  const driver_capability cuda = probe_cuda(probe_depth::loaded, missing);
  EXPECT_EQ(cuda.why, "libgar_no_such_driver.so.1 is not loaded in this process");
}

TEST(driver_probe, of_a_hello_knows_a_library_by_its_name_wherever_it_came_from) {
  const std::array<const char*, 2> libraries{missing[0], "libcuda.so.1"};
  EXPECT_FALSE(probe_cuda(probe_depth::loaded, libraries).available);
  const loaded library(fake_cuda);
  ASSERT_TRUE(library);
  EXPECT_TRUE(probe_cuda(probe_depth::loaded, libraries).available);
}

TEST(driver_probe, of_a_hello_starts_nothing) {
  const loaded library(fake_cuda);
  ASSERT_TRUE(library);
  for (int i = 0; i < 2; ++i) {
    const driver_capability cuda = probe_cuda(probe_depth::loaded, fake_cuda);
    EXPECT_TRUE(cuda.available);
    EXPECT_EQ(cuda.found, "not started in this process yet");
  }
}

TEST(driver_probe, of_a_hello_counts_where_the_program_started_the_driver) {
  const loaded library(fake_cuda);
  ASSERT_TRUE(library);
  ASSERT_TRUE(probe_cuda(probe_depth::full, fake_cuda).available);
  EXPECT_EQ(probe_cuda(probe_depth::loaded, fake_cuda).found, "2 devices");
}

}  // namespace
}  // namespace gar
