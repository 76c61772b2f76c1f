// Config setting: one key of gard.toml, as data: what it may be, where it goes, how it is shown.
//
// Reading, printing and documenting a key are three places that drift apart; here each key is one
// row, and the reader (config.cpp), `gard --check-config` and the test of config/gard.toml walk the
// same rows. Plans are not rows: their tables have names of the operator's own.
//
// Invariants: `read` changes the config only when it returns true; what `shown` returns, read back,
// gives the same value.
// Threads: pure; the rows are made once.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "daemon/config.hpp"

namespace gar {

// A value as TOML gave it; monostate stands for every type that no key takes.
using config_value = std::variant<std::monostate, bool, int64_t, std::string>;

struct config_setting {
  std::string_view section;
  std::string_view name;
  std::string expected;  // "a duration such as "50us", from 1us to 1ms"
  // false: not what was expected.
  std::function<bool(const config_value&, config&)> read;
  // The value as TOML; empty: it is not set.
  std::function<std::string(const config&)> shown;
};

// In the order in which they are printed; those of one section lie together.
const std::vector<config_setting>& config_settings();

// A TOML basic string.
std::string toml_quoted(std::string_view text);

}  // namespace gar
