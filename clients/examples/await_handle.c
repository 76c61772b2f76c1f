/* A stream of which only a number is known, as Python frameworks hand it out:
 *
 *   torch.cuda.Stream().cuda_stream      cupy.cuda.Stream().ptr
 *
 * Built as a shared library; await_handle.py calls it. The number must be a live stream of this
 * process, and its device's context current on the calling thread, as the framework leaves it.
 * Let go of an interpreter's lock around the call (ctypes does), since it blocks. */
#include <gar.h>
#include <stdio.h>

static int fail(const char* call) {
  char text[1024];
  const int number = gar_last_error(text, sizeof(text));
  fprintf(stderr, "%s: 0x%04x %s: %s\n", call, (unsigned)number, gar_error_name(number), text);
  return number;
}

static int await_on(gar_client* client, int is_hip, uint64_t handle) {
  void* as_pointer = (void*)(uintptr_t)handle;
  gar_stream* stream = NULL;
  const int opened = is_hip ? gar_hip_stream_open(client, as_pointer, NULL, &stream)
                            : gar_cuda_stream_open(client, as_pointer, NULL, &stream);
  if (opened != 0) return fail("opening the stream");
  gar_report report;
  int status = gar_wait_stream(stream, NULL, &report);
  if (status != 0) {
    fail("gar_wait_stream");
  } else {
    printf("done after %llu us\n", (unsigned long long)report.wait_ns / 1000);
    fflush(stdout);
  }
  const int closed = gar_stream_close(stream);
  if (closed != 0) fail("gar_stream_close");
  return status != 0 ? status : closed;
}

/* Waits until all work of the stream so far is done. 0, or an error number of gar_errors.h.
 * A program that waits often keeps the client and the stream open instead. */
GAR_API int await_handle(int is_hip, uint64_t handle);
int await_handle(int is_hip, uint64_t handle) {
  gar_client* client = NULL;
  if (gar_connect(NULL, &client) != 0) return fail("gar_connect");
  const int status = await_on(client, is_hip, handle);
  const int closed = gar_close(client);
  return status != 0 ? status : closed;
}
