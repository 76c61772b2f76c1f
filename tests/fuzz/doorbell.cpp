// The doorbell page as gard reads it, which everybody on the machine writes: of the request flags
// only those that are watched and set are seen, each once; a bell counts as changed when it has.
#include "lib/linux/doorbell.hpp"

#include <cstring>
#include <set>

#include "lib/linux/bell_trust.hpp"
#include "lib/linux/request_flags.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"

namespace gar::fuzz {
namespace {

constexpr size_t page_bytes = sizeof(proto::doorbell_page);

std::set<size_t> set_and_watched(const uint8_t* flags, const std::set<size_t>& watched) {
  std::set<size_t> due;
  for (const size_t flag : watched) {
    if (flags[flag] != 0) due.insert(flag);
  }
  return due;
}

void take_all(request_flags& flags, const uint8_t* bytes, const std::set<size_t>& watched) {
  std::set<size_t> due = set_and_watched(bytes, watched);
  must(flags.any() == !due.empty());
  flags.take([&](size_t flag) {
    must(due.erase(flag) == 1);
    must(bytes[flag] == 0);
  });
  must(due.empty() && !flags.any());
}

void run(input& from, const doorbell& bell) {
  request_flags flags(bell);
  uint8_t* const bytes = bell.request_flags();
  std::set<size_t> watched;
  bell_copy copy = copy_bell(bell.line());
  bell_trust trust;
  instant now;
  for (int i = 0; i < 500 && !from.empty(); ++i) {
    const size_t what = from.choice(6);
    const size_t at = from.number<uint16_t>();
    switch (what) {
      case 0:
        flags.watch(at % proto::request_flags_max);
        watched.insert(at % proto::request_flags_max);
        break;
      case 1:
        flags.unwatch(at % proto::request_flags_max);
        watched.erase(at % proto::request_flags_max);
        break;
      case 2:
        static_cast<uint8_t*>(bell.data())[at % page_bytes] = from.byte();
        break;
      case 3:
        bell.ask(static_cast<uint32_t>(at % proto::request_flags_max));
        bell.ring(at, 1, i);
        break;
      case 4:
        take_all(flags, bytes, watched);
        break;
      default: {
        const bell_copy seen = copy_bell(bell.line());
        must(bell_is_as(bell.line(), copy) == (seen == copy));
        if (seen != copy) trust.woken_by_bell();
        copy = seen;
        trust.prepared();
        now = now + duration{at};
        trust.trusted(now);
      }
    }
  }
  uint64_t canary = 0;
  std::memcpy(&canary, static_cast<uint8_t*>(bell.data()) + 64, sizeof(canary));
  must(bell.canary_intact() == (canary == proto::doorbell_canary));
}

}  // namespace
}  // namespace gar::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace gar;
  static const doorbell bell = *doorbell::make();
  std::memset(bell.data(), 0, fuzz::page_bytes);
  fuzz::input from(data, bytes);
  fuzz::run(from, bell);
  return 0;
}
