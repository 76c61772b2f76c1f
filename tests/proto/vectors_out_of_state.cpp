#include <map>
#include <string>
#include <string_view>

#include "lib/core/error.hpp"
#include "tests/proto/vectors.hpp"

namespace gar::proto::test {
namespace {

struct state_case {
  const char* state;     // of the connection when the frame comes
  const char* name;      // of the file
  const char* original;  // the right frame that it is
  errc error;
  bool fatal;
  const char* meaning;
};

constexpr state_case cases[] = {
    {"ready", "second_hello", "hello/usual", errc::OutOfState, true, "A hello after the welcome."},
    {"new", "open_before_hello", "open/unnamed", errc::OutOfState, true, "An open before hello."},
    {"new", "close_before_hello", "close/usual", errc::OutOfState, true, "A close before hello."},
    {"new", "point_before_hello", "point/first", errc::OutOfState, true, "A point before hello."},
    {"new", "wait_before_hello", "wait/usual", errc::OutOfState, true, "A wait before hello."},
    {"new", "kick_before_hello", "kick/usual", errc::OutOfState, true, "A kick before hello."},
    {"ready", "kick_without_ring", "kick/usual", errc::OutOfState, true,
     "A kick on a connection that has no ring."},
    {"new", "cancel_before_hello", "cancel/usual", errc::OutOfState, true,
     "A cancel before hello."},
    {"new", "status_before_hello", "status/each", errc::OutOfState, true,
     "An answer to a probe before hello."},
    {"new", "outcome_before_hello", "outcome/each", errc::OutOfState, true,
     "An outcome before hello."},
    {"ready", "welcome_from_client", "welcome/usual", errc::OutOfState, true,
     "Only gard sends a welcome."},
    {"ready", "page_from_client", "page/second", errc::OutOfState, true, "Only gard sends a page."},
    {"ready", "opened_from_client", "opened/first", errc::OutOfState, true,
     "Only gard sends an opened."},
    {"ready", "closed_from_client", "closed/usual", errc::OutOfState, true,
     "Only gard sends a closed."},
    {"ready", "plan_from_client", "plan/default", errc::OutOfState, true,
     "Only gard sends a plan."},
    {"ready", "completion_from_client", "completion/parked", errc::OutOfState, true,
     "Only gard sends a completion."},
    {"ready", "probe_from_client", "probe/one", errc::OutOfState, true, "Only gard sends a probe."},
    {"ready", "error_from_client", "error/refusal", errc::OutOfState, true,
     "Only gard sends an error."},
    {"ready", "answer_from_client", "answer/whole", errc::OutOfState, true,
     "Only gard sends an answer."},
    {"new", "welcome_before_hello", "welcome/usual", errc::OutOfState, true,
     "Only gard sends a welcome, in any state."},
    {"ready", "wait_unknown_stream", "wait/largest", errc::UnknownStream, false,
     "A wait on a stream that was never opened; the stream is looked at first."},
    {"ready", "close_unknown_stream", "close/largest", errc::UnknownStream, false,
     "A close of a stream that was never opened."},
};

// A hello of a later version alone, whose bytes this version can read.
vector_case later_version(const vector_case& hello) {
  vector_case one = hello;
  one.file = "out_of_state/hello_of_version_2.bin";
  one.bytes.replace(8, 4, std::string("\x02\x00\x02\x00", 4));
  one.fields.clear();
  one.error = static_cast<uint16_t>(errc::VersionMismatch);
  one.state = "new";
  one.fatal = true;
  one.meaning = "A hello that speaks version 2 alone.";
  return one;
}

}  // namespace

std::vector<vector_case> out_of_state_vectors() {
  std::map<std::string, vector_case> right;
  for (const vector_case& one : valid_vectors()) right[one.file] = one;
  std::vector<vector_case> all;
  for (const state_case& wanted : cases) {
    const auto found = right.find("valid/" + std::string(wanted.original) + ".bin");
    GAR_ASSERT(found != right.end());
    vector_case one = found->second;
    one.file = std::string("out_of_state/") + wanted.name + ".bin";
    one.fields.clear();
    one.error = static_cast<uint16_t>(wanted.error);
    one.state = wanted.state;
    one.fatal = wanted.fatal;
    one.meaning = wanted.meaning;
    all.push_back(std::move(one));
  }
  all.push_back(later_version(right.at("valid/hello/usual.bin")));
  return all;
}

}  // namespace gar::proto::test
