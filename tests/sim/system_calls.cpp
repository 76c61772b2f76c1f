// The C library's calls, as simulated threads make them: each is linked in the place of the real
// one (-Wl,--wrap), and goes to the kernel of the run. Outside of a run the real one is called.
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "tests/sim/kernel.hpp"

namespace gar::sim {
namespace {

constexpr uint64_t call_ns = 250;
constexpr int so_peerpidfd = 77;

// One system call: its cost, whoever may go first, and memory that is the kernel's.
struct in_kernel {
  in_kernel() : own(nullptr) { machine_now->pass(call_ns); }
  memory_scope own;
};

bool simulated() {
  return running_thread() != nullptr;
}

int fail(int number) {
  errno = number;
  return -1;
}

template <class File>
std::shared_ptr<File> file_as(int fd, open_file::kind what) {
  std::shared_ptr<open_file> file = kernel_now->file_of(fd);
  if (!file || file->what != what) return nullptr;
  return std::static_pointer_cast<File>(file);
}

template <class File>
std::shared_ptr<File> make(open_file::kind what) {
  auto made = std::make_shared<File>();
  made->what = what;
  return made;
}

instant instant_of(const timespec& t) {
  return {static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec)};
}

long futex(uint32_t* word, int op, uint32_t value, const timespec* until) {
  if ((op & FUTEX_CMD_MASK) == FUTEX_WAKE) return static_cast<long>(machine_now->wake(word));
  if (*static_cast<volatile uint32_t*>(word) != value) return fail(EAGAIN);
  const woken_by why =
      machine_now->block({word}, until ? instant_of(*until) : instant::never(), true);
  if (why == woken_by::time && until && machine_now->now() >= instant_of(*until)) {
    return fail(ETIMEDOUT);
  }
  return why == woken_by::time ? fail(EINTR) : 0;
}

uint32_t ready_events(const open_file& f) {
  return (f.readable() ? EPOLLIN : 0u) | (f.writable() ? EPOLLOUT : 0u);
}

int collect(set_file& set, epoll_event* into, int most) {
  int count = 0;
  for (set_file::entry& e : set.entries) {
    const std::shared_ptr<open_file> file = e.file.lock();
    if (!file || count == most) continue;
    const uint32_t ready = ready_events(*file) & e.events;
    if (ready == 0 || ((e.events & EPOLLET) && !e.edge)) continue;
    e.edge = false;
    into[count].events = ready;
    into[count].data.u64 = e.data;
    ++count;
  }
  return count;
}

std::vector<std::shared_ptr<open_file>> files_in(const msghdr& header) {
  std::vector<std::shared_ptr<open_file>> files;
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c; c = CMSG_NXTHDR(const_cast<msghdr*>(&header), c)) {
    const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
      files.push_back(kernel_now->file_of(number));
    }
  }
  return files;
}

void give_files(msghdr& header, std::vector<std::shared_ptr<open_file>> files) {
  if (files.empty()) {
    header.msg_controllen = 0;
    return;
  }
  std::vector<int> numbers;
  for (std::shared_ptr<open_file>& f : files) numbers.push_back(kernel_now->put(std::move(f)));
  const size_t bytes = numbers.size() * sizeof(int);
  cmsghdr* c = CMSG_FIRSTHDR(&header);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(bytes);
  std::memcpy(CMSG_DATA(c), numbers.data(), bytes);
  header.msg_controllen = CMSG_SPACE(bytes);
}

}  // namespace
}  // namespace gar::sim

using namespace gar::sim;
using gar::duration;
using gar::instant;
using kind = gar::sim::open_file::kind;

extern "C" {

// ---- time

int __real_clock_gettime(clockid_t id, timespec* t);
int __wrap_clock_gettime(clockid_t id, timespec* t) {
  if (!machine_now) return __real_clock_gettime(id, t);
  const uint64_t ns = id == CLOCK_MONOTONIC ? machine_now->read_clock() : machine_now->now_ns();
  *t = {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  return 0;
}
int __real_clock_nanosleep(clockid_t id, int flags, const timespec* t, timespec* left);
int __wrap_clock_nanosleep(clockid_t id, int flags, const timespec* t, timespec* left) {
  if (!simulated()) return __real_clock_nanosleep(id, flags, t, left);
  const in_kernel here;
  const instant at = instant_of(*t);
  machine_now->sleep_until(flags & TIMER_ABSTIME ? at : machine_now->now() + duration{at.ns});
  return 0;
}
int __real_sched_yield();
int __wrap_sched_yield() {
  if (!simulated()) return __real_sched_yield();
  const in_kernel here;
  machine_now->pass(2'000);
  return 0;
}

// ---- memory

int __wrap_memfd_create(const char*, unsigned int) {
  const in_kernel here;
  auto made = make<memory_file>(kind::memory);
  made->number = ++kernel_now->memories_made;
  return kernel_now->put(std::move(made));
}
int __real_ftruncate(int fd, off_t bytes);
int __wrap_ftruncate(int fd, off_t bytes) {
  if (!simulated()) return __real_ftruncate(fd, bytes);
  const in_kernel here;
  const auto file = file_as<memory_file>(fd, kind::memory);
  if (!file) return fail(EBADF);
  file->size = static_cast<size_t>(bytes);
  file->bytes = kernel::take_pages(file->size);
  kernel_now->memories[file->bytes] = file;
  return 0;
}
void* __real_mmap(void* at, size_t bytes, int protection, int flags, int fd, off_t offset);
void* __wrap_mmap(void* at, size_t bytes, int protection, int flags, int fd, off_t offset) {
  if (!simulated()) return __real_mmap(at, bytes, protection, flags, fd, offset);
  const in_kernel here;
  std::shared_ptr<memory_file> file;
  if (fd >= 0) {
    file = file_as<memory_file>(fd, kind::memory);
  } else {  // memory of its own
    file = make<memory_file>(kind::memory);
    file->size = bytes;
    file->bytes = kernel::take_pages(bytes);
    file->number = ++kernel_now->memories_made;
    kernel_now->memories[file->bytes] = file;
  }
  if (!file || !file->bytes) {
    errno = EBADF;
    return MAP_FAILED;
  }
  machine_now->running()->of->mapped.push_back(file);
  return file->bytes;
}
int __real_munmap(void* at, size_t bytes);
int __wrap_munmap(void* at, size_t bytes) {
  if (!simulated()) return __real_munmap(at, bytes);
  const in_kernel here;
  auto& mapped = machine_now->running()->of->mapped;
  const auto found = std::find_if(mapped.begin(), mapped.end(), [at](const auto& f) {
    return static_cast<memory_file&>(*f).bytes == at;
  });
  if (found == mapped.end()) return fail(EINVAL);
  mapped.erase(found);
  return 0;
}
int __real_fcntl(int fd, int what, ...);
int __wrap_fcntl(int fd, int what, ...) {
  va_list rest;
  va_start(rest, what);
  const long argument = va_arg(rest, long);
  va_end(rest);
  if (!simulated()) return __real_fcntl(fd, what, argument);
  const in_kernel here;
  if (what == F_DUPFD_CLOEXEC) {
    std::shared_ptr<open_file> again = kernel_now->file_of(fd);
    return again ? kernel_now->put(std::move(again)) : fail(EBADF);
  }
  if (what != F_ADD_SEALS && what != F_GET_SEALS) return 0;
  const auto file = file_as<memory_file>(fd, kind::memory);
  if (!file) return fail(EINVAL);
  if (what == F_GET_SEALS) return file->seals;
  file->seals |= static_cast<int>(argument);
  return 0;
}
int __real_fstat(int fd, struct stat* status);
int __wrap_fstat(int fd, struct stat* status) {
  if (!simulated()) return __real_fstat(fd, status);
  const in_kernel here;
  const std::shared_ptr<open_file> file = kernel_now->file_of(fd);
  if (!file) return fail(EBADF);
  *status = {};
  status->st_mode = file->what == kind::pipe_read ? S_IFIFO : S_IFREG;
  if (file->what == kind::memory) {
    status->st_size = static_cast<off_t>(static_cast<memory_file&>(*file).size);
  }
  return 0;
}

// ---- descriptors

int __real_close(int fd);
int __wrap_close(int fd) {
  if (!simulated()) return __real_close(fd);
  const in_kernel here;
  kernel_now->close(fd);
  return 0;
}
int __real_open(const char* path, int flags, ...);
int __wrap_open(const char* path, int flags, ...) {
  if (!simulated()) return __real_open(path, flags);
  const in_kernel here;
  // The other end of a pipe, by the one that is held.
  constexpr std::string_view held = "/proc/self/fd/";
  if (std::string_view(path).starts_with(held)) {
    const auto from = file_as<pipe_file>(std::atoi(path + held.size()), kind::pipe_read);
    if (!from) return fail(ENXIO);
    auto to = make<pipe_file>(kind::pipe_write);
    to->pipe = from->pipe;
    return kernel_now->put(std::move(to));
  }
  return kernel_now->put(make<open_file>(kind::nothing));
}
int __wrap_pipe2(int* ends, int) {
  const in_kernel here;
  auto state = std::make_shared<pipe_state>();
  auto from = make<pipe_file>(kind::pipe_read);
  auto to = make<pipe_file>(kind::pipe_write);
  from->pipe = to->pipe = state;
  to->in_sets = {};
  ends[0] = kernel_now->put(from);
  ends[1] = kernel_now->put(to);
  return 0;
}
int __wrap_eventfd(unsigned int initial, int) {
  const in_kernel here;
  auto made = make<counter_file>(kind::counter);
  made->count = initial;
  return kernel_now->put(std::move(made));
}
int __wrap_eventfd_write(int fd, eventfd_t value) {
  const in_kernel here;
  const auto file = file_as<counter_file>(fd, kind::counter);
  if (!file) return fail(EBADF);
  file->count += value;
  kernel_now->changed(*file);
  return 0;
}
ssize_t __real_write(int fd, const void* from, size_t bytes);
ssize_t __wrap_write(int fd, const void* from, size_t bytes) {
  if (!simulated()) return __real_write(fd, from, bytes);
  const in_kernel here;
  const std::shared_ptr<open_file> file = kernel_now->file_of(fd);
  if (!file) return fail(EBADF);
  if (file->what == kind::counter) {
    uint64_t value = 0;
    std::memcpy(&value, from, sizeof(value));
    static_cast<counter_file&>(*file).count += value;
    kernel_now->changed(*file);
  } else if (file->what == kind::pipe_write) {
    const std::shared_ptr<pipe_state> pipe = static_cast<pipe_file&>(*file).pipe;
    if (pipe->bytes >= 65536) return fail(EAGAIN);
    pipe->bytes += bytes;
    // Whoever holds the other end.
    for (const auto& p : machine_now->processes()) {
      for (const auto& f : p->files) {
        if (f && f->what == kind::pipe_read && static_cast<pipe_file&>(*f).pipe == pipe) {
          kernel_now->changed(*f);
        }
      }
    }
  } else {
    return fail(EBADF);
  }
  return static_cast<ssize_t>(bytes);
}
ssize_t __real_read(int fd, void* into, size_t bytes);
ssize_t __wrap_read(int fd, void* into, size_t bytes) {
  if (!simulated()) return __real_read(fd, into, bytes);
  const in_kernel here;
  const std::shared_ptr<open_file> file = kernel_now->file_of(fd);
  if (!file) return fail(EBADF);
  if (!file->readable()) return fail(EAGAIN);
  if (file->what == kind::counter) {
    const uint64_t value = std::exchange(static_cast<counter_file&>(*file).count, 0);
    std::memcpy(into, &value, sizeof(value));
    return sizeof(value);
  }
  if (file->what == kind::timer) {
    static_cast<timer_file&>(*file).due_ns = 0;
    const uint64_t value = 1;
    std::memcpy(into, &value, sizeof(value));
    return sizeof(value);
  }
  if (file->what == kind::pipe_read) {
    size_t& left = static_cast<pipe_file&>(*file).pipe->bytes;
    const size_t got = std::min(left, bytes);
    left -= got;
    std::memset(into, 1, got);
    return static_cast<ssize_t>(got);
  }
  return fail(EBADF);
}
ssize_t __wrap_vmsplice(int fd, const iovec* into, size_t, unsigned int) {
  return __wrap_read(fd, into->iov_base, into->iov_len);
}
int __real_ioctl(int fd, unsigned long what, ...);
int __wrap_ioctl(int fd, unsigned long what, ...) {
  if (simulated()) return 0;
  va_list rest;
  va_start(rest, what);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  return __real_ioctl(fd, what, argument);
}

// ---- waiting for descriptors

int __real_ppoll(pollfd* polled, nfds_t count, const timespec* left, const sigset_t* mask);
int __wrap_ppoll(pollfd* polled, nfds_t count, const timespec* left, const sigset_t* mask) {
  if (!simulated()) return __real_ppoll(polled, count, left, mask);
  const in_kernel here;
  const instant until =
      left ? machine_now->now() + duration{instant_of(*left).ns} : instant::never();
  for (;;) {
    int ready = 0;
    std::vector<const void*> keys;
    for (nfds_t i = 0; i < count; ++i) {
      const std::shared_ptr<open_file> file = kernel_now->file_of(polled[i].fd);
      polled[i].revents = file && file->readable() ? POLLIN : 0;
      if (!file) polled[i].revents = POLLNVAL;
      if (polled[i].revents) ++ready;
      keys.push_back(file.get());
    }
    if (ready > 0 || machine_now->now() >= until) return ready;
    if (machine_now->block(keys, until, true) == woken_by::time && machine_now->now() < until) {
      return fail(EINTR);
    }
  }
}
int __wrap_epoll_create1(int) {
  const in_kernel here;
  return kernel_now->put(make<set_file>(kind::set));
}
int __wrap_epoll_create(int) {
  return __wrap_epoll_create1(0);
}
int __wrap_epoll_ctl(int set_fd, int op, int fd, epoll_event* about) {
  const in_kernel here;
  const auto set = file_as<set_file>(set_fd, kind::set);
  const std::shared_ptr<open_file> file = kernel_now->file_of(fd);
  if (!set || !file) return fail(EBADF);
  auto at = std::find_if(set->entries.begin(), set->entries.end(), [&](const auto& e) {
    return e.address == file.get() && e.number == fd && !e.file.expired();
  });
  if (op == EPOLL_CTL_DEL) {
    if (at == set->entries.end()) return fail(ENOENT);
    set->entries.erase(at);
    std::erase(file->in_sets, set.get());
    return 0;
  }
  if (op == EPOLL_CTL_ADD) {
    if (at != set->entries.end()) return fail(EEXIST);
    set->entries.push_back({file, file.get(), fd, 0, 0, true});
    at = set->entries.end() - 1;
    file->in_sets.push_back(set.get());
  } else if (at == set->entries.end()) {
    return fail(ENOENT);
  }
  at->events = about->events;
  at->data = about->data.u64;
  at->edge = true;
  if (ready_events(*file) & at->events) machine_now->wake(set.get());
  return 0;
}
int __wrap_epoll_wait(int set_fd, epoll_event* into, int most, int left_ms) {
  const in_kernel here;
  const auto set = file_as<set_file>(set_fd, kind::set);
  if (!set) return fail(EBADF);
  const instant until = left_ms < 0
                            ? instant::never()
                            : machine_now->now() + gar::from_ms(static_cast<uint64_t>(left_ms));
  for (;;) {
    const int count = collect(*set, into, most);
    if (count > 0 || machine_now->now() >= until) return count;
    if (machine_now->block({set.get()}, until, true) == woken_by::time) return 0;
  }
}
int __wrap_timerfd_create(int, int) {
  const in_kernel here;
  return kernel_now->put(make<timer_file>(kind::timer));
}
int __wrap_timerfd_settime(int fd, int flags, const itimerspec* to, itimerspec*) {
  const in_kernel here;
  const auto timer = file_as<timer_file>(fd, kind::timer);
  if (!timer) return fail(EBADF);
  const uint64_t value = instant_of(to->it_value).ns;
  timer->due_ns = value == 0                  ? 0
                  : flags & TFD_TIMER_ABSTIME ? value
                                              : machine_now->now_ns() + value;
  if (value == 0) return 0;
  machine_now->at(timer->due_ns, [weak = std::weak_ptr<timer_file>(timer)] {
    if (const auto due = weak.lock()) kernel_now->changed(*due);
  });
  return 0;
}

// ---- sockets

int __real_socket(int family, int type, int protocol);
int __wrap_socket(int family, int type, int protocol) {
  if (!simulated()) return __real_socket(family, type, protocol);
  const in_kernel here;
  auto made = make<socket_end>(kind::socket);
  made->holder = machine_now->running()->of;
  return kernel_now->put(std::move(made));
}
int __real_setsockopt(int fd, int level, int what, const void* value, socklen_t bytes);
int __wrap_setsockopt(int fd, int level, int what, const void* value, socklen_t bytes) {
  if (simulated()) return 0;
  return __real_setsockopt(fd, level, what, value, bytes);
}
int __real_connect(int fd, const sockaddr* to, socklen_t bytes);
int __wrap_connect(int fd, const sockaddr* to, socklen_t bytes) {
  if (!simulated()) return __real_connect(fd, to, bytes);
  const in_kernel here;
  const auto from = file_as<socket_end>(fd, kind::socket);
  if (!from) return fail(EBADF);
  const int refused =
      kernel_now->connect(*from, reinterpret_cast<const sockaddr_un*>(to)->sun_path);
  return refused == 0 ? 0 : fail(refused);
}
int __wrap_accept4(int fd, sockaddr*, socklen_t*, int) {
  const in_kernel here;
  const auto at = file_as<listener_file>(fd, kind::listener);
  if (!at) return fail(EBADF);
  std::shared_ptr<socket_end> taken = kernel_now->accept(*at);
  return taken ? kernel_now->put(std::move(taken)) : fail(EAGAIN);
}
int __wrap_shutdown(int fd, int) {
  const in_kernel here;
  const auto at = file_as<socket_end>(fd, kind::socket);
  if (!at) return fail(EBADF);
  at->shut = true;
  if (const std::shared_ptr<socket_end> other = at->peer.lock()) {
    other->ended = true;
    kernel_now->changed(*other);
  }
  return 0;
}
int __real_getsockopt(int fd, int level, int what, void* value, socklen_t* bytes);
int __wrap_getsockopt(int fd, int level, int what, void* value, socklen_t* bytes) {
  if (!simulated()) return __real_getsockopt(fd, level, what, value, bytes);
  const in_kernel here;
  const auto at = file_as<socket_end>(fd, kind::socket);
  const std::shared_ptr<socket_end> other = at ? at->peer.lock() : nullptr;
  if (!at) return fail(EBADF);
  if (what == SO_PEERCRED) {
    ucred who{};
    if (other) who = {other->holder->pid, other->holder->uid, other->holder->uid};
    std::memcpy(value, &who, std::min<size_t>(*bytes, sizeof(who)));
    return 0;
  }
  if (what == so_peerpidfd && other) {
    auto made = make<death_file>(kind::death);
    made->dead = kernel_now->death_of(*other->holder);
    const int number = kernel_now->put(std::move(made));
    std::memcpy(value, &number, sizeof(number));
    return 0;
  }
  return fail(ENOPROTOOPT);
}
ssize_t __real_sendmsg(int fd, const msghdr* header, int flags);
ssize_t __wrap_sendmsg(int fd, const msghdr* header, int flags) {
  if (!simulated()) return __real_sendmsg(fd, header, flags);
  const in_kernel here;
  const auto from = file_as<socket_end>(fd, kind::socket);
  if (!from) return fail(EBADF);
  const auto* data = static_cast<const std::byte*>(header->msg_iov[0].iov_base);
  const size_t bytes = header->msg_iov[0].iov_len;
  const int refused = kernel_now->send(*from, {data, data + bytes}, files_in(*header));
  return refused == 0 ? static_cast<ssize_t>(bytes) : fail(refused);
}
ssize_t __real_recvmsg(int fd, msghdr* header, int flags);
ssize_t __wrap_recvmsg(int fd, msghdr* header, int flags) {
  if (!simulated()) return __real_recvmsg(fd, header, flags);
  const in_kernel here;
  const auto at = file_as<socket_end>(fd, kind::socket);
  if (!at) return fail(EBADF);
  sent_message got;
  const int how = kernel_now->receive(*at, got);
  if (how < 0) return fail(EAGAIN);
  header->msg_flags = 0;
  if (how == 0) {
    header->msg_controllen = 0;
    return 0;
  }
  const size_t bytes = std::min(got.bytes.size(), header->msg_iov[0].iov_len);
  if (bytes < got.bytes.size()) header->msg_flags |= MSG_TRUNC;
  std::memcpy(header->msg_iov[0].iov_base, got.bytes.data(), bytes);
  if (header->msg_control) give_files(*header, std::move(got.files));
  return static_cast<ssize_t>(bytes);
}

// ---- the rest

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...) {
  va_list rest;
  va_start(rest, number);
  void* const a = va_arg(rest, void*);
  const long b = va_arg(rest, long);
  const long c = va_arg(rest, long);
  void* const d = va_arg(rest, void*);
  va_end(rest);
  if (!simulated()) return __real_syscall(number, a, b, c, d, nullptr, 0xffffffff);
  const in_kernel here;
  if (number != SYS_futex) return fail(ENOSYS);
  return futex(static_cast<uint32_t*>(a), static_cast<int>(b), static_cast<uint32_t>(c),
               static_cast<const timespec*>(d));
}
pid_t __real_getpid();
pid_t __wrap_getpid() {
  return simulated() ? machine_now->running()->of->pid : __real_getpid();
}
int __real_prctl(int what, ...);
int __wrap_prctl(int what, ...) {
  if (simulated()) return what == PR_GET_TIMERSLACK ? 1 : 0;
  return __real_prctl(what, 0, 0, 0, 0);
}
char* __real_secure_getenv(const char* name);
char* __wrap_secure_getenv(const char* name) {
  if (!simulated()) return __real_secure_getenv(name);
  std::string& plan = machine_now->running()->of->plan_text;
  return std::strcmp(name, "GAR_PLAN") == 0 && !plan.empty() ? plan.data() : nullptr;
}
int __real_pthread_setname_np(pthread_t who, const char* name);
int __wrap_pthread_setname_np(pthread_t who, const char* name) {
  return simulated() ? 0 : __real_pthread_setname_np(who, name);
}
int __real_pthread_getcpuclockid(pthread_t who, clockid_t* id);
int __wrap_pthread_getcpuclockid(pthread_t who, clockid_t* id) {
  return simulated() ? ESRCH : __real_pthread_getcpuclockid(who, id);
}
int __real_pthread_sigmask(int how, const sigset_t* set, sigset_t* before);
int __wrap_pthread_sigmask(int how, const sigset_t* set, sigset_t* before) {
  return simulated() ? 0 : __real_pthread_sigmask(how, set, before);
}
}
