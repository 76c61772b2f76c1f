// What `garctl doctor` saw of a node: gard's own words, the host's files, what was tried and timed.
//
// Model: data alone, so that a test can make up any node. Reading it is node_reading.hpp's, judging
// it findings.hpp's. Threads: a value. Units: in the names and types.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "clients/garctl/gard_link.hpp"
#include "clients/garctl/host_files.hpp"
#include "lib/core/capability.hpp"
#include "lib/gpu/driver_probe.hpp"
#include "lib/linux/host_timing.hpp"
#include "lib/linux/word_wait.hpp"

namespace gar {

struct gard_seen {
  enum class answer : uint8_t { answered, refused, silent, nobody };

  answer what = answer::nobody;
  boost::json::value status;   // null unless it answered
  std::string refused;         // its error, by name and text
  std::vector<attempt> tried;  // where nobody answered, or it is silent
  // The clients' socket, asked as a client asks.
  bool answers_clients = false;
  std::vector<attempt> clients_tried;
  std::optional<std::string> control;  // as it was named to garctl

  bool answered() const { return what == answer::answered; }
};

struct node_seen {
  gard_seen gard;
  host_files files;
  // What garctl's own process found when it tried.
  capabilities own;
  word_wait_report word_wait;
  std::vector<driver_capability> drivers;
  uint64_t pin_bytes = 0;  // as much as one client can have
  std::string pin_refused;
  uint64_t tsc_khz = 0;  // 0: there is no such counter
  host_timing timing;
};

}  // namespace gar
