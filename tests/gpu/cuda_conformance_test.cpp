#include "tests/conformance/device_suite.hpp"
#include "tests/gpu/cuda_world.hpp"
#include "tests/gpu/event_rig.hpp"

namespace gar {
INSTANTIATE_TYPED_TEST_SUITE_P(cuda, device_suite, event_rig<cuda_world>);
}  // namespace gar
