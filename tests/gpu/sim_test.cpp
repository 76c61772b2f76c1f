// The simulated device's own promises: when things end, and every fault.
//
// Work that must not have ended yet when a test looks is an hour long and is forgotten with its
// queue; work that a test waits for lasts a few milliseconds.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/conformance/shared_page.hpp"
#include "tests/gpu/sim_rig.hpp"

namespace gar {
namespace {

constexpr uint64_t hour_ns = 3'600'000'000'000;
constexpr uint64_t ms = 1'000'000;
constexpr uint64_t no_timeout = UINT64_MAX;

uint64_t now_ns() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

class sim : public testing::Test {
 protected:
  int record(uint64_t sequence) { return record_on(queue, sequence, 0); }
  int record_on(sim_queue& q, uint64_t sequence, size_t word) {
    const gar_device_store to_word = lines.store(word, sequence);
    const gar_device_store to_bell = lines.store(word + 8, sequence);
    return q.arm(sequence, to_word, &to_bell, &failure);
  }
  int finish(uint64_t sequence) { return queue.block(sequence, no_timeout, &failure); }
  uint64_t word() const { return lines.word(0); }
  uint64_t bell() const { return lines.word(8); }
  uint64_t truth() const { return proto::load_word(rig.truth()); }

  sim_rig rig;
  sim_queue& queue = rig.queue();
  shared_page lines{*rig.ops(), rig.device()};
  gar_device_failure failure{};
};

TEST_F(sim, work_ends_its_duration_after_what_was_before_it) {
  const uint64_t start_ns = now_ns();
  rig.submit(2 * ms, 1);
  rig.submit(ms, 2);
  ASSERT_EQ(record(1), 0);
  rig.submit(2 * ms, 3);
  ASSERT_EQ(record(2), 0);
  ASSERT_EQ(finish(2), GAR_DONE);
  ASSERT_EQ(queue.settle(nullptr), 0);
  EXPECT_GE(queue.stored_ns(1) - start_ns, 3 * ms);
  EXPECT_GE(queue.stored_ns(2) - start_ns, 5 * ms);
  EXPECT_EQ(truth(), 3u);
}

TEST_F(sim, work_on_an_idle_queue_starts_at_its_submission) {
  rig.submit(ms, 1);
  ASSERT_EQ(record(1), 0);
  ASSERT_EQ(finish(1), GAR_DONE);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  const uint64_t start_ns = now_ns();
  rig.submit(2 * ms, 2);
  ASSERT_EQ(record(2), 0);
  ASSERT_EQ(finish(2), GAR_DONE);
  ASSERT_EQ(queue.settle(nullptr), 0);
  EXPECT_GE(queue.stored_ns(2) - start_ns, 2 * ms);
}

TEST_F(sim, nothing_is_done_before_it_was_recorded) {
  EXPECT_EQ(queue.query(0, &failure), GAR_PENDING);
  EXPECT_EQ(queue.query(1, &failure), GAR_PENDING);
}

TEST_F(sim, a_record_behind_running_work_is_pending) {
  rig.submit(hour_ns, 1);
  ASSERT_EQ(record(1), 0);
  EXPECT_EQ(queue.query(1, &failure), GAR_PENDING);
  EXPECT_EQ(queue.block(1, 100'000, &failure), GAR_PENDING);
  EXPECT_EQ(queue.poll(1, 100'000, &failure), GAR_PENDING);
  EXPECT_EQ(queue.stored_ns(1), 0u);
  EXPECT_EQ(word(), 0u);
  EXPECT_EQ(truth(), 0u);
}

TEST_F(sim, queues_run_at_the_same_time_as_each_other) {
  sim_queue other(*static_cast<sim_device*>(rig.device()));
  rig.submit(hour_ns, 1);
  ASSERT_EQ(record(1), 0);
  ASSERT_TRUE(other.submit(ms, nullptr, 0));
  ASSERT_EQ(record_on(other, 1, 1), 0);
  EXPECT_EQ(other.block(1, no_timeout, &failure), GAR_DONE);
  EXPECT_EQ(queue.query(1, &failure), GAR_PENDING);
}

TEST_F(sim, a_lost_store_never_lands_but_the_authority_answers) {
  ASSERT_TRUE(queue.fault(sim_fault::lost_store, 0));
  rig.submit(ms, 1);
  ASSERT_EQ(record(1), 0);
  EXPECT_EQ(finish(1), GAR_DONE);
  EXPECT_EQ(truth(), 1u);
  ASSERT_EQ(queue.settle(nullptr), 0);
  EXPECT_EQ(word(), 0u);
  EXPECT_EQ(bell(), 0u);
  EXPECT_EQ(queue.stored_ns(1), 0u);
}

TEST_F(sim, a_fault_applies_once) {
  ASSERT_TRUE(queue.fault(sim_fault::lost_store, 0));
  ASSERT_EQ(record(1), 0);
  ASSERT_EQ(record(2), 0);
  ASSERT_EQ(queue.settle(nullptr), 0);
  EXPECT_EQ(word(), 2u);
  EXPECT_NE(queue.stored_ns(2), 0u);
}

TEST_F(sim, a_late_store_lands_that_long_after_the_work) {
  const uint64_t start_ns = now_ns();
  ASSERT_TRUE(queue.fault(sim_fault::late_store, 4 * ms));
  rig.submit(ms, 1);
  ASSERT_EQ(record(1), 0);
  ASSERT_EQ(finish(1), GAR_DONE);
  ASSERT_EQ(queue.settle(nullptr), 0);
  EXPECT_GE(queue.stored_ns(1) - start_ns, 5 * ms);
  EXPECT_EQ(word(), 1u);
}

TEST_F(sim, the_authority_does_not_wait_for_a_late_store) {
  ASSERT_TRUE(queue.fault(sim_fault::late_store, hour_ns));
  ASSERT_EQ(record(1), 0);
  EXPECT_EQ(finish(1), GAR_DONE);
  EXPECT_EQ(word(), 0u);
}

TEST_F(sim, a_late_store_holds_up_those_behind_it) {
  ASSERT_TRUE(queue.fault(sim_fault::late_store, 4 * ms));
  ASSERT_EQ(record(1), 0);
  ASSERT_EQ(record(2), 0);
  EXPECT_EQ(finish(2), GAR_DONE);
  ASSERT_EQ(queue.settle(nullptr), 0);
  EXPECT_EQ(word(), 2u);
  EXPECT_LE(queue.stored_ns(1), queue.stored_ns(2));
}

TEST_F(sim, an_early_store_lands_when_the_work_before_it_starts) {
  ASSERT_TRUE(queue.fault(sim_fault::early_store, 0));
  rig.submit(hour_ns, 1);
  ASSERT_EQ(record(1), 0);
  while (bell() != 1) std::this_thread::yield();
  EXPECT_EQ(word(), 1u);
  EXPECT_EQ(queue.query(1, &failure), GAR_PENDING);
  EXPECT_EQ(truth(), 0u);
}

TEST_F(sim, an_early_store_waits_for_work_that_has_not_started) {
  const uint64_t start_ns = now_ns();
  rig.submit(3 * ms, 1);
  rig.submit(hour_ns, 2);
  ASSERT_TRUE(queue.fault(sim_fault::early_store, 0));
  ASSERT_EQ(record(1), 0);
  while (word() != 1) std::this_thread::yield();
  EXPECT_GE(now_ns() - start_ns, 3 * ms);
  EXPECT_EQ(truth(), 1u);
  EXPECT_EQ(queue.query(1, &failure), GAR_PENDING);
}

TEST_F(sim, a_device_error_fails_the_work_and_every_number_behind_it) {
  rig.submit(ms, 1);
  ASSERT_EQ(record(1), 0);
  ASSERT_TRUE(queue.fault(sim_fault::device_error, 719));
  rig.submit(ms, 2);
  ASSERT_EQ(record(2), 0);
  rig.submit(ms, 3);
  ASSERT_EQ(record(3), 0);
  EXPECT_EQ(queue.block(3, no_timeout, &failure), GAR_FAILED);
  EXPECT_EQ(failure.status, 719);
  EXPECT_STREQ(failure.call, "sim_queue_submit");
  failure = {};
  EXPECT_EQ(queue.query(2, &failure), GAR_FAILED);
  EXPECT_EQ(failure.status, 719);
  EXPECT_EQ(queue.poll(2, no_timeout, &failure), GAR_FAILED);
  EXPECT_EQ(queue.idle(&failure), GAR_FAILED);
  EXPECT_EQ(queue.query(1, &failure), GAR_DONE) << "it was done before the device failed";
  EXPECT_EQ(truth(), 1u);
}

TEST_F(sim, settle_does_not_wait_for_stores_that_a_device_error_took) {
  ASSERT_EQ(record(1), 0);
  ASSERT_TRUE(queue.fault(sim_fault::device_error, 1));
  rig.submit(hour_ns, 2);
  ASSERT_EQ(record(2), 0);
  EXPECT_EQ(queue.settle(nullptr), 0);
  EXPECT_EQ(word(), 1u);
  EXPECT_EQ(queue.query(2, &failure), GAR_PENDING) << "the work has not failed yet";
}

TEST_F(sim, an_early_store_before_a_device_error_still_lands) {
  ASSERT_TRUE(queue.fault(sim_fault::device_error, 5));
  ASSERT_TRUE(queue.fault(sim_fault::early_store, 0));
  rig.submit(2 * ms, 1);
  ASSERT_EQ(record(1), 0);
  EXPECT_EQ(queue.block(1, no_timeout, &failure), GAR_FAILED);
  ASSERT_EQ(queue.settle(nullptr), 0);
  EXPECT_EQ(word(), 1u);
  EXPECT_EQ(truth(), 0u);
}

TEST_F(sim, an_arm_error_enqueues_nothing) {
  ASSERT_TRUE(queue.fault(sim_fault::arm_error, 304));
  EXPECT_EQ(record(1), GAR_FAILED);
  EXPECT_EQ(failure.status, 304);
  EXPECT_STREQ(failure.call, "sim_queue_record");
  EXPECT_EQ(queue.query(1, &failure), GAR_PENDING);
  EXPECT_EQ(record(1), 0);
  EXPECT_EQ(finish(1), GAR_DONE);
}

TEST_F(sim, refuses_a_fault_that_does_not_exist) {
  result<void> refused = queue.fault(static_cast<sim_fault>(6), 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), errc::InvalidArgument);
}

TEST_F(sim, refuses_more_items_than_a_queue_holds) {
  for (size_t i = 0; i < sim_items_max; ++i) ASSERT_TRUE(queue.submit(hour_ns, nullptr, 0));
  result<void> refused = queue.submit(hour_ns, nullptr, 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), errc::Backend);
  EXPECT_EQ(record(1), GAR_FAILED);
}

TEST_F(sim, work_that_no_record_covers_is_told_apart) {
  EXPECT_EQ(queue.idle(&failure), GAR_DONE);
  rig.submit(hour_ns, 1);
  EXPECT_EQ(queue.idle(&failure), GAR_PENDING);
  ASSERT_EQ(record(1), 0);
  EXPECT_EQ(queue.idle(&failure), GAR_DONE) << "the record covers it";
}

TEST_F(sim, the_last_1024_stores_are_remembered) {
  for (uint64_t n = 1; n <= sim_landings_max + 1; ++n) ASSERT_EQ(record(n), 0);
  ASSERT_EQ(queue.settle(nullptr), 0);
  EXPECT_EQ(queue.stored_ns(1), 0u);
  EXPECT_NE(queue.stored_ns(2), 0u);
  EXPECT_NE(queue.stored_ns(sim_landings_max + 1), 0u);
}

TEST_F(sim, a_second_stream_on_a_queue_starts_its_own_count) {
  for (uint64_t n = 1; n <= 5; ++n) ASSERT_EQ(record(n), 0);
  ASSERT_EQ(queue.settle(nullptr), 0);
  rig.submit(hour_ns, 1);
  ASSERT_EQ(record(1), 0);
  EXPECT_EQ(queue.query(1, &failure), GAR_PENDING) << "number 1 of the second count";
}

TEST_F(sim, two_counts_at_once_are_refused) {
  rig.submit(hour_ns, 1);
  ASSERT_EQ(record(5), 0);
  EXPECT_EQ(record(1), GAR_FAILED);
}

TEST_F(sim, a_queue_that_is_destroyed_forgets_what_it_has_not_run) {
  uint64_t truth = 0;
  {
    sim_queue other(*static_cast<sim_device*>(rig.device()));
    // So long that it cannot have run, however late this thread comes to destroy the queue.
    ASSERT_TRUE(other.submit(3'600'000 * ms, &truth, 1));
    ASSERT_EQ(record_on(other, 1, 1), 0);
  }
  rig.submit(3 * ms, 1);
  ASSERT_EQ(record(1), 0);
  ASSERT_EQ(finish(1), GAR_DONE);
  EXPECT_EQ(truth, 0u);
  EXPECT_EQ(lines.word(1), 0u);
}

}  // namespace
}  // namespace gar
