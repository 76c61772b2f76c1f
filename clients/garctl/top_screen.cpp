#include "clients/garctl/top_screen.hpp"

#define NCURSES_NOMACROS 1  // functions, so that their names mean nothing elsewhere
#include <curses.h>

#include <clocale>
#include <csignal>
#include <cstdlib>

namespace gar {
namespace {

volatile std::sig_atomic_t ended_by = 0;

void remember(int signal) {
  ended_by = signal;
}

int attributes_of(top_view::line::look as) {
  switch (as) {
    case top_view::line::look::plain:
      break;
    case top_view::line::look::bold:
      return A_BOLD;
    case top_view::line::look::head:
      return A_REVERSE;
    case top_view::line::look::bad:
      return A_BOLD | A_STANDOUT;
  }
  return A_NORMAL;
}

}  // namespace

top_screen::top_screen() {
  std::setlocale(LC_ALL, "");
  // The terminal must be given back, however this ends.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, remember);
  ::initscr();
  ::cbreak();
  ::noecho();
  ::curs_set(0);
  ::keypad(::stdscr, TRUE);
  ::set_escdelay(25);
}

top_screen::~top_screen() {
  ::endwin();
}

void top_screen::draw(top_view& view) {
  ::erase();
  const int rows = getmaxy(::stdscr);
  const int columns = getmaxx(::stdscr);
  const auto lines = view.lines(static_cast<size_t>(columns), static_cast<size_t>(rows));
  for (size_t i = 0; i < lines.size(); ++i) {
    const int as = attributes_of(lines[i].as);
    ::attron(as);
    ::mvaddstr(static_cast<int>(i), 0, lines[i].text.c_str());
    ::attroff(as);
  }
  ::refresh();
}

std::optional<int> top_screen::key_within(duration patience) {
  ::timeout(static_cast<int>(patience.ns / 1'000'000));
  const int key = ::getch();
  if (key == KEY_DOWN) return top_view::down_key;
  if (key == KEY_UP) return top_view::up_key;
  if (key == ERR || key == KEY_RESIZE) return std::nullopt;
  return key;
}

bool top_screen::interrupted() const {
  return ended_by != 0;
}

}  // namespace gar
