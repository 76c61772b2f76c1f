/* Many waits and one thread: each ends as a completion, and one descriptor says when there are
 * some. It can stand in any poll, epoll or event loop beside a program's own descriptors.
 * usage: async_poll */
#include <gar.h>
#include <poll.h>
#include <stdio.h>

#define WAITS 8

static int fail(const char* call) {
  char text[1024];
  const int number = gar_last_error(text, sizeof(text));
  fprintf(stderr, "%s: 0x%04x %s: %s\n", call, (unsigned)number, gar_error_name(number), text);
  return 1;
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

  uint64_t truth[WAITS] = {0};
  for (int i = 0; i < WAITS; ++i) {
    uint64_t sequence = 0;
    if (gar_sim_submit(queue, 1000000, &truth[i], 1) != 0) return fail("gar_sim_submit");
    if (gar_record(stream, &sequence) != 0) return fail("gar_record");
    if (gar_wait_async(stream, sequence, NULL, &truth[i], NULL) != 0) return fail("gar_wait_async");
  }

  for (int left = WAITS; left > 0;) {
    struct pollfd readable = {.fd = gar_client_fd(client), .events = POLLIN};
    if (poll(&readable, 1, 10000) != 1) return 3;
    gar_completion ended[WAITS];
    size_t count = 0;
    if (gar_take(client, ended, WAITS, &count) != 0) return fail("gar_take");
    for (size_t i = 0; i < count; ++i) {
      const uint64_t* done = ended[i].user_data;
      if (ended[i].error != 0 || *done != 1) return 2;
      printf("wait %llu ended after %llu us\n", (unsigned long long)ended[i].ticket,
             (unsigned long long)ended[i].report.wait_ns / 1000);
    }
    left -= (int)count;
  }

  if (gar_stream_close(stream) != 0) return fail("gar_stream_close");
  gar_sim_queue_destroy(queue);
  gar_sim_destroy(sim);
  return gar_close(client) == 0 ? 0 : fail("gar_close");
}
