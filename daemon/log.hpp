// Log: what gard tells the person who runs it, one line an event, on stderr.
//
// On a terminal or in a file a line carries its time and level; under systemd the journal knows the
// time, and the level goes as "<6>" so that `journalctl -p` works.
//
// Invariants: an event is one line that reads as it is written, whatever bytes a peer put into its
// text (`readable_text`). Nothing is logged below the level that was set last.
// Threads: any; a line is written whole. Blocking: none for a reader of stderr, unless another
// process fills the same pipe just then (line_output.hpp).
// Errors: none; a line that nobody takes is lost, and the next one that is taken says how many
// were.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace gar {

enum class log_level : uint8_t { debug, info, warning, error };

constexpr std::string_view name_of(log_level level) {
  constexpr std::string_view names[] = {"debug", "info", "warning", "error"};
  return names[static_cast<uint8_t>(level)];
}
inline constexpr std::string_view log_level_names = "debug, info, warning, error";

constexpr std::optional<log_level> parse_log_level(std::string_view text) {
  for (log_level level :
       {log_level::debug, log_level::info, log_level::warning, log_level::error}) {
    if (text == name_of(level)) return level;
  }
  return std::nullopt;
}

// Before the first line; until then lines go out as on a terminal, at `info`.
void start_log(bool to_journal);
void set_log_level(log_level level);

// Is there a line for an event of this level?
bool logs(log_level level);
void log(log_level level, std::string_view text);

}  // namespace gar
