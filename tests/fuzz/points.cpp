// Point numbers: the same names get the same numbers as from a plain list of the most recent ones.
#include <list>
#include <string>

#include "lib/core/point_numbers.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace gar;
  fuzz::input from(data, bytes);
  point_numbers numbers;
  std::list<std::pair<std::string, uint32_t>> recent;  // newest first
  while (!from.empty()) {
    const std::string name = std::to_string(from.number<uint16_t>() % 300);
    const point_numbers::answer got = numbers.number_of(name);
    const auto at = std::find_if(recent.begin(), recent.end(),
                                 [&](const auto& known) { return known.first == name; });
    must(got.fresh == (at == recent.end()));
    uint32_t number = static_cast<uint32_t>(recent.size()) + 1;
    if (at != recent.end()) {
      number = at->second;
      recent.erase(at);
    } else if (recent.size() == proto::points_per_client_max) {
      number = recent.back().second;
      recent.pop_back();
    }
    must(got.number == number && number >= 1 && number <= proto::points_per_client_max);
    recent.emplace_front(name, number);
  }
  const point_numbers::answer none = numbers.number_of({});
  must(none.number == 0 && !none.fresh);
  return 0;
}
