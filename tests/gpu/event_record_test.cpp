// Records of CUDA and HIP streams: what is enqueued, and what is refused before anything is.
#include "tests/gpu/event_fixture.hpp"

namespace gar {
namespace {

template <class World>
class event_record : public event_fixture<World> {};
TYPED_TEST_SUITE(event_record, vendors, vendor_name);

TYPED_TEST(event_record, a_record_enqueues_its_event_then_its_stores_and_nothing_else) {
  using World = TypeParam;
  auto o = this->open();
  ASSERT_EQ(o.record(1), 0);
  ASSERT_EQ(o.finish(1), GAR_DONE);
  this->fake().fake_log_clear();
  ASSERT_EQ(o.record(2), 0);
  if (World::has_batches) {
    EXPECT_THAT(this->fake().names(), ElementsAre("cuCtxGetCurrent", World::is_capturing,
                                                  World::record_event, World::batch));
  } else {
    EXPECT_THAT(this->fake().names(), ElementsAre("hipGetDevice", World::is_capturing,
                                                  World::record_event, World::store, World::store));
  }
  ASSERT_EQ(o.settle(), 0);
}

TYPED_TEST(event_record, a_record_on_a_default_stream_looks_no_more_than_once) {
  using World = TypeParam;
  for (uintptr_t number : {0, 1, 2}) {
    auto o = this->open(default_stream(number));
    ASSERT_EQ(o.record(1), 0);
    ASSERT_EQ(o.finish(1), GAR_DONE);
    this->fake().fake_log_clear();
    ASSERT_EQ(o.record(2), 0);
    EXPECT_EQ(this->fake().names().size(), World::has_batches ? 4u : 5u) << number;
    EXPECT_EQ(this->fake().count(World::is_capturing), 1u);
    ASSERT_EQ(o.settle(), 0);
  }
}

TYPED_TEST(event_record, a_record_leaves_the_thread_in_the_domain_where_it_was) {
  using World = TypeParam;
  auto o = this->open();
  World::use_device(1);
  void* const before = World::current();
  ASSERT_EQ(o.record(1), 0) << o.failure.call;
  EXPECT_EQ(World::current(), before);
  EXPECT_EQ(o.finish(1), GAR_DONE);
  EXPECT_EQ(o.settle(), 0);
  EXPECT_EQ(World::current(), before);
  o.lines->unmap();
  o.stream.reset();
  EXPECT_EQ(World::current(), before);
  World::let_go_of_device(1);
}

TYPED_TEST(event_record, events_carry_no_timing_and_let_go_of_the_cpu) {
  using World = TypeParam;
  this->fake().fake_log_clear();
  auto o = this->open();
  ASSERT_EQ(o.record(1), 0);
  const auto made = this->fake().calls_of(World::create_event);
  ASSERT_FALSE(made.empty());
  for (const fake_call& c : made) EXPECT_EQ(c.arguments[0], 1u | 2u);
  ASSERT_EQ(o.settle(), 0);
}

TYPED_TEST(event_record, events_are_used_again_once_their_number_is_done) {
  using World = TypeParam;
  auto o = this->open();
  this->fake().fake_log_clear();
  for (uint64_t n = 1; n <= 1000; ++n) {
    ASSERT_EQ(o.record(n), 0);
    ASSERT_EQ(o.finish(n), GAR_DONE);
  }
  EXPECT_EQ(this->fake().count(World::create_event), 1u);
  ASSERT_EQ(o.settle(), 0);
}

TYPED_TEST(event_record, the_257th_record_is_refused_while_the_oldest_is_pending) {
  auto o = this->open();
  this->submit(hour_ns);
  for (uint64_t n = 1; n <= 256; ++n) ASSERT_EQ(o.record(n), 0) << n;
  this->fake().fake_log_clear();
  EXPECT_EQ(o.record(257), GAR_REFUSED);
  EXPECT_EQ(o.failure.status, static_cast<int>(errc::LimitRecords));
  EXPECT_THAT(this->enqueued(), IsEmpty());
  EXPECT_EQ(o.query(256), GAR_PENDING) << "the stream itself is as it was";
  this->end_everything();
}

TYPED_TEST(event_record, a_full_stream_records_again_once_its_oldest_is_done) {
  auto o = this->open();
  for (uint64_t n = 1; n <= 256; ++n) ASSERT_EQ(o.record(n), 0) << n;
  ASSERT_EQ(o.finish(1), GAR_DONE);
  ASSERT_EQ(o.record(257), 0);
  ASSERT_EQ(o.finish(257), GAR_DONE);
  ASSERT_EQ(o.settle(), 0);
}

TYPED_TEST(event_record, a_store_that_fails_ends_recording_and_nothing_else) {
  using World = TypeParam;
  auto o = this->open();
  this->submit(3 * ms_ns);
  ASSERT_EQ(o.record(1), 0);
  this->fake().fake_fail(World::has_batches ? World::batch : World::store, 801, 0, 1);
  EXPECT_EQ(o.record(2), GAR_FAILED);
  EXPECT_EQ(o.failure.status, 801);
  this->fake().fake_log_clear();
  EXPECT_EQ(o.record(2), GAR_FAILED);
  EXPECT_EQ(o.failure.status, 801) << "reported again, not asked again";
  EXPECT_THAT(this->fake().names(), IsEmpty());
  EXPECT_EQ(o.query(2), GAR_PENDING) << "it was never issued";
  EXPECT_EQ(o.finish(1), GAR_DONE) << "what was recorded before goes on";
  EXPECT_EQ(o.settle(), 0);
  this->fake().fake_log_clear();
  o.lines->unmap();
  EXPECT_EQ(this->fake().count(World::synchronize_domain), 0u);
}

TYPED_TEST(event_record, a_record_that_failed_half_way_is_still_settled) {
  using World = TypeParam;
  if (World::has_batches) GTEST_SKIP() << "word and bell go in one call";
  auto o = this->open();
  this->submit(5 * ms_ns);
  this->fake().fake_fail(World::store, 801, 1, 1);
  EXPECT_EQ(o.record(1), GAR_FAILED);
  EXPECT_EQ(o.settle(), 0);
  EXPECT_EQ(o.stored(), 1u) << "the word was enqueued, and nothing is let go before it landed";
}

}  // namespace
}  // namespace gar
