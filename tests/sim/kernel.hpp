// Kernel: what simulated processes have descriptors of: memory files, sockets, pipes, counters,
// sets of descriptors, timers, deaths of processes.
//
// system_calls.cpp puts it in the place of the C library's calls, so that gard and the client
// library run as they are built. It promises what Linux promises and no more: calls that may end
// early do, at a rate; messages of a socket keep their order but take their time; a socket is full
// when its peer does not read; a connection that is cut is told to both ends.
//
// Invariants: errors are those that Linux gives; what one process holds of another stays until the
// last descriptor is closed.
// Threads: one real thread. Every call may let another simulated thread run first.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/sim/machine.hpp"

namespace gar::sim {

struct open_file {
  enum class kind : uint8_t {
    memory,
    socket,
    listener,
    pipe_read,
    pipe_write,
    counter,
    set,
    timer,
    death,
    nothing,
  };
  kind what = kind::nothing;
  std::vector<open_file*> in_sets;  // sets that watch this file

  virtual ~open_file() = default;
  virtual bool readable() const { return false; }
  virtual bool writable() const { return false; }
};

struct memory_file : open_file {
  ~memory_file() override;
  std::byte* bytes = nullptr;
  size_t size = 0;
  int seals = 0;
  uint64_t number = 0;
};

struct sent_message {
  std::vector<std::byte> bytes;
  std::vector<std::shared_ptr<open_file>> files;
  uint64_t arrives_ns = 0;
};

// One end of a connection.
struct socket_end : open_file {
  ~socket_end() override;
  bool readable() const override;
  bool writable() const override;

  uint64_t connection = 0;
  bool by_client = false;
  process* holder = nullptr;
  std::weak_ptr<socket_end> peer;
  std::deque<sent_message> inbox;
  uint64_t last_arrival_ns = 0;
  bool ended = false;  // the peer closed, or the connection was cut
  bool shut = false;   // by this end
  bool connected = false;
};

struct listener_file : open_file {
  bool readable() const override { return !waiting.empty(); }
  std::deque<std::shared_ptr<socket_end>> waiting;
  process* holder = nullptr;
};

struct pipe_state {
  size_t bytes = 0;
};
struct pipe_file : open_file {
  bool readable() const override { return pipe->bytes > 0; }
  bool writable() const override { return true; }
  std::shared_ptr<pipe_state> pipe;
};

struct counter_file : open_file {
  bool readable() const override { return count > 0; }
  uint64_t count = 0;
};

struct timer_file : open_file {
  bool readable() const override;
  uint64_t due_ns = 0;  // 0: not set
};

struct death_file : open_file {
  bool readable() const override { return *dead; }
  std::shared_ptr<bool> dead;
};

struct set_file : open_file {
  struct entry {
    std::weak_ptr<open_file> file;
    open_file* address = nullptr;
    int number = 0;
    uint32_t events = 0;
    uint64_t data = 0;
    bool edge = true;  // something has happened since it was told last
  };
  bool readable() const override;
  ~set_file() override;
  std::vector<entry> entries;
};

// Faults of what lies between processes. Chances per million.
struct kernel_faults {
  uint32_t delayed = 0;  // a message takes long
  uint64_t delayed_ns = 0;
  uint32_t cut = 0;           // a connection is cut where a message is sent
  size_t messages_max = 200;  // that one socket holds
};

struct kernel_counts {
  uint64_t messages = 0;
  uint64_t delayed = 0;
  uint64_t cut = 0;
  uint64_t full = 0;
};

class kernel {
 public:
  explicit kernel(machine& m) : on(&m) {}

  machine* on;
  kernel_faults faults;
  kernel_counts counts;

  // Is told of each message that is sent, before its receiver can have it.
  std::function<void(socket_end& from, const std::vector<std::byte>& bytes,
                     const std::vector<std::shared_ptr<open_file>>& files)>
      seen;
  std::function<void(socket_end& from, const char* why)> ended;
  // May write to the message: a client that comes with another history.
  std::function<void(socket_end& from, std::vector<std::byte>& bytes)> rewrite;

  // ---- By whoever drives the run.
  std::shared_ptr<listener_file> listen(const std::string& path, process& by);
  int give(process& to, std::shared_ptr<open_file> file);
  // Its descriptors go, and its peers see it.
  void kill(process& which);
  // The connection ends between two messages; what was sent before still arrives, or not.
  void cut(socket_end& one);
  std::vector<std::shared_ptr<socket_end>> connections() const;

  // ---- For system calls.
  std::shared_ptr<open_file> file_of(int number) const;
  int put(std::shared_ptr<open_file> file);
  void close(int number);
  void changed(open_file& file);  // readiness
  int connect(socket_end& from, const std::string& path);
  std::shared_ptr<socket_end> accept(listener_file& at);
  int send(socket_end& from, std::vector<std::byte> bytes,
           std::vector<std::shared_ptr<open_file>> files);
  // 1: `into` has one; 0: the end; -1: nothing now.
  int receive(socket_end& at, sent_message& into);
  std::shared_ptr<memory_file> memory_at(const void* address, size_t* offset) const;
  std::shared_ptr<bool> death_of(process& which);
  static std::byte* take_pages(size_t size);

  std::map<const std::byte*, std::weak_ptr<memory_file>> memories;
  uint64_t memories_made = 0;

 private:
  void end_of(socket_end& gone);

  std::map<std::string, std::weak_ptr<listener_file>> listeners_;
  std::map<int, std::shared_ptr<bool>> deaths_;
  std::vector<std::weak_ptr<socket_end>> clients_;
  uint64_t connections_made_ = 0;
};

extern kernel* kernel_now;

}  // namespace gar::sim
