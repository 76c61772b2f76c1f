// Every driver call in the life of a stream fails once, each time with another status.
//
// Whatever fails, and however: nothing is said to be done that is not, no handle is used after its
// end, no memory is let go that a store may still reach, what is not leaked on purpose is given
// back, and the thread is left as it was.
#include <set>

#include "tests/gpu/event_fixture.hpp"

namespace gar {
namespace {

const stream_driver& driver_of(cuda_world) {
  return **cuda_streams::process();
}
const stream_driver& driver_of(hip_world) {
  return **hip_streams::process();
}

template <class World>
class event_sweep : public event_fixture<World> {
 protected:
  // What a life leaves behind because a store may still reach it.
  struct leaks {
    size_t pages = 0;
    bool domain = false;
  };

  // Opens, maps, records, waits in every way, settles and closes, as far as it comes.
  leaks live() {
    leaks left;
    auto& domains = *new event_domains(driver_of(World()));  // leaked pages refer to it
    auto opened = event_stream::open(domains, this->handle_, make_test_scratch);
    if (!opened) return left;
    std::unique_ptr<event_stream> stream = std::move(*opened);
    if (stream->stores().still_used) left = {1, true};
    auto page = std::make_unique<shared_page>(*World::ops(), stream->device_key());
    if (!page->mapped()) return left;
    for (uint64_t n = 1; n <= 4; ++n) record_and_wait(*stream, *page, n);
    (void)World::ops()->idle(stream.get(), &failure_);
    (void)World::ops()->settle(stream.get(), &failure_);
    const gar_mapped_page& mapped = *page->store(0, 0).page;
    if (World::ops()->unmap(stream->device_key(), mapped.mapping) != 0) {
      ++left.pages;
      left.domain = true;
    }
    (void)new std::unique_ptr(std::move(page));  // it would unmap itself
    return left;
  }

  void record_and_wait(event_stream& stream, const shared_page& page, uint64_t n) {
    this->fake().fake_submit(this->handle_, ms_ns / 10, &truth_, ++work_);
    const gar_device_store word = page.store(this->word, n);
    const gar_device_store bell = page.store(this->bell + 32, n);
    if (World::ops()->arm(&stream, n, &word, &bell, &failure_) != 0) return;
    int answer = GAR_PENDING;
    for (int i = 0; i < 1000 && answer == GAR_PENDING; ++i) {
      if (n == 1) answer = World::ops()->query(&stream, n, &failure_);
      if (n == 2) answer = World::ops()->block(&stream, n, no_timeout, &failure_);
      if (n == 3) answer = World::ops()->poll(&stream, n, ms_ns, &failure_);
      if (n == 4) answer = World::ops()->block(&stream, n, ms_ns, &failure_);
    }
    if (answer == GAR_DONE) {
      EXPECT_GE(__atomic_load_n(&truth_, __ATOMIC_ACQUIRE), work_);
    }
  }

  uint64_t truth_ = 0;
  uint64_t work_ = 0;
  gar_device_failure failure_{};
};
TYPED_TEST_SUITE(event_sweep, vendors, vendor_name);

TYPED_TEST(event_sweep, whatever_fails_nothing_is_said_done_or_let_go_too_early) {
  using World = TypeParam;
  auto& fake = this->fake();
  (void)World::open(this->handle_);  // the driver is started
  fake.fake_log_clear();
  (void)this->live();
  std::set<std::string> calls;
  for (const std::string& name : fake.names()) calls.insert(name);
  ASSERT_GT(calls.size(), 12u);

  void* const current = World::current();
  for (const std::string& call : calls) {
    for (int32_t status : {1, 201, 709, 719, 900, 907}) {
      for (unsigned skip : {0u, 1u, 4u}) {
        const std::string where = call + " " + std::to_string(status) + " " + std::to_string(skip);
        const size_t registrations = fake.fake_registrations();
        const unsigned references = fake.fake_references(0);
        fake.fake_fail(call.c_str(), status, skip, 1);
        const auto left = this->live();
        fake.fake_fail(call.c_str(), 0, 0, 0);
        EXPECT_EQ(fake.fake_registrations(), registrations + left.pages) << where;
        if (call != World::release) {
          EXPECT_EQ(fake.fake_references(0), references + (left.domain ? 1 : 0)) << where;
        }
        EXPECT_THAT(fake.violations(), IsEmpty()) << where;
        // The way back itself has failed.
        if (call == "cuCtxPopCurrent_v2" || call == "hipSetDevice") continue;
        EXPECT_EQ(World::current(), current) << where;
        if constexpr (std::is_same_v<World, hip_world>) {
          EXPECT_EQ(World::last_error(), 0) << where;
        }
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace gar
