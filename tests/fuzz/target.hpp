// One fuzzing target: the function that its engine calls with each input, and how it says no.
//
// Model: libFuzzer calls LLVMFuzzerTestOneInput over and over, with inputs that it makes up from
// the ones that reached new code; replay_main.cpp calls it once for each file of a corpus. A target
// feeds one decoder, and states with `must` what holds whatever the bytes are. A crash, a
// sanitizer's report, an abort by GAR_ASSERT and a broken `must` are all findings.
//
// Invariants: nothing of one input is left for the next, and no clock, random number or address
// decides anything, so that an input does the same every time.
// Threads: one. Ownership: the bytes are the engine's, for the length of the call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes);

namespace gar::fuzz {

[[noreturn]] inline void broken(const char* what, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: broken: %s\n", file, line, what);
  std::abort();
}

}  // namespace gar::fuzz

#define must(holds) ((holds) ? void(0) : ::gar::fuzz::broken(#holds, __FILE__, __LINE__))
