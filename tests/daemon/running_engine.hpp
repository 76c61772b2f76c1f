// An engine that serves on a thread of its own, at a socket in a directory of the test's own.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/post.hpp>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "daemon/engine.hpp"
#include "tests/linux/temporary_directory.hpp"

namespace gar::test {

class running_engine {
 public:
  explicit running_engine(engine_options options = {}) {
    options.version = "test";
    options.socket_path = directory_.file("gard.sock");
    path = options.socket_path;
    result<std::unique_ptr<engine>> made = engine::make(std::move(options));
    EXPECT_TRUE(made.has_value()) << made.error().headline();
    engine_ = std::move(*made);
    thread_ = std::thread([this] { (void)engine_->run(); });
  }
  ~running_engine() { stop(); }

  // On the io thread, as the control server would.
  template <class Act>
  auto on_io(Act act) {
    std::promise<decltype(act(std::declval<engine&>()))> done;
    boost::asio::post(engine_->io(), [&] { done.set_value(act(*engine_)); });
    return done.get_future().get();
  }
  status_snapshot status() {
    return on_io([](engine& e) { return e.status(request_scope::control()); });
  }
  // For an engine that was told to end by a signal.
  void wait() { thread_.join(); }
  void stop() {
    if (!thread_.joinable()) return;
    boost::asio::post(engine_->io(), [this] { engine_->stop(); });
    thread_.join();
  }

  std::string path;

 private:
  temporary_directory directory_;
  std::unique_ptr<engine> engine_;
  std::thread thread_;
};

}  // namespace gar::test
