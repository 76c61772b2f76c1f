#include "tests/conformance/device_suite.hpp"
#include "tests/gpu/event_rig.hpp"
#include "tests/gpu/hip_world.hpp"

namespace gar {
INSTANTIATE_TYPED_TEST_SUITE_P(hip, device_suite, event_rig<hip_world>);
}  // namespace gar
