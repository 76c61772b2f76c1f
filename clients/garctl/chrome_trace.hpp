// Chrome trace: waits as spans in the JSON that Perfetto and chrome://tracing open.
//
// A client is a process there, a stream a thread, and a wait a track of its own below it, since
// waits on one stream overlap:
//
//     wait        from the client's start to the notification; how it ended in its arguments
//       registered  on its way to gard
//       slept       the predicted sleep
//       parked      until the word was seen
//       seen        (an instant)
//       notified    until its completion could be read
//       confirmed   (an instant) where the authority had said done; else the owner asks it now
//
// Invariants: a span never ends before it begins, whatever gard answered; spans of a wait nest.
// Memory: of each stream that it has a wait, and that it is named; each wait is written as it
// comes. Threads: one. Errors: the stream's own state.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <iosfwd>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace gar {

class chrome_trace {
 public:
  explicit chrome_trace(std::ostream& out);

  // The "waits" of one answer. True where a stream is among them that had none before: who asks now
  // may learn its name while it is there.
  bool add(const boost::json::value& waits);
  // What clients and streams are called: answers to `clients` and `streams`. The first name stays.
  void name_clients(const boost::json::value& clients);
  void name_streams(const boost::json::value& streams);
  // Nothing is added afterwards. `lost` waits found no room at gard.
  void end(uint64_t lost);

  uint64_t waits() const { return waits_; }

 private:
  struct times;
  void add_one(const boost::json::value& wait);
  void event(std::string_view phase, std::string_view name, uint64_t at_ns,
             const boost::json::value& of, boost::json::object arguments = {});
  void name(std::string_view what, uint64_t client, uint64_t stream, std::string_view name);
  void write(const boost::json::value& event);

  std::ostream& out_;
  uint64_t origin_ns_ = 0;  // of the first wait, so that the numbers stay short
  uint64_t waits_ = 0;
  bool first_ = true;
  std::set<std::pair<uint64_t, uint64_t>> streams_;  // client, stream: those with a wait
  std::set<std::tuple<std::string, uint64_t, uint64_t>> named_;
};

}  // namespace gar
