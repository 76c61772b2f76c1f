// The controls that every fake driver exports.
#include "tests/fake/fake_controls.hpp"

#include <pthread.h>

#include "tests/fake/fake_driver.hpp"

namespace {

fake::machine& all() {
  return fake::machine::get();
}

// A child of fork() has no other thread that could give the lock back.
[[maybe_unused]] const int forks_keep_the_lock_usable = pthread_atfork(
    [] { all().lock.lock(); }, [] { all().lock.unlock(); }, [] { all().lock.unlock(); });

// The stream that a handle means on this thread.
fake::stream* stream_of(void* handle) {
  fake::stream* found = nullptr;
  return all().resolve(handle, fake::current_context(), &found) == fake::success ? found : nullptr;
}

void submit(void* handle, fake::operation work) {
  std::lock_guard hold(all().lock);
  if (fake::stream* s = stream_of(handle)) (void)all().enqueue(s, std::move(work), "work");
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT size_t fake_log_count() {
  std::lock_guard hold(all().lock);
  return all().log.size();
}

EXPORT void fake_log_at(size_t index, fake_call* call) {
  std::lock_guard hold(all().lock);
  *call = all().log.at(index);
}

EXPORT void fake_log_clear() {
  std::lock_guard hold(all().lock);
  all().log.clear();
}

EXPORT size_t fake_violation_count() {
  std::lock_guard hold(all().lock);
  return all().violations.size();
}

EXPORT const char* fake_violation_at(size_t index) {
  std::lock_guard hold(all().lock);
  return all().violations.at(index).c_str();
}

EXPORT void fake_fail(const char* call, int32_t status, unsigned skip, unsigned times) {
  std::lock_guard hold(all().lock);
  all().told.fail(call, status, skip, times);
}

EXPORT void fake_slow(const char* call, uint64_t delay_ns) {
  std::lock_guard hold(all().lock);
  all().told.slow(call, delay_ns);
}

EXPORT void fake_lose_stores(unsigned count) {
  std::lock_guard hold(all().lock);
  all().told.lose_stores(count);
}

EXPORT void fake_delay_stores(unsigned count, uint64_t delay_ns) {
  std::lock_guard hold(all().lock);
  all().told.delay_stores(count, delay_ns);
}

EXPORT void fake_submit(void* stream, uint64_t duration_ns, uint64_t* truth, uint64_t value) {
  fake::operation work;
  work.duration_ns = duration_ns;
  work.target = truth;
  work.value = value;
  submit(stream, std::move(work));
}

EXPORT void fake_submit_fault(void* stream, uint64_t duration_ns, int32_t status) {
  fake::operation work;
  work.duration_ns = duration_ns;
  work.fault = status;
  submit(stream, std::move(work));
}

EXPORT void* fake_context_create(int device) {
  std::lock_guard hold(all().lock);
  return all().create(device);
}

EXPORT void fake_context_destroy(void* context) {
  std::lock_guard hold(all().lock);
  (void)all().destroy(static_cast<fake::context*>(context));
}

EXPORT void fake_reset(int device) {
  std::lock_guard hold(all().lock);
  all().reset(device);
}

EXPORT unsigned fake_references(int device) {
  std::lock_guard hold(all().lock);
  return all().references(device);
}

EXPORT size_t fake_registrations() {
  std::lock_guard hold(all().lock);
  return all().registrations();
}

EXPORT size_t fake_live_events() {
  std::lock_guard hold(all().lock);
  return all().live_events();
}

EXPORT size_t fake_live_streams() {
  std::lock_guard hold(all().lock);
  return all().live_streams();
}

EXPORT int32_t fake_begin_capture(void* stream, unsigned mode) {
  std::lock_guard hold(all().lock);
  fake::stream* s = stream_of(stream);
  return s ? all().begin_capture(s, mode) : fake::invalid_handle;
}

EXPORT int32_t fake_end_capture(void* stream) {
  std::lock_guard hold(all().lock);
  fake::stream* s = stream_of(stream);
  return s ? all().end_capture(s) : fake::invalid_handle;
}
