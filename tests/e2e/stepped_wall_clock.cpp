// Preloaded into a program: the wall clock jumps by up to a day, back and forth, at every reading.
// The clocks that nobody can set stay as they are.
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>

#include <atomic>
#include <cstdint>

namespace {

template <class Call>
Call next(const char* name) {
  return reinterpret_cast<Call>(dlsym(RTLD_NEXT, name));
}

// A step for each reading: the same row in every run.
int64_t step_s() {
  static std::atomic<uint64_t> readings{0};
  const uint64_t n = readings.fetch_add(1, std::memory_order_relaxed);
  return static_cast<int64_t>(n * 0x9e3779b97f4a7c15 % 172'801) - 86'400;
}

}  // namespace

// Seen by the programs that it is loaded into, whatever this project's flags hide.
#pragma GCC visibility push(default)
extern "C" {

int clock_gettime(clockid_t clock, struct timespec* time) {
  static const auto real = next<int (*)(clockid_t, struct timespec*)>("clock_gettime");
  const int answer = real(clock, time);
  if (answer == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    time->tv_sec += step_s();
  }
  return answer;
}

int gettimeofday(struct timeval* time, void* zone) noexcept {
  static const auto real = next<int (*)(struct timeval*, void*)>("gettimeofday");
  const int answer = real(time, zone);
  if (answer == 0) time->tv_sec += step_s();
  return answer;
}

time_t time(time_t* at) noexcept {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (at) *at = now.tv_sec;
  return now.tv_sec;
}
}
#pragma GCC visibility pop
