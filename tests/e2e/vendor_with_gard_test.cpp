// CUDA and HIP streams, over the fake drivers, through libgarclient and a real gard.
#include <gmock/gmock.h>

#include <boost/json.hpp>
#include <filesystem>
#include <memory>
#include <type_traits>

#include "tests/clients/sim_fixture.hpp"
#include "tests/e2e/gard_process.hpp"
#include "tests/gpu/cuda_program.hpp"
#include "tests/gpu/hip_program.hpp"

namespace gar::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

template <class Program>
class vendor_with_gard : public testing::Test {
 protected:
  static fake_library& fake() { return Program::fake(); }

  void SetUp() override {
    if (std::string why = fake().why_not(); !why.empty()) GTEST_SKIP() << why;
    std::string pattern = std::filesystem::temp_directory_path() / "gar-e2e-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    gard_ = std::make_unique<gard_process>(directory_);
    gard_->start();
    socket_ = gard_->socket();
    gar_client_options o{};
    o.struct_bytes = sizeof(o);
    o.socket_path = socket_.c_str();
    ASSERT_EQ(gar_connect(&o, &client_), 0) << last_text() << gard_->log_text();
    ASSERT_EQ(gar_mode(client_), GAR_MODE_DAEMON) << gard_->log_text();
    Program::use_device(0);
    handle_ = Program::make_stream(1);
  }
  void TearDown() override {
    gar_close(client_);
    if (!gard_) return;
    EXPECT_THAT(fake().violations(), IsEmpty());
    gard_.reset();
    std::filesystem::remove_all(directory_);
  }

  void set_plan(const std::string& text) {
    const auto answer = gard_->control_request(R"({"op": "plan_set", "text": ")" + text + R"("})");
    ASSERT_TRUE(answer.contains("ok") && answer.at("ok").as_bool());
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the library hears of it
  }
  gar_stream* open() {
    gar_stream* opened = nullptr;
    const int error = std::is_same_v<Program, cuda_program>
                          ? gar_cuda_stream_open(client_, handle_, nullptr, &opened)
                          : gar_hip_stream_open(client_, handle_, nullptr, &opened);
    EXPECT_EQ(error, 0) << last_text();
    return opened;
  }
  uint64_t submit_and_record(gar_stream* s, uint64_t duration_ns) {
    fake().fake_submit(handle_, duration_ns, &truth_, ++work_);
    uint64_t sequence = 0;
    EXPECT_EQ(gar_record(s, &sequence), 0) << last_text();
    return sequence;
  }
  gar_report wait(gar_stream* s, uint64_t sequence, int expected = 0) {
    gar_report r{};
    EXPECT_EQ(gar_wait(s, sequence, nullptr, &r), expected) << last_text();
    return r;
  }
  uint64_t truth() const { return __atomic_load_n(&truth_, __ATOMIC_ACQUIRE); }

  std::string directory_;
  std::string socket_;
  std::unique_ptr<gard_process> gard_;
  gar_client* client_ = nullptr;
  void* handle_ = nullptr;
  uint64_t truth_ = 0;
  uint64_t work_ = 0;
};

using programs = testing::Types<cuda_program, hip_program>;
struct program_name {
  template <class Program>
  static std::string GetName(int) {
    return Program::name;
  }
};
TYPED_TEST_SUITE(vendor_with_gard, programs, program_name);

TYPED_TEST(vendor_with_gard, the_devices_store_is_seen_by_gard_and_ends_the_wait) {
  this->set_plan("flag:park_us=100,backstop_us=500000");
  gar_stream* s = this->open();
  for (uint64_t n = 1; n <= 3; ++n) {
    const gar_report r = this->wait(s, this->submit_and_record(s, 50 * ms));
    EXPECT_EQ(this->truth(), n);
    EXPECT_EQ(r.delegated, 1);
    EXPECT_EQ(r.kind, GAR_KIND_PARKED);
    EXPECT_EQ(r.early_words, 0u);
  }
  EXPECT_EQ(gar_stream_close(s), 0) << last_text();
  EXPECT_EQ(this->fake().fake_registrations(), 0u);
}

TYPED_TEST(vendor_with_gard, a_lost_store_ends_by_gards_question) {
  this->set_plan("flag:park_us=100,backstop_us=20000");
  gar_stream* s = this->open();
  this->fake().fake_lose_stores(2);
  const gar_report r = this->wait(s, this->submit_and_record(s, 50 * ms));
  EXPECT_EQ(this->truth(), 1u);
  EXPECT_EQ(r.delegated, 1);
  EXPECT_GE(r.backstop_queries, 1u);
  EXPECT_EQ(gar_stream_close(s), 0) << last_text();
}

TYPED_TEST(vendor_with_gard, a_device_fault_is_found_by_gards_question) {
  using Program = TypeParam;
  this->set_plan("flag:park_us=100,backstop_us=20000");
  gar_stream* s = this->open();
  this->fake().fake_submit_fault(this->handle_, 50 * ms, 700);
  uint64_t sequence = 0;
  ASSERT_EQ(gar_record(s, &sequence), 0);
  this->wait(s, sequence, GAR_E_BACKEND);
  EXPECT_THAT(last_text(), HasSubstr("700"));
  EXPECT_THAT(last_text(), HasSubstr(Program::query_event));
  EXPECT_EQ(gar_stream_close(s), GAR_W_SETTLE_FAILED);
}

TYPED_TEST(vendor_with_gard, a_gard_that_goes_and_comes_again_costs_no_wait_and_no_synchronize) {
  using Program = TypeParam;
  this->set_plan("flag:park_us=100,backstop_us=10000");
  gar_stream* s = this->open();
  this->wait(s, this->submit_and_record(s, ms));
  const uint64_t pending = this->submit_and_record(s, 100 * ms);
  this->gard_->kill(SIGKILL);
  EXPECT_EQ(this->wait(s, pending).in_process, 1);
  EXPECT_EQ(this->truth(), 2u);
  this->gard_->start();
  this->fake().fake_log_clear();
  for (int i = 0; i < 500 && gar_mode(this->client_) != GAR_MODE_DAEMON; ++i) {
    this->wait(s, this->submit_and_record(s, ms));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(gar_mode(this->client_), GAR_MODE_DAEMON);
  // Its new page and bell are registered; the old ones go once nothing is pending in them.
  for (int i = 0; i < 500 && this->fake().fake_registrations() > 2; ++i) {
    this->wait(s, this->submit_and_record(s, ms));
  }
  EXPECT_EQ(this->fake().fake_registrations(), 2u);
  EXPECT_EQ(this->fake().count(Program::synchronize_domain), 0u);
  EXPECT_EQ(gar_stream_close(s), 0) << last_text();
  EXPECT_EQ(this->fake().fake_registrations(), 0u);
}

TYPED_TEST(vendor_with_gard, a_device_that_stores_nothing_is_waited_for_here) {
  using Program = TypeParam;
  this->set_plan("flag:park_us=100,backstop_us=10000");
  this->fake().fake_fail(Program::batch, 801, 0, UINT32_MAX);
  this->fake().fake_fail(Program::store, 801, 0, UINT32_MAX);
  gar_stream* s = this->open();
  EXPECT_EQ(gar_stream_warning(s, nullptr, 0), GAR_W_PARK_FALLBACK);
  const gar_report r = this->wait(s, this->submit_and_record(s, 3 * ms));
  EXPECT_EQ(this->truth(), 1u);
  EXPECT_EQ(r.delegated, 0);
  EXPECT_EQ(gar_stream_close(s), 0) << last_text();
}

}  // namespace
}  // namespace gar::test
