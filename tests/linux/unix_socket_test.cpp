#include "lib/linux/unix_socket.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "lib/linux/steady_clock.hpp"
#include "tests/linux/temporary_directory.hpp"

namespace gar {
namespace {

using what = reception::what;

size_t open_descriptors() {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    (void)entry;
    ++count;
  }
  return count;
}

struct connected_pair {
  unique_fd a;
  unique_fd b;
  connected_pair() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
      std::abort();
    }
    a.reset(ends[0]);
    b.reset(ends[1]);
  }
};

std::span<const std::byte> bytes_of(const char* text) {
  return std::as_bytes(std::span(text, std::strlen(text)));
}

instant soon() {
  return steady_clock().now() + from_ms(2000);
}

// Sends `count` copies of one descriptor with no limit of ours.
void send_many_descriptors(int fd, size_t count, const char* text) {
  std::vector<int> numbers(count, fd);
  std::vector<std::byte> control(CMSG_SPACE(count * sizeof(int)));
  iovec part{const_cast<char*>(text), std::strlen(text)};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  cmsghdr* c = CMSG_FIRSTHDR(&header);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(count * sizeof(int));
  std::memcpy(CMSG_DATA(c), numbers.data(), count * sizeof(int));
  ASSERT_GE(::sendmsg(fd, &header, 0), 0);
}

TEST(unix_socket, a_message_arrives_whole_with_its_descriptors) {
  connected_pair pair;
  const int sent[] = {pair.a.get(), pair.b.get(), 0, 1};
  ASSERT_TRUE(*send_message(pair.a.get(), bytes_of("hello"), sent));
  std::byte into[64];
  result<reception> got = receive_message(pair.b.get(), into);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->got, what::message);
  EXPECT_EQ(got->bytes, 5u);
  EXPECT_EQ(std::memcmp(into, "hello", 5), 0);
  ASSERT_EQ(got->descriptor_count, 4u);
  for (const unique_fd& fd : got->descriptors) {
    EXPECT_EQ(::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  }
}

// The kernel tells such a peer's end before the messages that lie in front of it.
TEST(unix_socket, what_a_peer_sent_before_it_closed_with_messages_unread_is_received) {
  connected_pair pair;
  for (const char* text : {"close", "bye"}) {
    ASSERT_TRUE(send_message(pair.a.get(), bytes_of(text)).value());
  }
  ASSERT_TRUE(send_message(pair.b.get(), bytes_of("closed")).value());
  pair.a.reset();
  std::array<std::byte, 16> into;
  EXPECT_EQ(receive_message(pair.b.get(), into)->bytes, 5u);
  EXPECT_EQ(receive_message(pair.b.get(), into)->bytes, 3u);
  EXPECT_EQ(receive_message(pair.b.get(), into)->got, what::ended);
}

TEST(unix_socket, an_empty_socket_has_nothing_and_a_closed_one_has_ended) {
  connected_pair pair;
  std::byte into[8];
  EXPECT_EQ(receive_message(pair.b.get(), into)->got, what::nothing);
  pair.a.reset();
  EXPECT_EQ(receive_message(pair.b.get(), into)->got, what::ended);
}

TEST(unix_socket, a_message_too_long_is_refused_and_its_descriptors_closed) {
  connected_pair pair;
  const size_t before = open_descriptors();
  const int sent[] = {pair.a.get()};
  ASSERT_TRUE(*send_message(pair.a.get(), bytes_of("twelve bytes"), sent));
  std::byte into[8];
  result<reception> got = receive_message(pair.b.get(), into);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code(), errc::MalformedMessage);
  EXPECT_EQ(open_descriptors(), before);
}

TEST(unix_socket, too_many_descriptors_are_refused_and_none_leaks) {
  connected_pair pair;
  const size_t before = open_descriptors();
  for (size_t count : {descriptors_max + 1, size_t{200}}) {
    send_many_descriptors(pair.a.get(), count, "x");
    std::byte into[8];
    result<reception> got = receive_message(pair.b.get(), into);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code(), errc::UnexpectedDescriptors);
    EXPECT_EQ(open_descriptors(), before);
  }
}

TEST(unix_socket, descriptors_without_room_are_refused_and_none_leaks) {
  connected_pair pair;
  const int sent[] = {0, 1, 2, 0};
  ASSERT_TRUE(*send_message(pair.a.get(), bytes_of("x"), sent));
  const size_t before = open_descriptors();
  rlimit room{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &room), 0);
  rlimit tight = room;
  unique_fd next(::dup(0));
  tight.rlim_cur = static_cast<rlim_t>(next.get()) + 1;
  next.reset();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
  std::byte into[8];
  result<reception> got = receive_message(pair.b.get(), into);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &room), 0);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code(), errc::UnexpectedDescriptors);
  EXPECT_EQ(open_descriptors(), before);
}

TEST(unix_socket, descriptors_without_a_message_are_refused) {
  connected_pair pair;
  const size_t before = open_descriptors();
  send_many_descriptors(pair.a.get(), 1, "");
  std::byte into[8];
  EXPECT_FALSE(receive_message(pair.b.get(), into));
  EXPECT_EQ(open_descriptors(), before);
}

TEST(unix_socket, a_full_buffer_is_told_and_a_closed_peer_is_an_error) {
  connected_pair pair;
  std::vector<std::byte> message(4096);
  result<bool> sent = true;
  while (sent && *sent) sent = send_message(pair.a.get(), message);
  ASSERT_TRUE(sent);
  EXPECT_FALSE(*sent);
  pair.b.reset();
  sent = send_message(pair.a.get(), message);
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code(), errc::SystemCall);
  EXPECT_NE(sent.error().os_number(), 0);
}

TEST(unix_socket, a_client_connects_and_both_know_each_other) {
  temporary_directory directory;
  const std::string path = directory.file("s");
  result<unique_fd> listener = listen_at(path, {});
  ASSERT_TRUE(listener) << listener.error().text();
  EXPECT_FALSE(accept_from(listener->get())->has_value());
  result<unique_fd> client = connect_to(path, socket_type::seqpacket, soon());
  ASSERT_TRUE(client) << client.error().text();
  EXPECT_NE(::fcntl(client->get(), F_GETFL) & O_NONBLOCK, 0);
  result<std::optional<unique_fd>> server = accept_from(listener->get());
  ASSERT_TRUE(server);
  ASSERT_TRUE(server->has_value());
  result<peer_identity> peer = peer_of((*server)->get());
  ASSERT_TRUE(peer);
  EXPECT_EQ(peer->pid, ::getpid());
  EXPECT_EQ(peer->uid, ::getuid());
  EXPECT_EQ(peer->gid, ::getgid());
}

TEST(unix_socket, has_the_mode_asked_for) {
  temporary_directory directory;
  const std::string path = directory.file("s");
  ASSERT_TRUE(listen_at(path, {.mode = 0660}));
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0660u);
}

TEST(unix_socket, a_stale_socket_is_replaced_and_a_live_one_is_not) {
  temporary_directory directory;
  const std::string path = directory.file("s");
  EXPECT_EQ(*look_at_socket(path), socket_file::absent);
  result<unique_fd> first = listen_at(path, {});
  ASSERT_TRUE(first);
  EXPECT_EQ(*look_at_socket(path), socket_file::live);
  result<unique_fd> second = listen_at(path, {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), errc::AlreadyRunning);
  first->reset();
  EXPECT_EQ(*look_at_socket(path), socket_file::stale);
  second = listen_at(path, {.type = socket_type::stream});
  ASSERT_TRUE(second);
  EXPECT_EQ(*look_at_socket(path), socket_file::live) << "of whatever kind";
}

// It waited without end, and no signal ended it.
TEST(unix_socket, who_is_stopped_while_it_replaces_a_socket_holds_up_the_next_for_a_second) {
  temporary_directory directory;
  const std::string path = directory.file("s");
  const unique_fd other(::open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::flock(other.get(), LOCK_EX), 0);
  const instant from = steady_clock().now();
  const result<unique_fd> listener = listen_at(path, {});
  ASSERT_FALSE(listener);
  EXPECT_EQ(listener.error().code(), errc::AlreadyRunning);
  EXPECT_GE((steady_clock().now() - from).ns, from_ms(1000).ns);
  ASSERT_EQ(::flock(other.get(), LOCK_UN), 0);
  EXPECT_TRUE(listen_at(path, {}));
}

TEST(unix_socket, a_listener_of_another_process_is_adopted_whole) {
  const temporary_directory directory;
  const std::string path = directory.file("handed");
  const unique_fd made = *listen_at(path, {.type = socket_type::seqpacket});
  const unique_fd handed(::dup(made.get()));
  ASSERT_EQ(::fcntl(handed.get(), F_SETFL, 0), 0);  // as the service manager hands it over
  const result<std::string> at = adopt_listener(handed.get(), socket_type::seqpacket);
  ASSERT_TRUE(at.has_value()) << at.error().text();
  EXPECT_EQ(*at, path);
  EXPECT_TRUE(::fcntl(handed.get(), F_GETFL) & O_NONBLOCK);
  EXPECT_TRUE(::fcntl(handed.get(), F_GETFD) & FD_CLOEXEC);
  const result<std::optional<unique_fd>> nobody = accept_from(handed.get());
  ASSERT_TRUE(nobody.has_value());
  EXPECT_FALSE(nobody->has_value());
}

TEST(unix_socket, what_is_no_listener_of_the_kind_is_not_adopted) {
  const temporary_directory directory;
  const unique_fd listens = *listen_at(directory.file("a"), {.type = socket_type::stream});
  const connected_pair connected;
  const unique_fd file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  for (const unique_fd* fd : {&listens, &connected.a, &file}) {
    const result<std::string> refused = adopt_listener(fd->get(), socket_type::seqpacket);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().number(), static_cast<uint16_t>(errc::InvalidArgument));
  }
}

TEST(unix_socket, what_is_not_a_socket_is_left_alone) {
  temporary_directory directory;
  const std::string path = directory.file("s");
  std::ofstream(path) << "precious";
  result<unique_fd> listener = listen_at(path, {});
  ASSERT_FALSE(listener);
  EXPECT_EQ(listener.error().code(), errc::InvalidArgument);
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST(unix_socket, a_path_too_long_is_refused) {
  const std::string path(200, 'x');
  EXPECT_EQ(listen_at(path, {}).error().code(), errc::InvalidArgument);
  EXPECT_EQ(connect_to(path, socket_type::stream, soon()).error().code(), errc::InvalidArgument);
}

TEST(unix_socket, connecting_says_why_not) {
  temporary_directory directory;
  const std::string path = directory.file("s");
  EXPECT_EQ(connect_to(path, socket_type::seqpacket, soon()).error().os_number(), ENOENT);
  listen_at(path, {})->reset();
  result<unique_fd> client = connect_to(path, socket_type::seqpacket, soon());
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().os_number(), ECONNREFUSED);
  EXPECT_THAT(client.error().text(), testing::HasSubstr("connect " + path));
}

TEST(unix_socket, connecting_gives_up_at_its_deadline) {
  temporary_directory directory;
  const std::string path = directory.file("s");
  result<unique_fd> listener = listen_at(path, {.backlog = 0});
  ASSERT_TRUE(listener);
  std::vector<unique_fd> waiting;
  result<unique_fd> client = unique_fd();
  steady_clock clock;
  instant deadline;
  for (int i = 0; i < 4 && client; ++i) {
    deadline = clock.now() + from_ms(3);
    client = connect_to(path, socket_type::seqpacket, deadline);
    if (client) waiting.push_back(std::move(*client));
  }
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().os_number(), EAGAIN);
  EXPECT_GE(clock.now(), deadline);
}

TEST(unix_socket, a_peers_end_is_told_by_its_pidfd) {
  temporary_directory directory;
  const std::string path = directory.file("s");
  result<unique_fd> listener = listen_at(path, {});
  ASSERT_TRUE(listener);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  unique_fd reading(ends[0]);
  unique_fd writing(ends[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    writing.reset();
    result<unique_fd> client = connect_to(path, socket_type::seqpacket, soon());
    char byte;
    ssize_t n = ::read(reading.get(), &byte, 1);  // ends when the parent says so
    ::_exit(client && n == 0 ? 0 : 1);
  }
  pollfd waiting{listener->get(), POLLIN, 0};
  ASSERT_EQ(::poll(&waiting, 1, 2000), 1);
  result<std::optional<unique_fd>> server = accept_from(listener->get());
  ASSERT_TRUE(server && server->has_value());
  result<unique_fd> pidfd = peer_pidfd((*server)->get());
  if (!pidfd) {
    writing.reset();
    ::waitpid(child, nullptr, 0);
    GTEST_SKIP() << pidfd.error().text();
  }
  pollfd gone{pidfd->get(), POLLIN, 0};
  EXPECT_EQ(::poll(&gone, 1, 0), 0);
  writing.reset();
  EXPECT_EQ(::poll(&gone, 1, 2000), 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace gar
