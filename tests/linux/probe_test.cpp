#include "lib/linux/probe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "lib/linux/deadline_ring.hpp"
#include "tests/linux/temporary_directory.hpp"

namespace gar {
namespace {

using testing::HasSubstr;

constexpr capability every_capability[] = {capability::word_wait, capability::io_uring,
                                           capability::timer_slack, capability::cpu_quota,
                                           capability::memlock};

TEST(probe, says_of_everything_what_was_seen) {
  const host_probe probed = probe_host();
  for (capability c : every_capability) {
    const capability_state& state = probed.capabilities[c];
    EXPECT_FALSE(state.why.empty());
    EXPECT_NE(state.why, "not probed");
    std::printf("%s: %s, %s\n", std::string(name_of(c)).c_str(),
                state.available ? "available" : "absent", state.why.c_str());
  }
  EXPECT_TRUE(probed.capabilities[capability::word_wait].available);
  EXPECT_EQ(probed.capabilities[capability::io_uring].available, deadline_ring::make().has_value());
}

TEST(probe, leaves_the_timer_slack_as_it_was) {
  const uint64_t before_ns = timer_slack_ns().value();
  probe_host();
  EXPECT_EQ(timer_slack_ns().value(), before_ns);
}

TEST(probe, says_none_where_no_word_wait_may_run) {
  const host_probe probed = probe_host({.software_word_wait = false, .software = {}});
  const word_wait_report& seen = probed.word_wait.report;
  EXPECT_EQ(seen.kind == word_wait_kind::none, !seen.hardware);
  EXPECT_EQ(probed.capabilities[capability::word_wait].available, seen.hardware);
  EXPECT_NE(probe_host().word_wait.report.kind, word_wait_kind::none);
}

TEST(probe, the_software_wait_counts_where_it_is_allowed) {
  const word_wait_report software{word_wait_kind::software, false, "no such instructions"};
  EXPECT_EQ(judge_word_wait(software, true).why, "software: no such instructions");
  EXPECT_TRUE(judge_word_wait(software, true).available);
  EXPECT_FALSE(judge_word_wait(software, false).available);
  EXPECT_THAT(judge_word_wait(software, false).why, HasSubstr("software_word_wait is off"));
  const word_wait_report hardware{word_wait_kind::umwait, true, "it parked"};
  EXPECT_TRUE(judge_word_wait(hardware, false).available);
}

TEST(probe, names_what_keeps_io_uring_away) {
  EXPECT_THAT(why_no_io_uring(EPERM, 2), HasSubstr("io_uring_disabled is 2"));
  EXPECT_THAT(why_no_io_uring(EPERM, 1), HasSubstr("io_uring_group"));
  EXPECT_THAT(why_no_io_uring(EPERM, 0), HasSubstr("seccomp"));
  EXPECT_THAT(why_no_io_uring(EPERM, std::nullopt), HasSubstr("seccomp"));
  EXPECT_THAT(why_no_io_uring(ENOSYS, std::nullopt), HasSubstr("without io_uring"));
  EXPECT_THAT(why_no_io_uring(ENOMEM, 0), HasSubstr("RLIMIT_MEMLOCK"));
  EXPECT_THAT(why_no_io_uring(EMFILE, 0), HasSubstr("RLIMIT_NOFILE"));
  EXPECT_THAT(why_no_io_uring(EFAULT, 0), HasSubstr("Bad address"));
}

TEST(probe, a_memlock_limit_counts_against_what_a_client_pins) {
  EXPECT_TRUE(judge_memlock(std::nullopt, 4096).available);
  EXPECT_TRUE(judge_memlock(4096, 4096).available);
  const capability_state low = judge_memlock(4096, 8192);
  EXPECT_FALSE(low.available);
  EXPECT_THAT(low.why, HasSubstr("4 KiB and a client may pin 8 KiB"));
}

TEST(probe, a_quota_is_named_with_its_file_and_numbers) {
  EXPECT_TRUE(judge_cpu_quota(std::nullopt).available);
  const capability_state limited = judge_cpu_quota(cpu_quota{50'000, 100'000, "/a/cpu.max"});
  EXPECT_FALSE(limited.available);
  EXPECT_THAT(limited.why, HasSubstr("/a/cpu.max"));
  EXPECT_THAT(limited.why, HasSubstr("50000 us"));
}

TEST(cpu_quota, the_cgroups_of_both_versions_are_found) {
  const auto found = find_cpu_cgroups(
      "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
      "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
      "34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n"
      "41 31 0:38 /box /sys/fs/cgroup/unified rw shared:9 - cgroup2 cgroup2 rw\n"
      "not a mount\n",
      "2:cpuset:/other\n"
      "1:cpu,cpuacct:/a/b\n"
      "0::/box/inner\n");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].directory, "/sys/fs/cgroup/cpu/a/b");
  EXPECT_EQ(found[0].top, "/sys/fs/cgroup/cpu");
  EXPECT_EQ(found[1].version, cgroup_version::v2);
  EXPECT_EQ(found[1].directory, "/sys/fs/cgroup/unified/inner");
}

class quota_tree : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    const std::string path = directory.file(name);
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
  }
  std::optional<cpu_quota> quota(cgroup_version version, const std::string& of) {
    return tightest_quota({version, directory.file(of), directory.file("top")});
  }
  temporary_directory directory;
};

TEST_F(quota_tree, the_tightest_on_the_way_up_counts) {
  write("top/cpu.max", "150000 100000\n");
  write("top/a/cpu.max", "20000 40000\n");
  write("top/a/b/cpu.max", "max 100000\n");
  write("cpu.max", "1 100000\n");  // above the top: not this process's
  const auto found = quota(cgroup_version::v2, "top/a/b");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->allowed_us, 20'000u);
  EXPECT_EQ(found->period_us, 40'000u);
  EXPECT_EQ(found->file, directory.file("top/a/cpu.max"));
}

TEST_F(quota_tree, none_is_none) {
  write("top/cpu.max", "max 100000\n");
  EXPECT_FALSE(quota(cgroup_version::v2, "top"));
  EXPECT_FALSE(quota(cgroup_version::v2, "top/gone"));
}

TEST_F(quota_tree, the_older_version_has_two_files) {
  write("top/a/cpu.cfs_quota_us", "-1\n");
  write("top/a/cpu.cfs_period_us", "100000\n");
  EXPECT_FALSE(quota(cgroup_version::v1, "top/a"));
  write("top/cpu.cfs_quota_us", "250000\n");
  write("top/cpu.cfs_period_us", "100000\n");
  const auto found = quota(cgroup_version::v1, "top/a");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->allowed_us, 250'000u);
}

TEST_F(quota_tree, what_is_no_quota_is_passed_over) {
  for (const char* text : {"", "max", "x 100000", "5 0", "5 100000 7", "-5 100000"}) {
    write("top/cpu.max", text);
    EXPECT_FALSE(quota(cgroup_version::v2, "top")) << text;
  }
}

}  // namespace
}  // namespace gar
