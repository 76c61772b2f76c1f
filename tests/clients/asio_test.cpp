// gar_asio.hpp: waits with Asio's completion tokens, in-process and through a gard.
#include <fcntl.h>

#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/promise.hpp>
#include <boost/asio/experimental/use_promise.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <latch>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "clients/garclient/gar_asio.hpp"
#include "tests/clients/loop_fixture.hpp"

namespace gar::test {
namespace {

namespace asio = boost::asio;
namespace errc = boost::system::errc;
using boost::system::error_code;
using namespace std::chrono_literals;

constexpr uint64_t ms = 1'000'000;

class asio_waits : public loop_fixture {};
INSTANTIATE_TEST_SUITE_P(where, asio_waits, ::testing::Bool(), where_name);
class asio_waits_of_gard : public loop_fixture {};
INSTANTIATE_TEST_SUITE_P(where, asio_waits_of_gard, ::testing::Values(true), where_name);

// What a handler was told.
struct told {
  int count = 0;
  error_code error;
  gar_report report{};

  auto handler() {
    return [this](error_code e, gar_report r) {
      ++count;
      error = e;
      report = r;
    };
  }
};

TEST_P(asio_waits, a_callback_is_told_once_its_work_is_done) {
  asio::io_context io;
  asio_client client(io, options());
  stream s = client.open_sim(queue());
  uint64_t truth = 0;
  gar_sim_queue* const q = queue();
  stream other = client.open_sim(q);
  work(q, 3 * ms, &truth);
  told t;
  async_wait(other, other.record(), t.handler());
  io.run();
  EXPECT_EQ(t.count, 1);
  EXPECT_FALSE(t.error) << t.error.message();
  EXPECT_EQ(truth, 1u);
  EXPECT_GT(t.report.wait_ns, 0u);
  EXPECT_EQ(t.report.in_process, GetParam() ? 0 : 1);
}

TEST_P(asio_waits, what_is_done_or_refused_already_is_posted_and_not_called_inline) {
  asio::io_context io;
  asio_client client(io, options());
  stream s = client.open_word();
  const uint64_t done = s.record();
  s.signal(done);
  told at_once, refused, inlined;
  wait_options run_inline;
  run_inline.run_inline = true;
  async_wait(s, done, at_once.handler());
  async_wait(s, done + 1, refused.handler());
  async_wait(s, done, inlined.handler(), run_inline);
  EXPECT_EQ(at_once.count + refused.count + inlined.count, 0);
  io.run();
  EXPECT_EQ(at_once.count, 1);
  EXPECT_FALSE(at_once.error);
  EXPECT_EQ(at_once.report.kind, GAR_KIND_IMMEDIATE);
  EXPECT_EQ(refused.error, error_code(GAR_E_INVALID_ARGUMENT, error_category()));
  EXPECT_EQ(refused.error, errc::invalid_argument);
  EXPECT_EQ(inlined.error, errc::invalid_argument);
}

TEST_P(asio_waits, a_future_has_the_report) {
  asio::thread_pool pool(1);
  asio_client client(pool.get_executor(), options());
  stream s = client.open_word();
  const uint64_t sequence = s.record();
  std::future<gar_report> good = async_wait(s, sequence, asio::use_future);
  s.signal(sequence);
  EXPECT_GT(good.get().wait_ns, 0u);
}

TEST_P(asio_waits, a_future_throws_what_failed) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "Asio lets go of the exception on a thread of its own, and libstdc++ counts its "
                  "owners in code that no sanitizer sees";
#endif
#endif
  asio::io_context io;
  asio_client client(io, options());
  stream never = client.open_word();
  std::future<gar_report> late =
      async_wait(never, never.record(), asio::use_future, {.timeout = 1ms});
  io.run();
  try {
    late.get();
    FAIL() << "it was never signalled";
  } catch (const boost::system::system_error& e) {
    EXPECT_EQ(e.code(), errc::timed_out);
    EXPECT_EQ(to_error_number(e.code()), GAR_E_TIMED_OUT);
  }
}

TEST_P(asio_waits, a_timeout_that_was_over_before_is_one) {
  asio::io_context io;
  asio_client client(io, options());
  stream never = client.open_word();
  told t;
  async_wait(never, never.record(), t.handler(), {.timeout = -1ns});
  io.run_for(30s);
  EXPECT_EQ(t.count, 1);
  EXPECT_EQ(t.error, errc::timed_out);
}

TEST_P(asio_waits, coroutines_await_and_catch) {
  asio::io_context io;
  asio_client client(io, options());
  gar_sim_queue* const q = queue();
  stream s = client.open_sim(q);
  bool ended = false;
  auto body = [&]() -> asio::awaitable<void> {
    for (int i = 0; i < 5; ++i) {
      uint64_t truth = 0;
      work(q, 1 * ms, &truth);
      co_await async_wait(s, s.record(), asio::use_awaitable);
      EXPECT_EQ(truth, 1u);
    }
    work(q, 1 * ms);
    const wait_options patient{.point = "readback", .timeout = 30s};
    co_await async_wait(s, s.record(), asio::use_awaitable, patient);
    work(q, 1 * ms);
    co_await async_wait(s, s.record(), asio::use_awaitable, {.point = "in place", .timeout = 30s});
    failure::check(gar_sim_fault(q, GAR_SIM_FAULT_DEVICE_ERROR, 700));
    work(q, 1 * ms);
    auto [error, report] = co_await async_wait(s, s.record(), asio::as_tuple(asio::use_awaitable));
    EXPECT_EQ(error, error_code(GAR_E_BACKEND, error_category())) << error.message();
    ended = true;
  };
  asio::co_spawn(io, body, [](std::exception_ptr failed) {
    if (failed) std::rethrow_exception(failed);
  });
  io.run();
  EXPECT_TRUE(ended);
}

TEST_P(asio_waits, a_lazy_token_starts_when_it_is_called) {
  asio::io_context io;
  asio_client client(io, options());
  stream s = client.open_word();
  const uint64_t sequence = s.record();
  auto later = async_wait(s, sequence, asio::deferred);
  io.run();
  EXPECT_EQ(client.counters().waits, 0u);
  s.signal(sequence);
  stream moved = std::move(s);
  told t;
  std::move(later)(t.handler());
  io.restart();
  io.run();
  EXPECT_EQ(t.count, 1);
  EXPECT_FALSE(t.error);
}

// A promise runs where the initiation is associated, and is itself unsynchronised.
TEST_P(asio_waits, a_promise_is_kept_on_the_clients_context) {
  asio::io_context io;
  asio_client client(io, options());
  stream s = client.open_word();
  const uint64_t sequence = s.record();
  const auto ran_on = std::make_shared<std::atomic<std::thread::id>>();
  auto promise = async_wait(s, sequence, asio::experimental::use_promise);
  promise([ran_on](error_code e, gar_report) {
    EXPECT_FALSE(e);
    *ran_on = std::this_thread::get_id();
  });
  s.signal(sequence);
  io.run();
  EXPECT_EQ(*ran_on, std::this_thread::get_id());
}

TEST_P(asio_waits, a_promise_that_is_dropped_cancels_its_wait) {
  asio::io_context io;
  asio_client client(io, options());
  stream s = client.open_word();
  { auto dropped = async_wait(s, s.record(), asio::experimental::use_promise); }
  io.run();  // returns
}

TEST_P(asio_waits, a_client_tells_the_executor_that_serves_it) {
  asio::io_context io;
  const asio_client client(io, options());
  EXPECT_EQ(client.get_executor(), io.get_executor());
}

TEST_P(asio_waits, handlers_run_on_their_own_executor) {
  asio::io_context io;
  asio_client client(io, options());
  stream s = client.open_word();
  asio::thread_pool pool(4);
  auto strand = asio::make_strand(pool);
  constexpr int count = 200;
  std::vector<uint64_t> sequences;
  int in_strand = 0;  // the strand is its lock
  std::latch all(count);
  for (int i = 0; i < count; ++i) sequences.push_back(s.record());
  for (const uint64_t sequence : sequences) {
    async_wait(s, sequence, asio::bind_executor(strand, [&](error_code e, gar_report) {
                 EXPECT_FALSE(e);
                 if (strand.running_in_this_thread()) ++in_strand;
                 all.count_down();
               }));
  }
  s.signal(sequences.back());
  io.run();
  all.wait();
  pool.join();
  EXPECT_EQ(in_strand, count);
}

TEST_P(asio_waits, a_pending_wait_keeps_its_handlers_context_and_its_own_running_and_no_more) {
  asio::io_context serves;
  asio::io_context handles;
  asio_client client(serves, options());
  stream s = client.open_word();
  EXPECT_EQ(serves.run(), 0u);  // a client alone is no work
  const uint64_t sequence = s.record();
  std::thread::id ran_on;
  async_wait(s, sequence, asio::bind_executor(handles, [&](error_code, gar_report) {
               ran_on = std::this_thread::get_id();
             }));
  serves.restart();
  EXPECT_EQ(handles.poll(), 0u);
  EXPECT_FALSE(handles.stopped());
  serves.poll();
  EXPECT_FALSE(serves.stopped());
  std::thread server([&] { serves.run(); });
  std::thread handler([&] { handles.run(); });
  const std::thread::id expected = handler.get_id();
  s.signal(sequence);
  server.join();
  handler.join();
  EXPECT_EQ(ran_on, expected);
}

// Counts what is taken from it and given back.
template <class T>
struct counting_allocator {
  using value_type = T;
  int* taken;
  int* out;

  counting_allocator(int* t, int* o) : taken(t), out(o) {}
  template <class U>
  counting_allocator(const counting_allocator<U>& other) : taken(other.taken), out(other.out) {}
  T* allocate(size_t count) {
    ++*taken;
    ++*out;
    return std::allocator<T>().allocate(count);
  }
  void deallocate(T* at, size_t count) {
    --*out;
    std::allocator<T>().deallocate(at, count);
  }
  template <class U>
  bool operator==(const counting_allocator<U>& other) const {
    return taken == other.taken;
  }
};

TEST_P(asio_waits, the_handlers_allocator_is_used_and_has_all_back_before_the_call) {
  asio::io_context io;
  asio_client client(io, options());
  stream s = client.open_word();
  const uint64_t sequence = s.record();
  int taken = 0, out = 0, out_at_call = -1;
  async_wait(s, sequence,
             asio::bind_allocator(counting_allocator<char>(&taken, &out),
                                  [&](error_code, gar_report) { out_at_call = out; }));
  EXPECT_EQ(out, 1);
  s.signal(sequence);
  io.run();
  EXPECT_GE(taken, 1);
  EXPECT_EQ(out_at_call, 0);
}

TEST_P(asio_waits, a_cancelled_wait_ends_aborted_and_the_others_do_not) {
  asio::io_context io;
  asio_client client(io, options());
  stream s = client.open_word();
  const uint64_t sequence = s.record();
  asio::cancellation_signal signal;
  told cancelled, kept;
  async_wait(s, sequence, asio::bind_cancellation_slot(signal.slot(), cancelled.handler()));
  async_wait(s, sequence, kept.handler());
  signal.emit(asio::cancellation_type::total);
  EXPECT_EQ(cancelled.count, 0);
  while (cancelled.count == 0) io.run_one();
  EXPECT_EQ(cancelled.error, asio::error::operation_aborted);
  EXPECT_EQ(kept.count, 0);
  s.signal(sequence);
  io.run();
  EXPECT_FALSE(kept.error);
  EXPECT_EQ(cancelled.count, 1);
}

TEST_P(asio_waits, cancelling_what_is_over_does_nothing) {
  asio::cancellation_signal signal;
  told t, refused;
  {
    asio::io_context io;
    asio_client client(io, options());
    stream s = client.open_word();
    const uint64_t sequence = s.record();
    s.signal(sequence);
    async_wait(s, sequence, asio::bind_cancellation_slot(signal.slot(), t.handler()));
    io.run();
    signal.emit(asio::cancellation_type::terminal);
    io.restart();
    io.run();
    async_wait(s, sequence + 1, asio::bind_cancellation_slot(signal.slot(), refused.handler()));
    signal.emit(asio::cancellation_type::terminal);
    io.restart();
    io.run();
    EXPECT_EQ(refused.error, errc::invalid_argument);
  }
  signal.emit(asio::cancellation_type::terminal);  // after the client, and the context
  EXPECT_EQ(t.count, 1);
  EXPECT_FALSE(t.error);
}

TEST_P(asio_waits, a_coroutine_gives_a_wait_up_for_a_timer) {
  using namespace asio::experimental::awaitable_operators;
  asio::io_context io;
  asio_client client(io, options());
  stream s = client.open_word();
  size_t first = 9;
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        asio::steady_timer timer(io, 1ms);
        const auto ended = co_await (async_wait(s, s.record(), asio::use_awaitable) ||
                                     timer.async_wait(asio::use_awaitable));
        first = ended.index();
      },
      asio::detached);
  io.run();
  EXPECT_EQ(first, 1u);
}

TEST_P(asio_waits, thousands_at_once_from_many_threads_are_each_told_once) {
  constexpr int streams_count = 20, waits_each = 200, threads_count = 4;
  asio::thread_pool pool(threads_count);
  asio_client client(pool, options());
  std::vector<stream> streams;
  std::vector<std::vector<uint64_t>> sequences(streams_count);
  for (int i = 0; i < streams_count; ++i) {
    streams.push_back(client.open_word());
    for (int k = 0; k < waits_each; ++k) sequences[i].push_back(streams[i].record());
  }
  std::vector<std::atomic<int>> told(streams_count * waits_each);
  std::atomic<int> failed = 0;
  std::vector<std::thread> starters;
  for (int t = 0; t < threads_count; ++t) {
    starters.emplace_back([&, t] {
      for (int k = 0; k < waits_each; ++k) {
        for (int i = t; i < streams_count; i += threads_count) {
          async_wait(streams[i], sequences[i][k], [&, i, k](error_code e, gar_report) {
            ++told[i * waits_each + k];
            if (e) ++failed;
          });
          if (k % 2) streams[i].signal(sequences[i][k]);
        }
      }
    });
  }
  for (std::thread& s : starters) s.join();
  pool.join();  // returns when no wait is left
  EXPECT_EQ(failed, 0);
  for (const std::atomic<int>& count : told) EXPECT_EQ(count, 1);
}

TEST_P(asio_waits, waits_and_cancels_of_many_threads_leave_none_behind) {
  constexpr int threads_count = 4, rounds = 200;
  asio::thread_pool pool(2);
  asio_client client(pool, options());
  stream s = client.open_word();
  std::atomic<int> ended = 0, aborted = 0, wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < threads_count; ++t) {
    threads.emplace_back([&, t] {
      std::vector<asio::cancellation_signal> signals(rounds);
      std::latch all(rounds);
      const uint64_t sequence = s.record();
      // The signals are this thread's alone, as Asio asks; the handlers run on any.
      for (int i = 0; i < rounds; ++i) {
        async_wait(s, sequence,
                   asio::bind_cancellation_slot(signals[i].slot(), [&](error_code e, gar_report) {
                     if (e == asio::error::operation_aborted) {
                       ++aborted;
                     } else if (e) {
                       ++wrong;
                     }
                     ++ended;
                     all.count_down();
                   }));
        if (i % 2) signals[i].emit(asio::cancellation_type::terminal);
        if (i == rounds / 2 && t == 0) s.signal(sequence);
      }
      for (asio::cancellation_signal& one : signals) one.emit(asio::cancellation_type::terminal);
      all.wait();
    });
  }
  for (std::thread& one : threads) one.join();
  pool.join();
  EXPECT_EQ(ended, threads_count * rounds);
  EXPECT_GT(aborted, 0);
  EXPECT_EQ(wrong, 0);
}

TEST_P(asio_waits, one_wait_too_many_is_refused_with_its_code) {
  constexpr int most = 4096;
  asio::io_context io;
  asio_client client(io, options());
  stream s = client.open_word();
  const uint64_t sequence = s.record();
  int good = 0, refused = 0;
  for (int i = 0; i <= most; ++i) {
    async_wait(s, sequence, [&](error_code e, gar_report) {
      if (!e) ++good;
      if (e == error_code(GAR_E_LIMIT_WAITS, error_category())) ++refused;
    });
  }
  s.signal(sequence);
  io.run();
  EXPECT_EQ(good, most);
  EXPECT_EQ(refused, 1);
}

TEST_P(asio_waits, a_handler_starts_the_next_wait) {
  asio::io_context io;
  asio_client client(io, options());
  gar_sim_queue* const q = queue();
  stream s = client.open_sim(q);
  int left = 200;
  std::function<void(error_code, gar_report)> next = [&](error_code e, gar_report) {
    EXPECT_FALSE(e);
    if (--left == 0) return;
    work(q, 10'000);
    async_wait(s, s.record(), std::ref(next));
  };
  work(q, 10'000);
  async_wait(s, s.record(), std::ref(next));
  io.run();
  EXPECT_EQ(left, 0);
}

TEST_P(asio_waits, what_a_handler_throws_leaves_run_and_loses_no_other) {
  asio::io_context io;
  asio_client client(io, options());
  stream s = client.open_word();
  const uint64_t sequence = s.record();
  int called = 0;
  for (int i = 0; i < 3; ++i) {
    async_wait(s, sequence, [&](error_code, gar_report) {
      if (++called == 1) throw std::logic_error("of the first");
    });
  }
  s.signal(sequence);
  EXPECT_THROW(io.run(), std::logic_error);
  io.run();
  EXPECT_EQ(called, 3);
}

TEST_P(asio_waits, a_context_that_ends_destroys_the_handlers_and_leaves_the_client_whole) {
  auto io = std::make_unique<asio::io_context>();
  asio_client client(*io, options());
  stream s = client.open_word();
  const uint64_t sequence = s.record();
  auto alive = std::make_shared<int>(0);
  bool called = false;
  for (int i = 0; i < 100; ++i) {
    async_wait(s, sequence, [&called, alive](error_code, gar_report) { called = true; });
  }
  std::future<gar_report> broken = async_wait(s, sequence, asio::use_future);
  io->poll();
  EXPECT_EQ(alive.use_count(), 101);
  io.reset();
  EXPECT_EQ(alive.use_count(), 1);
  EXPECT_THROW(broken.get(), std::future_error);
  EXPECT_FALSE(called);
  EXPECT_NE(::fcntl(client.fd(), F_GETFD), -1);  // not closed with the context

  asio::io_context next;
  std::promise<error_code> unserved;
  told unserved_elsewhere;
  async_wait(s, sequence, [&](error_code e, gar_report) { unserved.set_value(e); });
  async_wait(s, sequence, asio::bind_executor(next, unserved_elsewhere.handler()));
  EXPECT_EQ(unserved.get_future().get(), errc::invalid_argument);  // on the system's executor
  next.run();
  EXPECT_EQ(unserved_elsewhere.error, errc::invalid_argument);
  next.restart();

  asio_client moved(next, gar::client(client));
  told t;
  async_wait(s, sequence, t.handler());
  s.signal(sequence);
  next.run();
  EXPECT_EQ(t.count, 1);
  EXPECT_FALSE(t.error);
  EXPECT_FALSE(called);
  s.wait(sequence);
}

TEST_P(asio_waits, a_context_that_ends_with_waits_ended_but_not_told_destroys_their_handlers) {
  auto io = std::make_unique<asio::io_context>();
  asio_client client(*io, options());
  stream s = client.open_word();
  const uint64_t sequence = s.record();
  auto alive = std::make_shared<int>(0);
  for (int i = 0; i < 3; ++i) {
    async_wait(s, sequence, [alive](error_code, gar_report) { FAIL() << "called"; });
  }
  s.signal(sequence);
  s.wait(sequence);
  io.reset();
  EXPECT_EQ(alive.use_count(), 1);
}

TEST_P(asio_waits, a_handler_that_owns_its_stream_and_client_takes_them_along) {
  auto io = std::make_unique<asio::io_context>();
  {
    auto client = std::make_shared<asio_client>(*io, options());
    auto s = std::make_shared<stream>(client->open_word());
    async_wait(*s, s->record(), [client, s](error_code, gar_report) { FAIL() << "called"; });
  }
  io->poll();
  io.reset();
}

TEST_P(asio_waits, a_closed_stream_and_a_client_let_go_of_end_their_waits_with_closed) {
  asio::io_context io;
  std::weak_ptr<gar_client> open;
  told t, in_other;
  {
    asio_client client(io, options());
    open = client.shared_client();
    stream s = client.open_word();
    async_wait(s, s.record(), t.handler());
    stream other = client.open_word();
    async_wait(other, other.record(), in_other.handler());
    other.close();
    EXPECT_EQ(t.count + in_other.count, 0);
  }
  EXPECT_FALSE(open.expired());  // until its waits are told
  io.run();
  EXPECT_EQ(t.count, 1);
  EXPECT_EQ(t.error, error_code(GAR_E_CLOSED, error_category()));
  EXPECT_EQ(t.error, errc::operation_canceled);
  EXPECT_EQ(in_other.error, t.error);
  EXPECT_TRUE(open.expired());
}

TEST_P(asio_waits, a_client_may_outlive_a_context_that_served_it_idle) {
  auto io = std::make_unique<asio::io_context>();
  asio_client client(*io, options());
  stream s = client.open_word();
  const uint64_t sequence = s.record();
  s.signal(sequence);
  told t;
  async_wait(s, sequence, t.handler());
  io->run();
  io.reset();
  EXPECT_EQ(t.count, 1);
  s.wait(sequence);
}

TEST_P(asio_waits_of_gard, one_that_dies_fails_no_wait) {
  asio::io_context io;
  asio_client client(io, options());
  gar_sim_queue* const q = queue();
  stream s = client.open_sim(q);
  int good = 0;
  std::vector<uint64_t> truths(50);
  for (uint64_t& truth : truths) {
    work(q, 2 * ms, &truth);
    async_wait(s, s.record(), [&](error_code e, gar_report) {
      EXPECT_FALSE(e) << e.message();
      EXPECT_EQ(truth, 1u);
      if (++good == 5) gard_->kill(SIGKILL);
    });
  }
  io.run();
  EXPECT_EQ(good, 50);
  work(q, 1 * ms);
  told t;
  async_wait(s, s.record(), t.handler());
  io.restart();
  io.run();
  EXPECT_FALSE(t.error);
}

TEST_P(asio_waits, a_client_that_nobody_serves_is_refused_and_one_is_served_once) {
  asio::io_context io;
  gar::client plain(options());
  stream s = plain.open_word();
  asio_client client(io, options());
  std::promise<error_code> refused;
  async_wait(s, s.record(), [&](error_code e, gar_report) { refused.set_value(e); });
  EXPECT_EQ(refused.get_future().get(), errc::invalid_argument);  // on the system's executor
  stream pending = client.open_word();
  const uint64_t sequence = pending.record();
  told t;
  async_wait(pending, sequence, t.handler());
  EXPECT_THROW(asio_client(io, gar::client(client)), failure);
  pending.signal(sequence);
  io.run();
}

TEST(asio_errors, numbers_and_codes_are_each_others) {
  EXPECT_FALSE(to_error_code(0));
  EXPECT_EQ(to_error_number({}), 0);
  EXPECT_EQ(to_error_code(GAR_E_CANCELLED), asio::error::operation_aborted);
  EXPECT_EQ(to_error_number(asio::error::operation_aborted), GAR_E_CANCELLED);
  for (int number = 1; number < 0x40; ++number) {
    EXPECT_EQ(to_error_number(to_error_code(number)), number);
    const std::string said = error_code(number, error_category()).message();
    EXPECT_EQ(said.find('{'), std::string::npos) << said;
    EXPECT_EQ(said.find(".."), std::string::npos) << said;
  }
  EXPECT_EQ(to_error_number(asio::error::eof), std::nullopt);
  const error_code late = to_error_code(GAR_E_TIMED_OUT);
  EXPECT_EQ(late, errc::timed_out);
  EXPECT_NE(late, errc::operation_canceled);
  EXPECT_NE(to_error_code(GAR_E_BACKEND), errc::timed_out);
  EXPECT_NE(to_error_code(GAR_E_INVALID_ARGUMENT).message().find("moved from"), std::string::npos);
  EXPECT_STREQ(late.category().name(), "gar");
  EXPECT_EQ(late.message(), "TimedOut: the wait passed its timeout");
  const std::error_code as_std = late;
  EXPECT_EQ(as_std.message(), late.message());
}

}  // namespace
}  // namespace gar::test
