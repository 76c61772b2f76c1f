// Engine: the running daemon, from the clients' socket to the thread that finds their completions.
//
// gard's parts (the node's state machine, the executor, the sockets) each know one thing; the
// engine builds the real ones, wires them, and is all that main and the control server see.
//
//   make: probe, resolve the executor, make pages, listen -> run: serve -> stop: end waits, bye
//
// Threads: make, run and everything below on the thread that calls run (the io thread), unless said
// otherwise; `stop` also from a handler on `io()`. The executor's threads are the engine's own.
// Blocking: run, until stopped; a stop takes less than a second.
// Ownership: options become the engine's; hooks run on the io thread, unless they say
// otherwise, and may call back into the engine.
// Errors: ExecutorRefused; AlreadyRunning; SystemCall; as named at each call.
#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/questions.hpp"
#include "daemon/request_scope.hpp"
#include "daemon/tracing.hpp"
#include "lib/core/event_log.hpp"
#include "lib/core/metrics_text.hpp"
#include "lib/core/node_limits.hpp"
#include "lib/core/node_metrics.hpp"
#include "lib/core/node_snapshot.hpp"
#include "lib/core/plan_registry.hpp"
#include "lib/core/resolve.hpp"
#include "lib/linux/unique_fd.hpp"

namespace gar {

enum class scheduling : uint8_t { other, fifo };

// What a reload may change while gard runs.
struct engine_settings {
  std::vector<configured_plan> plans;
  node_limits limits;
};

struct engine_options {
  std::string version;
  // Already listens, if it is there; else the engine makes one at `socket_path`.
  unique_fd listener = {};
  std::string socket_path;
  mode_t socket_mode = 0600;
  std::optional<gid_t> socket_group;

  executor_kind executor = executor_kind::gpu_reactor;
  gar::strictness strictness = gar::strictness::fallback;
  bool software_word_wait = true;
  duration software_spin = from_us(300);  // looking without a pause, before the first short sleep
  duration software_sleep = from_us(20);  // between looks after it; 0: give the CPU to others
  bool cpu_dma_latency = false;           // keep the CPUs out of deep sleep while waits are due
  std::optional<unsigned> cpu;            // the executor's thread stays on this one
  gar::scheduling scheduling = gar::scheduling::other;
  int priority = 1;  // with fifo

  engine_settings settings;

  // Answers one control request: JSON in, JSON out, a step at a time. For `ask` on the clients'
  // socket.
  std::function<stepwise_answer(std::string_view json, request_scope scope)> answer;
  // Reads the configuration again; for SIGHUP and the control request `reload`.
  std::function<result<engine_settings>()> reload;
  // The reload is over: what it brought is in force, or it changed nothing.
  std::function<void(const result<void>& done)> reloaded = [](const result<void>&) {};
  // Answers ask_alive, on a thread of the executor.
  std::function<void()> alive = [] {};
  // The stop has begun.
  std::function<void()> stopping;
};

class engine {
 public:
  static result<std::unique_ptr<engine>> make(engine_options options);
  ~engine();
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  // For the control server, the watchdog's timer and the like. What is left on it when the engine
  // has stopped is dropped.
  boost::asio::io_context& io();

  // Serves until stop, SIGTERM or SIGINT; SIGHUP reloads. A signal that came since make counts.
  result<void> run();
  // Takes no more waits, ends the pending ones with ShuttingDown, says bye, makes run return.
  void stop();

  // Each thread of the executor shows that it turns, however busy or idle it is; when all have, one
  // of them calls `options.alive`. false: that has not happened since the last question.
  bool ask_alive();
  // Where whoever asks gets its turn; the clients' asks do by themselves.
  gar::questions& questions();

  status_snapshot status(const request_scope& scope) const;
  // Of the whole node, as text.
  std::string metrics(metrics_dialect as) const;
  node_figures figures() const;

  // The events behind `after`; without it none, but where they end now.
  struct events_part {
    event_log::reading read;
    uint64_t log = 0;  // differs from one gard to the next
    instant now;
  };
  events_part events(const request_scope& scope, std::optional<uint64_t> after) const;
  void note(event_kind what, std::string text, uint16_t code = 0);

  // One at a time: the trace's number, then its waits; see tracing.hpp.
  result<uint64_t> trace(duration how_long);
  result<tracing::part> read_trace(uint64_t which);
  // A part of each list, short enough to be read between two other things; see node.hpp.
  std::vector<client_snapshot> clients(const request_scope& scope, list_place& at) const;
  std::vector<stream_snapshot> streams(const request_scope& scope, list_place& at) const;
  std::vector<point_snapshot> points(const request_scope& scope, list_place& at) const;

  uint64_t plan_generation() const;
  std::vector<plan_in_force> plans() const;
  // Each answers the generation that is in force afterwards.
  result<uint64_t> plan_set(plan_scope scope, const bands& requested);
  result<uint64_t> plan_unset(const plan_scope& scope);
  // A bad configuration leaves everything as it was, and its error is answered and logged.
  result<uint64_t> reload(bool replace);

 private:
  class parts;
  explicit engine(std::unique_ptr<parts> p);
  std::unique_ptr<parts> parts_;
};

}  // namespace gar
