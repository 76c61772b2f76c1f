// gard.toml: a file that is taken reads back from its own print as the same configuration, one that
// is not is refused with a place and a plain text.
#include "daemon/config.hpp"

#include <charconv>
#include <string>

#include "lib/core/utf8.hpp"
#include "tests/fuzz/target.hpp"

namespace gar::fuzz {
namespace {

bool same_plans(const config& a, const config& b) {
  if (a.plans.size() != b.plans.size()) return false;
  for (size_t i = 0; i < a.plans.size(); ++i) {
    if (a.plans[i].requested != b.plans[i].requested) return false;
    if (a.plans[i].scope.client != b.plans[i].scope.client) return false;
    if (a.plans[i].scope.point != b.plans[i].scope.point) return false;
  }
  return true;
}

void check_taken(const config& c) {
  const std::string text = config_text(c);
  const result<config> again = parse_config(text, "printed");
  must(again.has_value());
  must(config_text(*again) == text);
  must(again->daemon == c.daemon && again->executor == c.executor && again->latency == c.latency);
  must(again->default_plan == c.default_plan && again->log_level == c.log_level);
  must(same_plans(*again, c));
}

void check_refused(const error& e) {
  must(e.code() == errc::InvalidConfig && e.arguments().size() == 4);
  must(valid_plain_text(e.text()));
  for (const std::string& place : {e.arguments()[1], e.arguments()[2]}) {
    uint32_t number = 0;
    const auto [end, wrong] = std::from_chars(place.data(), place.data() + place.size(), number);
    must(wrong == std::errc() && end == place.data() + place.size());
  }
}

}  // namespace
}  // namespace gar::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace gar;
  const std::string_view text(reinterpret_cast<const char*>(data), bytes);
  const result<config> parsed = parse_config(text, "gard.toml");
  if (parsed) {
    fuzz::check_taken(*parsed);
  } else {
    fuzz::check_refused(parsed.error());
  }
  return 0;
}
