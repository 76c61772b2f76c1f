// gard's answers as pages for a person: what runs and why first, then counters, in aligned tables.
//
// Each takes the answer's "result" and gives the whole page, ending in a newline. A warning is
// shown with its number, its text and, where this version knows the number, what to do about it.
//
// Threads: pure. Allocation: the page.
#pragma once

#include <boost/json/value.hpp>
#include <string>

#include "clients/garctl/paint.hpp"

namespace gar {

std::string status_page(const boost::json::value& status, const paint& colours);
std::string clients_page(const boost::json::value& clients, const paint& colours);
std::string streams_page(const boost::json::value& streams, const paint& colours);
std::string points_page(const boost::json::value& points, const paint& colours);
std::string plans_page(const boost::json::value& plans, const paint& colours);
// Text for a program, as gard wrote it.
std::string metrics_page(const boost::json::value& metrics, const paint& colours);
std::string version_page(const boost::json::value& version, const paint& colours);
// What a change answers: the generation, and for a plan what runs now.
std::string change_page(const boost::json::value& changed, const paint& colours);
std::string caps_page(const boost::json::value& caps, const paint& colours);

// {code, name, text} as lines that are indented by `indent` blanks; empty where it is null.
std::string warning_lines(const boost::json::value& warning, size_t indent, const paint& colours);

}  // namespace gar
