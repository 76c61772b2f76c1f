#include "clients/garctl/host_files.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "clients/garctl/host_accounts.hpp"

namespace gar {
namespace {

namespace fs = std::filesystem;

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

// Where files are looked for.
class tree {
 public:
  explicit tree(std::string root) : root_(std::move(root)) {}

  std::string at(const std::string& path) const { return root_ + path; }
  bool has(const std::string& path) const {
    std::error_code unknown;
    return fs::exists(at(path), unknown);
  }
  std::optional<std::string> text(const std::string& path) const {
    std::ifstream file(at(path), std::ios::binary);
    if (!file) return std::nullopt;
    std::string text{std::istreambuf_iterator<char>(file), {}};
    return file.bad() ? std::nullopt : std::optional(std::move(text));
  }
  std::vector<std::string> words(const std::string& path) const {
    return words_of(text(path).value_or(""));
  }
  // The one word that a file is.
  std::string word(const std::string& path) const {
    const auto all = words(path);
    return all.size() == 1 ? all[0] : std::string();
  }
  std::vector<std::string> names_in(const std::string& path) const {
    std::vector<std::string> names;
    std::error_code unknown;
    for (const fs::directory_entry& each : fs::directory_iterator(at(path), unknown)) {
      names.push_back(each.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::string root_;
};

// ---- users and groups -------------------------------------------------------------------------

// "Uid:" and "Groups:" of /proc/self/status.
std::vector<std::string> status_words(const tree& in, const std::string& key) {
  for (const std::string& line : split(in.text("/proc/self/status").value_or(""), '\n')) {
    std::vector<std::string> words = words_of(line);
    if (words.empty() || words[0] != key) continue;
    words.erase(words.begin());
    return words;
  }
  return {};
}

bool has(const std::vector<std::string>& list, const std::string& wanted) {
  return std::find(list.begin(), list.end(), wanted) != list.end();
}

void read_user(const tree& in, const host_accounts& accounts, const std::string& sudo_user,
               host_files& seen) {
  const auto uids = status_words(in, "Uid:");
  // The effective one.
  seen.uid = uids.size() > 1 ? number_in<uint32_t>(uids[1]).value_or(0) : 0;
  auto user = accounts.user(seen.uid);
  seen.by_sudo = seen.uid == 0 && !sudo_user.empty() && sudo_user != "root";
  if (seen.by_sudo) user = accounts.user(sudo_user);
  if (user) seen.user = user->name;
  seen.user_uid = user ? user->uid : seen.uid;
  if (!accounts.has_groups()) return;
  const auto group = accounts.group("gard");
  membership of;
  of.group_exists = group.has_value();
  if (group) {
    const std::string gid = std::to_string(group->gid);
    const auto gids = status_words(in, "Gid:");
    of.listed = user && accounts.is_member(*user, *group);
    of.held = seen.by_sudo
                  ? of.listed
                  : has(status_words(in, "Groups:"), gid) || (gids.size() > 1 && gids[1] == gid);
  }
  seen.of_gard = of;
}

socket_file read_socket(const tree& in, const host_accounts& accounts, const std::string& path) {
  socket_file seen;
  seen.path = path;
  struct stat found {};
  if (::stat(in.at(path).c_str(), &found) != 0) {
    seen.hidden = errno == EACCES;
    return seen;
  }
  seen.there = true;
  seen.is_socket = S_ISSOCK(found.st_mode);
  seen.mode = found.st_mode & 0777;
  seen.owner = found.st_uid;
  const auto group = accounts.group(found.st_gid);
  seen.group = group ? group->name : std::to_string(found.st_gid);
  return seen;
}

// ---- the machine ------------------------------------------------------------------------------

// "0.42 0.30 0.25 1/123 4567"
std::optional<uint64_t> read_load(const tree& in, uint64_t cpus) {
  const auto words = in.words("/proc/loadavg");
  if (words.empty() || cpus == 0) return std::nullopt;
  const size_t dot = words[0].find('.');
  const auto whole = number_in<uint64_t>(words[0].substr(0, dot));
  const auto hundredths =
      dot == std::string::npos ? 0 : number_in<uint64_t>(words[0].substr(dot + 1)).value_or(0);
  if (!whole) return std::nullopt;
  return (*whole * 100 + hundredths) / cpus;
}

void read_cpus(const tree& in, host_files& seen) {
  const std::string cpus = "/sys/devices/system/cpu/";
  seen.umwait_max_ticks = number_in<uint64_t>(in.word(cpus + "umwait_control/max_time"));
  if (const auto c02 = number_in<int>(in.word(cpus + "umwait_control/enable_c02"))) {
    seen.umwait_c02 = *c02 != 0;
  }
  uint64_t count = 0;
  for (const std::string& name : in.names_in(cpus)) {
    if (!name.starts_with("cpu") || !number_in<unsigned>(name.substr(3))) continue;
    ++count;
    const std::string governor = in.word(cpus + name + "/cpufreq/scaling_governor");
    if (!governor.empty() && !has(seen.governors, governor)) seen.governors.push_back(governor);
  }
  seen.load_percent = read_load(in, count);
  const std::string clock = "/sys/devices/system/clocksource/clocksource0/";
  seen.clocksource = in.word(clock + "current_clocksource");
  seen.clocksources = in.words(clock + "available_clocksource");
}

// "Max locked memory  8388608  8388608  bytes"
std::string read_memlock_limit(const tree& in) {
  for (const std::string& line : split(in.text("/proc/self/limits").value_or(""), '\n')) {
    const auto words = words_of(line);
    if (line.starts_with("Max locked memory") && words.size() > 3) return words[3];
  }
  return {};
}

void read_gpus(const tree& in, host_files& seen) {
  const std::string bus = "/sys/bus/pci/devices/";
  for (const std::string& name : in.names_in(bus)) {
    const std::string kind = in.word(bus + name + "/class");
    // A display controller, or an accelerator.
    if (!kind.starts_with("0x03") && !kind.starts_with("0x12")) continue;
    const std::string vendor = in.word(bus + name + "/vendor");
    const std::string maker = vendor == "0x10de" ? "NVIDIA" : vendor == "0x1002" ? "AMD" : "";
    if (!maker.empty() && !has(seen.gpus, maker)) seen.gpus.push_back(maker);
  }
  const auto parameters = in.text("/proc/driver/nvidia/params");
  seen.nvidia_module = parameters.has_value();
  for (const std::string& line : split(parameters.value_or(""), '\n')) {
    const auto words = words_of(line);
    if (words.size() == 2 && words[0] == "EnableStreamMemOPs:")
      seen.nvidia_memops = words[1] != "0";
  }
}

std::string first_there(const tree& in, std::initializer_list<const char*> paths) {
  for (const char* path : paths) {
    if (in.has(path)) return path;
  }
  return {};
}

void read_service_manager(const tree& in, host_files& seen) {
  seen.systemd =
      in.has("/run/systemd/system") &&
      !first_there(in, {"/etc/systemd/system/gard.service", "/lib/systemd/system/gard.service",
                        "/usr/lib/systemd/system/gard.service",
                        "/usr/local/lib/systemd/system/gard.service"})
           .empty();
  seen.latency_dropin = first_there(in, {"/usr/share/doc/gard/examples/latency.conf",
                                         "/usr/share/doc/gar/systemd/examples/latency.conf",
                                         "/usr/local/share/doc/gar/systemd/examples/latency.conf"});
  seen.latency_allowed = in.has("/etc/systemd/system/gard.service.d/latency.conf");
}

// ---- gard's process ---------------------------------------------------------------------------

void read_config(const tree& in, const std::string& process, host_files& seen) {
  const auto words = split(in.text(process + "/cmdline").value_or(""), '\0');
  constexpr std::string_view option = "--config";
  for (size_t i = 1; i < words.size(); ++i) {
    if (words[i] == option && i + 1 < words.size()) seen.config_file = words[i + 1];
    if (words[i].starts_with("--config=")) seen.config_file = words[i].substr(option.size() + 1);
  }
  std::error_code unknown;
  const fs::path directory = fs::read_symlink(in.at(process + "/cwd"), unknown);
  if (!unknown) seen.config_file = directory / seen.config_file;  // an absolute one stays
}

// The executor's thread has a name of its own; naive's workers have gard's.
void read_run_queue(const tree& in, const std::string& process, host_files& seen) {
  const std::string tasks = process + "/task/";
  run_queue all, executor;
  for (const std::string& task : in.names_in(tasks)) {
    // CPU time, time in line, runs
    const auto words = in.words(tasks + task + "/schedstat");
    if (words.size() != 3) continue;
    const uint64_t waited_ns = number_in<uint64_t>(words[1]).value_or(0);
    const uint64_t runs = number_in<uint64_t>(words[2]).value_or(0);
    all = {all.runs + runs, all.waited + duration{waited_ns}};
    if (in.word(tasks + task + "/comm") == "gard-waits") executor = {runs, {waited_ns}};
  }
  if (all.runs > 0) seen.queued = executor.runs > 0 ? executor : all;
}

void read_gard(const tree& in, const host_files_options& options, host_files& seen) {
  const std::string pid = options.gard ? std::to_string(*options.gard) : "";
  // Its number is of its own namespace: here it may be somebody else's.
  seen.gard_process = !pid.empty() && in.word("/proc/" + pid + "/comm") == "gard";
  if (seen.gard_process) {
    read_config(in, "/proc/" + pid, seen);
    read_run_queue(in, "/proc/" + pid, seen);
  }
  seen.quota = cpu_quota_of(seen.gard_process ? pid : "self", options.root);
  if (seen.quota) seen.throttling = throttling_by(*seen.quota, options.root);
  seen.config_text = in.text(seen.config_file);
}

}  // namespace

host_files read_host_files(const host_files_options& options) {
  const tree in(options.root);
  host_files seen;
  const host_accounts accounts(options.root);
  read_user(in, accounts, options.sudo_user, seen);
  for (const std::string& path : options.sockets) {
    seen.sockets.push_back(read_socket(in, accounts, path));
  }
  seen.kernel = in.word("/proc/sys/kernel/osrelease");
  seen.io_uring_disabled = number_in<int>(in.word("/proc/sys/kernel/io_uring_disabled"));
  read_cpus(in, seen);
  seen.memlock_limit = read_memlock_limit(in);
  read_gpus(in, seen);
  read_service_manager(in, seen);
  read_gard(in, options, seen);
  return seen;
}

}  // namespace gar
