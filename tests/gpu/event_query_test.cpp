// Asking CUDA and HIP streams: events answer, from any thread, and leave no trace.
#include "tests/gpu/event_fixture.hpp"

namespace gar {
namespace {

template <class World>
class event_query : public event_fixture<World> {};
TYPED_TEST_SUITE(event_query, vendors, vendor_name);

TYPED_TEST(event_query, an_earlier_record_is_done_while_later_work_runs) {
  auto o = this->open();
  ASSERT_EQ(o.record(1), 0);
  this->submit(hour_ns);
  ASSERT_EQ(o.record(2), 0);
  EXPECT_EQ(o.finish(1), GAR_DONE);
  EXPECT_EQ(o.query(2), GAR_PENDING);
  this->fake().fake_reset(0);  // nobody waits an hour
}

TYPED_TEST(event_query, a_number_known_to_be_done_is_not_asked_for_again) {
  auto o = this->open();
  for (uint64_t n = 1; n <= 5; ++n) ASSERT_EQ(o.record(n), 0);
  ASSERT_EQ(o.finish(5), GAR_DONE);
  this->fake().fake_log_clear();
  for (uint64_t n = 1; n <= 5; ++n) EXPECT_EQ(o.query(n), GAR_DONE);
  EXPECT_THAT(this->fake().names(), IsEmpty());
  ASSERT_EQ(o.settle(), 0);
}

TYPED_TEST(event_query, nothing_that_was_never_recorded_is_done) {
  auto o = this->open();
  EXPECT_EQ(o.query(0), GAR_PENDING);
  EXPECT_EQ(o.query(1), GAR_PENDING);
  EXPECT_EQ(o.finish(1), GAR_FAILED) << "it would never end";
  ASSERT_EQ(o.record(1), 0) << "asking wrongly does not fail the stream";
  EXPECT_EQ(o.finish(1), GAR_DONE);
  EXPECT_EQ(o.query(2), GAR_PENDING);
  ASSERT_EQ(o.settle(), 0);
}

TYPED_TEST(event_query, a_query_is_made_in_the_streams_domain_and_leaves_the_thread_as_it_was) {
  using World = TypeParam;
  auto o = this->open();
  void* domain = World::current();
  ASSERT_EQ(o.record(1), 0);
  ASSERT_EQ(o.finish(1), GAR_DONE);
  ASSERT_EQ(o.record(2), 0);
  std::thread([&] {
    World::use_device(1);
    void* before = World::current();
    this->fake().fake_log_clear();
    while (o.query(2) == GAR_PENDING) std::this_thread::yield();
    EXPECT_EQ(World::current(), before);
    for (const fake_call& c : this->fake().calls_of(World::query_event)) {
      EXPECT_EQ(c.arguments[1], reinterpret_cast<uintptr_t>(domain));
    }
    EXPECT_GE(this->fake().count(World::query_event), 1u);
    // Relaxed before, and as it was behind.
    const auto modes = this->fake().calls_of(World::exchange_mode);
    ASSERT_GE(modes.size(), 2u);
    EXPECT_EQ(modes.front().arguments[0], 2u);
    EXPECT_EQ(modes.back().arguments[0], 0u);
    World::let_go_of_device(1);
  }).join();
  ASSERT_EQ(o.settle(), 0);
}

TYPED_TEST(event_query, the_blocking_wait_is_the_events_own_on_the_callers_thread) {
  using World = TypeParam;
  auto o = this->open();
  this->submit(3 * ms_ns);
  ASSERT_EQ(o.record(1), 0);
  this->fake().fake_log_clear();
  World::current();
  ASSERT_EQ(o.finish(1), GAR_DONE);
  const auto waits = this->fake().calls_of(World::synchronize_event);
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].thread, this->fake().log().front().thread);
  EXPECT_EQ(this->fake().count(World::query_event), 0u);
  ASSERT_EQ(o.settle(), 0);
}

TYPED_TEST(event_query, a_query_never_synchronizes) {
  using World = TypeParam;
  auto o = this->open();
  this->submit(hour_ns);
  ASSERT_EQ(o.record(1), 0);
  this->fake().fake_log_clear();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(o.query(1), GAR_PENDING);
  EXPECT_EQ(World::ops()->idle(o.stream.get(), &o.failure), GAR_PENDING);
  for (const char* call :
       {World::synchronize_event, World::synchronize_stream, World::synchronize_domain}) {
    EXPECT_EQ(this->fake().count(call), 0u) << call;
  }
  this->end_everything();
}

// ---- Graph captures of the program are left in peace.

TYPED_TEST(event_query, the_fake_spoils_a_capture_for_a_query_that_is_not_careful) {
  using World = TypeParam;
  void* captured = World::make_stream(non_blocking);
  void* event = World::make_event();
  ASSERT_EQ(this->fake().fake_begin_capture(captured, capture_global), 0);
  std::thread([&] {
    World::use_device(0);
    EXPECT_EQ(World::query_as_program(event), 900);
    World::let_go_of_device(0);
  }).join();
  EXPECT_EQ(this->fake().fake_end_capture(captured), 901) << "the capture was invalidated";
}

TYPED_TEST(event_query, nothing_of_ours_spoils_a_capture_on_another_thread_or_on_this_one) {
  using World = TypeParam;
  auto o = this->open();
  void* captured = World::make_stream(non_blocking);
  for (unsigned mode : {capture_global, capture_of_thread, capture_relaxed}) {
    for (bool same_thread : {false, true}) {
      ASSERT_EQ(this->fake().fake_begin_capture(captured, mode), 0);
      const auto everything = [&] {
        World::use_device(0);
        void* handle = World::make_stream(non_blocking);
        {
          auto other = this->open(handle);
          for (uint64_t n = 1; n <= 3; ++n) EXPECT_EQ(other.record(n), 0) << other.failure.call;
          while (other.query(1) == GAR_PENDING) std::this_thread::yield();
          EXPECT_EQ(other.finish(2), GAR_DONE);
          EXPECT_EQ(World::ops()->poll(other.stream.get(), 3, no_timeout, &other.failure),
                    GAR_DONE);
          while (World::ops()->idle(other.stream.get(), &other.failure) == GAR_PENDING) {
          }
          EXPECT_EQ(other.settle(), 0);
        }
        World::destroy_stream(handle);
        World::let_go_of_device(0);
      };
      if (same_thread) {
        everything();
      } else {
        std::thread(everything).join();
      }
      EXPECT_EQ(this->fake().fake_end_capture(captured), 0)
          << "mode " << mode << " same thread " << same_thread;
    }
  }
}

TYPED_TEST(event_query, not_permitted_while_capturing_means_ask_again) {
  using World = TypeParam;
  auto o = this->open();
  ASSERT_EQ(o.record(1), 0);
  this->fake().fake_fail(World::query_event, 900, 0, 1);
  EXPECT_EQ(o.query(1), GAR_PENDING);
  EXPECT_EQ(o.finish(1), GAR_DONE);
  ASSERT_EQ(o.record(2), 0);
  this->fake().fake_fail(World::synchronize_event, 900, 0, 1);
  EXPECT_EQ(o.finish(2), GAR_DONE) << "it asks instead of waiting";
  ASSERT_EQ(o.settle(), 0);
}

// It happens where the program begins a capture in the middle of a record.
TYPED_TEST(event_query, an_event_that_became_part_of_a_graph_is_no_reason_to_ask_for_ever) {
  using World = TypeParam;
  auto o = this->open();
  ASSERT_EQ(o.record(1), 0);
  this->fake().fake_fail(World::query_event, 907, 0, UINT32_MAX);
  this->fake().fake_fail(World::synchronize_event, 907, 0, UINT32_MAX);
  EXPECT_EQ(o.finish(1), GAR_FAILED);
  EXPECT_EQ(o.failure.status, 907);
  EXPECT_EQ(o.query(1), GAR_FAILED);
}

TYPED_TEST(event_query, a_stream_that_is_being_captured_is_not_queried_itself) {
  using World = TypeParam;
  auto o = this->open();
  ASSERT_EQ(o.record(1), 0);
  ASSERT_EQ(o.finish(1), GAR_DONE);
  ASSERT_EQ(this->fake().fake_begin_capture(this->handle_, capture_global), 0);
  EXPECT_EQ(World::ops()->idle(o.stream.get(), &o.failure), GAR_PENDING);
  EXPECT_EQ(o.query(1), GAR_DONE);
  EXPECT_EQ(o.settle(), 0) << "its last store has landed";
  EXPECT_EQ(this->fake().fake_end_capture(this->handle_), 0);
}

// ---- Threads that must not wait.

TYPED_TEST(event_query, a_query_that_may_take_long_is_never_made_on_an_impatient_thread) {
  using World = TypeParam;
  auto o = this->open();
  this->submit(hour_ns);
  ASSERT_EQ(o.record(1), 0);
  this->fake().fake_slow(World::query_event, 30 * ms_ns);
  std::thread([&] {
    mark_thread_impatient();
    World::current();
    this->fake().fake_log_clear();
    World::current();  // this thread's number
    const uint64_t here = this->fake().log().front().thread;
    for (int i = 0; i < 3; ++i) EXPECT_EQ(o.query(1), GAR_PENDING);
    while (this->fake().count(World::query_event) == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    for (const fake_call& c : this->fake().calls_of(World::query_event)) {
      if (o.stream && std::string(World::name) == "hip") {
        EXPECT_NE(c.thread, here);
      } else {
        EXPECT_EQ(c.thread, here);
      }
    }
  }).join();
  this->fake().fake_slow(World::query_event, 0);
  this->end_everything();
}

TYPED_TEST(event_query, an_impatient_thread_gets_its_answer_all_the_same) {
  using World = TypeParam;
  auto o = this->open();
  ASSERT_EQ(o.record(1), 0);
  std::thread([&] {
    mark_thread_impatient();
    while (o.query(1) == GAR_PENDING) std::this_thread::yield();
    EXPECT_EQ(o.query(1), GAR_DONE);
  }).join();
  this->fake().fake_fail(World::query_event, 719, 0, 1);
  ASSERT_EQ(o.record(2), 0);
  std::thread([&] {
    mark_thread_impatient();
    int answer = GAR_PENDING;
    while (answer == GAR_PENDING) answer = o.query(2);
    EXPECT_EQ(answer, GAR_FAILED);
    EXPECT_EQ(o.failure.status, 719);
  }).join();
}

TYPED_TEST(event_query, leaves_no_error_of_its_own_on_the_thread) {
  using World = TypeParam;
  if constexpr (std::is_same_v<World, hip_world>) {
    auto o = this->open();
    this->submit(hour_ns);
    ASSERT_EQ(o.record(1), 0);
    EXPECT_EQ(o.query(1), GAR_PENDING);
    EXPECT_EQ(World::last_error(), 0) << "not ready is an answer, not an error of the program";
    this->fake().fake_fail(World::device_address, 1, 0, 1);
    shared_page page(*World::ops(), o.stream->device_key());
    EXPECT_FALSE(page.mapped());
    EXPECT_EQ(World::last_error(), 0);
    this->end_everything();
  } else {
    GTEST_SKIP() << "CUDA's driver interface keeps no last error";
  }
}

}  // namespace
}  // namespace gar
