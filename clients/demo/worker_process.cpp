#include "clients/demo/worker_process.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <utility>

#include "lib/linux/system_call.hpp"

namespace gar {
namespace {

namespace json = boost::json;

struct pipe_ends {
  unique_fd reading;
  unique_fd writing;
};

result<pipe_ends> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return last_system_error("pipe2");
  return pipe_ends{unique_fd(ends[0]), unique_fd(ends[1])};
}

// An interrupt from the terminal is for the parent, which ends its workers itself.
[[noreturn]] void be_worker(const worker_options& options, line_pipe parent) {
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGTERM, SIG_DFL);
  int status = 1;
  try {
    status = run_worker(options, std::move(parent));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "gar-demo: worker: %s\n", e.what());
  }
  std::fflush(nullptr);
  ::_exit(status);
}

}  // namespace

demo_result<worker_process> worker_process::start(const worker_options& options,
                                                  std::vector<worker_process>& others) {
  result<pipe_ends> to = make_pipe();
  if (!to) return failure_of("starting a worker", to.error());
  result<pipe_ends> from = make_pipe();
  if (!from) return failure_of("starting a worker", from.error());
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid < 0) return failure_of("starting a worker", last_system_error("fork"));
  if (pid == 0) {
    for (worker_process& other : others) {
      other.pid_ = 0;
      other.pipe_.reset();
    }
    to->writing.reset();
    from->reading.reset();
    be_worker(options, line_pipe(std::move(to->reading), std::move(from->writing)));
  }
  return worker_process(pid, line_pipe(std::move(from->reading), std::move(to->writing)));
}

worker_process::worker_process(worker_process&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      busy_(other.busy_),
      pipe_(std::exchange(other.pipe_, std::nullopt)) {}

// A worker that is idle ends by itself when its pipe is closed.
worker_process::~worker_process() {
  pipe_.reset();
  if (pid_ <= 0) return;
  if (busy_) ::kill(pid_, SIGTERM);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) ::kill(pid_, SIGTERM);
}

demo_result<std::string> worker_process::await_ready() {
  demo_result<json::value> name = receive_field("ready");
  if (!name) return name.error();
  return std::string(name->as_string());
}

void worker_process::tell(int plan, uint64_t first, uint32_t waits) {
  busy_ = true;
  // A worker that is gone is found by `receive`.
  (void)pipe_->write(
      json::serialize(json::object{{"plan", plan}, {"first", first}, {"waits", waits}}));
}

demo_result<tally> worker_process::receive() {
  demo_result<json::value> counts = receive_field("tally");
  if (!counts) return counts.error();
  busy_ = false;
  return tally_of(*counts);
}

demo_result<json::value> worker_process::receive_field(std::string_view field) {
  const std::optional<std::string> line = pipe_->read();
  if (!line) return ended();
  json::value answer = json::parse(*line);
  if (const json::value* failure = answer.as_object().if_contains("failure")) {
    return demo_failure{failure->at("code").to_number<uint16_t>(),
                        std::string(failure->at("text").as_string())};
  }
  return answer.at(field);
}

demo_failure worker_process::ended() {
  if (!pipe_->at_end()) return {0, "interrupted"};
  int status = 0;
  if (::waitpid(pid_, &status, 0) != pid_) return {0, "interrupted"};
  const pid_t pid = std::exchange(pid_, 0);
  if (WIFSIGNALED(status)) {
    return {0, fmt::format("worker {} was ended by signal {}", pid, WTERMSIG(status))};
  }
  return {0, fmt::format("worker {} ended with status {}", pid, WEXITSTATUS(status))};
}

}  // namespace gar
