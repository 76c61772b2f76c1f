#include "lib/core/resolve.hpp"

#include <string>

#include "lib/core/printable.hpp"

namespace gar {
namespace {

constexpr size_t shown_bytes_max = 64;

// "io-uring: kernel.io_uring_disabled is 2; word-wait: ..."
std::string reasons(const std::vector<lack<capability>>& lacks) {
  std::string all;
  for (const lack<capability>& l : lacks) {
    if (!all.empty()) all += "; ";
    all.append(name_of(l.missing)).append(": ").append(l.why);
  }
  return all;
}

plan resolve_plan(const plan& asked, const capabilities& host, std::vector<error>& warnings) {
  if (asked.park == park_kind::block) return asked;
  const resolved<park_kind> r = resolve(park_chain, asked.park, host);
  if (!r.fell_back()) return asked;
  plan running{r.running, {}, {}, asked.predict};
  const lack<capability>& first = r.lacks.front();
  warnings.emplace_back(errc::ParkFallback,
                        std::vector<std::string>{asked.label(), std::string(name_of(first.missing)),
                                                 first.why, running.label()});
  return running;
}

}  // namespace

result<executor_kind> parse_executor(std::string_view text) {
  if (std::optional<executor_kind> kind = executor_chain.find(text)) return *kind;
  return error(errc::InvalidExecutor, {printable(text, shown_bytes_max), executor_chain.names()});
}

std::optional<strictness> parse_strictness(std::string_view text) {
  for (strictness s : {strictness::fallback, strictness::strict}) {
    if (text == name_of(s)) return s;
  }
  return std::nullopt;
}

result<resolved_executor> resolve_executor(executor_kind asked, strictness how,
                                           const capabilities& host) {
  const resolved<executor_kind> r = resolve(executor_chain, asked, host);
  if (!r.fell_back()) return resolved_executor{asked, asked, {}};
  const std::string name(name_of(asked));
  if (how == strictness::strict) return error(errc::ExecutorRefused, {name, reasons(r.lacks)});
  return resolved_executor{
      asked, r.running,
      error(errc::ExecutorFallback, {name, reasons(r.lacks), std::string(name_of(r.running))})};
}

resolved_bands resolve_bands(const bands& asked, const capabilities& host) {
  resolved_bands r{asked, {}};
  for (size_t i = 0; i < asked.count(); ++i) {
    r.running.replace(i, resolve_plan(asked.at(i).plan, host, r.warnings));
  }
  return r;
}

}  // namespace gar
