#include "clients/demo/worker.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstdlib>

#include "clients/demo/lane.hpp"
#include "clients/demo/slice.hpp"

namespace gar {
namespace {

namespace json = boost::json;

struct client_closer {
  void operator()(gar_client* client) const { gar_close(client); }
};
using owned_client = std::unique_ptr<gar_client, client_closer>;

// A plan's client and its streams. Members go in reverse: streams before their client.
struct plan_lanes {
  owned_client client;
  std::vector<std::unique_ptr<lane>> lanes;
};

uint64_t service_cpu_ns(const gar_client* client) {
  gar_counters counters{};
  counters.struct_bytes = sizeof(counters);
  return gar_client_counters(client, &counters) == 0 ? counters.service_cpu_ns : 0;
}

demo_result<std::unique_ptr<lane_device>> open_device(const demo_options& demo) {
  switch (demo.device) {
    case demo_device::sim:
      return open_sim();
    case demo_device::vulkan:
      return open_vulkan(demo.streams);
    case demo_device::cuda:
      return open_cuda(demo.streams);
    case demo_device::hip:
      return open_hip(demo.streams);
  }
  return demo_failure{0, "no such device"};
}

class worker {
 public:
  static demo_result<std::unique_ptr<worker>> open(const worker_options& options) {
    auto opened = std::make_unique<worker>(options.demo);
    const demo_options& demo = options.demo;
    auto device = open_device(demo);
    if (!device) return device.error();
    opened->device_ = std::move(*device);
    for (size_t i = 0; i < demo.plans.size(); ++i) {
      auto plan = opened->open_plan(options, i);
      if (!plan) return plan.error();
      opened->plans_.push_back(std::move(*plan));
    }
    return opened;
  }

  explicit worker(const demo_options& demo) : demo_(demo) {}

  std::string device_name() const { return device_->name(); }

  tally run(int plan, slice_options slice) {
    plan_lanes& with = plans_[plan == spinning ? 0 : static_cast<size_t>(plan)];
    slice.how = plan == spinning ? way_of_waiting::spinning : way_of_waiting::by_plan;
    slice.scripted = demo_.device == demo_device::sim;
    slice.work = demo_.work;
    const uint64_t service = service_cpu_ns(with.client.get());
    tally counts = run_slice(with.lanes, slice);
    counts.cpu_ns += service_cpu_ns(with.client.get()) - service;
    return counts;
  }

 private:
  demo_result<plan_lanes> open_plan(const worker_options& options, size_t index) {
    // What runs without a gard, and when gard is lost: the same plan.
    ::setenv("GAR_PLAN", options.demo.plans[index].c_str(), 1);
    gar_client_options wanted{};
    wanted.struct_bytes = sizeof(wanted);
    wanted.name = options.client_names[index].c_str();
    wanted.socket_path = options.socket ? options.socket->c_str() : nullptr;
    wanted.flags = options.socket ? 0 : GAR_CLIENT_IN_PROCESS;
    gar_client* client = nullptr;
    if (const int e = gar_connect(&wanted, &client)) return library_failure("gar_connect", e);
    plan_lanes opened{owned_client(client), {}};
    for (uint32_t i = 0; i < options.demo.streams; ++i) {
      auto one = device_->open(client, i);
      if (!one) return one.error();
      opened.lanes.push_back(std::move(*one));
    }
    return opened;
  }

  demo_options demo_;
  std::unique_ptr<lane_device> device_;
  std::vector<plan_lanes> plans_;
};

json::object failure_line(const demo_failure& f) {
  return {{"failure", json::object{{"code", f.code}, {"text", f.text}}}};
}

slice_options slice_of(const json::value& command) {
  slice_options slice;
  slice.first = command.at("first").to_number<uint64_t>();
  slice.waits = command.at("waits").to_number<uint32_t>();
  return slice;
}

}  // namespace

int run_worker(const worker_options& options, line_pipe parent) {
  auto opened = worker::open(options);
  if (!opened) {
    parent.write(json::serialize(failure_line(opened.error())));
    return 1;
  }
  worker& self = **opened;
  if (!parent.write(json::serialize(json::object{{"ready", self.device_name()}}))) return 1;
  while (auto line = parent.read()) {
    const json::value command = json::parse(*line);
    const int plan = command.at("plan").to_number<int>();
    const tally counts = self.run(plan, slice_of(command));
    if (!parent.write(json::serialize(json::object{{"tally", to_json(counts)}}))) return 1;
  }
  return 0;
}

}  // namespace gar
