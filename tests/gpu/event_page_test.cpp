// Pages of CUDA and HIP streams: registered once, and given back only when nothing is pending.
#include "tests/gpu/event_fixture.hpp"

namespace gar {
namespace {

template <class World>
class event_page : public event_fixture<World> {};
TYPED_TEST_SUITE(event_page, vendors, vendor_name);

TYPED_TEST(event_page, the_reference_is_held_from_before_registering_until_after_unregistering) {
  using World = TypeParam;
  this->fake().fake_log_clear();
  const unsigned before = this->fake().fake_references(0);
  {
    auto o = this->open();
    ASSERT_EQ(o.record(1), 0) << o.failure.call;
    ASSERT_EQ(o.settle(), 0);
    EXPECT_GT(this->fake().fake_references(0), before);
  }
  EXPECT_EQ(this->fake().fake_references(0), before);
  EXPECT_LT(this->first(World::retain), this->first(World::register_page));
  EXPECT_LT(this->last(World::register_page), this->last(World::unregister_page));
  EXPECT_LT(this->last(World::unregister_page), this->last(World::release));
  EXPECT_EQ(this->fake().fake_registrations(), 0u);
}

TYPED_TEST(event_page, a_page_is_registered_once_for_its_domain_whatever_asks) {
  using World = TypeParam;
  auto a = this->open();
  void* second = World::make_stream(blocking);
  auto b = World::open(second).value();
  EXPECT_EQ(a.stream->device_key(), b->device_key());
  this->fake().fake_log_clear();
  void* again = nullptr;
  const gar_device_store at = a.lines->store(0, 0);
  ASSERT_EQ(World::ops()->map(b->device_key(), at.page->host, at.page->bytes, &again, &a.failure),
            0);
  EXPECT_EQ(this->fake().count(World::register_page), 0u);
  EXPECT_EQ(World::ops()->unmap(b->device_key(), again), 0);
  EXPECT_EQ(this->fake().count(World::unregister_page), 0u) << "the first mapping still needs it";
  World::destroy_stream(second);
}

TYPED_TEST(event_page, a_page_is_writable_portable_and_its_device_address_asked_for) {
  using World = TypeParam;
  auto o = this->open();
  this->fake().fake_log_clear();
  shared_page page(*World::ops(), o.stream->device_key());
  const auto calls = this->fake().calls_of(World::register_page);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].arguments[2], 1u | 2u)
      << "portable and mapped; not read-only, not coarse-grained";
  EXPECT_EQ(this->fake().count(World::device_address), 1u);
  EXPECT_LT(this->first(World::register_page), this->first(World::device_address));
}

TYPED_TEST(event_page, an_answer_that_a_page_is_registered_already_is_ours_if_we_hold_it) {
  using World = TypeParam;
  auto o = this->open();
  World::use_device(1);
  void* other_handle = World::make_stream(non_blocking);
  auto other = World::open(other_handle).value();
  ASSERT_NE(other->device_key(), o.stream->device_key());
  const gar_device_store at = o.lines->store(TestFixture::word, 7);
  gar_mapped_page page = *at.page;
  this->fake().fake_log_clear();
  ASSERT_EQ(
      World::ops()->map(other->device_key(), page.host, page.bytes, &page.mapping, &o.failure), 0);
  EXPECT_EQ(this->fake().calls_of(World::register_page).at(0).status, 712);
  const gar_device_store store{&page, at.offset_bytes, 7};
  ASSERT_EQ(World::ops()->arm(other.get(), 7, &store, nullptr, &o.failure), 0) << o.failure.call;
  ASSERT_EQ(World::ops()->settle(other.get(), &o.failure), 0);
  EXPECT_EQ(o.stored(), 7u);
  o.lines->unmap();
  EXPECT_EQ(this->fake().count(World::unregister_page), 0u) << "the other domain still uses it";
  EXPECT_EQ(World::ops()->unmap(other->device_key(), page.mapping), 0);
  EXPECT_EQ(this->fake().count(World::unregister_page), 1u);
  other.reset();
  World::destroy_stream(other_handle);
}

TYPED_TEST(event_page, a_page_that_somebody_else_registered_is_refused) {
  using World = TypeParam;
  auto o = this->open();
  this->fake().fake_fail(World::register_page, 712, 0, 1);
  shared_page page(*World::ops(), o.stream->device_key());
  EXPECT_FALSE(page.mapped());
  EXPECT_EQ(page.failure().status, 712);
  EXPECT_STREQ(page.failure().call, World::register_page);
}

TYPED_TEST(event_page, a_page_whose_address_is_not_told_is_given_back) {
  using World = TypeParam;
  auto o = this->open();
  const size_t before = this->fake().fake_registrations();
  this->fake().fake_fail(World::device_address, 1, 0, 1);
  shared_page page(*World::ops(), o.stream->device_key());
  EXPECT_FALSE(page.mapped());
  EXPECT_EQ(this->fake().fake_registrations(), before);
}

TYPED_TEST(event_page, a_page_that_may_not_be_locked_names_the_limit) {
  using World = TypeParam;
  auto o = this->open();  // the probe is behind us
  const memory_lock_limit none(0);
  shared_page page(*World::ops(), o.stream->device_key());
  EXPECT_FALSE(page.mapped());
  EXPECT_STREQ(page.failure().call, World::register_page);
  EXPECT_EQ(page.failure().status, 2);
  EXPECT_THAT(page.failure().text, HasSubstr("RLIMIT_MEMLOCK (ulimit -l) may be too low"));
  EXPECT_THAT(page.failure().text, HasSubstr(World::out_of_memory));
}

// ---- Letting go.

TYPED_TEST(event_page, settled_streams_let_a_page_go_without_waiting_for_the_domain) {
  using World = TypeParam;
  void* busy = World::make_stream(non_blocking);
  this->fake().fake_submit(busy, hour_ns, nullptr, 0);  // somebody else's work
  auto o = this->open();
  ASSERT_EQ(o.record(1), 0);
  ASSERT_EQ(o.settle(), 0);
  this->fake().fake_log_clear();
  o.lines->unmap();
  EXPECT_EQ(this->fake().count(World::synchronize_domain), 0u);
  EXPECT_EQ(this->fake().count(World::unregister_page), 1u);
  this->end_everything();
}

TYPED_TEST(event_page, a_page_with_stores_not_known_to_have_landed_waits_for_the_domain) {
  using World = TypeParam;
  auto o = this->open();
  this->submit(5 * ms_ns);
  ASSERT_EQ(o.record(1), 0);
  this->fake().fake_log_clear();
  o.lines->unmap();
  EXPECT_LT(this->first(World::synchronize_domain), this->first(World::unregister_page));
  EXPECT_EQ(o.stored(), 1u);
}

TYPED_TEST(event_page, a_later_record_that_is_done_says_that_older_pages_have_their_stores) {
  using World = TypeParam;
  auto o = this->open();
  ASSERT_EQ(o.record(1), 0);
  shared_page next(*World::ops(), o.stream->device_key());
  const gar_device_store store = next.store(0, 2);
  ASSERT_EQ(World::ops()->arm(o.stream.get(), 2, &store, nullptr, &o.failure), 0);
  ASSERT_EQ(o.finish(2), GAR_DONE);
  this->fake().fake_log_clear();
  o.lines->unmap();
  EXPECT_EQ(this->fake().count(World::synchronize_domain), 0u);
  ASSERT_EQ(o.settle(), 0);
}

TYPED_TEST(event_page, a_domain_that_cannot_settle_keeps_the_page_and_the_reference) {
  using World = TypeParam;
  auto o = this->open();
  const unsigned references = this->fake().fake_references(0);
  ASSERT_EQ(o.record(1), 0);
  gar_mapped_page page = *o.lines->store(0, 0).page;
  this->fake().fake_fail(World::synchronize_domain, 719, 0, 1);
  this->fake().fake_log_clear();
  EXPECT_EQ(World::ops()->unmap(o.stream->device_key(), page.mapping), GAR_FAILED);
  EXPECT_EQ(this->fake().count(World::unregister_page), 0u);
  o.stream.reset();
  EXPECT_EQ(this->fake().fake_references(0), references);
  EXPECT_EQ(this->fake().count(World::release), 0u);
  this->keep(std::move(o.lines));
}

TYPED_TEST(event_page, a_late_store_is_waited_for_by_settle) {
  auto o = this->open();
  this->fake().fake_delay_stores(1, 5 * ms_ns);
  ASSERT_EQ(o.record(1), 0);
  ASSERT_EQ(o.finish(1), GAR_DONE);
  ASSERT_EQ(o.settle(), 0);
  EXPECT_EQ(o.stored(), 1u);
}

TYPED_TEST(event_page, a_lost_store_hangs_neither_a_query_nor_settle) {
  auto o = this->open();
  this->fake().fake_lose_stores(2);
  ASSERT_EQ(o.record(1), 0);
  EXPECT_EQ(o.finish(1), GAR_DONE);
  EXPECT_EQ(o.settle(), 0);
  EXPECT_EQ(o.stored(), 0u);
  ASSERT_EQ(o.record(2), 0);
  EXPECT_EQ(o.settle(), 0);
  EXPECT_EQ(o.stored(), 2u);
}

}  // namespace
}  // namespace gar
