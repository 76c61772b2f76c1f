// What garctl's own process sees of this host: its capabilities, and the drivers that a client here
// could use.
//
// gard loads no vendor's library, so nobody but a client can say what the drivers can do; and a
// host has capabilities whether or not a gard runs.
//
// Threads: any. Blocking: some milliseconds, and for as long as the drivers take to start.
// Allocation: the answer, in the shape of gard's own `caps`.
#pragma once

#include <boost/json/object.hpp>

namespace gar {

// {word_wait, capabilities}
boost::json::object probed_capabilities();
// [{name, available, why}]
boost::json::array probed_drivers();

}  // namespace gar
