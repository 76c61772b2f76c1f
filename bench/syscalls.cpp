// Question: which system calls do gard's reactor thread and the waiting thread make for each
// completion?
// Floor: one to wake a client that is blocked, none where it looks. On the reactor there is nothing
// else between a store and a wake.
// Not measured: their time (strace is slow); allocations (tests/core counts them); the service
// thread. Another client's wait is pending all the while, so that the reactor never goes to sleep
// for want of any. On busy cores it may not have looked for so long that it sleeps between its
// looks; those sleeps are shown, and are of no completion.
#include <fmt/core.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <thread>

#include "bench/call_trace.hpp"
#include "bench/private_gard.hpp"
#include "bench/raw_client.hpp"
#include "bench/word_client.hpp"
#include "proto/line.hpp"

namespace gar::bench {
namespace {

constexpr uint64_t store_after_ns = 1'000'000;
constexpr uint32_t looks_for_us = 1'000'000;

void pause_ns(uint64_t ns) {
  const timespec t{0, static_cast<long>(ns)};
  ::nanosleep(&t, nullptr);
}

// One way to wait: announces the next number, then waits until it has come.
class way_to_wait {
 public:
  virtual ~way_to_wait() = default;
  virtual store_order expect() = 0;
  virtual void await() = 0;
};

class by_gar_wait : public way_to_wait {
 public:
  explicit by_gar_wait(word_client& of) : of_(of) { options_.struct_bytes = sizeof(options_); }
  store_order expect() override { return expected_ = of_.record(); }
  void await() override {
    must_be_ok(gar_wait(of_.stream(), expected_.value, &options_, nullptr), "gar_wait");
  }

 private:
  word_client& of_;
  gar_wait_options options_{};
  store_order expected_;
};

class by_descriptor : public way_to_wait {
 public:
  explicit by_descriptor(word_client& of) : of_(of), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, gar_client_fd(of_.client()), &event) != 0) {
      throw cannot_measure("the client's descriptor cannot be watched");
    }
  }
  store_order expect() override {
    const store_order o = of_.record();
    must_be_ok(gar_wait_async(of_.stream(), o.value, nullptr, nullptr, nullptr), "gar_wait_async");
    return o;
  }
  void await() override {
    gar_completion taken{};
    for (size_t count = 0; count == 0;) {
      epoll_event event{};
      if (::epoll_wait(epoll_.get(), &event, 1, -1) != 1) continue;
      must_be_ok(gar_take(of_.client(), &taken, 1, &count), "gar_take");
    }
  }

 private:
  word_client& of_;
  unique_fd epoll_;
};

class by_socket : public way_to_wait {
 public:
  explicit by_socket(raw_client& of) : of_(of), target_(of.base_of(0)) {}
  store_order expect() override {
    ++target_;
    const proto::wait wait = of_.wait_for(0, target_, target_);
    of_.send(std::span(&wait, 1));
    return of_.store_of(0, target_);
  }
  void await() override { of_.receive(raw_client::patience::blocks); }

 private:
  raw_client& of_;
  uint64_t target_;
};

// The waiting thread, one that does nothing else; the thread that made it stores.
class waiting_thread {
 public:
  explicit waiting_thread(way_to_wait& way) : way_(way), thread_([this] { run(); }) {
    while (tid_ == 0) pause_ns(100'000);
  }
  ~waiting_thread() {
    over_ = true;
    thread_.join();
  }

  pid_t tid() const { return tid_; }
  void run_waits(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      const size_t before = ended_;
      asked_ = before + 1;
      while (announced_ == before && failed_.load() == nullptr) pause_ns(50'000);
      pause_ns(store_after_ns);
      if (failed_.load() == nullptr) {
        proto::store_word(*expected_.word, expected_.value);
        proto::store_word(*expected_.bell, expected_.bell_value);
      }
      while (ended_ == before && failed_.load() == nullptr) pause_ns(50'000);
      if (failed_.load() != nullptr) throw cannot_measure(failure_);
    }
  }

 private:
  void run() try {
    tid_ = ::gettid();
    while (!over_) {
      // Without a system call of its own, but for what gives way to those who share the core.
      if (asked_ == ended_) {
        std::this_thread::yield();
        continue;
      }
      expected_ = way_.expect();
      ++announced_;
      way_.await();
      ++ended_;
    }
  } catch (const std::exception& e) {
    failure_ = e.what();
    failed_ = failure_.c_str();
  }

  way_to_wait& way_;
  store_order expected_;
  std::string failure_;
  std::atomic<const char*> failed_{nullptr};
  std::atomic<pid_t> tid_{0};
  std::atomic<size_t> asked_{0};
  std::atomic<size_t> announced_{0};
  std::atomic<size_t> ended_{0};
  std::atomic<bool> over_{false};
  std::thread thread_;
};

struct counted {
  call_counts reactor;
  call_counts waiter;
};

counted count_calls_of(way_to_wait& way, const private_gard& gard, size_t waits) {
  waiting_thread thread(way);
  thread.run_waits(5);
  call_trace of_reactor(thread_named(gard.pid(), "gard-waits"));
  call_trace of_waiter(thread.tid());
  thread.run_waits(waits);
  counted seen{of_reactor.stop(), of_waiter.stop()};
  seen.waiter.erase("sched_yield");  // this case's own
  return seen;
}

// How the reactor sleeps between its looks. With the io-uring executor that is also how it sends.
bool is_own_sleep(const std::string& call) {
  return call == "futex wait" || call == "io_uring_enter";
}

// What the reactor may make for a completion, once.
struct expectation {
  std::string name;
  std::string wake;  // empty: none
};

void report(case_result& into, const expectation& of, const counted& seen, size_t waits) {
  const auto show = [&](const char* who, const call_counts& calls) {
    if (calls.empty()) into.figures.push_back({fmt::format("{}, {}: none", who, of.name), 0, ""});
    for (const auto& [call, count] : calls) {
      into.figures.push_back({fmt::format("{}, {}: {}", who, of.name, call),
                              static_cast<double>(count) / static_cast<double>(waits),
                              "a completion"});
    }
  };
  show("reactor", seen.reactor);
  show("waiter", seen.waiter);
  for (const auto& [call, count] : seen.reactor) {
    if ((call == of.wake && count <= waits) || is_own_sleep(call)) continue;
    into.note += fmt::format("{}{}: {} x {} on the reactor in {} waits is not expected",
                             into.note.empty() ? "" : "; ", of.name, count, call, waits);
  }
}

}  // namespace

case_result run_syscalls(const options& o) {
  const private_gard gard({awake_config, machine_cores().gard});
  const size_t waits = o.quick ? 10 : 100;
  case_result r;

  raw_client pending(gard.socket(), "gar-bench-pending");
  pending.open(1);
  const proto::wait never = pending.wait_for(0, pending.base_of(0) + 1, 1);
  pending.send(std::span(&never, 1));

  word_client blocking(gard.socket(), "gar-bench", 1);
  by_gar_wait blocked(blocking);
  report(r, {"gar_wait blocked", "futex wake"}, count_calls_of(blocked, gard, waits), waits);
  word_client watching(gard.socket(), "gar-bench", 1, looks_for_us);
  by_gar_wait looking(watching);
  report(r, {"gar_wait looking", ""}, count_calls_of(looking, gard, waits), waits);
  word_client polling(gard.socket(), "gar-bench", 1);
  by_descriptor descriptor(polling);
  report(r, {"epoll, gar_take", "write"}, count_calls_of(descriptor, gard, waits), waits);
  raw_client sending(gard.socket(), "gar-bench");
  sending.open(1);
  by_socket socket(sending);
  report(r, {"socket", "sendmsg"}, count_calls_of(socket, gard, waits), waits);

  if (r.note.empty()) r.note = "the reactor made no call but one wake at most for each completion";
  return r;
}

}  // namespace gar::bench
