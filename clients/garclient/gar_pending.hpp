// gar_pending.hpp - the asynchronous waits of one client that nobody has been told the end of: what
// gar_asio.hpp and gar_await.hpp share. Not for programs by itself; C++17.
//
// A completion of gar.h names its wait by a pointer. Who waits may be gone before it comes (a
// coroutine's frame destroyed, an event loop torn down), so the pointer is that of an entry here,
// which lives as long as the client, never that of the waiter.
//
//   starting (gar_wait_async runs) -> pending -> ended (taken) -> free
//                                     pending -> disowned: its waiter is gone, it is cancelled ->
//                                     free
//
// Invariants: a wait is told to its waiter once, or never where it was disowned. No entry is used
// again before the library has given its completion.
// Threads: any may start, publish and disown; one at a time takes. A wait can end before its
// starter has published it: who takes it then waits for the starter, for the few instructions
// between. Locks: `lock_` is held around no call of gar.h and none of a waiter's. Allocation:
// `start`, up to the high-water mark.
#ifndef GAR_PENDING_HPP
#define GAR_PENDING_HPP

#include <array>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "gar.hpp"

namespace gar::detail {

class pending_waits {
 public:
  struct entry {
    enum class phase : uint8_t { starting, pending, disowned, ended };

    uint64_t ticket = 0;  // the starter may read it until it has published
    phase now = phase::starting;
    void* waiter = nullptr;
    int error = 0;
    gar_report report{};
    std::list<entry>::iterator self{};
  };
  struct ended {
    void* waiter;
    int error;
    gar_report report;
  };

  explicit pending_waits(gar_client* client) : client_(client) {}
  virtual ~pending_waits() = default;
  pending_waits(const pending_waits&) = delete;
  pending_waits& operator=(const pending_waits&) = delete;

  // 0: `started` is to be published. Otherwise what gar_wait_async failed with; nothing is pending.
  int start(gar_stream* stream, uint64_t sequence, const wait_options& options, void* waiter,
            entry*& started) {
    entry& e = add(waiter);
    const gar_wait_options o = options.to_c();
    const int number = gar_wait_async(stream, sequence, &o, &e, &e.ticket);
    if (number == 0) {
      started = &e;
    } else {
      std::lock_guard lock(lock_);
      free_.splice(free_.end(), starting_, e.self);
    }
    return number;
  }

  // From here on the waiter may be told, on another thread, before this returns.
  void publish(entry& e) {
    std::lock_guard lock(lock_);
    publish_locked(e);
  }

  // The waiter is going: it is told nothing, and the wait is cancelled.
  void disown(entry& e) {
    uint64_t ticket = 0;
    {
      std::lock_guard lock(lock_);
      if (e.now == entry::phase::ended) {
        free_.splice(free_.end(), ended_, e.self);
        return;
      }
      ticket = disown_locked(e);
    }
    gar_cancel(client_, ticket);
  }
  // Disowns one that is pending and gives its waiter; null: none is.
  void* disown_next() {
    void* waiter = nullptr;
    uint64_t ticket = 0;
    {
      std::lock_guard lock(lock_);
      if (pending_.empty()) return nullptr;
      waiter = pending_.front().waiter;
      ticket = disown_locked(pending_.front());
    }
    gar_cancel(client_, ticket);
    return waiter;
  }

  // Takes what the library has; what gar_take failed with, then nothing more will come.
  int take() {
    std::array<gar_completion, 64> batch;
    size_t count = 0;
    do {
      const int number = gar_take(client_, batch.data(), batch.size(), &count);
      if (number != 0) return number;
      for (size_t i = 0; i < count; ++i) end(batch[i]);
    } while (count == batch.size());
    return 0;
  }
  // One that was taken, in their order, for its waiter to be told.
  std::optional<ended> next_ended() {
    std::lock_guard lock(lock_);
    if (ended_.empty()) return std::nullopt;
    const entry& e = ended_.front();
    const ended told{e.waiter, e.error, e.report};
    free_.splice(free_.end(), ended_, e.self);
    return told;
  }

  // Those whose waiters are still to be told.
  size_t count() const {
    std::lock_guard lock(lock_);
    return starting_.size() + pending_.size() + ended_.size();
  }

 protected:
  // lock_ held.
  void publish_locked(entry& e) {
    e.now = entry::phase::pending;
    pending_.splice(pending_.end(), starting_, e.self);
    if (takers_waiting_ > 0) published_.notify_all();
  }
  bool none_pending_locked() const { return pending_.empty(); }

  gar_client* const client_;
  mutable std::mutex lock_;

 private:
  entry& add(void* waiter) {
    std::lock_guard lock(lock_);
    if (free_.empty()) free_.emplace_back();
    entry& e = free_.front();
    e.self = free_.begin();
    e.ticket = 0;
    e.now = entry::phase::starting;
    e.waiter = waiter;
    starting_.splice(starting_.end(), free_, e.self);
    return e;
  }
  uint64_t disown_locked(entry& e) {
    e.now = entry::phase::disowned;
    e.waiter = nullptr;
    disowned_.splice(disowned_.end(), pending_, e.self);
    return e.ticket;
  }
  void end(const gar_completion& c) {
    entry& e = *static_cast<entry*>(c.user_data);
    std::unique_lock lock(lock_);
    ++takers_waiting_;
    published_.wait(lock, [&] { return e.now != entry::phase::starting; });
    --takers_waiting_;
    if (e.now == entry::phase::disowned) {
      free_.splice(free_.end(), disowned_, e.self);
      return;
    }
    e.now = entry::phase::ended;
    e.error = c.error;
    e.report = c.report;
    ended_.splice(ended_.end(), pending_, e.self);
  }

  std::condition_variable published_;
  size_t takers_waiting_ = 0;
  std::list<entry> starting_, pending_, disowned_, ended_, free_;
};

// Where a client keeps its pending waits; null: it was not made by gar::client.
inline std::shared_ptr<pending_waits>* waits_of(const std::shared_ptr<gar_client>& client) {
  client_closer* const closer = std::get_deleter<client_closer>(client);
  return closer ? &closer->waits : nullptr;
}

}  // namespace gar::detail

#endif
