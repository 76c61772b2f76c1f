// A crowd: a gard with so many clients, streams and waits, of which single stores and whole volleys
// are timed. This process is all the clients, and stores by itself.
//
//   begin_round   every wait is asked for
//   seen_ns       one store -> its completion is in hand; then that wait is asked for again
//   volley_ns     all stores -> all completions; for one of them
//   end_round     everything has ended, so that this gard's reactor sleeps while others are timed
//
// By the ring where gard gives one, else by socket. Threads: one. Errors: cannot_measure.
#pragma once

#include <string>
#include <vector>

#include "bench/private_gard.hpp"
#include "bench/raw_ring.hpp"

namespace gar::bench {

class crowd {
 public:
  // One client: its streams, and how many of them, spread evenly, are waited for.
  struct member {
    size_t streams = 1;
    size_t waits = 0;
  };
  static constexpr size_t streams_each_max = 8192;
  static constexpr size_t waits_each_max = 1024;

  explicit crowd(const std::vector<member>& members);

  size_t waits() const { return waits_.size(); }
  bool by_ring() const { return clients_.front().has_ring(); }
  void begin_round();
  void end_round();
  uint64_t seen_ns(size_t wait);
  uint64_t volley_ns();

 private:
  struct one_wait {
    size_t client = 0;
    size_t stream = 0;
    uint32_t slot = 0;
    uint64_t target = 0;
  };
  void ask(one_wait& w);
  void announce(size_t client);
  void ask_for_all();
  void store_all() const;
  void take_all();
  size_t take(size_t client);
  void settle(size_t asked) const;

  private_gard gard_;
  std::vector<raw_ring> clients_;
  std::vector<one_wait> waits_;
  std::vector<proto::wait> asked_;
};

}  // namespace gar::bench
