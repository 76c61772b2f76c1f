// Findings as a person reads them, and as JSON.
//
// Model: the page has what is broken first, then what costs, what is unknown, what is good; no line
// is longer than 80 columns but for a command's part that no shell would let be broken.
// Threads: pure. Allocation: the text.
#pragma once

#include <boost/json/array.hpp>
#include <string>
#include <vector>

#include "clients/garctl/findings.hpp"
#include "clients/garctl/paint.hpp"

namespace gar {

std::string findings_page(const std::vector<finding>& findings, const paint& colours);

// [{id, verdict, what, measured, figures: [{name, value}], remedy}]
boost::json::array findings_json(const std::vector<finding>& findings);

}  // namespace gar
