// The library without a gard: waits end to end over the simulated device.
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

#include "tests/clients/sim_fixture.hpp"

namespace gar::test {
namespace {

const char* const flag_10ms = "flag:park_us=100,backstop_us=10000";

class in_process_wait : public sim_fixture {};

std::atomic<int> signals_handled{0};

// A handler could run on the library's own threads, whoever the program meant it for.
TEST_F(in_process_wait, no_signal_handler_runs_on_a_thread_of_the_library) {
  connect("block");
  uint64_t ticket = 0;
  ASSERT_EQ(gar_wait_async(stream_, submit_and_record(200 * ms), nullptr, nullptr, &ticket), 0);
  struct sigaction counts {};
  counts.sa_handler = [](int) { ++signals_handled; };
  ASSERT_EQ(sigaction(SIGUSR1, &counts, nullptr), 0);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &one, nullptr), 0);
  ASSERT_EQ(kill(getpid(), SIGUSR1), 0);
  wait_for_truth(1);
  EXPECT_EQ(signals_handled, 0);
  const timespec now{};
  EXPECT_EQ(sigtimedwait(&one, nullptr, &now), SIGUSR1) << "it is still the program's to take";
  ASSERT_EQ(pthread_sigmask(SIG_UNBLOCK, &one, nullptr), 0);
}

TEST_F(in_process_wait, each_kind_comes_out_as_scripted) {
  connect(
      "flag:park_us=100,backstop_us=100000+predict:margin_us=200,min_sleep_us=50,"
      "max_sleep_us=500000,window=1");
  EXPECT_EQ(gar_mode(client_), GAR_MODE_IN_PROCESS);
  gar_report r{};
  ASSERT_EQ(gar_wait(stream_, submit_and_record(100 * ms), nullptr, &r), 0) << last_text();
  EXPECT_EQ(truth(), 1u);
  EXPECT_EQ(r.kind, GAR_KIND_PARKED);
  EXPECT_EQ(r.in_process, 1);
  EXPECT_EQ(r.delegated, 0);
  EXPECT_GT(r.parks, 0u);
  EXPECT_EQ(r.slept_ns, 0u);

  // Predicted from the wait before: asleep for most of it, then parked or, if late, late.
  ASSERT_EQ(gar_wait(stream_, submit_and_record(100 * ms), nullptr, &r), 0);
  EXPECT_GT(r.slept_ns, 3 * ms);

  ASSERT_EQ(gar_wait(stream_, submit_and_record(20 * ms), nullptr, &r), 0);  // asleep when it ends
  EXPECT_EQ(r.kind, GAR_KIND_LATE);
  EXPECT_EQ(truth(), 3u);

  const uint64_t done = submit_and_record(0);
  wait_for_truth(4);
  ASSERT_EQ(gar_wait(stream_, done, nullptr, &r), 0);
  EXPECT_EQ(r.kind, GAR_KIND_IMMEDIATE);
  EXPECT_EQ(counters().waits, 4u);
  EXPECT_EQ(counters().in_process, 4u);
}

TEST_F(in_process_wait, block_is_the_devices_own_wait) {
  connect("block");
  gar_report r{};
  ASSERT_EQ(gar_wait(stream_, submit_and_record(50 * ms), nullptr, &r), 0);
  EXPECT_EQ(truth(), 1u);
  EXPECT_EQ(r.kind, GAR_KIND_BLOCKED);
  EXPECT_EQ(r.in_process, 0);
  EXPECT_GE(r.wait_ns, 1 * ms);
}

TEST_F(in_process_wait, poll_asks_until_done) {
  connect("poll");
  gar_report r{};
  ASSERT_EQ(gar_wait(stream_, submit_and_record(50 * ms), nullptr, &r), 0);
  EXPECT_EQ(truth(), 1u);
  EXPECT_EQ(r.kind, GAR_KIND_PARKED);
}

TEST_F(in_process_wait, rows_pick_the_band) {
  connect("block;rows>=32:poll");
  gar_report r{};
  ASSERT_EQ(gar_rows(client_, 32), 0);
  ASSERT_EQ(gar_wait(stream_, submit_and_record(50 * ms), nullptr, &r), 0);
  EXPECT_EQ(r.kind, GAR_KIND_PARKED);
  gar_wait_options o = wait_options();
  o.flags = GAR_WAIT_ROWS;
  o.rows = 31;
  ASSERT_EQ(gar_wait(stream_, submit_and_record(50 * ms), &o, &r), 0);
  EXPECT_EQ(r.kind, GAR_KIND_BLOCKED);
}

TEST_F(in_process_wait, a_lost_store_costs_one_backstop) {
  connect("flag:park_us=100,backstop_us=200000");
  ASSERT_EQ(gar_sim_fault(queue_, GAR_SIM_FAULT_LOST_STORE, 0), 0);
  gar_report r{};
  ASSERT_EQ(gar_wait(stream_, submit_and_record(50 * ms), nullptr, &r), 0);
  EXPECT_EQ(truth(), 1u);
  EXPECT_EQ(r.backstop_queries, 1u);
  EXPECT_EQ(r.kind, GAR_KIND_PARKED);
  EXPECT_GE(r.wait_ns, 200 * ms);
}

TEST_F(in_process_wait, an_early_store_never_ends_a_wait) {
  connect("flag:park_us=100,backstop_us=1000000");
  ASSERT_EQ(gar_sim_fault(queue_, GAR_SIM_FAULT_EARLY_STORE, 0), 0);
  gar_report r{};
  ASSERT_EQ(gar_wait(stream_, submit_and_record(100 * ms), nullptr, &r), 0);
  EXPECT_EQ(truth(), 1u);
  EXPECT_EQ(r.early_words, 1u);
  EXPECT_EQ(counters().early_words, 1u);
}

TEST_F(in_process_wait, a_late_store_is_found_by_the_backstop) {
  connect("flag:park_us=100,backstop_us=5000");
  ASSERT_EQ(gar_sim_fault(queue_, GAR_SIM_FAULT_LATE_STORE, 1000 * ms), 0);
  gar_report r{};
  ASSERT_EQ(gar_wait(stream_, submit_and_record(1 * ms), nullptr, &r), 0);
  EXPECT_LT(r.wait_ns, 1000 * ms);  // the store had not come
}

TEST_F(in_process_wait, a_device_error_is_Backend_with_its_call_and_status) {
  connect("flag:park_us=100,backstop_us=5000");
  ASSERT_EQ(gar_sim_fault(queue_, GAR_SIM_FAULT_DEVICE_ERROR, 719), 0);
  const uint64_t sequence = submit_and_record(1 * ms);
  EXPECT_EQ(gar_wait(stream_, sequence, nullptr, nullptr), GAR_E_BACKEND);
  EXPECT_NE(last_text().find("719"), std::string::npos) << last_text();
  EXPECT_EQ(gar_error_name(gar_last_error(nullptr, 0)), std::string("Backend"));
  EXPECT_EQ(gar_wait(stream_, sequence, nullptr, nullptr), GAR_E_BACKEND);
  uint64_t next = 0;
  EXPECT_EQ(gar_record(stream_, &next), GAR_E_STREAM_FAILED);
}

TEST_F(in_process_wait, a_refused_record_fails_the_stream_but_not_what_came_before) {
  connect(flag_10ms);
  const uint64_t before = submit_and_record(3 * ms);
  ASSERT_EQ(gar_sim_fault(queue_, GAR_SIM_FAULT_ARM_ERROR, 42), 0);
  uint64_t sequence = 0;
  EXPECT_EQ(gar_record(stream_, &sequence), GAR_E_BACKEND);
  EXPECT_NE(last_text().find("42"), std::string::npos);
  EXPECT_EQ(gar_record(stream_, &sequence), GAR_E_STREAM_FAILED);
  EXPECT_EQ(gar_wait(stream_, before, nullptr, nullptr), 0);
  EXPECT_EQ(truth(), 1u);
}

TEST_F(in_process_wait, a_timeout_forgets_the_wait_and_leaves_the_work) {
  for (const char* plan : {"block", "poll", flag_10ms}) {
    connect(plan);
    const uint64_t sequence = submit_and_record(500 * ms);
    gar_wait_options o = wait_options();
    o.timeout_ns = 5 * ms;
    gar_report r{};
    EXPECT_EQ(gar_wait(stream_, sequence, &o, &r), GAR_E_TIMED_OUT) << plan;
    EXPECT_GE(r.wait_ns, 5 * ms);
    EXPECT_LT(r.wait_ns, 500 * ms);  // the work still ran
    EXPECT_EQ(gar_wait(stream_, sequence, nullptr, nullptr), 0);
    ASSERT_EQ(gar_stream_close(stream_), 0);
    stream_ = nullptr;
    ASSERT_EQ(gar_close(client_), 0);
    client_ = nullptr;
  }
}

TEST_F(in_process_wait, records_have_a_limit) {
  connect(flag_10ms);
  ASSERT_EQ(gar_sim_submit(queue_, 100 * ms, nullptr, 0), 0);
  uint64_t sequence = 0;
  for (int i = 0; i < 256; ++i) ASSERT_EQ(gar_record(stream_, &sequence), 0);
  EXPECT_EQ(gar_record(stream_, &sequence), GAR_E_LIMIT_RECORDS);
  ASSERT_EQ(gar_wait(stream_, 1, nullptr, nullptr), 0);
  EXPECT_EQ(gar_record(stream_, &sequence), 0);
  EXPECT_EQ(sequence, 257u);
}

TEST_F(in_process_wait, a_number_never_recorded_is_refused) {
  connect(flag_10ms);
  const uint64_t sequence = submit_and_record(0);
  EXPECT_EQ(gar_wait(stream_, sequence + 1, nullptr, nullptr), GAR_E_INVALID_ARGUMENT);
  EXPECT_EQ(gar_wait(stream_, sequence - 1, nullptr, nullptr), GAR_E_INVALID_ARGUMENT);
  int done = 0;
  EXPECT_EQ(gar_query(stream_, sequence + 1, &done), GAR_E_INVALID_ARGUMENT);
}

TEST_F(in_process_wait, a_wait_for_the_stream_covers_its_work_so_far) {
  connect(flag_10ms);
  EXPECT_EQ(gar_wait_stream(stream_, nullptr, nullptr), 0);
  ASSERT_EQ(gar_sim_submit(queue_, 3 * ms, &truth_, 7), 0);
  gar_report r{};
  ASSERT_EQ(gar_wait_stream(stream_, nullptr, &r), 0);
  EXPECT_EQ(truth(), 7u);
  uint64_t sequence = submit_and_record(3 * ms);
  ASSERT_EQ(gar_wait_stream(stream_, nullptr, &r), 0);
  int done = 0;
  ASSERT_EQ(gar_query(stream_, sequence, &done), 0);
  EXPECT_EQ(done, 1);
}

TEST_F(in_process_wait, inline_runs_the_plan_here_and_is_not_counted_as_without_gard) {
  connect(flag_10ms);
  gar_wait_options o = wait_options();
  o.flags = GAR_WAIT_INLINE;
  gar_report r{};
  ASSERT_EQ(gar_wait(stream_, submit_and_record(1 * ms), &o, &r), 0);
  EXPECT_EQ(r.in_process, 0);
  EXPECT_EQ(counters().in_process, 0u);
}

TEST_F(in_process_wait, threads_record_and_wait_on_one_stream) {
  connect(flag_10ms);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this] {
      for (int i = 0; i < 40; ++i) {
        uint64_t truth = 0;
        ASSERT_EQ(gar_sim_submit(queue_, 100 * us, &truth, 1), 0);
        uint64_t sequence = 0;
        ASSERT_EQ(gar_record(stream_, &sequence), 0) << last_text();
        ASSERT_EQ(gar_wait(stream_, sequence, nullptr, nullptr), 0) << last_text();
        ASSERT_EQ(__atomic_load_n(&truth, __ATOMIC_ACQUIRE), 1u);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(counters().waits, 160u);
}

TEST_F(in_process_wait, streams_of_one_device_share_one_page_and_go_on_where_a_slot_ended) {
  connect(flag_10ms);
  for (int round = 0; round < 3; ++round) {
    const uint64_t sequence = submit_and_record(0);
    EXPECT_EQ(sequence, round + 1u);  // a slot's numbers never restart
    ASSERT_EQ(gar_wait(stream_, sequence, nullptr, nullptr), 0);
    ASSERT_EQ(gar_stream_close(stream_), 0) << last_text();
    open();
  }
}

class in_process_async : public sim_fixture {
 protected:
  gar_completion take_one(int timeout_ms = 5000) {
    pollfd p{gar_client_fd(client_), POLLIN, 0};
    EXPECT_EQ(poll(&p, 1, timeout_ms), 1);
    gar_completion c{};
    size_t taken = 0;
    EXPECT_EQ(gar_take(client_, &c, 1, &taken), 0);
    EXPECT_EQ(taken, 1u);
    return c;
  }
};

TEST_F(in_process_async, waits_of_every_plan_end_as_completions) {
  const std::pair<const char*, int> rows[] = {
      {"block", GAR_KIND_BLOCKED}, {"poll", GAR_KIND_PARKED}, {flag_10ms, GAR_KIND_PARKED}};
  for (const auto& [plan, kind] : rows) {
    connect(plan);
    const uint64_t sequence = submit_and_record(100 * ms);
    uint64_t ticket = 0;
    int mine = 0;
    ASSERT_EQ(gar_wait_async(stream_, sequence, nullptr, &mine, &ticket), 0);
    const gar_completion c = take_one();
    EXPECT_EQ(truth(), work_);
    EXPECT_EQ(c.error, 0);
    EXPECT_EQ(c.ticket, ticket);
    EXPECT_EQ(c.user_data, &mine);
    EXPECT_EQ(c.report.kind, kind) << plan;
    pollfd p{gar_client_fd(client_), POLLIN, 0};
    EXPECT_EQ(poll(&p, 1, 0), 0);
    ASSERT_EQ(gar_stream_close(stream_), 0);
    stream_ = nullptr;
    ASSERT_EQ(gar_close(client_), 0);
    client_ = nullptr;
  }
}

TEST_F(in_process_async, many_at_once_each_end_once) {
  connect(
      "flag:park_us=1000,backstop_us=10000+predict:margin_us=200,min_sleep_us=50,"
      "max_sleep_us=50000,window=8");
  std::vector<uint64_t> tickets(200);
  for (uint64_t& t : tickets) {
    ASSERT_EQ(gar_wait_async(stream_, submit_and_record(50 * us), nullptr, nullptr, &t), 0);
  }
  std::vector<bool> seen(tickets.size() + 1);
  for (size_t left = tickets.size(); left > 0;) {
    pollfd p{gar_client_fd(client_), POLLIN, 0};
    ASSERT_EQ(poll(&p, 1, 5000), 1);
    gar_completion c[16];
    size_t taken = 0;
    ASSERT_EQ(gar_take(client_, c, 16, &taken), 0);
    for (size_t i = 0; i < taken; ++i) {
      EXPECT_EQ(c[i].error, 0);
      EXPECT_FALSE(seen.at(c[i].ticket));
      seen[c[i].ticket] = true;
    }
    left -= taken;
  }
}

TEST_F(in_process_async, a_cancelled_wait_ends_with_Cancelled) {
  connect(flag_10ms);
  const uint64_t sequence = submit_and_record(100 * ms);
  uint64_t ticket = 0;
  ASSERT_EQ(gar_wait_async(stream_, sequence, nullptr, nullptr, &ticket), 0);
  ASSERT_EQ(gar_cancel(client_, ticket), 0);
  EXPECT_EQ(take_one().error, GAR_E_CANCELLED);
  EXPECT_EQ(gar_cancel(client_, ticket), 0);
  EXPECT_EQ(gar_cancel(client_, ticket + 1), GAR_E_INVALID_ARGUMENT);
  EXPECT_EQ(gar_cancel(client_, 0), GAR_E_INVALID_ARGUMENT);
}

TEST_F(in_process_async, a_timeout_and_a_device_error_come_as_completions) {
  connect(flag_10ms);
  gar_wait_options o = wait_options();
  o.timeout_ns = 3 * ms;
  ASSERT_EQ(gar_wait_async(stream_, submit_and_record(50 * ms), &o, nullptr, nullptr), 0);
  EXPECT_EQ(take_one().error, GAR_E_TIMED_OUT);
  ASSERT_EQ(gar_sim_fault(queue_, GAR_SIM_FAULT_DEVICE_ERROR, 5), 0);
  ASSERT_EQ(gar_wait_async(stream_, submit_and_record(1 * ms), nullptr, nullptr, nullptr), 0);
  EXPECT_EQ(take_one().error, GAR_E_BACKEND);
}

TEST_F(in_process_async, closing_the_stream_ends_its_waits_with_Closed) {
  connect(flag_10ms);
  ASSERT_EQ(gar_wait_async(stream_, submit_and_record(30 * ms), nullptr, nullptr, nullptr), 0);
  ASSERT_EQ(gar_stream_close(stream_), 0);
  stream_ = nullptr;
  EXPECT_EQ(take_one().error, GAR_E_CLOSED);
}

TEST_F(in_process_async, closing_the_client_ends_everything) {
  connect(flag_10ms);
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(gar_wait_async(stream_, submit_and_record(3 * ms), nullptr, nullptr, nullptr), 0);
  }
  ASSERT_EQ(gar_close(client_), 0);
  client_ = nullptr;
  stream_ = nullptr;
}

TEST_F(in_process_async, inline_is_refused) {
  connect(flag_10ms);
  gar_wait_options o = wait_options();
  o.flags = GAR_WAIT_INLINE;
  const uint64_t sequence = submit_and_record(0);
  EXPECT_EQ(gar_wait_async(stream_, sequence, &o, nullptr, nullptr), GAR_E_INVALID_ARGUMENT);
}

TEST_F(in_process_async, at_most_4096_waits_are_not_taken) {
  connect(flag_10ms);
  const uint64_t sequence = submit_and_record(0);
  ASSERT_EQ(gar_wait(stream_, sequence, nullptr, nullptr), 0);
  for (int i = 0; i < 4096; ++i) {
    ASSERT_EQ(gar_wait_async(stream_, sequence, nullptr, nullptr, nullptr), 0);
  }
  EXPECT_EQ(gar_wait_async(stream_, sequence, nullptr, nullptr, nullptr), GAR_E_LIMIT_WAITS);
  take_one();
  EXPECT_EQ(gar_wait_async(stream_, sequence, nullptr, nullptr, nullptr), 0);
}

class word_stream : public sim_fixture {
 protected:
  void connect_words(const char* plan) {
    setenv("GAR_PLAN", plan, 1);
    const gar_client_options o = in_process();
    ASSERT_EQ(gar_connect(&o, &client_), 0);
    unsetenv("GAR_PLAN");
    ASSERT_EQ(gar_word_stream_open(client_, nullptr, &stream_), 0);
  }
};

TEST_F(word_stream, a_signal_ends_the_waits_up_to_its_number) {
  for (const char* plan : {"block", "poll", flag_10ms}) {
    connect_words(plan);
    uint64_t one = 0, two = 0, three = 0;
    ASSERT_EQ(gar_record(stream_, &one), 0);
    ASSERT_EQ(gar_record(stream_, &two), 0);
    ASSERT_EQ(gar_record(stream_, &three), 0);
    std::thread producer([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      EXPECT_EQ(gar_signal(stream_, two), 0);
    });
    EXPECT_EQ(gar_wait(stream_, one, nullptr, nullptr), 0) << plan;
    producer.join();
    int done = 0;
    ASSERT_EQ(gar_query(stream_, two, &done), 0);
    EXPECT_EQ(done, 1);
    ASSERT_EQ(gar_query(stream_, three, &done), 0);
    EXPECT_EQ(done, 0);
    gar_wait_options o = wait_options();
    o.timeout_ns = 2 * ms;
    EXPECT_EQ(gar_wait(stream_, three, &o, nullptr), GAR_E_TIMED_OUT);
    EXPECT_EQ(gar_signal(stream_, one), 0);  // never backwards
    ASSERT_EQ(gar_query(stream_, two, &done), 0);
    EXPECT_EQ(done, 1);
    ASSERT_EQ(gar_stream_close(stream_), 0);
    stream_ = nullptr;
    ASSERT_EQ(gar_close(client_), 0);
    client_ = nullptr;
  }
}

TEST_F(word_stream, takes_only_numbers_it_gave) {
  connect_words(flag_10ms);
  EXPECT_EQ(gar_signal(stream_, 1), GAR_E_INVALID_ARGUMENT);
  uint64_t one = 0;
  ASSERT_EQ(gar_record(stream_, &one), 0);
  EXPECT_EQ(gar_signal(stream_, one + 1), GAR_E_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace gar::test
