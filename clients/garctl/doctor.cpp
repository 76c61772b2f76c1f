#include "clients/garctl/doctor.hpp"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <ostream>

#include "clients/garctl/findings.hpp"
#include "clients/garctl/findings_page.hpp"
#include "clients/garctl/node_reading.hpp"
#include "clients/garctl/replies.hpp"

namespace gar {

int doctor(const command_line& line, terminal& with) {
  const result<node_seen> seen = read_node(line.control);
  if (!seen) return print_usage_error(seen.error(), with);
  const std::vector<finding> findings = judge(*seen);
  if (line.json) {
    with.out << boost::json::serialize(findings_json(findings)) << '\n';
  } else {
    with.out << findings_page(findings, with.out_paint);
  }
  const bool broken = std::any_of(findings.begin(), findings.end(),
                                  [](const finding& each) { return each.is == verdict::broken; });
  return broken ? status_refused : status_fine;
}

}  // namespace gar
