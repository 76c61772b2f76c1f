// Task: a wait, or any other work between waits, written as a C++20 coroutine.
//
// One task type per host: `basic_task<reactor, T>` may suspend and is resumed by its reactor;
// `basic_task<inline_host, T>` runs on the thread that calls it and never suspends. A task starts
// when it is first awaited, spawned or run, and is owned by whoever holds the object.
//
// A coroutine whose first parameter (or first after `this`) is its host, or an object with
// `frames()`, takes its frame from that pool.
//
// Inside a task, `co_await` takes another task of the same host, an awaitable of the host, or a
// plain result<T>, which is ready at once: so one wait driver serves ports that block and ports
// that suspend.
//
// Errors: an exception that leaves a task is kept and thrown again where the task is awaited.
// Threads: a task runs on its host's thread only.
#pragma once

#include <concepts>
#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "lib/core/error.hpp"
#include "lib/core/frame_pool.hpp"

namespace gar {

template <class Host, class T = void>
class basic_task;

namespace detail {

template <class T>
struct outcome {
  using type = result<T>;
};
template <class T>
struct outcome<result<T>> {
  using type = result<T>;
};

}  // namespace detail

// What running a task of T to its end gives: result<T>, or T itself where it is a result already.
template <class T>
using outcome_of = typename detail::outcome<T>::type;

namespace detail {

template <class T>
struct ready_result {
  result<T> value;
  bool await_ready() const noexcept { return true; }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  result<T> await_resume() { return std::move(value); }
};

template <class Host>
struct promise_base {
  typename Host::root* root = nullptr;  // the outermost task this one works for
  std::coroutine_handle<> continuation;
  std::exception_ptr failure;

  template <has_frames P, class... A>
  static void* operator new(size_t bytes, P& pooled, const A&...) {
    return frame_pool::allocate(&pooled.frames(), bytes);
  }
  template <class Self, has_frames P, class... A>
  requires(!has_frames<Self>) static void* operator new(size_t bytes, const Self&, P& pooled,
                                                        const A&...) {
    return frame_pool::allocate(&pooled.frames(), bytes);
  }
  static void* operator new(size_t bytes) { return frame_pool::allocate(nullptr, bytes); }
  static void operator delete(void* frame) { frame_pool::release(frame); }

  std::suspend_always initial_suspend() const noexcept { return {}; }

  struct at_end {
    bool await_ready() const noexcept { return false; }
    template <class P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> ended) const noexcept {
      std::coroutine_handle<> next = ended.promise().continuation;
      return next ? next : std::noop_coroutine();
    }
    void await_resume() const noexcept {}
  };
  at_end final_suspend() const noexcept { return {}; }
  void unhandled_exception() { failure = std::current_exception(); }

  template <class U>
  ready_result<U> await_transform(result<U> value) {
    return {std::move(value)};
  }
  template <class A>
  A&& await_transform(A&& awaitable) {
    return static_cast<A&&>(awaitable);
  }
};

template <class Host, class T>
struct promise : promise_base<Host> {
  std::optional<T> value;

  basic_task<Host, T> get_return_object();
  // A T as it is: a const result<bool> must not pass for the bool that it converts to.
  void return_value(const T& v) { value.emplace(v); }
  void return_value(T&& v) { value.emplace(std::move(v)); }
  template <class U>
  requires(!std::same_as<std::remove_cvref_t<U>, T>) void return_value(U&& v) {
    value.emplace(std::forward<U>(v));
  }
  T take() {
    if (this->failure) std::rethrow_exception(this->failure);
    return std::move(*value);
  }
};

template <class Host>
struct promise<Host, void> : promise_base<Host> {
  basic_task<Host, void> get_return_object();
  void return_void() const noexcept {}
  void take() {
    if (this->failure) std::rethrow_exception(this->failure);
  }
};

}  // namespace detail

template <class Host, class T>
class [[nodiscard]] basic_task {
 public:
  using promise_type = detail::promise<Host, T>;
  using handle = std::coroutine_handle<promise_type>;
  using value_type = T;

  explicit basic_task(handle frame) : frame_(frame) {}
  basic_task(basic_task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  basic_task& operator=(basic_task&& other) noexcept {
    if (this != &other) {
      if (frame_) frame_.destroy();
      frame_ = std::exchange(other.frame_, nullptr);
    }
    return *this;
  }
  ~basic_task() {
    if (frame_) frame_.destroy();
  }

  handle frame() const { return frame_; }
  // Gives the frame away; the caller destroys it.
  handle release() { return std::exchange(frame_, nullptr); }

  struct awaiter {
    handle child;
    bool await_ready() const noexcept { return false; }
    template <class P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> parent) const noexcept {
      static_assert(std::is_base_of_v<detail::promise_base<Host>, P>,
                    "a task awaits tasks of its own host");
      GAR_ASSERT(child && !child.done());
      child.promise().continuation = parent;
      child.promise().root = parent.promise().root;
      return child;
    }
    T await_resume() const { return child.promise().take(); }
  };
  awaiter operator co_await() const noexcept { return {frame_}; }

 private:
  handle frame_;
};

namespace detail {

template <class Host, class T>
basic_task<Host, T> promise<Host, T>::get_return_object() {
  return basic_task<Host, T>(std::coroutine_handle<promise>::from_promise(*this));
}
template <class Host>
basic_task<Host, void> promise<Host, void>::get_return_object() {
  return basic_task<Host, void>(std::coroutine_handle<promise>::from_promise(*this));
}

}  // namespace detail
}  // namespace gar
