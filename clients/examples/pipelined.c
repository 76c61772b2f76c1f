/* Several waits in flight on one stream: the device always has work while the program waits for the
 * oldest piece, reads what it made, and submits another. Each record is complete by itself.
 * usage: pipelined */
#include <gar.h>
#include <stdio.h>

#define IN_FLIGHT 4
#define PIECES 20
#define PIECE_NS 1000000

struct piece {
  uint64_t truth;    /* what the work writes when it is done */
  uint64_t sequence; /* what to wait for */
};

static int fail(const char* call) {
  char text[1024];
  const int number = gar_last_error(text, sizeof(text));
  fprintf(stderr, "%s: 0x%04x %s: %s\n", call, (unsigned)number, gar_error_name(number), text);
  return 1;
}

static int submit(gar_sim_queue* queue, gar_stream* stream, struct piece* into, uint64_t number) {
  into->truth = 0;
  if (gar_sim_submit(queue, PIECE_NS, &into->truth, number) != 0) return fail("gar_sim_submit");
  return gar_record(stream, &into->sequence) == 0 ? 0 : fail("gar_record");
}

static int run(gar_sim_queue* queue, gar_stream* stream) {
  struct piece pieces[IN_FLIGHT];
  for (uint64_t next = 1; next <= IN_FLIGHT; ++next) {
    if (submit(queue, stream, &pieces[next % IN_FLIGHT], next) != 0) return 1;
  }
  uint64_t waited_ns = 0;
  for (uint64_t oldest = 1; oldest <= PIECES; ++oldest) {
    struct piece* piece = &pieces[oldest % IN_FLIGHT];
    gar_report report;
    if (gar_wait(stream, piece->sequence, NULL, &report) != 0) return fail("gar_wait");
    if (piece->truth != oldest) return 2; /* success before the work was done */
    waited_ns += report.wait_ns;
    const uint64_t next = oldest + IN_FLIGHT;
    if (next <= PIECES && submit(queue, stream, piece, next) != 0) return 1;
  }
  printf("%d pieces of 1 ms, %d in flight: waited %llu us in all\n", PIECES, IN_FLIGHT,
         (unsigned long long)waited_ns / 1000);
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
  const int status = run(queue, stream);
  if (gar_stream_close(stream) != 0) return fail("gar_stream_close");
  gar_sim_queue_destroy(queue);
  gar_sim_destroy(sim);
  return gar_close(client) == 0 ? status : fail("gar_close");
}
