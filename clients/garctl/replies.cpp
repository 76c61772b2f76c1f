#include "clients/garctl/replies.hpp"

#include <fmt/core.h>

#include <ostream>

#include "clients/garctl/caret.hpp"
#include "clients/garctl/plan_need.hpp"
#include "clients/garctl/readable.hpp"
#include "lib/linux/system_call.hpp"

namespace gar {

std::string headline_of(uint16_t code, std::string_view name, const paint& colours) {
  return colours.red(fmt::format("{:#06x} {}", code, readable_text(name)));
}

namespace {

void print_remedy(std::string_view remedy, terminal& with) {
  if (!remedy.empty()) with.err << "to do: " << readable_text(remedy) << '\n';
}

}  // namespace

// A plan that is none: the error's number, the text, and where it is wrong.
int print_plan_fault(std::string_view text, const plan_fault& fault, terminal& with) {
  const auto code = static_cast<uint16_t>(errc::InvalidPlan);
  with.err << headline_of(code, "InvalidPlan", with.err_paint) << '\n'
           << caret_under(text, fault.position)
           << fmt::format("at byte {}: {}\n", fault.position, readable_text(fault.fault));
  print_remedy(plan_need(text, fault), with);
  return status_refused;
}

int print_refusal(const refusal& refused, std::string_view plan_text, terminal& with) {
  if (refused.code == static_cast<uint16_t>(errc::InvalidPlan) && refused.position) {
    return print_plan_fault(plan_text, {*refused.position, refused.fault}, with);
  }
  with.err << headline_of(refused.code, refused.name, with.err_paint) << ": "
           << readable_text(refused.text) << '\n';
  print_remedy(refused.remedy, with);
  return status_refused;
}

int print_unreachable(const unreachable& failed, terminal& with) {
  const error none(errc::NotReachable);
  with.err << headline_of(none.number(), none.name(), with.err_paint)
           << (failed.silent ? ": gard took the connection and is silent; tried\n"
                             : ": gard is not reachable; tried\n")
           << text_of(failed);
  return status_not_reachable;
}

int print_usage_error(const error& wrong, terminal& with) {
  with.err << "garctl: " << readable_text(wrong.text()) << '\n';
  return status_usage;
}

int print_cannot_write(std::string_view path, const error& wrong, terminal& with) {
  with.err << "garctl: '" << readable_text(path)
           << "' cannot be written: " << text_of_errno(wrong.os_number()) << '\n';
  return status_refused;
}

int print_failure(const reply& got, terminal& with) {
  if (const auto* refused = std::get_if<refusal>(&got)) return print_refusal(*refused, {}, with);
  return print_unreachable(std::get<unreachable>(got), with);
}

}  // namespace gar
