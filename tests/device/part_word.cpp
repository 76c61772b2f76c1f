// How a CPU of this machine waits for a word, and whether a store from the card ends the wait.
//
// A hardware wait may end by itself early, and often does within some tens of microseconds, so that
// returning proves nothing. Two kinds of waits take turns:
//
//   watched   on the very line that the card stores to
//   blind     on a line that nobody stores to, while looking at the same word
//
// If a store wakes, watched waits return at once and blind ones when the hardware's own bound or
// the park's has passed. Both are dated from an observer's sight of the word.
#include <boost/json/array.hpp>

#include "lib/linux/steady_clock.hpp"
#include "lib/linux/word_wait.hpp"
#include "proto/line.hpp"
#include "tests/device/observer.hpp"
#include "tests/device/part.hpp"

namespace gar::device_check {
namespace {

namespace json = boost::json;

constexpr size_t witness = 0;  // stored by the work itself
constexpr size_t stored = 1;   // by a store of the stream, as gard's words are
constexpr size_t quiet = 2;    // by nobody
constexpr duration park = from_us(100);

struct word_waits {
  json::array delays_ns;
  uint64_t looks = 0;
  uint64_t parks = 0;
  uint64_t waited_ns = 0;
};

struct arena {
  card& on;
  cuda::stream stream;
  const word_waiter& waiter;
  observer& eye;
  uint64_t rounds;
  uint64_t number = 0;
};

void wait_once(arena& a, bool by_stream, const uint64_t& watched, word_waits& into) {
  const uint64_t number = ++a.number;
  const uint64_t& word = a.on.word(by_stream ? stored : witness);
  const uint64_t expected = by_stream ? number : a.on.witness(number);
  a.eye.watch(word, expected);
  a.on.submit(a.on.primary(), a.stream, a.rounds, witness, number);
  if (by_stream) {
    a.on.need(a.on.driver().StreamWriteValue64(a.stream, a.on.address_of(stored), number, 0),
              "cuStreamWriteValue64_v2");
  }
  steady_clock clock;
  const instant start = clock.now();
  const auto waiting = [&] {
    ++into.looks;
    return proto::load_word(word) != expected;
  };
  while (proto::load_word(word) != expected) {
    ++into.parks;
    a.waiter.wait(watched, waiting, clock.now() + park, clock);
  }
  const instant end = clock.now();
  into.waited_ns += (end - start).ns;
  into.delays_ns.push_back(static_cast<int64_t>(end.ns - a.eye.seen().ns));
}

json::object as_json(const word_waits& w) {
  return {{"delays_ns", w.delays_ns},
          {"looks", w.looks},
          {"parks", w.parks},
          {"waited_ns", w.waited_ns}};
}

json::object measure(arena& a, bool by_stream, uint64_t repeats) {
  word_waits watched;
  word_waits blind;
  for (uint64_t i = 0; i < repeats; ++i) {
    wait_once(a, by_stream, a.on.word(by_stream ? stored : witness), watched);
    if (a.waiter.hardware()) wait_once(a, by_stream, a.on.word(quiet), blind);
  }
  json::object both{{"watched", as_json(watched)}};
  if (a.waiter.hardware()) both["blind"] = as_json(blind);
  return both;
}

json::object measure_or_say(arena& a, bool by_stream, uint64_t repeats) {
  try {
    return measure(a, by_stream, repeats);
  } catch (const broken& e) {
    return {{"refused", e.what()}};
  }
}

}  // namespace

json::object run_word(const settings& with) {
  const word_wait_probe probe = probe_word_wait();
  json::object saw{{"kind", name_of(probe.report.kind)},
                   {"hardware", probe.report.hardware},
                   {"says", probe.report.why},
                   {"park_ns", park.ns}};
  try {
    card on({with.kernels});
    observer eye;
    arena a{on, on.make_stream(on.primary()), probe.waiter, eye, with.rounds(with.work_us), 0};
    saw["work_store"] = measure_or_say(a, false, with.repeats);
    saw["stream_store"] = measure_or_say(a, true, with.repeats);
    on.destroy_stream(a.stream);
  } catch (const broken& e) {
    saw["no_card"] = e.what();
  }
  return saw;
}

}  // namespace gar::device_check
