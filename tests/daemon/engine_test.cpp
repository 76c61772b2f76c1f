// The engine over real sockets, pages and threads, with each executor.
#include <gtest/gtest.h>

#include "tests/daemon/raw_client.hpp"
#include "tests/daemon/running_engine.hpp"

namespace gar::test {
namespace {

constexpr std::string_view quick_plan = "flag:park_us=100,backstop_us=2000";

engine_options options_for(executor_kind kind, std::string_view plan = quick_plan) {
  engine_options o;
  o.executor = kind;
  o.settings.plans.push_back({{}, *bands::parse(plan)});
  return o;
}

class engine_with : public testing::TestWithParam<executor_kind> {
 protected:
  void SetUp() override {
    engine.emplace(options_for(GetParam()));
    if (engine->status().executor.running != name_of(GetParam())) {
      GTEST_SKIP() << engine->status().executor.warning->text();
    }
  }
  std::optional<running_engine> engine;
};

INSTANTIATE_TEST_SUITE_P(each, engine_with,
                         testing::Values(executor_kind::gpu_reactor, executor_kind::io_uring,
                                         executor_kind::naive),
                         [](const auto& kind) {
                           std::string name(name_of(kind.param));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_P(engine_with, completes_a_wait_when_its_word_arrives) {
  raw_client client(engine->path);
  ASSERT_TRUE(client.greet());
  const auto stream = client.open();
  ASSERT_TRUE(stream);
  const proto::wait w = client.wait_for(*stream, 1);
  client.send(w);
  client.store(*stream, 1);
  client.ring(*stream, 1);
  const auto done = client.completion();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->cookie, w.cookie);
  EXPECT_EQ(done->code, 0);
  EXPECT_EQ(done->confirmed, 0);
  EXPECT_EQ(engine->status().waits.completed, 1u);
  EXPECT_EQ(engine->status().waits.pending, 0u);
}

}  // namespace
}  // namespace gar::test
