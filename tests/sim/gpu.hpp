// A simulated GPU stream: work in order, the stores behind it, and the truth about both.
//
// The truth is what everything else is judged by: a record is done when its work is, whatever the
// words say. The stores may be lost, late, early, or hit another word of the line as well.
//
//   submit(work) -> arm (record) ... -> work done -> store lands -> bell rings
//   fault: what is not done by then never is, and every question about it is answered with it
//
// Threads: called by simulated threads, and by the machine's events. Ownership: the run's; it lives
// until the run ends, since stores may land later than their process.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/port/gar_device.h"
#include "tests/sim/kernel.hpp"

namespace gar::sim {

// Chances per million, and bounds.
struct gpu_faults {
  uint32_t lost = 0;
  uint32_t late = 0;
  uint64_t late_ns = 0;
  uint32_t early = 0;
  uint32_t neighbour = 0;  // another word of the line is written, too
  uint32_t bell_lost = 0;
  bool blocks = true;  // it has the verbs that may be missing
};

struct gpu_counts {
  uint64_t records = 0;
  uint64_t lost = 0;
  uint64_t late = 0;
  uint64_t early = 0;
  uint64_t neighbour = 0;
  uint64_t bell_lost = 0;
};

// Where a word is, whoever maps it.
struct word_place {
  uint64_t file = 0;  // number of the memory file
  size_t offset = 0;
  auto operator<=>(const word_place&) const = default;
};

class gpu_stream {
 public:
  gpu_stream(kernel& k, const gpu_faults& how, gpu_counts& counts, std::string name, bool word)
      : kernel_(&k), how_(how), counts_(&counts), name_(std::move(name)), word_(word) {}

  const std::string& name() const { return name_; }
  bool is_word() const { return word_; }

  // ---- The program's side.
  void submit(uint64_t takes_ns);
  // The first fault counts.
  void break_down();
  bool broken() const { return broken_ns_ != 0; }
  // Of a word stream: the program is about to signal this number.
  void recorded_word(uint64_t sequence);
  void signalled(uint64_t sequence);
  size_t producers = 0;  // threads that are yet to signal

  // ---- The truth.
  struct record {
    uint64_t sequence = 0;
    uint64_t done_ns = 0;  // UINT64_MAX: not known yet, or never
    uint64_t stored_ns = 0;
    bool store_faulty = false;  // lost, late or early
    word_place at;
  };
  const record* find(uint64_t sequence) const;
  bool done(uint64_t sequence) const;
  uint64_t last_done_ns() const { return busy_until_ns_; }
  const std::vector<record>& records() const { return records_; }

  // ---- The device's side: gar_device_ops' verbs.
  static gar_device_ops ops(bool blocks);
  int arm(uint64_t sequence, const gar_device_store& word, const gar_device_store* bell,
          gar_device_failure* failure);
  int query(uint64_t sequence, gar_device_failure* failure) const;
  int block(uint64_t sequence, uint64_t timeout_ns, gar_device_failure* failure, bool spins);
  int settle(gar_device_failure* failure);
  // The process was killed: its driver lets nothing land any more.
  void stop_stores() { stores_stopped_ = true; }

  // Is told of every store into a word, at its time.
  std::function<void(const gpu_stream& by, const word_place& into, uint64_t value)> landed;
  // ... and of every record.
  std::function<void(const gpu_stream& by, const word_place& into)> armed;

 private:
  struct store {
    std::shared_ptr<memory_file> word;
    size_t word_offset = 0;
    uint64_t value = 0;
    std::shared_ptr<memory_file> bell;
    size_t bell_offset = 0;
    uint64_t bell_value = 0;
    bool neighbour = false;
  };
  void land(const store& s);
  bool lost_to_fault(const record& r) const;
  int fail(gar_device_failure* failure, const char* call) const;

  kernel* kernel_;
  gpu_faults how_;
  gpu_counts* counts_;
  std::string name_;
  bool word_;
  std::vector<record> records_;
  uint64_t busy_until_ns_ = 0;
  uint64_t last_store_ns_ = 0;
  uint64_t broken_ns_ = 0;
  size_t pending_stores_ = 0;
  bool stores_stopped_ = false;
};

}  // namespace gar::sim
