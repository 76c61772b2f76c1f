#include "bench/relay.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "lib/linux/futex.hpp"
#include "proto/line.hpp"
#include "proto/wire.hpp"

namespace gar::bench {
namespace {

constexpr uint64_t end_of_driver = uint64_t{1} << 40;
// A completion message of one entry.
constexpr size_t message_bytes = sizeof(proto::header) + sizeof(proto::completion_entry);

uint32_t load(const uint32_t& word) {
  return std::atomic_ref<uint32_t>(const_cast<uint32_t&>(word)).load(std::memory_order_acquire);
}

void store(uint32_t& word, uint32_t value) {
  std::atomic_ref<uint32_t>(word).store(value, std::memory_order_release);
}

void write_number(int fd, uint64_t number) {
  if (::write(fd, &number, sizeof(number)) < 0) throw cannot_measure("write to an eventfd");
}

uint64_t read_number(int fd) {
  uint64_t number = 0;
  if (::read(fd, &number, sizeof(number)) < 0) throw cannot_measure("read of an eventfd");
  return number;
}

}  // namespace

relay::relay(mechanism by) : by_(by) {
  open_descriptors();
  process_ = child([this] {
    settle_child(machine_cores().gard, false);
    serve();
  });
  if (by_ == mechanism::callback) driver_ = std::thread([this] { drive(); });
}

relay::~relay() {
  if (!driver_.joinable()) return;
  write_number(from_.get(), end_of_driver);
  driver_.join();
}

void relay::open_descriptors() {
  std::array<int, 2> ends = {-1, -1};
  if (by_ == mechanism::pipe && ::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw cannot_measure("no pipe");
  }
  if (by_ == mechanism::seqpacket &&
      ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw cannot_measure("no socket pair");
  }
  if (by_ == mechanism::callback) {
    ends[0] = ::eventfd(0, EFD_CLOEXEC);
    watched_.reset(::eventfd(0, EFD_CLOEXEC));
  }
  from_.reset(ends[0]);
  to_.reset(ends[1]);
  if (by_ != mechanism::pipe && by_ != mechanism::callback) return;
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLIN;
  const int watched = by_ == mechanism::pipe ? from_.get() : watched_.get();
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, watched, &event) != 0) {
    throw cannot_measure("no epoll");
  }
}

store_order relay::expect() {
  ++value_;
  store(board_->expected, static_cast<uint32_t>(value_));
  futex_wake(board_->expected);
  store_order o;
  o.word = &board_->word;
  o.value = value_;
  return o;
}

void relay::serve() {
  board& b = *board_;
  for (uint64_t value = 1;; ++value) {
    const auto before = static_cast<uint32_t>(value - 1);
    while (load(b.expected) == before) futex_wait(b.expected, before);
    // Nothing between the store and this look but the look.
    while (proto::load_word(b.word) != value) {
    }
    hand_on(value);
  }
}

void relay::hand_on(uint64_t value) {
  std::array<std::byte, message_bytes> message{};
  switch (by_) {
    case mechanism::futex:
      store(board_->signal, static_cast<uint32_t>(value));
      futex_wake(board_->signal);
      return;
    case mechanism::pipe:
      if (::write(to_.get(), message.data(), 1) != 1) throw cannot_measure("write to a pipe");
      return;
    case mechanism::seqpacket:
      if (::send(to_.get(), message.data(), message.size(), MSG_NOSIGNAL) < 0) {
        throw cannot_measure("send");
      }
      return;
    case mechanism::spinning:
      proto::store_word(board_->mailbox, value);
      return;
    case mechanism::callback:
      write_number(from_.get(), 1);
      return;
  }
}

// The driver's own thread, in the client's process and on its core.
void relay::drive() {
  settle_child(machine_cores().client, false);
  while (read_number(from_.get()) < end_of_driver) write_number(watched_.get(), 1);
}

void relay::await_signal(uint32_t value) {
  for (uint32_t seen = 0; (seen = load(board_->signal)) != value;) {
    futex_wait(board_->signal, seen);
  }
}

void relay::await() {
  std::array<std::byte, message_bytes> message{};
  epoll_event event{};
  switch (by_) {
    case mechanism::futex:
      return await_signal(static_cast<uint32_t>(value_));
    case mechanism::pipe:
      while (::epoll_wait(epoll_.get(), &event, 1, -1) != 1) {
      }
      if (::read(from_.get(), message.data(), message.size()) < 1) throw cannot_measure("read");
      return;
    case mechanism::seqpacket:
      if (::recv(from_.get(), message.data(), message.size(), 0) < 1) throw cannot_measure("recv");
      return;
    case mechanism::spinning:
      while (proto::load_word(board_->mailbox) != value_) {
      }
      return;
    case mechanism::callback:
      while (::epoll_wait(epoll_.get(), &event, 1, -1) != 1) {
      }
      read_number(watched_.get());
      return;
  }
}

}  // namespace gar::bench
