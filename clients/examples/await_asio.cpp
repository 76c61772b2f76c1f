// What await.cpp does, in an event loop of Boost.Asio: coroutines with use_awaitable, a callback,
// and a wait that is given up. usage: await_asio
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdio>
#include <exception>
#include <gar_asio.hpp>

namespace {

namespace asio = boost::asio;

struct simulated {
  simulated() {
    gar::failure::check(gar_sim_create(&sim));
    gar::failure::check(gar_sim_queue_create(sim, &queue));
  }
  ~simulated() {
    gar_sim_queue_destroy(queue);
    gar_sim_destroy(sim);
  }
  gar_sim* sim = nullptr;
  gar_sim_queue* queue = nullptr;
};

asio::awaitable<int> await_three(gar::stream& stream, gar_sim_queue* queue) {
  for (int i = 1; i <= 3; ++i) {
    uint64_t truth = 0;
    gar::failure::check(gar_sim_submit(queue, 2'000'000, &truth, 1));
    const gar_report report =
        co_await gar::async_wait(stream, stream.record(), asio::use_awaitable);
    if (truth != 1) co_return 2;  // success before the work was done
    std::printf("wait %d: %llu us\n", i, static_cast<unsigned long long>(report.wait_ns / 1000));
  }
  co_return 0;
}

int run() {
  simulated device;
  asio::io_context io;
  gar::asio_client client(io);
  gar::stream stream = client.open_sim(device.queue, "example");
  int status = 3;
  asio::co_spawn(io, await_three(stream, device.queue), [&](std::exception_ptr failed, int ended) {
    if (failed) std::rethrow_exception(failed);  // leaves io.run()
    status = ended;
  });
  io.run();

  gar::stream never = client.open_word("never signalled");
  asio::cancellation_signal give_up;
  boost::system::error_code how;
  gar::async_wait(never, never.record(),
                  asio::bind_cancellation_slot(
                      give_up.slot(), [&](boost::system::error_code e, gar_report) { how = e; }));
  give_up.emit(asio::cancellation_type::terminal);
  io.restart();
  io.run();
  std::printf("given up: %s\n", how.message().c_str());
  return how == asio::error::operation_aborted ? status : 4;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const std::exception& e) {  // gar::failure, boost::system::system_error
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
