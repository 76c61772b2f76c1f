// Resolving: which executor and which plans this host really runs, and the warning that says why
// they are not the ones asked for.
//
//     executor   io-uring    needs io-uring, word-wait      park   flag   needs word-wait
//                gpu-reactor needs word-wait                       poll   needs nothing
//                naive       needs nothing                  (block needs nothing, replaces nothing)
//
// Invariants: when all is available nothing is warned and what runs is what was asked for. Each
// band resolves on its own; a fallback keeps the band's prediction. Errors: InvalidExecutor{text,
// accepted names}; ExecutorRefused{asked, why} under `strict`. Warnings, as values:
// ExecutorFallback{asked, why, running}; ParkFallback{asked plan, missing capability, why, running
// plan}. Threads: pure. Allocation: warnings.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "lib/core/capability.hpp"
#include "lib/core/error.hpp"
#include "lib/core/fallback_chain.hpp"
#include "lib/core/plan.hpp"

namespace gar {

enum class executor_kind : uint8_t { io_uring, gpu_reactor, naive };

inline constexpr fallback_chain<executor_kind, 3> executor_chain{{{
    {executor_kind::io_uring, "io-uring", {capability::io_uring, capability::word_wait}},
    {executor_kind::gpu_reactor, "gpu-reactor", {capability::word_wait}},
    {executor_kind::naive, "naive", {}},
}}};
static_assert(executor_chain.ends_always());

inline constexpr fallback_chain<park_kind, 2> park_chain{{{
    {park_kind::flag, "flag", {capability::word_wait}},
    {park_kind::poll, "poll", {}},
}}};
static_assert(park_chain.ends_always());

constexpr std::string_view name_of(executor_kind kind) {
  return executor_chain.name_of(kind);
}
result<executor_kind> parse_executor(std::string_view text);

enum class strictness : uint8_t { fallback, strict };

constexpr std::string_view name_of(strictness s) {
  return s == strictness::strict ? "strict" : "fallback";
}
std::optional<strictness> parse_strictness(std::string_view text);

struct resolved_executor {
  executor_kind requested;
  executor_kind running;
  std::optional<error> warning;  // ExecutorFallback
};

result<resolved_executor> resolve_executor(executor_kind asked, strictness how,
                                           const capabilities& host);

struct resolved_bands {
  bands running;
  std::vector<error> warnings;  // one ParkFallback for each band that does not run as asked
};

resolved_bands resolve_bands(const bands& asked, const capabilities& host);

}  // namespace gar
