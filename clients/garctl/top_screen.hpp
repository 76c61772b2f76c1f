// Top screen: the terminal as a whole, drawn and read by ncurses.
//
//   made: the terminal is ours -- draw, key_within ... --> gone: it is as it was before
//
// Threads: one, and one object at a time. Blocking: key_within, for so long. Errors: none; a
// terminal that ncurses does not know ends the program, with ncurses' own words.
#pragma once

#include <optional>

#include "clients/garctl/top_view.hpp"
#include "lib/core/time.hpp"

namespace gar {

class top_screen {
 public:
  top_screen();
  ~top_screen();
  top_screen(const top_screen&) = delete;
  top_screen& operator=(const top_screen&) = delete;

  void draw(top_view& view);
  std::optional<int> key_within(duration patience);
  // Somebody asked the program to end.
  bool interrupted() const;
};

}  // namespace gar
