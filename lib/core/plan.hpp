// Wait plans: how a wait spends its time, as text a person writes and data a wait runs.
//
// No single way of waiting is right: spinning burns a core, blocking costs latency, sleeping needs
// a prediction. A plan says which, per band of batch rows:
//
//     bands    := plan { ";rows>=" n ":" plan }
//     plan     := park [ "+predict:" deadline ]
//     park     := "block" | "poll" | "flag:park_us=" n ",backstop_us=" n
//     deadline := "margin_us=" n ",min_sleep_us=" n ",max_sleep_us=" n ",window=" n
//
// Each key exactly once, in any order; nothing is defaulted; decimal digits with no leading zero;
// no blanks; 512 bytes at most.
//
// Invariants: what parses is in range; the first band starts at 0 rows, edges strictly rise, at
// most 4 bands; `label()` parses back to an equal value. Immutable after parsing.
// Errors: InvalidPlan{text, fault}, the fault naming its position in bytes from 0.
// Threads: values. Allocation: only in parse and label.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/core/error.hpp"
#include "lib/core/time.hpp"
#include "proto/limits.hpp"

namespace gar {

enum class park_kind : uint8_t { block, poll, flag };

std::string_view name_of(park_kind kind);

struct prediction {
  duration margin;
  duration min_sleep;
  duration max_sleep;
  uint8_t window = 0;  // samples, 1..16

  bool operator==(const prediction&) const = default;
};

// One band's plan.
struct plan {
  park_kind park = park_kind::poll;
  duration park_max;  // flag: the longest single park
  duration backstop;  // flag: one authority query every so often
  std::optional<prediction> predict;

  // Canonical text, keys in the grammar's order.
  std::string label() const;
  bool operator==(const plan&) const = default;
};

// What a refused text got wrong, for a caret.
struct plan_fault {
  size_t position = 0;  // bytes from 0; the text's size for a fault at its end
  std::string fault;    // "unknown key 'foo'", ...
};

class bands {
 public:
  struct band {
    uint32_t from_rows = 0;
    gar::plan plan;
    bool operator==(const band&) const = default;
  };

  // One band, from 0 rows.
  explicit bands(const plan& only);

  static result<bands> parse(std::string_view text);
  // The same, with the fault as data; nullopt in `fault` means that it parsed.
  static std::optional<bands> parse(std::string_view text, plan_fault& fault);

  size_t count() const { return count_; }
  const band& at(size_t index) const { return band_[index]; }
  // Exactly one band holds any row count; an edge belongs to its own band.
  size_t select_index(uint32_t rows) const;
  const plan& select(uint32_t rows) const { return band_[select_index(rows)].plan; }
  std::string label() const;

  bool operator==(const bands&) const = default;

  // Puts another plan in place of a band's own: how resolving applies a fallback.
  void replace(size_t index, const plan& with) { band_[index].plan = with; }

 private:
  bands() = default;
  std::array<band, proto::bands_max> band_{};
  uint8_t count_ = 0;
};

// "flag:park_us=100,...": the plan that gard runs where nothing else is said.
inline constexpr std::string_view plan_as_shipped =
    "flag:park_us=100,backstop_us=10000+predict:margin_us=200,min_sleep_us=50,"
    "max_sleep_us=50000,window=8";

}  // namespace gar
