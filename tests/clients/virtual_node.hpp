// A node of a test's own making, for `garctl doctor`: files below a root, gard's words, what was
// tried. A new one has nothing wrong with it.
//
// Threads: one. Ownership: the files are gone with the object.
#pragma once

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "clients/garctl/answer_fields.hpp"
#include "clients/garctl/findings.hpp"
#include "clients/garctl/node_seen.hpp"
#include "lib/core/error.hpp"
#include "tests/linux/temporary_directory.hpp"

namespace gar {

class virtual_node {
 public:
  static constexpr const char* socket_path = "/run/gard/gard.sock";

  virtual_node() {
    put("/etc/passwd", "root:x:0:0::/root:/bin/sh\nada:x:4242:100::/home/ada:/bin/sh\n");
    put("/etc/group", "root:x:0:\nusers:x:100:\ngard:x:990:grace,ada\n");
    put_user("4242", "100", "100 990");
    put_limit("8388608");
    put("/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    put("/proc/self/cgroup", "0::/user.slice\n");
    put("/proc/77/comm", "gard\n");
    put("/proc/77/cgroup", "0::/system.slice/gard.service\n");
    put("/proc/77/cmdline", std::string("/usr/sbin/gard\0", 15));
    put("/proc/77/task/77/comm", "gard\n");
    put("/proc/77/task/77/schedstat", "9000 9000000000 9\n");
    put("/proc/77/task/78/comm", "gard-waits\n");
    put_in_line(1'000'000, 1'000);
    put("/proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
    put("/proc/sys/kernel/io_uring_disabled", "0\n");
    put("/sys/fs/cgroup/system.slice/gard.service/cpu.max", "max 100000\n");
    put(umwait_file("max_time"), "210000\n");
    put(umwait_file("enable_c02"), "1\n");
    put("/sys/devices/system/cpu/cpufreq/boost", "1\n");
    put_governors("performance", "performance");
    put("/proc/loadavg", "0.42 0.30 0.25 1/123 4567\n");
    put(clock_file("current"), "tsc\n");
    put(clock_file("available"), "tsc hpet acpi_pm \n");
    put("/run/systemd/system/x", "");
    put("/lib/systemd/system/gard.service", "");
    put("/usr/share/doc/gard/examples/latency.conf", "[Service]\n");
    bind_socket(0660);
    say_healthy();
    try_healthy();
  }

  // ---- files ----------------------------------------------------------------------------------

  std::string root() const { return directory_.file("root"); }
  void put(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root() + path;
    std::ofstream out(file, std::ios::binary);
    if (!out) {
      std::filesystem::create_directories(file.parent_path());
      out.open(file, std::ios::binary);
    }
    out << text;
  }
  void take(const std::string& path) { std::filesystem::remove_all(root() + path); }

  static std::string umwait_file(const std::string& name) {
    return "/sys/devices/system/cpu/umwait_control/" + name;
  }
  static std::string clock_file(const std::string& which) {
    return "/sys/devices/system/clocksource/clocksource0/" + which + "_clocksource";
  }
  void put_user(const std::string& uid, const std::string& gid, const std::string& groups) {
    const auto four = [](const std::string& id) { return id + '\t' + id + '\t' + id + '\t' + id; };
    put("/proc/self/status", "Name:\tgarctl\nUid:\t" + four(uid) + "\nGid:\t" + four(gid) +
                                 "\nGroups:\t" + groups + " \n");
  }
  void put_limit(const std::string& bytes) {
    put("/proc/self/limits",
        "Limit                     Soft Limit           Hard Limit           Units     \n"
        "Max locked memory         " +
            bytes + "              " + bytes + "              bytes     \n");
  }
  void put_in_line(uint64_t waited_ns, uint64_t runs) {
    put("/proc/77/task/78/schedstat",
        "5000 " + std::to_string(waited_ns) + ' ' + std::to_string(runs) + '\n');
  }
  void put_governors(const std::string& first, const std::string& second) {
    put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", first + '\n');
    put("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", second + '\n');
  }
  void put_quota(const std::string& max, const std::string& stat) {
    put("/sys/fs/cgroup/system.slice/cpu.max", max + '\n');
    if (!stat.empty()) put("/sys/fs/cgroup/system.slice/cpu.stat", stat);
  }
  void put_gpu(const std::string& vendor) {
    put("/sys/bus/pci/devices/0000:01:00.0/class", "0x030200\n");
    put("/sys/bus/pci/devices/0000:01:00.0/vendor", vendor + '\n');
  }
  // The socket's file is its maker's, the user who runs the test.
  void bind_socket(mode_t mode) {
    take(socket_path);
    std::filesystem::create_directories(root() + "/run/gard");
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    const std::string path = root() + socket_path;
    GAR_ASSERT(path.size() < sizeof(at.sun_path));
    std::memcpy(at.sun_path, path.c_str(), path.size() + 1);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    GAR_ASSERT(::bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof(at)) == 0);
    ::close(fd);
    GAR_ASSERT(::chmod(path.c_str(), mode) == 0);
  }
  // The user who asks and the socket's owner become one, who is not root.
  void own_socket() {
    if (::getuid() == 0) {
      GAR_ASSERT(::chown((root() + socket_path).c_str(), 4242, 100) == 0);
    } else {
      put_user(std::to_string(::getuid()), "100", "100");
    }
  }

  // ---- gard -----------------------------------------------------------------------------------

  // A field of gard's status; "a.b.c" is one within others.
  void say(const std::string& path, boost::json::value value) {
    if (boost::json::value* at = said(path)) *at = std::move(value);
  }
  // As a gard of another version, which does not say it.
  void keep_silent(const std::string& path) {
    const size_t dot = path.rfind('.');
    boost::json::value* holder =
        dot == std::string::npos ? &seen.gard.status : said(path.substr(0, dot));
    holder->get_object().erase(path.substr(dot == std::string::npos ? 0 : dot + 1));
  }
  void absent(capability which, const std::string& why) {
    for (boost::json::value& each : seen.gard.status.at("capabilities").get_array()) {
      if (each.at("name").get_string() != name_of(which)) continue;
      each = {{"name", name_of(which)}, {"available", false}, {"why", why}};
    }
  }
  void no_gard(const std::string& why = "No such file or directory") {
    seen.gard = {};
    seen.gard.tried = {{"/run/gard-control/control.sock", why}, {socket_path, why}};
    seen.gard.clients_tried = {{socket_path, why}};
    take("/run/gard");
  }

  // ---- what comes of it -----------------------------------------------------------------------

  node_seen read() const {
    node_seen all = seen;
    all.files = read_host_files({.root = root(),
                                 .gard = count_field(seen.gard.status, "pid"),
                                 .sudo_user = sudo_user,
                                 .sockets = {socket_path}});
    return all;
  }
  finding judged(std::string_view id) const {
    for (finding& each : judge(read())) {
      if (each.id == id) return each;
    }
    return {.what = "there is no such finding"};
  }

  node_seen seen;  // but for the files
  std::string sudo_user;

 private:
  boost::json::value* said(const std::string& path) {
    return const_cast<boost::json::value*>(field_at(seen.gard.status, path));
  }

  void say_healthy() {
    seen.gard.what = gard_seen::answer::answered;
    seen.gard.answers_clients = true;
    seen.gard.status = boost::json::parse(
        R"({"version":"1.2.3","pid":77,"uptime_ms":60000,)"
        R"("executor":{"requested":"gpu-reactor","running":"gpu-reactor","warning":null},)"
        R"("word_wait":{"kind":"umwait","hardware":true,"why":"parked for 30 us"},)"
        R"("margin_floor_us":60,"latency":{"cpu_dma_latency":{"requested":false,"held":false,)"
        R"("changes":0,"refused":null},"thread":{"cpu":null,"scheduling":"other",)"
        R"("timer_slack_ns":1,"warnings":[]}},"waits":{"completed":1000,"lost_store":0},)"
        R"("kinds":{"blocked":0,"immediate":10,"late":1,"parked":989},"process":{"cpu_ms":50}})");
    boost::json::object& status = seen.gard.status.get_object();
    status["plan"] = {{"requested", plan_as_shipped}, {"running", plan_as_shipped}};
    boost::json::array capabilities;
    for (size_t i = 0; i < capability_count; ++i) {
      capabilities.push_back({{"name", name_of(static_cast<capability>(i))},
                              {"available", true},
                              {"why", "it was tried"}});
    }
    status["capabilities"] = std::move(capabilities);
  }

  void try_healthy() {
    seen.own = capabilities::all_available();
    seen.word_wait = {word_wait_kind::umwait, true, "parked for 30 us"};
    seen.drivers = {{"cuda", false, "no libcuda.so.1", ""},
                    {"hip", false, "no libamdhip64.so.6", ""},
                    {"vulkan", true, "", "llvmpipe"},
                    {"sim", true, "", ""}};
    seen.pin_bytes = 17 * 4096;
    seen.tsc_khz = 2'000'000;
    seen.timing = {.slack_ns = 50'000,
                   .sleep_late = from_us(85),
                   .sleep_late_exact = from_us(34),
                   .sleep_late_held = from_us(8),
                   .wake = from_us(5),
                   .wake_held = from_us(4),
                   .why_not_held = "",
                   .work_warm = from_us(20),
                   .work_after_sleep = from_us(21),
                   .clock_reading = {25}};
  }

  temporary_directory directory_;
};

}  // namespace gar
