#include "clients/garclient/inline_port.hpp"

#include <algorithm>
#include <utility>

#include "clients/garclient/wait_environment.hpp"
#include "lib/core/descriptor.hpp"
#include "lib/core/query_pace.hpp"
#include "lib/linux/sleep_overshoot.hpp"

namespace gar::owner {
namespace {

constexpr duration pause_most = from_ms(1);  // where nothing says how long

}  // namespace

const word_waiter& process_word_waiter() {
  // gar_connect refused an environment that cannot be read; one that was changed since does
  // nothing.
  static const word_waiter waiter = [] {
    const result<software_wait> asked = software_wait_of_environment();
    return probe_word_wait(asked ? *asked : software_wait{}).waiter;
  }();
  return waiter;
}

duration process_margin_floor() {
  static const duration overshoot = measure_sleep_overshoot();
  return overshoot;
}

inline_port::inline_port(stream& of, const binding& where, const plan& how, uint64_t sequence,
                         instant deadline, looking way)
    : of_(&of),
      where_(&where),
      how_(how),
      sequence_(sequence),
      deadline_(deadline),
      pace_(process_word_waiter().pace()),
      way_(std::move(way)) {}

result<bool> inline_port::block(uint64_t sequence) {
  if (of_->word_is_authority()) return block_on_word(sequence);
  if (!of_->device()->has_block()) return query_with_pauses(sequence, pause_most);
  return of_->block(sequence, left());
}

result<bool> inline_port::poll(uint64_t sequence) {
  if (way_.before_park) way_.before_park();
  // A flag plan comes here after an early word: its owner asked for no spinning.
  if (how_.park == park_kind::flag) return query_with_pauses(sequence, how_.backstop);
  if (of_->word_is_authority() || !of_->device()->has_poll()) return query_without_pause(sequence);
  return of_->poll(sequence, left());
}

duration inline_port::left() const {
  if (deadline_ == instant::never()) return duration::max();
  return deadline_ - steady_clock().now();
}

result<park_answer> inline_port::park(park_bound bound) {
  const uint64_t& word = where_->word();
  if (way_.before_park) way_.before_park();
  if (of_->device() && of_->device()->has_park()) {
    return park_answer{of_->device()->park(word, sequence_, bound.park), 1};
  }
  const auto still_waiting = [&] { return !reached(proto::load_word(word), sequence_); };
  steady_clock clock;
  const instant from = clock.now();
  if (!std::exchange(parked_, true)) pace_.expect(from + way_.expected_after);
  process_word_waiter().wait(word, still_waiting, from + bound.park, clock, pace_);
  return park_answer{!still_waiting(), 1};
}

result<bool> inline_port::block_on_word(uint64_t sequence) {
  const uint64_t& word = where_->word();
  steady_clock clock;
  process_word_waiter().wait(
      word, [&] { return !reached(proto::load_word(word), sequence); }, deadline_, clock);
  return of_->query(sequence);
}

result<bool> inline_port::query_with_pauses(uint64_t sequence, duration most) {
  query_pace pace(most);
  steady_clock clock;
  for (;;) {
    // Before the question: of work that was done in time no answer is "passed".
    const instant now = clock.now();
    const result<bool> done = of_->query(sequence);
    if (!done || *done) return done;
    if (now >= deadline_) return false;
    result<void> slept = exact_timer().sleep_until(std::min(now + pace.next(), deadline_));
    if (!slept) return slept.error();
  }
}

result<bool> inline_port::query_without_pause(uint64_t sequence) {
  steady_clock clock;
  for (;;) {
    const bool last = clock.now() >= deadline_;
    const result<bool> done = of_->query(sequence);
    if (!done || *done) return done;
    if (last) return false;
    detail::relax_cpu();
  }
}

}  // namespace gar::owner
