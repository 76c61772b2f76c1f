// Stream probe: what gard asks the owner about one stream, one question at a time.
//
// The waits of a stream share it: one that wants to be asked about while a question is out waits
// for its turn. So a silent owner is asked once, whatever waits.
//
//   free -> ask -> outstanding -> take (the answer to it) -> free -> ask, for the next that wants
//
// Invariants: at most one question is outstanding; a wait is in the list once; an answer counts
// only with the number of the question, for the stream and the target that were asked about.
// `Entry` is a wait, with `wants_probe`; `Wanting` an intrusive list of those, linked by a hook of
// the wait's own.
// Threads: its board's. Allocation: none. Ownership: a wait leaves by `forget` before it goes.
#pragma once

#include <cstdint>

#include "lib/core/codec.hpp"
#include "lib/core/descriptor.hpp"
#include "lib/core/planted.hpp"

namespace gar {

// The owner's, about one wait.
enum class owner_verdict : uint8_t { none, done, failed };

// "done" is one for every wait up to the number, since a stream's work completes in order; "failed"
// for the waits of that very number.
inline owner_verdict verdict_of(const proto::status_entry& status, uint64_t target) {
  const bool covered =
      reached(status.sequence, target) || planted(bug::probe_answer_of_another_wait);
  if (status.state == proto::probe_done && covered) return owner_verdict::done;
  if (status.state == proto::probe_failed && target == status.sequence) {
    return owner_verdict::failed;
  }
  return owner_verdict::none;
}

template <class Entry, class Wanting>
class stream_probe {
 public:
  // Of a new stream the earlier one's question will not be answered, and nothing of it waits.
  void begin(uint32_t generation) {
    if (generation_ == generation) return;
    generation_ = generation;
    outstanding_ = 0;
    asked_ = nullptr;
    wanting_.clear();
  }

  // true: it is to be asked about now. Otherwise it gets its turn.
  bool want(Entry& e) {
    if (outstanding_ == 0) return true;
    if (asked_ != &e) {
      e.wants_probe = true;
      wanting_.push_back(e);
    }
    return false;
  }

  // `id` was never used before.
  proto::probe_entry ask(const Entry& e, uint64_t id) {
    outstanding_ = id;
    sequence_ = e.word.target();
    asked_ = &e;
    return {outstanding_, sequence_, e.stream, generation_};
  }

  // false: it answers nothing that is asked; late, doubled and made-up ones do not.
  bool take(const proto::status_entry& status) {
    if (outstanding_ == 0 || outstanding_ != status.probe_id ||
        generation_ != status.stream_generation || sequence_ != status.sequence) {
      return false;
    }
    outstanding_ = 0;
    return true;
  }

  // The next wait that is to be asked about; null: none.
  Entry* next() {
    if (wanting_.empty()) return nullptr;
    Entry& first = wanting_.front();
    wanting_.pop_front();
    first.wants_probe = false;
    return &first;
  }

  // The wait ends.
  void forget(Entry& e) {
    if (e.wants_probe) wanting_.erase(wanting_.iterator_to(e));
    if (asked_ == &e) asked_ = nullptr;
  }

 private:
  uint32_t generation_ = 0;
  uint64_t outstanding_ = 0;      // probe id; 0: none
  uint64_t sequence_ = 0;         // that was asked about
  const Entry* asked_ = nullptr;  // that the question is about; null: it has ended
  Wanting wanting_;
};

}  // namespace gar
