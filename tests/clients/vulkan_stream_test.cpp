// The library over a real Vulkan driver: real work, waited for under each plan.
#include "lib/gpu/vulkan_workload.hpp"
#include "proto/line.hpp"
#include "tests/clients/sim_fixture.hpp"

namespace gar::test {
namespace {

TEST(vulkan_stream, real_work_is_done_when_a_wait_returns) {
  auto made = vulkan_workload::create();
  if (!made) GTEST_SKIP() << made.error().text();
  vulkan_workload& workload = **made;
  const vulkan_queue_handles h = workload.handles();
  gar_vulkan_queue queue{
      sizeof(queue), h.instance, h.physical_device, h.device, h.queue, h.queue_family_index, 0,
      h.lock,        h.unlock,   h.lock_context};
  uint64_t value = 0;
  for (const char* plan : {"block", "poll", "flag:park_us=100,backstop_us=10000",
                           "flag:park_us=100,backstop_us=10000+predict:margin_us=200,"
                           "min_sleep_us=50,max_sleep_us=50000,window=8"}) {
    setenv("GAR_PLAN", plan, 1);
    const gar_client_options o = in_process();
    gar_client* client = nullptr;
    ASSERT_EQ(gar_connect(&o, &client), 0) << last_text();
    unsetenv("GAR_PLAN");
    gar_stream* stream = nullptr;
    ASSERT_EQ(gar_vulkan_stream_open(client, &queue, nullptr, &stream), 0) << last_text();
    for (int i = 0; i < 5; ++i) {
      ASSERT_TRUE(workload.submit(3 * ms, ++value));
      uint64_t sequence = 0;
      ASSERT_EQ(gar_record(stream, &sequence), 0) << last_text();
      ASSERT_EQ(gar_wait(stream, sequence, nullptr, nullptr), 0) << last_text();
      EXPECT_GE(proto::load_word(*workload.truth()), value) << plan;
    }
    EXPECT_EQ(gar_stream_close(stream), 0);
    EXPECT_EQ(gar_close(client), 0);
  }
}

}  // namespace
}  // namespace gar::test
