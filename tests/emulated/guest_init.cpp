// The first process of a guest: runs the test program, says how it ended, ends the machine.
//
// A kernel hands the parameters that it does not know to its first process: NAME=VALUE as
// environment, what comes after "--" as arguments. So the harness speaks to the tests.
// Everything goes to the serial console, which is the harness's only view into the guest.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#if defined(__x86_64__)
#include <sys/io.h>
#endif

namespace {

void open_console() {
  const char* device = std::getenv("GAR_GUEST_CONSOLE");
  const int fd = ::open(device ? device : "/dev/console", O_RDWR | O_NOCTTY);
  if (fd < 0) return;
  for (int standard = 0; standard <= 2; ++standard) ::dup2(fd, standard);
  if (fd > 2) ::close(fd);
}

int run(char** arguments) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::execv("/test", arguments);
    ::_exit(126);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
  }
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  std::printf("guest: the test died of signal %d\n", WTERMSIG(status));
  return 125;
}

[[noreturn]] void end_machine() {
  std::fflush(stdout);
  ::tcdrain(1);
  ::usleep(50'000);  // the last bytes are still in the serial port
#if defined(__x86_64__)
  // Bochs ends when this text is written to this port.
  constexpr unsigned short bochs_port = 0x8900;
  if (::iopl(3) == 0) {
    for (const char* c = "Shutdown"; *c; ++c) ::outb(*c, bochs_port);
  }
#endif
  ::reboot(RB_POWER_OFF);
  for (;;) ::pause();
}

}  // namespace

int main(int, char** arguments) {
  ::mount("none", "/dev", "devtmpfs", 0, nullptr);
  ::mount("none", "/proc", "proc", 0, nullptr);
  ::mount("none", "/sys", "sysfs", 0, nullptr);
  open_console();
  timespec up{};
  ::clock_gettime(CLOCK_MONOTONIC, &up);
  std::printf("guest: up with %ld CPUs after %ld.%03ld s\n", ::sysconf(_SC_NPROCESSORS_ONLN),
              up.tv_sec, up.tv_nsec / 1'000'000);
  std::fflush(stdout);
  std::printf("guest: exit %d\n", run(arguments));
  end_machine();
}
