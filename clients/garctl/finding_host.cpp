// Rules on what this host allows and has: CPU time, io_uring, memory to pin, kernel, drivers.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "clients/garctl/answer_fields.hpp"
#include "clients/garctl/findings.hpp"
#include "clients/garctl/readable.hpp"
#include "clients/garctl/remedy.hpp"

namespace gar {
namespace {

using enum verdict;

// Linux 5.1 can seal a file against later writers, without which gard shares no page.
constexpr std::pair kernel_least{5, 1};
// Linux 5.19 has the rings of buffers that the io-uring executor receives into.
constexpr std::pair kernel_with_rings{5, 19};

// ---- CPU time ---------------------------------------------------------------------------------

// A unit's quota is systemd's to change; any other is a file's.
std::string without_quota(const host_files& on, const std::string& file) {
  const size_t end = file.rfind('/');
  const std::string folder = file.substr(0, end == std::string::npos ? 0 : end);
  const std::string name = folder.substr(folder.rfind('/') + 1);
  for (const char* kind : {".service", ".scope", ".slice"}) {
    if (name.ends_with(kind)) {
      return as_root(on, fmt::format("systemctl set-property {} CPUQuota=", shell_word(name)));
    }
  }
  return put_into(on, file.ends_with("/cpu.max") ? "max" : "-1", shell_word(file));
}

finding judge_cpu_quota(const node_seen& seen) {
  const host_files& files = seen.files;
  const char* whose = files.gard_process ? "gard" : "garctl";
  if (!files.quota) {
    const auto said = capability_of(seen, capability::cpu_quota);
    if (said && !said->available) return {.what = said->why};
    return {.is = good, .what = fmt::format("none is set for {}", whose)};
  }
  const std::string quota =
      fmt::format("{} us of CPU in every {} us are {}'s ({})", files.quota->allowed_us,
                  files.quota->period_us, whose, files.quota->file);
  const std::string remedy = without_quota(files, files.quota->file);
  if (!files.throttling) {
    return {.what = quota + "; how often that stops it cannot be read", .remedy = remedy};
  }
  const cpu_throttling& by = *files.throttling;
  finding found{.is = by.stops == 0 ? good : costs,
                .what = quota,
                .measured = fmt::format("it stopped its cgroup {} times, for {} in all", by.stops,
                                        readable_ns(by.stopped.ns)),
                .figures = {{"stops", by.stops}, {"stopped_ns", by.stopped.ns}}};
  if (found.is == costs) found.remedy = remedy;
  return found;
}

// ---- the kernel -------------------------------------------------------------------------------

finding judge_io_uring(const node_seen& seen) {
  const auto said = capability_of(seen, capability::io_uring);
  if (!said) return {.what = "gard does not say whether it may use io_uring"};
  const std::string why = said->why;
  if (said->available) return {.is = good, .what = "it works: " + why};
  if (text_field(seen.gard.status, "executor.requested") != "io-uring") {
    return {.is = good, .what = "the executor does not need it; here " + why};
  }
  finding found{.is = broken, .what = "the executor io-uring was asked for, and " + why};
  if (seen.files.io_uring_disabled.value_or(0) != 0) {
    found.remedy =
        then_restart(seen.files, as_root(seen.files, "sysctl -w kernel.io_uring_disabled=0"));
  }
  return found;
}

finding judge_memlock(const node_seen& seen) {
  const std::string limit = seen.files.memlock_limit;
  if (limit.empty() || seen.pin_bytes == 0) return {.what = "the limit cannot be read"};
  const uint64_t kib = seen.pin_bytes / 1024;
  if (seen.files.by_sudo) {
    return {.what = "root may pin what it likes, which says nothing of the programs of " +
                    (seen.files.user.empty() ? "who called sudo" : seen.files.user) +
                    ": ask without sudo"};
  }
  if (seen.pin_refused.empty()) {
    return {.is = good,
            .what = fmt::format("a program's words can be pinned; the limit is {} bytes", limit),
            .measured = fmt::format("{} KiB were pinned, as much as one client has", kib),
            .figures = {{"pinned_bytes", seen.pin_bytes}}};
  }
  // A little more than that, for what else the program pins.
  const std::string line = shell_word(fmt::format("{} - memlock {}", seen.files.user, 8 * kib));
  finding found{
      .is = broken,
      .what = fmt::format("a program's words cannot all be pinned; the limit is {} bytes", limit),
      .measured = fmt::format("pinning {} KiB: {}", kib, seen.pin_refused),
      .figures = {{"refused_bytes", seen.pin_bytes}}};
  if (!seen.files.user.empty()) {
    found.remedy =
        add_line(seen.files, line, "/etc/security/limits.d/gard.conf") + "  # then log in again";
  }
  return found;
}

std::optional<std::pair<int, int>> version_in(const std::string& release) {
  std::pair<int, int> version;
  const char* const end = release.data() + release.size();
  const auto major = std::from_chars(release.data(), end, version.first);
  if (major.ec != std::errc() || major.ptr == end || *major.ptr != '.') return std::nullopt;
  const auto minor = std::from_chars(major.ptr + 1, end, version.second);
  if (minor.ec != std::errc()) return std::nullopt;
  return version;
}

finding judge_kernel(const node_seen& seen) {
  const std::string release = seen.files.kernel;
  const auto version = version_in(seen.files.kernel);
  if (!version) return {.what = "its version cannot be read"};
  if (*version < kernel_least) {
    return {.is = broken, .what = "Linux " + release + "; gard needs 5.1"};
  }
  finding found{.is = good, .what = "Linux " + release};
  if (*version < kernel_with_rings) found.what += "; the executor io-uring would need 5.19";
  return found;
}

// ---- devices ----------------------------------------------------------------------------------

const driver_capability* driver_named(const node_seen& seen, std::string_view name) {
  for (const driver_capability& each : seen.drivers) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

finding judge_drivers(const node_seen& seen) {
  for (const auto& [maker, name] : {std::pair{"NVIDIA", "cuda"}, std::pair{"AMD", "hip"}}) {
    const auto& gpus = seen.files.gpus;
    const driver_capability* driver = driver_named(seen, name);
    if (std::find(gpus.begin(), gpus.end(), maker) == gpus.end()) continue;
    if (driver && driver->available) continue;
    finding found{.is = broken,
                  .what = fmt::format("there is a GPU of {}, and no {}: {}", maker, name,
                                      driver ? driver->why : "it was not looked for")};
    if (maker == std::string_view("NVIDIA") && !seen.files.nvidia_module) {
      found.remedy = as_root(seen.files, "modprobe nvidia");
    }
    return found;
  }
  std::string there;
  for (const driver_capability& each : seen.drivers) {
    if (!each.available || each.name == "sim") continue;
    there += (there.empty() ? "" : ", ") + each.name;
    if (!each.found.empty()) there += " (" + each.found + ")";
  }
  if (there.empty()) return {.what = "no GPU is seen here, and no driver but the simulated one"};
  return {.is = good, .what = there};
}

finding judge_nvidia_memops(const node_seen& seen) {
  if (!seen.files.nvidia_module) return {.is = good, .what = "no module of NVIDIA's is loaded"};
  if (seen.files.nvidia_memops.value_or(true)) {
    return {.is = good, .what = "the module lets streams store words"};
  }
  return {.is = costs,
          .what =
              "the module was told to let no stream store a word: waits on its streams poll. Load "
              "it anew after the command",
          .remedy = put_into(seen.files, "options nvidia NVreg_EnableStreamMemOPs=1",
                             "/etc/modprobe.d/gard.conf")};
}

}  // namespace

std::vector<finding_rule> rules_of_host() {
  return {{"cpu-quota", judge_cpu_quota, {good, costs, unknown}},
          {"io-uring", judge_io_uring, {good, broken, unknown}},
          {"memlock", judge_memlock, {good, broken, unknown}},
          {"kernel", judge_kernel, {good, broken, unknown}},
          {"drivers", judge_drivers, {good, broken, unknown}},
          {"nvidia-memops", judge_nvidia_memops, {good, costs}}};
}

}  // namespace gar
