// A forked child is told about its drivers too, whatever the parent's threads did at the fork.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>

#include "lib/gpu/driver_probe.hpp"

namespace gar {
namespace {

// A child once found the loader's map of the file system half unmapped, by a thread that looked for
// drivers at the fork, and crashed: one of seven.
TEST(driver_probe, of_a_hello_works_in_a_child_that_was_forked_meanwhile) {
  std::atomic<bool> stop{false};
  std::array<std::thread, 2> others;
  for (std::thread& other : others) {
    other = std::thread([&] {
      while (!stop) probe_drivers(probe_depth::loaded);
    });
  }
  int failed = 0;
  for (int i = 0; i < 200; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(10);
      probe_drivers(probe_depth::loaded);
      _exit(0);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    failed += status != 0;
  }
  stop = true;
  for (std::thread& other : others) other.join();
  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace gar
