#include "clients/garclient/client.hpp"

#include <unistd.h>

#include <utility>

#include "lib/gpu/driver_probe.hpp"
#include "lib/linux/socket_paths.hpp"

namespace gar::owner {
namespace {

constexpr size_t estimated_points_max = 4096;

result<std::unique_ptr<attachment>> attachment_of(const client::options& o) {
  if (o.in_process) return std::unique_ptr<attachment>();
  result<std::vector<socket_candidate>> paths = connect_paths({.role = socket_role::clients,
                                                               .flag = o.socket_path,
                                                               .configured = {},
                                                               .flag_name = "socket_path"},
                                                              read_socket_environment());
  if (!paths) return paths.error();
  proto::hello hello;
  hello.client_name = o.name;
  hello.features = proto::feature_ring;
  for (const driver_capability& d : probe_drivers(probe_depth::loaded)) {
    hello.drivers.push_back({d.name, d.available, d.why});
  }
  return std::make_unique<attachment>(std::move(*paths), std::move(hello));
}

}  // namespace

client::client(const bands& plan, std::unique_ptr<attachment> to, duration look)
    : pid_(::getpid()),
      attachment_(std::move(to)),
      look_(look),
      plans_(plan),
      estimates_(estimated_points_max),
      service_({[this] { return serve(); }, [this] { return due(); },
                [this](std::span<watched_fd> into) { return watched(into); }}) {}

client::~client() {
  close();
}

result<std::unique_ptr<client>> client::connect(const options& o) {
  result<bands> plan = bands::parse(o.plan_text ? *o.plan_text : plan_as_shipped);
  if (!plan) return plan.error();
  result<std::unique_ptr<attachment>> to = attachment_of(o);
  if (!to) return to.error();
  std::unique_ptr<client> made(new client(*plan, std::move(*to), o.look));
  if (!made->attachment_) return made;

  const instant deadline = steady_clock().now() + duration{proto::handshake_ns_max};
  result<handshake::joined> joined = made->attachment_->connect(deadline);
  if (joined) {
    made->take_link(std::move(*joined));
  } else if (o.need_daemon) {
    return joined.error();
  }
  if (o.need_daemon && !made->with_gard()) {
    return error(errc::NotReachable, {"it published plans that cannot be"});
  }
  return made;
}

bool client::with_gard() const {
  const std::shared_ptr<link> at = live_link();
  return at && at->speaks();
}

gar_counters client::counters() const {
  gar_counters c{};
  c.struct_bytes = sizeof(c);
  c.waits = tally_.waits;
  c.delegated = tally_.delegated;
  c.in_process = tally_.in_process;
  c.limit_refused = tally_.limit_refused;
  c.early_words = tally_.early_words;
  c.owner_backstops = tally_.owner_backstops;
  c.reconnects = tally_.reconnects;
  c.pages_leaked = tally_.pages_leaked + mappings_->kept();
  c.service_cpu_ns = service_.cpu_time().ns;
  return c;
}

size_t client::take(std::span<gar_completion> into) {
  completion_queue::taking now(completions_);
  if (const std::shared_ptr<link> at = live_link()) at->take_for_program(pipe_use_of(*at));
  return now.take(into);
}

result<int> client::readable_fd() {
  const std::shared_ptr<link> at = live_link();
  {
    std::lock_guard lock(watch_lock_);
    if (!watched_) {
      result<void> made = make_program_fd(at);
      if (!made) return made.error();
      watched_ = true;
    }
  }
  if (at) watch_pipe(at);
  return polls_pipe_ ? completions_.fd() : watch_->fd();
}

void client::abandon() {
  const int socket = socket_number_.exchange(-1);
  if (socket >= 0) ::close(socket);
}

void client::close() noexcept {
  while (const std::shared_ptr<stream> s = open_one()) (void)close_stream(s);
  if (service_.running()) {
    end_async_of(nullptr, errc::Cancelled);
    service_.stop();
  }
  if (const std::shared_ptr<link> at = live_link()) {
    at->send_last_outcomes();
    at->say_bye();
    at->lose();
  }
}

std::shared_ptr<stream> client::open_one() const {
  std::lock_guard lock(streams_lock_);
  return streams_.empty() ? nullptr : streams_.begin()->second;
}

gar_report to_report(const wait_end& end) {
  gar_report r{};
  r.wait_ns = end.report.wait.ns;
  r.slept_ns = end.report.slept.ns;
  r.parks = end.report.parks;
  r.backstop_queries = end.report.backstop_queries;
  r.early_words = end.report.early_words;
  r.kind = static_cast<uint8_t>(end.report.kind);
  r.delegated = end.ended == wait_end::by::gard;
  r.in_process = end.ended == wait_end::by::no_gard || end.ended == wait_end::by::backstop;
  return r;
}

}  // namespace gar::owner
