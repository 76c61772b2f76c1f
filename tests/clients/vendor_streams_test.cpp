// CUDA and HIP streams through the C interface, over the fake drivers.
#include <gmock/gmock.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <type_traits>
#include <vector>

#include "tests/clients/sim_fixture.hpp"
#include "tests/gpu/cuda_program.hpp"
#include "tests/gpu/hip_program.hpp"

namespace gar::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t hour = 3'600'000 * ms;
constexpr const char* flag_plan = "flag:park_us=100,backstop_us=10000";

template <class Program>
class vendor_streams : public testing::Test {
 protected:
  static fake_library& fake() { return Program::fake(); }

  void SetUp() override {
    if (std::string why = fake().why_not(); !why.empty()) GTEST_SKIP() << why;
    Program::use_device(0);
    handle_ = Program::make_stream(1);
    connect(flag_plan);
  }
  void TearDown() override {
    gar_close(client_);
    if (!fake().why_not().empty()) return;
    EXPECT_THAT(fake().violations(), IsEmpty());
  }

  void connect(const char* plan) {
    gar_close(client_);
    setenv("GAR_PLAN", plan, 1);
    const gar_client_options o = in_process();
    ASSERT_EQ(gar_connect(&o, &client_), 0) << last_text();
  }
  int open(void* handle, gar_stream** opened) {
    return std::is_same_v<Program, cuda_program>
               ? gar_cuda_stream_open(client_, handle, nullptr, opened)
               : gar_hip_stream_open(client_, handle, nullptr, opened);
  }
  gar_stream* open(void* handle) {
    gar_stream* opened = nullptr;
    EXPECT_EQ(open(handle, &opened), 0) << last_text();
    return opened;
  }
  void submit(uint64_t duration_ns, uint64_t value) {
    fake().fake_submit(handle_, duration_ns, &truth_, value);
  }
  uint64_t truth() const { return __atomic_load_n(&truth_, __ATOMIC_ACQUIRE); }
  gar_counters counters() const {
    gar_counters c{};
    c.struct_bytes = sizeof(c);
    EXPECT_EQ(gar_client_counters(client_, &c), 0);
    return c;
  }

  gar_client* client_ = nullptr;
  void* handle_ = nullptr;
  uint64_t truth_ = 0;
};

using programs = testing::Types<cuda_program, hip_program>;
struct program_name {
  template <class Program>
  static std::string GetName(int) {
    return Program::name;
  }
};
TYPED_TEST_SUITE(vendor_streams, programs, program_name);

// ---- The driver's side alone.

TYPED_TEST(vendor_streams, the_verbs_alone_record_store_and_answer) {
  const auto open_side = [](void* handle, gar_driver_stream* opened) {
    return std::is_same_v<TypeParam, cuda_program> ? gar_cuda_driver_stream_open(handle, opened)
                                                   : gar_hip_driver_stream_open(handle, opened);
  };
  gar_driver_stream side{};
  EXPECT_EQ(open_side(this->handle_, nullptr), GAR_E_INVALID_ARGUMENT);
  EXPECT_EQ(open_side(this->handle_, &side), GAR_E_INVALID_ARGUMENT);  // no struct_bytes
  side.struct_bytes = sizeof(side);
  ASSERT_EQ(open_side(this->handle_, &side), 0) << last_text();
  EXPECT_STREQ(side.no_stores, "");

  const size_t page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const std::unique_ptr<uint64_t, decltype(&std::free)> words(
      static_cast<uint64_t*>(std::aligned_alloc(page_bytes, page_bytes)), &std::free);
  gar_device_failure failure{};
  gar_mapped_page page{words.get(), page_bytes, nullptr};
  ASSERT_EQ(side.ops->map(side.device, page.host, page.bytes, &page.mapping, &failure), 0);
  words.get()[3] = 0;
  this->submit(ms, 7);
  const gar_device_store store{&page, 3 * sizeof(uint64_t), 1};
  ASSERT_EQ(side.ops->arm(side.stream, 1, &store, nullptr, &failure), 0);
  while (side.ops->query(side.stream, 1, &failure) == GAR_PENDING) usleep(100);
  EXPECT_EQ(this->truth(), 7u);
  EXPECT_EQ(side.ops->settle(side.stream, &failure), 0);
  EXPECT_EQ(__atomic_load_n(&words.get()[3], __ATOMIC_ACQUIRE), 1u);
  EXPECT_EQ(side.ops->unmap(side.device, page.mapping), 0);
  gar_driver_stream_close(&side);
  gar_driver_stream_close(&side);  // nothing is left to close
  gar_driver_stream_close(nullptr);
  EXPECT_EQ(this->fake().fake_registrations(), 0u);
}

// ---- What works.

TYPED_TEST(vendor_streams, success_is_said_only_after_the_work_under_every_plan) {
  for (const char* plan : {"block", "poll", flag_plan,
                           "flag:park_us=100,backstop_us=10000+predict:margin_us=200,"
                           "min_sleep_us=50,max_sleep_us=50000,window=8"}) {
    this->connect(plan);
    gar_stream* s = this->open(this->handle_);
    EXPECT_EQ(gar_stream_warning(s, nullptr, 0), 0);
    for (uint64_t n = 1; n <= 5; ++n) {
      this->submit(ms, n);
      uint64_t sequence = 0;
      ASSERT_EQ(gar_record(s, &sequence), 0) << last_text();
      gar_report report{};
      ASSERT_EQ(gar_wait(s, sequence, nullptr, &report), 0) << last_text();
      EXPECT_GE(this->truth(), n) << plan;
    }
    EXPECT_EQ(gar_stream_close(s), 0) << last_text();
  }
  EXPECT_EQ(this->fake().fake_registrations(), 0u);
}

TYPED_TEST(vendor_streams, pipelined_records_are_each_awaited_by_themselves) {
  gar_stream* s = this->open(this->handle_);
  std::vector<uint64_t> sequences(5);
  for (uint64_t n = 1; n <= 5; ++n) {
    this->submit(ms, n);
    ASSERT_EQ(gar_record(s, &sequences[n - 1]), 0);
  }
  this->fake().fake_submit(this->handle_, hour, nullptr, 0);
  for (uint64_t n = 1; n <= 5; ++n) {
    ASSERT_EQ(gar_wait(s, sequences[n - 1], nullptr, nullptr), 0) << last_text();
    EXPECT_GE(this->truth(), n);
  }
  this->fake().fake_reset(0);
}

TYPED_TEST(vendor_streams, a_wait_for_a_default_stream_records_first) {
  using Program = TypeParam;
  for (uintptr_t number : {0, 1, 2}) {
    gar_stream* s = this->open(reinterpret_cast<void*>(number));
    this->truth_ = 0;
    this->fake().fake_submit(reinterpret_cast<void*>(number), ms, &this->truth_, 1);
    ASSERT_EQ(gar_wait_stream(s, nullptr, nullptr), 0) << last_text();
    EXPECT_EQ(this->truth(), 1u);
    EXPECT_EQ(gar_stream_close(s), 0) << last_text();
  }
  EXPECT_EQ(this->fake().count(Program::query_stream), 0u);
}

TYPED_TEST(vendor_streams,
           an_asynchronous_wait_never_lets_a_slow_query_hold_up_the_service_thread) {
  using Program = TypeParam;
  gar_stream* s = this->open(this->handle_);
  this->submit(2 * ms, 1);
  uint64_t sequence = 0;
  ASSERT_EQ(gar_record(s, &sequence), 0);
  this->fake().fake_slow(Program::query_event, 5 * ms);
  ASSERT_EQ(gar_wait_async(s, sequence, nullptr, nullptr, nullptr), 0) << last_text();
  gar_completion ended{};
  for (size_t taken = 0; taken == 0;) {
    ASSERT_EQ(gar_take(this->client_, &ended, 1, &taken), 0);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  EXPECT_EQ(ended.error, 0);
  EXPECT_EQ(this->truth(), 1u);
  this->fake().fake_slow(Program::query_event, 0);
  EXPECT_EQ(gar_stream_close(s), 0);
}

TYPED_TEST(vendor_streams, streams_of_two_devices_share_a_client_and_its_page) {
  using Program = TypeParam;
  for (size_t closed_first : {0, 1}) {
    std::vector<gar_stream*> opened;
    std::vector<void*> handles;
    for (int device : {0, 1}) {
      Program::use_device(device);
      handles.push_back(Program::make_stream(1));
      opened.push_back(this->open(handles.back()));
    }
    const auto work = [&](size_t i, uint64_t n) {
      this->truth_ = 0;
      this->fake().fake_submit(handles[i], ms, &this->truth_, n);
      uint64_t sequence = 0;
      EXPECT_EQ(gar_record(opened[i], &sequence), 0) << last_text();
      EXPECT_EQ(gar_wait(opened[i], sequence, nullptr, nullptr), 0) << last_text();
      EXPECT_EQ(this->truth(), n);
    };
    for (uint64_t n = 1; n <= 3; ++n) {
      for (size_t i : {0, 1}) work(i, n);
    }
    EXPECT_EQ(gar_stream_close(opened[closed_first]), 0) << last_text();
    work(1 - closed_first, 4);
    EXPECT_EQ(gar_stream_close(opened[1 - closed_first]), 0) << last_text();
    EXPECT_EQ(this->fake().fake_registrations(), 0u) << closed_first;
  }
}

// ---- What is refused.

TYPED_TEST(vendor_streams, a_record_during_a_capture_is_refused_and_the_stream_goes_on) {
  gar_stream* s = this->open(this->handle_);
  ASSERT_EQ(this->fake().fake_begin_capture(this->handle_, 0), 0);
  uint64_t sequence = 0;
  EXPECT_EQ(gar_record(s, &sequence), GAR_E_CAPTURING);
  EXPECT_THAT(last_text(), HasSubstr("while a graph is captured"));
  EXPECT_EQ(gar_wait_stream(s, nullptr, nullptr), GAR_E_CAPTURING);
  EXPECT_EQ(this->fake().fake_end_capture(this->handle_), 0);
  ASSERT_EQ(gar_record(s, &sequence), 0) << last_text();
  EXPECT_EQ(gar_wait(s, sequence, nullptr, nullptr), 0);
  EXPECT_EQ(gar_stream_close(s), 0);
}

TYPED_TEST(vendor_streams, a_foreign_stream_is_refused) {
  using Program = TypeParam;
  Program::use_device(1);
  gar_stream* s = nullptr;
  EXPECT_EQ(this->open(this->handle_, &s), GAR_E_FOREIGN_STREAM);
  EXPECT_EQ(s, nullptr);
}

TYPED_TEST(vendor_streams, a_forked_child_is_refused) {
  const pid_t child = fork();
  if (child == 0) {
    gar_stream* s = nullptr;
    _exit(this->open(this->handle_, &s) == GAR_E_FORKED_CHILD ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TYPED_TEST(vendor_streams, without_a_driver_the_constructor_alone_is_refused) {
  // The death test's process is a new one, whose driver reads this when it is loaded.
  setenv("FAKE_INIT", "100", 1);
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        gar_stream* s = nullptr;
        const int refused = this->open(nullptr, &s);
        std::fprintf(stderr, "%s\n", last_text().c_str());
        gar_stream* word = nullptr;
        if (gar_word_stream_open(this->client_, nullptr, &word) != 0) _exit(11);
        gar_close(this->client_);
        _exit(refused == GAR_E_UNAVAILABLE ? 0 : 12);
      },
      testing::ExitedWithCode(0), "no device");
}

// ---- What goes wrong.

TYPED_TEST(vendor_streams, a_device_fault_ends_a_wait_with_the_drivers_words) {
  using Program = TypeParam;
  gar_stream* s = this->open(this->handle_);
  this->fake().fake_submit_fault(this->handle_, 2 * ms, 700);
  uint64_t sequence = 0;
  ASSERT_EQ(gar_record(s, &sequence), 0);
  EXPECT_EQ(gar_wait(s, sequence, nullptr, nullptr), GAR_E_BACKEND);
  EXPECT_THAT(last_text(), HasSubstr("failed with status 700"));
  EXPECT_THAT(last_text(), HasSubstr(Program::illegal_address));
  EXPECT_EQ(gar_record(s, &sequence), GAR_E_STREAM_FAILED);
  EXPECT_EQ(gar_stream_close(s), GAR_W_SETTLE_FAILED);
  EXPECT_GE(this->counters().pages_leaked, 1u);
}

TYPED_TEST(vendor_streams, a_context_that_dies_first_leaks_its_pages_and_says_so) {
  using Program = TypeParam;
  gar_stream* s = this->open(this->handle_);
  this->submit(hour, 1);
  uint64_t sequence = 0;
  ASSERT_EQ(gar_record(s, &sequence), 0);
  this->fake().fake_reset(0);
  EXPECT_EQ(gar_wait(s, sequence, nullptr, nullptr), GAR_E_BACKEND);
  this->fake().fake_log_clear();
  EXPECT_EQ(gar_stream_close(s), GAR_W_SETTLE_FAILED);
  EXPECT_GE(this->counters().pages_leaked, 1u);
  EXPECT_EQ(this->fake().count(Program::unregister_page), 0u);

  Program::use_device(0);
  gar_stream* next = this->open(Program::make_stream(1));
  ASSERT_EQ(gar_record(next, &sequence), 0) << last_text();
  EXPECT_EQ(gar_wait(next, sequence, nullptr, nullptr), 0) << last_text();
  EXPECT_EQ(gar_stream_close(next), 0) << last_text();
}

// The caller's bug, and a violation to the fake; so it is looked at in a process of its own.
TYPED_TEST(vendor_streams, a_stream_that_the_program_destroys_first_is_an_error_and_no_crash) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto destroys_first = [&] {
    gar_stream* s = this->open(this->handle_);
    this->submit(5 * ms, 1);
    uint64_t sequence = 0;
    EXPECT_EQ(gar_record(s, &sequence), 0);
    TypeParam::destroy_stream(this->handle_);
    EXPECT_EQ(gar_wait(s, sequence, nullptr, nullptr), 0) << "its event still answers";
    EXPECT_EQ(this->truth(), 1u);
    EXPECT_EQ(gar_record(s, &sequence), GAR_E_BACKEND);
    EXPECT_THAT(last_text(), HasSubstr("400"));
    EXPECT_EQ(gar_record(s, &sequence), GAR_E_STREAM_FAILED);
    EXPECT_EQ(gar_stream_close(s), GAR_W_SETTLE_FAILED);
    EXPECT_EQ(gar_close(this->client_), 0);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(destroys_first(), testing::ExitedWithCode(0), "");
}

TYPED_TEST(vendor_streams, a_page_that_cannot_be_given_back_is_kept_and_counted) {
  using Program = TypeParam;
  gar_stream* s = this->open(this->handle_);
  uint64_t sequence = 0;
  ASSERT_EQ(gar_record(s, &sequence), 0);
  ASSERT_EQ(gar_wait(s, sequence, nullptr, nullptr), 0);
  this->fake().fake_fail(Program::unregister_page, 719, 0, 1);
  EXPECT_EQ(gar_stream_close(s), 0);
  EXPECT_EQ(this->counters().pages_leaked, 1u);
  EXPECT_EQ(this->fake().fake_registrations(), 1u);
  // Its page goes on to serve other streams.
  gar_stream* next = this->open(this->handle_);
  ASSERT_EQ(gar_record(next, &sequence), 0) << last_text();
  EXPECT_EQ(gar_wait(next, sequence, nullptr, nullptr), 0);
  EXPECT_EQ(gar_stream_close(next), 0);
}

TYPED_TEST(vendor_streams, a_device_that_stores_nothing_is_polled_with_a_warning) {
  using Program = TypeParam;
  this->fake().fake_fail(Program::batch, 801, 0, UINT32_MAX);
  this->fake().fake_fail(Program::store, 801, 0, UINT32_MAX);
  gar_stream* s = this->open(this->handle_);
  char text[1024];
  EXPECT_EQ(gar_stream_warning(s, text, sizeof(text)), GAR_W_PARK_FALLBACK);
  EXPECT_THAT(text, HasSubstr(flag_plan));
  EXPECT_THAT(text, HasSubstr(Program::remedy));
  EXPECT_THAT(text, HasSubstr("running 'poll'"));
  for (uint64_t n = 1; n <= 3; ++n) {
    this->submit(ms, n);
    uint64_t sequence = 0;
    ASSERT_EQ(gar_record(s, &sequence), 0) << last_text();
    ASSERT_EQ(gar_wait(s, sequence, nullptr, nullptr), 0) << last_text();
    EXPECT_GE(this->truth(), n);
  }
  EXPECT_EQ(gar_stream_close(s), 0) << last_text();
}

TYPED_TEST(vendor_streams, memory_that_may_not_be_locked_is_polled_with_the_limits_name) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_MEMLOCK, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &none), 0);
  gar_stream* s = this->open(this->handle_);
  char text[1024];
  EXPECT_EQ(gar_stream_warning(s, text, sizeof(text)), GAR_W_PARK_FALLBACK);
  EXPECT_THAT(text, HasSubstr("RLIMIT_MEMLOCK (ulimit -l) may be too low"));
  this->submit(ms, 1);
  EXPECT_EQ(gar_wait_stream(s, nullptr, nullptr), 0) << last_text();
  EXPECT_EQ(this->truth(), 1u);
  EXPECT_EQ(gar_stream_close(s), 0) << last_text();
  ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &before), 0);
}

TYPED_TEST(vendor_streams, a_plan_that_needs_no_stores_runs_as_asked_where_there_are_none) {
  using Program = TypeParam;
  this->connect("block");
  this->fake().fake_fail(Program::batch, 801, 0, UINT32_MAX);
  this->fake().fake_fail(Program::store, 801, 0, UINT32_MAX);
  gar_stream* s = this->open(this->handle_);
  EXPECT_EQ(gar_stream_warning(s, nullptr, 0), 0);
  EXPECT_EQ(gar_stream_close(s), 0);
}

TYPED_TEST(vendor_streams, a_lost_store_costs_a_wait_its_backstop_at_most) {
  gar_stream* s = this->open(this->handle_);
  this->fake().fake_lose_stores(2);
  this->submit(100 * ms, 1);
  uint64_t sequence = 0;
  ASSERT_EQ(gar_record(s, &sequence), 0);
  gar_report report{};
  ASSERT_EQ(gar_wait(s, sequence, nullptr, &report), 0) << last_text();
  EXPECT_EQ(this->truth(), 1u);
  EXPECT_GE(report.backstop_queries, 1u);
  EXPECT_EQ(gar_stream_close(s), 0) << last_text();
}

// ---- The end of the process.

TYPED_TEST(vendor_streams, a_process_that_exits_without_closing_just_exits) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        gar_stream* s = this->open(this->handle_);
        this->submit(hour, 1);
        uint64_t sequence = 0;
        gar_record(s, &sequence);
        gar_wait_async(s, sequence, nullptr, nullptr, nullptr);
        std::exit(5);
      },
      testing::ExitedWithCode(5), "");
}

// Waits on a stream of its own for work that does not end. At the process's end the driver may say
// so, which ends the wait; that it is done must not be said.
template <class Program>
void wait_for_ever(gar_stream* s, void* handle) {
  Program::fake().fake_submit(handle, hour, nullptr, 0);
  uint64_t sequence = 0;
  gar_record(s, &sequence);
  if (gar_wait(s, sequence, nullptr, nullptr) == 0) _exit(9);
  for (;;) pause();
}

TYPED_TEST(vendor_streams, a_process_that_exits_while_other_threads_wait_just_exits) {
  using Program = TypeParam;
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const char* plan : {"block", "poll", flag_plan}) {
    const auto waits_and_exits = [&] {
      this->connect(plan);
      for (int i = 0; i < 4; ++i) {
        void* handle = Program::make_stream(1);
        std::thread(wait_for_ever<Program>, this->open(handle), handle).detach();
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      std::thread([] { std::exit(5); }).join();
    };
    EXPECT_EXIT(waits_and_exits(), testing::ExitedWithCode(5), "") << plan;
  }
}

TYPED_TEST(vendor_streams, a_forked_child_that_closes_and_exits_makes_no_driver_call) {
  gar_stream* s = this->open(this->handle_);
  this->submit(hour, 1);
  uint64_t sequence = 0;
  ASSERT_EQ(gar_record(s, &sequence), 0);
  const pid_t child = fork();
  if (child == 0) {
    this->fake().fake_log_clear();
    const bool refused = gar_record(s, &sequence) == GAR_E_FORKED_CHILD &&
                         gar_stream_close(s) == GAR_E_FORKED_CHILD &&
                         gar_close(this->client_) == GAR_E_FORKED_CHILD;
    _exit(refused && this->fake().fake_log_count() == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  this->fake().fake_reset(0);
}

gar_client* closed_at_exit = nullptr;
size_t (*calls_at_exit)() = nullptr;
void (*forget_calls)() = nullptr;

TYPED_TEST(vendor_streams, a_client_closed_by_an_exit_handler_makes_no_driver_call) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        closed_at_exit = this->client_;
        calls_at_exit = this->fake().fake_log_count;
        forget_calls = this->fake().fake_log_clear;
        std::atexit([] {
          forget_calls();
          gar_close(closed_at_exit);
          _exit(calls_at_exit() == 0 ? 0 : 1);
        });
        gar_stream* s = this->open(this->handle_);
        this->submit(hour, 1);
        uint64_t sequence = 0;
        gar_record(s, &sequence);
        std::exit(7);
      },
      testing::ExitedWithCode(0), "");
}

// ---- Many.

size_t open_descriptors() {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                                           std::filesystem::directory_iterator()));
}

// Of the pages that are shared with devices.
size_t mapped_pages() {
  std::ifstream maps("/proc/self/maps");
  size_t pages = 0;
  for (std::string line; std::getline(maps, line);) pages += line.find("memfd") != line.npos;
  return pages;
}

size_t allocated_bytes() {
  return mallinfo2().uordblks;
}

TYPED_TEST(vendor_streams, a_thousand_streams_opened_and_closed_leave_nothing) {
  const auto once = [&] {
    gar_stream* s = this->open(this->handle_);
    uint64_t sequence = 0;
    EXPECT_EQ(gar_record(s, &sequence), 0);
    EXPECT_EQ(gar_wait(s, sequence, nullptr, nullptr), 0);
    EXPECT_EQ(gar_stream_close(s), 0);
  };
  for (int i = 0; i < 10; ++i) once();
  const size_t events = this->fake().fake_live_events();
  const size_t streams = this->fake().fake_live_streams();
  const size_t descriptors = open_descriptors();
  const size_t mapped = mapped_pages();
  const unsigned references = this->fake().fake_references(0);
  const size_t allocated = allocated_bytes();
  for (int i = 0; i < 1000; ++i) {
    once();
    this->fake().fake_log_clear();
  }
  // The fake never frees an event; a stream has two.
  EXPECT_LT(allocated_bytes(), allocated + 1000 * 400);
  EXPECT_EQ(this->fake().fake_live_events(), events);
  EXPECT_EQ(this->fake().fake_live_streams(), streams);
  EXPECT_EQ(this->fake().fake_registrations(), 0u);
  EXPECT_EQ(this->fake().fake_references(0), references);
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_EQ(mapped_pages(), mapped);
}

TYPED_TEST(vendor_streams, sixty_four_threads_open_record_wait_and_close) {
  using Program = TypeParam;
  constexpr int threads = 64;
  constexpr int rounds = 5;
  gar_stream* shared = this->open(this->handle_);
  std::atomic<int> wrong{0};
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&] {
      Program::use_device(0);
      void* handle = Program::make_stream(1);
      gar_stream* own = this->open(handle);
      for (int i = 0; i < rounds; ++i) {
        for (gar_stream* s : {own, shared}) {
          uint64_t sequence = 0;
          if (gar_record(s, &sequence) != 0) ++wrong;
          if (gar_wait(s, sequence, nullptr, nullptr) != 0) ++wrong;
        }
      }
      if (gar_stream_close(own) != 0) ++wrong;
      Program::destroy_stream(handle);
      Program::let_go_of_device(0);
    });
  }
  for (std::thread& t : all) t.join();
  EXPECT_EQ(wrong, 0) << last_text();
  EXPECT_EQ(gar_stream_close(shared), 0);
  EXPECT_EQ(this->fake().fake_registrations(), 0u);
}

}  // namespace
}  // namespace gar::test
