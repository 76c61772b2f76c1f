// A device of the program's own, through the C struct of verbs: what is called, how often, and what
// becomes of pages.
#include "tests/clients/own_device.hpp"

#include <atomic>
#include <filesystem>

#include "tests/clients/scripted_gard.hpp"
#include "tests/clients/sim_fixture.hpp"

namespace gar::test {
namespace {

using namespace std::chrono_literals;

class own_device_stream : public ::testing::Test {
 protected:
  void TearDown() override {
    gar_close(client_);
    gard_.reset();
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }
  void connect(const char* plan = "flag:park_us=100,backstop_us=5000") {
    setenv("GAR_PLAN", plan, 1);
    const gar_client_options o = in_process();
    ASSERT_EQ(gar_connect(&o, &client_), 0) << last_text();
    unsetenv("GAR_PLAN");
  }
  void start_gard() {
    if (directory_.empty()) {
      std::string pattern = std::filesystem::temp_directory_path() / "garclient-XXXXXX";
      ASSERT_NE(mkdtemp(pattern.data()), nullptr);
      directory_ = pattern;
    }
    gard_ = std::make_unique<scripted_gard>(directory_ + "/gard.sock", gard_script());
  }
  void connect_to_gard() {
    const std::string path = directory_ + "/gard.sock";
    gar_client_options o{};
    o.struct_bytes = sizeof(o);
    o.socket_path = path.c_str();
    ASSERT_EQ(gar_connect(&o, &client_), 0) << last_text();
    ASSERT_EQ(gar_mode(client_), GAR_MODE_DAEMON);
  }
  gar_stream* open() {
    const gar_device_ops ops = own_device::ops();
    gar_stream* s = nullptr;
    EXPECT_EQ(gar_stream_open(client_, &ops, &device_, &device_, nullptr, &s), 0) << last_text();
    return s;
  }
  uint64_t record(gar_stream* s) {
    uint64_t sequence = 0;
    EXPECT_EQ(gar_record(s, &sequence), 0) << last_text();
    return sequence;
  }

  own_device device_;
  gar_client* client_ = nullptr;
  std::string directory_;
  std::unique_ptr<scripted_gard> gard_;
};

TEST_F(own_device_stream, needs_none_of_the_verbs_that_may_be_left_out) {
  for (const char* plan : {"block", "poll", "flag:park_us=100,backstop_us=5000"}) {
    connect(plan);
    gar_stream* s = open();
    const uint64_t sequence = record(s);
    std::thread device([this] {
      std::this_thread::sleep_for(3ms);
      device_.run_all();
    });
    EXPECT_EQ(gar_wait(s, sequence, nullptr, nullptr), 0) << plan;
    device.join();
    record(s);
    gar_wait_options o = wait_options();
    o.timeout_ns = 3 * ms;
    EXPECT_EQ(gar_wait_stream(s, &o, nullptr), GAR_E_TIMED_OUT) << plan;
    EXPECT_EQ(gar_stream_close(s), 0);
    gar_close(client_);
    client_ = nullptr;
    device_.armed = device_.done = 0;  // another client's numbers
  }
}

// The wait is not registered then, so that nobody else can learn of it.
TEST_F(own_device_stream, a_word_that_comes_between_question_and_registering_is_an_exact_sample) {
  static std::atomic<int> questions;
  questions = 0;
  gar_device_ops ops = own_device::ops();
  ops.query = [](void* s, uint64_t, gar_device_failure*) -> int {
    if (++questions > 1) return GAR_DONE;
    own_device::of(s).run_all();
    return GAR_PENDING;
  };
  start_gard();
  connect_to_gard();
  gar_stream* s = nullptr;
  ASSERT_EQ(gar_stream_open(client_, &ops, &device_, &device_, nullptr, &s), 0) << last_text();
  gar_report r{};
  ASSERT_EQ(gar_wait(s, record(s), nullptr, &r), 0) << last_text();
  EXPECT_EQ(r.kind, GAR_KIND_PARKED);
  EXPECT_EQ(r.delegated, 0);
  const auto told = gard_->await<proto::outcomes>(1).at(0).entries;
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].sample, proto::sample_exact);
  EXPECT_EQ(told[0].sample_ns, r.wait_ns);
  EXPECT_TRUE(gard_->received<proto::wait>().empty());
  EXPECT_EQ(gar_stream_close(s), 0);
}

// The device answers a question with how things were when it came, and takes so long over it that
// the deadline passes meanwhile; the work ends before that. Only another question tells.
TEST_F(own_device_stream, a_slow_answer_does_not_make_a_timeout_of_work_done_in_time) {
  static std::atomic<int> questions;
  gar_device_ops ops = own_device::ops();
  ops.query = [](void* s, uint64_t sequence, gar_device_failure*) -> int {
    own_device& of = own_device::of(s);
    const bool done = [&] {
      std::lock_guard lock(of.mutex);
      return of.done >= sequence;
    }();
    if (++questions > 1 && !done) {  // the one after the wait's first
      of.run_all();
      const auto passed = std::chrono::steady_clock::now() + 120ms;
      while (std::chrono::steady_clock::now() < passed) continue;
    }
    return done ? GAR_DONE : GAR_PENDING;
  };
  for (const char* plan : {"block", "poll"}) {
    questions = 0;
    connect(plan);
    gar_stream* s = nullptr;
    ASSERT_EQ(gar_stream_open(client_, &ops, &device_, &device_, nullptr, &s), 0) << last_text();
    gar_wait_options o = wait_options();
    o.timeout_ns = 100 * ms;
    EXPECT_EQ(gar_wait(s, record(s), &o, nullptr), 0) << plan << ": " << last_text();
    EXPECT_GE(questions, 3) << plan;
    gar_stream_close(s);
    gar_close(client_);
    client_ = nullptr;
    device_.armed = device_.done = 0;
  }
}

TEST_F(own_device_stream, a_page_is_mapped_once_for_all_streams_of_a_device) {
  connect();
  gar_stream* first = open();
  gar_stream* second = open();
  EXPECT_EQ(device_.maps, 1);
  EXPECT_EQ(gar_stream_close(first), 0);
  EXPECT_EQ(device_.unmaps, 0);
  EXPECT_EQ(gar_stream_close(second), 0);
  EXPECT_EQ(device_.unmaps, 1);
}

TEST_F(own_device_stream, a_map_that_fails_is_Backend_and_leaves_nothing) {
  connect();
  device_.map_fails = true;
  const gar_device_ops ops = own_device::ops();
  gar_stream* s = nullptr;
  EXPECT_EQ(gar_stream_open(client_, &ops, &device_, &device_, nullptr, &s), GAR_E_BACKEND);
  EXPECT_NE(last_text().find("own_map"), std::string::npos);
  EXPECT_EQ(s, nullptr);
  device_.map_fails = false;
  EXPECT_EQ(gar_stream_close(open()), 0);
}

TEST_F(own_device_stream, what_does_not_settle_stays_mapped_and_is_counted) {
  connect();
  gar_stream* s = open();
  record(s);
  device_.settle_fails = true;
  EXPECT_EQ(gar_stream_close(s), GAR_W_SETTLE_FAILED);
  EXPECT_EQ(device_.unmaps, 0);
  gar_counters c{};
  c.struct_bytes = sizeof(c);
  ASSERT_EQ(gar_client_counters(client_, &c), 0);
  EXPECT_EQ(c.pages_leaked, 1u);
  device_.run_all();  // the memory is still there
}

TEST_F(own_device_stream, more_streams_than_a_page_has_words) {
  connect();
  std::vector<gar_stream*> streams;
  for (int i = 0; i < 600; ++i) streams.push_back(open());
  EXPECT_EQ(device_.maps, 2);
  for (gar_stream* s : streams) EXPECT_EQ(gar_stream_close(s), 0);
  EXPECT_EQ(device_.unmaps, 2);
}

TEST_F(own_device_stream, the_word_is_stored_before_the_bell) {
  start_gard();
  connect_to_gard();
  gar_stream* s = open();
  EXPECT_EQ(device_.maps, 2);  // lines and doorbell
  record(s);
  ASSERT_EQ(device_.stores.size(), 2u);
  EXPECT_EQ(device_.stores[0].second, 1u);
  EXPECT_EQ(device_.stores[1].second, proto::bell_value(77, 1, 1));
  EXPECT_EQ(gar_stream_close(s), 0);
}

TEST_F(own_device_stream, an_old_page_goes_once_a_later_store_has_landed) {
  start_gard();
  connect_to_gard();
  gar_stream* s = open();
  const uint64_t first = record(s);
  gard_->die();
  for (int i = 0; i < 2000 && gar_mode(client_) == GAR_MODE_DAEMON; ++i) {
    std::this_thread::sleep_for(1ms);
  }
  start_gard();
  for (int i = 0; i < 2000 && device_.maps < 4; ++i) {
    record(s);
    device_.run_all();
    std::this_thread::sleep_for(5ms);
  }
  ASSERT_EQ(device_.maps, 4);
  EXPECT_EQ(device_.unmaps, 0);
  EXPECT_EQ(gar_wait(s, first, nullptr, nullptr), 0);
  uint64_t last = 0;
  for (int i = 0; i < 200 && device_.unmaps < 2; ++i) {
    last = record(s);
    device_.run_all();
    EXPECT_EQ(gar_wait(s, last, nullptr, nullptr), 0);
    std::this_thread::sleep_for(5ms);
  }
  EXPECT_EQ(device_.unmaps, 2);
  EXPECT_EQ(gard_->word(0), last);
  EXPECT_EQ(gar_stream_close(s), 0);
  EXPECT_EQ(device_.unmaps, 4);
}

TEST_F(own_device_stream, has_a_limit_of_8192_per_client) {
  connect();
  std::vector<gar_stream*> streams;
  for (int i = 0; i < 8192; ++i) streams.push_back(open());
  const gar_device_ops ops = own_device::ops();
  gar_stream* s = nullptr;
  EXPECT_EQ(gar_stream_open(client_, &ops, &device_, &device_, nullptr, &s), GAR_E_LIMIT_STREAMS);
  EXPECT_EQ(gar_stream_close(streams.back()), 0);
  EXPECT_EQ(gar_stream_close(open()), 0);
}

}  // namespace
}  // namespace gar::test
