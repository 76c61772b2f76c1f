/* gar_device.h - what a device must be able to do so that its streams can be awaited: the port's
 * verbs as a C struct. The library's own devices (sim, vulkan, cuda, hip) and a program's own go
 * through it alike.
 *
 * A "stream" is anything that runs work in order and can store 8 bytes behind it.
 *
 * Threads: `query`, `block`, `poll`, `park` and `unmap` may be called from any thread, also from
 * the library's service thread, at the same time as each other; of one stream's `arm` and
 * `settle` one is called at a time. None may call back into the library. Errors: a
 * negative answer means failed; `failure` then holds the vendor's status and the name of the call
 * that failed. Ownership: `device` and `stream` are the caller's, and must live until the stream is
 * closed and its pages are unmapped (the client's end at the latest).
 */
#ifndef GAR_DEVICE_H
#define GAR_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GAR_PENDING 0
#define GAR_DONE 1
#define GAR_FAILED (-1)
#define GAR_REFUSED (-2) /* of `arm` only: nothing was enqueued, and the stream is as it was */

typedef struct gar_device_failure {
  int32_t status; /* the vendor's number; of GAR_REFUSED an error number of gar_errors.h */
  char call[48];  /* the vendor call that failed, ends in NUL; of GAR_REFUSED the error's {0} */
  char text[96];  /* the vendor's name and words for the status, ends in NUL, may be empty; of
                     GAR_REFUSED the error's {1} */
} gar_device_failure;

/* A page of host memory that the device has been told of. */
typedef struct gar_mapped_page {
  void* host;    /* where the library maps it; writable */
  size_t bytes;  /* a multiple of the system's page size */
  void* mapping; /* what `map` answered; the device's own */
} gar_mapped_page;

/* One 8-byte store: into a word of a mapped page. */
typedef struct gar_device_store {
  const gar_mapped_page* page;
  size_t offset_bytes; /* a multiple of 8 */
  uint64_t value;
} gar_device_store;

typedef struct gar_device_ops {
  size_t struct_bytes; /* sizeof(gar_device_ops) of the caller */
  const char* name;    /* "sim", "vulkan", ...; 1..15 bytes */

  /* Makes a page known to the device. Called once per device and page. Returns 0 or GAR_FAILED. */
  int (*map)(void* device, void* host, size_t bytes, void** mapping, gar_device_failure* failure);
  /* Forgets a page; no store into it is pending then. Returns 0, or GAR_FAILED where the device may
   * still store there: then the library keeps the memory until the process ends. */
  int (*unmap)(void* device, void* mapping);

  /* Enqueues, behind all work of the stream so far and in this order, each visible before the next:
   * the word's store, then the doorbell's; and whatever makes `query(sequence)` answer. `bell` is
   * NULL where there is no doorbell. Returns 0 only if the word's store was enqueued; GAR_FAILED
   * makes the stream fail, GAR_REFUSED only this record. */
  int (*arm)(void* stream, uint64_t sequence, const gar_device_store* word,
             const gar_device_store* bell, gar_device_failure* failure);

  /* The authority: is the work recorded under `sequence` done? GAR_DONE, GAR_PENDING or GAR_FAILED.
   * Never blocks. A number not above one that was already done is done. */
  int (*query)(void* stream, uint64_t sequence, gar_device_failure* failure);

  /* The vendor's blocking wait. timeout_ns is relative; UINT64_MAX means none. GAR_PENDING: the
   * timeout passed. May be NULL: the library then queries with growing pauses. */
  int (*block)(void* stream, uint64_t sequence, uint64_t timeout_ns, gar_device_failure* failure);

  /* Queries to done, burning the CPU. Same answers as `block`. May be NULL: the library loops over
   * `query`. */
  int (*poll)(void* stream, uint64_t sequence, uint64_t timeout_ns, gar_device_failure* failure);

  /* Waits on the word for at most park_ns. 1: ask the authority now; 0: look again. May be NULL:
   * the library parks in hardware where it can. */
  int (*park)(void* stream, const uint64_t* word, uint64_t target, uint64_t park_ns);

  /* Is there work on the stream that no record covers yet? GAR_PENDING: perhaps, GAR_DONE: none.
   * Asked by a wait that names no number. May be NULL: perhaps. */
  int (*idle)(void* stream, gar_device_failure* failure);

  /* Blocks until every store that was enqueued has landed. Returns 0 or GAR_FAILED. */
  int (*settle)(void* stream, gar_device_failure* failure);
} gar_device_ops;

#ifdef __cplusplus
}
#endif

#endif
