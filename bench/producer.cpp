#include "bench/producer.hpp"

#include <algorithm>

#include "lib/linux/futex.hpp"
#include "lib/linux/thread_timer.hpp"
#include "proto/line.hpp"

namespace gar::bench {
namespace {

uint32_t load_turn(const uint32_t& word) {
  return std::atomic_ref<uint32_t>(const_cast<uint32_t&>(word)).load(std::memory_order_acquire);
}

}  // namespace

producer_place producer_place::beside_gard() {
  const cores& c = machine_cores();
  if (c.producer) return {*c.producer, true, 0};
  return {c.gard, false, 0};
}

producer::producer(const producer_place& place) : place_(place) {
  orders& from = *orders_;
  process_ = child([&from, place] {
    settle_child(place.core, !place.spins);
    serve(from, place);
  });
}

void producer::serve(orders& from, const producer_place& place) {
  for (uint32_t seen = 0;;) {
    uint32_t turn = 0;
    while ((turn = load_turn(from.turn)) == seen) {
      if (!place.spins) futex_wait(from.turn, seen);
    }
    seen = turn;
    carry_out(from, place);
    proto::store_word(from.done, seen);
  }
}

void producer::carry_out(orders& from, const producer_place& place) {
  for (size_t i = 0; i < from.count; ++i) {
    const store_order& o = from.what[i];
    if (!place.spins) {
      (void)thread_timer().sleep_until(instant{o.at_ns - place.lead_ns}).has_value();
    }
    while (now_ns() < o.at_ns) {
    }
    from.stored_ns[i] = now_ns();
    proto::store_word(*o.word, o.value);
    if (o.bell) proto::store_word(*o.bell, o.bell_value);
  }
}

void producer::order(std::span<const store_order> all) {
  orders& to = *orders_;
  GAR_ASSERT(all.size() <= orders_max);
  std::copy(all.begin(), all.end(), to.what.begin());
  to.count = all.size();
  std::atomic_ref<uint32_t>(to.turn).fetch_add(1, std::memory_order_release);
  if (!place_.spins) futex_wake(to.turn);
}

uint64_t producer::stored_ns(size_t index) const {
  while (proto::load_word(orders_->done) != orders_->turn) {
  }
  return orders_->stored_ns[index];
}

}  // namespace gar::bench
