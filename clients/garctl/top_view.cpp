#include "clients/garctl/top_view.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <boost/json/array.hpp>

#include "clients/garctl/answer_fields.hpp"
#include "clients/garctl/readable.hpp"

namespace gar {
namespace {

namespace json = boost::json;

constexpr size_t numbers_columns = 57;  // of a row, behind its name
constexpr size_t name_columns_min = 8;
constexpr int escape_key = 27;
constexpr int backspace_keys[] = {8, 127, 0407};  // the last as ncurses names it

// "950ns", "12.3us", "4.56ms", "1.23s", "75s", "12min", "30h": six columns at most, so that the
// limits are those of what rounds up.
std::string short_ns(uint64_t ns) {
  const auto scaled = [ns](double unit, const char* name) {
    const double shown = static_cast<double>(ns) / unit;
    return fmt::format("{:.{}f}{}", shown, shown < 9.995 ? 2 : shown < 99.95 ? 1 : 0, name);
  };
  if (ns < 1'000) return fmt::format("{}ns", ns);
  if (ns < 1'000'000) return scaled(1e3, "us");
  if (ns < 1'000'000'000) return scaled(1e6, "ms");
  const uint64_t s = ns / 1'000'000'000;
  if (s < 60) return scaled(1e9, "s");
  if (s < 600) return fmt::format("{}s", s);
  if (s < 36'000) return fmt::format("{}min", s / 60);
  return fmt::format("{}h", s / 3600);
}

std::string short_count(double value) {
  if (value < 9.95) return fmt::format("{:.1f}", value);
  if (value < 99'999.5) return fmt::format("{:.0f}", value);
  if (value < 9'999'500) return fmt::format("{:.0f}k", value / 1e3);
  return fmt::format("{:.0f}M", value / 1e6);
}

std::string short_or_dash(const std::optional<uint64_t>& ns) {
  return ns ? short_ns(*ns) : "-";
}

double per_second(uint64_t now, uint64_t before, double seconds) {
  return now > before && seconds > 0 ? static_cast<double>(now - before) / seconds : 0;
}

// How waits ended, in percent: "0/12/3/85", in the order of the kinds.
std::string kinds_text(const std::array<uint64_t, 4>& kinds) {
  uint64_t all = 0;
  for (const uint64_t k : kinds) all += k;
  if (all == 0) return "-";
  std::string text;
  for (const uint64_t k : kinds) {
    text += fmt::format("{}{:.0f}", text.empty() ? "" : "/",
                        100 * static_cast<double>(k) / static_cast<double>(all));
  }
  return text;
}

}  // namespace

std::string_view name_of(top_list list) {
  switch (list) {
    case top_list::clients:
      return "clients";
    case top_list::streams:
      return "streams";
    case top_list::points:
      return "points";
  }
  return "";
}

std::string top_view::key_of(const json::value& entry, top_list list) {
  if (list == top_list::clients) return count_text(entry, "id");
  return count_text(entry, "client_id") + '/' + count_text(entry, "stream") + '/' +
         count_text(entry, "stream_generation") + '/' +
         optional_text_field(entry, "point").value_or("");
}

std::string top_view::name_in(const json::value& entry, top_list list) {
  if (list == top_list::clients) {
    return fmt::format("{}: {}", count_text(entry, "id"), text_field(entry, "name"));
  }
  // What tells rows apart comes first: the end may be cut.
  const auto point = optional_text_field(entry, "point");
  const std::string client = text_field(entry, "client");
  if (point) return fmt::format("{}: {}, {}", count_text(entry, "client_id"), *point, client);
  const std::string own = optional_text_field(entry, "name").value_or("");
  return fmt::format("{}: stream {}{}{}, {}", count_text(entry, "client_id"),
                     count_text(entry, "stream"), own.empty() ? "" : " ", own, client);
}

top_view::counts top_view::counts_of(const json::value& entry, top_list list) {
  counts c;
  c.completed = count_or_0(entry, list == top_list::points ? "waits" : "completed");
  c.waited_ns = count_or_0(entry, "waited_ns");
  constexpr std::array names{"kinds.blocked", "kinds.immediate", "kinds.late", "kinds.parked"};
  for (size_t i = 0; i < names.size(); ++i) c.kinds[i] = count_or_0(entry, names[i]);
  return c;
}

void top_view::take(const top_look& now) {
  failure_.clear();
  if (paused_ || now.list != list_) return;
  // Another gard counts, and names clients, from its own beginning.
  if (count_or_0(now.status, "uptime_ms") < count_or_0(status_, "uptime_ms")) {
    before_.clear();
    node_completed_.reset();
  }
  const double seconds = last_ns_ == 0 ? 0 : static_cast<double>(now.at_ns - last_ns_) / 1e9;
  rows_.clear();
  std::map<std::string, counts> counted;
  for (const json::value& entry : list_field(now.entries, name_of(list_))) {
    rows_.push_back(row_of(entry, seconds));
    counted.emplace(key_of(entry, list_), counts_of(entry, list_));
  }
  before_ = std::move(counted);
  last_ns_ = now.at_ns;
  take_node(now.status, node_at_ns_ == 0 ? 0 : static_cast<double>(now.at_ns - node_at_ns_) / 1e9);
  node_at_ns_ = now.at_ns;
  sort();
}

top_view::row top_view::row_of(const json::value& entry, double seconds) const {
  row r;
  r.name = name_in(entry, list_);
  r.pending = count_or_0(entry, "pending");
  r.oldest_ms = count_or_0(entry, "oldest_pending_ms");
  r.told_p50_ns = count_field(entry, "told.p50_ns");
  r.told_p99_ns = count_field(entry, "told.p99_ns");
  const counts now = counts_of(entry, list_);
  const auto before = before_.find(key_of(entry, list_));
  if (before == before_.end() || seconds <= 0) return r;
  r.rate = per_second(now.completed, before->second.completed, seconds);
  r.given = per_second(now.waited_ns, before->second.waited_ns, seconds) / 1e9;
  for (size_t i = 0; i < now.kinds.size(); ++i) {
    r.kinds[i] = now.kinds[i] - std::min(now.kinds[i], before->second.kinds[i]);
  }
  return r;
}

void top_view::take_node(const json::value& status, double seconds) {
  const uint64_t completed = count_or_0(status, "waits.completed");
  const uint64_t waited_ns = count_or_0(status, "waits.waited_ns");
  const uint64_t cpu_ms = count_or_0(status, "process.cpu_ms");
  const bool known = node_completed_.has_value();
  waits_per_s_ = known ? per_second(completed, *node_completed_, seconds) : 0;
  waited_cores_ = known ? per_second(waited_ns, node_waited_ns_, seconds) / 1e9 : 0;
  gard_cores_ = known ? per_second(cpu_ms, node_cpu_ms_, seconds) / 1e3 : 0;
  node_completed_ = completed;
  node_waited_ns_ = waited_ns;
  node_cpu_ms_ = cpu_ms;
  status_ = status;
}

bool top_view::filter_key(int c) {
  if (c == '\n' || c == '\r') {
    filtering_ = false;
  } else if (c == escape_key) {
    filtering_ = false;
    filter_.clear();
  } else if (std::find(std::begin(backspace_keys), std::end(backspace_keys), c) !=
             std::end(backspace_keys)) {
    if (!filter_.empty()) filter_.pop_back();
  } else if (c >= ' ' && c < 127) {
    filter_ += static_cast<char>(c);
  }
  return true;
}

bool top_view::key(int c) {
  if (filtering_) return filter_key(c);
  const auto show = [this](top_list list) {
    if (list == list_) return;
    list_ = list;
    last_ns_ = 0;
    scrolled_ = 0;
    before_.clear();
    rows_.clear();
    paused_ = false;
  };
  const auto order_by = [this](order by) {
    upwards_ = by == order_ ? !upwards_ : by == order::name;
    order_ = by;
    sort();
  };
  switch (c) {
    case 'q':
      return false;
    case 'c':
      show(top_list::clients);
      break;
    case 's':
      show(top_list::streams);
      break;
    case 'p':
      show(top_list::points);
      break;
    case 'n':
      order_by(order::name);
      break;
    case 'r':
      order_by(order::rate);
      break;
    case 'w':
      order_by(order::pending);
      break;
    case 'o':
      order_by(order::oldest);
      break;
    case 't':
      order_by(order::told);
      break;
    case 'g':
      order_by(order::given);
      break;
    case ' ':
      paused_ = !paused_;
      break;
    case '/':
      filtering_ = true;
      filter_.clear();
      break;
    case down_key:
    case 'j':
      scrolled_ = std::min(scrolled_, scroll_max_) + 1;
      break;
    case up_key:
    case 'k':
      scrolled_ = std::max<size_t>(std::min(scrolled_, scroll_max_), 1) - 1;
      break;
    default:
      break;
  }
  return true;
}

void top_view::sort() {
  const auto value = [this](const row& r) -> double {
    switch (order_) {
      case order::name:
        return 0;
      case order::rate:
        return r.rate.value_or(-1);
      case order::pending:
        return static_cast<double>(r.pending);
      case order::oldest:
        return static_cast<double>(r.oldest_ms);
      case order::told:
        return static_cast<double>(r.told_p99_ns.value_or(0));
      case order::given:
        return r.given;
    }
    return 0;
  };
  std::stable_sort(rows_.begin(), rows_.end(), [&](const row& a, const row& b) {
    if (order_ == order::name) return upwards_ ? a.name < b.name : b.name < a.name;
    return upwards_ ? value(a) < value(b) : value(b) < value(a);
  });
}

std::vector<top_view::line> top_view::head(size_t columns) const {
  using look = line::look;
  constexpr std::array orders{"name", "rate", "pending", "oldest", "told", "given"};
  const auto oldest = count_or_0(status_, "waits.oldest_pending_ms");
  std::vector<line> all;
  all.push_back(
      {look::bold,
       fmt::format("gard {}  up {}  {}, {}  plan {}", text_field(status_, "version"),
                   readable_ns(count_or_0(status_, "uptime_ms") * 1'000'000),
                   text_field(status_, "executor.running"), text_field(status_, "word_wait.kind"),
                   text_field(status_, "plan.running"))});
  all.push_back(
      {look::plain, fmt::format("{} clients, {} streams  {} waits/s  {} pending, oldest {}",
                                count_text(status_, "clients"), count_text(status_, "streams"),
                                short_count(waits_per_s_), count_text(status_, "waits.pending"),
                                oldest == 0 ? "-" : short_ns(oldest * 1'000'000))});
  const double given = std::max(0.0, waited_cores_ - gard_cores_);
  all.push_back(
      {look::plain, fmt::format("CPU given back: {:.2f} cores (spinning would burn {:.2f}, "
                                "gard takes {:.2f})",
                                given, waited_cores_, gard_cores_)});
  // What the rows are is cut last.
  std::string state = failure_.empty() ? "" : failure_ + "  ";
  if (paused_) state += "PAUSED  ";
  state +=
      fmt::format("lost stores {}, early words {}, failed {}  {} by {}{}",
                  count_text(status_, "waits.lost_store"), count_text(status_, "waits.early_word"),
                  count_text(status_, "waits.failed"), name_of(list_),
                  orders[static_cast<size_t>(order_)], upwards_ ? ", upwards" : "");
  if (filtering_ || !filter_.empty()) state += "  filter: " + filter_ + (filtering_ ? "_" : "");
  all.push_back({failure_.empty() ? look::plain : look::bad, state});
  const size_t name = std::max(name_columns_min, columns - std::min(columns, numbers_columns));
  all.push_back(
      {look::head, fitted(name_of(list_), name) +
                       fmt::format(" {:>7} {:>5} {:>6} {:>13} {:>6} {:>6} {:>7}", "WAITS/S", "PEND",
                                   "OLDEST", "B/I/L/P %", "TOLD50", "TOLD99", "GIVEN")});
  return all;
}

std::string top_view::row_text(const row& r, size_t columns) const {
  const size_t name = std::max(name_columns_min, columns - std::min(columns, numbers_columns));
  return fitted(r.name, name) +
         fmt::format(" {:>7} {:>5} {:>6} {:>13} {:>6} {:>6} {:>7}",
                     r.rate ? short_count(*r.rate) : "-", r.pending,
                     r.oldest_ms == 0 ? "-" : short_ns(r.oldest_ms * 1'000'000),
                     kinds_text(r.kinds), short_or_dash(r.told_p50_ns),
                     short_or_dash(r.told_p99_ns), fmt::format("{:.2f}", r.given));
}

std::vector<top_view::line> top_view::lines(size_t columns, size_t rows) {
  std::vector<line> all = head(columns);
  std::vector<const row*> shown;
  for (const row& r : rows_) {
    if (filter_.empty() || r.name.find(filter_) != std::string::npos) shown.push_back(&r);
  }
  const size_t room = rows > all.size() + 1 ? rows - all.size() - 1 : 0;
  scroll_max_ = shown.size() > room ? shown.size() - room : 0;
  const size_t from = std::min(scrolled_, scroll_max_);
  for (size_t i = from; i < shown.size() && i - from < room; ++i) {
    all.push_back({line::look::plain, row_text(*shown[i], columns)});
  }
  if (shown.empty() && room > 0) {
    all.push_back({line::look::plain, fmt::format("no {} {}", name_of(list_),
                                                  filter_.empty() ? "yet" : "match the filter")});
  }
  while (rows != SIZE_MAX && all.size() + 1 < rows) all.push_back({});
  all.push_back({line::look::bold,
                 "c s p: list  n r w o t g: sort  /: filter  space: pause  j k: scroll  q: quit"});
  if (all.size() > rows) all.resize(rows);
  for (line& each : all) {
    each.text = fitted(each.text, columns);
    each.text.erase(each.text.find_last_not_of(' ') + 1);
  }
  return all;
}

}  // namespace gar
