// Question: what memory does gard take: by itself, for a client, for a wait that is pending?
// Floor: none.
// Not measured: the kernel's share (sockets, page tables); memory files that nobody touched.
#include <algorithm>
#include <optional>
#include <vector>

#include "bench/private_gard.hpp"
#include "bench/raw_ring.hpp"
#include "lib/linux/process_usage.hpp"
#include "lib/linux/thread_timer.hpp"

namespace gar::bench {
namespace {

constexpr const char* roomy_config =
    "[limits]\n"
    "streams_per_client = 64\n"
    "waits_per_client = 4096\n"
    "waits_per_user = 1048576\n"
    "[plan]\n"
    "default = \"flag:park_us=10000,backstop_us=1000000\"\n";

uint64_t settled_rss_kib(const private_gard& gard) {
  must(thread_timer().sleep_until(instant{now_ns()} + from_ms(200)), "sleep");
  return gard.rss_kib();
}

double bytes_each(uint64_t before_kib, uint64_t after_kib, size_t count) {
  return (static_cast<double>(after_kib) - static_cast<double>(before_kib)) * 1024 /
         static_cast<double>(count);
}

void ask_by_socket(raw_ring& client, uint32_t count) {
  std::vector<proto::wait> waits;
  for (uint32_t i = 0; i < count; ++i) {
    const size_t stream = i % client.streams();
    waits.push_back(client.wait_for(stream, client.base_of(stream) + 1, i + 1));
  }
  client.send(waits);
}

void ask_by_ring(raw_ring& client, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    const size_t stream = i % client.streams();
    client.ask(i, stream, client.base_of(stream) + 1);
  }
  client.announce();
}

// Waits for what nobody stores. The ring's own memory is the client's too, and is counted.
double bytes_of_a_wait(size_t clients_count, uint32_t waits_each,
                       void (*ask)(raw_ring&, uint32_t)) {
  const private_gard gard({roomy_config, std::nullopt});
  std::vector<raw_ring> clients;
  clients.reserve(clients_count);
  for (size_t i = 0; i < clients_count; ++i) {
    clients.emplace_back(gard.socket(), "waiting-" + std::to_string(i));
    clients.back().open(64);
  }
  if (ask == ask_by_ring) need_ring(clients.front());
  const uint64_t before = settled_rss_kib(gard);
  for (raw_ring& client : clients) ask(client, waits_each);
  const size_t waits = clients_count * waits_each;
  for (int i = 0; i < 100; ++i) {
    const auto pending = gard.status().at("waits").as_object().at("pending").to_number<uint64_t>();
    if (pending == waits) return bytes_each(before, settled_rss_kib(gard), waits);
    must(thread_timer().sleep_until(instant{now_ns()} + from_ms(50)), "sleep");
  }
  throw cannot_measure("gard did not take all waits");
}

}  // namespace

case_result run_footprint(const options& o) {
  raise_descriptor_limit();
  const size_t count = o.quick ? 50 : 1000;
  const private_gard gard({"", std::nullopt});
  const uint64_t base = settled_rss_kib(gard);
  std::vector<raw_ring> clients;
  for (size_t i = 0; i < count; ++i) {
    clients.emplace_back(gard.socket(), "client-" + std::to_string(i));
    clients.back().open(1);
  }
  const double client_bytes = bytes_each(base, settled_rss_kib(gard), count);
  clients.clear();
  const double by_socket = bytes_of_a_wait(o.quick ? 2 : 16, o.quick ? 1024 : 4096, ask_by_socket);
  std::optional<double> by_ring;
  try {
    by_ring = bytes_of_a_wait(o.quick ? 2 : 64, 1024, ask_by_ring);
  } catch (const cannot_measure&) {
  }
  case_result r;
  r.figures = {{"resident, no client", static_cast<double>(base), "KiB"},
               {"more for a client with a stream", client_bytes, "bytes"},
               {"more for a pending wait by socket", by_socket, "bytes"}};
  if (by_ring) {
    r.figures.push_back({"more for a pending wait by ring, with its slot", *by_ring, "bytes"});
  }
  r.findings = {{"rss_kib_base", static_cast<double>(base), {}},
                {"rss_bytes_per_client", client_bytes, {}},
                {"bytes_per_wait", std::max(by_socket, by_ring.value_or(0)), {}}};
  return r;
}

}  // namespace gar::bench
