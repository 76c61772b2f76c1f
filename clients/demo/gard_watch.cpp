#include "clients/demo/gard_watch.hpp"

#include <fmt/core.h>

#include <cstdio>
#include <utility>

#include "clients/garctl/answer_fields.hpp"

namespace gar {
namespace {

namespace json = boost::json;

std::string text_of_refusal(const refusal& refused) {
  return fmt::format("{:#06x} {}: {}", refused.code, refused.name, refused.text);
}

std::string text_of_failure(const reply& got) {
  if (const auto* refused = std::get_if<refusal>(&got)) return text_of_refusal(*refused);
  const auto& failed = std::get<unreachable>(got);
  const error none(errc::NotReachable);
  return fmt::format(
      "{:#06x} {}: {}; tried\n{}", none.number(), none.name(),
      failed.silent ? "gard took the connection and is silent" : "gard is not reachable",
      text_of(failed));
}

no_gard no_gard_of(const reply& got) {
  std::string text = "gar-demo: " + text_of_failure(got);
  if (text.back() != '\n') text += '\n';
  if (std::holds_alternative<refusal>(got)) return {1, std::move(text)};
  return {3, text + "Start gard, or run without one: gar-demo --in-process\n"};
}

void warn(const std::string& what) {
  std::fprintf(stderr, "gar-demo: warning: %s\n", what.c_str());
}

}  // namespace

std::variant<gard_watch, no_gard> gard_watch::find(const gard_link_options& options) {
  result<gard_link> link = gard_link::make(options);
  if (!link) return no_gard{2, "gar-demo: " + link.error().text() + "\n"};
  gard_watch found(std::move(*link));
  const reply by_control = found.link_.ask_control("status");
  const auto* status = std::get_if<json::value>(&by_control);
  if (!status) return no_gard_of(by_control);
  const reply by_client = found.link_.ask_as_client("status", &found.clients_path_);
  const auto* as_client = std::get_if<json::value>(&by_client);
  if (!as_client) return no_gard_of(by_client);
  const auto control_pid = count_field(*status, "pid");
  const auto client_pid = count_field(*as_client, "pid");
  if (control_pid != client_pid) {
    return no_gard{
        2, fmt::format("gar-demo: the control socket leads to the gard of pid {}, the "
                       "clients' socket {} to that of pid {}; name both sockets of one\n",
                       control_pid.value_or(0), found.clients_path_, client_pid.value_or(0))};
  }
  found.word_wait_ = text_field(*status, "word_wait.kind");
  return found;
}

gard_watch::gard_watch(gard_watch&& other) noexcept
    : link_(std::move(other.link_)),
      clients_path_(std::move(other.clients_path_)),
      word_wait_(std::move(other.word_wait_)),
      set_for_(std::exchange(other.set_for_, {})),
      lost_(other.lost_) {}

gard_watch::~gard_watch() {
  unset_all();
}

std::optional<no_gard> gard_watch::set(const std::vector<named_plan>& plans) {
  for (const named_plan& plan : plans) {
    const reply got =
        link_.change({{"op", "plan_set"}, {"text", plan.text}, {"client", plan.client_name}});
    if (!std::holds_alternative<json::value>(got)) return no_gard_of(got);
    set_for_.push_back(plan.client_name);
  }
  return std::nullopt;
}

void gard_watch::unset_all() {
  for (const std::string& name : std::exchange(set_for_, {})) {
    const reply got = link_.change({{"op", "plan_unset"}, {"client", name}});
    if (std::holds_alternative<json::value>(got)) continue;
    warn("the plan of client " + name + " could not be unset: " + text_of_failure(got));
    // A gard that is gone has forgotten the others too.
    if (std::holds_alternative<unreachable>(got)) return;
  }
}

std::optional<double> gard_watch::cpu_ms() {
  if (lost_) return std::nullopt;
  const reply got = link_.ask_control("status");
  const auto* status = std::get_if<json::value>(&got);
  const json::value* cpu = status ? field_at(*status, "process.cpu_ms") : nullptr;
  if (!cpu || !cpu->is_number()) {
    lost_ = true;
    warn(status ? "gard does not tell its CPU time" : "gard is lost: " + text_of_failure(got));
    return std::nullopt;
  }
  return cpu->to_number<double>();
}

}  // namespace gar
