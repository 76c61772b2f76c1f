#include "lib/linux/cpu_quota.hpp"

#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>

namespace gar {
namespace {

std::string contents_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream in{std::string(text)};
  return {std::istream_iterator<std::string>(in), {}};
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  std::istringstream in{std::string(text)};
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

bool has(const std::vector<std::string>& list, std::string_view wanted) {
  for (const std::string& item : list) {
    if (item == wanted) return true;
  }
  return false;
}

std::optional<uint64_t> number_in(std::string_view text) {
  uint64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The path of this process in the hierarchy with the CPU controller (v1), or in the one (v2).
std::optional<std::string> own_path(std::string_view cgroup, cgroup_version version) {
  for (const std::string& line : split(cgroup, '\n')) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool found =
        version == cgroup_version::v2 ? controllers.empty() : has(split(controllers, ','), "cpu");
    if (found) return line.substr(second + 1);
  }
  return std::nullopt;
}

struct cgroup_mount {
  cgroup_version version;
  std::string root;   // the part of the hierarchy that is mounted
  std::string point;  // where
};

std::optional<cgroup_mount> cgroup_mount_of(const std::string& line) {
  // id parent major:minor root point options [tags] - type source super-options
  const size_t dash = line.find(" - ");
  if (dash == std::string::npos) return std::nullopt;
  const auto before = words_of(std::string_view(line).substr(0, dash));
  const auto after = words_of(std::string_view(line).substr(dash + 3));
  if (before.size() < 5 || after.size() < 3) return std::nullopt;
  if (after[0] == "cgroup2") return cgroup_mount{cgroup_version::v2, before[3], before[4]};
  if (after[0] == "cgroup" && has(split(after[2], ','), "cpu")) {
    return cgroup_mount{cgroup_version::v1, before[3], before[4]};
  }
  return std::nullopt;
}

std::optional<cpu_quota> quota_at(const std::string& directory, cgroup_version version) {
  if (version == cgroup_version::v2) {
    const std::string file = directory + "/cpu.max";
    const auto words = words_of(contents_of(file));
    if (words.size() != 2) return std::nullopt;
    const auto allowed = number_in(words[0]);
    const auto period = number_in(words[1]);
    if (!allowed || !period || *period == 0) return std::nullopt;
    return cpu_quota{*allowed, *period, file};
  }
  const std::string file = directory + "/cpu.cfs_quota_us";
  const auto allowed = words_of(contents_of(file));
  const auto period = words_of(contents_of(directory + "/cpu.cfs_period_us"));
  if (allowed.size() != 1 || period.size() != 1) return std::nullopt;
  const auto allowed_us = number_in(allowed[0]);  // "-1" is no number here: no quota
  const auto period_us = number_in(period[0]);
  if (!allowed_us || !period_us || *period_us == 0) return std::nullopt;
  return cpu_quota{*allowed_us, *period_us, file};
}

bool is_tighter(const cpu_quota& a, const std::optional<cpu_quota>& b) {
  return !b || a.allowed_us * b->period_us < b->allowed_us * a.period_us;
}

}  // namespace

std::optional<cpu_quota> own_cpu_quota() {
  return cpu_quota_of("self");
}

// The mounts are the caller's, for those are what it can look into.
std::optional<cpu_quota> cpu_quota_of(const std::string& pid, const std::string& root) {
  std::optional<cpu_quota> tightest;
  for (cpu_cgroup each : find_cpu_cgroups(contents_of(root + "/proc/self/mountinfo"),
                                          contents_of(root + "/proc/" + pid + "/cgroup"))) {
    each.directory.insert(0, root);
    each.top.insert(0, root);
    std::optional<cpu_quota> quota = tightest_quota(each);
    if (!quota || !is_tighter(*quota, tightest)) continue;
    quota->file.erase(0, root.size());
    tightest = quota;
  }
  return tightest;
}

std::optional<cpu_throttling> throttling_by(const cpu_quota& quota, const std::string& root) {
  const std::string directory = quota.file.substr(0, quota.file.rfind('/'));
  cpu_throttling seen;
  bool said = false;
  for (const std::string& line : split(contents_of(root + directory + "/cpu.stat"), '\n')) {
    const auto words = words_of(line);
    const auto number = words.size() == 2 ? number_in(words[1]) : std::nullopt;
    if (!number) continue;
    if (words[0] == "nr_throttled") {
      seen.stops = *number;
      said = true;
    } else if (words[0] == "throttled_usec") {  // v2
      seen.stopped = from_us(*number);
    } else if (words[0] == "throttled_time") {  // v1
      seen.stopped = {*number};
    }
  }
  return said ? std::optional(seen) : std::nullopt;
}

std::vector<cpu_cgroup> find_cpu_cgroups(std::string_view mountinfo, std::string_view cgroup) {
  std::vector<cpu_cgroup> found;
  for (const std::string& line : split(mountinfo, '\n')) {
    const std::optional<cgroup_mount> mount = cgroup_mount_of(line);
    if (!mount) continue;
    std::optional<std::string> path = own_path(cgroup, mount->version);
    if (!path) continue;
    // A bind mount of a part of the hierarchy, as containers have, shows that part alone.
    if (mount->root != "/" && path->starts_with(mount->root)) path->erase(0, mount->root.size());
    if (*path == "/") path->clear();
    found.push_back({mount->version, mount->point + *path, mount->point});
  }
  return found;
}

std::optional<cpu_quota> tightest_quota(const cpu_cgroup& of) {
  std::optional<cpu_quota> tightest;
  std::string at = of.directory;
  for (;;) {
    std::optional<cpu_quota> quota = quota_at(at, of.version);
    if (quota && is_tighter(*quota, tightest)) tightest = quota;
    const size_t slash = at.rfind('/');
    if (at.size() <= of.top.size() || slash == std::string::npos) return tightest;
    at.erase(slash);
  }
}

}  // namespace gar
