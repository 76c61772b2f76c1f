#include "clients/garctl/plan_need.hpp"

#include <algorithm>

namespace gar {

std::string_view plan_need(std::string_view text, const plan_fault& fault) {
  std::string_view part = text.substr(0, std::min(fault.position, text.size()));
  part.remove_prefix(part.rfind(';') + 1);  // of none: the whole
  if (part.find("+predict:") != part.npos) {
    return "a prediction is +predict: with every key, as in "
           "+predict:margin_us=200,min_sleep_us=50,max_sleep_us=50000,window=8";
  }
  if (part.find("flag") != part.npos) {
    return "flag needs every key, as in flag:park_us=100,backstop_us=10000; "
           "+predict:... may follow";
  }
  return "a plan is block, poll or flag:park_us=100,backstop_us=10000; after poll and flag "
         "+predict:... may follow, after each ;rows>=N: and another plan (man 7 gar)";
}

}  // namespace gar
