// A thread that may wait for a driver, for threads that must not.
//
// Some drivers' queries are known to take hundreds of milliseconds. A thread that serves many
// streams marks itself; a query on it is then handed to this thread, and answers "not yet" if that
// takes longer than a moment.
//
// Threads: marking is per thread; `post` by any. One patient thread per process, made at the first
// post, never joined. Errors: false where no thread can be made.
#pragma once

#include <functional>

namespace gar {

// The calling thread must not be kept waiting, from now on.
void mark_thread_impatient();
bool thread_is_impatient();

// Runs `work` on the patient thread, in order.
bool post_to_patient_thread(std::function<void()> work);

}  // namespace gar
