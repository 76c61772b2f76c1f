// What is never given back: memory that a device may still store into, and what belongs to it.
//
// It is kept where it can be found, so that a leak checker knows it is meant.
//
// Threads: any. Ownership: until the process ends.
#pragma once

#include <memory>

namespace gar::owner {

void keep_for_ever(std::shared_ptr<const void> what);

}  // namespace gar::owner
