// CUDA and HIP streams when things go wrong: device faults, domains that die, drivers that store
// nothing, processes that end without a word.
#include <cstdlib>

#include "tests/gpu/event_fixture.hpp"

namespace gar {
namespace {

template <class World>
class event_fault : public event_fixture<World> {};
TYPED_TEST_SUITE(event_fault, vendors, vendor_name);

// ---- The device.

TYPED_TEST(event_fault, a_device_fault_is_reported_with_the_drivers_name_and_stays) {
  using World = TypeParam;
  auto o = this->open();
  ASSERT_EQ(o.record(1), 0);
  ASSERT_EQ(o.finish(1), GAR_DONE);
  this->fake().fake_submit_fault(this->handle_, ms_ns, 700);
  ASSERT_EQ(o.record(2), 0);
  EXPECT_EQ(o.finish(2), GAR_FAILED);
  EXPECT_EQ(o.failure.status, 700);
  EXPECT_THAT(o.failure.text, HasSubstr(World::illegal_address));
  EXPECT_THAT(o.failure.text, HasSubstr("an illegal memory access was encountered"));
  EXPECT_EQ(o.stored(), 1u) << "behind the fault nothing is stored";

  this->fake().fake_log_clear();
  EXPECT_EQ(o.query(2), GAR_FAILED);
  EXPECT_EQ(o.record(3), GAR_FAILED);
  EXPECT_EQ(World::ops()->idle(o.stream.get(), &o.failure), GAR_FAILED);
  EXPECT_EQ(o.failure.status, 700);
  EXPECT_THAT(this->fake().names(), IsEmpty()) << "the driver is asked once";
  EXPECT_EQ(o.settle(), GAR_FAILED);
  EXPECT_EQ(o.failure.status, 700);
  EXPECT_EQ(o.query(1), GAR_DONE) << "it was seen done before";
  this->end_everything();
}

TYPED_TEST(event_fault, a_fault_ends_every_way_of_waiting) {
  using World = TypeParam;
  for (int way = 0; way < 3; ++way) {
    World::use_device(0);
    void* handle = World::make_stream(non_blocking);
    auto o = this->open(handle);
    this->fake().fake_submit_fault(handle, 2 * ms_ns, 719);
    ASSERT_EQ(o.record(1), 0);
    int answer = GAR_PENDING;
    if (way == 0) answer = o.finish(1);
    if (way == 1) answer = World::ops()->poll(o.stream.get(), 1, no_timeout, &o.failure);
    while (way == 2 && answer == GAR_PENDING) answer = o.query(1);
    EXPECT_EQ(answer, GAR_FAILED) << way;
    EXPECT_EQ(o.failure.status, 719) << way;
    this->end_everything();
  }
}

TYPED_TEST(event_fault, a_domain_that_dies_first_fails_what_is_left_and_is_not_used_again) {
  using World = TypeParam;
  auto o = this->open();
  this->submit(hour_ns);
  ASSERT_EQ(o.record(1), 0);
  this->fake().fake_reset(0);  // by its other owner
  EXPECT_EQ(o.query(1), GAR_FAILED);
  EXPECT_EQ(o.failure.status, 709);
  EXPECT_EQ(o.settle(), GAR_FAILED);
  gar_mapped_page page = *o.lines->store(0, 0).page;
  this->fake().fake_log_clear();
  EXPECT_EQ(World::ops()->unmap(o.stream->device_key(), page.mapping), GAR_FAILED);
  EXPECT_EQ(this->fake().count(World::unregister_page), 0u);

  World::use_device(0);
  void* handle = World::make_stream(non_blocking);
  auto next = this->open(handle);
  EXPECT_NE(next.stream->device_key(), o.stream->device_key());
  ASSERT_EQ(next.record(1), 0) << next.failure.call;
  EXPECT_EQ(next.finish(1), GAR_DONE);
  EXPECT_EQ(next.settle(), 0);
  this->keep(std::move(o.lines));
}

TYPED_TEST(event_fault, a_reset_that_nobody_noticed_is_found_by_the_next_open) {
  using World = TypeParam;
  auto o = this->open();
  ASSERT_EQ(o.record(1), 0);
  ASSERT_EQ(o.settle(), 0);
  this->fake().fake_reset(0);
  World::use_device(0);
  void* handle = World::make_stream(non_blocking);
  auto next = this->open(handle);
  EXPECT_NE(next.stream->device_key(), o.stream->device_key());
  ASSERT_EQ(next.record(1), 0) << next.failure.call;
  EXPECT_EQ(next.settle(), 0);
  this->keep(std::move(o.lines));
}

// ---- Stores that do not arrive.

TYPED_TEST(event_fault, stores_that_are_not_supported_leave_a_stream_that_polls) {
  using World = TypeParam;
  this->fake().fake_fail(World::batch, 801, 0, UINT32_MAX);
  this->fake().fake_fail(World::store, 801, 0, UINT32_MAX);
  this->fake().fake_log_clear();
  auto stream = World::open(this->handle_).value();
  EXPECT_EQ(stream->stores().way, store_way::none);
  EXPECT_THAT(stream->stores().why, HasSubstr(World::store));
  EXPECT_THAT(stream->stores().why, HasSubstr("801"));
  EXPECT_THAT(stream->stores().why, HasSubstr(World::remedy));
  EXPECT_EQ(this->fake().count(World::register_page), this->fake().count(World::unregister_page));

  shared_page page(*World::ops(), stream->device_key());
  ASSERT_TRUE(page.mapped());
  EXPECT_EQ(this->fake().count(World::register_page), 1u) << "only the probe's own";
  gar_device_failure failure{};
  const gar_device_store store = page.store(0, 1);
  ASSERT_EQ(World::ops()->arm(stream.get(), 1, &store, nullptr, &failure), 0) << failure.call;
  EXPECT_EQ(World::ops()->poll(stream.get(), 1, no_timeout, &failure), GAR_DONE);
  EXPECT_EQ(World::ops()->settle(stream.get(), &failure), 0);
  EXPECT_EQ(page.word(0), 0u);
}

TYPED_TEST(event_fault,
           memory_that_may_not_be_locked_leaves_a_stream_that_polls_and_names_the_limit) {
  using World = TypeParam;
  const memory_lock_limit none(0);
  auto o = this->open();
  EXPECT_EQ(o.stream->stores().way, store_way::none);
  EXPECT_THAT(o.stream->stores().why, HasSubstr(World::register_page));
  EXPECT_THAT(o.stream->stores().why, HasSubstr("RLIMIT_MEMLOCK (ulimit -l) may be too low"));
  EXPECT_THAT(o.stream->stores().why, Not(HasSubstr(World::remedy))) << "that would not help";
  ASSERT_EQ(o.record(1), 0);
  EXPECT_EQ(World::ops()->poll(o.stream.get(), 1, no_timeout, &o.failure), GAR_DONE);
}

TYPED_TEST(event_fault, a_store_that_is_taken_but_lost_leaves_a_stream_that_polls) {
  using World = TypeParam;
  this->fake().fake_lose_stores(UINT32_MAX);
  auto stream = World::open(this->handle_).value();
  EXPECT_EQ(stream->stores().way, store_way::none);
  EXPECT_THAT(stream->stores().why, HasSubstr("did not arrive within"));
  EXPECT_THAT(stream->stores().why, HasSubstr(World::remedy));
  EXPECT_EQ(this->fake().fake_registrations(), 1u) << "a store into it may still be pending";
  this->fake().fake_log_clear();
  auto again = World::open(this->handle_).value();
  EXPECT_EQ(this->fake().count(World::create_stream), 0u) << "what was found is remembered";
  EXPECT_EQ(again->stores().way, store_way::none);
}

TYPED_TEST(event_fault, batches_that_are_not_supported_give_way_to_single_stores) {
  using World = TypeParam;
  if (!World::has_batches) GTEST_SKIP() << "this vendor has none";
  this->fake().fake_fail(World::batch, 801, 0, UINT32_MAX);
  auto o = this->open();
  EXPECT_EQ(o.stream->stores().way, store_way::single);
  this->fake().fake_log_clear();
  ASSERT_EQ(o.record(1), 0);
  EXPECT_EQ(this->fake().count(World::store), 2u);
  EXPECT_EQ(this->fake().count(World::batch), 0u);
  EXPECT_EQ(o.settle(), 0);
  EXPECT_EQ(o.stored(), 1u);
}

TYPED_TEST(event_fault, the_probe_stores_with_default_flags_and_looks_through_a_second_mapping) {
  using World = TypeParam;
  this->fake().fake_log_clear();
  auto o = this->open();
  EXPECT_NE(o.stream->stores().way, store_way::none);
  EXPECT_EQ(this->fake().count(World::create_stream), 1u) << "a scratch stream of its own";
  for (const fake_call& c : this->fake().calls_of(World::store)) EXPECT_EQ(c.arguments[2], 0u);
  for (const fake_call& c : this->fake().calls_of(World::batch)) EXPECT_EQ(c.arguments[2], 0u);
}

// ---- Every call that can fail while a stream is opened, with every status that is documented.

TYPED_TEST(event_fault, every_call_that_fails_while_opening_is_named_and_leaves_nothing) {
  using World = TypeParam;
  {
    auto warm = this->open();  // the probe is behind us
    ASSERT_EQ(warm.settle(), 0);
  }
  const size_t events = this->fake().fake_live_events();
  for (const char* call : {World::retain, World::create_event, World::exchange_mode}) {
    for (int32_t status : {1, 2, 3, 4, 101, 201, 719, 999}) {
      this->fake().fake_fail(call, status, 0, 1);
      auto refused = World::open(this->handle_);
      this->fake().fake_fail(call, 0, 0, 0);
      ASSERT_FALSE(refused) << call << ' ' << status;
      EXPECT_EQ(refused.error().code(), errc::Backend) << call;
      EXPECT_EQ(refused.error().os_number(), status);
      EXPECT_EQ(refused.error().arguments().at(0), call);
    }
  }
  EXPECT_EQ(this->fake().fake_live_events(), events);
  EXPECT_EQ(this->fake().fake_registrations(), 0u);
}

// ---- The end of the process.

template <class World>
struct left_open {
  static inline event_stream* stream = nullptr;
  static inline shared_page* page = nullptr;
  static inline size_t calls = 0;

  // Runs after the library's own handler, which was registered later.
  static void at_exit() {
    gar_device_failure failure{};
    const gar_device_store store = page->store(0, 9);
    World::fake().fake_log_clear();
    bool right = World::ops()->query(stream, 1, &failure) == GAR_PENDING;
    right = right && World::ops()->arm(stream, 2, &store, nullptr, &failure) == GAR_FAILED;
    right = right && World::ops()->settle(stream, &failure) == GAR_FAILED;
    right = right && World::ops()->idle(stream, &failure) == GAR_PENDING;
    right = right && World::ops()->unmap(nullptr, store.page->mapping) == GAR_FAILED;
    delete stream;
    right = right && World::fake().fake_log_count() == 0;
    _exit(right ? 0 : 1);
  }
};

TYPED_TEST(event_fault, an_exit_handler_makes_no_driver_call_and_leaks) {
  using World = TypeParam;
  using left = left_open<World>;
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        std::atexit(left::at_exit);
        left::stream = World::open(this->handle_).value().release();
        left::page = new shared_page(*World::ops(), left::stream->device_key());
        const gar_device_store store = left::page->store(0, 1);
        gar_device_failure failure{};
        this->submit(hour_ns);
        World::ops()->arm(left::stream, 1, &store, nullptr, &failure);
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TYPED_TEST(event_fault, a_process_that_ends_without_closing_just_ends) {
  using World = TypeParam;
  using left = left_open<World>;
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        left::stream = World::open(this->handle_).value().release();
        left::page = new shared_page(*World::ops(), left::stream->device_key());
        const gar_device_store store = left::page->store(0, 1);
        gar_device_failure failure{};
        World::ops()->arm(left::stream, 1, &store, nullptr, &failure);
        std::exit(3);
      },
      testing::ExitedWithCode(3), "");
}

// ---- Many.

size_t open_descriptors() {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                                           std::filesystem::directory_iterator()));
}

TYPED_TEST(event_fault, a_thousand_streams_opened_and_closed_leave_nothing) {
  const auto once = [&] {
    auto o = this->open();
    EXPECT_EQ(o.record(1), 0);
    EXPECT_EQ(o.finish(1), GAR_DONE);
    EXPECT_EQ(o.settle(), 0);
  };
  once();
  const size_t events = this->fake().fake_live_events();
  const size_t streams = this->fake().fake_live_streams();
  const size_t descriptors = open_descriptors();
  const unsigned references = this->fake().fake_references(0);
  for (int i = 0; i < 1000; ++i) once();
  EXPECT_EQ(this->fake().fake_live_events(), events);
  EXPECT_EQ(this->fake().fake_live_streams(), streams);
  EXPECT_EQ(this->fake().fake_registrations(), 0u);
  EXPECT_EQ(this->fake().fake_references(0), references);
  EXPECT_EQ(open_descriptors(), descriptors);
}

TYPED_TEST(event_fault, many_threads_open_record_wait_and_close) {
  using World = TypeParam;
  constexpr int threads = 16;
  constexpr uint64_t records = 20;
  auto shared = this->open();
  std::mutex recording;
  uint64_t last = 0;
  std::atomic<int> wrong{0};
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&] {
      World::use_device(0);
      void* handle = World::make_stream(non_blocking);
      {
        auto own = this->open(handle);
        for (uint64_t n = 1; n <= records; ++n) {
          if (own.record(n) != 0) ++wrong;
          uint64_t mine = 0;
          {
            std::lock_guard hold(recording);
            mine = ++last;
            if (shared.record(mine) != 0) ++wrong;
          }
          gar_device_failure failure{};
          if (World::ops()->block(shared.stream.get(), mine, no_timeout, &failure) != GAR_DONE) {
            ++wrong;
          }
          if (own.finish(n) != GAR_DONE) ++wrong;
        }
        if (own.settle() != 0) ++wrong;
      }
      World::destroy_stream(handle);
      World::let_go_of_device(0);
    });
  }
  for (std::thread& t : all) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(shared.settle(), 0);
  EXPECT_EQ(shared.stored(), threads * records);
}

}  // namespace
}  // namespace gar
