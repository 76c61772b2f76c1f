// The library with a gard that is right, silent, lying, stuck or dying.
#include <sys/wait.h>

#include <filesystem>
#include <memory>

#include "tests/clients/scripted_gard.hpp"
#include "tests/clients/sim_fixture.hpp"

namespace gar::test {
namespace {

using namespace std::chrono_literals;

// Each test by socket alone, and through the ring.
class with_gard : public sim_fixture, public testing::WithParamInterface<uint32_t> {
 protected:
  void SetUp() override {
    sim_fixture::SetUp();
    std::string pattern = std::filesystem::temp_directory_path() / "garclient-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    path_ = directory_ + "/gard.sock";
  }
  void TearDown() override {
    sim_fixture::TearDown();
    gard_.reset();
    std::filesystem::remove_all(directory_);
  }

  void start(gard_script script = {}) {
    if (script.ring_entries == 0) script.ring_entries = GetParam();
    gard_ = std::make_unique<scripted_gard>(path_, std::move(script));
  }
  gar_client_options options() {
    gar_client_options o{};
    o.struct_bytes = sizeof(o);
    o.socket_path = path_.c_str();
    o.name = "tester";
    return o;
  }
  void connect_and_open() {
    const gar_client_options o = options();
    ASSERT_EQ(gar_connect(&o, &client_), 0) << last_text();
    open();
  }
  void start_and_open(gard_script script = {}) {
    start(std::move(script));
    connect_and_open();
    ASSERT_EQ(gar_mode(client_), GAR_MODE_DAEMON);
  }
  gar_report wait(uint64_t sequence, int expected = 0) {
    gar_report r{};
    EXPECT_EQ(gar_wait(stream_, sequence, nullptr, &r), expected) << last_text();
    meet_gard();
    return r;
  }
  // A thread sanitizer does not see that the two ends of a ring meet there, since each maps it at a
  // place of its own; what a test shares with its gard's thread is seen by this.
  void meet_gard() { gard_->connections(); }
  void await_mode(int mode) {
    for (int i = 0; i < 2000 && gar_mode(client_) != mode; ++i) std::this_thread::sleep_for(1ms);
    EXPECT_EQ(gar_mode(client_), mode);
  }
  // What was told of waits, in however many messages it came.
  std::vector<proto::outcome_entry> await_outcomes(size_t count) {
    std::vector<proto::outcome_entry> told;
    EXPECT_TRUE(comes_to_hold([&] {
      told.clear();
      for (const proto::outcomes& m : gard_->received<proto::outcomes>()) {
        told.insert(told.end(), m.entries.begin(), m.entries.end());
      }
      if (told.size() < count) std::this_thread::sleep_for(1ms);
      return told.size() >= count;
    }));
    told.resize(std::max(told.size(), count));
    return told;
  }
  gar_completion take_one() {
    gar_completion c{};
    size_t taken = 0;
    for (int i = 0; i < 100 && taken == 0; ++i) {
      pollfd p{gar_client_fd(client_), POLLIN, 0};
      EXPECT_EQ(poll(&p, 1, 5000), 1);
      EXPECT_EQ(gar_take(client_, &c, 1, &taken), 0);
    }
    EXPECT_EQ(taken, 1u);
    meet_gard();
    return c;
  }

  std::string directory_;
  std::string path_;
  std::unique_ptr<scripted_gard> gard_;
};

TEST_P(with_gard, says_hello_with_its_name_and_drivers) {
  start_and_open();
  const auto hello = gard_->await<proto::hello>(1).at(0);
  EXPECT_EQ(hello.client_name, "tester");
  bool sim = false;
  for (const auto& d : hello.drivers) sim = sim || (d.name == "sim" && d.available);
  EXPECT_TRUE(sim);
  const auto open = gard_->await<proto::open>(1).at(0);
  EXPECT_EQ(open.base, 0u);
  EXPECT_EQ(open.authority, proto::authority_owner);
}

TEST_P(with_gard, a_flag_wait_is_delegated_and_ends_after_the_last_query) {
  start_and_open();
  const gar_report r = wait(submit_and_record(50 * ms));
  EXPECT_EQ(truth(), 1u);
  EXPECT_EQ(r.delegated, 1);
  EXPECT_EQ(r.in_process, 0);
  EXPECT_EQ(r.kind, GAR_KIND_PARKED);
  EXPECT_EQ(r.parks, 9u);
  EXPECT_EQ(counters().delegated, 1u);
  EXPECT_EQ(gard_->word(0), 1u);
}

TEST_P(with_gard, a_wait_says_all_that_gard_must_know) {
  start_and_open();
  gar_wait_options o = wait_options();
  o.point = "readback";
  o.rows = 12;
  o.flags = GAR_WAIT_ROWS;
  o.timeout_ns = 900 * ms;
  ASSERT_EQ(gar_wait(stream_, submit_and_record(50 * ms), &o, nullptr), 0);
  ASSERT_EQ(gar_wait(stream_, submit_and_record(50 * ms), &o, nullptr), 0);
  const auto waits = gard_->await<proto::wait>(2);
  EXPECT_EQ(waits[0].target, 1u);
  EXPECT_EQ(waits[0].plan_generation, 5u);
  EXPECT_EQ(waits[0].rows, 12u);
  EXPECT_EQ(waits[0].timeout_ns, 900 * ms);
  EXPECT_EQ(waits[0].stream, 1u);
  if (GetParam() == 0) {  // in a ring the slot is free again
    EXPECT_NE(waits[0].cookie, waits[1].cookie);
  }
  const auto points = gard_->await<proto::point>(1);
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0].point_name, "readback");
  EXPECT_EQ(waits[0].point_number, points[0].point_number);
  EXPECT_EQ(waits[1].point_number, points[0].point_number);
}

TEST_P(with_gard, block_and_poll_run_here_and_are_reported_together) {
  gard_script s;
  s.plan = "block;rows>=1:poll";
  start_and_open(s);
  EXPECT_EQ(wait(submit_and_record(1 * ms)).kind, GAR_KIND_BLOCKED);
  ASSERT_EQ(gar_rows(client_, 1), 0);
  const gar_report r = wait(submit_and_record(1 * ms));
  EXPECT_EQ(r.kind, GAR_KIND_PARKED);
  EXPECT_EQ(r.delegated, 0);
  EXPECT_EQ(r.in_process, 0);
  const auto told = await_outcomes(2);
  EXPECT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].kind, GAR_KIND_BLOCKED);
  EXPECT_EQ(told[0].sample, proto::sample_none);
  EXPECT_EQ(told[1].kind, GAR_KIND_PARKED);
  EXPECT_EQ(told[1].sample, proto::sample_exact);
  EXPECT_EQ(told[1].rows, 1u);
  EXPECT_TRUE(gard_->received<proto::wait>().empty());
  // Two that end close to each other come in one message.
  EXPECT_TRUE(comes_to_hold([&] {
    wait(submit_and_record(100 * us));
    wait(submit_and_record(100 * us));
    const auto messages = gard_->received<proto::outcomes>();
    return std::any_of(messages.begin(), messages.end(),
                       [](const proto::outcomes& m) { return m.entries.size() >= 2; });
  }));
}

TEST_P(with_gard, done_at_the_first_query_is_immediate_and_reported) {
  start_and_open();
  const uint64_t sequence = submit_and_record(0);
  wait_for_truth(1);
  EXPECT_EQ(wait(sequence).kind, GAR_KIND_IMMEDIATE);
  EXPECT_EQ(await_outcomes(1)[0].kind, GAR_KIND_IMMEDIATE);
  EXPECT_TRUE(gard_->received<proto::wait>().empty());
}

TEST_P(with_gard, a_silent_gard_hangs_nobody) {
  gard_script s;
  s.completes = false;
  start_and_open(s);
  gar_report r = wait(submit_and_record(50 * ms));
  EXPECT_EQ(truth(), 1u);
  EXPECT_EQ(r.delegated, 0);
  EXPECT_EQ(r.in_process, 1);
  EXPECT_GE(r.wait_ns, 100 * ms);
  EXPECT_EQ(counters().owner_backstops, 1u);
  EXPECT_EQ(gard_->await<proto::cancel>(1).at(0).cookie, gard_->received<proto::wait>()[0].cookie);
  await_mode(GAR_MODE_DAEMON);  // it answers the cancel
}

TEST_P(with_gard, what_is_known_to_be_stuck_is_not_asked_again_until_it_speaks) {
  gard_script s;
  s.on_wait = [](const proto::wait&) { return true; };  // and never knows the cookie again
  start_and_open(s);
  wait(submit_and_record(50 * ms));
  EXPECT_EQ(gar_mode(client_), GAR_MODE_IN_PROCESS);
  const gar_report r = wait(submit_and_record(50 * ms));
  EXPECT_EQ(r.in_process, 1);
  EXPECT_EQ(gard_->received<proto::wait>().size(), 1u);
  gard_->send(proto::plan_scope{6, proto::scope_default, 0, 1, "", "poll"});
  await_mode(GAR_MODE_DAEMON);
}

TEST_P(with_gard, an_early_word_is_counted_and_polled_out) {
  gard_script s;
  s.on_wait = [this](const proto::wait& w) {
    gard_->complete(w.cookie);
    return true;
  };
  start_and_open(s);
  const uint64_t began_ns = steady_ns();
  const gar_report r = wait(submit_and_record(200 * ms));
  EXPECT_GE(steady_ns() - began_ns, 200 * ms);
  EXPECT_EQ(truth(), 1u);
  EXPECT_EQ(r.early_words, 1u);
  EXPECT_GE(r.wait_ns, 100 * ms);  // half may go by before the wait begins
  EXPECT_EQ(counters().early_words, 1u);
  EXPECT_EQ(await_outcomes(1)[0].what, proto::outcome_early_word);
  EXPECT_EQ(gard_->received<proto::wait>().size(), 1u);
}

TEST_P(with_gard, gards_claims_are_asked_for_at_the_device) {
  const std::pair<errc, uint8_t> lies[] = {
      {errc{}, 1}, {errc::Backend, 0}, {errc::TimedOut, 0}, {errc::Closed, 0}};
  std::atomic<int> at{0};
  gard_script s;
  s.on_wait = [&](const proto::wait& w) {
    gard_->complete(w.cookie, lies[at].first, lies[at].second);
    return true;
  };
  start_and_open(s);
  for (int i = 0; i < 4; ++i) {
    at = i;
    const uint64_t began_ns = steady_ns();
    const gar_report r = wait(submit_and_record(100 * ms));
    EXPECT_GE(steady_ns() - began_ns, 100 * ms);
    EXPECT_EQ(truth(), work_);
    EXPECT_GE(r.wait_ns, 50 * ms);  // half may go by before the wait begins
  }
}

TEST_P(with_gard, a_word_that_came_early_is_never_registered) {
  start_and_open();
  ASSERT_EQ(gar_sim_fault(queue_, GAR_SIM_FAULT_EARLY_STORE, 0), 0);
  const uint64_t sequence = submit_and_record(1000 * ms);
  for (int i = 0; i < 1000 && gard_->word(0) != sequence; ++i) std::this_thread::sleep_for(100us);
  const gar_report r = wait(sequence);
  EXPECT_EQ(truth(), 1u);
  EXPECT_EQ(r.early_words, 1u);
  EXPECT_EQ(r.delegated, 0);
  EXPECT_TRUE(gard_->received<proto::wait>().empty());
  const auto entries = await_outcomes(2);
  EXPECT_EQ(entries.size(), 2u);  // the early word, and the wait that gard never had
  EXPECT_EQ(entries[1].what, proto::outcome_wait);
}

TEST_P(with_gard, a_device_error_is_found_by_a_probe_and_told_with_its_call) {
  gard_script s;
  s.completes = false;
  start_and_open(s);
  ASSERT_EQ(gar_sim_fault(queue_, GAR_SIM_FAULT_DEVICE_ERROR, 700), 0);
  const uint64_t sequence = submit_and_record(200 * ms);
  std::thread waiter([&] { wait(sequence, GAR_E_BACKEND); });
  const uint64_t cookie = gard_->await<proto::wait>(1)[0].cookie;
  gard_->send(proto::probes{{{1, sequence, 1, 1}}});
  EXPECT_EQ(gard_->await<proto::statuses>(1)[0].entries.at(0).state, proto::probe_pending);
  std::this_thread::sleep_for(250ms);
  gard_->send(proto::probes{{{2, sequence, 1, 1}, {3, sequence, 9, 1}}});
  const auto status = gard_->await<proto::statuses>(2)[1].entries;
  ASSERT_EQ(status.size(), 1u);  // a stream that is not open is not answered for
  EXPECT_EQ(status[0].probe_id, 2u);
  EXPECT_EQ(status[0].state, proto::probe_failed);
  EXPECT_EQ(status[0].status, 700);
  EXPECT_NE(status[0].call[0], '\0');
  gard_->complete(cookie, errc::Backend);
  waiter.join();
}

TEST_P(with_gard, what_the_owners_own_probe_found_done_needs_no_further_query) {
  gard_script s;
  s.completes = false;
  start_and_open(s);
  ASSERT_EQ(gar_sim_fault(queue_, GAR_SIM_FAULT_LOST_STORE, 0), 0);
  const uint64_t sequence = submit_and_record(50 * ms);
  std::thread waiter([&] {
    const gar_report r = wait(sequence);
    EXPECT_EQ(r.delegated, 1);
  });
  const uint64_t cookie = gard_->await<proto::wait>(1)[0].cookie;
  wait_for_truth(1);
  gard_->send(proto::probes{{{1, sequence, 1, 1}}});
  EXPECT_EQ(gard_->await<proto::statuses>(1)[0].entries.at(0).state, proto::probe_done);
  gard_->complete(cookie, {}, 1);
  waiter.join();
}

TEST_P(with_gard, being_probed_keeps_the_owner_waiting) {
  gard_script s;
  s.completes = false;
  s.plan = "flag:park_us=100,backstop_us=400000";  // silent after 800 ms
  start_and_open(s);
  const uint64_t sequence = submit_and_record(1500 * ms);
  std::thread waiter([&] { wait(sequence); });
  const uint64_t cookie = gard_->await<proto::wait>(1)[0].cookie;
  for (uint64_t id = 1; truth() == 0; ++id) {
    gard_->send(proto::probes{{{id, sequence, 1, 1}}});
    std::this_thread::sleep_for(30ms);
  }
  gard_->complete(cookie);
  waiter.join();
  EXPECT_EQ(counters().owner_backstops, 0u);
  EXPECT_EQ(counters().delegated, 1u);
}

// gard asks about a stream one thing at a time: an answer that got lost would be its last.
TEST_P(with_gard, an_answer_that_the_socket_has_no_room_for_is_sent_later) {
  const auto reads = std::make_shared<std::atomic<bool>>(false);  // the gard outlives this scope
  gard_script s;
  s.on_wait = [reads](const proto::wait&) {
    while (!*reads) std::this_thread::sleep_for(1ms);
    return false;
  };
  start_and_open(s);
  const uint64_t sequence = submit_and_record(300 * ms);
  constexpr int waits_count = 2000;  // more than the socket holds
  for (int i = 0; i < waits_count; ++i) {
    ASSERT_EQ(gar_wait_async(stream_, sequence, nullptr, nullptr, nullptr), 0);
  }
  std::this_thread::sleep_for(50ms);
  gard_->send(proto::probes{{{9, sequence, 1, 1}}});
  std::this_thread::sleep_for(50ms);
  *reads = true;
  EXPECT_EQ(gard_->await<proto::statuses>(1).at(0).entries.at(0).probe_id, 9u);
}

// A cancel that got lost left its wait to gard until the word came, or for ever.
TEST_P(with_gard, a_cancel_that_the_socket_has_no_room_for_is_sent_later) {
  const auto reads = std::make_shared<std::atomic<bool>>(false);
  gard_script s;
  s.on_wait = [reads](const proto::wait&) {
    while (!*reads) std::this_thread::sleep_for(1ms);
    return false;
  };
  start_and_open(s);
  const uint64_t sequence = submit_and_record(3000 * ms);  // outlasts the cancelling
  std::vector<uint64_t> tickets(2000);                     // more than the socket holds
  for (uint64_t& t : tickets) {
    ASSERT_EQ(gar_wait_async(stream_, sequence, nullptr, nullptr, &t), 0);
  }
  for (const uint64_t t : tickets) ASSERT_EQ(gar_cancel(client_, t), 0);
  *reads = true;
  const auto waits = [&] { return gard_->received<proto::wait>().size(); };
  const auto cancels = [&] { return gard_->received<proto::cancel>().size(); };
  for (int i = 0; i < 5000 && (waits() == 0 || cancels() < waits()); ++i) {
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(cancels(), waits());
  for (size_t i = 0; i < tickets.size(); ++i) EXPECT_EQ(take_one().error, GAR_E_CANCELLED);
}

TEST_P(with_gard, a_probe_for_a_number_never_recorded_is_not_answered) {
  start_and_open();
  const uint64_t sequence = submit_and_record(1 * ms);
  wait(sequence);
  for (const uint64_t asked : {sequence + 1, sequence + (uint64_t{1} << 63), sequence}) {
    gard_->send(proto::probes{{{asked, asked, 1, 1}}});
  }
  const auto answers = gard_->await<proto::statuses>(1);
  ASSERT_EQ(answers[0].entries.size(), 1u);
  EXPECT_EQ(answers[0].entries[0].probe_id, sequence);
  EXPECT_EQ(answers[0].entries[0].state, proto::probe_done);
}

TEST_P(with_gard, a_limit_refusal_runs_inline_and_is_counted) {
  gard_script s;
  s.refuses_waits = errc::LimitWaits;
  start_and_open(s);
  const gar_report r = wait(submit_and_record(50 * ms));
  EXPECT_EQ(truth(), 1u);
  EXPECT_EQ(r.delegated, 0);
  EXPECT_EQ(counters().limit_refused, 1u);
  const auto entries = await_outcomes(2);
  EXPECT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].what, proto::outcome_refused);
  EXPECT_EQ(entries[1].what, proto::outcome_wait);
}

// Without a look at the deadline a wait pauses for newer plans for 5 ms on a thread and 2 ms
// without one, at the least: one round that was over sooner tells.
TEST_P(with_gard, a_wait_for_newer_plans_ends_at_its_deadline) {
  gard_script s;
  s.refuses_waits = errc::StalePlan;
  start_and_open(s);
  gar_wait_options o = wait_options();
  o.timeout_ns = 1 * ms;
  EXPECT_TRUE(comes_to_hold([&] {
    wait_for_truth(work_);
    gar_report r{};
    EXPECT_EQ(gar_wait(stream_, submit_and_record(20 * ms), &o, &r), GAR_E_TIMED_OUT);
    return r.wait_ns > 0 && r.wait_ns < 5 * ms;
  }));
  EXPECT_TRUE(comes_to_hold([&] {
    wait_for_truth(work_);
    const uint64_t sequence = submit_and_record(20 * ms);
    EXPECT_EQ(gar_wait_async(stream_, sequence, &o, nullptr, nullptr), 0);
    const gar_completion c = take_one();
    EXPECT_EQ(c.error, GAR_E_TIMED_OUT);
    return c.report.wait_ns > 0 && c.report.wait_ns < 2 * ms;
  }));
  EXPECT_GE(gard_->received<proto::wait>().size(), 2u);
}

TEST_P(with_gard, a_stale_plan_is_picked_again) {
  std::atomic<int> waits{0};
  gard_script s;
  s.on_wait = [&](const proto::wait& w) {
    if (++waits > 1) return false;
    // A gard that says nothing for longer than its backstops would be taken for silent.
    gard_->send(proto::plan_scope{8, proto::scope_default, 0, 1, "",
                                  "flag:park_us=50,backstop_us=1000000"});
    gard_->refuse_wait(w.cookie, errc::StalePlan);
    return true;
  };
  start_and_open(s);
  EXPECT_EQ(wait(submit_and_record(300 * ms)).delegated, 1);
  const auto sent = gard_->received<proto::wait>();
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].plan_generation, 5u);
  EXPECT_EQ(sent[1].plan_generation, 8u);
  EXPECT_GE(sent[1].age_ns, sent[0].age_ns);
}

TEST_P(with_gard, a_plan_set_for_all_changes_new_waits) {
  start_and_open();
  gard_->send(proto::plan_scope{6, proto::scope_default, 0, 1, "", "block"});
  EXPECT_TRUE(
      comes_to_hold([&] { return wait(submit_and_record(100 * us)).kind == GAR_KIND_BLOCKED; }));
}

TEST_P(with_gard, a_timeout_is_gards_to_count_and_the_owners_to_keep) {
  constexpr uint64_t told_ns = 200 * ms;
  gard_script s;
  // Told at the deadline it would race with the owner's own end, a little later. So gard says it at
  // once: the owner keeps the time, and there is nothing left to cancel.
  s.on_wait = [this](const proto::wait& w) {
    if (w.timeout_ns == told_ns) gard_->complete(w.cookie, errc::TimedOut);
    return true;
  };
  start_and_open(s);
  gar_wait_options o = wait_options();
  o.timeout_ns = told_ns;
  gar_report r{};
  EXPECT_EQ(gar_wait(stream_, submit_and_record(2000 * ms), &o, &r), GAR_E_TIMED_OUT);
  EXPECT_GE(r.wait_ns, told_ns);
  EXPECT_EQ(r.delegated, 1) << "it is gard's to count";
  o.timeout_ns = 30 * ms;  // gard says nothing this time
  EXPECT_EQ(gar_wait(stream_, submit_and_record(1000 * ms), &o, &r), GAR_E_TIMED_OUT);
  EXPECT_EQ(r.delegated, 0);
  EXPECT_EQ(gard_->await<proto::cancel>(1).size(), 1u) << "of the second alone";
  EXPECT_EQ(gard_->received<proto::wait>().size(), 2u);
}

TEST_P(with_gard, its_death_ends_no_wait_and_the_next_gard_serves_the_next) {
  gard_script s;
  s.completes = false;
  start_and_open(s);
  constexpr int threads_count = 20;
  std::vector<uint64_t> truths(threads_count);
  std::vector<std::thread> threads;
  std::vector<uint64_t> sequences(threads_count);
  for (int i = 0; i < threads_count; ++i) {
    ASSERT_EQ(gar_sim_submit(queue_, 5 * ms, &truths[i], 1), 0);
    ASSERT_EQ(gar_record(stream_, &sequences[i]), 0);
  }
  for (int i = 0; i < threads_count; ++i) {
    threads.emplace_back([&, i] {
      EXPECT_EQ(gar_wait(stream_, sequences[i], nullptr, nullptr), 0) << last_text();
      EXPECT_EQ(__atomic_load_n(&truths[i], __ATOMIC_ACQUIRE), 1u);
    });
  }
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(gar_wait_async(stream_, sequences[19 - i], nullptr, nullptr, nullptr), 0);
  }
  std::this_thread::sleep_for(15ms);
  gard_->die();
  for (std::thread& t : threads) t.join();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(take_one().error, 0);
  EXPECT_EQ(gar_mode(client_), GAR_MODE_IN_PROCESS);
  EXPECT_GT(counters().in_process, 0u);
  const uint64_t last = submit_and_record(1 * ms);
  EXPECT_EQ(wait(last).in_process, 1);

  start();
  gar_report r{};
  for (int i = 0; i < 300 && !r.delegated; ++i) {
    r = wait(submit_and_record(5 * ms));
    EXPECT_EQ(truth(), work_);
  }
  EXPECT_EQ(r.delegated, 1);
  EXPECT_EQ(counters().reconnects, 1u);
  EXPECT_GE(gard_->received<proto::open>().at(0).base, last);
  EXPECT_EQ(gar_mode(client_), GAR_MODE_DAEMON);
}

// They are opened anew all at once, more than the socket holds.
TEST_P(with_gard, every_one_of_many_streams_goes_to_the_next_gard) {
  start_and_open();
  std::vector<gar_stream*> streams(400);
  for (gar_stream*& s : streams) ASSERT_EQ(gar_word_stream_open(client_, nullptr, &s), 0);
  gard_->die();
  while (gar_mode(client_) == GAR_MODE_DAEMON) std::this_thread::sleep_for(1ms);
  gard_script slow;
  slow.deaf = 30ms;
  start(slow);
  const auto opened = [&] { return gard_->received<proto::open>().size(); };
  size_t turn = 0;
  EXPECT_TRUE(comes_to_hold([&] {
    uint64_t sequence = 0;
    gar_stream* s = streams[turn++ % streams.size()];
    EXPECT_EQ(gar_record(s, &sequence), 0) << last_text();
    EXPECT_EQ(gar_signal(s, sequence), 0);
    EXPECT_EQ(gar_wait(s, sequence, nullptr, nullptr), 0) << last_text();
    return opened() > streams.size();
  }));
  EXPECT_EQ(opened(), streams.size() + 1);
  for (gar_stream* s : streams) EXPECT_EQ(gar_stream_close(s), 0);
}

TEST_P(with_gard, a_program_that_only_waits_finds_the_next_gard_too) {
  start_and_open();
  const uint64_t sequence = submit_and_record(50 * ms);
  EXPECT_EQ(wait(sequence).delegated, 1);
  gard_->die();
  while (gar_mode(client_) == GAR_MODE_DAEMON) std::this_thread::sleep_for(1ms);
  start();
  for (int i = 0; i < 3000 && gar_mode(client_) != GAR_MODE_DAEMON; ++i) {
    wait(sequence);
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(gar_mode(client_), GAR_MODE_DAEMON);
}

// What was pending looked done, since the next numbers were before it in wrapping order.
TEST_P(with_gard, a_base_half_the_numbers_ahead_is_not_taken) {
  connect_and_open();
  gard_script s;
  s.base_ahead = (uint64_t{1} << 63) - 1;
  start(s);
  for (int i = 0; i < 100 && gard_->received<proto::close>().empty(); ++i) {
    wait(submit_and_record(20 * ms));  // opened at gard meanwhile
    ASSERT_EQ(truth(), work_);
  }
  EXPECT_EQ(gard_->received<proto::close>().size(), 1u);
}

TEST_P(with_gard, a_stop_is_as_good_as_a_death) {
  gard_script s;
  s.completes = false;
  start_and_open(s);
  const uint64_t sequence = submit_and_record(50 * ms);
  std::thread waiter([&] { EXPECT_EQ(wait(sequence).in_process, 1); });
  const uint64_t cookie = gard_->await<proto::wait>(1)[0].cookie;
  gard_->complete(cookie, errc::ShuttingDown);
  gard_->send(proto::bye{static_cast<uint16_t>(errc::ShuttingDown)});
  waiter.join();
  EXPECT_EQ(truth(), 1u);
  EXPECT_EQ(gar_mode(client_), GAR_MODE_IN_PROCESS);
}

TEST_P(with_gard, frames_that_cannot_be_end_the_link_and_nothing_else) {
  const auto bytes = [](const proto::message& m) { return proto::encode(m); };
  std::vector<std::byte> cut = bytes(proto::closed{1});
  cut.resize(9);
  std::vector<std::byte> unknown = bytes(proto::closed{1});
  unknown[0] = std::byte{99};
  const std::vector<std::vector<std::byte>> frames = {
      cut,
      unknown,
      bytes(proto::cancel{1}),
      bytes(proto::welcome{1, 1, 0, 1, 4096, 1, 1, 1, 1, "software", "naive"}),
      bytes(proto::page{1, 4096}),  // without its descriptor
      bytes(proto::plan_scope{9, proto::scope_client, 0, 1, "", "poll"}),
      std::vector<std::byte>(3),
  };
  for (const auto& frame : frames) {
    gard_script s;
    s.completes = false;
    start_and_open(s);
    const uint64_t sequence = submit_and_record(50 * ms);
    std::thread waiter([&] { EXPECT_EQ(wait(sequence).in_process, 1); });
    gard_->await<proto::wait>(1);
    gard_->send_bytes(frame);
    waiter.join();
    EXPECT_EQ(truth(), work_);
    EXPECT_EQ(gar_mode(client_), GAR_MODE_IN_PROCESS);
    ASSERT_EQ(gar_stream_close(stream_), 0);
    ASSERT_EQ(gar_close(client_), 0);
    stream_ = nullptr;
    client_ = nullptr;
    gard_.reset();
  }
}

TEST_P(with_gard, descriptors_that_nobody_expects_are_closed) {
  start_and_open();
  gard_->send_bytes(proto::encode(proto::closed{1}), {0, 1});
  await_mode(GAR_MODE_IN_PROCESS);
}

TEST_P(with_gard, a_handshake_that_cannot_be_is_in_process) {
  gard_script scripts[4];
  scripts[0].version = 2;
  scripts[1].plan = "pull";
  scripts[2].welcome_instead =
      proto::encode(proto::refusal{0, static_cast<uint16_t>(errc::LimitClients), 1, true, "full"});
  scripts[3].welcome_instead = proto::encode(proto::closed{1});
  for (const gard_script& s : scripts) {
    start(s);
    gar_client_options o = options();
    ASSERT_EQ(gar_connect(&o, &client_), 0) << last_text();
    EXPECT_EQ(gar_mode(client_), GAR_MODE_IN_PROCESS);
    gar_close(client_);
    client_ = nullptr;
    o.flags = GAR_CLIENT_NEED_DAEMON;
    EXPECT_EQ(gar_connect(&o, &client_), GAR_E_NOT_REACHABLE);
    gard_.reset();
  }
}

TEST_P(with_gard, a_frozen_handshake_is_given_up_after_a_second) {
  gard_script s;
  s.answers_hello = false;
  start(s);
  const auto began = std::chrono::steady_clock::now();
  connect_and_open();
  const auto took = std::chrono::steady_clock::now() - began;
  EXPECT_GE(took, 900ms);
  EXPECT_LT(took, 10s);
  EXPECT_EQ(gar_mode(client_), GAR_MODE_IN_PROCESS);
  const gar_report r = wait(submit_and_record(1 * ms));
  EXPECT_EQ(r.in_process, 1);
}

TEST_P(with_gard, a_stream_that_gard_has_no_room_for_works_in_process) {
  gard_script s;
  s.refuses_open = errc::LimitStreams;
  start_and_open(s);
  EXPECT_EQ(wait(submit_and_record(1 * ms)).in_process, 1);
}

// Every one of a program's opens once waited a second for a gard that was frozen.
TEST_P(with_gard, a_gard_that_does_not_answer_an_open_holds_up_no_other) {
  gard_script s;
  s.answers_opens = false;
  start(s);
  const auto began = std::chrono::steady_clock::now();
  connect_and_open();
  EXPECT_EQ(gar_mode(client_), GAR_MODE_IN_PROCESS);
  std::vector<gar_stream*> others(8);
  for (gar_stream*& other : others) ASSERT_EQ(gar_word_stream_open(client_, nullptr, &other), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 5s);  // of which the first took one
  EXPECT_EQ(wait(submit_and_record(1 * ms)).in_process, 1);

  gard_->answer_opens();
  await_mode(GAR_MODE_DAEMON);
  EXPECT_TRUE(comes_to_hold([&] { return wait(submit_and_record(1 * ms)).delegated == 1; }));
  for (gar_stream* other : others) EXPECT_EQ(gar_stream_close(other), 0);
}

TEST_P(with_gard, a_close_follows_the_last_wait_of_its_stream) {
  gard_script s;
  std::atomic<uint64_t> cookie{0};
  s.on_wait = [&](const proto::wait& w) {
    cookie = w.cookie;
    return true;
  };
  start_and_open(s);
  wait(submit_and_record(1 * ms));  // ended by the owner's backstop; gard still has it
  ASSERT_EQ(gar_stream_close(stream_), 0);
  stream_ = nullptr;
  std::this_thread::sleep_for(20ms);
  EXPECT_TRUE(gard_->received<proto::close>().empty());
  gard_->complete(cookie, errc::Cancelled);
  const auto close = gard_->await<proto::close>(1)[0];
  EXPECT_EQ(close.stream, 1u);
  EXPECT_EQ(close.last_sequence, 1u);
}

TEST_P(with_gard, an_asynchronous_wait_is_delegated_and_can_be_cancelled) {
  start_and_open();
  ASSERT_EQ(gar_wait_async(stream_, submit_and_record(3 * ms), nullptr, this, nullptr), 0);
  gar_completion c = take_one();
  EXPECT_EQ(c.error, 0);
  EXPECT_EQ(c.report.delegated, 1);
  EXPECT_EQ(c.user_data, this);
  EXPECT_EQ(truth(), 1u);
  uint64_t ticket = 0;
  ASSERT_EQ(gar_wait_async(stream_, submit_and_record(100 * ms), nullptr, nullptr, &ticket), 0);
  gard_->await<proto::wait>(2);
  ASSERT_EQ(gar_cancel(client_, ticket), 0);
  EXPECT_EQ(take_one().error, GAR_E_CANCELLED);
  EXPECT_EQ(gard_->await<proto::cancel>(1).size(), 1u);
}

TEST_P(with_gard, asynchronous_waits_survive_silence_and_early_words) {
  std::atomic<bool> early{true};
  gard_script s;
  s.on_wait = [&](const proto::wait& w) {
    if (early) gard_->complete(w.cookie);
    return true;
  };
  start_and_open(s);
  ASSERT_EQ(gar_wait_async(stream_, submit_and_record(20 * ms), nullptr, nullptr, nullptr), 0);
  gar_completion c = take_one();
  EXPECT_EQ(c.error, 0);
  EXPECT_EQ(truth(), 1u);
  EXPECT_EQ(c.report.early_words, 1u);
  early = false;
  ASSERT_EQ(gar_wait_async(stream_, submit_and_record(5 * ms), nullptr, nullptr, nullptr), 0);
  c = take_one();
  EXPECT_EQ(c.error, 0);
  EXPECT_EQ(truth(), 2u);
  EXPECT_EQ(counters().owner_backstops, 1u);
}

TEST_P(with_gard, a_word_stream_delegates_every_plan) {
  gard_script s;
  s.plan = "block";
  start(s);
  const gar_client_options o = options();
  ASSERT_EQ(gar_connect(&o, &client_), 0);
  ASSERT_EQ(gar_word_stream_open(client_, nullptr, &stream_), 0);
  EXPECT_EQ(gard_->await<proto::open>(1)[0].authority, proto::authority_word);
  uint64_t sequence = 0;
  ASSERT_EQ(gar_record(stream_, &sequence), 0);
  std::thread producer([&] {
    gard_->await<proto::wait>(1);
    EXPECT_EQ(gar_signal(stream_, sequence), 0);
  });
  EXPECT_EQ(wait(sequence).delegated, 1);
  producer.join();
}

TEST_P(with_gard, a_forked_child_leaves_the_parents_connection_alone) {
  start_and_open();
  const pid_t child = fork();
  if (child == 0) {
    const bool refused = gar_close(client_) == GAR_E_FORKED_CHILD;
    _exit(refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(wait(submit_and_record(50 * ms)).delegated, 1);
  EXPECT_TRUE(gard_->received<proto::bye>().empty());
}

TEST_P(with_gard, closing_says_bye_after_the_last_outcomes) {
  start_and_open();
  gar_wait_options o = wait_options();
  o.flags = GAR_WAIT_INLINE;
  ASSERT_EQ(gar_wait(stream_, submit_and_record(1 * ms), &o, nullptr), 0);
  ASSERT_EQ(gar_stream_close(stream_), 0);
  stream_ = nullptr;
  ASSERT_EQ(gar_close(client_), 0);
  client_ = nullptr;
  gard_->await<proto::bye>(1);
  EXPECT_EQ(gard_->received<proto::outcomes>().size(), 1u);
  EXPECT_EQ(gard_->received<proto::close>().size(), 1u);
}

TEST_P(with_gard, an_idle_client_uses_no_cpu) {
  start_and_open();
  wait(submit_and_record(1 * ms));
  std::this_thread::sleep_for(200ms);
  const uint64_t before = counters().service_cpu_ns;
  std::this_thread::sleep_for(300ms);
  EXPECT_EQ(counters().service_cpu_ns, before);
}

INSTANTIATE_TEST_SUITE_P(transports, with_gard, testing::Values(0u, 1024u),
                         [](const auto& p) { return p.param == 0 ? "socket" : "ring"; });

}  // namespace
}  // namespace gar::test
