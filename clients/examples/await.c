/* Awaits work of the simulated device: through gard where one runs, in-process where none does.
 * usage: await */
#include <gar.h>
#include <stdio.h>

static int fail(const char* call) {
  char text[1024];
  const int number = gar_last_error(text, sizeof(text));
  fprintf(stderr, "%s: 0x%04x %s: %s\n", call, (unsigned)number, gar_error_name(number), text);
  return 1;
}

int main(void) {
  gar_client* client = NULL;
  if (gar_connect(NULL, &client) != 0) return fail("gar_connect");
  printf("%s\n", gar_mode(client) == GAR_MODE_DAEMON ? "with gard" : "in-process");

  gar_sim* sim = NULL;
  gar_sim_queue* queue = NULL;
  gar_stream* stream = NULL;
  if (gar_sim_create(&sim) != 0) return fail("gar_sim_create");
  if (gar_sim_queue_create(sim, &queue) != 0) return fail("gar_sim_queue_create");
  if (gar_sim_stream_open(client, queue, NULL, &stream) != 0) return fail("gar_sim_stream_open");

  for (int i = 1; i <= 3; ++i) {
    uint64_t truth = 0;
    uint64_t sequence = 0;
    gar_report report;
    if (gar_sim_submit(queue, 2000000, &truth, 1) != 0) return fail("gar_sim_submit");
    if (gar_record(stream, &sequence) != 0) return fail("gar_record");
    if (gar_wait(stream, sequence, NULL, &report) != 0) return fail("gar_wait");
    if (truth != 1) return 2; /* success before the work was done */
    printf("wait %d: %llu us, %llu us of them asleep\n", i,
           (unsigned long long)report.wait_ns / 1000, (unsigned long long)report.slept_ns / 1000);
  }

  if (gar_stream_close(stream) != 0) return fail("gar_stream_close");
  gar_sim_queue_destroy(queue);
  gar_sim_destroy(sim);
  return gar_close(client) == 0 ? 0 : fail("gar_close");
}
