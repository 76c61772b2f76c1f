// The port's verbs over event streams, for any driver.
//
// `device` is an event_stream's device_key(), `stream` the event_stream. Threads, blocking and
// errors: event_stream.hpp.
#pragma once

#include "lib/port/gar_device.h"

namespace gar {

// `name` lives as long as the program.
gar_device_ops event_ops(const char* name);

}  // namespace gar
