// libgarclient and a real gard: what each says of the other's waits.
#include <sys/resource.h>

#include <boost/json.hpp>
#include <filesystem>
#include <memory>

#include "tests/clients/sim_fixture.hpp"
#include "tests/e2e/gard_process.hpp"

namespace gar::test {
namespace {

using namespace std::chrono_literals;

class client_with_gard : public sim_fixture, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    sim_fixture::SetUp();
    std::string pattern = std::filesystem::temp_directory_path() / "gar-e2e-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    gard_ = std::make_unique<gard_process>(directory_);
    start();
    const gar_client_options o = options();
    ASSERT_EQ(gar_connect(&o, &client_), 0) << last_text() << gard_->log_text();
    ASSERT_EQ(gar_mode(client_), GAR_MODE_DAEMON) << gard_->log_text();
    open();
  }
  void TearDown() override {
    sim_fixture::TearDown();
    if (HasFailure()) ADD_FAILURE() << gard_->log_text();
    gard_.reset();
    std::filesystem::remove_all(directory_);
  }
  void start() { gard_->start(std::string("[executor]\nkind = \"") + GetParam() + "\"\n"); }
  gar_client_options options() {
    socket_ = gard_->socket();
    gar_client_options o{};
    o.struct_bytes = sizeof(o);
    o.socket_path = socket_.c_str();
    o.name = "e2e";
    return o;
  }
  void set_plan(const std::string& text) {
    const auto answer = gard_->control_request(R"({"op": "plan_set", "text": ")" + text + R"("})");
    ASSERT_TRUE(answer.contains("ok") && answer.at("ok").as_bool())
        << boost::json::serialize(answer);
    // Published when a wait runs under it; the library hears of it within a moment.
    std::this_thread::sleep_for(50ms);
  }
  gar_report wait(uint64_t sequence, int expected = 0) {
    gar_report r{};
    EXPECT_EQ(gar_wait(stream_, sequence, nullptr, &r), expected) << last_text();
    return r;
  }

  // Do waits come to be run by gard, or here? The library hears of a plan in its own time.
  bool comes_to_run(bool by_gard) {
    return comes_to_hold([&] { return wait(submit_and_record(100 * ms)).delegated == by_gard; });
  }

  std::string directory_;
  std::string socket_;
  std::unique_ptr<gard_process> gard_;
};

INSTANTIATE_TEST_SUITE_P(executors, client_with_gard,
                         ::testing::Values("gpu-reactor", "naive", "io-uring"), [](const auto& p) {
                           std::string name = p.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST_P(client_with_gard, all_four_kinds_are_counted_by_gard) {
  set_plan(
      "flag:park_us=100,backstop_us=100000+predict:margin_us=200,min_sleep_us=50,"
      "max_sleep_us=500000,window=1");
  gar_report r = wait(submit_and_record(200 * ms));
  EXPECT_EQ(r.delegated, 1);
  EXPECT_EQ(r.kind, GAR_KIND_PARKED);
  r = wait(submit_and_record(20 * ms));  // asleep when it ends
  EXPECT_EQ(r.delegated, 1);
  EXPECT_EQ(r.kind, GAR_KIND_LATE);
  EXPECT_GT(r.slept_ns, 30 * ms);
  EXPECT_EQ(truth(), 2u);
  const uint64_t done = submit_and_record(0);
  wait_for_truth(3);
  EXPECT_EQ(wait(done).kind, GAR_KIND_IMMEDIATE);
  set_plan("block");
  EXPECT_EQ(wait(submit_and_record(1 * ms)).kind, GAR_KIND_BLOCKED);
  gard_->await_waits("completed", 4);
  EXPECT_EQ(gard_->kinds("parked"), 1);
  EXPECT_EQ(gard_->kinds("late"), 1);
  EXPECT_EQ(gard_->kinds("immediate"), 1);
  EXPECT_EQ(gard_->kinds("blocked"), 1);
  EXPECT_EQ(gard_->waits("pending"), 0);
}

TEST_P(client_with_gard, a_lost_store_ends_by_gards_backstop) {
  set_plan("flag:park_us=100,backstop_us=20000");
  ASSERT_EQ(gar_sim_fault(queue_, GAR_SIM_FAULT_LOST_STORE, 0), 0);
  const gar_report r = wait(submit_and_record(50 * ms));
  EXPECT_EQ(truth(), 1u);
  EXPECT_EQ(r.delegated, 1);
  EXPECT_GE(r.backstop_queries, 1u);
  EXPECT_EQ(counters().owner_backstops, 0u);
}

TEST_P(client_with_gard, a_device_error_ends_the_wait_with_its_call) {
  set_plan("flag:park_us=100,backstop_us=10000");
  ASSERT_EQ(gar_sim_fault(queue_, GAR_SIM_FAULT_DEVICE_ERROR, 700), 0);
  const uint64_t sequence = submit_and_record(50 * ms);
  wait(sequence, GAR_E_BACKEND);
  EXPECT_NE(last_text().find("700"), std::string::npos);
  gard_->await_waits("failed", 1);
  EXPECT_EQ(gard_->waits("failed"), 1);
}

TEST_P(client_with_gard, an_early_word_is_counted_by_gard) {
  set_plan("flag:park_us=100,backstop_us=100000");
  ASSERT_EQ(gar_sim_submit(queue_, 500 * ms, nullptr, 0), 0);
  ASSERT_EQ(gar_sim_fault(queue_, GAR_SIM_FAULT_EARLY_STORE, 0), 0);
  const uint64_t sequence = submit_and_record(500 * ms);
  const gar_report r = wait(sequence);
  EXPECT_EQ(truth(), 1u);
  EXPECT_EQ(r.early_words, 1u);
  gard_->await_waits("early_word", 1);
}

TEST_P(client_with_gard, a_timeout_is_counted_as_one) {
  set_plan("flag:park_us=100,backstop_us=100000");
  gar_wait_options o = wait_options();
  o.timeout_ns = 10 * ms;
  const uint64_t sequence = submit_and_record(1000 * ms);
  EXPECT_EQ(gar_wait(stream_, sequence, &o, nullptr), GAR_E_TIMED_OUT);
  EXPECT_TRUE(comes_to_hold([&] { return gard_->waits("pending") == 0; }));
  EXPECT_EQ(gard_->waits("timed_out") + gard_->waits("cancelled"), 1);
  wait(sequence);
}

TEST_P(client_with_gard, plans_change_while_it_runs) {
  // Long work: a wait that finds it done already is nobody's.
  set_plan("poll");
  EXPECT_TRUE(comes_to_run(false));
  set_plan("flag:park_us=100,backstop_us=10000");
  EXPECT_TRUE(comes_to_run(true));
  set_plan("poll");
  EXPECT_TRUE(comes_to_run(false));
}

TEST_P(client_with_gard, kill_9_during_100_waits_and_the_next_gard_serves_the_next) {
  constexpr int count = 100;
  std::vector<uint64_t> truths(count);
  std::vector<uint64_t> sequences(count);
  for (int i = 0; i < count; ++i) {
    ASSERT_EQ(gar_sim_submit(queue_, i == 0 ? 1000 * ms : 1 * ms, &truths[i], 1), 0);
    ASSERT_EQ(gar_record(stream_, &sequences[i]), 0);
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      EXPECT_EQ(gar_wait(stream_, sequences[i], nullptr, nullptr), 0) << last_text();
      EXPECT_EQ(__atomic_load_n(&truths[i], __ATOMIC_ACQUIRE), 1u);
    });
  }
  // Some executors take fewer at a time and refuse the rest, which run here then.
  const auto patience = std::chrono::steady_clock::now() + 300ms;
  while (gard_->waits("pending") < count && std::chrono::steady_clock::now() < patience) {
    std::this_thread::sleep_for(1ms);
  }
  gard_->kill(SIGKILL);
  for (std::thread& t : threads) t.join();
  EXPECT_GT(counters().in_process, 0u);
  start();
  gar_report r{};
  for (int i = 0; i < 500 && !r.delegated; ++i) {
    r = wait(submit_and_record(50 * ms));
    EXPECT_EQ(truth(), work_);
  }
  EXPECT_EQ(r.delegated, 1);
}

TEST_P(client_with_gard, a_stopped_gard_holds_up_no_wait) {
  set_plan("flag:park_us=100,backstop_us=10000");
  constexpr int count = 50;
  std::vector<uint64_t> sequences(count);
  for (int i = 0; i < count; ++i) sequences[i] = submit_and_record(i == 0 ? 50 * ms : 100 * us);
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] { wait(sequences[i]); });
  }
  std::this_thread::sleep_for(20ms);
  gard_->signal(SIGSTOP);
  for (std::thread& t : threads) t.join();  // while it is still stopped
  EXPECT_EQ(truth(), work_);
  gar_client* other = nullptr;
  const gar_client_options o = options();
  const auto connecting = std::chrono::steady_clock::now();
  ASSERT_EQ(gar_connect(&o, &other), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - connecting, 10s);
  EXPECT_EQ(gar_mode(other), GAR_MODE_IN_PROCESS);
  gar_close(other);
  gard_->signal(SIGCONT);
  gar_report r{};
  for (int i = 0; i < 500 && !r.delegated; ++i) r = wait(submit_and_record(3 * ms));
  EXPECT_EQ(r.delegated, 1);
}

TEST_P(client_with_gard, asynchronous_waits_go_through_gard) {
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(gar_wait_async(stream_, submit_and_record(1 * ms), nullptr, nullptr, nullptr), 0);
  }
  for (int left = 20; left > 0;) {
    pollfd p{gar_client_fd(client_), POLLIN, 0};
    ASSERT_EQ(poll(&p, 1, 5000), 1);
    gar_completion c[20];
    size_t taken = 0;
    ASSERT_EQ(gar_take(client_, c, 20, &taken), 0);
    for (size_t i = 0; i < taken; ++i) EXPECT_EQ(c[i].error, 0);
    left -= static_cast<int>(taken);
  }
  gard_->await_waits("completed", 20);
}

TEST_P(client_with_gard, a_word_stream_is_waited_for_by_gard) {
  gar_stream* words = nullptr;
  ASSERT_EQ(gar_word_stream_open(client_, nullptr, &words), 0);
  for (const char* plan : {"block", "poll", "flag:park_us=100,backstop_us=10000"}) {
    set_plan(plan);
    uint64_t sequence = 0;
    ASSERT_EQ(gar_record(words, &sequence), 0);
    std::thread producer([&] {
      std::this_thread::sleep_for(20ms);
      EXPECT_EQ(gar_signal(words, sequence), 0);
    });
    gar_report r{};
    EXPECT_EQ(gar_wait(words, sequence, nullptr, &r), 0) << plan << last_text();
    EXPECT_EQ(r.delegated, 1) << plan;
    producer.join();
  }
  EXPECT_EQ(gar_stream_close(words), 0);
}

TEST_P(client_with_gard, streams_come_and_go_and_leave_nothing) {
  std::vector<gar_stream*> streams(600);  // more than one page
  for (gar_stream*& s : streams) {
    ASSERT_EQ(gar_sim_stream_open(client_, queue_, nullptr, &s), 0) << last_text();
    ASSERT_EQ(gar_stream_close(s), 0);
  }
  std::vector<gar_sim_queue*> queues(600);
  for (size_t i = 0; i < queues.size(); ++i) {
    ASSERT_EQ(gar_sim_queue_create(sim_, &queues[i]), 0);
    ASSERT_EQ(gar_sim_stream_open(client_, queues[i], nullptr, &streams[i]), 0) << last_text();
  }
  for (size_t i = 0; i < queues.size(); ++i) {
    uint64_t sequence = 0;
    ASSERT_EQ(gar_record(streams[i], &sequence), 0);
    EXPECT_EQ(gar_wait(streams[i], sequence, nullptr, nullptr), 0);
  }
  for (size_t i = 0; i < queues.size(); ++i) {
    ASSERT_EQ(gar_stream_close(streams[i]), 0);
    gar_sim_queue_destroy(queues[i]);
  }
  for (int i = 0; i < 1000 && gard_->status()["streams"].to_number<int64_t>() > 1; ++i) {
    std::this_thread::sleep_for(2ms);
  }
  EXPECT_EQ(gard_->status()["streams"].to_number<int64_t>(), 1);
}

}  // namespace
}  // namespace gar::test
