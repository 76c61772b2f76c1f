// Judge: what must hold in every run, whatever goes wrong in it.
//
//   safety    no wait succeeds before its work is done, none fails for what did not happen
//   liveness  once faults have stopped every wait ends; in a calm run it ends soon
//   bounds    what gard and its clients keep goes when its owner goes
//   protocol  each message is legal in its connection's state (wire_watch.hpp)
//
// The first violation ends the run. Threads: one real thread. Ownership: the run's.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "clients/garclient/gar.h"
#include "tests/sim/gpu.hpp"
#include "tests/sim/settings.hpp"

namespace gar::sim {

struct violation {
  std::string kind;  // short: "lost wake", "false completion", ...
  std::string text;
};

struct wait_tally {
  std::array<uint64_t, 4> by_kind{};
  uint64_t delegated = 0;
  uint64_t in_process = 0;
  uint64_t timed_out = 0;
  uint64_t cancelled = 0;
  uint64_t closed = 0;
  uint64_t device_failed = 0;
  uint64_t dropped = 0;  // with their process

  uint64_t ended() const;
  void add(const wait_tally& other);
};

class judge {
 public:
  judge(machine& m, const run_settings& how) : on_(&m), how_(&how) {}

  // What a program asked for, and how it ended.
  struct asked {
    std::string who;
    const process* of = nullptr;
    gpu_stream* stream = nullptr;
    uint64_t sequence = 0;
    uint64_t start_ns = 0;
    uint64_t timeout_ns = 0;  // 0: none
    bool cancelled = false;
    bool closed = false;  // its stream was
    bool is_inline = false;
    bool is_async = false;  // its end is seen when the program takes it
  };
  uint64_t begins(asked what);
  asked& open_wait(uint64_t number) { return open_.at(number); }
  void ends(uint64_t number, int error, const gar_report& report);
  // Its process is gone.
  void drop(const process& of);
  const std::map<uint64_t, asked>& open() const { return open_; }

  void counters_of(const std::string& who, const gar_counters& c);
  void found(std::string kind, std::string text);
  bool failed() const { return first_.has_value(); }
  const std::optional<violation>& first() const { return first_; }
  const wait_tally& waits() const { return waits_; }

 private:
  void succeeded(const asked& what, const gar_report& report);

  machine* on_;
  const run_settings* how_;
  uint64_t last_ = 0;
  std::map<uint64_t, asked> open_;
  wait_tally waits_;
  std::optional<violation> first_;
};

}  // namespace gar::sim
