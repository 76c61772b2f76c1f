#include "clients/garctl/absence.hpp"

#include <ostream>
#include <variant>

#include "clients/garctl/readable.hpp"
#include "clients/garctl/replies.hpp"

namespace gar {
namespace {

std::string text_of_absence(const reply& got) {
  if (const auto* refused = std::get_if<refusal>(&got)) {
    return "gard refuses: " + readable_text(refused->text) + "; asking on";
  }
  return std::get<unreachable>(got).silent ? "gard is silent; asking on"
                                           : "gard is gone; waiting for the next one";
}

}  // namespace

void absence::failed(const reply& got) {
  const bool refused = std::holds_alternative<refusal>(got);
  status_ = refused ? status_refused : status_not_reachable;
  std::string why = text_of_absence(got);
  if (why == said_) return;
  said_ = std::move(why);
  with_.err << "garctl: " << said_ << std::endl;
}

void absence::over() {
  said_.clear();
  status_ = status_fine;
}

}  // namespace gar
