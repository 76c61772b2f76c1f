// Random numbers of one run: every choice of a run comes from its seed, so that the seed is the
// run.
//
// Threads: values. Allocation: none.
#pragma once

#include <cstdint>

namespace gar::sim {

class random_source {
 public:
  explicit random_source(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 0x1234567) {
    for (int i = 0; i < 4; ++i) next();
  }

  // splitmix64.
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // 0 .. bound - 1; 0 where the bound is 0.
  uint64_t below(uint64_t bound) {
    if (bound == 0) return 0;
    return static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
  }
  uint64_t between(uint64_t least, uint64_t most) { return least + below(most - least + 1); }
  // In `per_million` of a million cases.
  bool chance(uint32_t per_million) { return per_million != 0 && below(1'000'000) < per_million; }
  // Between least and most, each order of magnitude as likely as another.
  uint64_t spread(uint64_t least, uint64_t most) {
    uint64_t top = least;
    while (top < most && below(3) != 0) top *= 4;
    return between(least, top < most ? top : most);
  }
  template <class T, unsigned long N>
  const T& one_of(const T (&all)[N]) {
    return all[below(N)];
  }

 private:
  uint64_t state_;
};

}  // namespace gar::sim
