// The engine over real sockets, pages and threads, with each executor.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <map>
#include <thread>

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

uint16_t number(errc code) {
  return static_cast<uint16_t>(code);
}

proto::statuses answer_to(const proto::probe_entry& p, uint8_t state, int32_t status = 0,
                          std::string_view call = {}) {
  proto::status_entry e{p.probe_id, p.sequence, p.stream, p.stream_generation,
                        state,      {},         status,   {}};
  proto::set_call(e.call, call);
  return {{e}};
}

TEST_P(engine_with, ends_a_wait_with_a_lost_store_by_the_owners_answer) {
  raw_client client(engine->path);
  ASSERT_TRUE(client.greet());
  const auto stream = client.open();
  client.send(client.wait_for(*stream, 1));
  const auto probes = client.receive_as<proto::probes>();
  ASSERT_TRUE(probes);
  ASSERT_EQ(probes->entries.size(), 1u);
  client.send(answer_to(probes->entries[0], proto::probe_pending));
  const auto again = client.receive_as<proto::probes>();
  ASSERT_TRUE(again);
  client.send(answer_to(again->entries[0], proto::probe_done));
  const auto done = client.completion();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->code, 0);
  EXPECT_EQ(done->confirmed, 1);
  EXPECT_GE(done->backstop_queries, 2u);
  EXPECT_GE(done->wait_ns, from_ms(4).ns);
  EXPECT_GE(engine->status().reactor.backstop_probes, 2u);
}

TEST_P(engine_with, ends_a_wait_with_what_the_owner_says_failed) {
  raw_client client(engine->path);
  ASSERT_TRUE(client.greet());
  const auto stream = client.open();
  client.send(client.wait_for(*stream, 1));
  const auto probes = client.receive_as<proto::probes>();
  ASSERT_TRUE(probes);
  client.send(answer_to(probes->entries[0], proto::probe_failed, -4, "vkGetSemaphoreCounterValue"));
  const auto failed = client.completion();
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->code, number(errc::Backend));
  EXPECT_EQ(failed->status, -4);
  EXPECT_STREQ(failed->call, "vkGetSemaphoreCounterValue");
}

TEST_P(engine_with, ends_waits_by_cancel_and_by_timeout) {
  raw_client client(engine->path);
  ASSERT_TRUE(client.greet());
  const auto stream = client.open();
  const proto::wait cancelled = client.wait_for(*stream, 1);
  client.send(cancelled);
  client.send(proto::cancel{cancelled.cookie});
  EXPECT_EQ(client.ended_wait().code, number(errc::Cancelled));
  proto::wait timed = client.wait_for(*stream, 1);
  timed.timeout_ns = from_ms(3).ns;
  client.send(timed);
  EXPECT_EQ(client.ended_wait().code, number(errc::TimedOut));
}

TEST_P(engine_with, wakes_a_wait_out_of_its_predicted_sleep_to_cancel_it) {
  engine->on_io([](gar::engine& e) {
    return e
        .plan_set({}, *bands::parse("flag:park_us=100,backstop_us=2000+predict:margin_us=1,"
                                    "min_sleep_us=1,max_sleep_us=10000000,window=1"))
        .has_value();
  });
  raw_client client(engine->path);
  ASSERT_TRUE(client.greet());
  const auto stream = client.open();
  proto::outcome_entry slow{};  // the next wait is expected to take ten seconds
  slow.stream = stream->stream;
  slow.stream_generation = stream->stream_generation;
  slow.kind = proto::kind_parked;
  slow.sample = proto::sample_exact;
  slow.sample_ns = from_ms(10'000).ns;
  client.send(proto::outcomes{{slow}});
  const proto::wait w = client.wait_for(*stream, 1);
  client.send(w);
  while (engine->status().waits.pending == 0) std::this_thread::yield();
  client.send(proto::cancel{w.cookie});
  const auto done = client.completion();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->code, number(errc::Cancelled));
}

TEST_P(engine_with, lets_a_cookie_be_used_again_as_soon_as_its_completion_is_read) {
  raw_client client(engine->path);
  ASSERT_TRUE(client.greet());
  const auto stream = client.open();
  for (uint64_t n = 1; n <= 300; ++n) {
    proto::wait w = client.wait_for(*stream, n);
    w.cookie = 7;
    client.send(w);
    client.store(*stream, n);
    client.ring(*stream, n);
    const auto done = client.completion();
    ASSERT_TRUE(done) << n;
    ASSERT_EQ(done->code, 0) << n;
  }
  EXPECT_EQ(engine->status().waits.completed, 300u);
}

TEST_P(engine_with, ends_every_wait_of_several_clients_and_streams_exactly_once) {
  constexpr uint64_t waits_each = 10;
  std::vector<std::thread> owners;
  for (int c = 0; c < 3; ++c) {
    owners.emplace_back([this, c] {
      raw_client client(engine->path);
      ASSERT_TRUE(client.greet("owner" + std::to_string(c)));
      std::vector<proto::opened> streams;
      for (int i = 0; i < 2; ++i) streams.push_back(*client.open());
      std::map<uint64_t, int> ended;
      for (uint64_t n = 1; n <= waits_each; ++n) {
        for (const proto::opened& s : streams) client.send(client.wait_for(s, n));
        // Everything of this round arrives, in an order of its own.
        for (size_t i = streams.size(); i-- > 0;) {
          client.store(streams[i], n);
          client.ring(streams[i], n);
        }
      }
      for (size_t i = 0; i < waits_each * streams.size(); ++i) {
        const auto done = client.completion();
        ASSERT_TRUE(done);
        EXPECT_EQ(done->code, 0);
        EXPECT_EQ(++ended[done->cookie], 1);
      }
    });
  }
  for (std::thread& owner : owners) owner.join();
  EXPECT_EQ(engine->status().waits.completed, 3 * 2 * waits_each);
}

TEST_P(engine_with, forgets_the_waits_of_an_owner_that_is_gone) {
  raw_client client(engine->path);
  ASSERT_TRUE(client.greet());
  const auto stream = client.open();
  for (uint64_t n = 1; n <= 5; ++n) client.send(client.wait_for(*stream, n));
  while (engine->status().waits.pending < 5) std::this_thread::yield();
  client.hang_up();
  while (engine->status().clients > 0) std::this_thread::yield();
  EXPECT_EQ(engine->status().waits.owner_gone, 5u);
  EXPECT_EQ(engine->status().waits.pending, 0u);
}

TEST_P(engine_with, ends_pending_waits_and_says_bye_when_it_stops) {
  raw_client client(engine->path);
  ASSERT_TRUE(client.greet());
  const auto stream = client.open();
  for (uint64_t n = 1; n <= 5; ++n) client.send(client.wait_for(*stream, n));
  while (engine->status().waits.pending < 5) std::this_thread::yield();
  const instant from = steady_clock().now();
  engine->stop();
  EXPECT_LT((steady_clock().now() - from).ns, from_ms(1000).ns);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(client.ended_wait().code, number(errc::ShuttingDown));
  EXPECT_EQ(client.receive_as<proto::bye>()->code, number(errc::ShuttingDown));
  EXPECT_TRUE(client.ended());
}

TEST_P(engine_with, runs_every_plan_on_a_word_that_is_its_own_authority) {
  for (const std::string_view plan : {"block", "poll", "flag:park_us=100,backstop_us=1000"}) {
    engine->on_io([&](gar::engine& e) { return e.plan_set({}, *bands::parse(plan)).has_value(); });
    raw_client client(engine->path);
    ASSERT_TRUE(client.greet());
    const auto stream = client.open(proto::authority_word);
    client.send(client.wait_for(*stream, 1));
    while (engine->status().waits.pending == 0) std::this_thread::yield();
    client.store(*stream, 1);
    const auto done = client.completion();  // nobody rang
    ASSERT_TRUE(done) << plan;
    EXPECT_EQ(done->code, 0);
    EXPECT_EQ(done->confirmed, 1);
    EXPECT_EQ(done->kind == proto::kind_blocked, plan == "block");
  }
}

// ---- with the executor as shipped

TEST(engine, throws_out_who_breaks_the_protocol_and_nobody_else) {
  running_engine engine(options_for(executor_kind::gpu_reactor));
  raw_client good(engine.path);
  ASSERT_TRUE(good.greet("good"));
  const auto stream = good.open();
  good.send(good.wait_for(*stream, 1));

  const auto thrown_out = [&](const char* what, uint16_t code, auto breaks) {
    raw_client bad(engine.path);
    ASSERT_TRUE(bad.greet("bad"));
    breaks(bad);
    const auto refusal = bad.receive_as<proto::refusal>();
    ASSERT_TRUE(refusal) << what;
    EXPECT_EQ(refusal->code, code) << what;
    EXPECT_TRUE(refusal->fatal) << what;
    EXPECT_TRUE(bad.ended()) << what;
  };
  const int own_fd = good.fd();
  thrown_out("short", number(errc::MalformedMessage),
             [](raw_client& c) { c.send_bytes(std::vector<std::byte>(3)); });
  thrown_out("long", number(errc::MalformedMessage),
             [](raw_client& c) { c.send_bytes(std::vector<std::byte>(5000)); });
  thrown_out("a descriptor", number(errc::UnexpectedDescriptors),
             [&](raw_client& c) { c.send(proto::cancel{1}, std::span(&own_fd, 1)); });
  thrown_out("many descriptors", number(errc::UnexpectedDescriptors), [&](raw_client& c) {
    const int many[] = {own_fd, own_fd, own_fd, own_fd};
    c.send(proto::cancel{1}, many);
  });
  thrown_out("hello again", number(errc::OutOfState), [](raw_client& c) {
    c.send(proto::hello{1, 1, 0, "again", {}});
  });
  thrown_out("gard's own", number(errc::OutOfState),
             [](raw_client& c) { c.send(proto::closed{1}); });
  // What it sends after the mistake is not taken any more, and does not hide the refusal.
  thrown_out("more behind it", number(errc::OutOfState), [](raw_client& c) {
    c.send(proto::closed{1});
    for (int i = 0; i < 20; ++i) c.send(proto::cancel{1});
  });

  good.store(*stream, 1);
  good.ring(*stream, 1);
  EXPECT_EQ(good.ended_wait().code, 0);
  EXPECT_EQ(engine.status().clients, 1u);
}

TEST(engine, turns_away_clients_beyond_the_limit_with_the_reason) {
  engine_options o = options_for(executor_kind::gpu_reactor);
  o.settings.limits.clients = 1;
  running_engine engine(std::move(o));
  raw_client first(engine.path);
  ASSERT_TRUE(first.greet());
  raw_client second(engine.path);
  const auto refusal = second.receive_as<proto::refusal>();
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->code, number(errc::LimitClients));
  EXPECT_TRUE(second.ended());
}

TEST(engine, gives_up_on_who_says_nothing_for_a_second) {
  running_engine engine(options_for(executor_kind::gpu_reactor));
  raw_client silent(engine.path);
  const auto refusal = silent.receive_as<proto::refusal>();
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->code, number(errc::HandshakeTimeout));
}

TEST(engine, refuses_a_wait_beyond_the_naive_workers) {
  engine_options o = options_for(executor_kind::naive);
  o.settings.limits.naive_workers = 2;
  running_engine engine(std::move(o));
  raw_client client(engine.path);
  ASSERT_TRUE(client.greet());
  const auto stream = client.open();
  for (uint64_t n = 1; n <= 3; ++n) client.send(client.wait_for(*stream, n));
  const auto refusal = client.receive_as<proto::refusal>();
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->code, number(errc::LimitWaits));
  EXPECT_FALSE(refusal->fatal);
  client.store(*stream, 2);
  EXPECT_EQ(client.ended_wait().code, 0);
  EXPECT_EQ(client.ended_wait().code, 0);
  client.send(client.wait_for(*stream, 3));
  client.store(*stream, 3);
  EXPECT_EQ(client.ended_wait().code, 0);
}

TEST(engine, drops_a_client_that_does_not_read_and_keeps_the_others) {
  engine_options o = options_for(executor_kind::gpu_reactor);
  o.settings.limits.unread_bytes_per_client = unread_bytes_min;
  running_engine engine(std::move(o));
  raw_client deaf(engine.path);
  ASSERT_TRUE(deaf.greet("deaf"));
  const auto stream = deaf.open();
  constexpr uint64_t many = 4096;
  for (uint64_t n = 1; n <= many; ++n) deaf.send(deaf.wait_for(*stream, n));
  while (engine.status().waits.pending < many) std::this_thread::yield();
  for (uint64_t n = 1; n <= many; ++n) deaf.store(*stream, n);
  while (engine.status().clients > 0) std::this_thread::yield();
  raw_client other(engine.path);
  ASSERT_TRUE(other.greet("other"));
}

TEST(engine, drops_nobody_for_the_plans_that_it_publishes) {
  engine_options o = options_for(executor_kind::gpu_reactor);
  o.settings.limits.unread_bytes_per_client = unread_bytes_min;
  constexpr size_t points = 1000;  // several times what may wait unread
  for (size_t i = 0; i < points; ++i) {
    o.settings.plans.push_back(
        {{std::nullopt, "point " + std::to_string(i)}, *bands::parse(plan_as_shipped)});
  }
  running_engine engine(std::move(o));
  raw_client client(engine.path);
  ASSERT_TRUE(client.greet("late reader"));
  ASSERT_TRUE(client.open());
}

TEST(engine, answers_an_ask_without_a_hello_in_as_many_frames_as_it_takes) {
  engine_options o = options_for(executor_kind::gpu_reactor);
  const std::string big = "[\"" + std::string(5 << 20, 'x') + "\"]";
  uint32_t asked_by = 1;
  o.answer = [&](std::string_view json, request_scope scope) {
    EXPECT_EQ(json, "{}");
    EXPECT_TRUE(scope.read_only);
    asked_by = scope.uid.value_or(0);
    return big;
  };
  running_engine engine(std::move(o));
  raw_client asks(engine.path);
  asks.send(proto::ask{9, "{}"});
  std::string whole;
  do {
    const auto part = asks.receive_as<proto::answer>();
    ASSERT_TRUE(part);
    EXPECT_EQ(part->cookie, 9u);
    ASSERT_EQ(part->offset_bytes, whole.size());
    EXPECT_EQ(part->total_bytes, big.size());
    whole += part->part;
  } while (whole.size() < big.size());
  EXPECT_EQ(whole, big);
  EXPECT_EQ(asked_by, ::geteuid());
  EXPECT_EQ(engine.status().clients, 0u);
}

TEST(engine, publishes_a_changed_plan_and_its_generation) {
  running_engine engine(options_for(executor_kind::gpu_reactor));
  raw_client client(engine.path);
  ASSERT_TRUE(client.greet("a"));
  const result<uint64_t> set = engine.on_io([](gar::engine& e) {
    return e.plan_set({"a", {}}, *bands::parse("poll"));
  });
  ASSERT_TRUE(set.has_value());
  EXPECT_EQ(*set, client.plans.back().generation + 1);
  const auto first = client.receive_as<proto::plan_scope>();
  const auto second = client.receive_as<proto::plan_scope>();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->text, quick_plan);
  EXPECT_EQ(second->text, "poll");
  EXPECT_EQ(second->scope, proto::scope_client);
  EXPECT_EQ(second->generation, *set);
  EXPECT_EQ(client.state->generation(), *set);
}

TEST(engine, leaves_everything_as_it_was_when_a_reload_fails) {
  engine_options o = options_for(executor_kind::gpu_reactor);
  bool good = false;
  o.reload = [&]() -> result<engine_settings> {
    if (!good) return error(errc::InvalidConfig, {"gard.toml", "1", "1", "no"});
    return engine_settings{{{{}, *bands::parse("block")}}, {}};
  };
  running_engine engine(std::move(o));
  const auto reload = [&] { return engine.on_io([](gar::engine& e) { return e.reload(false); }); };
  EXPECT_EQ(reload().error().code(), errc::InvalidConfig);
  EXPECT_EQ(engine.status().plan.requested, quick_plan);
  good = true;
  ASSERT_TRUE(reload().has_value());
  EXPECT_EQ(engine.status().plan.requested, "block");
}

// What is asked about is what is open, not what may be opened now.
TEST(engine, takes_an_answer_about_each_stream_though_a_reload_allows_fewer) {
  engine_options o = options_for(executor_kind::gpu_reactor);
  o.reload = []() -> result<engine_settings> {
    engine_settings fewer{{{{}, *bands::parse(quick_plan)}}, {}};
    fewer.limits.streams_per_client = 1;
    return fewer;
  };
  running_engine engine(std::move(o));
  raw_client client(engine.path);
  client.patience_ms = 30'000;
  ASSERT_TRUE(client.greet());
  constexpr size_t streams = 8;
  for (size_t i = 0; i < streams; ++i) {
    const auto stream = client.open();
    ASSERT_TRUE(stream);
    client.send(client.wait_for(*stream, 1));
  }
  const auto asked_about_each = [&] {
    std::map<uint32_t, proto::probe_entry> asked;
    while (asked.size() < streams) {
      const auto probes = client.receive_as<proto::probes>();
      if (!probes) break;
      for (const proto::probe_entry& p : probes->entries) asked[p.stream] = p;
    }
    return asked;
  };
  const auto asked = asked_about_each();
  ASSERT_EQ(asked.size(), streams);
  ASSERT_TRUE(engine.on_io([](gar::engine& e) { return e.reload(false); }).has_value());
  proto::statuses all;
  for (const auto& [stream, probe] : asked) {
    all.entries.push_back(answer_to(probe, proto::probe_pending).entries.at(0));
  }
  client.send(all);
  EXPECT_EQ(asked_about_each().size(), streams);
}

// Each connection could leave a whole answer unread: gigabytes, for a user with a thousand of them.
// A user's answers of 40 MiB are made at a quarter of a thread: slowly, where that one is slow.
bool has_answer(raw_client& client) {
  constexpr int patience = 10;
  for (int i = 0; i < patience; ++i) {
    if (client.receive_as<proto::answer>()) return true;
  }
  return false;
}

TEST(engine, keeps_no_more_answers_that_a_user_does_not_read_than_one_user_may_leave) {
#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "a sanitized gard makes 40 MiB of answers more slowly than a client waits";
#endif
#endif
  engine_options o = options_for(executor_kind::gpu_reactor);
  o.answer = [](std::string_view, const request_scope&) { return std::string(8 << 20, ' '); };
  running_engine engine(std::move(o));
  std::vector<std::unique_ptr<raw_client>> deaf;
  for (int i = 0; i < 5; ++i) {
    deaf.push_back(std::make_unique<raw_client>(engine.path));
    deaf.back()->send(proto::ask{1, "{}"});
    ASSERT_TRUE(has_answer(*deaf.back()));
  }
  raw_client next(engine.path);
  next.send(proto::ask{7, "{}"});
  const auto refusal = next.receive_as<proto::refusal>();
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->code, number(errc::LimitPerUser));
  EXPECT_EQ(refusal->cookie, 7u);
  EXPECT_FALSE(refusal->fatal);
  deaf.pop_back();
  for (int i = 0; i < 1000; ++i) {
    next.send(proto::ask{8, "{}"});
    const auto answer = next.receive();
    ASSERT_TRUE(answer);
    if (std::holds_alternative<proto::answer>(*answer)) return;
  }
  FAIL() << "no answer though there is room again";
}

// Each SIGHUP that came was a reload in front of the SIGTERM behind it.
TEST(engine, stops_at_once_however_many_reloads_were_asked_for) {
  std::atomic<int> reloads = 0;
  engine_options o = options_for(executor_kind::gpu_reactor);
  o.reload = [&]() -> result<engine_settings> {
    ++reloads;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return engine_settings{};
  };
  running_engine engine(std::move(o));
  (void)engine.status();  // it runs, so signals are its own
  constexpr int many = 200;
  for (int i = 0; i < many; ++i) ASSERT_EQ(::raise(SIGHUP), 0);
  ASSERT_EQ(::raise(SIGTERM), 0);
  engine.wait();
  EXPECT_LT(reloads, many / 2);
}

TEST(engine, does_not_start_where_another_answers) {
  running_engine engine(options_for(executor_kind::gpu_reactor));
  engine_options o = options_for(executor_kind::gpu_reactor);
  o.socket_path = engine.path;
  const auto second = gar::engine::make(std::move(o));
  ASSERT_TRUE(second.has_error());
  EXPECT_EQ(second.error().code(), errc::AlreadyRunning);
}

TEST(engine, refuses_under_strict_what_the_host_cannot_run_and_falls_back_otherwise) {
  const auto without_word_wait = [] {
    engine_options o = options_for(executor_kind::gpu_reactor);
    o.software_word_wait = false;
    return o;
  };
  {
    running_engine engine(without_word_wait());
    const status_snapshot status = engine.status();
    if (status.word_wait.hardware) GTEST_SKIP() << "this host has a hardware word wait";
    EXPECT_EQ(status.executor.running, "naive");
    EXPECT_EQ(status.word_wait.kind, "none");
    ASSERT_TRUE(status.executor.warning);
    EXPECT_EQ(status.executor.warning->code(), errc::ExecutorFallback);
    EXPECT_EQ(status.plan.running, "poll");
  }
  const temporary_directory directory;
  engine_options o = without_word_wait();
  o.socket_path = directory.file("gard.sock");
  o.strictness = strictness::strict;
  const auto refused = gar::engine::make(std::move(o));
  ASSERT_TRUE(refused.has_error());
  EXPECT_EQ(refused.error().code(), errc::ExecutorRefused);
}

// Before the engine has threads a process is made that connects, hands its socket to a child, and
// dies: the socket stays open, and only the process's end tells.
void drops_a_dead_process_whose_socket_lives_on(executor_kind kind) {
  const temporary_directory directory;
  const std::string path = directory.file("gard.sock");
  const pid_t owner = ::fork();
  ASSERT_GE(owner, 0);
  if (owner == 0) {
    std::optional<raw_client> client;  // the socket may be there before anybody listens
    for (int i = 0; i < 2000 && !client; ++i) {
      if (std::filesystem::exists(path)) client.emplace(path);
      if (client && !client->greet("owner")) client.reset();
      if (!client) ::usleep(1000);
    }
    if (!client) ::_exit(1);
    client->send(client->wait_for(*client->open(), 1));
    if (::fork() == 0) {
      ::usleep(3'000'000);
      ::_exit(0);
    }
    ::usleep(50'000);
    ::_exit(0);
  }
  engine_options o = options_for(kind);
  o.socket_path = path;
  result<std::unique_ptr<gar::engine>> made = gar::engine::make(std::move(o));
  ASSERT_TRUE(made.has_value());
  gar::engine& e = **made;
  std::thread io([&] { (void)e.run(); });
  const auto status = [&] {
    std::promise<status_snapshot> got;
    boost::asio::post(e.io(), [&] { got.set_value(e.status(request_scope::control())); });
    return got.get_future().get();
  };
  const instant give_up = steady_clock().now() + from_ms(2500);
  while (status().waits.owner_gone == 0 && steady_clock().now() < give_up) ::usleep(1000);
  EXPECT_EQ(status().waits.owner_gone, 1u);
  boost::asio::post(e.io(), [&] { e.stop(); });
  io.join();
  int ended = 0;
  ::waitpid(owner, &ended, 0);
  EXPECT_EQ(ended, 0);
}

TEST(engine, drops_a_dead_process_whose_socket_lives_on) {
  drops_a_dead_process_whose_socket_lives_on(executor_kind::gpu_reactor);
}

TEST(engine, drops_a_dead_process_whose_socket_lives_on_in_its_ring) {
  drops_a_dead_process_whose_socket_lives_on(executor_kind::io_uring);
}

}  // namespace
}  // namespace gar::test
