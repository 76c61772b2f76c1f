// What one fake driver adds to the machine: which context is current on a thread, and how a call
// ends.
//
// Threads: any. Each vendor's file defines these functions.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "tests/fake/fake_machine.hpp"

namespace fake {

// Of the calling thread; null where none is.
context* current_context();

// Of CUDA alone: its contexts are a stack on each thread.
void push_current(context* pushed);
void pop_current();

// Called with the status of every call, before it is returned.
void note_status(status answer);

inline uint64_t as_number(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer);
}

// One exported call: faults first, then `body` with the lock held, then the log.
template <class Body>
status call(const char* name, uint64_t a, uint64_t b, uint64_t c, Body body) {
  machine& m = machine::get();
  status answer = m.begin(name);
  if (answer == success) {
    std::unique_lock held(m.lock);
    answer = body(m, held);
  }
  note_status(answer);
  return m.end(name, answer, a, b, c);
}

}  // namespace fake
