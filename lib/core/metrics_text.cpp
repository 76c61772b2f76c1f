#include "lib/core/metrics_text.hpp"

#include <fmt/format.h>

#include "lib/core/error.hpp"

namespace gar {
namespace {

std::string_view name_of(metric_type type, metrics_dialect as) {
  switch (type) {
    case metric_type::counter:
      return "counter";
    case metric_type::gauge:
      return "gauge";
    case metric_type::histogram:
      return "histogram";
    case metric_type::info:
      return as == metrics_dialect::open_metrics ? "info" : "gauge";
  }
  return "";
}

std::string_view suffix_of(metric_type type) {
  if (type == metric_type::counter) return "_total";
  return type == metric_type::info ? "_info" : "";
}

std::string escaped(std::string_view value) {
  std::string text;
  for (const char c : value) {
    if (c == '\n') {
      text += "\\n";
    } else {
      if (c == '"' || c == '\\') text += '\\';
      text += c;
    }
  }
  return text;
}

// "0.00001": as many digits as count.
std::string seconds_text(uint64_t ns) {
  std::string text = fmt::format("{}.{:09}", ns / 1'000'000'000, ns % 1'000'000'000);
  text.erase(text.find_last_not_of('0') + 1);
  return text.ends_with('.') ? text + '0' : text;
}

}  // namespace

void metrics_text::family(std::string_view name, metric_type type, std::string_view unit,
                          std::string_view help) {
  GAR_ASSERT(unit.empty() || name.ends_with(unit));
  name_ = name;
  type_ = type;
  const bool open = as_ == metrics_dialect::open_metrics;
  const std::string shown = open ? name_ : name_ + std::string(suffix_of(type));
  text_ += fmt::format("# TYPE {} {}\n", shown, name_of(type, as_));
  if (open && !unit.empty()) text_ += fmt::format("# UNIT {} {}\n", shown, unit);
  text_ += fmt::format("# HELP {} {}\n", shown, escaped(help));
}

void metrics_text::sample(labels with, uint64_t value) {
  line(suffix_of(type_), with, {}, std::to_string(value));
}

void metrics_text::sample(labels with, duration value) {
  line(suffix_of(type_), with, {}, seconds_text(value.ns));
}

void metrics_text::sample(labels with, const duration_histogram& value) {
  GAR_ASSERT(type_ == metric_type::histogram);
  uint64_t below = 0;
  for (size_t i = 0; i < value.counts.size(); ++i) {
    below += value.counts[i];
    const bool last = i == value.bounds_ns.size();
    line("_bucket", with, last ? "+Inf" : seconds_text(value.bounds_ns[i]), std::to_string(below));
  }
  line("_sum", with, {}, seconds_text(value.sum_ns));
  line("_count", with, {}, std::to_string(below));
}

void metrics_text::line(std::string_view suffix, labels with, std::string_view bound,
                        std::string_view value) {
  GAR_ASSERT(!name_.empty());
  std::string shown;
  const auto add = [&shown](std::string_view name, std::string_view of) {
    shown += fmt::format("{}{}=\"{}\"", shown.empty() ? "" : ",", name, escaped(of));
  };
  for (const auto& [name, of] : with) add(name, of);
  if (!bound.empty()) add("le", bound);
  text_ += name_;
  text_ += suffix;
  if (!shown.empty()) text_ += '{' + shown + '}';
  text_ += ' ';
  text_ += value;
  text_ += '\n';
}

std::string metrics_text::take() {
  if (as_ == metrics_dialect::open_metrics) text_ += "# EOF\n";
  return std::move(text_);
}

}  // namespace gar
