// What garctl prints where gard did not do as asked, and the exit status that goes with it.
//
// Model: refusals and failures go to `err`, each with its error number and what to do about it.
// Threads: one. Errors: none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "clients/garctl/gard_link.hpp"
#include "clients/garctl/requests.hpp"
#include "lib/core/plan.hpp"

namespace gar {

inline constexpr int status_fine = 0;
inline constexpr int status_refused = 1;
inline constexpr int status_usage = 2;
inline constexpr int status_not_reachable = 3;

// "0x0001 InvalidPlan"
std::string headline_of(uint16_t code, std::string_view name, const paint& colours);

// Each returns the exit status. `plan_text` is what a refused plan's caret stands under.
int print_plan_fault(std::string_view plan_text, const plan_fault& fault, terminal& with);
int print_refusal(const refusal& refused, std::string_view plan_text, terminal& with);
int print_unreachable(const unreachable& failed, terminal& with);
int print_usage_error(const error& wrong, terminal& with);
// `wrong`: why, with its errno.
int print_cannot_write(std::string_view path, const error& wrong, terminal& with);
// `got` is no answer: one of the two above.
int print_failure(const reply& got, terminal& with);

}  // namespace gar
