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

}  // namespace
}  // namespace gar
