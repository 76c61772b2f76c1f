// What is Vulkan's own beyond the suite of every device: what is checked before a stream is opened,
// what several streams of one VkDevice share, and the real work.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/conformance/shared_page.hpp"
#include "tests/gpu/vulkan_rig.hpp"

namespace gar {
namespace {

constexpr uint64_t no_timeout = UINT64_MAX;

class vulkan : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string why = vulkan_rig::why_not(); !why.empty()) GTEST_SKIP() << why;
    rig = std::make_unique<vulkan_rig>();
  }

  std::unique_ptr<vulkan_rig> rig;
  gar_device_failure failure{};
};

TEST_F(vulkan, names_its_device) {
  EXPECT_FALSE(rig->workload().device_name().empty());
  EXPECT_EQ(rig->workload().device_name(), usable_vulkan_device().value());
}

TEST_F(vulkan, refuses_a_handle_that_is_null) {
  for (void* vulkan_queue_handles::*handle :
       {&vulkan_queue_handles::instance, &vulkan_queue_handles::physical_device,
        &vulkan_queue_handles::device, &vulkan_queue_handles::queue}) {
    vulkan_queue_handles handles = rig->workload().handles();
    handles.*handle = nullptr;
    result<std::unique_ptr<vulkan_queue>> refused = vulkan_queue::create(handles);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), errc::InvalidArgument);
  }
}

TEST_F(vulkan, refuses_half_a_lock) {
  vulkan_queue_handles handles = rig->workload().handles();
  handles.unlock = nullptr;
  EXPECT_EQ(vulkan_queue::create(handles).error().code(), errc::InvalidArgument);
}

TEST_F(vulkan, streams_of_one_device_have_one_key_and_others_another) {
  std::unique_ptr<vulkan_queue> beside = vulkan_queue::create(rig->workload().handles()).value();
  EXPECT_EQ(beside->device_key(), rig->device());
  vulkan_rig other;
  EXPECT_NE(other.device(), rig->device());
}

TEST_F(vulkan, two_streams_of_one_device_share_a_page) {
  std::unique_ptr<vulkan_queue> beside = vulkan_queue::create(rig->workload().handles()).value();
  shared_page lines(*vulkan_ops(), rig->device());
  ASSERT_TRUE(lines.mapped()) << lines.failure().call;
  const auto record = [&](vulkan_queue& on, size_t word) {
    gar_device_failure refused{};
    for (uint64_t n = 1; n <= 20; ++n) {
      if (on.arm(n, lines.store(word, n), nullptr, &refused) != 0) return;
    }
  };
  std::thread first([&] { record(rig->queue(), 0); });
  std::thread second([&] { record(*beside, 1); });
  first.join();
  second.join();
  EXPECT_EQ(rig->queue().settle(&failure), 0);
  EXPECT_EQ(beside->settle(&failure), 0);
  EXPECT_EQ(lines.word(0), 20u);
  EXPECT_EQ(lines.word(1), 20u);
}

TEST_F(vulkan, a_page_outlives_the_stream_that_mapped_it) {
  std::unique_ptr<vulkan_queue> stream = vulkan_queue::create(rig->workload().handles()).value();
  void* const key = stream->device_key();
  shared_page lines(*vulkan_ops(), key);
  stream.reset();
  stream = vulkan_queue::create(rig->workload().handles()).value();
  EXPECT_EQ(stream->device_key(), key) << "the page still keys the device";
  ASSERT_EQ(stream->arm(1, lines.store(0, 1), nullptr, &failure), 0);
  ASSERT_EQ(stream->settle(&failure), 0);
  EXPECT_EQ(lines.word(0), 1u);
}

TEST_F(vulkan, refuses_a_page_of_another_device) {
  vulkan_rig other;
  shared_page lines(*vulkan_ops(), other.device());
  ASSERT_TRUE(lines.mapped());
  EXPECT_EQ(rig->queue().arm(1, lines.store(0, 1), nullptr, &failure), GAR_FAILED);
  EXPECT_NE(failure.status, 0);
}

TEST_F(vulkan, refuses_memory_that_is_no_whole_page) {
  alignas(8) static char odd[64];
  void* mapping = nullptr;
  EXPECT_EQ(vulkan_ops()->map(rig->device(), odd + 8, 8, &mapping, &failure), GAR_FAILED);
  EXPECT_NE(failure.call[0], '\0');
}

TEST_F(vulkan, locks_around_its_submissions) {
  struct counter {
    int locked = 0, unlocked = 0;
  } count;
  vulkan_queue_handles handles = rig->workload().handles();
  handles.lock_context = &count;
  handles.lock = [](void* context) { ++static_cast<counter*>(context)->locked; };
  handles.unlock = [](void* context) { ++static_cast<counter*>(context)->unlocked; };
  std::unique_ptr<vulkan_queue> stream = vulkan_queue::create(handles).value();
  shared_page lines(*vulkan_ops(), stream->device_key());
  ASSERT_EQ(stream->arm(1, lines.store(0, 1), nullptr, &failure), 0);
  ASSERT_EQ(stream->arm(2, lines.store(0, 2), nullptr, &failure), 0);
  EXPECT_EQ(stream->block(2, no_timeout, &failure), GAR_DONE);
  EXPECT_EQ(count.locked, 2);
  EXPECT_EQ(count.unlocked, 2);
}

TEST_F(vulkan, refuses_more_records_than_can_be_unconfirmed) {
  shared_page lines(*vulkan_ops(), rig->device());
  rig->submit(200'000'000, 1);
  uint64_t armed = 0;
  while (armed <= vulkan_records_max &&
         rig->queue().arm(armed + 1, lines.store(0, armed + 1), nullptr, &failure) == 0) {
    ++armed;
  }
  // The work may end before the last is recorded; then there was no reason to refuse.
  if (proto::load_word(rig->truth()) == 0) {
    EXPECT_EQ(armed, vulkan_records_max);
  }
  EXPECT_EQ(rig->queue().settle(&failure), 0);
  EXPECT_EQ(lines.word(0), armed);
}

TEST_F(vulkan, a_number_that_nobody_recorded_is_not_waited_for) {
  EXPECT_EQ(rig->queue().query(1, &failure), GAR_PENDING);
  EXPECT_EQ(rig->queue().block(1, no_timeout, &failure), GAR_FAILED);
}

TEST_F(vulkan, work_without_a_record_reaches_its_truth) {
  rig->submit(100'000, 5);
  while (proto::load_word(rig->truth()) < 5) std::this_thread::yield();
  EXPECT_EQ(proto::load_word(rig->truth()), 5u);
}

TEST_F(vulkan, refuses_work_of_more_than_ten_seconds) {
  result<void> refused = rig->workload().submit(workload_duration_ns_max + 1, 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), errc::InvalidArgument);
}

TEST_F(vulkan, workloads_run_beside_each_other) {
  std::vector<std::unique_ptr<vulkan_rig>> rigs;
  std::vector<std::unique_ptr<shared_page>> pages;
  for (int i = 0; i < 2; ++i) {
    rigs.push_back(std::make_unique<vulkan_rig>());
    pages.push_back(std::make_unique<shared_page>(*vulkan_ops(), rigs.back()->device()));
  }
  for (uint64_t n = 1; n <= 4; ++n) {
    for (int i = 0; i < 2; ++i) {
      rigs[i]->submit(500'000, n);
      ASSERT_EQ(rigs[i]->queue().arm(n, pages[i]->store(0, n), nullptr, &failure), 0);
    }
    for (int i = 0; i < 2; ++i) {
      ASSERT_EQ(rigs[i]->queue().block(n, no_timeout, &failure), GAR_DONE);
      ASSERT_GE(proto::load_word(rigs[i]->truth()), n);
    }
  }
  for (int i = 0; i < 2; ++i) EXPECT_EQ(rigs[i]->queue().settle(&failure), 0);
  pages.clear();
}

}  // namespace
}  // namespace gar
