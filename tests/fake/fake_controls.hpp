// What a test can ask of a fake driver beside the vendor's own interface.
//
// Each fake (libcuda.so.1, libamdhip64.so.6) exports these; a test looks them up in the library
// that the code under test has loaded, so that both talk about the same driver.
//
// Faults can also be set by the environment, before the library is loaded:
//   FAKE_DEVICES=2  FAKE_INIT=0  FAKE_VERSION=...  FAKE_FAIL=call=status,call=status
//   FAKE_SLOW=call=nanoseconds,...  FAKE_STORES=lost | late=nanoseconds
//
// Threads: any. Units: ns.
#pragma once

#include <cstddef>
#include <cstdint>

// One call of the vendor's interface, as it ended. Handles are logged as what they point at.
struct fake_call {
  char name[48];
  uint64_t arguments[3];
  int32_t status;
  uint64_t thread;  // a number of its own for each
};

// X(name, type)
#define FAKE_CONTROLS(X)                                                                       \
  /* The log, oldest first. */                                                                 \
  X(fake_log_count, size_t())                                                                  \
  X(fake_log_at, void(size_t index, fake_call * call))                                         \
  X(fake_log_clear, void())                                                                    \
  /* What no right program does: a handle used after its end, a store into memory that is not  \
     registered any more, something enqueued on a stream that is being captured, ... */        \
  X(fake_violation_count, size_t())                                                            \
  X(fake_violation_at, const char*(size_t index))                                              \
  /* The next `times` calls of that name, but for the first `skip`, answer `status`. */        \
  X(fake_fail, void(const char* call, int32_t status, unsigned skip, unsigned times))          \
  X(fake_slow, void(const char* call, uint64_t delay_ns))                                      \
  X(fake_lose_stores, void(unsigned count))                                                    \
  X(fake_delay_stores, void(unsigned count, uint64_t delay_ns))                                \
  /* Work that ends by writing `value` into `*truth`, or, with a status, by a device fault. */ \
  X(fake_submit, void(void* stream, uint64_t duration_ns, uint64_t* truth, uint64_t value))    \
  X(fake_submit_fault, void(void* stream, uint64_t duration_ns, int32_t status))               \
  /* A context that is no primary one, and is not made current. */                             \
  X(fake_context_create, void*(int device))                                                    \
  X(fake_context_destroy, void(void* context))                                                 \
  /* As another owner's reset of the device. */                                                \
  X(fake_reset, void(int device))                                                              \
  X(fake_references, unsigned(int device))                                                     \
  X(fake_registrations, size_t())                                                              \
  X(fake_live_events, size_t())                                                                \
  X(fake_live_streams, size_t())                                                               \
  /* 0: the capture is whole. */                                                               \
  X(fake_begin_capture, int32_t(void* stream, unsigned mode))                                  \
  X(fake_end_capture, int32_t(void* stream))

namespace fake_functions {
#define FAKE_FUNCTION(name, ...) using name = __VA_ARGS__;
FAKE_CONTROLS(FAKE_FUNCTION)
#undef FAKE_FUNCTION
}  // namespace fake_functions
