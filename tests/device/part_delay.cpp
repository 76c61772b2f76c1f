// How long after the end of the work each way of waiting returns.
//
// Not measured: from the store's leaving the card to its arrival in memory; what the submission
// takes. The lower bound is one look at the word by another CPU, about 0.1 us.
#include <boost/json/array.hpp>

#include "lib/linux/steady_clock.hpp"
#include "tests/device/observer.hpp"
#include "tests/device/part.hpp"
#include "tests/device/way.hpp"

namespace gar::device_check {
namespace {

namespace json = boost::json;

// Waits that are not counted: they start threads and learn how long the work lasts.
constexpr uint64_t warm_up_count = 3;

struct measured_way {
  std::unique_ptr<way> how;
  std::string refused;  // why it stopped, where it did
  json::array delays_ns;
};

// Negative where the observer was not running when the word changed.
int64_t delay_ns(way& how, observer& eye, uint64_t rounds) {
  how.enter();
  eye.watch(how.word(0), how.next(0));
  how.submit(0, rounds);
  how.wait(0);
  const instant returned = steady_clock().now();
  return static_cast<int64_t>(returned.ns - eye.seen().ns);
}

void measure(measured_way& m, observer& eye, uint64_t rounds, bool counted) {
  try {
    const int64_t delay = delay_ns(*m.how, eye, rounds);
    if (counted) m.delays_ns.push_back(delay);
  } catch (const broken& e) {
    m.refused = e.what();
    eye.forget();
  }
}

json::object as_json(const measured_way& m) {
  const wait_counts counts = m.how->counts();
  return {{"name", m.how->name()},
          {"refused", m.refused},
          {"delays_ns", m.delays_ns},
          {"delegated", counts.delegated},
          {"early", counts.early}};
}

}  // namespace

json::object run_delay(const settings& with) {
  card on({with.kernels});
  std::vector<measured_way> ways;
  for (auto& how : make_all_ways(on, {with.socket, 1})) ways.push_back({std::move(how), {}, {}});
  observer eye;
  const steady_clock clock;
  const instant until = clock.now() + from_ms(with.seconds * 1000);
  for (uint64_t i = 0; i < with.repeats && clock.now() < until; ++i) {
    for (size_t turn = 0; turn < ways.size(); ++turn) {
      // Another one is first each time, so that none always follows the same.
      measured_way& m = ways[(turn + i) % ways.size()];
      if (m.refused.empty()) measure(m, eye, with.rounds(with.work_us), i >= warm_up_count);
    }
  }
  json::array all;
  for (const measured_way& m : ways) all.push_back(as_json(m));
  return {{"ways", std::move(all)}};
}

}  // namespace gar::device_check
