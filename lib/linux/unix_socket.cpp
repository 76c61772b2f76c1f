#include "lib/linux/unix_socket.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "lib/linux/steady_clock.hpp"
#include "lib/linux/system_call.hpp"
#include "lib/linux/thread_timer.hpp"

namespace gar {
namespace {

constexpr int so_peerpidfd = 77;  // SO_PEERPIDFD, since Linux 6.5

constexpr duration lock_patience = from_ms(1000);
constexpr duration lock_pause = from_ms(2);

// Calls until no signal interrupts; -1 and errno as the call left them.
template <class Call>
auto uninterrupted(Call call) {
  for (;;) {
    auto rc = call();
    if (rc >= 0 || errno != EINTR) return rc;
  }
}

struct address {
  sockaddr_un name{};
  socklen_t bytes = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&name); }
};

result<address> address_of(const std::string& path) {
  address a;
  if (path.empty() || path.size() >= sizeof(a.name.sun_path)) {
    return error(errc::InvalidArgument,
                 {"socket path '" + path + "'",
                  "expected 1.." + std::to_string(sizeof(a.name.sun_path) - 1) + " bytes"});
  }
  a.name.sun_family = AF_UNIX;
  std::memcpy(a.name.sun_path, path.data(), path.size());
  a.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return a;
}

int number_of(socket_type type) {
  return type == socket_type::seqpacket ? SOCK_SEQPACKET : SOCK_STREAM;
}

result<int> socket_number(int fd, int option) {
  int value = 0;
  socklen_t bytes = sizeof(value);
  if (::getsockopt(fd, SOL_SOCKET, option, &value, &bytes) == 0) return value;
  return last_system_error("getsockopt");
}

result<void> add_flags(int fd, int get, int set, int flags) {
  const int now = ::fcntl(fd, get);
  if (now < 0 || ::fcntl(fd, set, now | flags) != 0) return last_system_error("fcntl");
  return {};
}

result<unique_fd> make_socket(socket_type type, int flags) {
  unique_fd fd(::socket(AF_UNIX, number_of(type) | SOCK_CLOEXEC | flags, 0));
  if (!fd) return last_system_error("socket");
  return fd;
}

// Whoever holds it may judge and replace the socket at `path`.
result<unique_fd> lock_path(const std::string& path) {
  const std::string lock = path + ".lock";
  unique_fd fd(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return last_system_error("open " + lock);
  // It is held for a moment only, but a process may be stopped in that moment.
  const instant give_up = steady_clock().now() + lock_patience;
  while (uninterrupted([&] { return ::flock(fd.get(), LOCK_EX | LOCK_NB); }) != 0) {
    if (errno != EWOULDBLOCK) return last_system_error("flock " + lock);
    const instant now = steady_clock().now();
    if (now >= give_up) return error(errc::AlreadyRunning, {path});
    result<void> slept = thread_timer().sleep_until(now + lock_pause);
    if (!slept) return slept.error();
  }
  return fd;
}

result<void> give_away(const std::string& path, const listen_options& options) {
  if (options.group && ::chown(path.c_str(), static_cast<uid_t>(-1), *options.group) != 0) {
    return last_system_error("chown " + path);
  }
  if (::chmod(path.c_str(), options.mode) != 0) return last_system_error("chmod " + path);
  return {};
}

result<void> set_send_timeout(int fd, duration timeout) {
  const timeval t{static_cast<time_t>(timeout.ns / 1'000'000'000),
                  static_cast<suseconds_t>(timeout.ns % 1'000'000'000 / 1000)};
  if (::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t)) != 0) {
    return last_system_error("setsockopt(SO_SNDTIMEO)");
  }
  return {};
}

struct taken_descriptors {
  std::array<unique_fd, descriptors_max> kept;
  size_t count = 0;  // that came, kept or closed
};

taken_descriptors take_descriptors(msghdr& header) {
  taken_descriptors taken;
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c; c = CMSG_NXTHDR(&header, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
      unique_fd fd(number);
      if (taken.count < descriptors_max) taken.kept[taken.count] = std::move(fd);
      ++taken.count;
    }
  }
  return taken;
}

}  // namespace

result<unique_fd> listen_at(const std::string& path, const listen_options& options) {
  result<address> at = address_of(path);
  if (!at) return at.error();
  result<unique_fd> lock = lock_path(path);
  if (!lock) return lock.error();
  result<socket_file> there = look_at_socket(path);
  if (!there) return there.error();
  if (*there == socket_file::live) return error(errc::AlreadyRunning, {path});
  if (*there == socket_file::stale && ::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return last_system_error("unlink " + path);
  }
  result<unique_fd> fd = make_socket(options.type, SOCK_NONBLOCK);
  if (!fd) return fd.error();
  if (::bind(fd->get(), at->get(), at->bytes) != 0) return last_system_error("bind " + path);
  result<void> given = give_away(path, options);
  if (given && ::listen(fd->get(), options.backlog) != 0) {
    given = last_system_error("listen " + path);
  }
  if (!given) {
    ::unlink(path.c_str());
    return given.error();
  }
  return fd;
}

result<std::string> adopt_listener(int fd, socket_type type) {
  const std::pair<int, int> expected[] = {
      {SO_DOMAIN, AF_UNIX}, {SO_TYPE, number_of(type)}, {SO_ACCEPTCONN, 1}};
  for (const auto& [option, value] : expected) {
    const result<int> got = socket_number(fd, option);
    if (got && *got == value) continue;
    const char* kind = type == socket_type::seqpacket ? "SOCK_SEQPACKET" : "SOCK_STREAM";
    return error(errc::InvalidArgument,
                 {"the socket", std::string("expected a listening Unix socket of ") + kind});
  }
  address at;
  at.bytes = sizeof(at.name);
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&at.name), &at.bytes) != 0) {
    return last_system_error("getsockname");
  }
  for (result<void> done :
       {add_flags(fd, F_GETFL, F_SETFL, O_NONBLOCK), add_flags(fd, F_GETFD, F_SETFD, FD_CLOEXEC)}) {
    if (!done) return done.error();
  }
  const size_t room = at.bytes - offsetof(sockaddr_un, sun_path);
  return std::string(at.name.sun_path, ::strnlen(at.name.sun_path, room));
}

result<socket_file> look_at_socket(const std::string& path) {
  result<address> at = address_of(path);
  if (!at) return at.error();
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return socket_file::absent;
    return last_system_error("lstat " + path);
  }
  if (!S_ISSOCK(status.st_mode)) {
    return error(errc::InvalidArgument, {path, "expected a socket or nothing there"});
  }
  result<unique_fd> fd = make_socket(socket_type::seqpacket, SOCK_NONBLOCK);
  if (!fd) return fd.error();
  if (uninterrupted([&] { return ::connect(fd->get(), at->get(), at->bytes); }) == 0) {
    return socket_file::live;
  }
  switch (errno) {
    case ECONNREFUSED:
      return socket_file::stale;
    case ENOENT:
      return socket_file::absent;
    case EAGAIN:      // its queue is full
    case EPROTOTYPE:  // it is of another kind
      return socket_file::live;
    default:
      return last_system_error("connect " + path);
  }
}

result<unique_fd> connect_to(const std::string& path, socket_type type, instant deadline) {
  result<address> at = address_of(path);
  if (!at) return at.error();
  // A non-blocking connect answers EAGAIN where the listener's queue is full, and nothing tells
  // when to try again. A blocking one with a send timeout waits in that queue.
  result<unique_fd> fd = make_socket(type, 0);
  if (!fd) return fd.error();
  for (;;) {
    // A timeout of 0 would mean none.
    const duration left = std::max(deadline - steady_clock().now(), from_us(1));
    result<void> bounded = set_send_timeout(fd->get(), left);
    if (!bounded) return bounded.error();
    if (::connect(fd->get(), at->get(), at->bytes) == 0) break;
    if (errno != EINTR) return last_system_error("connect " + path);
  }
  result<void> unbounded = set_send_timeout(fd->get(), {});
  if (!unbounded) return unbounded.error();
  result<void> non_blocking = add_flags(fd->get(), F_GETFL, F_SETFL, O_NONBLOCK);
  if (!non_blocking) return non_blocking.error();
  return fd;
}

result<std::optional<unique_fd>> accept_from(int listener) {
  const int fd = uninterrupted(
      [&] { return ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK); });
  if (fd >= 0) return std::optional<unique_fd>(unique_fd(fd));
  if (errno == EAGAIN || errno == ECONNABORTED) return std::optional<unique_fd>();
  return last_system_error("accept");
}

void put_descriptors(msghdr& header, std::span<std::byte> control,
                     std::span<const int> descriptors) {
  GAR_ASSERT(control.size() >= CMSG_SPACE(descriptors.size_bytes()));
  std::memset(control.data(), 0, control.size());
  header.msg_control = control.data();
  header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
  cmsghdr* c = CMSG_FIRSTHDR(&header);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  std::memcpy(CMSG_DATA(c), descriptors.data(), descriptors.size_bytes());
}

result<bool> send_message(int fd, std::span<const std::byte> message,
                          std::span<const int> descriptors) {
  GAR_ASSERT(descriptors.size() <= descriptors_max);
  iovec part{const_cast<std::byte*>(message.data()), message.size()};
  alignas(cmsghdr) std::byte control[control_bytes];
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (!descriptors.empty()) put_descriptors(header, control, descriptors);
  const ssize_t sent =
      uninterrupted([&] { return ::sendmsg(fd, &header, MSG_NOSIGNAL | MSG_DONTWAIT); });
  if (sent >= 0) return true;
  if (errno == EAGAIN) return false;
  return last_system_error("sendmsg");
}

result<reception> receive_message(int fd, std::span<std::byte> into) {
  iovec part{into.data(), into.size()};
  alignas(cmsghdr) std::byte control[control_bytes] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  const auto receive = [&] { return ::recvmsg(fd, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT); };
  ssize_t bytes = uninterrupted(receive);
  // Told once, where the peer closed before it had read everything; what it sent lies behind.
  if (bytes < 0 && errno == ECONNRESET) bytes = uninterrupted(receive);
  if (bytes < 0 && errno == EAGAIN) return reception{};
  if (bytes < 0) return last_system_error("recvmsg");
  return judge_reception(header, static_cast<size_t>(bytes), into.size());
}

result<reception> judge_reception(msghdr& header, size_t bytes, size_t into_bytes) {
  taken_descriptors taken = take_descriptors(header);
  if (header.msg_flags & MSG_CTRUNC || taken.count > descriptors_max) {
    return error(errc::UnexpectedDescriptors,
                 {"more than " + std::to_string(taken.count), "a message",
                  "at most " + std::to_string(descriptors_max) + " and room for them"});
  }
  if (header.msg_flags & MSG_TRUNC) {
    return error(errc::MalformedMessage, {"more than " + std::to_string(into_bytes) + " bytes"});
  }
  if (bytes == 0 && taken.count > 0) {
    return error(errc::MalformedMessage, {"descriptors without a message"});
  }
  reception received;
  received.got = bytes > 0 ? reception::what::message : reception::what::ended;
  received.bytes = bytes;
  received.descriptor_count = taken.count;
  received.descriptors = std::move(taken.kept);
  return received;
}

void end_connection(int fd) {
  ::shutdown(fd, SHUT_RDWR);  // nothing more comes in behind what is emptied here
  std::byte ignored;
  for (;;) {
    msghdr head{};
    iovec part{&ignored, sizeof(ignored)};
    head.msg_iov = &part;
    head.msg_iovlen = 1;
    const ssize_t got = ::recvmsg(fd, &head, MSG_DONTWAIT);
    if (got <= 0 && !(got < 0 && errno == EINTR)) return;
  }
}

result<peer_identity> peer_of(int fd) {
  ucred peer{};
  socklen_t bytes = sizeof(peer);
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) {
    return last_system_error("getsockopt(SO_PEERCRED)");
  }
  return peer_identity{peer.pid, peer.uid, peer.gid};
}

result<unique_fd> peer_pidfd(int fd) {
  int number = -1;
  socklen_t bytes = sizeof(number);
  if (::getsockopt(fd, SOL_SOCKET, so_peerpidfd, &number, &bytes) == 0) return unique_fd(number);
  // An older kernel has the way through the pid, which the peer's end may have handed to another
  // process by now: then the descriptor tells of somebody else's end, too late or too early. The
  // socket's own end stays the authority.
  result<peer_identity> peer = peer_of(fd);
  if (!peer) return peer.error();
  if (peer->pid <= 0) {
    return error(errc::Unavailable, {"a pidfd", "the peer's pid is not visible here"});
  }
  unique_fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, peer->pid, 0)));
  if (!pidfd) return error(errc::Unavailable, {"a pidfd", text_of_errno(errno)}, errno);
  return pidfd;
}

}  // namespace gar
