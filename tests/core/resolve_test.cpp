// Both fallback chains as data, each warning with its text, strictness.
#include "lib/core/resolve.hpp"

#include <gtest/gtest.h>

#include <string>

namespace gar {
namespace {

bands parsed(std::string_view text) {
  return *bands::parse(text);
}

capabilities without(std::initializer_list<capability> missing) {
  capabilities host = capabilities::all_available();
  for (capability c : missing) {
    host.set_absent(c, "no " + std::string(name_of(c)) + " in this test");
  }
  return host;
}

constexpr executor_kind every_executor[] = {executor_kind::io_uring, executor_kind::gpu_reactor,
                                            executor_kind::naive};

TEST(resolve, names_of_capabilities) {
  EXPECT_EQ(name_of(capability::word_wait), "word-wait");
  EXPECT_EQ(name_of(capability::io_uring), "io-uring");
  EXPECT_EQ(name_of(capability::timer_slack), "timer-slack");
  EXPECT_EQ(name_of(capability::cpu_quota), "cpu-quota");
  EXPECT_EQ(name_of(capability::memlock), "memlock");
}

TEST(resolve, what_was_not_probed_is_absent_with_a_reason) {
  const capabilities host;
  EXPECT_FALSE(host[capability::io_uring].available);
  EXPECT_EQ(host[capability::io_uring].why, "not probed");
}

TEST(resolve, an_executor_is_named_exactly) {
  for (executor_kind k : every_executor) EXPECT_EQ(*parse_executor(name_of(k)), k);
  for (std::string_view text : {"", "gpu_reactor", "naive ", "io_uring", "NAIVE", "reactor"}) {
    result<executor_kind> r = parse_executor(text);
    ASSERT_TRUE(r.has_error()) << text;
    EXPECT_EQ(r.error().code(), errc::InvalidExecutor);
    EXPECT_EQ(r.error().text(), "'" + std::string(text) +
                                    "' is not an executor; expected one of io-uring, "
                                    "gpu-reactor, naive");
  }
  EXPECT_EQ(parse_executor("a\n\xff").error().arguments()[0], "a\\x0a\\xff");
}

TEST(resolve, strictness_is_named_exactly) {
  EXPECT_EQ(parse_strictness("strict"), strictness::strict);
  EXPECT_EQ(parse_strictness("fallback"), strictness::fallback);
  EXPECT_FALSE(parse_strictness("Strict"));
}

TEST(resolve, when_all_is_available_every_executor_runs_as_asked) {
  for (executor_kind k : every_executor) {
    for (strictness s : {strictness::fallback, strictness::strict}) {
      const auto r = resolve_executor(k, s, capabilities::all_available());
      ASSERT_TRUE(r.has_value());
      EXPECT_EQ(r->requested, k);
      EXPECT_EQ(r->running, k);
      EXPECT_FALSE(r->warning);
    }
  }
}

TEST(resolve, io_uring_falls_back_to_the_reactor) {
  const auto r = resolve_executor(executor_kind::io_uring, strictness::fallback,
                                  without({capability::io_uring}));
  ASSERT_TRUE(r.has_value());
  EXPECT_EQ(r->requested, executor_kind::io_uring);
  EXPECT_EQ(r->running, executor_kind::gpu_reactor);
  ASSERT_TRUE(r->warning);
  EXPECT_EQ(r->warning->headline(),
            "0x0003 ExecutorFallback: executor 'io-uring' cannot run here (io-uring: no io-uring "
            "in this test); running 'gpu-reactor'");
}

TEST(resolve, the_reactor_falls_back_to_naive) {
  const auto r = resolve_executor(executor_kind::gpu_reactor, strictness::fallback,
                                  without({capability::word_wait}));
  ASSERT_TRUE(r.has_value());
  EXPECT_EQ(r->running, executor_kind::naive);
  EXPECT_EQ(r->warning->text(),
            "executor 'gpu-reactor' cannot run here (word-wait: no word-wait in this test); "
            "running 'naive'");
}

TEST(resolve, a_fallback_skips_each_link_that_lacks_something_and_says_all_of_it) {
  const auto r = resolve_executor(executor_kind::io_uring, strictness::fallback,
                                  without({capability::io_uring, capability::word_wait}));
  ASSERT_TRUE(r.has_value());
  EXPECT_EQ(r->running, executor_kind::naive);
  EXPECT_EQ(r->warning->arguments()[1],
            "io-uring: no io-uring in this test; word-wait: no word-wait in this test");

  const auto ring_only = resolve_executor(executor_kind::io_uring, strictness::fallback,
                                          without({capability::word_wait}));
  EXPECT_EQ(ring_only->running, executor_kind::naive) << "a ring alone does not park";
}

TEST(resolve, a_fallback_never_goes_up_the_chain) {
  const auto r = resolve_executor(executor_kind::gpu_reactor, strictness::fallback,
                                  without({capability::io_uring}));
  EXPECT_EQ(r->running, executor_kind::gpu_reactor);
  EXPECT_FALSE(r->warning);
}

TEST(resolve, naive_runs_on_a_host_with_nothing) {
  const auto r = resolve_executor(executor_kind::naive, strictness::strict, capabilities());
  ASSERT_TRUE(r.has_value());
  EXPECT_EQ(r->running, executor_kind::naive);
  EXPECT_FALSE(r->warning);
}

TEST(resolve, strict_refuses_instead_of_falling_back) {
  const auto r = resolve_executor(executor_kind::io_uring, strictness::strict,
                                  without({capability::io_uring}));
  ASSERT_TRUE(r.has_error());
  EXPECT_EQ(r.error().headline(),
            "0x0004 ExecutorRefused: executor 'io-uring' cannot run here (io-uring: no io-uring in "
            "this test) and strictness is 'strict'");
  EXPECT_EQ(r.error().arguments().size(), 2u);
  const auto reactor = resolve_executor(executor_kind::gpu_reactor, strictness::strict,
                                        without({capability::word_wait}));
  EXPECT_EQ(reactor.error().code(), errc::ExecutorRefused);
}

TEST(resolve, every_executor_on_every_host_runs_the_first_link_it_can) {
  for (int bits = 0; bits < 4; ++bits) {
    const bool ring = bits & 1, word = bits & 2;
    capabilities host = capabilities::all_available();
    if (!ring) host.set_absent(capability::io_uring, "x");
    if (!word) host.set_absent(capability::word_wait, "x");
    for (executor_kind asked : every_executor) {
      executor_kind expected = asked;
      if (expected == executor_kind::io_uring && !(ring && word)) {
        expected = executor_kind::gpu_reactor;
      }
      if (expected == executor_kind::gpu_reactor && !word) expected = executor_kind::naive;
      const auto r = resolve_executor(asked, strictness::fallback, host);
      EXPECT_EQ(r->running, expected) << bits << name_of(asked);
      EXPECT_EQ(r->warning.has_value(), expected != asked) << bits << name_of(asked);
    }
  }
}

TEST(resolve, when_all_is_available_every_band_runs_as_asked) {
  const bands asked = parsed("block;rows>=8:poll;rows>=16:flag:park_us=1,backstop_us=2");
  const resolved_bands r = resolve_bands(asked, capabilities::all_available());
  EXPECT_EQ(r.running, asked);
  EXPECT_TRUE(r.warnings.empty());
}

TEST(resolve, flag_falls_back_to_poll_and_keeps_its_prediction) {
  const resolved_bands r = resolve_bands(parsed(plan_as_shipped), without({capability::word_wait}));
  EXPECT_EQ(r.running.label(),
            "poll+predict:margin_us=200,min_sleep_us=50,max_sleep_us=50000,window=8");
  ASSERT_EQ(r.warnings.size(), 1u);
  EXPECT_EQ(r.warnings[0].headline(),
            "0x0002 ParkFallback: plan 'flag:park_us=100,backstop_us=10000+predict:margin_us=200,"
            "min_sleep_us=50,max_sleep_us=50000,window=8' needs word-wait, which this host lacks "
            "(no word-wait in this test); running "
            "'poll+predict:margin_us=200,min_sleep_us=50,max_sleep_us=50000,window=8'");
  EXPECT_EQ(r.warnings[0].arguments(),
            (std::vector<std::string>{std::string(plan_as_shipped), "word-wait",
                                      "no word-wait in this test", r.running.label()}));
}

TEST(resolve, each_band_resolves_on_its_own) {
  const resolved_bands r = resolve_bands(
      parsed("block;rows>=8:flag:park_us=1,backstop_us=2;rows>=16:poll;rows>=32:flag:park_us=3,"
             "backstop_us=4"),
      without({capability::word_wait}));
  EXPECT_EQ(r.running.label(), "block;rows>=8:poll;rows>=16:poll;rows>=32:poll");
  ASSERT_EQ(r.warnings.size(), 2u);
  EXPECT_EQ(r.warnings[0].arguments()[0], "flag:park_us=1,backstop_us=2");
  EXPECT_EQ(r.warnings[1].arguments()[0], "flag:park_us=3,backstop_us=4");
}

TEST(resolve, block_and_poll_need_nothing) {
  const resolved_bands r = resolve_bands(parsed("block;rows>=8:poll"), capabilities());
  EXPECT_EQ(r.running.label(), "block;rows>=8:poll");
  EXPECT_TRUE(r.warnings.empty());
}

// The chain is not gard's alone: any setting, any table.
enum class colour { rgb, grey, none };
enum class feature { screen, colours };
constexpr fallback_chain<colour, 3, feature> colours{{{
    {colour::rgb, "rgb", {feature::screen, feature::colours}},
    {colour::grey, "grey", {feature::screen}},
    {colour::none, "none", {}},
}}};
static_assert(colours.ends_always());
static_assert(colours.find("grey") == colour::grey && !colours.find("mauve"));

struct host_of_one {
  feature only;
  struct state {
    bool available;
    std::string why;
  };
  state operator[](feature f) const { return {f == only, "the other"}; }
};

TEST(fallback_chain, serves_a_setting_of_somebody_else) {
  const auto r = resolve(colours, colour::rgb, host_of_one{feature::screen});
  EXPECT_EQ(r.running, colour::grey);
  ASSERT_EQ(r.lacks.size(), 1u);
  EXPECT_EQ(r.lacks[0].missing, feature::colours);
  EXPECT_EQ(r.lacks[0].why, "the other");
  EXPECT_EQ(resolve(colours, colour::rgb, host_of_one{feature::colours}).running, colour::none);
  EXPECT_EQ(colours.names(), "rgb, grey, none");
}

TEST(fallback_chain_death, asking_for_what_is_not_in_the_chain_is_a_bug) {
  constexpr fallback_chain<colour, 1, feature> only{{{{colour::none, "none", {}}}}};
  EXPECT_DEATH((void)resolve(only, colour::rgb, host_of_one{feature::screen}), "assertion failed");
}

}  // namespace
}  // namespace gar
