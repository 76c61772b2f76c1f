// What a fake driver was told to be, and to get wrong: by the environment when it is loaded, later
// by a test (fake_controls.hpp, where the environment's names are).
//
// Threads: with the machine's lock held. Units: ns.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tests/fake/fake_status.hpp"

namespace fake {

// What becomes of one store.
struct store_fate {
  bool lost = false;
  uint64_t delay_ns = 0;
};

class settings {
 public:
  settings();  // reads the environment

  int devices() const { return devices_; }
  int version(int otherwise) const { return version_ ? version_ : otherwise; }
  status init_status() const { return init_status_; }

  // The next `times` calls of that name, but for the first `skip`, answer `answer`.
  void fail(const std::string& call, status answer, unsigned skip, unsigned times);
  void slow(const std::string& call, uint64_t delay_ns) { delays_ns_[call] = delay_ns; }
  void lose_stores(unsigned count) { stores_to_lose_ = count; }
  void delay_stores(unsigned count, uint64_t delay_ns);

  // The status in place of this call, or success; it counts as made.
  status answer_to(const char* call);
  uint64_t delay_ns(const char* call) const;
  // Of this store; it counts as made.
  store_fate fate_of_store();

 private:
  struct failing {
    status answer;
    unsigned skip;
    unsigned times;
  };

  int devices_;
  int version_;  // 0: the vendor's usual one
  status init_status_;
  std::map<std::string, failing> failing_;
  std::map<std::string, uint64_t> delays_ns_;
  unsigned stores_to_lose_ = 0;
  unsigned stores_to_delay_ = 0;
  uint64_t store_delay_ns_ = 0;
};

}  // namespace fake
