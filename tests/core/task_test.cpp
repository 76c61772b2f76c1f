// Tasks and the pool their frames come from.
#include "lib/core/task.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "lib/core/inline_host.hpp"

namespace gar {
namespace {

inline_host::task<int> value(inline_host&, int v) {
  co_return v;
}
inline_host::task<> nothing(inline_host&) {
  co_return;
}

TEST(task, does_not_start_before_it_is_run) {
  struct marks {
    static inline_host::task<> run(inline_host&, bool& ran) {
      ran = true;
      co_return;
    }
  };
  inline_host host;
  bool ran = false;
  {
    inline_host::task<> t = marks::run(host, ran);
    EXPECT_FALSE(ran);
  }
  EXPECT_FALSE(ran) << "and one that is dropped never runs";
  ASSERT_TRUE(host.run(marks::run(host, ran), "here").has_value());
  EXPECT_TRUE(ran);
}

TEST(task, moves_and_the_moved_from_is_empty) {
  inline_host host;
  inline_host::task<int> a = value(host, 1);
  inline_host::task<int> b = value(host, 2);
  b = std::move(a);
  EXPECT_EQ(*host.run(std::move(b), "here"), 1);
}

TEST(task, awaits_a_result_as_something_that_is_ready) {
  struct adds {
    static inline_host::task<result<int>> run(inline_host&, result<int> a, result<int> b) {
      result<int> first = co_await a;
      if (!first) co_return first;
      result<int> second = co_await std::move(b);
      if (!second) co_return second;
      co_return *first + *second;
    }
  };
  inline_host host;
  EXPECT_EQ(*host.run(adds::run(host, 1, 2), "here"), 3);
  EXPECT_EQ(host.run(adds::run(host, 1, error(errc::Cancelled)), "here").error().code(),
            errc::Cancelled);
}

TEST(task, returns_a_const_result_as_what_it_is) {
  struct returns {
    static inline_host::task<result<bool>> run(inline_host&, result<bool> answer) {
      const result<bool> kept = answer;
      co_return kept;
    }
  };
  inline_host host;
  const result<bool> failed = host.run(returns::run(host, error(errc::Cancelled)), "here");
  ASSERT_TRUE(failed.has_error()) << "a failure came out as an answer";
  EXPECT_EQ(failed.error().code(), errc::Cancelled);
  EXPECT_FALSE(host.run(returns::run(host, false), "here").value());
  EXPECT_TRUE(host.run(returns::run(host, true), "here").value());
}

TEST(task, throws_where_it_is_run) {
  struct throws {
    static inline_host::task<int> run(inline_host&) {
      throw std::runtime_error("as told");
      co_return 0;
    }
  };
  inline_host host;
  EXPECT_THROW((void)host.run(throws::run(host), "here"), std::runtime_error);
  EXPECT_EQ(*host.run(value(host, 3), "here"), 3) << "the host is as good as before";
}

TEST(task, nests_deeply) {
  struct nests {
    static inline_host::task<int> run(inline_host& host, int depth) {
      if (depth == 0) co_return 0;
      const int below = co_await run(host, depth - 1);
      co_return below + 1;
    }
  };
  inline_host host;
  EXPECT_EQ(*host.run(nests::run(host, 200), "here"), 200);
}

TEST(task_death, awaiting_a_task_that_has_ended_is_a_bug) {
  struct twice {
    static inline_host::task<> run(inline_host&, inline_host::task<int>& t) {
      (void)co_await t;
      (void)co_await t;
    }
  };
  EXPECT_DEATH(
      {
        inline_host host;
        inline_host::task<int> t = value(host, 1);
        (void)host.run(twice::run(host, t), "here");
      },
      "assertion failed");
}

TEST(inline_host, a_task_that_suspends_is_pended_inline_and_its_frame_is_destroyed) {
  struct guard {
    bool* destroyed;
    ~guard() { *destroyed = true; }
  };
  struct pends {
    static inline_host::task<int> run(inline_host&, bool& destroyed) {
      guard g{&destroyed};
      co_await std::suspend_always{};
      co_return 1;
    }
  };
  inline_host host;
  bool destroyed = false;
  const result<int> r = host.run(pends::run(host, destroyed), "worker");
  ASSERT_TRUE(r.has_error());
  EXPECT_EQ(r.error(), error(errc::PendedInline, {"worker"}));
  EXPECT_TRUE(destroyed);
}

TEST(frame_pool, hands_a_freed_frame_to_the_next_of_its_size) {
  frame_pool pool;
  void* first = frame_pool::allocate(&pool, 200);
  frame_pool::release(first);
  EXPECT_EQ(frame_pool::allocate(&pool, 250), first);
  void* bigger = frame_pool::allocate(&pool, 257);
  EXPECT_NE(bigger, first);
  EXPECT_EQ(pool.frames_made(), 2u);
  frame_pool::release(first);
  frame_pool::release(bigger);
  EXPECT_EQ(frame_pool::allocate(&pool, 256), first);
  frame_pool::release(first);
}

TEST(frame_pool, frames_are_aligned_for_anything) {
  frame_pool pool;
  std::vector<void*> frames;
  for (size_t bytes : {1, 256, 300, 5000, 8192, 9000}) {
    frames.push_back(frame_pool::allocate(&pool, bytes));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(frames.back()) % __STDCPP_DEFAULT_NEW_ALIGNMENT__, 0u);
  }
  for (void* f : frames) frame_pool::release(f);
}

TEST(frame_pool, a_frame_larger_than_any_class_or_without_a_pool_is_the_heaps) {
  frame_pool pool;
  void* large = frame_pool::allocate(&pool, 8193);
  void* loose = frame_pool::allocate(nullptr, 100);
  EXPECT_EQ(pool.frames_made(), 0u);
  frame_pool::release(large);
  frame_pool::release(loose);
}

TEST(frame_pool, serves_tasks_whose_first_argument_is_their_host) {
  inline_host host;
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(host.run(nothing(host), "here").has_value());
    ASSERT_TRUE(host.run(value(host, i), "here").has_value());
  }
  // One of each, unless they are of one size.
  const uint64_t made = host.frames().frames_made();
  EXPECT_LE(made, 2u);
  struct member {
    inline_host::task<> run(inline_host&) { co_return; }
  } m;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(host.run(m.run(host), "here").has_value());
  EXPECT_LE(host.frames().frames_made(), made + 1) << "or the first after this";
}

}  // namespace
}  // namespace gar
