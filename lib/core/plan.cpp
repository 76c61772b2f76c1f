// The grammar of plan.hpp, read left to right without backtracking; the first fault ends the parse.
#include "lib/core/plan.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <span>

#include "lib/core/printable.hpp"

namespace gar {
namespace {

constexpr uint64_t park_us_max = 10'000;
constexpr uint64_t backstop_us_max = 1'000'000;
constexpr uint64_t margin_us_max = 1'000'000;
constexpr uint64_t sleep_us_max = 10'000'000;
constexpr uint64_t window_max = 16;
constexpr uint64_t rows_max = std::numeric_limits<uint32_t>::max();

constexpr bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}
constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool is_word(char c) {
  return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// One key of a key list: its range and where its value goes.
struct key {
  std::string_view name;
  uint64_t value_min;
  uint64_t value_max;
  uint64_t* value;
  bool seen = false;
};

class reader {
 public:
  reader(std::string_view text, plan_fault& fault) : text_(text), fault_(fault) {}

  // false: fault_ says why.
  bool read_plan(plan& into) {
    std::string_view word;
    if (!read_word({"block", "poll", "flag"}, "a plan", word)) return false;
    into = plan{};
    if (word == "block") {
      into.park = park_kind::block;
      return next() != '+' || refuse(at_, "block takes no prediction");
    }
    into.park = word == "flag" ? park_kind::flag : park_kind::poll;
    if (into.park == park_kind::flag && !read_flag(into)) return false;
    return next() != '+' || read_prediction(into);
  }

  // The edge of a band that is not the first: ";rows>=" n ":".
  bool read_edge(uint32_t previous, size_t bands_before, uint32_t& edge) {
    if (bands_before == proto::bands_max) {
      return refuse(at_, fmt::format("more than {} bands", proto::bands_max));
    }
    ++at_;
    std::string_view word;
    if (!read_word({"rows"}, "'rows>='", word)) return false;
    if (!expect('>') || !expect('=')) return false;
    const size_t start = at_;
    uint64_t rows = 0;
    if (!read_number("rows", 0, rows_max, rows)) return false;
    if (rows <= previous) {
      return refuse(start, fmt::format("edge {} does not rise above {}", rows, previous));
    }
    edge = static_cast<uint32_t>(rows);
    return expect(':');
  }

  bool at_end() const { return at_ == text_.size(); }
  char next() const { return at_end() ? '\0' : text_[at_]; }

  bool expected(std::string_view what) {
    if (at_end()) return refuse(at_, fmt::format("expected {}, found the end", what));
    if (is_blank(next())) return refuse(at_, "blanks are not allowed");
    return refuse(at_,
                  fmt::format("expected {}, found '{}'", what, printable({&text_[at_], 1}, 4)));
  }

  bool refuse(size_t position, std::string fault) {
    fault_ = {position, std::move(fault)};
    return false;
  }

 private:
  bool read_flag(plan& into) {
    uint64_t park_us = 0;
    uint64_t backstop_us = 0;
    key keys[] = {{"park_us", 1, park_us_max, &park_us},
                  {"backstop_us", 1, backstop_us_max, &backstop_us}};
    if (!expect(':') || !read_keys(keys)) return false;
    into.park_max = from_us(park_us);
    into.backstop = from_us(backstop_us);
    return true;
  }

  bool read_prediction(plan& into) {
    ++at_;
    uint64_t margin_us = 0;
    uint64_t min_us = 0;
    uint64_t max_us = sleep_us_max;
    uint64_t window = 0;
    key keys[] = {{"margin_us", 0, margin_us_max, &margin_us},
                  {"min_sleep_us", 0, sleep_us_max, &min_us},
                  {"max_sleep_us", 0, sleep_us_max, &max_us},
                  {"window", 1, window_max, &window}};
    std::string_view word;
    if (!read_word({"predict"}, "'predict:'", word) || !expect(':')) return false;
    if (!read_keys(keys, [&] { return min_us <= max_us; })) return false;
    into.predict = prediction{from_us(margin_us), from_us(min_us), from_us(max_us),
                              static_cast<uint8_t>(window)};
    return true;
  }

  static bool always() { return true; }

  // `consistent` is asked after each number: does it agree with those before it?
  template <class Consistent = bool (*)()>
  bool read_keys(std::span<key> keys, Consistent consistent = always) {
    for (;;) {
      size_t number_at = 0;
      if (!read_key(keys, number_at)) return false;
      if (!consistent()) return refuse(number_at, "min_sleep_us is above max_sleep_us");
      if (next() != ',') break;
      ++at_;
    }
    const auto missing =
        std::find_if(keys.begin(), keys.end(), [](const key& k) { return !k.seen; });
    if (missing == keys.end()) return true;
    if (at_end() || next() == '+' || next() == ';') {
      return refuse(at_, fmt::format("missing key '{}'", missing->name));
    }
    return expected("','");
  }

  bool read_key(std::span<key> keys, size_t& number_at) {
    const size_t start = at_;
    const std::string_view word = take_word();
    const auto found =
        std::find_if(keys.begin(), keys.end(), [&](const key& k) { return k.name == word; });
    if (found == keys.end()) {
      const auto unseen =
          std::find_if(keys.begin(), keys.end(), [](const key& k) { return !k.seen; });
      if (word.empty() && at_end() && unseen != keys.end()) {
        return refuse(at_, fmt::format("missing key '{}'", unseen->name));
      }
      const bool begun = std::any_of(keys.begin(), keys.end(),
                                     [&](const key& k) { return k.name.starts_with(word); });
      return unknown(start, word, begun, "key", "a key");
    }
    if (found->seen) return refuse(start, fmt::format("key '{}' is given twice", word));
    found->seen = true;
    if (!expect('=')) return false;
    number_at = at_;
    return read_number(found->name, found->value_min, found->value_max, *found->value);
  }

  bool read_word(std::initializer_list<std::string_view> known, std::string_view what,
                 std::string_view& word) {
    const size_t start = at_;
    word = take_word();
    if (std::find(known.begin(), known.end(), word) != known.end()) return true;
    const bool begun = std::any_of(known.begin(), known.end(),
                                   [&](std::string_view k) { return k.starts_with(word); });
    return unknown(start, word, begun, known.size() > 1 ? "plan" : "word", what);
  }

  // A word that a blank cut short is the blank's fault, any other the word's.
  bool unknown(size_t start, std::string_view word, bool begun, std::string_view kind,
               std::string_view what) {
    if (word.empty() || (begun && is_blank(next()))) return expected(what);
    return refuse(start, fmt::format("unknown {} '{}'", kind, printable(word, 32)));
  }

  bool read_number(std::string_view name, uint64_t value_min, uint64_t value_max, uint64_t& into) {
    const size_t start = at_;
    if (next() == '+' || next() == '-') return refuse(start, "a number has no sign");
    while (is_digit(next())) ++at_;
    const std::string_view digits = text_.substr(start, at_ - start);
    if (digits.empty()) return expected("a number");
    if (digits.size() > 1 && digits[0] == '0') return refuse(start, "a number has no leading zero");
    uint64_t value = 0;
    for (char digit : digits) {
      value = value * 10 + static_cast<uint64_t>(digit - '0');
      if (value > value_max) break;  // every maximum is far below 2^64 / 10
    }
    if (value < value_min || value > value_max) {
      return refuse(start, fmt::format("{} is out of range {}..{}", name, value_min, value_max));
    }
    into = value;
    return true;
  }

  std::string_view take_word() {
    const size_t start = at_;
    while (is_word(next())) ++at_;
    return text_.substr(start, at_ - start);
  }

  bool expect(char c) {
    if (!at_end() && next() == c) {
      ++at_;
      return true;
    }
    return expected(fmt::format("'{}'", c));
  }

  std::string_view text_;
  plan_fault& fault_;
  size_t at_ = 0;
};

uint64_t to_us(duration d) {
  return d.ns / 1000;
}

}  // namespace

std::string_view name_of(park_kind kind) {
  switch (kind) {
    case park_kind::block:
      return "block";
    case park_kind::poll:
      return "poll";
    case park_kind::flag:
      return "flag";
  }
  return "";
}

std::string plan::label() const {
  std::string text(name_of(park));
  if (park == park_kind::flag) {
    text += fmt::format(":park_us={},backstop_us={}", to_us(park_max), to_us(backstop));
  }
  if (predict) {
    text += fmt::format("+predict:margin_us={},min_sleep_us={},max_sleep_us={},window={}",
                        to_us(predict->margin), to_us(predict->min_sleep),
                        to_us(predict->max_sleep), predict->window);
  }
  return text;
}

bands::bands(const plan& only) : count_(1) {
  band_[0] = {0, only};
}

std::optional<bands> bands::parse(std::string_view text, plan_fault& fault) {
  if (text.size() > proto::plan_bytes_max) {
    fault = {proto::plan_bytes_max, fmt::format("longer than {} bytes", proto::plan_bytes_max)};
    return std::nullopt;
  }
  reader in(text, fault);
  bands parsed;
  uint32_t edge = 0;
  for (;;) {
    band& next = parsed.band_[parsed.count_];
    next.from_rows = edge;
    if (!in.read_plan(next.plan)) return std::nullopt;
    ++parsed.count_;
    if (in.at_end()) return parsed;
    if (in.next() != ';') {
      in.expected("';' or the end");
      return std::nullopt;
    }
    if (!in.read_edge(next.from_rows, parsed.count_, edge)) return std::nullopt;
  }
}

result<bands> bands::parse(std::string_view text) {
  plan_fault fault;
  std::optional<bands> parsed = parse(text, fault);
  if (parsed) return *parsed;
  return error(errc::InvalidPlan, {printable(text, proto::plan_bytes_max),
                                   fmt::format("at byte {}: {}", fault.position, fault.fault)});
}

size_t bands::select_index(uint32_t rows) const {
  size_t index = 0;
  while (index + 1 < count_ && band_[index + 1].from_rows <= rows) ++index;
  return index;
}

std::string bands::label() const {
  std::string text = band_[0].plan.label();
  for (size_t i = 1; i < count_; ++i) {
    text += fmt::format(";rows>={}:{}", band_[i].from_rows, band_[i].plan.label());
  }
  return text;
}

}  // namespace gar
