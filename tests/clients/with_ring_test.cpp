// The library with a ring between it and gard: who reads it, what is in it, and a gard that lies
// there.
#include <fcntl.h>
#include <poll.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include "tests/clients/own_device.hpp"
#include "tests/clients/scripted_gard.hpp"
#include "tests/clients/sim_fixture.hpp"

namespace gar::test {
namespace {

using namespace std::chrono_literals;

// Its owner's backstop is far away: a wait that ends soon was told of its end.
constexpr const char* patient = "flag:park_us=1000,backstop_us=1000000";

class with_ring : public sim_fixture {
 protected:
  void SetUp() override {
    sim_fixture::SetUp();
    std::string pattern = std::filesystem::temp_directory_path() / "garclient-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override {
    sim_fixture::TearDown();
    gard_.reset();
    std::filesystem::remove_all(directory_);
  }
  void start_and_open(gard_script script = {}, uint32_t look_us = 20) {
    const std::string path = directory_ + "/gard.sock";
    if (script.ring_entries == 0) script.ring_entries = 64;
    gard_ = std::make_unique<scripted_gard>(path, std::move(script));
    gar_client_options o{};
    o.struct_bytes = sizeof(o);
    o.socket_path = path.c_str();
    o.flags = GAR_CLIENT_NEED_DAEMON | GAR_CLIENT_LOOK;
    o.look_us = look_us;
    ASSERT_EQ(gar_connect(&o, &client_), 0) << last_text();
    open();
  }
  void close() {
    EXPECT_EQ(gar_stream_close(stream_), 0);
    EXPECT_EQ(gar_close(client_), 0);
    stream_ = nullptr;
    client_ = nullptr;
    gard_.reset();
  }
  gar_report wait(uint64_t sequence, int expected = 0) {
    gar_report r{};
    EXPECT_EQ(gar_wait(stream_, sequence, nullptr, &r), expected) << last_text();
    return r;
  }
  // Until the client has found its gard and waits go there.
  void await_delegated() {
    for (int i = 0; i < 3000 && gar_mode(client_) != GAR_MODE_DAEMON; ++i) {
      wait(submit_and_record(100 * us));
      std::this_thread::sleep_for(1ms);
    }
    gar_report r{};
    for (int i = 0; i < 300 && !r.delegated; ++i) r = wait(submit_and_record(5 * ms));
    EXPECT_EQ(r.delegated, 1);
  }
  size_t take_all(size_t count) {
    size_t ended = 0;
    for (int i = 0; i < 1000 && ended < count; ++i) {
      pollfd p{gar_client_fd(client_), POLLIN, 0};
      EXPECT_EQ(poll(&p, 1, 10'000), 1);
      gar_completion c[16];
      size_t taken = 0;
      EXPECT_EQ(gar_take(client_, c, 16, &taken), 0);
      for (size_t k = 0; k < taken; ++k) EXPECT_EQ(c[k].error, 0);
      ended += taken;
    }
    return ended;
  }

  std::string directory_;
  std::unique_ptr<scripted_gard> gard_;
};

// The first to block reads for all; when its own wait is over another must.
TEST_F(with_ring, whoever_leaves_hands_the_reading_on) {
  for (const uint32_t look_us : {0u, 20u, 5000u}) {
    gard_script s;
    s.plan = patient;
    start_and_open(s, look_us);
    constexpr int threads_count = 12;
    std::vector<std::thread> threads;
    for (int i = 0; i < threads_count; ++i) {
      // All wait by the time that the first may end.
      const uint64_t sequence = submit_and_record(i == 0 ? 200 * ms : 2 * ms);
      threads.emplace_back([this, sequence] { EXPECT_EQ(wait(sequence).delegated, 1); });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(counters().delegated, uint64_t{threads_count});
    EXPECT_EQ(counters().owner_backstops, 0u);
    close();
  }
}

TEST_F(with_ring, threads_and_asynchronous_waits_share_it) {
  gard_script s;
  s.plan = patient;
  start_and_open(s);
  constexpr int rounds = 40;
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      while (!over) {
        uint64_t sequence = 0;
        if (gar_sim_submit(queue_, 100 * us, nullptr, 0) != 0) break;
        if (gar_record(stream_, &sequence) != 0) continue;  // as many as a stream keeps
        EXPECT_EQ(gar_wait(stream_, sequence, nullptr, nullptr), 0) << last_text();
      }
    });
  }
  for (int i = 0; i < rounds; ++i) {
    const uint64_t sequence = submit_and_record(200 * us);
    ASSERT_EQ(gar_wait_async(stream_, sequence, nullptr, nullptr, nullptr), 0);
    EXPECT_EQ(take_all(1), 1u);
  }
  over = true;
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(counters().owner_backstops, 0u);
}

// That thread asks a device for gard's probe, which does not answer before all has ended.
TEST_F(with_ring, an_asynchronous_wait_ends_without_the_service_thread) {
  static std::atomic<bool> asked;
  static std::atomic<bool> held;
  asked = false;
  held = true;
  gar_device_ops slow = own_device::ops();
  slow.query = [](void*, uint64_t, gar_device_failure*) -> int {
    asked = true;
    held.wait(true);
    return GAR_PENDING;
  };
  const gar_device_ops ops = own_device::ops();
  gard_script s;
  s.plan = patient;
  start_and_open(s);
  own_device holding;
  own_device device;
  gar_stream* holds = nullptr;
  gar_stream* stream = nullptr;
  ASSERT_EQ(gar_stream_open(client_, &slow, &holding, &holding, nullptr, &holds), 0);
  ASSERT_EQ(gar_stream_open(client_, &ops, &device, &device, nullptr, &stream), 0);
  uint64_t sequence = 0;
  ASSERT_EQ(gar_record(holds, &sequence), 0);
  gard_->send(proto::probes{{{1, sequence, 2, 1}}});
  EXPECT_TRUE(comes_to_hold([] {
    std::this_thread::yield();
    return asked.load();
  }));
  constexpr size_t waits = 20;
  for (size_t i = 0; i < waits; ++i) {
    EXPECT_EQ(gar_record(stream, &sequence), 0);
    EXPECT_EQ(gar_wait_async(stream, sequence, nullptr, nullptr, nullptr), 0);
    device.run_all();
    pollfd p{gar_client_fd(client_), POLLIN, 0};
    gar_completion c{};
    size_t taken = 0;
    while (taken == 0 && poll(&p, 1, 30'000) == 1) {
      ASSERT_EQ(gar_take(client_, &c, 1, &taken), 0);
    }
    EXPECT_EQ(taken, 1u);
    EXPECT_EQ(c.error, 0);
    if (HasFailure()) break;
  }
  EXPECT_EQ(counters().delegated, waits);
  held = false;
  held.notify_all();
  EXPECT_EQ(gar_stream_close(stream), 0);
  EXPECT_EQ(gar_stream_close(holds), 0);
}

TEST_F(with_ring, waits_that_find_no_slot_run_here_and_are_counted) {
  gard_script s;
  s.plan = patient;
  start_and_open(s);
  const uint64_t sequence = submit_and_record(300 * ms);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(gar_wait_async(stream_, sequence, nullptr, nullptr, nullptr), 0);
  }
  EXPECT_EQ(take_all(100), 100u);
  EXPECT_EQ(truth(), 1u);
  EXPECT_EQ(counters().delegated, 64u);
  EXPECT_EQ(counters().limit_refused, 36u);
}

// gard still has it: what it says of the slot later is not about another wait.
TEST_F(with_ring, a_slot_is_used_again_only_when_gard_has_ended_its_wait) {
  std::vector<uint64_t> cookies;
  gard_script s;
  s.plan = patient;
  s.on_wait = [&](const proto::wait& w) {
    cookies.push_back(w.cookie);
    return cookies.size() == 1;
  };
  start_and_open(s);
  gar_wait_options o = wait_options();
  o.timeout_ns = 5 * ms;
  EXPECT_EQ(gar_wait(stream_, submit_and_record(50 * ms), &o, nullptr), GAR_E_TIMED_OUT);
  EXPECT_EQ(gard_->await<proto::cancel>(1).size(), 1u);
  wait(submit_and_record(5 * ms));
  gard_->complete(gard_->received<proto::wait>()[0].cookie, errc::Cancelled);
  wait(submit_and_record(5 * ms));
  EXPECT_EQ(truth(), 3u);
  const auto waits = gard_->received<proto::wait>();
  ASSERT_EQ(waits.size(), 3u);
  EXPECT_NE(waits[0].cookie, waits[1].cookie);
  EXPECT_EQ(counters().delegated, 2u);
  EXPECT_EQ(gar_mode(client_), GAR_MODE_DAEMON);
}

TEST_F(with_ring, the_descriptor_stays_the_same_at_the_next_gard) {
  gard_script s;
  s.plan = patient;
  start_and_open(s);
  const int fd = gar_client_fd(client_);
  ASSERT_EQ(gar_wait_async(stream_, submit_and_record(2 * ms), nullptr, nullptr, nullptr), 0);
  EXPECT_EQ(take_all(1), 1u);
  gard_->die();
  while (gar_mode(client_) == GAR_MODE_DAEMON) std::this_thread::sleep_for(1ms);
  s.ring_entries = 64;
  gard_ = std::make_unique<scripted_gard>(directory_ + "/gard.sock", s);
  await_delegated();
  const uint64_t before = counters().delegated;
  ASSERT_EQ(gar_wait_async(stream_, submit_and_record(5 * ms), nullptr, nullptr, nullptr), 0);
  EXPECT_EQ(gar_client_fd(client_), fd);
  EXPECT_EQ(take_all(1), 1u);
  EXPECT_EQ(counters().delegated, before + 1);
  EXPECT_EQ(counters().owner_backstops, 0u);
}

// Then it is none of gard's pipes, but watches them.
TEST_F(with_ring, a_descriptor_from_before_gard_shows_what_gard_ends) {
  const std::string path = directory_ + "/gard.sock";
  gar_client_options o{};
  o.struct_bytes = sizeof(o);
  o.socket_path = path.c_str();
  ASSERT_EQ(gar_connect(&o, &client_), 0) << last_text();
  open();
  const int fd = gar_client_fd(client_);
  gard_script s;
  s.plan = patient;
  s.ring_entries = 64;
  gard_ = std::make_unique<scripted_gard>(path, s);
  await_delegated();
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(gar_wait_async(stream_, submit_and_record(5 * ms), nullptr, nullptr, nullptr), 0);
    EXPECT_EQ(take_all(1), 1u);
  }
  EXPECT_EQ(gar_client_fd(client_), fd);
  EXPECT_EQ(counters().owner_backstops, 0u);
}

TEST_F(with_ring, the_descriptor_is_readable_until_everything_is_taken) {
  gard_script s;
  s.plan = patient;
  start_and_open(s);
  pollfd p{gar_client_fd(client_), POLLIN, 0};
  constexpr int waits = 5;
  for (int i = 0; i < waits; ++i) {
    ASSERT_EQ(gar_wait_async(stream_, submit_and_record(1 * ms), nullptr, nullptr, nullptr), 0);
  }
  for (int taken = 0; taken < waits;) {
    ASSERT_EQ(poll(&p, 1, 10'000), 1) << taken;
    gar_completion c{};
    size_t count = 0;
    ASSERT_EQ(gar_take(client_, &c, 1, &count), 0);
    taken += static_cast<int>(count);
  }
  // gard may put its byte after the end that it is about was taken, once.
  size_t count = 1;
  if (poll(&p, 1, 0) == 1) {
    gar_completion c{};
    ASSERT_EQ(gar_take(client_, &c, 1, &count), 0);
    EXPECT_EQ(count, 0u);
  }
  EXPECT_EQ(poll(&p, 1, 0), 0);
  EXPECT_EQ(counters().owner_backstops, 0u);
}

// Where the library waited for the pipe the program would hang in gar_take.
TEST_F(with_ring, a_gard_that_makes_the_pipe_block_holds_up_nobody) {
  gard_script s;
  s.plan = patient;
  start_and_open(s);
  gard_->with_ring([](ring_end& r) { ASSERT_EQ(::fcntl(r.pipe(), F_SETFL, 0), 0); });
  ASSERT_GE(gar_client_fd(client_), 0);
  gar_completion c{};
  size_t count = 1;
  ASSERT_EQ(gar_take(client_, &c, 1, &count), 0);
  EXPECT_EQ(count, 0u);
  ASSERT_EQ(gar_wait_async(stream_, submit_and_record(5 * ms), nullptr, nullptr, nullptr), 0);
  EXPECT_EQ(take_all(1), 1u);
  ASSERT_EQ(gar_take(client_, &c, 1, &count), 0);
  EXPECT_EQ(count, 0u);
}

// The library ends these by itself, with no gard that would write into its pipe.
TEST_F(with_ring, the_descriptor_shows_what_ends_after_gard_is_gone) {
  gard_script s;
  s.plan = patient;
  s.completes = false;
  start_and_open(s);
  const int fd = gar_client_fd(client_);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(gar_wait_async(stream_, submit_and_record(20 * ms), nullptr, nullptr, nullptr), 0);
  }
  gard_->await<proto::wait>(3);
  gard_->die();
  EXPECT_EQ(take_all(3), 3u);
  EXPECT_EQ(truth(), work_);
  EXPECT_EQ(gar_client_fd(client_), fd);
  pollfd p{fd, POLLIN, 0};
  EXPECT_EQ(poll(&p, 1, 0), 0);
}

// None of it is a success before the device says so, and none of it hangs.
TEST_F(with_ring, a_gard_that_lies_there_is_a_gard_that_is_gone) {
  const std::function<void(ring_end&)> lies[] = {
      [](ring_end& r) { r.publish(65); },      [](ring_end& r) { r.publish(UINT64_MAX); },
      [](ring_end& r) { r.complete(64, {}); }, [](ring_end& r) { r.complete(UINT32_MAX, {}); },
      [](ring_end& r) { r.complete(40, {}); },  // nothing is in flight there
  };
  for (const auto& lie : lies) {
    gard_script s;
    s.plan = patient;
    s.completes = false;
    start_and_open(s);
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      const uint64_t sequence = submit_and_record(100 * ms);
      threads.emplace_back([this, sequence] { EXPECT_EQ(wait(sequence).in_process, 1); });
    }
    const uint64_t last = submit_and_record(100 * ms);
    ASSERT_EQ(gar_wait_async(stream_, last, nullptr, nullptr, nullptr), 0);
    gard_->await<proto::wait>(4);
    gard_->with_ring(lie);
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(take_all(1), 1u);
    EXPECT_EQ(truth(), work_);
    EXPECT_EQ(counters().in_process, 4u);
    EXPECT_EQ(gar_mode(client_), GAR_MODE_IN_PROCESS);
    close();
  }
}

TEST_F(with_ring, codes_and_other_slots_are_claims_for_the_device_to_confirm) {
  gard_script s;
  s.completes = false;
  start_and_open(s);
  const uint64_t sequence = submit_and_record(30 * ms);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this, sequence] {
      EXPECT_EQ(gar_wait(stream_, sequence, nullptr, nullptr), 0) << last_text();
      EXPECT_EQ(truth(), work_);
    });
  }
  const auto waits = gard_->await<proto::wait>(4);
  const uint16_t codes[] = {0, UINT16_MAX, static_cast<uint16_t>(errc::Backend), 0x7777};
  for (size_t i = 0; i < 4; ++i) {
    gard_->with_ring([&](ring_end& r) {
      proto::ring_completion end;
      std::memset(&end, 0xff, sizeof(end));
      end.code = codes[i];
      r.complete(static_cast<uint32_t>(waits[i].cookie), end);
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(gar_mode(client_), GAR_MODE_DAEMON);
}

// A kernel that cannot sleep on a futex and on gard's own ring at once.
TEST_F(with_ring, a_reactor_that_only_a_message_wakes_is_sent_one) {
  gard_script s;
  s.state = proto::reactor_asleep_message;
  start_and_open(s);
  EXPECT_EQ(wait(submit_and_record(20 * ms)).delegated, 1);
  EXPECT_GE(gard_->await<proto::kick>(1).size(), 1u);
  const size_t before = gard_->received<proto::kick>().size();
  gar_wait_options o = wait_options();
  o.flags = GAR_WAIT_INLINE;
  ASSERT_EQ(gar_wait(stream_, submit_and_record(1 * ms), &o, nullptr), 0);
  gard_->await<proto::outcomes>(1);
  EXPECT_GT(gard_->await<proto::kick>(before + 1).size(), before);
}

// It is between its announcement and its sleep, where no futex wake reaches it.
TEST_F(with_ring, a_reactor_that_stays_on_its_way_to_sleep_is_sent_a_message_and_holds_up_nobody) {
  gard_script s;
  s.state = proto::reactor_asleep;
  start_and_open(s);
  EXPECT_EQ(wait(submit_and_record(50 * ms)).delegated, 1);
  EXPECT_GE(gard_->await<proto::kick>(1).size(), 1u);
}

// Sleeps on the word that gard's reactor sleeps on, as any process that maps the state page can,
// and so is woken by what was meant for the reactor.
class stranger {
 public:
  explicit stranger(const uint32_t& word) : word_(word), thread_([this] { sleep_again(); }) {
    while (futex_wake(word_) == 0) std::this_thread::yield();
  }
  ~stranger() {
    over_ = true;
    while (!left_) futex_wake(word_);
    thread_.join();
  }
  int woken() const { return woken_; }

 private:
  void sleep_again() {
    while (!over_) {
      futex_wait(word_, proto::reactor_asleep);
      ++woken_;
    }
    left_ = true;
  }
  const uint32_t& word_;
  std::atomic<int> woken_{0};
  std::atomic<bool> over_{false};
  std::atomic<bool> left_{false};
  std::thread thread_;
};

// gard's reactor was between its announcement and its sleep when the wake came, and sleeps beside
// the request until the owner's backstop, were it not asked again by message.
class with_a_stranger : public with_ring {
 protected:
  void start() {
    gard_script s;
    s.plan = patient;
    s.state = proto::reactor_asleep;
    s.takes_when_kicked = true;
    start_and_open(s);
    while (std::atomic_ref<uint32_t>(const_cast<uint32_t&>(gard_->state_word())) !=
           proto::reactor_asleep) {
      std::this_thread::yield();
    }
    stranger_ = std::make_unique<stranger>(gard_->state_word());
  }
  void TearDown() override {
    stranger_.reset();
    with_ring::TearDown();
  }

  static constexpr int waits = 10;
  std::unique_ptr<stranger> stranger_;
};

TEST_F(with_a_stranger, that_takes_its_wake_a_wait_ends_long_before_its_owners_backstop) {
  start();
  const int before = stranger_->woken();
  for (int i = 0; i < waits; ++i) EXPECT_EQ(wait(submit_and_record(20 * ms)).delegated, 1);
  EXPECT_GT(stranger_->woken(), before);
  EXPECT_EQ(counters().owner_backstops, 0u);
  EXPECT_EQ(counters().delegated, uint64_t{waits});
}

TEST_F(with_a_stranger, that_takes_its_wake_an_asynchronous_wait_ends_as_soon) {
  start();
  const int before = stranger_->woken();
  for (int i = 0; i < waits; ++i) {
    ASSERT_EQ(gar_wait_async(stream_, submit_and_record(20 * ms), nullptr, nullptr, nullptr), 0);
    EXPECT_EQ(take_all(1), 1u);
  }
  EXPECT_GT(stranger_->woken(), before);
  EXPECT_EQ(counters().owner_backstops, 0u);
  EXPECT_EQ(counters().delegated, uint64_t{waits});
}

TEST_F(with_a_stranger, that_takes_its_wake_outcomes_arrive) {
  start();
  gar_wait_options o = wait_options();
  o.flags = GAR_WAIT_INLINE;
  ASSERT_EQ(gar_wait(stream_, submit_and_record(1 * ms), &o, nullptr), 0);
  EXPECT_EQ(gard_->await<proto::outcomes>(1).size(), 1u);
}

// Such a wait goes through its end once before it comes.
TEST_F(with_ring, an_inline_wait_that_slept_is_counted_and_told_once) {
  gard_script s;
  s.plan =
      "flag:park_us=1000,backstop_us=1000000"
      "+predict:margin_us=500,min_sleep_us=50,max_sleep_us=50000,window=8";
  start_and_open(s);
  gar_wait_options o = wait_options();
  o.flags = GAR_WAIT_INLINE;
  o.point = "read back";
  constexpr size_t waits = 6;
  for (size_t i = 0; i < waits; ++i) {
    gar_report r{};
    ASSERT_EQ(gar_wait(stream_, submit_and_record(5 * ms), &o, &r), 0) << last_text();
    EXPECT_EQ(truth(), work_);
  }
  EXPECT_EQ(counters().waits, uint64_t{waits});
  size_t told = 0;
  for (size_t messages = 1; told < waits; ++messages) {
    told = 0;
    for (const auto& m : gard_->await<proto::outcomes>(messages)) told += m.entries.size();
  }
  EXPECT_EQ(told, waits);
}

TEST_F(with_ring, outcomes_that_it_has_no_room_for_go_by_socket) {
  gard_script s;
  s.takes_outcomes = false;
  start_and_open(s);
  gar_wait_options o = wait_options();
  o.flags = GAR_WAIT_INLINE;
  const uint64_t sequence = submit_and_record(100 * us);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(gar_wait(stream_, sequence, &o, nullptr), 0);
  gard_->await<proto::outcomes>(1);
  std::this_thread::sleep_for(150ms);
  size_t by_socket = 0;
  for (const auto& m : gard_->received<proto::outcomes>()) by_socket += m.entries.size();
  EXPECT_EQ(by_socket, 100 - proto::ring_outcomes);
}

}  // namespace
}  // namespace gar::test
