// The client's view of a ring whose other end is right, or wrong on purpose.
#include "lib/linux/ring_client.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string>
#include <thread>

#include "lib/linux/readiness.hpp"
#include "lib/linux/watch_set.hpp"
#include "tests/clients/ring_end.hpp"

namespace gar::test {
namespace {

constexpr uint32_t entries = 64;

ring_client client_of(const ring_end& gard) {
  return *ring_client::receive(unique_fd(::dup(gard.memory())), unique_fd(::dup(gard.pipe())),
                               gard.entries());
}

bool readable(int fd) {
  std::array<watched_fd, 1> one{{{fd, false}}};
  wait_readable(one, instant{});
  return one[0].ready;
}

TEST(ring_client, a_request_and_its_end_go_through_unchanged) {
  ring_end gard(entries);
  ring_client ring = client_of(gard);
  proto::ring_request asked{};
  asked.target = 42;
  asked.stream = 3;
  asked.rows = 9;
  ring.submit_wait(5, asked);
  ring.submit_point(6, 7, "readback");
  ring.submit_cancel(5);
  const auto wait = gard.take();
  ASSERT_TRUE(wait);
  EXPECT_EQ(wait->slot, 5u);
  EXPECT_EQ(wait->op, proto::submit_wait);
  EXPECT_EQ(wait->asked.target, 42u);
  EXPECT_EQ(wait->asked.rows, 9u);
  const auto point = gard.take();
  EXPECT_EQ(point->asked.point, 7u);
  EXPECT_EQ(point->name, "readback");
  EXPECT_EQ(gard.take()->op, proto::submit_cancel);
  EXPECT_FALSE(ring.has_end());
  proto::ring_completion end{};
  end.wait_ns = 11;
  end.parks = 12;
  end.code = 13;
  end.kind = 3;
  gard.complete(5, end);
  ASSERT_TRUE(ring.has_end());
  const auto got = ring.take_end();
  ASSERT_TRUE(got && *got);
  EXPECT_EQ((*got)->slot, 5u);
  EXPECT_EQ((*got)->entry.wait_ns, 11u);
  EXPECT_EQ((*got)->entry.parks, 12u);
  EXPECT_EQ((*got)->entry.code, 13u);
  EXPECT_EQ((*got)->entry.kind, 3u);
  EXPECT_FALSE(ring.has_end());
}

TEST(ring_client, has_room_for_as_many_as_gard_has_not_taken) {
  ring_end gard(entries);
  ring_client ring = client_of(gard);
  for (uint32_t round = 0; round < 3; ++round) {
    for (uint16_t i = 0; i < entries; ++i) {
      ASSERT_TRUE(ring.room());
      ring.submit_wait(i, {});
    }
    EXPECT_FALSE(ring.room());
    while (gard.take()) {
    }
  }
  EXPECT_TRUE(ring.room());
}

TEST(ring_client, outcomes_that_find_no_room_are_refused_until_gard_took_some) {
  ring_end gard(entries);
  ring_client ring = client_of(gard);
  proto::outcome_entry e{};
  for (uint32_t i = 0; i < proto::ring_outcomes; ++i) {
    e.rows = i;
    ASSERT_TRUE(ring.put_outcome(e));
  }
  EXPECT_FALSE(ring.put_outcome(e));
  EXPECT_TRUE(gard.take_outcomes().empty());
  ring.show_outcomes();
  const auto taken = gard.take_outcomes();
  ASSERT_EQ(taken.size(), proto::ring_outcomes);
  EXPECT_EQ(taken.back().rows, proto::ring_outcomes - 1);
  EXPECT_TRUE(ring.put_outcome(e));
}

TEST(ring_client, what_is_wanted_is_signalled_once) {
  ring_end gard(entries);
  ring_client ring = client_of(gard);
  const uint32_t before = ring.signal();
  gard.complete(0, {});
  EXPECT_EQ(ring.signal(), before);
  EXPECT_FALSE(readable(ring.pipe_fd()));
  ring.want(proto::wants_futex | proto::wants_pipe);
  gard.complete(1, {});
  EXPECT_NE(ring.signal(), before);
  EXPECT_TRUE(readable(ring.pipe_fd()));
  ring.drain_pipe();
  gard.complete(2, {});
  EXPECT_FALSE(readable(ring.pipe_fd()));
  ring.sleep(before, instant::never());  // signalled since: returns at once
}

TEST(ring_client, a_tail_or_an_index_that_cannot_be_is_refused) {
  {
    ring_end gard(entries);
    ring_client ring = client_of(gard);
    gard.publish(entries + 1);
    EXPECT_EQ(ring.take_end().error().code(), errc::MalformedMessage);
  }
  {
    ring_end gard(entries);
    ring_client ring = client_of(gard);
    gard.publish(UINT64_MAX);
    EXPECT_EQ(ring.take_end().error().code(), errc::MalformedMessage);
  }
  ring_end gard(entries);
  ring_client ring = client_of(gard);
  gard.complete(entries, {});
  EXPECT_EQ(ring.take_end().error().code(), errc::MalformedMessage);
}

TEST(ring_client, takes_no_other_memory_and_no_other_descriptor_than_was_promised) {
  ring_end gard(entries);
  const auto received = [&](int memory, int pipe, uint32_t count) {
    return ring_client::receive(unique_fd(::dup(memory)), unique_fd(::dup(pipe)), count)
        .has_value();
  };
  EXPECT_TRUE(received(gard.memory(), gard.pipe(), entries));
  EXPECT_FALSE(received(gard.memory(), gard.pipe(), entries * 2));
  EXPECT_FALSE(received(gard.memory(), gard.pipe(), 0));
  EXPECT_FALSE(received(gard.memory(), gard.pipe(), entries - 1));
  EXPECT_FALSE(received(gard.memory(), gard.pipe(), 8192));
  EXPECT_FALSE(received(gard.pipe(), gard.pipe(), entries));
  EXPECT_FALSE(received(gard.memory(), gard.memory(), entries));
  const std::string pipe = "/proc/self/fd/" + std::to_string(gard.pipe());
  for (const int way : {O_WRONLY, O_RDWR}) {
    const unique_fd writable(::open(pipe.c_str(), way | O_NONBLOCK | O_CLOEXEC));
    ASSERT_TRUE(writable);
    EXPECT_FALSE(received(gard.memory(), writable.get(), entries)) << way;
  }
  const unique_fd unsealed = *make_memory_file("test-ring", proto::ring_bytes(entries));
  EXPECT_FALSE(received(unsealed.get(), gard.pipe(), entries));
}

// O_NONBLOCK is the description's, and gard holds that too. Where this blocks the test does not
// end.
TEST(ring_client, empties_a_pipe_that_gard_has_made_block) {
  ring_end gard(entries);
  const ring_client ring = client_of(gard);
  ASSERT_EQ(::fcntl(gard.pipe(), F_SETFL, 0), 0);
  ring.drain_pipe();
  ring.want(proto::wants_pipe);
  gard.complete(0, {});
  EXPECT_TRUE(readable(ring.pipe_fd()));
  ring.drain_pipe();
  EXPECT_FALSE(readable(ring.pipe_fd()));
  ring.drain_pipe();
}

// In the calling thread these calls are refused from here on, as a sandbox does.
void refuse_calls(long first, long second) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(first), 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(second), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{sizeof(filter) / sizeof(filter[0]), filter};
  ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

// Else it would stay readable, and who polls it would never sleep again.
TEST(ring_client, empties_a_pipe_where_a_sandbox_refuses_the_calls_for_it) {
  for (const long also : {long{__NR_vmsplice}, long{__NR_preadv2}}) {
    ring_end gard(entries);
    const ring_client ring = client_of(gard);
    ring.want(proto::wants_pipe);
    gard.complete(0, {});
    std::thread([&] {
      refuse_calls(__NR_vmsplice, also);
      ring.drain_pipe();
      ring.drain_pipe();
    }).join();
    EXPECT_FALSE(readable(ring.pipe_fd()));
  }
}

TEST(watch_set, is_readable_while_one_of_them_is) {
  ring_end gard(entries);
  ring_end other(entries);
  const watch_set set = *watch_set::make();
  ASSERT_TRUE(set.add(gard.pipe()));
  ASSERT_TRUE(set.add(other.pipe()));
  EXPECT_FALSE(readable(set.fd()));
  std::atomic_ref<uint32_t>(other.header().wants).store(proto::wants_pipe);
  other.complete(0, {});
  EXPECT_TRUE(readable(set.fd()));
  set.remove(other.pipe());
  EXPECT_FALSE(readable(set.fd()));
}

}  // namespace
}  // namespace gar::test
