/* A stand-in for a vendor's driver library, for the probe's tests: the same two calls under either
 * vendor's name, with the answers that it was built for. */
#ifdef FAKE_CUDA
#define fake_init cuInit
#define fake_count cuDeviceGetCount
#else
#define fake_init hipInit
#define fake_count hipGetDeviceCount
#endif

static int started;

int fake_init(unsigned flags) {
  (void)flags;
  if (FAKE_INIT_STATUS == 0) started = 1;
  return FAKE_INIT_STATUS;
}

#ifndef FAKE_WITHOUT_COUNT
int fake_count(int* count) {
  if (FAKE_INIT_STATUS != 0) return FAKE_INIT_STATUS;
  if (!started) return 3; /* not initialised */
  *count = FAKE_DEVICES;
  return 0;
}
#endif
