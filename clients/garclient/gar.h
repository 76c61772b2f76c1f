/* gar.h - await GPU work without burning a CPU core on it.
 *
 *   gar_client* client;
 *   gar_connect(NULL, &client);                   // to gard, or in-process when there is none
 *   gar_stream_open(client, &ops, device, stream, NULL, &s);
 *   gar_record(s, &sequence);                     // behind the work enqueued so far
 *   gar_wait(s, sequence, NULL, NULL);            // returns when that work is done
 *   gar_stream_close(s);
 *   gar_close(client);
 *
 * A record enqueues, behind the stream's work, the store of the next sequence number into a word of
 * host memory. A wait sleeps until that work is nearly done, parks on the word, and returns success
 * only after the device itself said that the work is done. gard, where it runs, does the waiting
 * for every process of the machine; without it the same calls work in-process.
 *
 * Results: every `int` function returns 0 or an error number of the registry (gar_errors.h);
 * gar_error_text explains a number, gar_last_error the last failure on the calling thread.
 * Units: *_ns nanoseconds. Timeouts are relative.
 * Threads: any thread may call any function; a client or stream must not be closed while another
 * thread uses it. What blocks says so. Nothing calls back. The library has one thread of its own,
 * "gar-service", started with the first stream at gard or the first asynchronous wait; no signal
 * handler of the program runs on it.
 * Ownership: handles are the caller's until closed; strings passed in are copied; strings returned
 * live as long as the program. A program that just ends, without closing, harms nobody.
 * fork: a client opened before fork() is refused in the child with ForkedChild.
 * Structs with `struct_bytes` must be zeroed and have it set to their size, so that they can grow.
 */
#ifndef GAR_H
#define GAR_H

#include <stddef.h>
#include <stdint.h>

#include "gar_device.h"
#include "gar_errors.h"

#if defined(__GNUC__)
#define GAR_API __attribute__((visibility("default")))
#else
#define GAR_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Version and errors ------------------------------------------------------------------- */

/* "0.1.0" */
GAR_API const char* gar_version(void);
/* The registry's name of an error number ("TimedOut"), or "Unknown". */
GAR_API const char* gar_error_name(int error);
/* What an error number says by itself: a whole sentence, without the arguments that the text of a
 * call's own failure has. */
GAR_API const char* gar_error_text(int error);
/* Copies the text of the calling thread's last failure, arguments in place, into `text` (always
 * NUL-terminated if capacity_bytes > 0) and returns its error number, 0 if there was none. */
GAR_API int gar_last_error(char* text, size_t capacity_bytes);

/* ---- Client --------------------------------------------------------------------------------- */

typedef struct gar_client gar_client;

typedef struct gar_client_options {
  size_t struct_bytes;
  const char* socket_path; /* NULL: $GARD_SOCKET, else /run/gard/gard.sock, else
                              $XDG_RUNTIME_DIR/gard/gard.sock */
  const char* name; /* 1..63 bytes of UTF-8, for plans and status; NULL: the program's name */
  uint32_t flags;   /* GAR_CLIENT_* */
  uint32_t look_us; /* with GAR_CLIENT_LOOK; otherwise 0 */
} gar_client_options;

#define GAR_CLIENT_IN_PROCESS 0x1u /* never connect */
/* gar_connect fails with NotReachable where it would settle for in-process; a gard that is lost
 * later still only means in-process. */
#define GAR_CLIENT_NEED_DAEMON 0x2u
/* A thread whose wait gard runs looks for its end for `look_us`, at most 1'000'000, before it goes
 * to sleep: as long as that it uses its core, and has the end some 1 us after gard saw it instead
 * of after a wake. 0 never looks. Without the flag: $GAR_LOOK_US, else 20. */
#define GAR_CLIENT_LOOK 0x4u

/* Connects to gard, for at most a second, or settles for in-process. `options` may be NULL.
 * In-process the plan is $GAR_PLAN, or the one as shipped; once a gard has published plans, its
 * last ones stay in force when it is lost. On a CPU without monitor instructions an inline wait
 * looks at its word without a pause to $GAR_SOFTWARE_SPIN (as shipped "300us") past its begin or,
 * after a sleep, its expected end, then between sleeps of $GAR_SOFTWARE_SLEEP ("20us") and more;
 * the process's first stream fixes both. Blocks for at most the handshake. Errors: InvalidArgument
 * (also of a variable), InvalidPlan (of GAR_PLAN), NotReachable (with GAR_CLIENT_NEED_DAEMON),
 * SystemCall. */
GAR_API int gar_connect(const gar_client_options* options, gar_client** client);

/* Closes every stream left open (their handles are gone with it), ends pending asynchronous waits,
 * whose completions are lost, and frees the client. Blocks while streams settle. NULL is fine.
 * Errors: SettleFailed (see gar_stream_close; the client is closed all the same), ForkedChild (the
 * parent's connection and streams are left alone). */
GAR_API int gar_close(gar_client* client);

#define GAR_MODE_IN_PROCESS 0
#define GAR_MODE_DAEMON 1
/* How new waits are served just now. A client that lost its gard, or never had one, looks for one
 * at new streams, records and waits, at most every 20 ms, less often where nobody answers.
 * In-process also where a client cannot be used: NULL, or one of the parent process. */
GAR_API int gar_mode(const gar_client* client);

/* Publishes the row count of the current batch: it picks the band of every wait that names no rows
 * of its own. 0 until first published. */
GAR_API int gar_rows(gar_client* client, uint32_t rows);

typedef struct gar_counters {
  size_t struct_bytes;
  uint64_t waits;           /* ended, of any kind */
  uint64_t delegated;       /* of them, ended by gard's word */
  uint64_t in_process;      /* of them, ended without a gard (not block, poll or inline ones) */
  uint64_t limit_refused;   /* refused by gard for a limit and run inline instead */
  uint64_t early_words;     /* the word came before the authority said done */
  uint64_t owner_backstops; /* waits that gard was silent about and the library ended itself */
  uint64_t reconnects;
  uint64_t pages_leaked;   /* device pages that did not settle and stay registered */
  uint64_t service_cpu_ns; /* CPU time of the library's service thread */
} gar_counters;

/* struct_bytes must be set. */
GAR_API int gar_client_counters(const gar_client* client, gar_counters* counters);

/* ---- Streams -------------------------------------------------------------------------------- */

typedef struct gar_stream gar_stream;

typedef struct gar_stream_options {
  size_t struct_bytes;
  const char* name; /* up to 63 bytes, for status; may be NULL */
} gar_stream_options;

/* Opens a stream of a device of the program's own. `device` is what `map` gets, `stream` what the
 * other verbs get. `options` may be NULL.
 * Errors: InvalidArgument, Backend (the device's map failed), LimitStreams (of the library itself:
 * 8192 streams per client), SystemCall, ForkedChild. May block for a request to gard. */
GAR_API int gar_stream_open(gar_client* client, const gar_device_ops* ops, void* device,
                            void* stream, const gar_stream_options* options, gar_stream** opened);

/* Opens a stream whose word is its own authority: the producer is not a GPU (a CPU thread, a DPU).
 * gar_record hands out the next number, gar_signal stores it. */
GAR_API int gar_word_stream_open(gar_client* client, const gar_stream_options* options,
                                 gar_stream** opened);
/* Stores `sequence` into a word stream's word, which completes every number up to it. Never blocks.
 * Errors: InvalidArgument (not a word stream, or a number never handed out). */
GAR_API int gar_signal(gar_stream* stream, uint64_t sequence);

/* Settles what is pending, then gives the slot back. Asynchronous waits still pending on the stream
 * end with Closed. Blocks while the stream's work runs. NULL is fine.
 * Errors: SettleFailed: the device could not say that its stores have landed, so its pages stay
 * registered and mapped until the process ends; the stream is closed all the same. ForkedChild. */
GAR_API int gar_stream_close(gar_stream* stream);

/* Is the stream served as the plan asks? Returns 0, or a warning's number (ParkFallback: the device
 * stores no words, so waits poll) with its text as gar_last_error gives one. */
GAR_API int gar_stream_warning(const gar_stream* stream, char* text, size_t capacity_bytes);

/* Records the stream's work so far and gives its number. Like recording an event: many can be in
 * flight, each is complete by itself; at most 256 that are not known to be done.
 * A handle of the device that is not a live stream is the caller's bug and cannot be found out
 * here. Never waits for the device. Errors: LimitRecords, StreamFailed, Backend; of CUDA and HIP
 * streams also Capturing, NoDomain and ForeignStream, with which nothing is enqueued and the stream
 * stays as it is. */
GAR_API int gar_record(gar_stream* stream, uint64_t* sequence);

/* ---- Waits ---------------------------------------------------------------------------------- */

typedef struct gar_wait_options {
  size_t struct_bytes;
  uint64_t timeout_ns; /* 0: none */
  const char* point;   /* the readback point, 1..63 bytes of UTF-8; NULL: estimated per stream */
  uint32_t rows;       /* of this wait's batch, with GAR_WAIT_ROWS */
  uint32_t flags;      /* GAR_WAIT_* */
} gar_wait_options;

#define GAR_WAIT_INLINE 0x1u /* run the plan on the calling thread, whatever it is */
#define GAR_WAIT_ROWS 0x2u   /* `rows` picks the band, not the published count */

#define GAR_KIND_BLOCKED 0
#define GAR_KIND_IMMEDIATE 1
#define GAR_KIND_LATE 2
#define GAR_KIND_PARKED 3

/* How a wait really ended. */
typedef struct gar_report {
  uint64_t wait_ns;  /* from the call to the end */
  uint64_t slept_ns; /* of it, in the predicted sleep */
  uint32_t parks;
  uint32_t backstop_queries;
  uint32_t early_words;
  uint8_t kind;       /* GAR_KIND_* */
  uint8_t delegated;  /* 1: gard did the waiting */
  uint8_t in_process; /* 1: it ended without a gard; 0 for block, poll and inline waits */
  uint8_t reserved;
} gar_report;

/* Waits until the work recorded under `sequence` is done. `options` and `report` may be NULL.
 * Blocks. Errors: TimedOut, Backend (the device failed), StreamFailed, InvalidArgument (a number
 * never recorded), Closed. After an error the report says how far the wait came. */
GAR_API int gar_wait(gar_stream* stream, uint64_t sequence, const gar_wait_options* options,
                     gar_report* report);

/* Waits until the stream's work so far is done: asks the stream, and records if it is pending. */
GAR_API int gar_wait_stream(gar_stream* stream, const gar_wait_options* options,
                            gar_report* report);

/* Is the work recorded under `sequence` done? Asks the device; never blocks. 0 with *done. */
GAR_API int gar_query(gar_stream* stream, uint64_t sequence, int* done);

typedef struct gar_completion {
  uint64_t ticket;
  void* user_data;
  int error; /* 0, or as gar_wait returns */
  int reserved;
  gar_report report;
} gar_completion;

/* Starts a wait and returns at once; it ends as one completion to be taken. `user_data` comes back
 * with it; `ticket` (may be NULL) names the wait for gar_cancel. GAR_WAIT_INLINE is refused with
 * InvalidArgument. At most 4096 waits that were not taken per client: LimitWaits. */
GAR_API int gar_wait_async(gar_stream* stream, uint64_t sequence, const gar_wait_options* options,
                           void* user_data, uint64_t* ticket);

/* A descriptor that polls readable when there is something to take, the same one for as long as the
 * client is open. gar_take may then find that it was not what it looked like, and take nothing. It
 * belongs to the client: do not read or close it. -1 on failure. */
GAR_API int gar_client_fd(gar_client* client);

/* Takes up to `capacity_count` completions; *taken_count may be 0. Never blocks: but the devices of
 * waits that gard says have ended are asked here, on the calling thread. */
GAR_API int gar_take(gar_client* client, gar_completion* completions, size_t capacity_count,
                     size_t* taken_count);

/* Ends a pending asynchronous wait with Cancelled; its completion is still to be taken. 0 also when
 * it has just ended by itself; InvalidArgument for a ticket never given. */
GAR_API int gar_cancel(gar_client* client, uint64_t ticket);

/* ---- The simulated device ------------------------------------------------------------------- */

/* A software device in this process: streams in order, durations as told, faults on request. One
 * thread per gar_sim runs it in real time. */
typedef struct gar_sim gar_sim;
typedef struct gar_sim_queue gar_sim_queue;

GAR_API int gar_sim_create(gar_sim** sim);
/* Every queue must have been destroyed, and the streams opened on them closed. */
GAR_API void gar_sim_destroy(gar_sim* sim);
GAR_API int gar_sim_queue_create(gar_sim* sim, gar_sim_queue** queue);
GAR_API void gar_sim_queue_destroy(gar_sim_queue* queue);

/* Enqueues work of a duration; at its end it writes `value` into `*truth` (may be NULL), which must
 * live until then. */
GAR_API int gar_sim_submit(gar_sim_queue* queue, uint64_t duration_ns, uint64_t* truth,
                           uint64_t value);

#define GAR_SIM_FAULT_LOST_STORE 1  /* the next record's store never lands */
#define GAR_SIM_FAULT_LATE_STORE 2  /* ... lands `value` ns after the work is done */
#define GAR_SIM_FAULT_EARLY_STORE 3 /* ... lands as soon as the work before it starts */
#define GAR_SIM_FAULT_DEVICE_ERROR \
  4 /* the next work fails with status `value`; nothing after it runs */
#define GAR_SIM_FAULT_ARM_ERROR 5 /* the next record is refused with status `value` */
/* Applies to the next record or work enqueued, once. */
GAR_API int gar_sim_fault(gar_sim_queue* queue, int fault, uint64_t value);

/* Opens a stream on a queue of the simulated device. One stream at a time per queue; it must be
 * closed before the queue is destroyed. */
GAR_API int gar_sim_stream_open(gar_client* client, gar_sim_queue* queue,
                                const gar_stream_options* options, gar_stream** opened);
/* When the store of `sequence` landed, as CLOCK_MONOTONIC in ns; 0 if it did not or was forgotten
 * (the last 1024 of a queue are kept). */
GAR_API uint64_t gar_sim_stored_ns(gar_sim_queue* queue, uint64_t sequence);

/* ---- Vulkan --------------------------------------------------------------------------------- */

/* Handles of a program's own VkDevice, which must have been created with
 * VK_EXT_external_memory_host and the timeline semaphore feature. The queue is externally
 * synchronised, as Vulkan demands: if other threads submit to it, give `lock` and `unlock`, which
 * the library calls around its own submissions. */
typedef struct gar_vulkan_queue {
  size_t struct_bytes;
  void* instance;        /* VkInstance */
  void* physical_device; /* VkPhysicalDevice */
  void* device;          /* VkDevice */
  void* queue;           /* VkQueue */
  uint32_t queue_family_index;
  uint32_t reserved;
  void (*lock)(void* context);   /* may be NULL */
  void (*unlock)(void* context); /* may be NULL */
  void* lock_context;
} gar_vulkan_queue;

/* Opens a Vulkan queue as a stream: the store is a transfer command submitted behind the queue's
 * work, the authority a timeline semaphore. Errors: Unavailable (no loader, an extension or feature
 * that is missing, named; or built without Vulkan headers), Backend, ForeignStream. */
GAR_API int gar_vulkan_stream_open(gar_client* client, const gar_vulkan_queue* queue,
                                   const gar_stream_options* options, gar_stream** opened);

/* ---- CUDA and HIP --------------------------------------------------------------------------- */

/* Opens a CUDA stream: a CUstream or cudaStream_t, also 0 or 1 (the legacy default stream) and 2
 * (the calling thread's default stream). The context that is current must be the primary context of
 * its device, as the CUDA runtime's always is, and the stream must belong to it.
 * The handle must be a live stream until gar_stream_close; nobody can check that.
 * A default stream's handle means the calling thread's context, and 2 its very thread: record with
 * the same one current, and always on one thread for 2. Waiting is free to be done anywhere.
 * A plan that blocks uses the vendor's blocking wait; that one knows no timeout, so a wait with one
 * asks with growing pauses, up to 1 ms, instead.
 * Where the driver is there but stores no words, the stream works without them: waits poll, and
 * gar_stream_warning says why.
 * Errors: Unavailable (the library, symbol or device that is missing, a driver that is too old),
 * NoDomain, ForeignStream, Backend. Blocks while the driver starts, once per device up to a second
 * more. */
GAR_API int gar_cuda_stream_open(gar_client* client, void* stream,
                                 const gar_stream_options* options, gar_stream** opened);

/* Opens a HIP stream, a hipStream_t, likewise; it must belong to the device that is current. */
GAR_API int gar_hip_stream_open(gar_client* client, void* stream, const gar_stream_options* options,
                                gar_stream** opened);

/* The driver's side of a CUDA or HIP stream alone, for clients that speak PROTOCOL.md by themselves
 * (the Python one does): its verbs as gar_device.h has them, without a client, a gard or a thread.
 */
typedef struct gar_driver_stream {
  size_t struct_bytes;
  const gar_device_ops* ops; /* the program's for good */
  void* device;              /* what `map` and `unmap` take; equal for all streams of a context */
  void* stream;              /* what the other verbs take */
  char no_stores[256];       /* why its records store nothing, where that is so; ends in NUL */
} gar_driver_stream;

/* As gar_cuda_stream_open and gar_hip_stream_open: which streams, threads, errors, blocking. Each
 * page that is recorded into must have been mapped before; struct_bytes must be set. */
GAR_API int gar_cuda_driver_stream_open(void* stream, gar_driver_stream* opened);
GAR_API int gar_hip_driver_stream_open(void* stream, gar_driver_stream* opened);
/* `settle` it first, and unmap what no other stream of its context uses. NULL is fine. */
GAR_API void gar_driver_stream_close(gar_driver_stream* opened);

#ifdef __cplusplus
}
#endif

#endif
