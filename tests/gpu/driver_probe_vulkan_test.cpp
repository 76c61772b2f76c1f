// The probes of this machine's own drivers, Vulkan's among them. Apart from driver_probe_test.cpp
// because lavapipe leaks 128 bytes with every instance, which a leak check would report as ours.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lib/gpu/driver_probe.hpp"
#include "lib/gpu/gpu_vulkan.hpp"

namespace gar {
namespace {

TEST(driver_probe_vulkan, answers_for_every_driver_at_either_depth) {
  for (probe_depth depth : {probe_depth::loaded, probe_depth::full}) {
    const std::vector<driver_capability> all = probe_drivers(depth);
    ASSERT_EQ(all.size(), 4u);
    EXPECT_EQ(all[0].name, "cuda");
    EXPECT_EQ(all[1].name, "hip");
    EXPECT_EQ(all[2].name, "vulkan");
    EXPECT_EQ(all[3].name, "sim");
    EXPECT_TRUE(all[3].available);
    for (const driver_capability& one : all) {
      EXPECT_EQ(one.available, one.why.empty()) << one.name << ": " << one.why;
      RecordProperty(one.name, one.available ? one.found : one.why);
    }
  }
}

TEST(driver_probe_vulkan, agrees_with_the_device_itself) {
  const driver_capability probed = probe_vulkan(probe_depth::full);
  result<std::string> usable = usable_vulkan_device();
  EXPECT_EQ(probed.available, usable.has_value()) << probed.why;
  if (usable) {
    EXPECT_EQ(probed.found, *usable);
  }
  if (!vulkan_is_built()) {
    EXPECT_EQ(probed.why, "built without Vulkan headers");
    EXPECT_EQ(probe_vulkan(probe_depth::loaded).why, probed.why);
  }
}

}  // namespace
}  // namespace gar
