// Each finding of `garctl doctor` with each of its verdicts, on nodes made up for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "clients/garctl/findings.hpp"
#include "clients/garctl/host_accounts.hpp"
#include "tests/clients/virtual_node.hpp"

namespace gar {
namespace {

using testing::HasSubstr;
using testing::Not;
using enum verdict;

using change = void (*)(virtual_node&);

struct node_case {
  const char* id;
  verdict expected;
  change make;       // what is done to a node with nothing wrong
  const char* said;  // a part of what is said, measured or to be done
};

void nothing(virtual_node&) {}
void without_gard(virtual_node& n) {
  n.no_gard();
}
void user_alone(virtual_node& n) {
  n.put_user("4242", "100", "100");
}
void software(virtual_node& n) {
  n.say("word_wait", {{"kind", "software"}, {"hardware", false}, {"why", "no umwait"}});
}
void nvidia(virtual_node& n) {
  n.put_gpu("0x10de");
}

const node_case cases[] = {
    {"gard", good, nothing, "gard 1.2.3 answers: pid 77, up 1 min 0 s"},
    {"gard", broken, without_gard, "systemctl start gard"},
    {"gard", broken,
     [](virtual_node& n) {
       n.no_gard();
       n.seen.gard.what = gard_seen::answer::silent;
     },
     "systemctl restart gard"},
    {"gard", broken,
     [](virtual_node& n) {
       n.no_gard();
       n.take("/run/systemd");
     },
     "gard &"},
    {"gard", unknown, [](virtual_node& n) { n.no_gard("Permission denied"); },
     "sudo garctl doctor"},
    {"gard", unknown,
     [](virtual_node& n) {
       n.no_gard();
       n.seen.gard.what = gard_seen::answer::refused;
       n.seen.gard.refused = "LimitClients: too many";
     },
     "LimitClients"},

    {"sockets", good, nothing, "is open to the group"},
    {"sockets", costs, [](virtual_node& n) { n.bind_socket(0600); },
     "sudo chgrp gard /run/gard/gard.sock && sudo chmod"},
    {"sockets", costs,
     [](virtual_node& n) {
       n.bind_socket(0600);
       n.put("/etc/group", "root:x:0:\n");
     },
     "sudo groupadd -f --system gard && sudo chgrp gard"},
    {"sockets", broken,
     [](virtual_node& n) {
       n.take(virtual_node::socket_path);
       n.put(virtual_node::socket_path, "");
     },
     "sudo rm /run/gard/gard.sock && sudo systemctl restart gard"},
    {"sockets", broken,
     [](virtual_node& n) {
       n.seen.gard.answers_clients = false;
       n.seen.gard.clients_tried = {{virtual_node::socket_path, "Connection refused"}};
     },
     "sudo systemctl stop gard.socket gard && sudo systemctl start gard"},
    {"sockets", unknown, without_gard, "no socket"},

    {"groups", good, nothing, "ada is in the group gard"},
    {"groups", good, [](virtual_node& n) { n.put_user("0", "0", ""); }, "root needs no group"},
    {"groups", costs, user_alone, "newgrp gard"},
    {"groups", costs,
     [](virtual_node& n) {
       user_alone(n);
       n.put("/etc/group", "gard:x:990:grace\n");
     },
     "sudo usermod -aG gard ada"},
    {"groups", costs,
     [](virtual_node& n) {
       n.put_user("0", "0", "");
       n.sudo_user = "ada";
       n.put("/etc/group", "gard:x:990:\n");
     },
     "usermod -aG gard ada"},
    {"groups", costs,
     [](virtual_node& n) {
       user_alone(n);
       n.put("/etc/group", "users:x:100:\n");
     },
     "groupadd -f --system gard"},
    {"groups", unknown, [](virtual_node& n) { n.take("/etc/group"); }, "/etc/group"},
    {"groups", good, [](virtual_node& n) { n.put_user("1234", "100", "100 990"); },
     "uid 1234 is in the group gard"},
    {"groups", unknown,
     [](virtual_node& n) {
       n.put_user("0", "0", "");
       n.sudo_user = "nobody_here";
     },
     "ask without it"},

    {"executor", good, nothing, "gpu-reactor runs"},
    {"executor", broken,
     [](virtual_node& n) {
       n.say("executor.requested", "io-uring");
       n.say("executor.warning", {{"code", 3}, {"text", "io-uring cannot run here"}});
     },
     "kind = \"gpu-reactor\""},
    {"executor", unknown, without_gard, "no gard answers"},

    {"plan", good, nothing, "flag:park_us=100"},
    {"plan", broken, [](virtual_node& n) { n.say("plan.running", "poll"); },
     "software_word_wait = true"},
    {"plan", unknown, without_gard, "no gard answers"},
    {"plan", unknown, [](virtual_node& n) { n.keep_silent("plan.running"); }, "does not say"},

    {"late-waits", good, nothing, "1 of 990 waits slept too long (0 %)"},
    {"late-waits", costs, [](virtual_node& n) { n.say("kinds.late", 400); },
     "sudo garctl plan set "
     "'flag:park_us=100,backstop_us=10000+predict:margin_us=410,min_sleep_us="},
    {"late-waits", unknown, [](virtual_node& n) { n.say("kinds.parked", 5); },
     "6 waits have parked or slept so far"},
    {"late-waits", unknown, without_gard, "no gard answers"},

    {"lost-stores", good, nothing, "0 of 1000 waits"},
    {"lost-stores", costs, [](virtual_node& n) { n.say("waits.lost_store", 3); },
     "backstop_us=1000+predict"},
    {"lost-stores", unknown, [](virtual_node& n) { n.say("waits.completed", 0); }, "no wait"},
    {"lost-stores", unknown, without_gard, "no gard answers"},

    {"word-wait", good, nothing, "umwait: parked for 30 us"},
    {"word-wait", costs, software, "gard took 50.0 us of CPU for each of 1000 waits"},
    {"word-wait", costs,
     [](virtual_node& n) {
       n.say("word_wait", {{"kind", "none"}, {"hardware", false}});
     },
     "software_word_wait = true"},
    {"word-wait", unknown, [](virtual_node& n) { n.keep_silent("word_wait"); }, "does not say"},

    {"umwait-limit", good, nothing, "210000 ticks are 105 us at the 2000 MHz"},
    {"umwait-limit", good, software, "not in use"},
    {"umwait-limit", good,
     [](virtual_node& n) { n.put(virtual_node::umwait_file("max_time"), "0\n"); }, "limits no"},
    {"umwait-limit", costs,
     [](virtual_node& n) { n.put(virtual_node::umwait_file("max_time"), "100000\n"); },
     "echo 200008 | sudo tee /sys/devices/system/cpu/umwait_control/max_time"},
    {"umwait-limit", unknown,
     [](virtual_node& n) { n.take(virtual_node::umwait_file("max_time")); }, "cannot be read"},
    {"umwait-limit", unknown, [](virtual_node& n) { n.seen.tsc_khz = 0; }, "cannot be read"},

    {"sleep-overshoot", good, nothing, "a sleep of 1 ms ends 34.0 us late; gard measured 60.0 us"},
    {"sleep-overshoot", good, without_gard, "ends 34.0 us late"},
    {"sleep-overshoot", good,
     [](virtual_node& n) {
       n.say("plan.running", "poll");
       n.say("margin_floor_us", 900);
     },
     "predicts nothing"},
    {"sleep-overshoot", costs, [](virtual_node& n) { n.say("margin_floor_us", 500); },
     "looks 300 us longer"},
    {"sleep-overshoot", costs, [](virtual_node& n) { n.say("margin_floor_us", 500); },
     "cpu_dma_latency = true"},
    {"sleep-overshoot", costs,
     [](virtual_node& n) {
       n.say("margin_floor_us", 500);
       n.seen.timing.sleep_late_held = from_us(30);
     },
     "30.0 us with CPUs kept awake\n"},
    {"sleep-overshoot", unknown, [](virtual_node& n) { n.keep_silent("margin_floor_us"); },
     "does not say"},

    {"timer-slack", good, nothing, "ends 85.0 us late with 50.0 us of slack, 34.0 us with 1 ns"},
    {"timer-slack", good, without_gard, "may set theirs"},
    {"timer-slack", good, [](virtual_node& n) { n.say("latency.thread.timer_slack_ns", 0); },
     "real-time"},
    {"timer-slack", costs, [](virtual_node& n) { n.say("latency.thread.timer_slack_ns", 50'000); },
     "/proc/77/task/*; do echo 1 >"},
    {"timer-slack", costs,
     [](virtual_node& n) {
       n.no_gard();
       n.seen.own.set_absent(capability::timer_slack, "prctl: not permitted");
     },
     "prctl: not permitted"},
    {"timer-slack", unknown,
     [](virtual_node& n) { n.say("latency.thread.timer_slack_ns", nullptr); }, "has said yet"},

    {"cpu-sleep", good, nothing, "runs 5.00 us after its wake, 4.00 us where CPUs are kept awake"},
    {"cpu-sleep", good,
     [](virtual_node& n) {
       n.say("latency.cpu_dma_latency.requested", true);
       n.seen.timing.wake = from_us(60);
     },
     "gard keeps CPUs awake"},
    {"cpu-sleep", costs, [](virtual_node& n) { n.seen.timing.wake = from_us(60); },
     "install -D -m 644 /usr/share/doc/gard/examples/latency.conf"},
    {"cpu-sleep", broken,
     [](virtual_node& n) {
       n.say("latency.cpu_dma_latency.requested", true);
       n.say("latency.cpu_dma_latency.refused", "open: Permission denied");
     },
     "systemctl daemon-reload && sudo systemctl restart gard"},
    {"cpu-sleep", unknown,
     [](virtual_node& n) {
       n.seen.timing.wake_held.reset();
       n.seen.timing.why_not_held = "open of /dev/cpu_dma_latency: Permission denied";
     },
     "sudo garctl doctor"},

    {"cpu-sleep", unknown,
     [](virtual_node& n) {
       n.seen.timing.wake = from_us(60);
       n.put("/proc/loadavg", "1.20 1.00 1.00 3/123 4567\n");
     },
     "less to do"},

    {"governor", good, nothing, "work of 20.0 us takes 21.0 us just after a sleep"},
    {"governor", good, [](virtual_node& n) { n.put_governors("schedutil", "schedutil"); },
     "the governor is schedutil"},
    {"governor", good, [](virtual_node& n) { n.take("/sys/devices/system/cpu"); }, "does not set"},
    {"governor", costs,
     [](virtual_node& n) {
       n.put_governors("performance", "powersave");
       n.seen.timing.work_after_sleep = from_us(40);
     },
     "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"},
    {"governor", unknown,
     [](virtual_node& n) {
       n.take("/sys/devices/system/cpu");
       n.seen.timing.work_after_sleep = from_us(40);
     },
     "lets them slow down"},

    {"governor", unknown,
     [](virtual_node& n) {
       n.put_governors("powersave", "powersave");
       n.seen.timing.work_after_sleep = from_us(40);
       n.put("/proc/loadavg", "2.00 1.00 1.00 3/123 4567\n");
     },
     "less to do"},

    {"clock", good, nothing, "a reading takes 25 ns"},
    {"clock", costs,
     [](virtual_node& n) {
       n.put(virtual_node::clock_file("current"), "hpet\n");
       n.seen.timing.clock_reading = {1200};
     },
     "echo tsc | sudo tee"},

    {"scheduling", good, nothing, "in line for 1.00 us each of the 1000 times"},
    {"scheduling", costs, [](virtual_node& n) { n.put_in_line(100'000'000, 1000); },
     "scheduling = \"fifo:10\""},
    {"scheduling", broken,
     [](virtual_node& n) {
       n.say("latency.thread.warnings",
             boost::json::array{{{"code", 38}, {"text", "SCHED_FIFO priority 10: not permitted"}}});
     },
     "SCHED_FIFO priority 10"},
    {"scheduling", unknown, [](virtual_node& n) { n.take("/proc/77"); }, "not known yet"},
    {"scheduling", unknown, without_gard, "no gard answers"},

    {"cpu-quota", good, nothing, "none is set for gard"},
    {"cpu-quota", good,
     [](virtual_node& n) { n.put_quota("50000 100000", "nr_throttled 0\nthrottled_usec 0\n"); },
     "stopped its cgroup 0 times"},
    {"cpu-quota", costs,
     [](virtual_node& n) {
       n.put_quota("50000 100000", "nr_throttled 84\nthrottled_usec 12500\n");
     },
     "84 times, for 12.5 ms in all"},
    {"cpu-quota", unknown, [](virtual_node& n) { n.put_quota("50000 100000", ""); },
     "sudo systemctl set-property system.slice CPUQuota="},
    {"cpu-quota", unknown,
     [](virtual_node& n) { n.absent(capability::cpu_quota, "/sys/x stops this process"); },
     "/sys/x stops this process"},

    {"io-uring", good, nothing, "it works"},
    {"io-uring", good,
     [](virtual_node& n) { n.absent(capability::io_uring, "a seccomp filter refuses it"); },
     "does not need it"},
    {"io-uring", broken,
     [](virtual_node& n) {
       n.absent(capability::io_uring, "the sysctl is 2");
       n.say("executor.requested", "io-uring");
       n.put("/proc/sys/kernel/io_uring_disabled", "2\n");
     },
     "sudo sysctl -w kernel.io_uring_disabled=0 && sudo systemctl restart gard"},
    {"io-uring", unknown, [](virtual_node& n) { n.keep_silent("capabilities"); }, "does not say"},

    {"memlock", good, nothing, "68 KiB were pinned"},
    {"memlock", broken,
     [](virtual_node& n) {
       n.put_limit("4096");
       n.seen.pin_refused = "mlock: Cannot allocate memory";
     },
     "echo 'ada - memlock 544' | sudo tee -a /etc/security/limits.d/gard.conf"},
    {"memlock", unknown, [](virtual_node& n) { n.take("/proc/self/limits"); }, "cannot be read"},
    {"memlock", unknown,
     [](virtual_node& n) {
       n.put_user("0", "0", "");
       n.sudo_user = "ada";
     },
     "the programs of ada: ask without sudo"},

    {"kernel", good, nothing, "Linux 6.1.0-18-amd64"},
    {"kernel", good,
     [](virtual_node& n) { n.put("/proc/sys/kernel/osrelease", "5.10.0-28-amd64\n"); },
     "need 5.19"},
    {"kernel", broken, [](virtual_node& n) { n.put("/proc/sys/kernel/osrelease", "4.19.0\n"); },
     "gard needs 5.1"},
    {"kernel", unknown, [](virtual_node& n) { n.take("/proc/sys/kernel/osrelease"); },
     "cannot be read"},

    {"drivers", good, nothing, "vulkan (llvmpipe)"},
    {"drivers", good,
     [](virtual_node& n) {
       nvidia(n);
       n.seen.drivers[0] = {"cuda", true, "", "1 device"};
     },
     "cuda (1 device), vulkan (llvmpipe)"},
    {"drivers", broken, nvidia, "sudo modprobe nvidia"},
    {"drivers", broken, [](virtual_node& n) { n.put_gpu("0x1002"); }, "no libamdhip64.so.6"},
    {"drivers", unknown, [](virtual_node& n) { n.seen.drivers[2].available = false; }, "no GPU"},

    {"nvidia-memops", good, nothing, "no module"},
    {"nvidia-memops", good,
     [](virtual_node& n) { n.put("/proc/driver/nvidia/params", "EnableStreamMemOPs: 1\n"); },
     "lets streams store"},
    {"nvidia-memops", good,
     [](virtual_node& n) { n.put("/proc/driver/nvidia/params", "RmLogonRC: 1\n"); },
     "lets streams store"},
    {"nvidia-memops", costs,
     [](virtual_node& n) {
       n.put("/proc/driver/nvidia/params", "RmLogonRC: 1\nEnableStreamMemOPs: 0\n");
     },
     "echo options nvidia NVreg_EnableStreamMemOPs=1 | sudo tee /etc/modprobe.d/gard.conf"},
};

std::string all_said(const finding& f) {
  return f.what + '\n' + f.measured + '\n' + f.remedy;
}

const finding& named(const std::vector<finding>& all, std::string_view id) {
  for (const finding& each : all) {
    if (each.id == id) return each;
  }
  static const finding none{.what = "there is no such finding"};
  return none;
}

// What is measured is numbers, and none of them stands in a text without its figure.
void expect_figures(const std::vector<finding>& all) {
  for (const finding& each : all) {
    EXPECT_EQ(each.measured.empty(), each.figures.empty()) << each.id << ": " << each.measured;
    EXPECT_FALSE(each.what.empty()) << each.id;
  }
}

void expect_no_sudo(const std::vector<finding>& all) {
  for (const finding& each : all) {
    if (each.remedy == "sudo garctl doctor") continue;  // for who is not root
    EXPECT_THAT(each.remedy, Not(HasSubstr("sudo "))) << each.id;
  }
}

TEST(findings, each_node_is_judged_as_it_was_made) {
  for (const node_case& each : cases) {
    SCOPED_TRACE(std::string(each.id) + " " + std::string(name_of(each.expected)) + " " +
                 each.said);
    virtual_node node;
    each.make(node);
    const std::vector<finding> all = judge(node.read());
    const finding& found = named(all, each.id);
    EXPECT_EQ(name_of(found.is), name_of(each.expected)) << all_said(found);
    EXPECT_THAT(all_said(found), HasSubstr(each.said));
    expect_figures(all);
    node.put_user("0", "0", "");
    expect_no_sudo(judge(node.read()));
  }
}

TEST(findings, each_verdict_of_each_rule_has_a_node_above) {
  std::set<std::pair<std::string, std::string_view>> tried, promised;
  for (const node_case& each : cases) tried.emplace(each.id, name_of(each.expected));
  for (const finding_rule& rule : finding_rules()) {
    for (const verdict v : rule.verdicts) promised.emplace(rule.id, name_of(v));
  }
  EXPECT_EQ(tried, promised);
}

TEST(findings, nothing_is_wrong_with_a_node_that_has_nothing_wrong) {
  for (const finding& each : judge(virtual_node().read())) {
    EXPECT_EQ(name_of(each.is), "good") << each.id << ": " << all_said(each);
    EXPECT_EQ(each.remedy, "") << each.id;
  }
}

TEST(findings, there_is_one_for_each_capability) {
  std::set<std::string_view> ids;
  for (const finding_rule& rule : finding_rules())
    EXPECT_TRUE(ids.insert(rule.id).second) << rule.id;
  for (size_t i = 0; i < capability_count; ++i) {
    EXPECT_TRUE(ids.contains(name_of(static_cast<capability>(i))));
  }
}

TEST(findings, nothing_is_claimed_of_gard_where_none_answers) {
  virtual_node node;
  node.no_gard();
  for (const char* id : {"executor", "plan", "late-waits", "lost-stores", "scheduling"}) {
    EXPECT_EQ(node.judged(id).is, unknown) << id;
    EXPECT_EQ(node.judged(id).what, "no gard answers");
  }
}

// Every field of another version's status may be missing or of another type.
TEST(findings, a_status_of_another_version_is_judged_as_far_as_it_goes) {
  for (const char* status : {"{}", "[]", "7",
                             R"({"executor":[],"latency":{"thread":7},"waits":-1,)"
                             R"("capabilities":[3],"plan":{"running":"bloc"}})"}) {
    virtual_node node;
    node.seen.gard.status = boost::json::parse(status);
    EXPECT_EQ(judge(node.read()).size(), finding_rules().size());
    EXPECT_EQ(node.judged("plan").is, unknown);
  }
}

TEST(findings, a_pid_that_is_somebody_elses_here_is_not_taken_for_gards) {
  virtual_node node;
  node.put("/proc/77/comm", "bash\n");
  node.put("/proc/77/cgroup", "0::/system.slice\n");
  node.put_quota("1000 100000", "nr_throttled 5\nthrottled_usec 5\n");
  EXPECT_EQ(node.judged("cpu-quota").what, "none is set for garctl");
  EXPECT_EQ(node.judged("scheduling").is, unknown);
}

TEST(findings, a_quota_of_the_first_cgroups_is_read_too) {
  virtual_node node;
  node.put("/proc/self/mountinfo", "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n");
  node.put("/proc/77/cgroup", "4:cpu,cpuacct:/box\n");
  node.put("/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "20000\n");
  node.put("/sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
  node.put("/sys/fs/cgroup/cpu/box/cpu.stat",
           "nr_periods 9\nnr_throttled 2\nthrottled_time 3000000\n");
  const finding found = node.judged("cpu-quota");
  EXPECT_EQ(found.is, costs);
  EXPECT_EQ(found.measured, "it stopped its cgroup 2 times, for 3.00 ms in all");
  EXPECT_EQ(found.remedy, "echo -1 | sudo tee /sys/fs/cgroup/cpu/box/cpu.cfs_quota_us");
}

TEST(findings, a_user_with_a_gard_of_his_own_needs_neither_group_nor_root) {
  virtual_node node;
  user_alone(node);
  node.bind_socket(0600);
  node.own_socket();
  node.say("kinds.late", 400);
  EXPECT_EQ(node.judged("sockets").is, good);
  EXPECT_EQ(node.judged("groups").is, good);
  EXPECT_THAT(node.judged("late-waits").remedy, testing::StartsWith("garctl plan set"));
}

// Made up, since nothing is hidden from root, who may run the test.
TEST(findings, a_socket_that_may_not_be_looked_at_is_not_said_to_be_missing) {
  virtual_node node;
  node.no_gard("Permission denied");
  node_seen seen = node.read();
  for (socket_file& each : seen.files.sockets) each.hidden = true;
  EXPECT_EQ(named(judge(seen), "sockets").what, "this user may not look at /run/gard/gard.sock");
}

TEST(findings, no_command_names_a_user_who_has_no_name_here) {
  virtual_node node;
  node.put_user("1234", "100", "100");
  node.seen.pin_refused = "mlock: Cannot allocate memory";
  EXPECT_EQ(node.judged("groups").is, costs);
  EXPECT_EQ(node.judged("groups").remedy, "");
  EXPECT_EQ(node.judged("memlock").is, broken);
  EXPECT_EQ(node.judged("memlock").remedy, "");
}

// The one user and group that every host has, asked of its name service.
TEST(host_accounts, the_hosts_own_are_asked_of_its_name_service) {
  const host_accounts accounts("");
  const auto root = accounts.user(0);
  const auto of = accounts.group(0);
  ASSERT_TRUE(root && of);
  EXPECT_EQ(accounts.user(root->name)->uid, 0U);
  EXPECT_EQ(accounts.group(of->name)->gid, 0U);
  EXPECT_TRUE(accounts.is_member(*root, *of));
  EXPECT_FALSE(accounts.user("no user has such a name"));
}

TEST(findings, a_command_goes_to_the_socket_that_was_named) {
  virtual_node node;
  node.seen.gard.control = "/srv/my gard/control.sock";
  node.say("kinds.late", 400);
  EXPECT_THAT(node.judged("late-waits").remedy,
              HasSubstr("garctl --control '/srv/my gard/control.sock' plan set"));
}

}  // namespace
}  // namespace gar
