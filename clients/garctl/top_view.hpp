// Top view: what `garctl top` shows, made of two looks at the node, and what its keys do.
//
// gard counts from its start; a person wants to know what goes on now. So each list is asked for
// every second, and a row shows what changed since the look before.
//
//     take(look) --> rows: rates, pending, oldest, how waits ended, told p50/p99, CPU given back
//     key(c)     --> another list, order or filter; paused; ended
//     lines(columns, rows) --> the screen, of that size
//
// "Told" is what gard knows of a wake's delay: from the look that saw a word to the wake of its
// client, of some waits, since the client connected. "Given back" are the cores that the row's
// waits would have burned by spinning.
//
// Threads: a value. Allocation: rows and lines. Errors: none; what gard did not say is "-".
#pragma once

#include <array>
#include <boost/json/value.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gar {

enum class top_list : uint8_t { clients, streams, points };

std::string_view name_of(top_list list);

struct top_look {
  uint64_t at_ns = 0;
  top_list list = top_list::clients;
  boost::json::value status;
  boost::json::value entries;  // the answer to the list's question
};

class top_view {
 public:
  struct line {
    enum class look : uint8_t { plain, bold, head, bad } as = look::plain;
    std::string text;
  };

  // What to ask for.
  top_list list() const { return list_; }
  bool paused() const { return paused_; }
  // A look of another list, or while it is paused, is left out.
  void take(const top_look& now);
  // gard did not answer: why; the rows stay as they were.
  void failed(std::string why) { failure_ = std::move(why); }

  // Keys that are no character, above all that are.
  static constexpr int up_key = 0x110000;
  static constexpr int down_key = 0x110001;
  // false: the person wants to leave.
  bool key(int c);

  // At most so many lines, none wider than so many columns.
  std::vector<line> lines(size_t columns, size_t rows);

 private:
  enum class order : uint8_t { name, rate, pending, oldest, told, given };

  struct counts {
    uint64_t completed = 0;
    uint64_t waited_ns = 0;
    std::array<uint64_t, 4> kinds{};
  };
  struct row {
    std::string name;
    std::optional<double> rate;  // none: not seen before
    uint64_t pending = 0;
    uint64_t oldest_ms = 0;
    std::array<uint64_t, 4> kinds{};  // since the look before
    std::optional<uint64_t> told_p50_ns;
    std::optional<uint64_t> told_p99_ns;
    double given = 0;  // cores
  };

  static std::string key_of(const boost::json::value& entry, top_list list);
  static std::string name_in(const boost::json::value& entry, top_list list);
  static counts counts_of(const boost::json::value& entry, top_list list);
  row row_of(const boost::json::value& entry, double seconds) const;
  void take_node(const boost::json::value& status, double seconds);
  bool filter_key(int c);
  void sort();
  std::vector<line> head(size_t columns) const;
  std::string row_text(const row& r, size_t columns) const;

  top_list list_ = top_list::clients;
  order order_ = order::rate;
  bool upwards_ = false;
  bool paused_ = false;
  bool filtering_ = false;
  std::string filter_;
  size_t scrolled_ = 0;
  size_t scroll_max_ = 0;  // of the lines asked for last: what the keys start from
  std::string failure_;
  uint64_t last_ns_ = 0;  // 0: no look of this list yet
  std::map<std::string, counts> before_;
  std::vector<row> rows_;

  boost::json::value status_;
  std::optional<uint64_t> node_completed_;
  uint64_t node_waited_ns_ = 0;
  uint64_t node_cpu_ms_ = 0;
  uint64_t node_at_ns_ = 0;
  double waits_per_s_ = 0;
  double waited_cores_ = 0;
  double gard_cores_ = 0;
};

}  // namespace gar
