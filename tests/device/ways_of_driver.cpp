// The driver's own ways of waiting, which gard is held against.
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

#include "lib/linux/unique_fd.hpp"
#include "tests/device/way.hpp"

namespace gar::device_check {
namespace {

// cuStreamSynchronize: spins or blocks as the context was told.
class stream_synchronize : public way {
 public:
  using way::way;

 private:
  void mark(size_t) override {}
  void await(size_t lane) override {
    on().need(on().calls().StreamSynchronize(stream(lane)), "cuStreamSynchronize");
  }
};

class event_block : public way {
 public:
  event_block(const card& on, const card::place& at, size_t lanes, size_t first_word)
      : way("cuEventSynchronize, blocking", on, at, lanes, first_word), events_(lanes) {
    for (cuda::event& e : events_) {
      on.need(on.driver().EventCreate(&e, cuda::event_blocking_sync | cuda::event_disable_timing),
              "cuEventCreate");
    }
  }
  ~event_block() override {
    for (cuda::event e : events_) (void)on().driver().EventDestroy(e);
  }

 private:
  void mark(size_t lane) override {
    on().need(on().driver().EventRecord(events_[lane], stream(lane)), "cuEventRecord");
  }
  void await(size_t lane) override {
    on().need(on().driver().EventSynchronize(events_[lane]), "cuEventSynchronize");
  }
  std::vector<cuda::event> events_;
};

// A function that the driver calls on a thread of its own, and a descriptor to sleep on.
class host_function_way : public way {
 public:
  host_function_way(const card& on, const card::place& at, size_t lanes, size_t first_word)
      : way("cuLaunchHostFunc + eventfd", on, at, lanes, first_word) {
    for (size_t i = 0; i < lanes; ++i) {
      rings_.emplace_back(::eventfd(0, EFD_CLOEXEC));
      if (!rings_.back()) throw broken("no event descriptor");
    }
  }

 private:
  static void ring(void* data) {
    const uint64_t one = 1;
    (void)!::write(static_cast<unique_fd*>(data)->get(), &one, sizeof(one));
  }
  void mark(size_t lane) override {
    on().need(on().calls().LaunchHostFunc(stream(lane), ring, &rings_[lane]), "cuLaunchHostFunc");
  }
  // The driver does not call it after a fault: whoever waits so waits forever.
  void await(size_t lane) override {
    uint64_t count = 0;
    while (::read(rings_[lane].get(), &count, sizeof(count)) < 0) {
      if (errno != EINTR) throw broken("read of the event descriptor failed");
    }
  }
  std::vector<unique_fd> rings_;
};

}  // namespace

std::unique_ptr<way> make_stream_spin(card& on, size_t lanes, size_t first_word) {
  return std::make_unique<stream_synchronize>("cuStreamSynchronize, spinning", on, on.primary(),
                                              lanes, first_word);
}

std::unique_ptr<way> make_stream_block(card& on, size_t lanes, size_t first_word) {
  return std::make_unique<stream_synchronize>("cuStreamSynchronize, blocking", on, on.blocking(),
                                              lanes, first_word);
}

std::unique_ptr<way> make_event_block(card& on, size_t lanes, size_t first_word) {
  return std::make_unique<event_block>(on, on.primary(), lanes, first_word);
}

std::unique_ptr<way> make_host_function(card& on, size_t lanes, size_t first_word) {
  return std::make_unique<host_function_way>(on, on.primary(), lanes, first_word);
}

}  // namespace gar::device_check
