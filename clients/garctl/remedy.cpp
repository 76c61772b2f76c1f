#include "clients/garctl/remedy.hpp"

#include <fmt/core.h>

#include <optional>
#include <sstream>

namespace gar {
namespace {

// Where a key is to be set in a configuration's text.
enum class place { key_is_there, section_is_there, neither };

bool is_key(std::string_view line, std::string_view key) {
  if (!line.starts_with(key)) return false;
  line.remove_prefix(key.size());
  const size_t at = line.find_first_not_of(' ');
  return at != std::string_view::npos && line[at] == '=';
}

place find_key(const std::string& config, std::string_view section, std::string_view key) {
  std::istringstream in(config);
  const std::string heading = fmt::format("[{}]", section);
  place found = place::neither;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('[')) inside = line.starts_with(heading);
    if (!inside) continue;
    found = place::section_is_there;
    if (is_key(line, key)) return place::key_is_there;
  }
  return found;
}

std::string edit(const host_files& on, std::string_view section, std::string_view key,
                 std::string_view value) {
  const std::string file = shell_word(on.config_file);
  const std::string lines = shell_word(fmt::format("\\n[{}]\\n{} = {}\\n", section, key, value));
  if (!on.config_text) {
    const size_t slash = on.config_file.rfind('/');
    const std::string folder = shell_word(on.config_file.substr(0, slash));
    return fmt::format("{} && printf {} | {} > /dev/null", as_root(on, "mkdir -p " + folder), lines,
                       as_root(on, "tee " + file));
  }
  switch (find_key(*on.config_text, section, key)) {
    case place::key_is_there:
      return as_root(on, fmt::format("sed -i {} {}",
                                     shell_word(fmt::format("/^\\[{}\\]/,/^\\[/s/^{} *=.*/{} = {}/",
                                                            section, key, key, value)),
                                     file));
    case place::section_is_there:
      return as_root(
          on,
          fmt::format("sed -i {} {}",
                      shell_word(fmt::format("/^\\[{}\\]/a {} = {}", section, key, value)), file));
    case place::neither:
      break;
  }
  return fmt::format("printf {} | {} > /dev/null", lines, as_root(on, "tee -a " + file));
}

}  // namespace

std::string shell_word(std::string_view text) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:@%";
  if (!text.empty() && text.find_first_not_of(plain) == std::string_view::npos) {
    return std::string(text);
  }
  std::string shown = "'";
  for (const char c : text) {
    if (c == '\'') {
      shown += "'\\''";
    } else {
      shown += c;
    }
  }
  return shown + '\'';
}

std::string as_root(const host_files& on, const std::string& command) {
  return on.uid == 0 ? command : "sudo " + command;
}

std::string put_into(const host_files& on, std::string_view text, std::string_view files) {
  return fmt::format("echo {} | {}", text, as_root(on, fmt::format("tee {}", files)));
}

std::string add_line(const host_files& on, std::string_view line, std::string_view file) {
  return fmt::format("echo {} | {}", line, as_root(on, fmt::format("tee -a {}", file)));
}

std::string then_restart(const host_files& on, const std::string& command) {
  return command + (on.systemd ? " && " + restart(on) : "  # then start gard anew");
}

std::string restart(const host_files& on) {
  return on.systemd ? as_root(on, "systemctl restart gard") : "";
}

std::string configure(const host_files& on, std::string_view section, std::string_view key,
                      std::string_view value) {
  return then_restart(on, edit(on, section, key, value));
}

std::string configure_latency(const host_files& on, std::string_view key, std::string_view value) {
  const std::string allowed = allow_latency(on);
  return (allowed.empty() ? "" : allowed + " && ") + configure(on, "latency", key, value);
}

std::string allow_latency(const host_files& on) {
  if (!on.systemd || on.latency_allowed || on.latency_dropin.empty()) return {};
  const std::string install = fmt::format(
      "install -D -m 644 {} /etc/systemd/system/gard.service.d/latency.conf", on.latency_dropin);
  return as_root(on, install) + " && " + as_root(on, "systemctl daemon-reload");
}

}  // namespace gar
