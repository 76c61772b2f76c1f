// garctl - for the person who runs the machine: what gard does, and how to change it.
#include <unistd.h>

#include <iostream>

#include "clients/garctl/command_line.hpp"
#include "clients/garctl/requests.hpp"
#include "lib/linux/output_reader.hpp"

int main(int argc, char** argv) {
  gar::command_line line;
  if (const auto shown = gar::parse_command_line(argc, argv, line)) {
    (shown->exit_status == 0 ? std::cout : std::cerr) << shown->text;
    return shown->exit_status;
  }
  std::ios::sync_with_stdio(false);
  gar::terminal with{std::cin,
                     std::cout,
                     std::cerr,
                     gar::paint_for(STDOUT_FILENO),
                     gar::paint_for(STDERR_FILENO),
                     STDOUT_FILENO};
  const int status = gar::run_request(line, with);
  // A script must not take an answer that is not there for one that says nothing. A reader who has
  // left wants to hear no more.
  if (std::cout.flush() || status != 0) return status;
  if (gar::reader_left(STDOUT_FILENO)) return 1;
  std::cerr << "garctl: standard output cannot be written\n";
  return 1;
}
