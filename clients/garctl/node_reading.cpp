#include "clients/garctl/node_reading.hpp"

#include <cstdlib>
#include <utility>

#include "clients/garctl/answer_fields.hpp"
#include "lib/linux/probe.hpp"

namespace gar {
namespace {

gard_seen ask_gard(const gard_link& link) {
  gard_seen seen;
  reply got = link.ask("status");
  if (auto* status = std::get_if<boost::json::value>(&got)) {
    seen.what = gard_seen::answer::answered;
    seen.status = std::move(*status);
  } else if (const auto* refused = std::get_if<refusal>(&got)) {
    seen.what = gard_seen::answer::refused;
    seen.refused = refused->name + ": " + refused->text;
  } else {
    auto& failed = std::get<unreachable>(got);
    seen.what = failed.silent ? gard_seen::answer::silent : gard_seen::answer::nobody;
    seen.tried = std::move(failed.attempts);
  }
  // Whoever is silent was waited for once.
  if (seen.what == gard_seen::answer::silent) return seen;
  reply as_client = link.ask_as_client("version");
  if (auto* failed = std::get_if<unreachable>(&as_client)) {
    seen.clients_tried = std::move(failed->attempts);
  } else {
    seen.answers_clients = true;
  }
  return seen;
}

// Where clients look for gard.
std::vector<std::string> clients_paths() {
  std::vector<std::string> paths;
  const auto found = connect_paths({.role = socket_role::clients, .flag = {}, .configured = {}},
                                   read_socket_environment());
  if (!found) return paths;
  for (const socket_candidate& each : *found) paths.push_back(each.path);
  return paths;
}

void try_host(node_seen& seen) {
  const host_probe probed = probe_host();
  seen.own = probed.capabilities;
  seen.word_wait = probed.word_wait.report;
  seen.drivers = probe_drivers(probe_depth::full);
  seen.pin_bytes = client_pins_bytes();
  if (const result<void> pinned = try_to_pin(seen.pin_bytes); !pinned) {
    seen.pin_refused = pinned.error().text();
  }
  const tick_rate tsc = measure_tsc_rate();
  if (tsc) seen.tsc_khz = tsc.ticks * 1'000'000 / tsc.ns;
  seen.timing = measure_host_timing();
}

}  // namespace

result<node_seen> read_node(const std::optional<std::string>& control) {
  const result<gard_link> link = gard_link::make({.control = control, .socket = {}});
  if (!link) return link.error();
  node_seen seen;
  seen.gard = ask_gard(*link);
  seen.gard.control = control;
  const char* sudo_user = std::getenv("SUDO_USER");
  seen.files = read_host_files({.root = {},
                                .gard = count_field(seen.gard.status, "pid"),
                                .sudo_user = sudo_user ? sudo_user : "",
                                .sockets = clients_paths()});
  try_host(seen);
  return seen;
}

}  // namespace gar
