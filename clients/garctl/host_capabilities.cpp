#include "clients/garctl/host_capabilities.hpp"

#include <boost/json/array.hpp>

#include "lib/gpu/driver_probe.hpp"
#include "lib/linux/probe.hpp"

namespace gar {

namespace json = boost::json;

json::object probed_capabilities() {
  const host_probe host = probe_host();
  json::array list;
  for (size_t i = 0; i < capability_count; ++i) {
    const auto which = static_cast<capability>(i);
    const capability_state& state = host.capabilities[which];
    list.push_back({{"name", name_of(which)}, {"available", state.available}, {"why", state.why}});
  }
  const word_wait_report& word = host.word_wait.report;
  return {
      {"word_wait",
       json::object{{"kind", name_of(word.kind)}, {"hardware", word.hardware}, {"why", word.why}}},
      {"capabilities", std::move(list)}};
}

json::array probed_drivers() {
  json::array list;
  for (const driver_capability& driver : probe_drivers(probe_depth::full)) {
    list.push_back({{"name", driver.name},
                    {"available", driver.available},
                    {"why", driver.available ? driver.found : driver.why}});
  }
  return list;
}

}  // namespace gar
