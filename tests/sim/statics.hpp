// What a process of the product makes once and keeps, made before the first run: so that a run is
// the same whether it is the first of its process or not.
#pragma once

#include "lib/linux/memory_file.hpp"
#include "tests/sim/kernel.hpp"

namespace gar::sim {

void make_statics();

}  // namespace gar::sim
