/* gar.h must be C11 and need nothing before it. */
#include "gar.h"

_Static_assert(sizeof(gar_report) == 32, "reports are an ABI");
_Static_assert(offsetof(gar_report, kind) == 28, "reports are an ABI");
_Static_assert(sizeof(gar_completion) == 56, "completions are an ABI");
_Static_assert(sizeof(gar_client_options) == 32, "options are an ABI");
_Static_assert(sizeof(gar_wait_options) == 32, "options are an ABI");
_Static_assert(sizeof(gar_stream_options) == 16, "options are an ABI");
_Static_assert(sizeof(gar_counters) == 80, "counters are an ABI");
_Static_assert(sizeof(gar_vulkan_queue) == 72, "queues are an ABI");
_Static_assert(GAR_E_BACKEND == 8, "numbers never change");
