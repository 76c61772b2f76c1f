// Commands that `garctl doctor` gives: each is run by a shell here, on files of the test's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "clients/garctl/remedy.hpp"
#include "tests/linux/temporary_directory.hpp"

namespace gar {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class remedy : public testing::Test {
 protected:
  // Root's, so that nothing is asked for a password; the file is the test's own.
  host_files on(std::optional<std::string> config) {
    host_files files;
    files.config_file = directory_.file("a folder/gard.toml");
    files.config_text = config;
    if (config) {
      EXPECT_EQ(std::system(("mkdir -p " + shell_word(directory_.file("a folder"))).c_str()), 0);
      std::ofstream(files.config_file) << *config;
    }
    return files;
  }
  std::string configured(std::optional<std::string> config, std::string_view section,
                         std::string_view key, std::string_view value) {
    const host_files files = on(config);
    const std::string command = configure(files, section, key, value);
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    return text_of(files.config_file);
  }

  temporary_directory directory_;
};

TEST_F(remedy, a_key_of_the_file_as_shipped_is_set_where_it_stands) {
  const std::string shipped = text_of(GAR_SHIPPED_CONFIG);
  ASSERT_THAT(shipped, HasSubstr("\n[latency]\n"));
  const std::string set = configured(shipped, "latency", "cpu_dma_latency", "true");
  EXPECT_THAT(set, HasSubstr("\ncpu_dma_latency = true\n"));
  EXPECT_THAT(set, Not(HasSubstr("\ncpu_dma_latency = false\n")));
  EXPECT_EQ(set.size() + 1, shipped.size());
  EXPECT_THAT(configured(shipped, "executor", "kind", "\"naive\""),
              HasSubstr("\nkind = \"naive\"\n"));
  EXPECT_THAT(configured(shipped, "executor", "software_word_wait", "false"),
              HasSubstr("\nsoftware_word_wait = false\n"));
  EXPECT_THAT(configured(shipped, "latency", "scheduling", "\"fifo:10\""),
              HasSubstr("\nscheduling = \"fifo:10\"\n"));
}

TEST_F(remedy, a_key_of_another_section_is_left_alone) {
  EXPECT_EQ(configured("[other]\nkind = 1\n[executor]\nkind=\"naive\"\n[last]\nkind = 2\n",
                       "executor", "kind", "\"io-uring\""),
            "[other]\nkind = 1\n[executor]\nkind = \"io-uring\"\n[last]\nkind = 2\n");
}

TEST_F(remedy, a_key_that_is_not_set_is_put_into_its_section) {
  EXPECT_EQ(configured("[latency]\n# cpu = 3\n[log]\n", "latency", "cpu", "1"),
            "[latency]\ncpu = 1\n# cpu = 3\n[log]\n");
}

TEST_F(remedy, a_section_that_is_not_there_is_added) {
  EXPECT_EQ(configured("[log]\nlevel = \"info\"\n", "latency", "scheduling", "\"fifo:10\""),
            "[log]\nlevel = \"info\"\n\n[latency]\nscheduling = \"fifo:10\"\n");
}

TEST_F(remedy, a_file_that_is_not_there_is_made) {
  EXPECT_EQ(configured(std::nullopt, "latency", "cpu_dma_latency", "true"),
            "\n[latency]\ncpu_dma_latency = true\n");
}

TEST_F(remedy, whatever_is_quoted_is_one_word_to_a_shell) {
  const std::string file = directory_.file("said");
  for (const std::string text :
       {"plain", "", "two words", "it's", "$(rm x) `y` \\ \"z\"", "a\nb", "*"}) {
    const std::string command = "printf %s " + shell_word(text) + " > " + shell_word(file);
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
    EXPECT_EQ(text_of(file), text);
  }
}

TEST_F(remedy, a_file_of_the_kernels_is_written_as_root_however_one_asks) {
  host_files files;
  EXPECT_EQ(put_into(files, "1", "/sys/x"), "echo 1 | tee /sys/x");
  files.uid = 1000;
  EXPECT_EQ(put_into(files, "1", "/sys/x"), "echo 1 | sudo tee /sys/x");
}

TEST_F(remedy, the_unit_is_allowed_what_latency_asks_for_before_it_is_asked) {
  host_files files = on("[latency]\n");
  files.systemd = true;
  files.latency_dropin = "/usr/share/doc/gard/examples/latency.conf";
  const std::string command = configure_latency(files, "cpu_dma_latency", "true");
  EXPECT_THAT(command,
              testing::StartsWith("install -D -m 644 /usr/share/doc/gard/examples/latency.conf"));
  EXPECT_THAT(command, testing::EndsWith("&& systemctl restart gard"));
  files.latency_allowed = true;
  EXPECT_THAT(configure_latency(files, "cpu_dma_latency", "true"), testing::StartsWith("sed -i"));
}

}  // namespace
}  // namespace gar
