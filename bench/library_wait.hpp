// One wait of the library at a time, as a side of a comparison of wakes.
//
// Threads: the client's. Errors: cannot_measure.
#pragma once

#include "bench/wake.hpp"
#include "bench/word_client.hpp"

namespace gar::bench {

class library_wait : public wake_side {
 public:
  explicit library_wait(word_client& of, uint32_t flags = 0) : of_(of) {
    options_.struct_bytes = sizeof(options_);
    options_.flags = flags;
  }
  store_order expect() override {
    const store_order o = of_.record();
    sequence_ = o.value;
    return o;
  }
  void await() override {
    must_be_ok(gar_wait(of_.stream(), sequence_, &options_, nullptr), "gar_wait");
  }

 private:
  word_client& of_;
  gar_wait_options options_{};
  uint64_t sequence_ = 0;
};

}  // namespace gar::bench
