// The machine's monitor instructions, as a pair that gard's probe accepts: arm watches a line of
// memory, wait ends at a store to it, at its bound, or early.
#pragma once

#include "lib/linux/word_wait.hpp"

namespace gar::sim {

// Made by the product's own probe, in the run that is there. Called by a simulated thread.
word_waiter simulated_waiter();

}  // namespace gar::sim
