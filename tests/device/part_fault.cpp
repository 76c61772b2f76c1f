// What goes wrong on a real card, and what a wait must make of it.
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <iostream>
#include <optional>
#include <thread>

#include "lib/linux/steady_clock.hpp"
#include "proto/line.hpp"
#include "tests/device/gar_stream_on.hpp"
#include "tests/device/part.hpp"
#include "tests/device/way.hpp"

namespace gar::device_check {
namespace {

namespace json = boost::json;

constexpr uint64_t timeout_ns = 5'000'000'000;
constexpr const char* plan = "flag:park_us=100,backstop_us=10000";

std::string outcome(int number) {
  return number == 0 ? "success" : last_failure();
}

bool names_a_driver_status(const std::string& saw) {
  return saw.find(" Backend: ") != std::string::npos &&
         saw.find("CUDA_ERROR_") != std::string::npos;
}

struct pending_work {
  cuda::stream stream = nullptr;
  owned_client client;
  owned_stream opened;

  pending_work(const card& on, const settings& with, size_t word, uint64_t number)
      : stream(on.make_stream(on.primary())),
        client(connect(gar_client_name("flag"), with.socket, plan)),
        opened(open_stream(client.get(), stream)) {
    on.submit(on.primary(), stream, with.rounds(with.work_us), word, number);
  }
};

struct ended_wait {
  std::string saw;
  uint64_t ms = 0;
};

ended_wait wait_for(gar_stream* stream, uint64_t sequence, bool run_inline) {
  gar_wait_options options{};
  options.struct_bytes = sizeof(options);
  options.timeout_ns = timeout_ns;
  options.flags = run_inline ? GAR_WAIT_INLINE : 0;
  const instant start = steady_clock().now();
  std::string saw = outcome(gar_wait(stream, sequence, &options, nullptr));
  return {std::move(saw), (steady_clock().now() - start).ns / 1'000'000};
}

json::object verdict(const char* expected, const std::string& saw, bool holds) {
  return {{"expected", expected}, {"saw", saw}, {"holds", holds}};
}

}  // namespace

json::object run_fault_kernel(const settings& with) {
  card on({with.kernels});
  pending_work work(on, with, 0, 1);
  on.submit_fault(on.primary(), work.stream);
  uint64_t sequence = 0;
  need(gar_record(work.opened.get(), &sequence), "gar_record");
  const ended_wait first = wait_for(work.opened.get(), sequence, with.run_inline);
  const ended_wait again = wait_for(work.opened.get(), sequence, with.run_inline);
  uint64_t later = 0;
  const std::string recorded = outcome(gar_record(work.opened.get(), &later));
  const bool failed_for_good = again.saw != "success" && recorded != "success";
  json::object v = verdict("Backend with the driver's name and text; the stream stays failed",
                           first.saw, names_a_driver_status(first.saw) && failed_for_good);
  v["after_ms"] = first.ms;
  v["again"] = again.saw;
  v["recorded_again"] = recorded;
  return v;
}

json::object run_fault_foreign(const settings& with) {
  card on({with.kernels});
  const card::place& other = on.blocking();
  const cuda::stream foreign = on.make_stream(other);
  const owned_client client = connect(gar_client_name("flag"), with.socket, plan);
  const auto open = [&](const card::place& current) {
    on.enter(current);
    gar_stream* opened = nullptr;
    return outcome(gar_cuda_stream_open(client.get(), foreign, nullptr, &opened));
  };
  const std::string in_primary = open(on.primary());
  const std::string in_its_own = open(other);
  const auto refused = [](const std::string& saw) {
    return saw.find(" ForeignStream: ") != std::string::npos ||
           saw.find(" NoDomain: ") != std::string::npos;
  };
  return verdict("ForeignStream or NoDomain, whatever context is current",
                 in_primary + "; with its own context current: " + in_its_own,
                 refused(in_primary) && refused(in_its_own));
}

// Its other owner resets the primary context while a wait is pending.
json::object run_fault_destroyed(const settings& with) {
  card on({with.kernels});
  pending_work work(on, with, 0, 1);
  uint64_t sequence = 0;
  need(gar_record(work.opened.get(), &sequence), "gar_record");
  ended_wait pending;
  std::thread waiting([&] { pending = wait_for(work.opened.get(), sequence, with.run_inline); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const cuda::status reset = on.calls().DevicePrimaryCtxReset(on.device());
  waiting.join();
  const bool was_done = proto::load_word(on.word(0)) == on.witness(1);
  uint64_t later = 0;
  const std::string recorded = outcome(gar_record(work.opened.get(), &later));
  const std::string closed = outcome(gar_stream_close(work.opened.release()));
  const bool ended_right =
      pending.saw == "success" ? was_done : pending.saw.find(" TimedOut: ") == std::string::npos;
  json::object v = verdict("the wait ends, with success only if the work was done; no later record",
                           pending.saw, ended_right && recorded != "success");
  v["reset_status"] = reset;
  v["work_was_done"] = was_done;
  v["after_ms"] = pending.ms;
  v["recorded_again"] = recorded;
  v["closed"] = closed;
  return v;
}

json::object run_pending(const settings& with) {
  card on({with.kernels});
  pending_work work(on, with, 0, 1);
  for (uint64_t i = 0; i < with.repeats; ++i) {
    uint64_t sequence = 0;
    need(gar_record(work.opened.get(), &sequence), "gar_record");
    need(gar_wait_async(work.opened.get(), sequence, nullptr, nullptr, nullptr), "gar_wait_async");
  }
  std::cout << json::serialize(json::object{{"pending", with.repeats}}) << std::endl;
  ::sleep(static_cast<unsigned>(with.seconds));
  return {{"ended", true}};
}

}  // namespace gar::device_check
