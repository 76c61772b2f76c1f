// What opening and recording refuse, with which error, and that nothing happened then.
#include "tests/gpu/event_fixture.hpp"

namespace gar {
namespace {

template <class World>
class event_refusal : public event_fixture<World> {
 protected:
  static errc code_of(const result<std::unique_ptr<event_stream>>& opened) {
    return opened ? errc{} : opened.error().code();
  }
};
TYPED_TEST_SUITE(event_refusal, vendors, vendor_name);

constexpr int as_status(errc code) {
  return static_cast<int>(code);
}

// ---- Domains.

TYPED_TEST(event_refusal, a_stream_of_another_device_is_foreign) {
  using World = TypeParam;
  const unsigned references = this->fake().fake_references(1);
  World::use_device(1);
  auto refused = World::open(this->handle_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), errc::ForeignStream);
  EXPECT_EQ(refused.error().arguments().size(), 2u);
  World::let_go_of_device(1);
  EXPECT_EQ(this->fake().fake_references(1), references) << "no reference is left behind";
}

TYPED_TEST(event_refusal, without_a_domain_there_is_none) {
  using World = TypeParam;
  if constexpr (std::is_same_v<World, cuda_world>) {
    World::use_nothing();
  } else {
    this->fake().fake_fail("hipGetDevice", 201, 0, 1);
  }
  EXPECT_EQ(this->code_of(World::open(this->handle_)), errc::NoDomain);
}

TYPED_TEST(event_refusal, a_context_that_is_not_the_primary_one_is_foreign) {
  using World = TypeParam;
  if constexpr (std::is_same_v<World, cuda_world>) {
    World::make_current(this->fake().fake_context_create(0));
    void* stream = World::make_stream(non_blocking);
    EXPECT_EQ(this->code_of(World::open(stream)), errc::ForeignStream);
    for (uintptr_t number : {0, 1, 2}) {
      EXPECT_EQ(this->code_of(World::open(default_stream(number))), errc::ForeignStream) << number;
    }
  } else {
    GTEST_SKIP() << "HIP has primary contexts only";
  }
}

TYPED_TEST(event_refusal, a_context_that_is_not_the_primary_one_gets_no_primary_one_beside_it) {
  using World = TypeParam;
  if constexpr (std::is_same_v<World, cuda_world>) {
    ASSERT_EQ(this->fake().fake_references(1), 0u);
    World::make_current(this->fake().fake_context_create(1));
    void* stream = World::make_stream(non_blocking);
    this->fake().fake_log_clear();
    EXPECT_EQ(this->code_of(World::open(stream)), errc::ForeignStream);
    EXPECT_EQ(this->fake().count(World::retain), 0u) << "to retain it would make it";
  } else {
    GTEST_SKIP() << "HIP has primary contexts only";
  }
}

TYPED_TEST(event_refusal, every_kind_of_stream_is_opened_and_awaited) {
  using World = TypeParam;
  std::vector<void*> handles{World::make_stream(blocking), World::make_stream(non_blocking)};
  for (uintptr_t number : {0, 1, 2}) handles.push_back(default_stream(number));
  for (void* handle : handles) {
    auto o = this->open(handle);
    this->fake().fake_submit(handle, ms_ns, nullptr, 0);
    ASSERT_EQ(o.record(1), 0) << handle << ' ' << o.failure.call;
    EXPECT_EQ(o.finish(1), GAR_DONE);
    EXPECT_EQ(o.settle(), 0);
    EXPECT_EQ(o.stored(), 1u);
  }
}

// ---- Handles that mean the calling thread's.

TYPED_TEST(event_refusal, default_streams_are_never_queried_or_synchronized_themselves) {
  using World = TypeParam;
  for (uintptr_t number : {0, 1, 2}) {
    auto o = this->open(default_stream(number));
    this->fake().fake_log_clear();
    EXPECT_EQ(World::ops()->idle(o.stream.get(), &o.failure), GAR_PENDING);
    ASSERT_EQ(o.record(1), 0);
    EXPECT_EQ(o.finish(1), GAR_DONE);
    EXPECT_EQ(o.settle(), 0);
    EXPECT_EQ(this->fake().count(World::query_stream), 0u);
    EXPECT_EQ(this->fake().count(World::synchronize_stream), 0u);
  }
}

TYPED_TEST(event_refusal, a_default_stream_records_from_any_thread_in_its_domain) {
  using World = TypeParam;
  auto o = this->open(default_stream(0));
  ASSERT_EQ(o.record(1), 0);
  std::thread([&] {
    World::use_device(0);
    EXPECT_EQ(o.record(2), 0);
    World::use_device(1);
    EXPECT_EQ(o.record(3), GAR_REFUSED);
    EXPECT_EQ(o.failure.status, as_status(errc::ForeignStream));
    World::let_go_of_device(0);
    World::let_go_of_device(1);
  }).join();
  if constexpr (std::is_same_v<World, cuda_world>) {
    std::thread([&] {
      EXPECT_EQ(o.record(3), GAR_REFUSED);
      EXPECT_EQ(o.failure.status, as_status(errc::NoDomain));
    }).join();
  }
  EXPECT_EQ(o.record(3), 0) << "what was refused left the stream as it was";
  EXPECT_EQ(o.finish(3), GAR_DONE);
  EXPECT_EQ(o.settle(), 0);
}

TYPED_TEST(event_refusal, a_threads_default_stream_records_on_that_thread_alone) {
  using World = TypeParam;
  auto o = this->open(default_stream(2));
  ASSERT_EQ(o.record(1), 0);
  std::thread([&] {
    World::use_device(0);
    this->fake().fake_log_clear();
    EXPECT_EQ(o.record(2), GAR_REFUSED);
    EXPECT_EQ(o.failure.status, as_status(errc::ForeignStream));
    EXPECT_THAT(this->enqueued(), IsEmpty());
    while (o.query(1) == GAR_PENDING) std::this_thread::yield();
    EXPECT_EQ(o.query(1), GAR_DONE) << "asking is free";
    World::let_go_of_device(0);
  }).join();
  EXPECT_EQ(o.record(2), 0);
  EXPECT_EQ(o.settle(), 0);
}

// The C library gives an ended thread's identity to the next one, whose default stream is another.
TYPED_TEST(event_refusal, a_threads_default_stream_is_no_later_threads) {
  using World = TypeParam;
  auto o = this->open(default_stream(2));
  const auto on_a_thread = [](auto body) {
    std::thread([&] {
      World::use_device(0);
      body();
      World::let_go_of_device(0);
    }).join();
  };
  on_a_thread([&] {
    this->fake().fake_submit(default_stream(2), 20 * ms_ns, nullptr, 0);
    ASSERT_EQ(o.record(1), 0);
  });
  on_a_thread([&] {
    this->fake().fake_log_clear();
    EXPECT_EQ(o.record(2), GAR_REFUSED);
    EXPECT_EQ(o.failure.status, as_status(errc::ForeignStream));
    EXPECT_EQ(o.settle(), 0);
    EXPECT_THAT(this->enqueued(), IsEmpty());
    EXPECT_EQ(o.stored(), 1u) << "settled means that its stores have landed";
    o.lines->unmap();
  });
}

TYPED_TEST(event_refusal, a_threads_default_stream_settles_from_elsewhere_by_its_word) {
  using World = TypeParam;
  auto o = this->open(default_stream(2));
  ASSERT_EQ(o.record(1), 0);
  std::thread([&] {
    World::use_device(0);
    this->fake().fake_log_clear();
    EXPECT_EQ(o.settle(), 0);
    EXPECT_EQ(this->fake().count(World::record_event), 0u) << "it would be another stream";
    o.lines->unmap();
    EXPECT_EQ(this->fake().count(World::synchronize_domain), 1u)
        << "whether the bell has landed only the domain can tell";
    World::let_go_of_device(0);
  }).join();
}

TYPED_TEST(event_refusal, a_threads_default_stream_that_lost_its_store_does_not_settle_elsewhere) {
  using World = TypeParam;
  auto o = this->open(default_stream(2));
  this->fake().fake_lose_stores(2);
  ASSERT_EQ(o.record(1), 0);
  std::thread([&] {
    World::use_device(0);
    EXPECT_EQ(o.settle(), GAR_FAILED);
    World::let_go_of_device(0);
  }).join();
}

// ---- Captures.

TYPED_TEST(event_refusal, recording_on_a_capturing_stream_enqueues_nothing) {
  auto o = this->open();
  ASSERT_EQ(o.record(1), 0);
  ASSERT_EQ(this->fake().fake_begin_capture(this->handle_, capture_global), 0);
  this->fake().fake_log_clear();
  EXPECT_EQ(o.record(2), GAR_REFUSED);
  EXPECT_EQ(o.failure.status, as_status(errc::Capturing));
  EXPECT_THAT(this->enqueued(), IsEmpty());
  EXPECT_EQ(this->fake().fake_end_capture(this->handle_), 0) << "the capture is whole";
  EXPECT_EQ(o.record(2), 0) << "and the stream as it was";
  EXPECT_EQ(o.finish(2), GAR_DONE);
  EXPECT_EQ(o.settle(), 0);
}

TYPED_TEST(event_refusal, recording_where_a_capture_was_spoilt_enqueues_nothing) {
  using World = TypeParam;
  auto o = this->open();
  ASSERT_EQ(this->fake().fake_begin_capture(this->handle_, capture_global), 0);
  (void)World::query_as_program(World::make_event());  // the program spoils its own
  EXPECT_EQ(o.record(1), GAR_REFUSED);
  EXPECT_EQ(o.failure.status, as_status(errc::Capturing));
  EXPECT_EQ(this->fake().fake_end_capture(this->handle_), 901);
  EXPECT_EQ(o.record(1), 0);
  EXPECT_EQ(o.settle(), 0);
}

TYPED_TEST(event_refusal, a_capture_that_begins_in_the_middle_of_a_record_refuses_it) {
  using World = TypeParam;
  auto o = this->open();
  for (int32_t status : {900, 901, 905, 906, 908}) {
    this->fake().fake_fail(World::record_event, status, 0, 1);
    this->fake().fake_log_clear();
    EXPECT_EQ(o.record(1), GAR_REFUSED) << status;
    EXPECT_EQ(o.failure.status, as_status(errc::Capturing));
    EXPECT_EQ(this->enqueued().size(), 1u) << "behind an event that was refused nothing is stored";
  }
  EXPECT_EQ(o.settle(), 0) << "there is nothing to settle";
  EXPECT_EQ(o.record(1), 0) << "the stream is as it was";
  EXPECT_EQ(o.finish(1), GAR_DONE);
  EXPECT_EQ(o.settle(), 0);
}

TYPED_TEST(event_refusal, the_default_stream_is_refused_while_a_blocking_stream_is_captured) {
  using World = TypeParam;
  auto o = this->open(default_stream(0));
  ASSERT_EQ(o.record(1), 0);
  ASSERT_EQ(o.finish(1), GAR_DONE);
  void* captured = World::make_stream(blocking);
  ASSERT_EQ(this->fake().fake_begin_capture(captured, capture_global), 0);
  this->fake().fake_log_clear();
  EXPECT_EQ(o.record(2), GAR_REFUSED);
  EXPECT_EQ(o.failure.status, as_status(errc::Capturing));
  EXPECT_THAT(this->enqueued(), IsEmpty());
  EXPECT_EQ(o.settle(), 0) << "the word has landed";
  EXPECT_EQ(this->fake().fake_end_capture(captured), 0);
  EXPECT_EQ(o.record(2), 0);
  EXPECT_EQ(o.settle(), 0);
}

}  // namespace
}  // namespace gar
