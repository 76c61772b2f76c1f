#include "daemon/config.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>

#include "daemon/config_depth.hpp"
#include "daemon/config_setting.hpp"
#include "lib/core/codec.hpp"
#include "lib/core/printable.hpp"

namespace gar {
namespace {

constexpr size_t shown_bytes_max = 120;

struct fault_at {
  uint32_t line;
  uint32_t column;
  std::string what;

  bool operator<(const fault_at& other) const {
    return std::tie(line, column) < std::tie(other.line, other.column);
  }
};

fault_at fault_of(const toml::source_region& where, std::string what) {
  return {where.begin.line, where.begin.column, std::move(what)};
}

config_value value_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return number->get();
  if (const auto* flag = node.as_boolean()) return flag->get();
  return std::monostate{};
}

std::string found(const toml::node& node) {
  const config_value value = value_of(node);
  if (const auto* text = std::get_if<std::string>(&value)) {
    return fmt::format("'{}'", printable(*text, shown_bytes_max));
  }
  if (const auto* number = std::get_if<int64_t>(&value)) {
    return fmt::format("the bare number {}", *number);
  }
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (node.is_table()) return "a table";
  if (node.is_array()) return "an array";
  return node.is_floating_point() ? "a number with a fraction" : "a date or time";
}

// Walks a parsed file and remembers every fault, so that the first in the file can be told: toml++
// hands keys out sorted by name.
class walker {
 public:
  walker(std::string_view text, config& into) : text_(text), into_(into) {}

  void read(const toml::table& file) {
    for (const auto& [key, node] : file) {
      const std::string_view section = key.str();
      const toml::table* table = node.as_table();
      if (!known_section(section)) {
        refuse(key.source(), fmt::format("unknown key '{}'; expected one of the sections [{}]",
                                         shown(section), fmt::join(sections(), "], [")));
      } else if (!table) {
        refuse(node.source(), fmt::format("{}: expected a section, [{}]; found {}", section,
                                          section, found(node)));
      } else if (section == "plan") {
        read_plans(*table);
      } else {
        read_section(section, *table);
      }
    }
  }

  const std::vector<fault_at>& faults() const { return faults_; }

 private:
  static std::string shown(std::string_view name) { return printable(name, shown_bytes_max); }

  static std::vector<std::string_view> sections() {
    std::vector<std::string_view> names;
    for (const config_setting& setting : config_settings()) {
      if (names.empty() || names.back() != setting.section) names.push_back(setting.section);
    }
    names.insert(std::find(names.begin(), names.end(), "limits"), "plan");
    return names;
  }

  static bool known_section(std::string_view name) {
    const auto names = sections();
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  void refuse(const toml::source_region& where, std::string what) {
    faults_.push_back(fault_of(where, std::move(what)));
  }

  void read_section(std::string_view section, const toml::table& table) {
    for (const auto& [key, node] : table) read_setting(section, key, node);
  }

  void read_setting(std::string_view section, const toml::key& key, const toml::node& node) {
    std::vector<std::string_view> known;
    for (const config_setting& setting : config_settings()) {
      if (setting.section != section) continue;
      known.push_back(setting.name);
      if (setting.name != key.str()) continue;
      if (setting.read(value_of(node), into_)) return;
      return refuse(node.source(), fmt::format("{}.{}: expected {}; found {}", section,
                                               setting.name, setting.expected, found(node)));
    }
    refuse(key.source(), fmt::format("unknown key '{}' in [{}]; expected one of {}",
                                     shown(key.str()), section, fmt::join(known, ", ")));
  }

  void read_plans(const toml::table& table) {
    for (const auto& [key, node] : table) {
      const std::string_view name = key.str();
      if (name == "default") {
        if (auto plan = read_plan("plan.default", node)) into_.default_plan = *plan;
      } else if (name == "clients") {
        read_scopes("plan.clients", node, [](std::string client) {
          return plan_scope{std::move(client), std::nullopt};
        });
      } else if (name == "points") {
        read_scopes("plan.points", node, [](std::string point) {
          return plan_scope{std::nullopt, std::move(point)};
        });
      } else if (name == "client_points") {
        read_client_points(node);
      } else {
        refuse(key.source(), fmt::format("unknown key '{}' in [plan]; expected one of default, "
                                         "clients, points, client_points",
                                         shown(name)));
      }
    }
  }

  void read_client_points(const toml::node& node) {
    const toml::table* clients = table_of("plan.client_points", node);
    if (!clients) return;
    for (const auto& [key, points] : *clients) {
      const std::string client(key.str());
      if (!check_name("a client's name", key)) continue;
      read_scopes("plan.client_points." + toml_quoted(client), points, [&](std::string point) {
        return plan_scope{client, std::move(point)};
      });
    }
  }

  template <class ScopeOf>
  void read_scopes(const std::string& path, const toml::node& node, ScopeOf scope_of) {
    const toml::table* table = table_of(path, node);
    if (!table) return;
    for (const auto& [key, text] : *table) {
      if (!check_name("a name", key)) continue;
      const std::optional<bands> plan = read_plan(path + "." + toml_quoted(key.str()), text);
      if (!plan) continue;
      if (into_.plans.size() == configured_plans_max) {
        return refuse(key.source(), fmt::format("more than {} plans", configured_plans_max));
      }
      into_.plans.push_back({scope_of(std::string(key.str())), *plan});
    }
  }

  const toml::table* table_of(std::string_view path, const toml::node& node) {
    if (const toml::table* table = node.as_table()) return table;
    refuse(node.source(),
           fmt::format("{}: expected a table of plans by name; found {}", path, found(node)));
    return nullptr;
  }

  bool check_name(std::string_view what, const toml::key& key) {
    if (proto::valid_name(key.str())) return true;
    refuse(key.source(),
           fmt::format("'{}' is not {}; expected 1 to {} bytes of UTF-8 without control characters",
                       shown(key.str()), what, proto::name_bytes_max));
    return false;
  }

  std::optional<bands> read_plan(std::string_view path, const toml::node& node) {
    const auto* text = node.as_string();
    if (!text) {
      refuse(node.source(),
             fmt::format("{}: expected a plan as a string; found {}", path, found(node)));
      return std::nullopt;
    }
    plan_fault fault;
    std::optional<bands> parsed = bands::parse(text->get(), fault);
    if (!parsed) {
      const toml::source_position begin = node.source().begin;
      faults_.push_back({begin.line, begin.column + inside(begin, text->get(), fault.position),
                         fmt::format("{}: invalid plan '{}': at byte {}: {}", path,
                                     printable(text->get(), proto::plan_bytes_max), fault.position,
                                     fault.fault)});
    }
    return parsed;
  }

  // How many columns into the value its byte `position` stands; 0 where the file does not write the
  // text as it is (escapes, several lines, wide characters before it).
  uint32_t inside(toml::source_position begin, std::string_view value, size_t position) const {
    std::string_view line = text_;
    for (uint32_t i = 1; i < begin.line; ++i) line.remove_prefix(line.find('\n') + 1);
    line = line.substr(0, line.find('\n'));
    if (begin.column > line.size()) return 0;
    const auto wide = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
    const std::string_view before = line.substr(0, begin.column);  // with the opening quote
    const std::string_view written = line.substr(begin.column, position);
    if (std::any_of(before.begin(), before.end(), wide)) return 0;
    if (std::any_of(written.begin(), written.end(), wide)) return 0;
    if (before.back() != '"' && before.back() != '\'') return 0;
    if (written != value.substr(0, position)) return 0;
    return static_cast<uint32_t>(position) + 1;
  }

  std::string_view text_;
  config& into_;
  std::vector<fault_at> faults_;
};

error invalid(std::string_view file, const fault_at& fault) {
  return error(errc::InvalidConfig, {std::string(file), std::to_string(fault.line),
                                     std::to_string(fault.column), fault.what});
}

std::string scope_table(const plan_scope& scope) {
  if (!scope.client) return "[plan.points]";
  if (!scope.point) return "[plan.clients]";
  return fmt::format("[plan.client_points.{}]", toml_quoted(*scope.client));
}

std::string plans_text(const config& c) {
  std::string text = fmt::format("[plan]\ndefault = {}\n", toml_quoted(c.default_plan.label()));
  std::string open;
  for (const configured_plan& plan : c.plans) {
    const std::string table = scope_table(plan.scope);
    if (table != open) text += fmt::format("\n{}\n", table);
    open = table;
    const std::string& name = plan.scope.point ? *plan.scope.point : *plan.scope.client;
    text += fmt::format("{} = {}\n", toml_quoted(name), toml_quoted(plan.requested.label()));
  }
  return text + "\n";
}

}  // namespace

result<config> parse_config(std::string_view text, std::string_view file) {
  if (const std::optional<text_place> deep = too_deep_key(text)) {
    return invalid(file, {deep->line, deep->column,
                          fmt::format("a key of more than {} parts", config_key_parts_max)});
  }
  config parsed;
  walker walk(text, parsed);
  try {
    walk.read(toml::parse(text, file));
  } catch (const toml::parse_error& wrong) {
    return invalid(file, fault_of(wrong.source(), printable(wrong.description(), 400)));
  }
  const auto first = std::min_element(walk.faults().begin(), walk.faults().end());
  if (first != walk.faults().end()) return invalid(file, *first);
  return parsed;
}

std::string config_text(const config& c) {
  std::string text;
  std::string_view section;
  for (const config_setting& setting : config_settings()) {
    if (setting.section != section) {
      if (!section.empty()) text += "\n";
      if (setting.section == "limits") text += plans_text(c);
      text += fmt::format("[{}]\n", setting.section);
      section = setting.section;
    }
    const std::string value = setting.shown(c);
    text += value.empty() ? fmt::format("# {}: not set\n", setting.name)
                          : fmt::format("{} = {}\n", setting.name, value);
  }
  return text;
}

std::vector<std::string> config_keys() {
  std::vector<std::string> keys{"plan.default", "plan.clients.NAME", "plan.points.NAME",
                                "plan.client_points.NAME.POINT"};
  for (const config_setting& setting : config_settings()) {
    keys.push_back(fmt::format("{}.{}", setting.section, setting.name));
  }
  return keys;
}

}  // namespace gar
