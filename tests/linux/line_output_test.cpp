// A line reaches whoever reads, and whoever does not read holds up nobody.
#include "lib/linux/line_output.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>

#include "lib/linux/unique_fd.hpp"

namespace gar {
namespace {

struct ends {
  unique_fd reader;
  unique_fd writer;
};

ends small_pipe() {
  std::array<int, 2> fds = {-1, -1};
  EXPECT_EQ(::pipe2(fds.data(), O_CLOEXEC), 0);
  EXPECT_GT(::fcntl(fds[1], F_SETPIPE_SZ, 4096), 0);
  return {unique_fd(fds[0]), unique_fd(fds[1])};
}

ends socket_ends() {
  std::array<int, 2> fds = {-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()), 0);
  return {unique_fd(fds[0]), unique_fd(fds[1])};
}

// All that is there.
std::string read_all(int fd) {
  EXPECT_EQ(::fcntl(fd, F_SETFL, O_NONBLOCK), 0);
  std::string got;
  std::array<char, 65536> part;
  for (ssize_t bytes = 0; (bytes = ::read(fd, part.data(), part.size())) > 0;) {
    got.append(part.data(), static_cast<size_t>(bytes));
  }
  return got;
}

TEST(line_output, reaches_the_reader) {
  const ends pipe = small_pipe();
  EXPECT_TRUE(write_line_now(pipe.writer.get(), "a line\n"));
  EXPECT_EQ(read_all(pipe.reader.get()), "a line\n");
}

TEST(line_output, is_refused_at_once_where_nobody_reads_and_goes_on_when_somebody_does) {
  const std::string longest(line_bytes_max, 'x');
  const std::array<ends, 2> ways = {small_pipe(), socket_ends()};
  for (const ends& way : ways) {
    int taken = 0;
    while (write_line_now(way.writer.get(), longest)) ++taken;
    EXPECT_GT(taken, 0);
    EXPECT_FALSE(write_line_now(way.writer.get(), "x\n"));
    EXPECT_EQ(read_all(way.reader.get()).size(), static_cast<size_t>(taken) * longest.size());
    EXPECT_TRUE(write_line_now(way.writer.get(), "more\n"));
  }
}

TEST(line_output, leaves_the_others_of_the_pipe_as_they_are) {
  const ends pipe = small_pipe();
  (void)write_line_now(pipe.writer.get(), "a line\n");
  EXPECT_EQ(::fcntl(pipe.writer.get(), F_GETFL) & O_NONBLOCK, 0);
}

TEST(line_output, that_is_no_descriptor_is_refused) {
  EXPECT_FALSE(write_line_now(-1, "a line\n"));
}

}  // namespace
}  // namespace gar
