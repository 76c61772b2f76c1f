// Streams over a driver that was filled from a table: what a driver may lack, and what then is used
// in its place.
#include <dlfcn.h>

#include "tests/gpu/event_fixture.hpp"

namespace gar {
namespace {

// Everything that the fake library has, but for one symbol.
template <class World>
symbol_source without(const char* symbol) {
  static const char* missing;
  missing = symbol;
  return {"a table",
          [](const void*, const char* name) -> void* {
            if (std::string(name) == missing) return nullptr;
            return reinterpret_cast<void*>(World::fake().template find<void()>(name));
          },
          nullptr};
}

TEST(vendor_table, a_cuda_driver_without_batches_stores_one_by_one) {
  if (std::string why = cuda_world::fake().why_not(); !why.empty()) GTEST_SKIP() << why;
  const auto calls = cuda_driver::from(without<cuda_world>("cuStreamBatchMemOp_v2"));
  ASSERT_TRUE(calls) << calls.error().text();
  const cuda_streams driver(*calls);
  event_domains domains(driver);
  cuda_world::use_device(0);
  auto stream = event_stream::open(domains, cuda_world::make_stream(1), make_test_scratch).value();
  EXPECT_EQ(stream->stores().way, store_way::single);
  EXPECT_EQ(cuda_world::fake().count(cuda_world::batch), 0u);
}

TEST(vendor_table, a_hip_runtime_of_either_age_tells_a_streams_device) {
  if (std::string why = hip_world::fake().why_not(); !why.empty()) GTEST_SKIP() << why;
  for (const auto& [missing, used] : {std::pair{"hipStreamGetDevice", "hipGetStreamDeviceId"},
                                      {"hipGetStreamDeviceId", "hipStreamGetDevice"},
                                      {"neither", "hipStreamGetDevice"}}) {
    const auto calls = hip_driver::from(without<hip_world>(missing));
    ASSERT_TRUE(calls) << calls.error().text();
    const hip_streams driver(*calls);
    event_domains domains(driver);
    hip_world::use_device(1);
    void* handle = hip_world::make_stream(1);
    hip_world::fake().fake_log_clear();
    EXPECT_TRUE(event_stream::open(domains, handle, make_test_scratch));
    EXPECT_EQ(hip_world::fake().count(used), 1u);
    hip_world::use_device(0);
    const auto foreign = event_stream::open(domains, handle, make_test_scratch);
    ASSERT_FALSE(foreign);
    EXPECT_EQ(foreign.error().code(), errc::ForeignStream);
  }
}

}  // namespace
}  // namespace gar
