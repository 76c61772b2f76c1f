// Event lines: what gard answers to `events`, as a line an event.
//
// gard dates events by a clock that only rises; a person wants the time of day. Each answer says
// what gard's clock is now, so the wall clock at the answer dates the events before it.
//
//     18:03:07.412  stream_opened     trainer (7)  stream 2: end-of-step
//
// Invariants: an event is shown once; what was lost, and a gard that began anew, have lines of
// their own. Threads: a value. Allocation: the lines.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "clients/garctl/paint.hpp"

namespace gar {

class event_lines {
 public:
  event_lines(bool as_json, const paint& colours) : as_json_(as_json), colours_(colours) {}

  // What to ask next. Without a number it asks where the log ends now.
  boost::json::object request() const;
  // Everything that is kept comes first.
  void from_the_first() { after_ = 0; }

  // The lines of one answer, each with its newline; `wall_ns` is the time of day now, since 1970.
  std::string take(const boost::json::value& answer, uint64_t wall_ns);
  // There is more at once.
  bool more() const { return more_; }

 private:
  std::string line_of(const boost::json::value& event, uint64_t wall_ns) const;
  std::string notice(std::string_view what, std::string_view text, boost::json::object fields,
                     uint64_t wall_ns) const;

  bool as_json_;
  paint colours_;
  std::optional<uint64_t> after_;
  uint64_t log_ = 0;  // which log the number is of; 0: none yet
  bool more_ = false;
};

}  // namespace gar
