#include "tests/sim/judge.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/core/error.hpp"

namespace gar::sim {
namespace {

// What a calm machine may add to a wait: paces of up to 1 ms, a few wakes and messages.
constexpr uint64_t calm_slack_ns = 3'000'000;
// A plan that changed is picked anew a few times, each after a pause of up to 5 ms.
constexpr uint64_t changed_plan_slack_ns = 25'000'000;

double us(uint64_t ns) {
  return static_cast<double>(ns) / 1000.0;
}

}  // namespace

uint64_t wait_tally::ended() const {
  return by_kind[0] + by_kind[1] + by_kind[2] + by_kind[3] + timed_out + cancelled + closed +
         device_failed;
}

void wait_tally::add(const wait_tally& other) {
  for (size_t i = 0; i < by_kind.size(); ++i) by_kind[i] += other.by_kind[i];
  delegated += other.delegated;
  in_process += other.in_process;
  timed_out += other.timed_out;
  cancelled += other.cancelled;
  closed += other.closed;
  device_failed += other.device_failed;
  dropped += other.dropped;
}

uint64_t judge::begins(asked what) {
  const memory_scope own(nullptr);
  what.start_ns = on_->now_ns();
  on_->say(what.who, "waits for {} of {}{}{}", what.sequence, what.stream->name(),
           what.is_inline ? ", inline" : "",
           what.timeout_ns ? fmt::format(", at most {:.1f} us", us(what.timeout_ns)) : "");
  open_.emplace(++last_, static_cast<const asked&>(what));  // a copy, in the judge's memory
  return last_;
}

void judge::ends(uint64_t number, int error, const gar_report& report) {
  const memory_scope own(nullptr);
  const auto at = open_.find(number);
  if (at == open_.end()) return found("double end", fmt::format("wait {} ended twice", number));
  const asked what = std::move(at->second);
  open_.erase(at);
  const uint64_t now_ns = on_->now_ns();
  const gpu_stream::record* r = what.stream->find(what.sequence);
  on_->say(what.who, "wait for {} of {} ended: error {}, kind {}, {} parks, {} backstops{}",
           what.sequence, what.stream->name(), error, report.kind, report.parks,
           report.backstop_queries, report.delegated ? ", by gard" : "");
  if (error == 0) return succeeded(what, report);
  switch (static_cast<errc>(error)) {
    case errc::TimedOut:
      ++waits_.timed_out;
      if (what.timeout_ns == 0) return found("false timeout", what.who + ": there was none");
      if (now_ns < what.start_ns + what.timeout_ns) {
        return found("false timeout", fmt::format("{}: {:.1f} us early", what.who,
                                                  us(what.start_ns + what.timeout_ns - now_ns)));
      }
      // A word stream's work is done a moment before its program says so.
      if (r && !what.stream->is_word() && what.stream->done(what.sequence) &&
          r->done_ns < what.start_ns + what.timeout_ns) {
        return found("false timeout", what.who + ": its work was done in time");
      }
      return;
    case errc::Backend:
    case errc::StreamFailed:
      ++waits_.device_failed;
      if (!what.stream->broken()) return found("false failure", what.who + ": no device failed");
      return;
    case errc::Cancelled:
      ++waits_.cancelled;
      if (!what.cancelled) found("false cancel", what.who + ": nobody cancelled it");
      return;
    case errc::Closed:
      ++waits_.closed;
      if (!what.closed) found("false close", what.who + ": its stream is open");
      return;
    default:
      found("strange error", fmt::format("{}: error {}", what.who, error));
  }
}

void judge::succeeded(const asked& what, const gar_report& report) {
  const uint64_t now_ns = on_->now_ns();
  const gpu_stream::record* r = what.stream->find(what.sequence);
  if (!r || !what.stream->done(what.sequence)) {
    return found("false completion", fmt::format("{}: {} of {} ended well, its work is not done",
                                                 what.who, what.sequence, what.stream->name()));
  }
  ++waits_.by_kind[report.kind & 3];
  waits_.delegated += report.delegated;
  waits_.in_process += report.in_process;
  if (report.wait_ns > now_ns - what.start_ns + 1000) {
    return found("false report", fmt::format("{}: waited {:.1f} us of {:.1f}", what.who,
                                             us(report.wait_ns), us(now_ns - what.start_ns)));
  }
  if (!how_->calm || what.is_async) return;
  uint64_t latest_ns = std::max(r->done_ns, what.start_ns + how_->sleep_ns) + calm_slack_ns;
  if (!how_->later_plans.empty()) latest_ns += changed_plan_slack_ns;
  if (r->store_faulty || how_->devices.neighbour) latest_ns += how_->backstop_ns + 10'000'000;
  if (now_ns > latest_ns) {
    found("late end", fmt::format("{}: {} of {} ended {:.1f} us after its work, {:.1f} us too late",
                                  what.who, what.sequence, what.stream->name(),
                                  us(now_ns - r->done_ns), us(now_ns - latest_ns)));
  }
}

void judge::drop(const process& of) {
  for (auto at = open_.begin(); at != open_.end();) {
    if (at->second.of != &of) {
      ++at;
      continue;
    }
    ++waits_.dropped;
    at = open_.erase(at);
  }
}

void judge::counters_of(const std::string& who, const gar_counters& c) {
  if (!how_->calm) return;
  if (c.owner_backstops > 0) {
    found("silent gard",
          fmt::format("{}: {} waits ended by the owner's own backstop", who, c.owner_backstops));
  }
}

void judge::found(std::string kind, std::string text) {
  const memory_scope own(nullptr);
  if (first_) return;
  on_->say("judge", "VIOLATION {}: {}", kind, text);
  first_ = violation{static_cast<const std::string&>(kind), static_cast<const std::string&>(text)};
}

}  // namespace gar::sim
