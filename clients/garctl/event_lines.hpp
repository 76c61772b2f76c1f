// Event lines: what gard answers to `events`, as a line an event.
//
// gard dates events by a clock that only rises; a person wants the time of day. Each answer says
// what gard's clock is now, so the wall clock at the answer dates the events before it.
//
//     18:03:07.412  stream_opened     trainer (7)  stream 2: end-of-step
//
// An event's number is good for one gard and one asker: on the clients' socket each user's are
// numbered by themselves.
//
//     the same socket, the same gard  --> the next question is for what is behind the last number
//     another socket, the same gard   --> all that is kept is asked for; what is older than the
//                                         last answer was shown already
//     another gard                    --> said so, and read from its beginning
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

  // The lines of one answer, each with its newline; `wall_ns` is the time of day now, since 1970;
  // `from` is the socket that gave it.
  std::string take(const boost::json::value& answer, uint64_t wall_ns, std::string_view from = {});
  // There is more at once.
  bool more() const { return more_; }

 private:
  void begin_anew(uint64_t log, std::string_view from);
  std::string take_events(const boost::json::value& answer, uint64_t wall_ns);
  std::string line_of(const boost::json::value& event, uint64_t wall_ns) const;
  std::string lost_line(uint64_t lost, uint64_t wall_ns) const;
  std::string notice(std::string_view what, std::string_view text, boost::json::object fields,
                     uint64_t wall_ns) const;

  bool as_json_;
  paint colours_;
  std::optional<uint64_t> after_;
  uint64_t log_ = 0;  // which log the number is of; 0: none yet
  std::string from_;  // whose number it is
  uint64_t seen_ns_ =
      0;                // by gard's clock: what happened until then was shown, or is another log's
  bool again_ = false;  // what comes may have been shown
  bool more_ = false;
};

}  // namespace gar
