#include "clients/garctl/findings_page.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <boost/json/object.hpp>

#include "clients/garctl/readable.hpp"

namespace gar {
namespace {

namespace json = boost::json;

constexpr size_t page_columns = 80;
constexpr size_t id_columns = 18;  // two blanks before an id, one at least behind it

constexpr std::array order{verdict::broken, verdict::costs, verdict::unknown, verdict::good};

std::string_view heading_of(verdict v) {
  switch (v) {
    case verdict::broken:
      return "Broken";
    case verdict::costs:
      return "Costs latency or CPU";
    case verdict::unknown:
      return "Not known";
    case verdict::good:
      break;
  }
  return "Good";
}

std::string painted(verdict v, std::string_view text, const paint& colours) {
  switch (v) {
    case verdict::broken:
      return colours.red(text);
    case verdict::costs:
      return colours.yellow(text);
    case verdict::good:
      return colours.green(text);
    case verdict::unknown:
      break;
  }
  return colours.bold(text);
}

const std::string margin(id_columns, ' ');

// A number's unit stays on its line.
bool is_unit(std::string_view word) {
  constexpr std::array units{"ns", "us", "ms", "s", "KiB", "MHz", "%"};
  while (!word.empty() && std::string_view(",;.:)").find(word.back()) != std::string_view::npos) {
    word.remove_suffix(1);
  }
  return std::find(units.begin(), units.end(), word) != units.end();
}

// Where a word that is longer than a line is cut: behind a mark that parts it, else between any two
// characters.
size_t cut_of(std::string_view word, size_t columns) {
  const size_t cut = extent_within(word, columns).bytes;
  const size_t mark = word.substr(0, cut).find_last_of(",;+/:");
  return mark == std::string_view::npos || mark == 0 || cut == word.size() ? cut : mark + 1;
}

// The text as pieces that fit on a line, with no blank between two that were cut apart.
struct piece {
  std::string text;
  bool follows = false;
};

std::vector<piece> pieces_of(std::string_view text) {
  std::vector<piece> pieces;
  while (!text.empty()) {
    std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (is_unit(word) && !pieces.empty()) {
      pieces.back().text.append(1, ' ').append(word);
      continue;
    }
    for (bool follows = false; !word.empty(); follows = true) {
      const size_t cut = cut_of(word, page_columns - id_columns);
      pieces.push_back({std::string(word.substr(0, cut)), follows});
      word.remove_prefix(cut);
    }
  }
  return pieces;
}

// The text on lines that fit, all but the first behind the margin. Ends in a newline.
std::string wrapped(std::string_view text) {
  std::string lines;
  size_t columns = id_columns;
  for (const piece& each : pieces_of(text)) {
    const size_t blank = each.follows || columns == id_columns ? 0 : 1;
    if (columns + blank + columns_of(each.text) <= page_columns) {
      lines.append(blank, ' ');
      columns += blank;
    } else {
      lines += '\n' + margin;
      columns = id_columns;
    }
    lines += each.text;
    columns += columns_of(each.text);
  }
  return lines + '\n';
}

// A command's parts, between which a shell lets a line end behind a backslash: at blanks outside of
// quotes.
std::vector<std::string> parts_of(std::string_view command) {
  std::vector<std::string> parts(1);
  bool quoted = false;
  bool escaped = false;
  for (const char c : command) {
    if (c == ' ' && !quoted && !escaped) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
    if (c == '\'' && !escaped) quoted = !quoted;
    escaped = c == '\\' && !quoted && !escaped;
  }
  return parts;
}

// To be pasted as it stands: begins at the left edge.
std::string command_lines(std::string_view command, const paint& colours) {
  constexpr std::string_view indent = "    ";
  constexpr std::string_view further = "      ";
  const size_t comment = command.find("  # ");
  std::string lines(indent);
  size_t columns = indent.size();
  for (const std::string& part : parts_of(command.substr(0, comment))) {
    if (columns > further.size()) {
      // A blank and a backslash have to fit too.
      const bool fits = columns + 1 + columns_of(part) + 2 <= page_columns;
      lines += fits ? std::string(" ") : " \\\n" + std::string(further);
      columns = fits ? columns + 1 : further.size();
    }
    lines += part;
    columns += columns_of(part);
  }
  if (comment != std::string_view::npos) {
    const std::string_view said = command.substr(comment);
    const bool fits = columns + columns_of(said) <= page_columns;
    lines += fits ? std::string(said) : '\n' + std::string(indent) + std::string(said.substr(2));
  }
  return colours.bold(lines) + '\n';
}

std::string finding_lines(const finding& of, const paint& colours) {
  const size_t gap = id_columns - 2 - std::min(id_columns - 3, columns_of(of.id));
  std::string lines = "  " + painted(of.is, of.id, colours) + std::string(gap, ' ');
  if (of.is == verdict::good) {
    return lines +
           wrapped(readable_text(of.measured.empty() ? of.what : of.what + "; " + of.measured));
  }
  lines += wrapped(readable_text(of.what));
  if (!of.measured.empty()) {
    lines += margin + wrapped("measured: " + readable_text(of.measured));
  }
  if (!of.remedy.empty()) {
    lines += margin + "to do:\n" + command_lines(readable_text(of.remedy), colours);
  }
  return lines;
}

}  // namespace

std::string findings_page(const std::vector<finding>& findings, const paint& colours) {
  std::string page;
  for (const verdict v : order) {
    std::string lines;
    for (const finding& each : findings) {
      if (each.is == v) lines += finding_lines(each, colours);
    }
    if (lines.empty()) continue;
    page += (page.empty() ? "" : "\n") + colours.bold(heading_of(v)) + '\n' + lines;
  }
  return page;
}

json::array findings_json(const std::vector<finding>& findings) {
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? json::value(nullptr) : json::value(text);
  };
  json::array list;
  for (const finding& each : findings) {
    json::array figures;
    for (const figure& measured : each.figures) {
      figures.push_back({{"name", measured.name}, {"value", measured.value}});
    }
    list.push_back({{"id", each.id},
                    {"verdict", name_of(each.is)},
                    {"what", each.what},
                    {"measured", text_or_null(each.measured)},
                    {"figures", std::move(figures)},
                    {"remedy", text_or_null(each.remedy)}});
  }
  return list;
}

}  // namespace gar
