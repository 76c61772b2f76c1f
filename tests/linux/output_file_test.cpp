// A file for a person: whole or not at all, and nothing that it is not is overwritten.
#include "lib/linux/output_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "lib/linux/unique_fd.hpp"
#include "tests/linux/temporary_directory.hpp"

namespace gar {
namespace {

namespace fs = std::filesystem;

class output : public testing::Test {
 protected:
  static std::string read(const std::string& path) {
    std::ostringstream all;
    all << std::ifstream(path).rdbuf();
    return all.str();
  }
  static void write(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
  }
  static void keep(const std::string& path, const std::string& text) {
    const auto file = output_file::make(path);
    ASSERT_TRUE(file) << file.error().text();
    (*file)->text() << text;
    EXPECT_FALSE((*file)->keep());
  }
  size_t files() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(place.file("")), fs::directory_iterator{}));
  }

  temporary_directory place;
  const std::string file = place.file("page");
};

TEST_F(output, is_whole_when_kept_and_not_before) {
  write(file, "before");
  ASSERT_EQ(::chmod(file.c_str(), 0640), 0);
  {
    const auto made = output_file::make(file);
    ASSERT_TRUE(made);
    (*made)->text() << "page";
    EXPECT_FALSE((*made)->failure());
    EXPECT_EQ(read(file), "before");
    EXPECT_FALSE((*made)->keep());
  }
  EXPECT_EQ(read(file), "page");
  EXPECT_EQ(fs::status(file).permissions(), fs::perms(0640));
  EXPECT_EQ(files(), 1u);
}

TEST_F(output, that_is_not_kept_leaves_nothing) {
  {
    const auto made = output_file::make(file);
    ASSERT_TRUE(made);
    (*made)->text() << "half";
    EXPECT_FALSE((*made)->failure());
    EXPECT_EQ(files(), 1u);
  }
  EXPECT_EQ(files(), 0u);
}

TEST_F(output, that_is_new_has_the_mode_of_new_files) {
  const mode_t before = ::umask(027);
  keep(file, "page");
  ::umask(before);
  EXPECT_EQ(fs::status(file).permissions(), fs::perms(0640));
}

TEST_F(output, into_a_pipe_goes_to_its_reader) {
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  const unique_fd reader(::open(file.c_str(), O_RDONLY | O_NONBLOCK));
  keep(file, "page");
  char got[8] = {};
  EXPECT_EQ(::read(reader.get(), got, sizeof(got)), 4);
  EXPECT_STREQ(got, "page");
  EXPECT_TRUE(fs::is_fifo(file));
  EXPECT_EQ(files(), 1u);
}

TEST_F(output, through_a_link_is_what_the_link_leads_to) {
  const std::string target = place.file("target");
  write(target, "before");
  fs::create_symlink("target", file);
  keep(file, "page");
  EXPECT_TRUE(fs::is_symlink(file));
  EXPECT_EQ(read(target), "page");
}

// A name that is easily guessed let whoever may write the directory choose what was overwritten.
TEST_F(output, follows_no_link_that_was_planted_beside_it) {
  const std::string victim = place.file("victim");
  write(victim, "precious");
  fs::create_symlink(victim, file + ".part");
  keep(file, "page");
  EXPECT_EQ(read(victim), "precious");
  EXPECT_FALSE(fs::is_symlink(file));
  EXPECT_EQ(read(file), "page");
}

TEST_F(output, that_cannot_be_is_refused_at_once) {
  EXPECT_EQ(output_file::make(place.file("")).error().os_number(), EISDIR);
  EXPECT_EQ(output_file::make("").error().os_number(), ENOENT);
  EXPECT_EQ(output_file::make(place.file("none/page")).error().os_number(), ENOENT);
}

TEST_F(output, that_is_full_says_so_while_it_is_written) {
  const auto made = output_file::make("/dev/full");
  ASSERT_TRUE(made);
  (*made)->text() << "page";
  const auto wrong = (*made)->failure();
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->os_number(), ENOSPC);
  EXPECT_TRUE((*made)->keep());
}

TEST_F(output, leaves_nothing_where_a_signal_ends_it) {
  const auto interrupted = [this] {
    const auto made = output_file::make(file);
    (*made)->text() << "half";
    std::raise(SIGINT);
  };
  EXPECT_EXIT(interrupted(), testing::KilledBySignal(SIGINT), "");
  EXPECT_EQ(files(), 0u);
}

}  // namespace
}  // namespace gar
