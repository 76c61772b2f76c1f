#include "lib/linux/daemon_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>

namespace gar {

void prepare_daemon_process() {
  int fd = ::open("/dev/null", O_RDWR);
  while (fd >= 0 && fd <= STDERR_FILENO) fd = ::dup(fd);
  if (fd > STDERR_FILENO) ::close(fd);
  ::umask(0077);
  ::signal(SIGPIPE, SIG_IGN);
}

bool stderr_is_journal() {
  const char* stream = ::secure_getenv("JOURNAL_STREAM");
  uintmax_t device = 0;
  uintmax_t inode = 0;
  struct stat own {};
  if (!stream || std::sscanf(stream, "%ju:%ju", &device, &inode) != 2) return false;
  return ::fstat(STDERR_FILENO, &own) == 0 && own.st_dev == device && own.st_ino == inode;
}

}  // namespace gar
