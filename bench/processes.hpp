// Processes: the parties of a measurement, each a process of its own as in real life, each on the
// core that it is told.
//
//   shared<T>   a T in memory that this process and those it forks later see alike
//   child       a forked process that runs a function and ends
//   cores       which core each party has
//
// Invariants: a child ends with its parent, and at the latest with its object. Memory that a child
// is to see is made before it is forked; then its addresses are the same there.
// Threads: fork while the process has only threads that hold no lock for long: the child touches
// memory and makes system calls, nothing else. Errors: cannot_measure.
#pragma once

#include <sys/mman.h>
#include <sys/types.h>

#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "bench/measure.hpp"

namespace gar::bench {

void* map_shared(size_t bytes);
void unmap_shared(void* at, size_t bytes);

template <class T>
class shared {
 public:
  shared() : at_(new (map_shared(sizeof(T))) T) {}
  shared(shared&& other) noexcept : at_(std::exchange(other.at_, nullptr)) {}
  shared& operator=(shared&&) = delete;
  ~shared() {
    if (!at_) return;
    at_->~T();
    unmap_shared(at_, sizeof(T));
  }
  T* operator->() const { return at_; }
  T& operator*() const { return *at_; }

 private:
  T* at_;
};

class child {
 public:
  child() = default;
  // Runs `body` in a new process, which then ends.
  explicit child(const std::function<void()>& body);
  child(child&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}
  child& operator=(child&& other) noexcept {
    std::swap(pid_, other.pid_);
    return *this;
  }
  ~child();

  pid_t pid() const { return pid_; }
  // Until it has ended by itself. false: it ended badly.
  bool join();

 private:
  pid_t pid_ = 0;
};

struct cores {
  unsigned count = 1;                // that this process may use
  unsigned gard = 0;                 // gard, and the relay that stands for it in a floor
  unsigned client = 0;               // the waiting side
  std::optional<unsigned> producer;  // of its own, where there are three
};
// Of what this process was allowed when it started.
const cores& machine_cores();

// Keeps the calling thread on a core while it lives, then lets it go where it might before.
class on_core {
 public:
  explicit on_core(unsigned core);
  ~on_core();
  on_core(const on_core&) = delete;
  on_core& operator=(const on_core&) = delete;
};

// For a child: its core, no timer slack, and where it is allowed real-time, so that it preempts a
// spinning thread of its core.
void settle_child(unsigned core, bool preempts);

// For a child: keeps a core from halting, and runs there only while nobody else would.
[[noreturn]] void keep_awake(unsigned core);

// CPU time of a whole process so far; 0 where it is gone.
uint64_t cpu_ns_of(pid_t pid);
uint64_t own_cpu_ns();

}  // namespace gar::bench
