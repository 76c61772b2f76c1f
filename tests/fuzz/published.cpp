// Plans as gard publishes them, read by a client: a generation is in force whole or not at all, the
// newest that is whole, and the plan chosen is the one a plain table gives.
//
// Input: plan messages, as pieces of their fields.
#include <map>
#include <set>
#include <tuple>

#include "lib/core/plan_cache.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"

namespace gar::fuzz {
namespace {

constexpr std::string_view texts[] = {"block", "poll", "flag:park_us=1,backstop_us=2",
                                      "poll;rows>=3:block", "pol"};
constexpr std::string_view points[] = {"p", "q"};

using table = std::map<std::pair<uint16_t, std::string>, bands>;

proto::plan_scope any_scope(input& from) {
  proto::plan_scope s;
  s.generation = from.byte() % 8;
  s.scopes = static_cast<uint16_t>(1 + from.byte() % 4);
  s.scope_index = from.byte() % 4;
  s.scope = from.byte() % 4;
  if (s.scope >= proto::scope_point) s.point_name = points[from.choice(std::size(points))];
  s.text = texts[from.choice(std::size(texts))];
  return s;
}

const plan& expected(const table& in_force, const bands& fallback, std::string_view point,
                     uint32_t rows) {
  const auto of = [&](uint16_t scope, std::string_view name) {
    const auto at = in_force.find({scope, std::string(name)});
    return at == in_force.end() ? nullptr : &at->second;
  };
  if (!point.empty()) {
    if (const bands* b = of(proto::scope_client_point, point)) return b->select(rows);
    if (const bands* b = of(proto::scope_point, point)) return b->select(rows);
  }
  if (const bands* b = of(proto::scope_client, "")) return b->select(rows);
  if (const bands* b = of(proto::scope_default, "")) return b->select(rows);
  return fallback.select(rows);
}

}  // namespace
}  // namespace gar::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace gar;
  using namespace gar::fuzz;
  input from(data, bytes);
  const bands fallback = *bands::parse(plan_as_shipped);
  plan_cache cache(fallback);
  table in_force, collecting;
  uint64_t collected = 0;
  bool any_taken = false;
  for (int i = 0; i < 200 && !from.empty(); ++i) {
    if (from.choice(16) == 0) {
      cache.start_over();
      any_taken = false;
      collecting.clear();
      collected = 0;
    }
    const proto::plan_scope s = any_scope(from);
    const uint64_t before = cache.generation();
    const result<bool> whole = cache.publish(s);
    if (!whole) {
      must(cache.generation() == before);
      return 0;  // a client closes the connection
    }
    const bool counts = !(any_taken && s.generation <= before) && s.generation >= collected;
    if (counts) {
      if (s.generation != collected) collecting.clear();
      collected = s.generation;
      collecting.insert_or_assign({s.scope, s.point_name}, *bands::parse(s.text));
    }
    must(!*whole || counts);
    if (*whole) {
      in_force = std::exchange(collecting, {});
      any_taken = true;
      must(cache.generation() == s.generation);
    }
    for (const std::string_view point : {std::string_view(), points[0], points[1]}) {
      for (const uint32_t rows : {0u, 3u}) {
        must(cache.select(point, rows).how == expected(in_force, fallback, point, rows));
      }
    }
  }
  return 0;
}
