// What await.cpp does, in C++20 coroutines and with no library: two streams awaited by one thread,
// with a timeout.
// usage: await_coroutine
#include <coroutine>
#include <cstdio>
#include <exception>
#include <gar_await.hpp>
#include <utility>

namespace {

struct simulated {
  simulated() {
    gar::failure::check(gar_sim_create(&sim));
    for (gar_sim_queue*& q : queues) gar::failure::check(gar_sim_queue_create(sim, &q));
  }
  ~simulated() {
    for (gar_sim_queue* q : queues) gar_sim_queue_destroy(q);
    gar_sim_destroy(sim);
  }
  gar_sim* sim = nullptr;
  gar_sim_queue* queues[2] = {};
};

// The least that a coroutine needs: it runs at once, and what it throws is kept for `check`. A
// program's own type will do.
class job {
 public:
  struct promise_type {
    std::exception_ptr failed;

    job get_return_object() {
      return job(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { failed = std::current_exception(); }
  };

  explicit job(std::coroutine_handle<promise_type> frame) : frame_(frame) {}
  job(job&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  ~job() {
    if (frame_) frame_.destroy();
  }

  bool done() const { return frame_.done(); }
  void check() const {
    if (frame_.promise().failed) std::rethrow_exception(frame_.promise().failed);
  }

 private:
  std::coroutine_handle<promise_type> frame_;
};

job await_three(gar::stream& stream, gar_sim_queue* queue, int& right) {
  for (int i = 1; i <= 3; ++i) {
    uint64_t truth = 0;
    gar::failure::check(gar_sim_submit(queue, 2'000'000, &truth, 1));
    const gar_report report =
        co_await gar::wait(stream, stream.record(), {.timeout = std::chrono::seconds(30)});
    if (truth == 1) ++right;  // never success before the work was done
    std::printf("wait %d: %llu us\n", i, static_cast<unsigned long long>(report.wait_ns / 1000));
  }
}

int run() {
  simulated device;
  gar::client client;
  gar::driver driver(client);
  gar::stream one = client.open_sim(device.queues[0], "one");
  gar::stream other = client.open_sim(device.queues[1], "other");
  int right = 0;
  const job first = await_three(one, device.queues[0], right);
  const job second = await_three(other, device.queues[1], right);
  driver.run_until([&] { return first.done() && second.done(); });
  first.check();
  second.check();
  return right == 6 ? 0 : 2;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const gar::failure& e) {
    std::fprintf(stderr, "0x%04x %s: %s\n", static_cast<unsigned>(e.number()), e.name(), e.what());
    return 1;
  }
}
