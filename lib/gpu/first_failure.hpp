// The first failure of something that then stays failed: what every later call repeats.
//
// A driver says once why, and answers later calls with whatever comes of that; a person needs the
// first.
//
// Threads: one at a time. Errors: `repeat` answers GAR_FAILED.
#pragma once

#include <string>
#include <utility>

#include "lib/gpu/device_failure.hpp"
#include "lib/gpu/stream_driver.hpp"

namespace gar {

class first_failure {
 public:
  explicit operator bool() const { return set_; }

  // `text` is the vendor's name and words for the status. Later ones are not kept.
  void note(const driver_status& status, std::string text) {
    if (set_) return;
    set_ = true;
    status_ = status;
    text_ = std::move(text);
  }
  int repeat(gar_device_failure* failure) const {
    return device_failed(failure, status_.number, status_.call, text_);
  }

 private:
  bool set_ = false;
  driver_status status_;
  std::string text_;
};

}  // namespace gar
