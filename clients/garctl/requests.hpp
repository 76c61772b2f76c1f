// garctl's requests: what each command does, and the exit status it ends with.
//
// Model: results go to `out`, refusals and failures to `err`, each with its error number.
//
//     0 fine   1 refused by gard or by `plan check`; `doctor` found something broken
//     2 usage   3 gard not reachable, or silent
//
// Threads: one. Blocking: as gard_link; `plan check -` reads `in` to its end. Ownership: the
// streams are the caller's.
#pragma once

#include <iosfwd>

#include "clients/garctl/command_line.hpp"
#include "clients/garctl/paint.hpp"

namespace gar {

struct terminal {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  paint out_paint;
  paint err_paint;
  int out_fd = -1;  // what `out` writes to, where it is a descriptor's
};

int run_request(const command_line& line, terminal& with);

}  // namespace gar
