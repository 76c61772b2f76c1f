// Runs a program on a host that refuses io_uring, whatever this one does: io_uring_setup, or the
// one of its system calls that is named, is answered with EPERM by a seccomp filter, as containers
// do.
//
//   without_io_uring [--register | --enter] PROGRAM ARGUMENT...
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <string_view>

int main(int argc, char** argv) {
  unsigned int refused = __NR_io_uring_setup;
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "--register") refused = __NR_io_uring_register;
  if (first == "--enter") refused = __NR_io_uring_enter;
  if (refused != __NR_io_uring_setup) {
    ++argv;
    --argc;
  }
  if (argc < 2) {
    std::fputs("usage: without_io_uring [--register | --enter] PROGRAM ARGUMENT...\n", stderr);
    return 64;
  }
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{sizeof(filter) / sizeof(filter[0]), filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    std::perror("without_io_uring: prctl");
    return 77;
  }
  execv(argv[1], argv + 1);
  std::perror(argv[1]);
  return 64;
}
