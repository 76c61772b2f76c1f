// A way of waiting for work on the card: gard's under some plan, or one of the driver's own.
//
//   lane    one stream and its word; a way has as many as there are streams at once
//   submit  work on a lane, then whatever the way needs behind it
//   wait    returns when that work is done
//
// Invariant: each way has streams of its own, so that none waits for another's work.
// Threads: one at a time per lane, each having entered the way's place. Blocking: wait.
// Ownership: card and client outlive their ways. Errors: broken.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "tests/device/card.hpp"

namespace gar::device_check {

// What came of a way's waits.
struct wait_counts {
  std::array<uint64_t, 4> kinds{};  // by GAR_KIND_*; of gard's ways alone
  uint64_t delegated = 0;
  uint64_t early = 0;  // returned before the work was done: never right
};

class way {
 public:
  way(std::string name, const card& on, const card::place& at, size_t lanes, size_t first_word);
  virtual ~way();
  way(const way&) = delete;
  way& operator=(const way&) = delete;

  const std::string& name() const { return name_; }
  size_t lanes() const { return lanes_.size(); }
  void enter() const { card_.enter(place_); }

  void submit(size_t lane, uint64_t rounds);
  void wait(size_t lane);

  // The witness of the lane's work, and what it says when the next work to be submitted is done.
  const uint64_t& word(size_t lane) const { return card_.word(lanes_[lane].word); }
  uint64_t next(size_t lane) const { return card_.witness(lanes_[lane].number + 1); }

  wait_counts counts() const;

 protected:
  struct lane_state {
    cuda::stream stream = nullptr;
    size_t word = 0;
    uint64_t number = 0;
    wait_counts counts;
  };
  const card& on() const { return card_; }
  cuda::stream stream(size_t lane) const { return lanes_[lane].stream; }
  wait_counts& counts_of(size_t lane) { return lanes_[lane].counts; }

 private:
  virtual void mark(size_t lane) = 0;
  virtual void await(size_t lane) = 0;

  const std::string name_;
  const card& card_;
  const card::place place_;
  std::vector<lane_state> lanes_;
};

// What the driver itself offers.
std::unique_ptr<way> make_stream_spin(card& on, size_t lanes, size_t first_word);
std::unique_ptr<way> make_stream_block(card& on, size_t lanes, size_t first_word);
std::unique_ptr<way> make_event_block(card& on, size_t lanes, size_t first_word);
std::unique_ptr<way> make_host_function(card& on, size_t lanes, size_t first_word);

// gard's: a client of the name `gar_client_name(plan)`, for which the plan is set.
struct gar_way_options {
  std::string name;
  std::string plan_name;  // "flag"
  std::string plan;       // its text: what runs where there is no gard
  std::string socket;     // empty: in-process
  bool run_inline = false;
};
std::unique_ptr<way> make_gar_way(card& on, const gar_way_options& options, size_t lanes,
                                  size_t first_word);
std::string gar_client_name(const std::string& plan_name);

// All of them, in the order in which tables show them. Without a socket those that gard would do
// are left out.
struct all_ways_options {
  std::string socket;
  size_t lanes = 1;
};
std::vector<std::unique_ptr<way>> make_all_ways(card& on, const all_ways_options& options);

}  // namespace gar::device_check
