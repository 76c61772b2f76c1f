// The relay: the least that could stand in gard's place. It spins on a word and hands each arrival
// on by one bare mechanism; what a client of it measures is the floor under gard.
//
//   futex      a store to a word in shared memory and one futex wake; the client blocks on the word
//   pipe       one byte into a pipe; the client blocks in epoll, then reads
//   seqpacket  a message of a completion's size; the client blocks in recv
//   spinning   a store; the client spins too
//   callback   an imitation of a driver's host callback: an eventfd wakes a thread of the client
//              (the driver's), which writes another, on which the client blocks in epoll
//
// While nothing is expected the relay sleeps, as gard does: one that never slept would have used up
// its share of a busy core, and be slow for it.
// Threads: one client. Errors: cannot_measure.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>

#include "bench/processes.hpp"
#include "bench/wake.hpp"
#include "lib/linux/unique_fd.hpp"

namespace gar::bench {

enum class mechanism : uint8_t { futex, pipe, seqpacket, spinning, callback };

class relay : public wake_side {
 public:
  explicit relay(mechanism by);
  ~relay() override;
  relay(const relay&) = delete;
  relay& operator=(const relay&) = delete;

  // The next number, and where it is to be stored; the relay wakes and spins on it from here on.
  store_order expect() override;
  // Blocks by the mechanism until the number of the last `expect` has come.
  void await() override;

 private:
  struct board {
    alignas(64) uint32_t expected = 0;  // the last number, its low bits; a futex word
    alignas(64) uint64_t word = 0;
    alignas(64) uint64_t mailbox = 0;
    alignas(64) uint32_t signal = 0;  // a futex word
  };
  void open_descriptors();
  void serve();
  void hand_on(uint64_t value);
  void await_signal(uint32_t value);
  void drive();

  mechanism by_;
  shared<board> board_;
  uint64_t value_ = 0;
  unique_fd from_, to_;  // pipe, sockets, or eventfd of the driver's thread (from_ only)
  unique_fd watched_;    // callback: the eventfd that the client watches
  unique_fd epoll_;
  std::thread driver_;
  child process_;
};

}  // namespace gar::bench
