// Numbers that wrap: what the client and gard compare, give out and confirm is what the same does
// in numbers wide enough never to wrap.
//
// Input: where the 64-bit numbers start, so that inputs pass the wrap, then operations.
#include <map>
#include <set>

#include "lib/core/record_ring.hpp"
#include "lib/core/slot_table.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"

namespace gar::fuzz {
namespace {

using wide = __int128;

uint64_t narrow(wide value) {
  return static_cast<uint64_t>(value);
}

// Of two numbers that lie less than 2^63 apart.
void check_reached(wide word, wide target) {
  must(reached(narrow(word), narrow(target)) == (word >= target));
}

void run_records(input& from, wide start) {
  record_ring ring(narrow(start));
  std::set<wide> unconfirmed;
  wide last = start;
  wide confirmed = start;
  for (int i = 0; i < 600 && !from.empty(); ++i) {
    switch (from.choice(4)) {
      case 0:
      case 1:
        must(ring.full() == (unconfirmed.size() == proto::records_unconfirmed_max));
        if (ring.full()) break;
        must(ring.next() == narrow(last + 1));
        ring.issued();
        unconfirmed.insert(++last);
        break;
      case 2: {
        const wide sequence = last - from.byte();
        ring.confirm(narrow(sequence));
        if (sequence <= confirmed || sequence > last) break;
        confirmed = sequence;
        unconfirmed.erase(unconfirmed.begin(), unconfirmed.upper_bound(sequence));
        break;
      }
      default:
        last += from.value() & 0xffff;
        ring.rebase(narrow(last));
        if (unconfirmed.empty()) confirmed = last;
    }
    must(ring.last() == narrow(last) && ring.confirmed() == narrow(confirmed));
    must(ring.unconfirmed() == unconfirmed.size());
    if (!unconfirmed.empty()) must(ring.oldest() == narrow(*unconfirmed.begin()));
    for (const wide s : {last, last + 1, confirmed, confirmed + 1}) {
      must(ring.is_confirmed(narrow(s)) == (s <= confirmed));
      if (s > confirmed) must(ring.is_recorded(narrow(s)) == unconfirmed.contains(s));
    }
  }
}

void run_slots(input& from, wide start) {
  constexpr size_t words = 8;
  const uint64_t memory[words] = {};
  slot_table table;
  table.add_page(memory, words);
  std::map<size_t, wide> last;  // of slots that were used
  std::set<size_t> open;
  for (int i = 0; i < 300 && !from.empty(); ++i) {
    const wide number = start + from.byte();
    if (from.flip()) {
      const auto taken = table.take(narrow(number));
      must(taken.has_value() == (open.size() < words));
      if (!taken) continue;
      const size_t slot = taken->at.word;
      must(slot < words && open.insert(slot).second);
      const wide base = last.contains(slot) ? std::max(last[slot], number) : number;
      must(taken->base == narrow(base));
      last[slot] = base;
    } else if (!open.empty()) {
      const size_t slot = *open.begin();
      table.free({0, static_cast<uint16_t>(slot)}, narrow(number));
      last[slot] = std::max(last[slot], number);
      open.erase(slot);
    }
  }
}

}  // namespace
}  // namespace gar::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace gar::fuzz;
  input from(data, bytes);
  const wide start = from.value() | (wide{1} << 64);
  const uint64_t apart = from.value() >> 1;
  check_reached(start, start + apart);
  check_reached(start + apart, start);
  check_reached(start, start);
  if (from.flip()) {
    run_records(from, start);
  } else {
    run_slots(from, start);
  }
  return 0;
}
