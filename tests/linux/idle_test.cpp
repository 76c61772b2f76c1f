// The idle ports of gard's reactor: what only real threads and the real kernel can show.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <functional>
#include <span>
#include <thread>

#include "lib/linux/idle_doorbell.hpp"
#include "lib/linux/idle_ring.hpp"
#include "lib/linux/reactor_waker.hpp"
#include "lib/linux/socket_ring.hpp"
#include "lib/linux/unix_socket.hpp"

namespace gar {
namespace {

constexpr duration far = from_ms(60'000);

instant now() {
  return steady_clock().now();
}

struct scripted_requests {
  const std::function<bool()>* answer;
  bool operator()() const { return (*answer)(); }
};

// Its sleeps are as long as the park, so that a test sees what ends them.
const word_waiter waiter(software_wait{.spin_ns = 1000, .sleep_ns = 4'000'000'000});

// Both kinds of port in one shape.
struct futex_kind {
  doorbell bell = doorbell::make().value();
  state_page_owner state = state_page_owner::make().value();
  std::function<bool()> requests = [] { return false; };
  idle_doorbell<scripted_requests> port{bell, state, waiter, {&requests}};
  reactor_waker waker{bell, state};
};

struct ring_kind {
  doorbell bell = doorbell::make().value();
  state_page_owner state = state_page_owner::make().value();
  std::function<bool()> requests = [] { return false; };
  idle_ring<scripted_requests> port{
      bell, state, waiter, {&requests}, deadline_ring::make().value()};
  reactor_waker waker{bell, state, port.event_fd()};
};

template <class Kind>
class reactor_idle : public testing::Test {
 protected:
  static void SetUpTestSuite() {}
  void SetUp() override {
    result<deadline_ring> ring = deadline_ring::make();
    if (std::is_same_v<Kind, ring_kind> && !ring) GTEST_SKIP() << ring.error().text();
    kind = std::make_unique<Kind>();
  }
  std::unique_ptr<Kind> kind;
};

using kinds = testing::Types<futex_kind, ring_kind>;
TYPED_TEST_SUITE(reactor_idle, kinds);

TYPED_TEST(reactor_idle, a_wake_between_the_look_and_the_sleep_is_not_lost) {
  // The look at requests comes after the announcement: here the waker runs to its end after that
  // look has found nothing, and before the kernel is asked to sleep.
  int looks = 0;
  this->kind->requests = [&] {
    ++looks;
    this->kind->waker.wake();
    return false;
  };
  this->kind->port.block();
  EXPECT_EQ(looks, 1);
}

// A software park sleeps between its looks; whoever stores a request must reach it there.
TYPED_TEST(reactor_idle, a_request_ends_the_sleep_within_a_park) {
  const instant started = now();
  std::atomic<bool> stored = false;
  this->kind->requests = [&] { return stored.load(std::memory_order_acquire); };
  this->kind->port.prepare();
  std::thread requester([&] {
    while (!this->kind->state.requester_sees_sleep()) std::this_thread::yield();
    stored.store(true, std::memory_order_release);
    this->kind->waker.wake();
  });
  this->kind->port.park(started + far, always_false());
  requester.join();
  EXPECT_LT(now() - started, from_ms(3'000));
}

TYPED_TEST(reactor_idle, no_request_of_many_is_slept_over) {
  constexpr uint64_t rounds = 1000;
  std::atomic<uint64_t> stored = 0;
  std::atomic<uint64_t> taken = 0;
  this->kind->requests = [&] { return stored.load(std::memory_order_acquire) != taken.load(); };
  std::thread requester([&] {
    for (uint64_t i = 1; i <= rounds; ++i) {
      stored.store(i, std::memory_order_release);
      this->kind->waker.wake();
      while (taken.load() != i) std::this_thread::yield();
    }
  });
  const instant started = now();
  while (taken.load() != rounds) {
    this->kind->port.prepare();
    const uint64_t seen = stored.load(std::memory_order_acquire);
    if (seen != taken.load()) {
      taken.store(seen);
    } else {
      this->kind->port.sleep_until(started + far);
    }
  }
  requester.join();
  EXPECT_LT(now() - started, far);
}

TYPED_TEST(reactor_idle, a_bell_rung_for_nothing_is_not_listened_to_for_a_while) {
  for (uint32_t i = 0; i < bell_trust::fruitless_max; ++i) {
    this->kind->port.prepare();
    this->kind->bell.ring(3, 0, i);
    this->kind->port.park(now() + far, always_false());
  }
  this->kind->port.prepare();
  this->kind->bell.ring(3, 1, 0);
  const instant until = now() + from_ms(1);
  while (now() < until) this->kind->port.park(until, always_false());
  EXPECT_GE(now(), until);
}

TYPED_TEST(reactor_idle, a_request_is_seen_while_the_bell_is_not_listened_to) {
  for (uint32_t i = 0; i < bell_trust::fruitless_max; ++i) {
    this->kind->port.prepare();
    this->kind->bell.ring(3, 0, i);
    this->kind->port.park(now() + far, always_false());
  }
  this->kind->port.prepare();
  const instant started = now();
  this->kind->requests = [] { return true; };
  this->kind->port.park(started + far, always_false());
  EXPECT_LT(now() - started, far);
}

TEST(bell_trust, is_lost_by_a_run_of_fruitless_wakes_and_comes_back) {
  bell_trust trust;
  auto fruitless = [&] {
    trust.woken_by_bell();
    trust.prepared();
    return trust.trusted({});
  };
  for (uint32_t i = 1; i < bell_trust::fruitless_max; ++i) EXPECT_TRUE(fruitless());
  EXPECT_FALSE(fruitless());
  EXPECT_FALSE(trust.trusted(instant{} + bell_trust::distrust_for - duration{1}));
  EXPECT_TRUE(trust.trusted(instant{} + bell_trust::distrust_for));
}

TEST(bell_trust, a_wake_that_found_something_counts_for_it) {
  bell_trust trust;
  for (uint32_t i = 0; i < 3 * bell_trust::fruitless_max; ++i) {
    trust.woken_by_bell();
    trust.prepared();
    if (i % 8 == 0) trust.prepared();  // a turn in between: the look had found something
    EXPECT_TRUE(trust.trusted({}));
  }
}

TEST(reactor_waker, makes_no_system_call_while_the_reactor_is_awake_and_one_per_sleep) {
  doorbell bell = doorbell::make().value();
  state_page_owner state = state_page_owner::make().value();
  unique_fd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  reactor_waker waker(bell, state, event.get());
  eventfd_t written = 0;
  waker.wake();
  EXPECT_NE(::eventfd_read(event.get(), &written), 0);
  state.announce_sleep();
  for (int i = 0; i < 5; ++i) waker.wake();
  ASSERT_EQ(::eventfd_read(event.get(), &written), 0);
  EXPECT_EQ(written, 1u);
}

// A message of a socket ends the longest park, with nobody who rings or says that he did.
TEST(a_ring_that_carries_sockets, is_woken_out_of_parks_and_sleeps_by_a_message) {
  result<deadline_ring> made = deadline_ring::make();
  if (!made) GTEST_SKIP() << made.error().text();
  result<socket_ring> sockets = socket_ring::make(*made);
  if (!sockets) GTEST_SKIP() << sockets.error().text();
  const doorbell bell = doorbell::make().value();
  state_page_owner state = state_page_owner::make().value();
  const std::function<bool()> requests = [] { return false; };
  idle_ring<scripted_requests> port(bell, state, waiter, {&requests}, std::move(*made));
  deadline_ring& ring = port.ring();
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  const unique_fd here(ends[0]);
  const unique_fd there(ends[1]);
  socket_ring::incoming in;
  for (uint64_t n = 1; n <= 20; ++n) {
    const instant started = now();
    ASSERT_TRUE(sockets->receive(ring, here.get(), in, n));
    ASSERT_TRUE(ring.submit());
    port.prepare();
    std::thread peer([&, n] {
      std::this_thread::sleep_for(std::chrono::milliseconds(n % 3));
      EXPECT_TRUE(*send_message(there.get(), std::as_bytes(std::span("hello"))));
    });
    while (ring.ended().empty() && now() - started < far) {
      if (n % 2 == 0) {
        port.park(started + far, always_false());
      } else {
        port.block();
      }
      port.prepare();
    }
    peer.join();
    ASSERT_EQ(ring.ended().size(), 1u);
    const deadline_ring::ended_request e = ring.ended().front();
    ring.ended().clear();
    EXPECT_EQ(e.what, n);
    ASSERT_EQ(e.got, 6);
    EXPECT_EQ(static_cast<char>(sockets->buffer_of(e)[4]), 'o');
    sockets->give_back(e);
    EXPECT_LT(now() - started, from_ms(3'000));
  }
}

class a_deadline_ring : public testing::Test {
 protected:
  void SetUp() override {
    result<deadline_ring> made = deadline_ring::make();
    if (!made) GTEST_SKIP() << made.error().text();
    ring = std::make_unique<deadline_ring>(std::move(*made));
  }
  // Sleeps until the ring says something else than "interrupted".
  deadline_ring::slept sleep(instant until) {
    deadline_ring::slept how = deadline_ring::slept::interrupted;
    while (how == deadline_ring::slept::interrupted) how = ring->sleep(until);
    return how;
  }
  void write_event() { ASSERT_EQ(::eventfd_write(ring->event_fd(), 1), 0); }

  std::unique_ptr<deadline_ring> ring;
};

TEST_F(a_deadline_ring, knows_its_operations_and_sleeps_to_its_deadline) {
  EXPECT_EQ(ring->missing_operation(), nullptr);
  const instant until = now() + from_us(300);
  EXPECT_EQ(sleep(until), deadline_ring::slept::to_deadline);
  EXPECT_GE(now(), until);
}

TEST_F(a_deadline_ring, an_event_before_or_during_the_sleep_ends_it) {
  write_event();
  EXPECT_EQ(sleep(instant::never()), deadline_ring::slept::to_event);
  std::thread writer([this] { write_event(); });
  EXPECT_EQ(sleep(now() + far), deadline_ring::slept::to_event);
  writer.join();
}

TEST_F(a_deadline_ring, a_timer_left_behind_ends_no_later_sleep) {
  write_event();
  const instant left_behind = now() + from_us(300);
  ASSERT_EQ(sleep(left_behind), deadline_ring::slept::to_event);
  const instant later = now() + from_ms(2);
  EXPECT_EQ(sleep(later), deadline_ring::slept::to_deadline);
  EXPECT_GE(now(), later);
}

TEST_F(a_deadline_ring, a_timer_left_behind_does_for_the_same_deadline) {
  write_event();
  const instant until = now() + from_us(500);
  ASSERT_EQ(sleep(until), deadline_ring::slept::to_event);
  EXPECT_EQ(sleep(until), deadline_ring::slept::to_deadline);
  EXPECT_GE(now(), until);
}

TEST_F(a_deadline_ring, a_timer_left_behind_does_not_end_a_sleep_without_deadline) {
  write_event();
  ASSERT_EQ(sleep(now() + from_us(200)), deadline_ring::slept::to_event);
  std::thread writer([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    write_event();
  });
  EXPECT_EQ(sleep(instant::never()), deadline_ring::slept::to_event);
  writer.join();
}

TEST_F(a_deadline_ring, goes_on_without_its_ring_when_the_kernel_stops_serving_it) {
  // Puts something else in the place of the ring's descriptor.
  const unique_fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  int replaced = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(entry.path(), gone).string() == "anon_inode:[io_uring]") {
      ASSERT_GE(::dup2(null.get(), std::stoi(entry.path().filename().string())), 0);
      ++replaced;
    }
  }
  ASSERT_EQ(replaced, 1);
  const instant until = now() + from_us(300);
  EXPECT_EQ(sleep(until), deadline_ring::slept::to_deadline);
  EXPECT_GE(now(), until);
  write_event();
  EXPECT_EQ(sleep(instant::never()), deadline_ring::slept::to_event);
}

}  // namespace
}  // namespace gar
