/* A wait that is given up: the program no longer wants the answer, the work goes on. The
 * completion still comes, with Cancelled, so that what hangs on it can be let go; the same work can
 * be waited for again.
 * usage: cancelled */
#include <gar.h>
#include <poll.h>
#include <stdio.h>

static int fail(const char* call) {
  char text[1024];
  const int number = gar_last_error(text, sizeof(text));
  fprintf(stderr, "%s: 0x%04x %s: %s\n", call, (unsigned)number, gar_error_name(number), text);
  return 1;
}

static int cancel_one(gar_client* client, gar_stream* stream, uint64_t sequence) {
  uint64_t ticket = 0;
  if (gar_wait_async(stream, sequence, NULL, NULL, &ticket) != 0) return fail("gar_wait_async");
  if (gar_cancel(client, ticket) != 0) return fail("gar_cancel");
  struct pollfd readable = {.fd = gar_client_fd(client), .events = POLLIN};
  if (poll(&readable, 1, 10000) != 1) return 3;
  gar_completion ended;
  size_t count = 0;
  if (gar_take(client, &ended, 1, &count) != 0) return fail("gar_take");
  if (count != 1 || ended.ticket != ticket || ended.error != GAR_E_CANCELLED) return 2;
  printf("wait %llu: %s\n", (unsigned long long)ticket, gar_error_text(ended.error));
  return 0;
}

int main(void) {
  gar_client* client = NULL;
  gar_sim* sim = NULL;
  gar_sim_queue* queue = NULL;
  gar_stream* stream = NULL;
  if (gar_connect(NULL, &client) != 0) return fail("gar_connect");
  if (gar_sim_create(&sim) != 0) return fail("gar_sim_create");
  if (gar_sim_queue_create(sim, &queue) != 0) return fail("gar_sim_queue_create");
  if (gar_sim_stream_open(client, queue, NULL, &stream) != 0) return fail("gar_sim_stream_open");

  uint64_t truth = 0;
  uint64_t sequence = 0;
  if (gar_sim_submit(queue, 200000000, &truth, 1) != 0) return fail("gar_sim_submit");
  if (gar_record(stream, &sequence) != 0) return fail("gar_record");
  const int status = cancel_one(client, stream, sequence);
  if (status != 0) return status;
  if (gar_wait(stream, sequence, NULL, NULL) != 0) return fail("gar_wait");
  if (truth != 1) return 2; /* success before the work was done */
  printf("the work itself went on, and is done\n");

  if (gar_stream_close(stream) != 0) return fail("gar_stream_close");
  gar_sim_queue_destroy(queue);
  gar_sim_destroy(sim);
  return gar_close(client) == 0 ? 0 : fail("gar_close");
}
