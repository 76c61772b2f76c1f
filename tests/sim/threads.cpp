// The C++ library's threads, locks and condition variables, as simulated threads use them: linked
// in the place of the real ones (-Wl,--wrap).
#include <pthread.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <thread>

#include "lib/core/error.hpp"
#include "tests/sim/machine.hpp"

namespace gar::sim {
namespace {

constexpr uint64_t lock_ns = 20;

int statics_being_made = 0;
memory_owner* owner_before_statics = nullptr;

}  // namespace

}  // namespace gar::sim

using namespace gar::sim;

extern "C" {

// ---- locks

int __real_pthread_mutex_trylock(pthread_mutex_t* m);
int __real_pthread_mutex_lock(pthread_mutex_t* m);
int __wrap_pthread_mutex_lock(pthread_mutex_t* m) {
  if (!running_thread()) return __real_pthread_mutex_lock(m);
  machine_now->pass(lock_ns);
  while (__real_pthread_mutex_trylock(m) != 0) {
    machine_now->block({m}, gar::instant::never(), false);
  }
  return 0;
}
int __wrap_pthread_mutex_trylock(pthread_mutex_t* m) {
  if (running_thread()) machine_now->pass(lock_ns);
  return __real_pthread_mutex_trylock(m);
}
int __real_pthread_mutex_unlock(pthread_mutex_t* m);
int __wrap_pthread_mutex_unlock(pthread_mutex_t* m) {
  const int done = __real_pthread_mutex_unlock(m);
  if (running_thread()) machine_now->wake(m);
  return done;
}

int __wrap_pthread_cond_clockwait(pthread_cond_t* c, pthread_mutex_t* m, clockid_t,
                                  const timespec* until) {
  const gar::instant at{static_cast<uint64_t>(until->tv_sec) * 1'000'000'000 +
                        static_cast<uint64_t>(until->tv_nsec)};
  __wrap_pthread_mutex_unlock(m);
  machine_now->block({c}, at, true);
  __wrap_pthread_mutex_lock(m);
  return machine_now->now() >= at ? ETIMEDOUT : 0;
}

// ---- once per program

int __real___cxa_guard_acquire(uint64_t* guard);
int __wrap___cxa_guard_acquire(uint64_t* guard) {
  const int mine = __real___cxa_guard_acquire(guard);
  if (mine && statics_being_made++ == 0) {
    owner_before_statics = std::exchange(memory_owner_now, nullptr);
  }
  return mine;
}
void __real___cxa_guard_release(uint64_t* guard);
void __wrap___cxa_guard_release(uint64_t* guard) {
  __real___cxa_guard_release(guard);
  if (--statics_being_made == 0) memory_owner_now = owner_before_statics;
}

// ---- once per thread

void* __real_pthread_getspecific(pthread_key_t key);
void* __wrap_pthread_getspecific(pthread_key_t key) {
  thread* const self = running_thread();
  if (!self) return __real_pthread_getspecific(key);
  const auto at = self->locals.find(key);
  return at == self->locals.end() ? nullptr : const_cast<void*>(at->second);
}
int __real_pthread_setspecific(pthread_key_t key, const void* value);
int __wrap_pthread_setspecific(pthread_key_t key, const void* value) {
  thread* const self = running_thread();
  if (!self) return __real_pthread_setspecific(key, value);
  const memory_scope own(nullptr);
  self->locals[key] = value;
  return 0;
}
}

// ---- condition variables and threads, by their mangled names

void wait_on(std::condition_variable* c, std::unique_lock<std::mutex>& lock) asm(
    "__wrap__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE");
void wait_on(std::condition_variable* c, std::unique_lock<std::mutex>& lock) {
  pthread_mutex_t* const m = lock.mutex()->native_handle();
  __wrap_pthread_mutex_unlock(m);
  machine_now->block({c->native_handle()}, gar::instant::never(), true);
  __wrap_pthread_mutex_lock(m);
}
void notify(std::condition_variable* c) noexcept
    asm("__wrap__ZNSt18condition_variable10notify_oneEv");
void notify(std::condition_variable* c) noexcept {
  if (running_thread()) machine_now->wake(c->native_handle());
}
void notify_them(std::condition_variable* c) noexcept
    asm("__wrap__ZNSt18condition_variable10notify_allEv");
void notify_them(std::condition_variable* c) noexcept {
  if (running_thread()) machine_now->wake(c->native_handle());
}

namespace {

struct thread_id {
  uint64_t number;
};

thread* find_thread(uint64_t number) {
  for (const std::unique_ptr<thread>& t : running_thread()->of->threads) {
    if (t->number == number) return t.get();
  }
  return nullptr;
}

}  // namespace

void start_thread(std::thread* self, std::thread::_State_ptr state, void (*depend)()) asm(
    "__wrap__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE");
void start_thread(std::thread* self, std::thread::_State_ptr state, void (*)()) {
  process& of = *running_thread()->of;
  std::shared_ptr<std::thread::_State> runs(std::move(state));
  thread& made = machine_now->start_thread(of, of.name + "." + std::to_string(of.threads.size()),
                                           [runs] { runs->_M_run(); });
  static_assert(sizeof(std::thread) == sizeof(thread_id));
  reinterpret_cast<thread_id*>(self)->number = made.number;
}
void join_thread(std::thread* self) asm("__wrap__ZNSt6thread4joinEv");
void join_thread(std::thread* self) {
  uint64_t& number = reinterpret_cast<thread_id*>(self)->number;
  thread* const other = find_thread(number);
  GAR_ASSERT(other);
  while (other->now != thread::state::ended) {
    machine_now->block({other}, gar::instant::never(), false);
  }
  number = 0;
}
std::chrono::steady_clock::time_point std_now() noexcept
    asm("__wrap__ZNSt6chrono3_V212steady_clock3nowEv");
std::chrono::steady_clock::time_point std_now() noexcept {
  timespec t{};
  if (machine_now) {
    return std::chrono::steady_clock::time_point(
        std::chrono::nanoseconds(machine_now->read_clock()));
  }
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return std::chrono::steady_clock::time_point(std::chrono::seconds(t.tv_sec) +
                                               std::chrono::nanoseconds(t.tv_nsec));
}
