#include "tests/device/way.hpp"

#include "proto/line.hpp"

namespace gar::device_check {
namespace {

struct named_plan {
  const char* name;
  const char* text;
};
constexpr named_plan block{"block", "block"};
constexpr named_plan poll{"poll", "poll"};
constexpr named_plan flag{"flag", "flag:park_us=100,backstop_us=10000"};
constexpr named_plan shipped{"shipped",
                             "flag:park_us=100,backstop_us=10000"
                             "+predict:margin_us=200,min_sleep_us=50,max_sleep_us=50000,window=8"};

}  // namespace

way::way(std::string name, const card& on, const card::place& at, size_t lanes, size_t first_word)
    : name_(std::move(name)), card_(on), place_(at), lanes_(lanes) {
  for (lane_state& lane : lanes_) {
    lane.stream = on.make_stream(at);
    lane.word = first_word++;
  }
}

// A stream whose device failed cannot be destroyed, and need not be.
way::~way() {
  (void)card_.calls().CtxSetCurrent(place_.context);
  for (lane_state& lane : lanes_) (void)card_.driver().StreamDestroy(lane.stream);
}

void way::submit(size_t lane, uint64_t rounds) {
  lane_state& l = lanes_[lane];
  card_.submit(place_, l.stream, rounds, l.word, ++l.number);
  mark(lane);
}

void way::wait(size_t lane) {
  await(lane);
  const uint64_t expected = card_.witness(lanes_[lane].number);
  if (proto::load_word(word(lane)) != expected) ++counts_of(lane).early;
}

wait_counts way::counts() const {
  wait_counts sum;
  for (const lane_state& lane : lanes_) {
    for (size_t i = 0; i < sum.kinds.size(); ++i) sum.kinds[i] += lane.counts.kinds[i];
    sum.delegated += lane.counts.delegated;
    sum.early += lane.counts.early;
  }
  return sum;
}

std::string gar_client_name(const std::string& plan_name) {
  return "device-check-" + plan_name;
}

std::vector<std::unique_ptr<way>> make_all_ways(card& on, const all_ways_options& options) {
  std::vector<std::unique_ptr<way>> all;
  const size_t lanes = options.lanes;
  size_t word = 0;
  const auto add = [&](auto make) {
    all.push_back(make(on, lanes, word));
    word += lanes;
  };
  const auto add_gar = [&](const named_plan& plan, const char* name, bool run_inline) {
    all.push_back(
        make_gar_way(on, {name, plan.name, plan.text, options.socket, run_inline}, lanes, word));
    word += lanes;
  };
  add(make_stream_spin);
  add(make_stream_block);
  add(make_event_block);
  add(make_host_function);
  add_gar(poll, "gar poll", false);
  add_gar(block, "gar block", false);
  add_gar(flag, "gar flag inline", true);
  add_gar(shipped, "gar shipped inline", true);
  if (options.socket.empty()) return all;
  add_gar(flag, "gar flag by gard", false);
  add_gar(shipped, "gar shipped by gard", false);
  return all;
}

}  // namespace gar::device_check
