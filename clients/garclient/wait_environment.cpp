#include "clients/garclient/wait_environment.hpp"

#include <stdlib.h>

#include <string>

#include "lib/core/quantity.hpp"

namespace gar::owner {
namespace {

result<void> read(const char* variable, uint32_t& into_ns) {
  const char* text = ::secure_getenv(variable);
  if (!text) return {};
  const result<duration> span = parse_duration(text);
  if (!span || *span > software_step_max) {
    return error(errc::InvalidArgument,
                 {variable, "expected a duration with its unit, from \"0us\" to \"" +
                                text_of(software_step_max) + "\""});
  }
  into_ns = static_cast<uint32_t>(span->ns);
  return {};
}

}  // namespace

result<software_wait> software_wait_of_environment() {
  software_wait how;
  result<void> done = read("GAR_SOFTWARE_SPIN", how.spin_ns);
  if (done) done = read("GAR_SOFTWARE_SLEEP", how.sleep_ns);
  if (!done) return done.error();
  return how;
}

}  // namespace gar::owner
