// A client that waits for work of its own all the time, until its stdin ends; then it says as one
// line of JSON how its waits went.
//
//   busy_client NAME THREADS WORK_US [LOST_EVERY]
//
// Each thread has a stream, and waits for one piece of work after another. Every LOST_EVERY-th
// store never lands. "wrong" counts successes that came before the work had written its number:
// there must be none. A wait that takes longer than its timeout counts under its error's name.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "clients/garclient/gar.h"

namespace {

constexpr uint64_t timeout_ns = 30'000'000'000;

struct tally {
  uint64_t waits = 0;
  uint64_t right = 0;
  uint64_t wrong = 0;
  uint64_t delegated = 0;
  uint64_t in_process = 0;
  uint64_t wait_ns_max = 0;
  std::map<std::string, uint64_t> errors;

  void add(const tally& other) {
    waits += other.waits;
    right += other.right;
    wrong += other.wrong;
    delegated += other.delegated;
    in_process += other.in_process;
    wait_ns_max = std::max(wait_ns_max, other.wait_ns_max);
    for (const auto& [name, count] : other.errors) errors[name] += count;
  }
};

std::atomic<bool> stopping{false};

class busy_thread {
 public:
  busy_thread(gar_client* client, uint64_t work_us, uint64_t lost_every)
      : client_(client), work_ns_(work_us * 1000), lost_every_(lost_every) {}

  void run() {
    if (!opened()) return;
    while (!stopping.load(std::memory_order_relaxed) && one_wait()) {
    }
  }
  const tally& seen() const { return seen_; }

 private:
  bool went_well(int error) {
    if (error != 0) ++seen_.errors[gar_error_name(error)];
    return error == 0;
  }
  bool opened() {
    return went_well(gar_sim_create(&sim_)) && went_well(gar_sim_queue_create(sim_, &queue_)) &&
           went_well(gar_sim_stream_open(client_, queue_, nullptr, &stream_));
  }
  bool one_wait() {
    const uint64_t number = ++seen_.waits;
    const bool lost = lost_every_ != 0 && number % lost_every_ == 0;
    uint64_t sequence = 0;
    if (lost && !went_well(gar_sim_fault(queue_, GAR_SIM_FAULT_LOST_STORE, 0))) return false;
    if (!went_well(gar_sim_submit(queue_, work_ns_, &truth_, number))) return false;
    if (!went_well(gar_record(stream_, &sequence))) return false;
    gar_wait_options options{};
    options.struct_bytes = sizeof(options);
    options.timeout_ns = timeout_ns;
    gar_report report{};
    if (!went_well(gar_wait(stream_, sequence, &options, &report))) return false;
    const bool right = std::atomic_ref<uint64_t>(truth_).load(std::memory_order_acquire) == number;
    ++(right ? seen_.right : seen_.wrong);
    seen_.delegated += report.delegated;
    seen_.in_process += report.in_process;
    seen_.wait_ns_max = std::max(seen_.wait_ns_max, report.wait_ns);
    return true;
  }

  gar_client* client_;
  uint64_t work_ns_;
  uint64_t lost_every_;
  gar_sim* sim_ = nullptr;
  gar_sim_queue* queue_ = nullptr;
  gar_stream* stream_ = nullptr;
  uint64_t truth_ = 0;
  tally seen_;
};

std::string json_of(const tally& all, const gar_counters& counters) {
  std::ostringstream out;
  out << "{\"waits\":" << all.waits << ",\"right\":" << all.right << ",\"wrong\":" << all.wrong
      << ",\"delegated\":" << all.delegated << ",\"in_process\":" << all.in_process
      << ",\"longest_ms\":" << all.wait_ns_max / 1'000'000
      << ",\"reconnects\":" << counters.reconnects
      << ",\"owner_backstops\":" << counters.owner_backstops << ",\"errors\":{";
  const char* between = "";
  for (const auto& [name, count] : all.errors) {
    out << between << '"' << name << "\":" << count;
    between = ",";
  }
  out << "}}";
  return out.str();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "usage: busy_client NAME THREADS WORK_US [LOST_EVERY]\n";
    return 64;
  }
  gar_client_options options{};
  options.struct_bytes = sizeof(options);
  options.name = argv[1];
  gar_client* client = nullptr;
  if (const int error = gar_connect(&options, &client)) {
    std::cerr << gar_error_name(error) << '\n';
    return 1;
  }
  std::vector<busy_thread> parts(
      std::stoul(argv[2]),
      busy_thread(client, std::stoull(argv[3]), argc > 4 ? std::stoull(argv[4]) : 0));
  std::vector<std::thread> threads;
  for (busy_thread& part : parts) threads.emplace_back([&part] { part.run(); });
  char ignored[64];
  while (::read(STDIN_FILENO, ignored, sizeof(ignored)) > 0) {
  }
  stopping.store(true, std::memory_order_relaxed);
  tally all;
  for (size_t i = 0; i < parts.size(); ++i) {
    threads[i].join();
    all.add(parts[i].seen());
  }
  gar_counters counters{};
  counters.struct_bytes = sizeof(counters);
  gar_client_counters(client, &counters);
  std::cout << json_of(all, counters) << std::endl;
  // Tests end clients in every state: what is left is the system's to take back.
  std::_Exit(0);
}
