// Planted bugs: mistakes that the simulator must find, to show that it can.
//
// A check that never failed shows nothing. In a build with GAR_PLANTED_BUGS one of these mistakes
// can be chosen at run time; each place that would be wrong asks `planted(bug::...)`. In every
// other build the answer is constant, and nothing of this is left.
//
// Threads: chosen before any starts. Blocking, allocation: none.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "planted_build.hpp"

namespace gar {

enum class bug : uint8_t {
  none,
  no_recheck_after_arming,
  request_without_doorbell,
  plain_comparison,
  backstop_never_due,
  late_outcome_raises_prediction,
  credit_returned_twice,
  probe_answer_of_another_wait,
  owner_death_unnoticed,
  wake_flag_cleared_early,
  slot_reused_with_store_pending,
  plan_changed_under_wait,
  deadline_by_wrong_clock,
  word_is_trusted,
};

struct planted_bug {
  bug which;
  std::string_view name;
  std::string_view what;
};

inline constexpr std::array<planted_bug, 13> planted_bugs{{
    {bug::no_recheck_after_arming, "no-recheck-after-arming",
     "the reactor announces its sleep and sleeps, without a second look at requests"},
    {bug::request_without_doorbell, "request-without-doorbell",
     "a client puts a request into its ring and does not ring the bell"},
    {bug::plain_comparison, "plain-comparison",
     "the reactor compares a word with its target as plain numbers, which wrap one day"},
    {bug::backstop_never_due, "backstop-never-due",
     "gard never asks an owner whose word does not come"},
    {bug::late_outcome_raises_prediction, "late-outcome-raises-prediction",
     "a wait that woke late records when it woke"},
    {bug::credit_returned_twice, "credit-returned-twice",
     "the end of a wait by ring is written twice"},
    {bug::probe_answer_of_another_wait, "probe-answer-of-another-wait",
     "an owner's answer for one number counts for every wait of the stream"},
    {bug::owner_death_unnoticed, "owner-death-unnoticed",
     "the end of a client's connection changes nothing"},
    {bug::wake_flag_cleared_early, "wake-flag-cleared-early",
     "a client's wish to be woken is taken with its request, and not with its end"},
    {bug::slot_reused_with_store_pending, "slot-reused-with-store-pending",
     "a client closes a stream without settling it"},
    {bug::plan_changed_under_wait, "plan-changed-under-wait",
     "a wait runs under the newest plan, whichever its owner picked"},
    {bug::deadline_by_wrong_clock, "deadline-by-wrong-clock",
     "a timeout is taken for an instant of gard's clock"},
    {bug::word_is_trusted, "word-is-trusted",
     "the owner takes gard's word that its word arrived for the end of the work"},
}};

#if GAR_PLANTED_BUGS
inline bug planted_now = bug::none;
inline bool planted(bug which) {
  return planted_now == which;
}
#else
constexpr bool planted(bug) {
  return false;
}
#endif

}  // namespace gar
