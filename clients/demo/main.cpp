// gar-demo - the main job, seen: processes awaiting real device work through gard.
#include <unistd.h>

#include <boost/json/serialize.hpp>
#include <iostream>

#include "clients/demo/demo_options.hpp"
#include "clients/demo/demo_run.hpp"

namespace {

// A wait that ended wrong is told loudly, whatever else is printed.
int judge(const gar::demo_report& report) {
  if (report.right()) return 0;
  const auto tell = [](const std::string& what, const gar::run_sum& run) {
    if (run.counts.failed == 0) return;
    std::cerr << "gar-demo: FAILED: " << what << ": " << run.counts.failed
              << " waits; the first: " << run.counts.failure << '\n';
  };
  for (size_t i = 0; i < report.runs.size(); ++i) tell(report.options.plans[i], report.runs[i]);
  tell("spinning", report.spin);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  gar::demo_options options;
  if (const auto ended = gar::parse_demo_options(argc, argv, options)) {
    (ended->exit_status == 0 ? std::cout : std::cerr) << ended->text;
    return ended->exit_status;
  }
  gar::demo_report report;
  if (const auto end = gar::run_demo(options, report)) {
    std::cerr << end->text;
    return end->exit_status;
  }
  if (options.json) {
    std::cout << boost::json::serialize(gar::to_json(report)) << '\n';
  } else {
    std::cout << gar::table_of(report, gar::paint_for(STDOUT_FILENO));
  }
  const int status = judge(report);
  if (std::cout.flush() || status != 0) return status;
  std::cerr << "gar-demo: standard output cannot be written\n";
  return 1;
}
