// The memory that a fake device can reach: host memory that was registered, and its own.
//
//   host memory     registered per context, or once for all; the device sees it at another address,
//                   so that an address that was never asked for is told from one that was
//   device memory   allocated; only its size counts, nothing is ever kept in it
//
// Invariants: a registration that ended stays readable for whoever still has a store on the way.
// Threads: with the machine's lock held. Errors: vendors' numbers.
// Does not: ask whether the context is usable or a capture in the way; the machine does before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "tests/fake/fake_status.hpp"

namespace fake {

struct context;

struct registration {
  context* in;
  char* host;
  size_t bytes;
  bool portable;
  bool alive = true;
  size_t pending_stores = 0;
};

class memory {
 public:
  // ---- The host's.
  status add(context* in, void* host, size_t bytes, bool portable);
  // The registration that ended; null where there is none.
  std::shared_ptr<registration> remove(const context* in, void* host);
  // Ends all registrations of a context.
  void remove_all(const context* in);
  // The registration, in force for that context, that covers an address; null where none does.
  std::shared_ptr<registration> at(const context* in, const void* host) const;
  size_t registrations() const { return registrations_.size(); }

  static uint64_t seen_by_device(const void* host);
  // The host's word behind a device address; null where that is none of the host's.
  static uint64_t* host_word(uint64_t address);

  // ---- The device's.
  uint64_t allocate(size_t bytes);
  status deallocate(uint64_t address);
  // Does an allocation begin there?
  bool allocated(uint64_t address) const { return allocated_.contains(address); }

 private:
  std::multimap<char*, std::shared_ptr<registration>> registrations_;  // by host address
  std::map<uint64_t, size_t> allocated_;                               // bytes, by device address
};

}  // namespace fake
