#include "tests/conformance/device_suite.hpp"
#include "tests/gpu/vulkan_rig.hpp"

namespace gar {
INSTANTIATE_TYPED_TEST_SUITE_P(vulkan, device_suite, vulkan_rig);
}  // namespace gar
