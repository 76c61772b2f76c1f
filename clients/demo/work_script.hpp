// What the demo's simulated work does: how long each piece takes, and when it is waited for.
//
// A wait ends in one of four kinds, by how long the work takes against what was predicted. Real
// devices do as they do; simulated work follows a script of 20 pieces, over and over, in which each
// kind has its place:
//
//     piece 1       a quarter of the work: done before the predicted sleep ends     late
//     piece 3       a thousandth of it, and waited for only once it is done         immediate
//     all others    the work, up to 1/16 longer                                     parked (or
//     blocked)
//
// Pieces 0 and 2 teach the estimator; from piece 4 on its window holds a wait that took no time, so
// that it predicts none until eight longer ones came; the last pieces are slept for again.
//
// Threads: pure. Units: nanoseconds.
#pragma once

#include <cstdint>

#include "lib/core/time.hpp"

namespace gar {

struct piece_of_work {
  duration takes;
  bool done_before_wait = false;
};

// `stream` sets the streams' jitter apart.
constexpr piece_of_work scripted_piece(duration work, uint32_t stream, uint64_t index) {
  constexpr uint64_t pieces = 20;
  switch (index % pieces) {
    case 1:
      return {work / 4, false};
    case 3:
      return {work / 1000 + duration{1}, true};
    default: {
      // A number that looks like chance and is the same in every run.
      const uint64_t mixed = (index * 0x9e3779b97f4a7c15 + stream * 0xbf58476d1ce4e5b9) >> 56;
      return {work + duration{work.ns / 16 * mixed / 256}, false};
    }
  }
}

}  // namespace gar
