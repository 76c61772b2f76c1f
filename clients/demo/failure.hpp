// A failure as the demo passes it on, from a worker to the person: a number and a sentence.
//
// The library gives a failure as a number and a text; what it was made of is not known any more, so
// that a gar::error cannot be made of it again.
// Threads: values; `library_failure` tells of the calling thread's last failure.
#pragma once

#include <boost/system/result.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "lib/core/error.hpp"

namespace gar {

struct demo_failure {
  uint16_t code = 0;  // of the registry; 0: none has a number
  std::string text;   // the whole sentence, the number in it
};

template <class T>
using demo_result = boost::system::result<T, demo_failure>;

// Called by boost::system::result when value() is asked of a failure: a bug of the caller.
[[noreturn]] void throw_exception_from_error(const demo_failure& f, const boost::source_location&);

demo_failure failure_of(std::string_view call, const error& e);
// What the library said of its last failure on this thread, which `call` answered as `number`.
demo_failure library_failure(std::string_view call, int number);

}  // namespace gar
