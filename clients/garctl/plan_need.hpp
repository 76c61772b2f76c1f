// What a text that is no plan lacks, for a person: the fault says what is wrong, this what belongs
// there.
//
// Model: the part of the text that the fault is in (a prediction, a flag, a whole plan) has a
// sentence with an example that is valid. Threads: pure. Allocation: none.
#pragma once

#include <string_view>

#include "lib/core/plan.hpp"

namespace gar {

std::string_view plan_need(std::string_view text, const plan_fault& fault);

}  // namespace gar
