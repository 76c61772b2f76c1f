// The target that must be found out: it reads behind its buffer for one input in 2^32. A run of the
// fuzzer that does not find it has lost its instrumentation or its sanitizers.
#include <cstring>
#include <memory>

#include "tests/fuzz/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  if (bytes < 4 || data[0] != 'g' || data[1] != 'a' || data[2] != 'r' || data[3] != 'd') return 0;
  const auto copy = std::make_unique<uint8_t[]>(bytes);
  std::memcpy(copy.get(), data, bytes);
  // Without a sanitizer such a read goes unseen, so that the replay needs the check behind it.
  const volatile uint8_t behind = copy[bytes];
  must(behind == 0 && bytes == 0);
  return 0;
}
