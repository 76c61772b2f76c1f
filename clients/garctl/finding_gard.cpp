// Rules on gard itself: does it answer, whom, and does it run what it was asked to.
#include <fmt/core.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <charconv>

#include "clients/garctl/answer_fields.hpp"
#include "clients/garctl/findings.hpp"
#include "clients/garctl/plan_check.hpp"
#include "clients/garctl/readable.hpp"
#include "clients/garctl/remedy.hpp"

namespace gar {
namespace {

namespace json = boost::json;
using enum verdict;

constexpr uint64_t late_percent_least = 10;  // a smaller share is no cost worth a plan

constexpr uint64_t backstop_us_least = 1000;  // each backstop asks the owner
constexpr uint64_t margin_us_most = 1'000'000;

std::string text_of(const std::vector<attempt>& tried) {
  std::string text;
  for (const attempt& each : tried) {
    text += (text.empty() ? "" : "; ") + each.path + ": " + each.why;
  }
  return text;
}

bool any_says(const std::vector<attempt>& tried, std::string_view why) {
  return std::any_of(tried.begin(), tried.end(),
                     [&](const attempt& each) { return each.why.find(why) != std::string::npos; });
}

// The clients' socket that a program here finds first.
const socket_file* clients_socket(const node_seen& seen) {
  for (const socket_file& each : seen.files.sockets) {
    if (each.there) return &each;
  }
  return nullptr;
}

// A gard that somebody runs for himself.
bool is_own(const node_seen& seen) {
  const socket_file* socket = clients_socket(seen);
  return socket && socket->owner != 0 && socket->owner == seen.files.uid;
}

std::string set_plan(const node_seen& seen, const std::string& text) {
  std::string command = "garctl ";
  if (seen.gard.control) command += "--control " + shell_word(*seen.gard.control) + ' ';
  command += "plan set " + shell_word(text);
  return is_own(seen) ? command : as_root(seen.files, command);
}

// The plan with each value of a key changed; empty where that is no other plan.
template <class Change>
std::string changed_plan(const std::string& plan, std::string_view key, Change&& change) {
  std::string text;
  const char* at = plan.data();
  const char* const end = at + plan.size();
  while (at != end) {
    const char* value = std::search(at, end, key.begin(), key.end());
    if (value == end) break;
    value += key.size();
    uint64_t number = 0;
    const char* const after = std::from_chars(value, end, number).ptr;
    text.append(at, value).append(std::to_string(change(number)));
    at = after;
  }
  text.append(at, end);
  return text != plan && check_plan(text).valid() ? text : std::string();
}

finding judge_gard(const node_seen& seen) {
  const json::value& status = seen.gard.status;
  switch (seen.gard.what) {
    case gard_seen::answer::answered: {
      const auto up_ms = count_field(status, "uptime_ms");
      return {.is = good,
              .what = fmt::format("gard {} answers: pid {}, up {}", text_field(status, "version"),
                                  count_text(status, "pid"),
                                  up_ms ? readable_ns(from_ms(*up_ms).ns) : "?")};
    }
    case gard_seen::answer::refused:
      return {.what = "gard does not say how it is: " + seen.gard.refused};
    case gard_seen::answer::silent:
      return {.is = broken,
              .what = "gard takes connections and is silent; " + text_of(seen.gard.tried),
              .remedy = restart(seen.files)};
    case gard_seen::answer::nobody:
      break;
  }
  if (any_says(seen.gard.tried, "Permission denied")) {
    return {.what = "its sockets refuse this user; " + text_of(seen.gard.tried),
            .remedy = "sudo garctl doctor"};
  }
  return {.is = broken,
          .what = "no gard answers, so each program waits by itself; " + text_of(seen.gard.tried),
          .remedy = seen.files.systemd ? as_root(seen.files, "systemctl start gard") : "gard &"};
}

// A socket unit does not start while its service is active; the service starts its sockets.
std::string listen_anew(const host_files& on) {
  return as_root(on, "systemctl stop gard.socket gard") + " && " +
         as_root(on, "systemctl start gard");
}

finding judge_sockets(const node_seen& seen) {
  const socket_file* socket = clients_socket(seen);
  if (!socket) {
    for (const socket_file& each : seen.files.sockets) {
      if (each.hidden) return {.what = "this user may not look at " + each.path};
    }
    return {.what = "there is no socket for clients; gard makes it"};
  }
  const std::string path = socket->path;
  const std::string removed = as_root(seen.files, "rm " + shell_word(socket->path));
  if (!socket->is_socket) {
    return {.is = broken,
            .what = path + " is no socket, and in the way of one",
            .remedy = then_restart(seen.files, removed)};
  }
  if (!seen.gard.answers_clients && any_says(seen.gard.clients_tried, "Connection refused")) {
    return {
        .is = broken,
        .what = "nobody listens at " + path,
        .remedy = seen.files.systemd ? listen_anew(seen.files) : then_restart(seen.files, removed)};
  }
  if (socket->mode & 0060) {
    return {.is = good, .what = fmt::format("{} is open to the group {}", path, socket->group)};
  }
  if (is_own(seen)) return {.is = good, .what = path + " is this user's own"};
  const std::string opened = as_root(
      seen.files, fmt::format("chgrp gard {0} && {1}", shell_word(socket->path),
                              as_root(seen.files, "chmod 660 " + shell_word(socket->path))));
  const bool has_group = seen.files.of_gard && seen.files.of_gard->group_exists;
  return {.is = costs,
          .what = fmt::format("{} is open to uid {} alone: programs of others wait by themselves",
                              path, socket->owner),
          .remedy = has_group ? opened
                              : as_root(seen.files, "groupadd -f --system gard") + " && " + opened};
}

finding judge_groups(const node_seen& seen) {
  const host_files& files = seen.files;
  const bool named = !files.user.empty();
  if (files.by_sudo && !named) {
    return {.what = "this host does not know the user who called sudo: ask without it"};
  }
  if (files.user_uid == 0) return {.is = good, .what = "root needs no group"};
  const std::string user = named ? files.user : fmt::format("uid {}", files.uid);
  if (is_own(seen))
    return {.is = good, .what = "this gard is " + user + "'s own: no group is needed"};
  if (!files.of_gard) return {.what = "/etc/group cannot be read"};
  const membership& of = *files.of_gard;
  // Who has no name here is a directory's, and joins the group there.
  const std::string join = named ? as_root(files, "usermod -aG gard " + shell_word(user)) : "";
  if (!of.group_exists) {
    return {.is = costs,
            .what = "there is no group gard: " + user + "'s programs wait by themselves",
            .remedy = as_root(files, "groupadd -f --system gard") + (named ? " && " + join : "")};
  }
  if (of.held) return {.is = good, .what = user + " is in the group gard"};
  if (of.listed) {
    return {.is = costs,
            .what = user + " was put into the group gard after this login, which is without it",
            .remedy = "newgrp gard"};
  }
  return {.is = costs,
          .what = user + " is not in the group gard: its programs wait by themselves",
          .remedy = named ? join + "  # then log in again" : ""};
}

finding judge_executor(const node_seen& seen) {
  if (!seen.gard.answered()) return without_gard();
  const json::value& status = seen.gard.status;
  const auto requested = optional_text_field(status, "executor.requested");
  const auto running = optional_text_field(status, "executor.running");
  if (!requested || !running) return {.what = "gard does not say what it runs"};
  if (*requested == *running) return {.is = good, .what = *running + " runs, as asked for"};
  return {.is = broken,
          .what = text_field(status, "executor.warning.text"),
          .remedy = configure(seen.files, "executor", "kind", '"' + *running + '"')};
}

finding judge_plan(const node_seen& seen) {
  if (!seen.gard.answered()) return without_gard();
  const json::value& status = seen.gard.status;
  const auto requested = optional_text_field(status, "plan.requested");
  const auto running = optional_text_field(status, "plan.running");
  if (!requested || !running) return {.what = "gard does not say which plan runs"};
  if (*requested == *running) return {.is = good, .what = *running};
  return {.is = broken,
          .what = fmt::format("{} was asked for and {} runs: no word wait is allowed here",
                              *requested, *running),
          .remedy = configure(seen.files, "executor", "software_word_wait", "true")};
}

finding judge_late_waits(const node_seen& seen) {
  if (!seen.gard.answered()) return without_gard();
  const json::value& status = seen.gard.status;
  const auto late = count_field(status, "kinds.late");
  const auto parked = count_field(status, "kinds.parked");
  const auto running = optional_text_field(status, "plan.running");
  if (!late || !parked || !running) return {.what = "gard does not say how waits ended"};
  const uint64_t all = *late + *parked;
  if (all < judged_waits_least) {
    return {.what = fmt::format("{} waits have parked or slept so far, too few to tell", all)};
  }
  const uint64_t percent = *late * 100 / all;
  finding found{
      .is = percent < late_percent_least ? good : costs,
      .what = "work was seldom done before its waiter woke",
      .measured = fmt::format("{} of {} waits slept too long ({} %)", *late, all, percent),
      .figures = {{"late_waits", *late}, {"waits", all}}};
  if (found.is == good) return found;
  found.what = "work was done while its waiter still slept: the plan's margin is small for it";
  const std::string wider = changed_plan(
      *running, "margin_us=", [](uint64_t us) { return std::min(2 * us + 10, margin_us_most); });
  if (!wider.empty()) found.remedy = set_plan(seen, wider);
  return found;
}

finding judge_lost_stores(const node_seen& seen) {
  if (!seen.gard.answered()) return without_gard();
  const auto lost = count_field(seen.gard.status, "waits.lost_store");
  const auto completed = count_field(seen.gard.status, "waits.completed");
  const auto running = optional_text_field(seen.gard.status, "plan.running");
  if (!lost || !completed || !running) return {.what = "gard does not say"};
  finding found{.is = *lost == 0 ? good : costs,
                .what = "the store of every wait came",
                .measured = fmt::format("{} of {} waits", *lost, *completed),
                .figures = {{"lost_stores", *lost}, {"waits", *completed}}};
  if (*completed == 0) return {.what = "no wait has ended yet"};
  if (found.is == good) return found;
  found.what =
      "stores of devices never came: those waits took until a backstop. "
      "`garctl watch --kept` shows whose";
  const std::string sooner = changed_plan(*running, "backstop_us=", [](uint64_t us) {
    return std::min(us, std::max(us / 10, backstop_us_least));
  });
  if (!sooner.empty()) found.remedy = set_plan(seen, sooner);
  return found;
}

}  // namespace

std::vector<finding_rule> rules_of_gard() {
  return {{"gard", judge_gard, {good, broken, unknown}},
          {"sockets", judge_sockets, {good, costs, broken, unknown}},
          {"groups", judge_groups, {good, costs, unknown}},
          {"executor", judge_executor, {good, broken, unknown}},
          {"plan", judge_plan, {good, broken, unknown}},
          {"late-waits", judge_late_waits, {good, costs, unknown}},
          {"lost-stores", judge_lost_stores, {good, costs, unknown}}};
}

}  // namespace gar
