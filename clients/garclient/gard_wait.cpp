#include "clients/garclient/gard_wait.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "clients/garclient/link.hpp"
#include "lib/core/descriptor.hpp"

namespace gar::owner {

error given_up(errc why) noexcept {
  if (why != errc::Closed) return error(why);
  try {
    return error(why, {"the stream"});
  } catch (const std::bad_alloc&) {
    return error(why);
  }
}

gard_wait::gard_wait(const wait_order& order, const plan_cache::choice& c,
                     std::shared_ptr<const binding> where, async_wait* stepped)
    : order_(&order), choice_(c), where_(std::move(where)) {
  box_.stepped = stepped;
}

gard_wait::~gard_wait() {
  if (where_->via) via().forget(box_, true);
}

gard_wait::state gard_wait::begin() {
  const result<bool> first = order_->of->query(order_->sequence);
  if (!first || *first) {
    end_.ended = wait_end::by::owner;
    end_.report.kind = wait_kind::immediate;
    end_.report.wait = clock_.now() - order_->start;
    end_.report.sample = sample::exact(end_.report.wait);
    if (!first) end_.failure = first.error();
    return {now::ended};
  }
  machine_.emplace(owner_wait::request{choice_.how, order_->start, order_->deadline}, clock_.now());
  if (reached(proto::load_word(where_->word()), order_->sequence)) {
    machine_->word_seen();
  } else if (const auto refused = via().register_wait(box_, message(), order_->point)) {
    machine_->refused(*refused);
  }
  return go();
}

gard_wait::state gard_wait::go() {
  for (;;) {
    const uint32_t seen = box_.signal_now();
    via().collect(box_, *machine_, order_->of->is_confirmed(order_->sequence));
    const owner_wait::step step = machine_->next(clock_.now());
    if (step.what == owner_wait::todo::sleep) {
      return {now::sleeps, step.until, seen, machine_->at_gard()};
    }
    if (step.what != owner_wait::todo::ask) return over(step.what);
    const result<bool> done = order_->of->query(order_->sequence);
    machine_->answered(done, clock_.now());
  }
}

gard_wait::state gard_wait::over(owner_wait::todo how) {
  const bool ended = how == owner_wait::todo::end;
  // Before the cancel, whose answer takes it back.
  if (ended && box_.registered && machine_->ending().owner_backstop) via().found_silent();
  via().forget(box_, ended && machine_->ending().cancel_at_gard);
  if (!ended) {
    leaving_ = machine_->leaving();
    return {now::left};
  }
  take_over();
  end_.report.wait = clock_.now() - order_->start;
  // Pending at first, then the word, then done; gard never had it, and so learns it from here.
  if (!box_.registered && !end_.failure) end_.report.sample = sample::exact(end_.report.wait);
  return {now::ended};
}

void gard_wait::cancel(errc why) {
  if (box_.registered) via().forget(box_, true);
  end_.ended = wait_end::by::given_up;
  end_.failure = given_up(why);
  end_.report.wait = clock_.now() - order_->start;
}

proto::wait gard_wait::message() const {
  proto::wait m;
  m.target = order_->sequence;
  m.age_ns = (clock_.now() - order_->start).ns;
  if (order_->deadline != instant::never()) {
    // 0 on the wire means none; a deadline that is no later than the start is still one.
    m.timeout_ns = std::max<uint64_t>((order_->deadline - order_->start).ns, 1);
  }
  m.plan_generation = choice_.generation;
  m.stream = where_->stream_id;
  m.stream_generation = where_->stream_generation;
  m.rows = order_->rows;
  return m;
}

void gard_wait::take_over() {
  const owner_wait::result_of_wait& r = machine_->ending();
  if (!box_.registered) {
    end_.ended = wait_end::by::owner;
  } else if (r.owner_backstop) {
    end_.ended = wait_end::by::backstop;
  } else {
    end_.ended = r.by_gard ? wait_end::by::gard : wait_end::by::given_up;
  }
  end_.failure = r.failure;
  end_.report.kind = r.kind;
  end_.report.slept = r.slept;
  end_.report.parks = r.parks;
  end_.report.backstop_queries = r.backstop_queries;
  end_.report.early_words = r.early_words;
}

}  // namespace gar::owner
