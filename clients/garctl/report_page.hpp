// Report page: what gard did for a node since its start, as one file for a browser.
//
// Model: from gard's answers to status, figures, clients and plan_show, one HTML document without a
// script, a font or a picture from elsewhere: it can be mailed, and opened without a network.
// Invariants: every text that came from gard is escaped; what gard did not say is "?" or left out.
// Threads: pure. Allocation: the page.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <string_view>

namespace gar {

struct report_answers {
  boost::json::value status;
  boost::json::value figures;
  boost::json::value clients;
  boost::json::value plans;
};

// `made_at` is shown as it is.
std::string report_page(const report_answers& from, std::string_view made_at);

}  // namespace gar
