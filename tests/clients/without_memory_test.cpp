// The library where memory is short: a call may fail then, but a wait that has begun ends, gard and
// its client stay agreed on what they talk about, and the program keeps its life.
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "clients/garclient/service_thread.hpp"
#include "lib/linux/unix_socket.hpp"
#include "tests/clients/link_rig.hpp"
#include "tests/clients/own_device.hpp"
#include "tests/clients/scarce_memory.hpp"
#include "tests/clients/scripted_gard.hpp"
#include "tests/clients/sim_fixture.hpp"

namespace gar::test {
namespace {

// More than any call here allocates.
constexpr uint64_t allocations_most = 40;

// Each test by socket alone, and through the ring.
class without_memory : public ::testing::TestWithParam<uint32_t> {
 protected:
  // A stream of the device, its numbers and what has landed of them.
  struct queue {
    own_device device;
    gar_stream* stream = nullptr;
  };

  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "garclient-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    path_ = directory_ + "/gard.sock";
  }
  void TearDown() override {
    gar_close(client_);
    gard_.reset();
    std::filesystem::remove_all(directory_);
  }
  void run_gard() {
    gard_script s;
    s.ring_entries = GetParam();
    s.plan = "flag:park_us=1000,backstop_us=1000000";
    // The work is done as soon as gard waits for it.
    s.on_wait = [this](const proto::wait&) {
      if (own_device* const works = works_) works->run_all();
      return false;
    };
    gard_ = std::make_unique<scripted_gard>(path_, s);
  }
  void start() {
    run_gard();
    gar_client_options o{};
    o.struct_bytes = sizeof(o);
    o.socket_path = path_.c_str();
    o.flags = GAR_CLIENT_NEED_DAEMON;
    ASSERT_EQ(gar_connect(&o, &client_), 0) << last_text();
  }
  queue& open(const gar_device_ops& ops = own_device::ops()) {
    queue& q = queues_.emplace_back();
    EXPECT_EQ(gar_stream_open(client_, &ops, &device_, &q.device, nullptr, &q.stream), 0)
        << last_text();
    works_ = &q.device;
    return q;
  }
  uint64_t record(queue& q) {
    uint64_t sequence = 0;
    EXPECT_EQ(gar_record(q.stream, &sequence), 0) << last_text();
    return sequence;
  }
  gar_completion take_one() {
    gar_completion c{};
    size_t taken = 0;
    EXPECT_TRUE(comes_to_hold([&] {
      EXPECT_EQ(gar_take(client_, &c, 1, &taken), 0);
      if (taken == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return taken == 1;
    }));
    return c;
  }
  // What gard was told last that this number means.
  std::string name_of(uint32_t number) {
    std::string name;
    for (const proto::point& p : gard_->received<proto::point>()) {
      if (p.point_number == number) name = p.point_name;
    }
    return name;
  }
  // A wait at a point that is new, with its n-th allocation failing, and one as it should be.
  bool wait_twice_at_a_new_point(uint64_t n, uint32_t flags) {
    const std::string point = "a name that is long enough to be allocated, " + std::to_string(n);
    queue& q = open();
    gar_wait_options o = wait_options();
    o.point = point.c_str();
    o.flags = flags;
    uint64_t sequence = record(q);
    if (flags & GAR_WAIT_INLINE) q.device.run_all();
    const bool failed =
        with_failure_at(n, [&] { (void)gar_wait(q.stream, sequence, &o, nullptr); });
    q.device.run_all();
    o.flags = 0;
    gar_report r{};
    sequence = record(q);
    EXPECT_EQ(gar_wait(q.stream, sequence, &o, &r), 0) << last_text();
    EXPECT_EQ(r.delegated, 1) << "allocation " << n;
    const auto waits = gard_->received<proto::wait>();
    EXPECT_EQ(waits.empty() ? "" : name_of(waits.back().point_number), point) << n;
    EXPECT_EQ(gar_stream_close(q.stream), 0);
    EXPECT_EQ(gard_->await<proto::close>(queues_.size()).size(), queues_.size()) << n;
    return failed;
  }

  // The n-th allocation of the cancel fails.
  void start_and_cancel(queue& q, uint64_t n) {
    uint64_t ticket = 0;
    ASSERT_EQ(gar_wait_async(q.stream, record(q), nullptr, nullptr, &ticket), 0) << last_text();
    with_failure_at(n, [&] { EXPECT_EQ(gar_cancel(client_, ticket), 0) << n; });
    const gar_completion c = take_one();
    EXPECT_EQ(c.ticket, ticket);
    EXPECT_EQ(c.error, GAR_E_CANCELLED);
  }

  std::string directory_;
  std::string path_;
  own_device device_;  // whose pages are mapped
  std::list<queue> queues_;
  std::atomic<own_device*> works_{nullptr};
  std::unique_ptr<scripted_gard> gard_;
  gar_client* client_ = nullptr;
};

// From the device's failure on there is no memory on the thread that asked it.
gar_device_ops failing() {
  gar_device_ops ops = own_device::ops();
  ops.query = [](void*, uint64_t, gar_device_failure* f) -> int {
    f->status = 700;
    memory.none_left = true;
    return GAR_FAILED;
  };
  return ops;
}

TEST_P(without_memory, an_asynchronous_wait_ends_whose_device_fails) {
  start();
  queue& q = open(failing());
  const uint64_t sequence = record(q);
  uint64_t ticket = 0;
  const int began = gar_wait_async(q.stream, sequence, nullptr, nullptr, &ticket);
  memory.none_left = false;
  ASSERT_EQ(began, 0);
  const gar_completion c = take_one();
  EXPECT_EQ(c.ticket, ticket);
  EXPECT_EQ(c.error, static_cast<uint16_t>(errc::SystemCall));
  EXPECT_EQ(gar_stream_close(q.stream), 0);
}

// The service thread has no memory ever after, and goes on.
TEST_P(without_memory, an_asynchronous_wait_ends_that_is_run_here_and_whose_device_fails) {
  const gar_client_options o = in_process();
  ASSERT_EQ(gar_connect(&o, &client_), 0) << last_text();
  queue& q = open(failing());
  const uint64_t sequence = record(q);
  for (int i = 0; i < 3; ++i) {
    uint64_t ticket = 0;
    ASSERT_EQ(gar_wait_async(q.stream, sequence, nullptr, nullptr, &ticket), 0);
    const gar_completion c = take_one();
    EXPECT_EQ(c.ticket, ticket);
    EXPECT_EQ(c.error, static_cast<uint16_t>(errc::SystemCall));
  }
  EXPECT_EQ(gar_stream_close(q.stream), 0);
}

TEST_P(without_memory, gard_knows_the_point_of_a_wait_and_hears_of_its_streams_close) {
  start();
  int failed = 0;
  for (uint64_t n = 0; n < allocations_most; ++n) failed += wait_twice_at_a_new_point(n, 0);
  EXPECT_GT(failed, 3);
  EXPECT_LT(failed, static_cast<int>(allocations_most));
}

TEST_P(without_memory, gard_knows_the_point_of_a_wait_after_an_outcome_that_got_lost) {
  start();
  int failed = 0;
  for (uint64_t n = 0; n < allocations_most; ++n)
    failed += wait_twice_at_a_new_point(n, GAR_WAIT_INLINE);
  EXPECT_GT(failed, 3);
  EXPECT_LT(failed, static_cast<int>(allocations_most));
}

TEST_P(without_memory, every_ticket_that_was_given_ends_and_no_room_for_others_is_lost) {
  start();
  queue& q = open();
  works_ = nullptr;
  for (uint64_t n = 0; n < allocations_most; ++n) {
    const uint64_t sequence = record(q);
    uint64_t ticket = 0;
    int began = 0;
    with_failure_at(n,
                    [&] { began = gar_wait_async(q.stream, sequence, nullptr, nullptr, &ticket); });
    q.device.run_all();
    if (began == 0) {
      EXPECT_EQ(take_one().ticket, ticket) << n;
    }
  }
  const uint64_t sequence = record(q);
  constexpr size_t waits_most = 4096;
  for (size_t i = 0; i < waits_most; ++i) {
    ASSERT_EQ(gar_wait_async(q.stream, sequence, nullptr, nullptr, nullptr), 0) << i;
  }
  EXPECT_EQ(gar_wait_async(q.stream, sequence, nullptr, nullptr, nullptr), GAR_E_LIMIT_WAITS);
  EXPECT_EQ(gar_stream_close(q.stream), 0);
}

TEST_P(without_memory, a_cancel_ends_its_wait_at_gard_too) {
  start();
  queue& q = open();
  works_ = nullptr;
  for (uint64_t n = 0; n < allocations_most; ++n) {
    start_and_cancel(q, n);
    EXPECT_EQ(gard_->await<proto::cancel>(n + 1).size(), n + 1) << n;
  }
  EXPECT_EQ(gar_stream_close(q.stream), 0);
}

TEST_P(without_memory, a_cancel_ends_a_wait_that_is_run_here) {
  const gar_client_options o = in_process();
  ASSERT_EQ(gar_connect(&o, &client_), 0) << last_text();
  queue& q = open();
  for (uint64_t n = 0; n < allocations_most; ++n) start_and_cancel(q, n);
  EXPECT_EQ(gar_stream_close(q.stream), 0);
}

TEST_P(without_memory, a_close_ends_the_streams_waits_and_is_told_to_gard) {
  start();
  for (uint64_t n = 0; n < allocations_most; ++n) {
    queue& q = open();
    works_ = nullptr;
    ASSERT_EQ(gar_wait_async(q.stream, record(q), nullptr, nullptr, nullptr), 0) << last_text();
    with_failure_at(n, [&] { EXPECT_EQ(gar_stream_close(q.stream), 0) << n; });
    EXPECT_EQ(take_one().error, GAR_E_CLOSED);
    EXPECT_EQ(q.device.done, q.device.armed) << "it was settled";
    EXPECT_EQ(gard_->await<proto::close>(n + 1).size(), n + 1) << n;
  }
}

TEST_P(without_memory, a_close_ends_the_waits_that_are_run_here) {
  const gar_client_options o = in_process();
  ASSERT_EQ(gar_connect(&o, &client_), 0) << last_text();
  for (uint64_t n = 0; n < allocations_most; ++n) {
    queue& q = open();
    ASSERT_EQ(gar_wait_async(q.stream, record(q), nullptr, nullptr, nullptr), 0) << last_text();
    with_failure_at(n, [&] { EXPECT_EQ(gar_stream_close(q.stream), 0) << n; });
    EXPECT_EQ(take_one().error, GAR_E_CLOSED);
    EXPECT_EQ(q.device.done, q.device.armed) << "it was settled";
  }
}

// Its stores may still land: the pages stay.
TEST_P(without_memory, a_close_that_cannot_settle_keeps_the_pages) {
  start();
  queue& q = open();
  record(q);
  q.device.settle_fails = true;
  memory.none_left = true;
  const int closed = gar_stream_close(q.stream);
  memory.none_left = false;
  EXPECT_NE(closed, 0);
  gar_close(std::exchange(client_, nullptr));
  EXPECT_EQ(device_.unmaps, 0);
}

TEST_P(without_memory, the_end_of_a_client_closes_its_streams) {
  start();
  queue& q = open();
  works_ = nullptr;
  ASSERT_EQ(gar_wait_async(q.stream, record(q), nullptr, nullptr, nullptr), 0) << last_text();
  memory.none_left = true;
  const int closed = gar_close(std::exchange(client_, nullptr));
  memory.none_left = false;
  EXPECT_EQ(closed, 0);
  EXPECT_EQ(q.device.done, q.device.armed) << "it was settled";
  EXPECT_EQ(device_.unmaps, device_.maps);
  EXPECT_EQ(gard_->await<proto::bye>(1).size(), 1u);
}

TEST_P(without_memory, a_program_joins_the_next_gard_whatever_became_of_the_first_try) {
  start();
  queue& q = open();
  const uint64_t sequence = record(q);
  q.device.run_all();
  int failed = 0;
  const auto mode_is = [this](int mode) { return gar_mode(client_) == mode; };
  const auto wait = [&] { (void)gar_wait(q.stream, sequence, nullptr, nullptr); };
  for (uint64_t n = 0; n < allocations_most; ++n) {
    gard_->die();
    ASSERT_TRUE(comes_to_hold([&] { return mode_is(GAR_MODE_IN_PROCESS); }));
    run_gard();
    bool once = false;
    // Not every wait tries.
    ASSERT_TRUE(comes_to_hold([&] {
      once = with_failure_at(n, wait);
      return once || mode_is(GAR_MODE_DAEMON);
    }));
    failed += once;
    ASSERT_TRUE(comes_to_hold([&] {
      wait();
      return mode_is(GAR_MODE_DAEMON);
    })) << "after a failure of allocation "
        << n;
  }
  EXPECT_GT(failed, 3);
  EXPECT_LT(failed, static_cast<int>(allocations_most));
  EXPECT_EQ(gar_stream_close(q.stream), 0);
}

TEST_P(without_memory, an_opening_that_fails_leaves_nothing_open_at_gard) {
  start();
  const gar_device_ops ops = own_device::ops();
  size_t failures = 0;
  for (uint64_t n = 0; n < allocations_most; ++n) {
    queue& q = queues_.emplace_back();
    int opened = -1;
    with_failure_at(n, [&] {
      opened = gar_stream_open(client_, &ops, &device_, &q.device, nullptr, &q.stream);
    });
    if (opened == 0) {
      EXPECT_EQ(gar_stream_close(q.stream), 0);
    } else {
      ++failures;
    }
    const size_t opens = gard_->received<proto::open>().size();
    EXPECT_EQ(gard_->await<proto::close>(opens).size(), opens) << n;
  }
  EXPECT_GT(failures, 3u);
  EXPECT_EQ(device_.unmaps, device_.maps);
}

INSTANTIATE_TEST_SUITE_P(transports, without_memory, testing::Values(0u, 64u),
                         [](const auto& p) { return p.param == 0 ? "socket" : "ring"; });

// What the owner believes gone must not stay at gard, which holds a slot for it, or a place.
class without_room_and_memory : public ::testing::Test {
 protected:
  void without(const std::function<void()>& tell) const {
    rig.fill_socket();
    memory.none_left = true;
    tell();
    memory.none_left = false;
    EXPECT_TRUE(rig.heard().empty());
  }
  void serve(duration later = from_ms(1000)) const {
    rig.link->send_due(steady_clock().now() + later);
  }
  owner::mailbox& register_wait() {
    proto::wait asked;
    asked.stream = asked.stream_generation = 1;
    EXPECT_FALSE(rig.link->register_wait(box, asked, ""));
    EXPECT_EQ(rig.heard_of<proto::waits>().size(), 1u);
    return box;
  }

  link_rig rig;
  owner::mailbox box;
};

TEST_F(without_room_and_memory, a_cancel_is_kept_until_it_can_be_sent) {
  rig.open(1);
  register_wait();
  without([&] { rig.link->forget(box, true); });
  serve();
  const auto cancels = rig.heard_of<proto::cancel>();
  ASSERT_EQ(cancels.size(), 1u);
  EXPECT_EQ(cancels[0].cookie, box.cookie);
  serve();
  EXPECT_TRUE(rig.heard().empty()) << "sent once";
}

TEST_F(without_room_and_memory, a_cancel_is_not_sent_of_a_wait_that_gard_has_ended_meanwhile) {
  rig.open(1);
  register_wait();
  without([&] { rig.link->forget(box, true); });
  proto::completion_entry ended{};
  ended.cookie = box.cookie;
  rig.say(proto::completions{{ended}});
  serve();
  EXPECT_TRUE(rig.heard().empty());
}

TEST_F(without_room_and_memory, a_close_is_kept_until_it_can_be_sent) {
  rig.open(7);
  without([&] { rig.link->close(7, 1, 42); });
  serve();
  const auto closes = rig.heard_of<proto::close>();
  ASSERT_EQ(closes.size(), 1u);
  EXPECT_EQ(closes[0].stream, 7u);
  EXPECT_EQ(closes[0].stream_generation, 1u);
  EXPECT_EQ(closes[0].last_sequence, 42u);
  serve();
  EXPECT_TRUE(rig.heard().empty()) << "sent once";
}

TEST_F(without_room_and_memory, a_close_is_kept_behind_the_end_of_its_streams_last_wait) {
  rig.open(1);
  register_wait();
  without([&] {
    rig.link->forget(box, true);
    rig.link->close(1, 1, 42);
  });
  serve();
  EXPECT_EQ(rig.heard().size(), 1u) << "the cancel alone";
  proto::completion_entry ended{};
  ended.cookie = box.cookie;
  rig.say(proto::completions{{ended}});
  EXPECT_EQ(rig.heard_of<proto::close>().size(), 1u);
}

// The service thread sends them: what it throws at it meets it again in the next turn, and behind
// it nothing is received.
TEST_F(without_room_and_memory, outcomes_are_kept_until_they_can_be_sent) {
  rig.open(1);
  proto::outcome_entry outcome{};
  outcome.stream = outcome.stream_generation = 1;
  const instant now = steady_clock().now();
  constexpr size_t count = proto::outcome_entries_max + 3;
  for (outcome.rows = 0; outcome.rows < count; ++outcome.rows) {
    rig.link->add_outcome(outcome, "", now, owner::booking::real);
  }
  memory.none_left = true;
  EXPECT_NO_THROW(serve());
  memory.none_left = false;
  EXPECT_TRUE(rig.heard().empty());
  EXPECT_GT(rig.link->sends_due(), now) << "not at once again";
  EXPECT_LE(rig.link->sends_due(), steady_clock().now() + from_ms(100));
  serve();
  std::vector<uint32_t> rows;
  for (const proto::outcomes& part : rig.heard_of<proto::outcomes>()) {
    for (const proto::outcome_entry& e : part.entries) rows.push_back(e.rows);
  }
  ASSERT_EQ(rows.size(), count);
  for (uint32_t i = 0; i < count; ++i) EXPECT_EQ(rows[i], i);
}

TEST_F(without_room_and_memory, an_answer_is_kept_until_it_can_be_sent) {
  rig.open(1);
  const proto::status_entry status{7, 1, 1, 1, proto::probe_done, {}, 0, {}};
  rig.fill_socket();
  rig.link->answer({status}, steady_clock().now());
  rig.heard();
  memory.none_left = true;
  EXPECT_NO_THROW(serve());
  memory.none_left = false;
  serve(from_ms(2000));
  const auto statuses = rig.heard_of<proto::statuses>();
  ASSERT_EQ(statuses.size(), 1u);
  EXPECT_EQ(statuses[0].entries.at(0).probe_id, 7u);
}

// gard gives no stream's number to another before it was closed.
TEST(link, is_lost_that_is_told_of_a_stream_which_is_open_already) {
  link_rig rig;
  rig.open(3);
  rig.link->open(0, false, "", [](const owner::link::opened_answer&) {});
  const auto asked = rig.heard_of<proto::open>();
  ASSERT_EQ(asked.size(), 1u);
  const auto frame = proto::encode(proto::opened{asked[0].cookie, 0, 3, 1, 0, 0, 0});
  ASSERT_TRUE(send_message(rig.gards_end.get(), frame));
  EXPECT_FALSE(rig.link->receive([](const proto::plan_scope&) { return result<void>(); }));
}

TEST(service_thread, sleeps_and_wakes_without_allocating) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::atomic<uint64_t> turns{0};
  std::atomic<uint64_t> allocated{0};
  {
    owner::service_thread thread({[&] {
                                    allocated = memory.allocations;
                                    ++turns;
                                    return false;
                                  },
                                  [] { return instant::never(); },
                                  [&](std::span<watched_fd> into) {
                                    into[0].fd = ends[0];
                                    return size_t{1};
                                  }});
    ASSERT_TRUE(thread.start());
    const auto await_turn = [&](uint64_t count) {
      return comes_to_hold([&] {
        thread.need_by({});
        std::this_thread::yield();
        return turns >= count;
      });
    };
    ASSERT_TRUE(await_turn(5));
    const uint64_t before = allocated;
    ASSERT_TRUE(await_turn(100));
    EXPECT_EQ(allocated, before);
  }
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace gar::test
