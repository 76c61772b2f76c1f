// Is the process ending? From then on no driver call may be made.
//
// A vendor's library takes itself apart in the process's exit handlers, in an order that nobody
// else controls. So what still runs then (a destructor of the program, a thread) must find out, and
// leave behind what it would have given back.
//
//   watch_process_exit, after the driver was loaded -> ... -> exit() -> process_is_exiting
//
// Threads: any. Handlers that were registered before the first watch run after it is over, those
// registered later before: the driver is whole as long as the answer is no.
#pragma once

namespace gar {

void watch_process_exit();
bool process_is_exiting();

}  // namespace gar
