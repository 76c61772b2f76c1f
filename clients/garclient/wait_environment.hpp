// What the environment says about how this process's inline waits look at their words:
// GAR_SOFTWARE_SPIN and GAR_SOFTWARE_SLEEP, as software_spin and software_sleep of gard.toml.
//
// Threads: any, as getenv. A set-user-ID program's environment is not believed.
// Errors: InvalidArgument, naming the variable and what was expected.
#pragma once

#include "lib/core/error.hpp"
#include "lib/core/look_pace.hpp"

namespace gar::owner {

result<software_wait> software_wait_of_environment();

}  // namespace gar::owner
