// gar.hpp - gar.h for C++17 and later: handles that close themselves, failures that are thrown.
//
//   gar::client client;
//   gar::stream stream = client.open_sim(queue);
//   const uint64_t sequence = stream.record();
//   stream.wait(sequence);                    // returns when that work is done
//
// Header only, over the C interface alone; needs no other library. Waits that an event loop awaits
// are in gar_asio.hpp (Boost.Asio's completion tokens) and gar_await.hpp (coroutines, no library).
//
// Failures: a call that fails throws `gar::failure`, with the registry's number and the text that
// gar_last_error had. Exceptions and not an expected-like result, because constructors have no
// other way to fail, and because a program can rarely do more about a failed wait than let it end
// the work around it. What is ordinary is not thrown: a timeout is an empty answer of `wait_for`.
// Ownership: a stream keeps its client; what it was opened on (queue, device) is the program's and
// must live until the stream is closed. Threads: as gar.h says.
#ifndef GAR_HPP
#define GAR_HPP

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "gar.h"

namespace gar {

// A call that failed. `number()` is one of gar_errors.h.
class failure : public std::runtime_error {
 public:
  failure(int number, const std::string& text) : std::runtime_error(text), number_(number) {}

  int number() const noexcept { return number_; }
  // "TimedOut", "Backend", ...
  const char* name() const noexcept { return gar_error_name(number_); }

  // Throws what the calling thread's last call failed with, unless `number` is 0.
  static void check(int number) {
    if (number == 0) return;
    char text[1024];
    gar_last_error(text, sizeof(text));
    throw failure(number, text);
  }

 private:
  int number_;
};

// What an error number says by itself, as a completion has it: a whole sentence, without the
// arguments that a call's own text names.
inline std::string error_summary(int number) {
  return gar_error_text(number);
}

// The name of a readback point: 1..63 bytes of UTF-8, or none. What is longer is cut where gar.h
// still refuses it. Trivially copyable, since g++ before 13 copies the temporaries of a co_await
// bitwise.
class point_name {
 public:
  point_name() = default;
  point_name(std::string_view text) {
    std::copy_n(text.data(), std::min(text.size(), sizeof(text_) - 1), text_);
  }
  point_name(const char* text) : point_name(std::string_view(text ? text : "")) {}
  point_name(const std::string& text) : point_name(std::string_view(text)) {}

  // NULL: none.
  const char* c_str() const noexcept { return text_[0] ? text_ : nullptr; }

 private:
  char text_[65] = {};
};

// What a wait may be told; what is left out is as in gar.h.
struct wait_options {
  point_name point{};                   // the readback point
  std::optional<uint32_t> rows{};       // of this wait's batch
  std::chrono::nanoseconds timeout{0};  // from now; 0: none; below 0: over already
  bool run_inline = false;              // on the calling thread, whatever the plan

  gar_wait_options to_c() const {
    gar_wait_options o{};
    o.struct_bytes = sizeof(o);
    o.timeout_ns = timeout.count() < 0 ? 1 : static_cast<uint64_t>(timeout.count());
    o.point = point.c_str();
    o.rows = rows.value_or(0);
    o.flags = (rows ? GAR_WAIT_ROWS : 0) | (run_inline ? GAR_WAIT_INLINE : 0);
    return o;
  }
};
static_assert(std::is_trivially_copyable_v<wait_options>);

namespace detail {

class pending_waits;  // gar_pending.hpp

// Closes a client with its last copy and its last stream, and then lets go of its pending waits.
struct client_closer {
  std::shared_ptr<pending_waits> waits{};  // of who takes its completions; none: the program does

  void operator()(gar_client* c) {
    gar_close(c);
    waits.reset();
  }
};

}  // namespace detail

// One stream. Moved, not copied. Closing blocks while its work runs, whoever closes: `close`, the
// destructor, and the assignment of another stream.
class stream {
 public:
  // Takes over a handle that was opened on `client`.
  stream(std::shared_ptr<gar_client> client, gar_stream* handle)
      : client_(std::move(client)), handle_(handle) {}
  stream(stream&& other) noexcept
      : client_(std::move(other.client_)), handle_(std::exchange(other.handle_, nullptr)) {}
  // Closes the stream that was here: blocks while its work runs.
  stream& operator=(stream&& other) noexcept {
    if (this != &other) {
      gar_stream_close(handle_);
      client_ = std::move(other.client_);
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  // Blocks while the stream's work runs.
  ~stream() { gar_stream_close(handle_); }

  gar_stream* get() const noexcept { return handle_; }
  // Keeps the client open.
  const std::shared_ptr<gar_client>& shared_client() const noexcept { return client_; }

  // Blocks while the stream's work runs, like the destructor, but says when the device did not
  // settle.
  void close() { failure::check(gar_stream_close(std::exchange(handle_, nullptr))); }

  // The number of the stream's work so far.
  uint64_t record() {
    uint64_t sequence = 0;
    failure::check(gar_record(handle_, &sequence));
    return sequence;
  }
  // Of a stream whose word is its own authority.
  void signal(uint64_t sequence) { failure::check(gar_signal(handle_, sequence)); }

  bool query(uint64_t sequence) const {
    int done = 0;
    failure::check(gar_query(handle_, sequence, &done));
    return done != 0;
  }

  // Blocks until the work recorded under `sequence` is done. A timeout is thrown as TimedOut.
  gar_report wait(uint64_t sequence, const wait_options& options = {}) {
    const gar_wait_options o = options.to_c();
    gar_report report{};
    failure::check(gar_wait(handle_, sequence, &o, &report));
    return report;
  }
  // The same for a while; nothing when the time has passed.
  std::optional<gar_report> wait_for(uint64_t sequence, std::chrono::nanoseconds timeout,
                                     wait_options options = {}) {
    options.timeout = std::max(timeout, std::chrono::nanoseconds(1));
    const gar_wait_options o = options.to_c();
    gar_report report{};
    const int number = gar_wait(handle_, sequence, &o, &report);
    if (number == GAR_E_TIMED_OUT) return std::nullopt;
    failure::check(number);
    return report;
  }
  // Blocks until the stream's work so far is done.
  gar_report wait_all(const wait_options& options = {}) {
    const gar_wait_options o = options.to_c();
    gar_report report{};
    failure::check(gar_wait_stream(handle_, &o, &report));
    return report;
  }
  // Starts a wait that ends as one completion of the client; its ticket.
  uint64_t wait_async(uint64_t sequence, void* user_data = nullptr,
                      const wait_options& options = {}) {
    const gar_wait_options o = options.to_c();
    uint64_t ticket = 0;
    failure::check(gar_wait_async(handle_, sequence, &o, user_data, &ticket));
    return ticket;
  }

 private:
  std::shared_ptr<gar_client> client_;
  gar_stream* handle_ = nullptr;
};

struct client_options {
  std::string socket_path{};  // empty: as in gar.h
  std::string name{};         // empty: the program's name
  bool in_process = false;    // never connect
  bool need_daemon = false;
};

// One client; copies share it. It is closed with its last copy and its last stream.
class client {
 public:
  client() : client(client_options{}) {}
  explicit client(const client_options& options) {
    gar_client_options o{};
    o.struct_bytes = sizeof(o);
    o.socket_path = options.socket_path.empty() ? nullptr : options.socket_path.c_str();
    o.name = options.name.empty() ? nullptr : options.name.c_str();
    o.flags = (options.in_process ? GAR_CLIENT_IN_PROCESS : 0) |
              (options.need_daemon ? GAR_CLIENT_NEED_DAEMON : 0);
    gar_client* opened = nullptr;
    failure::check(gar_connect(&o, &opened));
    handle_ = std::shared_ptr<gar_client>(opened, detail::client_closer{});
  }

  gar_client* get() const noexcept { return handle_.get(); }
  // Keeps the client open.
  const std::shared_ptr<gar_client>& shared_client() const noexcept { return handle_; }

  bool with_gard() const noexcept { return gar_mode(get()) == GAR_MODE_DAEMON; }
  // The row count of the current batch.
  void publish_rows(uint32_t rows) { failure::check(gar_rows(get(), rows)); }
  gar_counters counters() const {
    gar_counters c{};
    c.struct_bytes = sizeof(c);
    failure::check(gar_client_counters(get(), &c));
    return c;
  }

  // A device of the program's own.
  stream open(const gar_device_ops& ops, void* device, void* device_stream,
              const std::string& name = {}) {
    return opened(name, [&](const gar_stream_options* o, gar_stream** s) {
      return gar_stream_open(get(), &ops, device, device_stream, o, s);
    });
  }
  stream open_word(const std::string& name = {}) {
    return opened(name, [&](const gar_stream_options* o, gar_stream** s) {
      return gar_word_stream_open(get(), o, s);
    });
  }
  stream open_sim(gar_sim_queue* queue, const std::string& name = {}) {
    return opened(name, [&](const gar_stream_options* o, gar_stream** s) {
      return gar_sim_stream_open(get(), queue, o, s);
    });
  }
  stream open_vulkan(const gar_vulkan_queue& queue, const std::string& name = {}) {
    return opened(name, [&](const gar_stream_options* o, gar_stream** s) {
      return gar_vulkan_stream_open(get(), &queue, o, s);
    });
  }

  // A CUstream or cudaStream_t, a hipStream_t.
  stream open_cuda(void* cuda_stream, const std::string& name = {}) {
    return opened(name, [&](const gar_stream_options* o, gar_stream** s) {
      return gar_cuda_stream_open(get(), cuda_stream, o, s);
    });
  }
  stream open_hip(void* hip_stream, const std::string& name = {}) {
    return opened(name, [&](const gar_stream_options* o, gar_stream** s) {
      return gar_hip_stream_open(get(), hip_stream, o, s);
    });
  }

  // Readable while completions can be taken.
  int fd() const {
    const int fd = gar_client_fd(get());
    if (fd < 0) failure::check(gar_last_error(nullptr, 0));
    return fd;
  }
  // At most `count_max` completions; never blocks.
  std::vector<gar_completion> take(size_t count_max = 64) {
    std::vector<gar_completion> taken(count_max);
    size_t count = 0;
    failure::check(gar_take(get(), taken.data(), taken.size(), &count));
    taken.resize(count);
    return taken;
  }
  void cancel(uint64_t ticket) { failure::check(gar_cancel(get(), ticket)); }

 private:
  template <class Open>
  stream opened(const std::string& name, Open&& open) {
    gar_stream_options o{};
    o.struct_bytes = sizeof(o);
    o.name = name.c_str();
    gar_stream* s = nullptr;
    failure::check(open(&o, &s));
    return stream(handle_, s);
  }

  std::shared_ptr<gar_client> handle_;
};

}  // namespace gar

#endif
