// Runs a program whose io_uring works until a file appears, and from then on fails for good: each
// io_uring_enter is then answered with EPERM. A seccomp filter asks the supervisor, which is this
// program's child, about each of them.
//
//   failing_ring FILE PROGRAM ARGUMENT...
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>

namespace {

constexpr int skipped = 77;

bool hand_over(int socket, int fd) {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  cmsghdr* c = CMSG_FIRSTHDR(&header);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(c), &fd, sizeof(fd));
  return sendmsg(socket, &header, 0) == 1;
}

int take_over(int socket) {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  if (recvmsg(socket, &header, MSG_CMSG_CLOEXEC) != 1) return -1;
  const cmsghdr* c = CMSG_FIRSTHDR(&header);
  if (!c) return -1;
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(c), sizeof(fd));
  return fd;
}

// Until the program has ended.
int supervise(int listener, const char* file) {
  for (;;) {
    pollfd one{listener, POLLIN, 0};
    if (poll(&one, 1, -1) < 0 && errno != EINTR) return 1;
    if (one.revents & POLLHUP) return 0;
    seccomp_notif asked{};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0) continue;
    seccomp_notif_resp answer{};
    answer.id = asked.id;
    if (access(file, F_OK) == 0) {
      answer.error = -EPERM;
    } else {
      answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    }
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
  }
}

int filtered() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_enter, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{sizeof(filter) / sizeof(filter[0]), filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return static_cast<int>(
      syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: failing_ring FILE PROGRAM ARGUMENT...\n", stderr);
    return 64;
  }
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return skipped;
  const pid_t supervisor = fork();
  if (supervisor < 0) return skipped;
  if (supervisor == 0) {
    close(pair[0]);
    const int listener = take_over(pair[1]);
    _exit(listener < 0 ? 1 : supervise(listener, argv[1]));
  }
  const int listener = filtered();
  if (listener < 0 || !hand_over(pair[0], listener)) {
    std::perror("failing_ring: seccomp");
    return skipped;
  }
  close(listener);
  execv(argv[2], argv + 2);
  std::perror(argv[2]);
  return 64;
}
