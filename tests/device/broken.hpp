// A part of the check that cannot go on: what was tried, and what came of it.
//
// Thrown, because nothing between the call that failed and the part's end has anything to add.
#pragma once

#include <stdexcept>
#include <string>

#include "clients/garclient/gar.h"
#include "lib/core/error.hpp"

namespace gar::device_check {

class broken : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// "0x0008 Backend: cuEventQuery failed with status 700 (...)": the calling thread's last failure.
inline std::string last_failure() {
  char text[1024];
  const int number = gar_last_error(text, sizeof(text));
  char code[16];
  std::snprintf(code, sizeof(code), "0x%04x ", static_cast<unsigned>(number));
  return code + std::string(gar_error_name(number)) + ": " + text;
}

inline void need(int number, const char* call) {
  if (number != 0) throw broken(std::string(call) + ": " + last_failure());
}

template <class T>
T need(result<T> made) {
  if (!made) throw broken(made.error().headline());
  return std::move(*made);
}

}  // namespace gar::device_check
