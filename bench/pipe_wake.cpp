// Question: how soon after a store does an event loop that watches the client's descriptor have the
// completion in hand?
// Floor: a process that spins on the word and writes a byte into a pipe; the client blocks in epoll
// on the pipe's read end and reads it.
// Not measured: starting the wait; many completions at one wake.
#include <sys/epoll.h>

#include "bench/library_wait.hpp"
#include "bench/private_gard.hpp"
#include "bench/relay.hpp"

namespace gar::bench {
namespace {

class descriptor_wait : public wake_side {
 public:
  explicit descriptor_wait(word_client& of) : of_(of), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    const int fd = gar_client_fd(of_.client());
    epoll_event event{};
    event.events = EPOLLIN;
    if (fd < 0 || ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
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
    must_be_ok(taken.error, "an asynchronous wait");
  }

 private:
  word_client& of_;
  unique_fd epoll_;
};

}  // namespace

case_result run_pipe_wake(const options& o) {
  const private_gard gard({awake_config, machine_cores().gard});
  word_client client(gard.socket(), "gar-bench", 1);
  descriptor_wait ours(client);
  relay floor(mechanism::pipe);
  producer by;
  case_result r =
      wake_result(compare_wakes(ours, floor, &by, o), "epoll, then gar_take", "pipe relay");
  r.findings = {{"pipe_over_floor", r.figures[0].value, {}}};
  return r;
}

}  // namespace gar::bench
