// Question: what does one look of a reactor cost, per armed word, and does it depend on how many
// streams are open beside those armed?
// Floor: a plain loop of acquire loads and wrapping compares over the same words.
// Not measured: the wake of what was found, cache misses from devices storing meanwhile.
#include <memory>

#include "bench/measure.hpp"
#include "lib/core/reactor.hpp"

namespace gar::bench {
namespace {

struct armed_reactor {
  explicit armed_reactor(size_t armed_count, size_t open_count)
      : lines(open_count / proto::words_per_line) {
    for (size_t i = 0; i < armed_count; ++i) {
      const size_t word = i * (open_count / armed_count);
      host.spawn(
          wait_one(host, lines[word / proto::words_per_line].word[word % proto::words_per_line]));
    }
    host.run_ready();
  }
  static reactor::task<> wait_one(reactor& r, const uint64_t& word) {
    co_await r.wait(memory_descriptor(word, 1));
  }

  std::vector<proto::completion_line> lines;
  reactor host;
};

uint64_t time_looks(armed_reactor& of, size_t looks) {
  const uint64_t from = now_ns();
  for (size_t i = 0; i < looks; ++i) of.host.look();
  return (now_ns() - from) / looks;
}

uint64_t time_plain(const std::vector<proto::completion_line>& lines, size_t looks) {
  const uint64_t from = now_ns();
  uint64_t found = 0;
  for (size_t i = 0; i < looks; ++i) {
    for (const proto::completion_line& line : lines) {
      for (const uint64_t& word : line.word) found += reached(proto::load_word(word), 1);
    }
  }
  const uint64_t spent = now_ns() - from;
  return spent / looks + found;  // found is 0; read so that the loop stays
}

}  // namespace

case_result run_scan(const options& o) {
  const size_t rounds = o.quick ? 5 : 40;
  const size_t samples_of_round = 10;
  const size_t looks = 50;
  armed_reactor many(4096, 4096);
  armed_reactor few_of_many(64, 65536);
  armed_reactor few(64, 64);
  samples many_ns, plain_ns, few_of_many_ns, few_ns;
  for (size_t i = 0; i < rounds; ++i) {
    for (samples* each : {&many_ns, &plain_ns, &few_of_many_ns, &few_ns}) each->begin_round();
    for (size_t j = 0; j < samples_of_round; ++j) {
      many_ns.add(time_looks(many, looks));
      plain_ns.add(time_plain(many.lines, looks));
      few_of_many_ns.add(time_looks(few_of_many, looks * 10));
      few_ns.add(time_looks(few, looks * 10));
    }
  }
  case_result r;
  r.rows = {{"look at 4096 armed", many_ns.all()},
            {"floor: plain loop over 4096", plain_ns.all()},
            {"look at 64 armed of 65536", few_of_many_ns.all()},
            {"look at 64 armed of 64", few_ns.all()}};
  r.figures = {{"4096 armed, over the plain loop", ratio(many_ns, plain_ns, 0.5), ""},
               {"64 of 65536 open, over 64 of 64", ratio(few_of_many_ns, few_ns, 0.5), ""}};
  r.findings = {{"scan_4096_ns", static_cast<double>(r.rows[0].times.p50_ns) / 4096, {}}};
  return r;
}

}  // namespace gar::bench
