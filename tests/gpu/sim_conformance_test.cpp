#include "tests/conformance/device_suite.hpp"
#include "tests/gpu/sim_rig.hpp"

namespace gar {
INSTANTIATE_TYPED_TEST_SUITE_P(sim, device_suite, sim_rig);
}  // namespace gar
