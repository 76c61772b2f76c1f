// Memory of simulated processes: what a process allocated goes when it is killed.
//
// A killed process runs no destructors. Its threads' stacks are left where they stand, and all that
// it had from operator new is freed at once, by the list that every block is in.
//
// `memory_scope{owner}` says for whom is allocated from here on; null: the simulator itself.
// What is made once per program (function-local statics) belongs to the simulator, whoever runs.
//
// Threads: one.
#pragma once

#include <cstddef>
#include <utility>

namespace gar::sim {

struct memory_block;

struct memory_owner {
  memory_owner() = default;
  memory_owner(const memory_owner&) = delete;
  memory_owner& operator=(const memory_owner&) = delete;
  ~memory_owner() { free_all(); }
  void free_all();

  memory_block* first = nullptr;
  size_t bytes = 0;
  size_t blocks = 0;
};

extern memory_owner* memory_owner_now;

class memory_scope {
 public:
  explicit memory_scope(memory_owner* owner) : before_(std::exchange(memory_owner_now, owner)) {}
  ~memory_scope() { memory_owner_now = before_; }
  memory_scope(const memory_scope&) = delete;
  memory_scope& operator=(const memory_scope&) = delete;

 private:
  memory_owner* before_;
};

}  // namespace gar::sim
