// Futex: sleep in the kernel until a 32-bit word changes and somebody says so.
//
// The word may lie in memory that processes share (it is never treated as private), and the mapping
// may be read-only for both sides. The kernel compares and sleeps as one step: a word that changed
// before the call is never slept over. A wake without a change can be missed by a sleeper that has
// not arrived yet; so whoever may write the word changes it first, then wakes.
//
// Threads: any. Blocking: futex_wait does. Allocation: no.
// Errors: none a caller could act on; a refusal for our own wrong arguments aborts.
#pragma once

#include <cstdint>

#include "lib/core/time.hpp"

namespace gar {

enum class futex_ended : uint8_t {
  look_again,  // woken, interrupted, or the word is not `expected`
  timed_out,   // `until` has come
};

// Sleeps while `word == expected`, until a wake, a signal or `until`.
futex_ended futex_wait(const uint32_t& word, uint32_t expected, instant until = instant::never());

// Wakes everybody who sleeps on the word (a word that peers can read may have sleepers that are not
// ours, and one of those could take a single wake). Says how many were woken.
int futex_wake(const uint32_t& word);

}  // namespace gar
