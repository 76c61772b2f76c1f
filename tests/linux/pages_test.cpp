#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/falloc.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "lib/linux/doorbell.hpp"
#include "lib/linux/lines_page.hpp"
#include "lib/linux/state_page.hpp"
#include "lib/linux/steady_clock.hpp"
#include "proto/limits.hpp"

namespace gar {
namespace {

unique_fd copy_of(int fd) {
  return unique_fd(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
}

TEST(memory_file, a_sealed_one_keeps_its_size_and_its_seals) {
  result<unique_fd> fd = make_memory_file("test", 4096);
  ASSERT_TRUE(fd);
  ASSERT_TRUE(seal(fd->get(), sealing::fixed_size));
  EXPECT_NE(::ftruncate(fd->get(), 0), 0);
  EXPECT_NE(::ftruncate(fd->get(), 8192), 0);
  EXPECT_NE(::fcntl(fd->get(), F_ADD_SEALS, F_SEAL_WRITE), 0);
}

// For the rest of this process, which is the test's own: `number` with `argument` & `mask` as its
// second argument answers `error`, and is not carried out.
void refuse_call(unsigned int number, unsigned int mask, unsigned int argument, int error) {
  const auto here = static_cast<unsigned int>(offsetof(seccomp_data, args[1]));
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, here),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, argument, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned int>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{sizeof(filter) / sizeof(filter[0]), filter};
  ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

// As kernels before 6.3 do, which do not know MFD_NOEXEC_SEAL.
TEST(memory_file, is_made_and_sealed_where_the_kernel_knows_no_executable_seal) {
  constexpr unsigned int noexec_seal = 8;
  refuse_call(__NR_memfd_create, noexec_seal, noexec_seal, EINVAL);
  result<unique_fd> fd = make_memory_file("test", 4096);
  ASSERT_TRUE(fd) << fd.error().text();
  ASSERT_TRUE(seal(fd->get(), sealing::maker_writes));
  const int wanted = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL | F_SEAL_FUTURE_WRITE;
  EXPECT_EQ(::fcntl(fd->get(), F_GET_SEALS) & wanted, wanted);
  EXPECT_NE(::ftruncate(fd->get(), 0), 0);
  ASSERT_TRUE(state_page_owner::make());
  ASSERT_TRUE(lines_page::make());
  ASSERT_TRUE(doorbell::make());
}

TEST(memory_file, seals_that_were_taken_and_are_not_there_are_an_error) {
  result<unique_fd> fd = make_memory_file("test", 4096);
  ASSERT_TRUE(fd);
  refuse_call(__NR_fcntl, ~0U, F_ADD_SEALS, 0);
  ASSERT_EQ(::fcntl(fd->get(), F_ADD_SEALS, F_SEAL_SHRINK), 0) << "it says that it has them";
  const result<void> sealed = seal(fd->get(), sealing::fixed_size);
  ASSERT_FALSE(sealed);
  EXPECT_EQ(sealed.error().os_number(), EPERM);
  EXPECT_FALSE(lines_page::make());
  EXPECT_FALSE(state_page_owner::make());
}

TEST(memory_file, is_closed_on_exec) {
  result<unique_fd> fd = make_memory_file("test", 4096);
  ASSERT_TRUE(fd);
  EXPECT_EQ(::fcntl(fd->get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST(memory_file, a_received_one_without_seals_is_refused) {
  result<unique_fd> fd = make_memory_file("test", 4096);
  ASSERT_TRUE(fd);
  result<void> checked = check_memory_file(fd->get(), 4096, sealing::fixed_size, "a page");
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code(), errc::MalformedMessage);
  EXPECT_EQ(checked.error().text(), "malformed message: the descriptor of a page is not sealed");
}

TEST(memory_file, a_received_one_of_another_size_is_refused) {
  result<unique_fd> fd = make_memory_file("test", 4096);
  ASSERT_TRUE(fd);
  ASSERT_TRUE(seal(fd->get(), sealing::fixed_size));
  EXPECT_TRUE(check_memory_file(fd->get(), 4096, sealing::fixed_size, "a page"));
  EXPECT_FALSE(check_memory_file(fd->get(), 8192, sealing::fixed_size, "a page"));
}

TEST(memory_file, an_ordinary_file_and_a_pipe_are_refused) {
  std::string path = testing::TempDir() + "gar-test-XXXXXX";
  unique_fd file(::mkstemp(path.data()));
  ASSERT_TRUE(file);
  ::unlink(path.c_str());
  ASSERT_EQ(::ftruncate(file.get(), 4096), 0);
  EXPECT_FALSE(check_memory_file(file.get(), 4096, sealing::fixed_size, "a page"));

  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  unique_fd reading(ends[0]);
  unique_fd writing(ends[1]);
  EXPECT_FALSE(check_memory_file(reading.get(), 4096, sealing::fixed_size, "a page"));
}

TEST(memory_file, one_that_others_could_write_is_not_taken_for_a_state_page) {
  result<unique_fd> fd = make_memory_file("test", 4096);
  ASSERT_TRUE(fd);
  ASSERT_TRUE(seal(fd->get(), sealing::fixed_size));
  EXPECT_FALSE(check_memory_file(fd->get(), 4096, sealing::maker_writes, "a page"));
}

TEST(lines_page, a_store_by_the_client_is_seen_by_its_maker) {
  result<lines_page> owner = lines_page::make();
  ASSERT_TRUE(owner);
  EXPECT_EQ(owner->words() % proto::slots_per_page_min, 0u);
  result<lines_page> client = lines_page::receive(copy_of(owner->fd()), owner->bytes());
  ASSERT_TRUE(client);
  proto::store_word(client->writable_word(17), 42);
  EXPECT_EQ(proto::load_word(owner->word(17)), 42u);
  EXPECT_EQ(proto::load_word(owner->line(2).word[1]), 42u);
}

TEST(lines_page, its_maker_cannot_write_to_it) {
  result<lines_page> owner = lines_page::make();
  ASSERT_TRUE(owner);
  std::ifstream maps("/proc/self/maps");
  std::string protection;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/memfd:gar-lines") == std::string::npos) continue;
    protection = line.substr(line.find(' ') + 1, 4);
  }
  EXPECT_EQ(protection, "r--s");
}

TEST(doorbell, every_ring_changes_the_line) {
  result<doorbell> owner = doorbell::make();
  ASSERT_TRUE(owner);
  result<doorbell> client = doorbell::receive(copy_of(owner->fd()), owner->bytes());
  ASSERT_TRUE(client);
  bell_copy before = copy_bell(owner->line());
  for (uint64_t sequence = 0; sequence < 3; ++sequence) {
    EXPECT_TRUE(bell_is_as(owner->line(), before));
    client->ring(9, 2, sequence);
    EXPECT_FALSE(bell_is_as(owner->line(), before));
    before = copy_bell(owner->line());
  }
  EXPECT_EQ(before[proto::bell_index(9)], proto::bell_value(9, 2, 2));
}

TEST(doorbell, a_hole_punched_under_it_shows_in_the_canary) {
  result<doorbell> owner = doorbell::make();
  ASSERT_TRUE(owner);
  EXPECT_TRUE(owner->canary_intact());
  ASSERT_EQ(::fallocate(owner->fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                        static_cast<off_t>(owner->bytes())),
            0);
  EXPECT_FALSE(owner->canary_intact());
}

TEST(state_page, a_client_can_read_it_and_nothing_else) {
  result<state_page_owner> owner = state_page_owner::make();
  ASSERT_TRUE(owner);
  const auto bytes = static_cast<off_t>(owner->bytes());
  EXPECT_FALSE(mapping::of(owner->fd(), owner->bytes(), map_access::read_write));
  EXPECT_NE(::fallocate(owner->fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, bytes), 0);
  const char byte = 1;
  EXPECT_LT(::pwrite(owner->fd(), &byte, 1, 0), 0);
  result<mapping> map = mapping::of(owner->fd(), owner->bytes(), map_access::read_only);
  ASSERT_TRUE(map);
  EXPECT_NE(::mprotect(map->data(), map->bytes(), PROT_READ | PROT_WRITE), 0);
}

TEST(state_page, shows_the_generation_and_the_reactors_state) {
  result<state_page_owner> owner = state_page_owner::make();
  ASSERT_TRUE(owner);
  result<state_page_view> client = state_page_view::receive(copy_of(owner->fd()), owner->bytes());
  ASSERT_TRUE(client);
  owner->publish_generation(5);
  EXPECT_EQ(client->generation(), 5u);
  EXPECT_FALSE(client->requester_sees_sleep());
  owner->announce_sleep();
  EXPECT_TRUE(client->requester_sees_sleep());
  owner->announce_awake();
  EXPECT_FALSE(client->requester_sees_sleep());
}

TEST(state_page, of_many_wakers_one_wakes) {
  result<state_page_owner> owner = state_page_owner::make();
  ASSERT_TRUE(owner);
  EXPECT_FALSE(owner->take_wake());
  owner->announce_sleep();
  EXPECT_TRUE(owner->take_wake());
  EXPECT_FALSE(owner->take_wake());
}

TEST(state_page, a_wake_between_the_announcement_and_the_sleep_is_not_lost) {
  result<state_page_owner> owner = state_page_owner::make();
  ASSERT_TRUE(owner);
  owner->announce_sleep();
  ASSERT_TRUE(owner->take_wake());
  owner->wake_sleeper();  // nobody sleeps yet
  owner->sleep(instant::never());
}

TEST(state_page, a_client_wakes_the_sleeping_reactor) {
  result<state_page_owner> owner = state_page_owner::make();
  ASSERT_TRUE(owner);
  result<state_page_view> client = state_page_view::receive(copy_of(owner->fd()), owner->bytes());
  ASSERT_TRUE(client);
  owner->announce_sleep();
  std::thread requester([&] {
    ASSERT_TRUE(client->requester_sees_sleep());
    EXPECT_TRUE(client->wake_reactor());
  });
  owner->sleep(instant::never());
  owner->announce_awake();
  requester.join();
}

TEST(state_page, a_client_is_told_when_nobody_came_to_be_woken) {
  result<state_page_owner> owner = state_page_owner::make();
  ASSERT_TRUE(owner);
  result<state_page_view> client = state_page_view::receive(copy_of(owner->fd()), owner->bytes());
  ASSERT_TRUE(client);
  owner->announce_sleep();
  EXPECT_FALSE(client->wake_reactor());
  owner->announce_awake();
  EXPECT_TRUE(client->wake_reactor());
}

}  // namespace
}  // namespace gar
