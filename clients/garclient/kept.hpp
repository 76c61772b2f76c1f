// What is never given back: memory that a device may still store into, and what belongs to it.
//
// It is kept where it can be found, so that a leak checker knows it is meant.
//
// Threads: any. Ownership: until the process ends. Allocation: none for the first few; where there
// is no memory for more the process ends, since a device might store into what was let go of.
#pragma once

#include <memory>

namespace gar::owner {

void keep_for_ever(std::shared_ptr<const void> what) noexcept;

}  // namespace gar::owner
