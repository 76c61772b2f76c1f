// A machine with GPUs in software: what both fake drivers are made of.
//
//   device -> primary context (counted references) and others -> streams, events
//   stream: work, stores and event marks in order, on a thread of its own
//   host memory: registered per context, or once for all; the device sees it at another address
//   captures: per stream; a thread's mode says which calls it must not make meanwhile
//
// Invariants: objects are never freed, so that a handle used after its end is told from a live one
// and is logged as a violation. Every status is a vendor's number.
// Threads: any; one lock for everything. Blocking: synchronize_*, and calls made slow.
// Does not: let the legacy stream wait for blocking streams, nor the other way round.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/fake/fake_controls.hpp"
#include "tests/fake/fake_memory.hpp"
#include "tests/fake/fake_settings.hpp"
#include "tests/fake/fake_status.hpp"

namespace fake {

inline constexpr unsigned mode_global = 0;
inline constexpr unsigned mode_thread_local = 1;
inline constexpr unsigned mode_relaxed = 2;

struct context {
  int device;
  bool primary;
  bool alive = true;
  status sticky = success;
  unsigned flags = 0;
};

// What a program has loaded into a context: a kernel is only known by its name.
struct loaded_module {
  context* in;
  std::string text;
};
struct kernel {
  context* in;
  std::string name;
};

struct event {
  context* in;
  unsigned flags;
  bool alive = true;
  bool captured = false;
  uint64_t recorded = 0;  // how often
  uint64_t reached = 0;   // the latest record that was reached
};

struct operation {
  enum class what : uint8_t { work, store, mark, function } kind = what::work;
  uint64_t duration_ns = 0;
  uint64_t* target = nullptr;
  uint64_t value = 0;
  status fault = success;
  std::shared_ptr<registration> into;
  event* marked = nullptr;
  uint64_t mark = 0;
  bool lost = false;
  void (*function)(void*) = nullptr;  // of the program, run on the stream's thread
  void* data = nullptr;
};

struct stream {
  context* in;
  bool blocking;
  bool legacy = false;
  bool alive = true;
  unsigned capture = 0;  // 0 none, 1 active, 2 invalidated
  unsigned capture_mode = 0;
  uint64_t capture_thread = 0;
  std::deque<operation> queue;
  bool running = false;  // an operation is being executed
  bool has_thread = false;
};

class machine {
 public:
  // Never destroyed: its threads run until the process ends.
  static machine& get();

  std::mutex lock;
  std::condition_variable changed;

  // ---- Every call begins and ends with these.
  // The status that a fault puts in place of the call, or success.
  status begin(const char* call);
  status end(const char* call, status answer, uint64_t a, uint64_t b, uint64_t c);
  void violation(const std::string& what);

  // ---- Start. `held` is the lock.
  status init();
  bool initialized() const { return initialized_; }
  int devices() const { return told.devices(); }
  int version(int otherwise) const { return told.version(otherwise); }

  // ---- Contexts. With the lock held, as all below.
  status retain(int device, context** primary);
  // `last_destroys`: as CUDA has it; a HIP device keeps its primary context.
  status release(int device, bool last_destroys);
  bool has_primary(int device) {
    const primary_context& p = primaries_[device];
    return p.references > 0 && p.now && p.now->alive;
  }
  status destroy(context* c);
  context* create(int device);
  context* primary(int device);
  void reset(int device);
  status usable(const context* c) const;

  // ---- Streams.
  stream* create_stream(context* in, bool blocking);
  status destroy_stream(stream* s);
  // A handle as a vendor means it: 0 and 1 the context's legacy stream, 2 the thread's.
  status resolve(void* handle, context* current, stream** found);
  status query_stream(stream* s);
  status synchronize(context* c, std::unique_lock<std::mutex>& held);
  status synchronize_stream(stream* s, std::unique_lock<std::mutex>& held);
  status enqueue(stream* s, operation o, const char* call);

  // ---- Events.
  event* create_event(context* in, unsigned flags);
  status destroy_event(event* e);
  status record(event* e, stream* s);
  status query_event(event* e);
  status synchronize_event(event* e, std::unique_lock<std::mutex>& held);

  // ---- Host memory.
  status register_memory(context* in, void* host, size_t bytes, bool portable);
  status unregister_memory(context* in, void* host);
  status device_address(context* in, void* host, uint64_t* address);
  // The store of a stream to a device address.
  status store(stream* s, uint64_t address, uint64_t value, const char* call);

  // ---- Device memory.
  uint64_t allocate(size_t bytes) { return memory_.allocate(bytes); }
  status deallocate(uint64_t address) { return memory_.deallocate(address); }
  status fill(stream* s, uint64_t address, uint32_t value, size_t count, const char* call);
  // Work that ends by a store to a device address; a device fault where nothing is there.
  status work(stream* s, uint64_t duration_ns, uint64_t address, uint64_t value, const char* call);

  // ---- Captures.
  status begin_capture(stream* s, unsigned mode);
  status end_capture(stream* s);
  status capture_of(stream* s, unsigned* state);
  // May this thread make a call that is unsafe during captures? If not, they are invalidated.
  status unsafe();
  unsigned exchange_mode(unsigned mode);

  // ---- What controls ask, and set.
  settings told;
  std::vector<fake_call> log;
  std::vector<std::string> violations;
  unsigned references(int device) { return primaries_[device].references; }
  size_t registrations() const { return memory_.registrations(); }
  size_t live_events() const { return live_events_; }
  size_t live_streams() const { return live_streams_; }

 private:
  struct primary_context {
    context* now = nullptr;
    unsigned references = 0;
  };
  using held_lock = std::unique_lock<std::mutex>;

  machine() = default;
  void run(stream* s);
  void execute(stream* s, operation& o, held_lock& held);
  bool idle(const stream* s) const { return s->queue.empty() && !s->running; }
  bool legacy_blocked(const stream* s) const;
  void invalidate(stream* s);

  bool initialized_ = false;
  memory memory_;
  std::map<int, primary_context> primaries_;
  std::map<const context*, stream*> legacy_;
  std::map<std::pair<uint64_t, const context*>, stream*> per_thread_;  // by thread
  std::vector<std::unique_ptr<context>> contexts_;
  std::vector<std::unique_ptr<stream>> streams_;
  std::vector<std::unique_ptr<event>> events_;
  std::set<const stream*> known_streams_;
  std::set<stream*> capturing_;
  size_t live_events_ = 0;
  size_t live_streams_ = 0;
};

}  // namespace fake
