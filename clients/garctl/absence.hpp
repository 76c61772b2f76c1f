// Absence: a gard that no longer answers whoever goes on asking it, said once and not every second.
//
//     answering --failed: said--> absent, asked on --over--> answering
//
// What is said is why: gard is gone, is silent, or refuses. It is said again where that changes.
// Threads: a value over the caller's terminal. Errors: none.
#pragma once

#include <string>

#include "clients/garctl/gard_link.hpp"
#include "clients/garctl/requests.hpp"

namespace gar {

class absence {
 public:
  explicit absence(terminal& with) : with_(with) {}

  // `got` is no answer.
  void failed(const reply& got);
  void over();
  // What a command that ends now ends with.
  int status() const { return status_; }

 private:
  terminal& with_;
  std::string said_;
  int status_ = 0;
};

}  // namespace gar
