// The client's streams: opening, opening again on another gard, recording, closing.
#include <chrono>
#include <new>
#include <utility>

#include "clients/garclient/client.hpp"
#include "clients/garclient/inline_port.hpp"
#include "clients/garclient/kept.hpp"
#include "lib/core/planted.hpp"

namespace gar::owner {
namespace {

constexpr duration open_patience = from_ms(1000);
constexpr duration link_patience = from_ms(50);

// How far a slot may be ahead of a stream that comes to it.
constexpr uint64_t base_ahead_max = uint64_t{1} << 60;

// An open request that a caller waits for, for a while.
struct opening {
  std::mutex mutex;
  std::condition_variable answered;
  std::optional<link::opened_answer> answer;
  bool abandoned = false;
};

// What gard has opened: closed there again by whatever ends the opening here, unless it is kept.
class opened_there {
 public:
  opened_there(std::shared_ptr<link> via, uint32_t stream_id, uint32_t generation, uint64_t base)
      : via_(std::move(via)), stream_id_(stream_id), generation_(generation), base_(base) {}
  ~opened_there() {
    if (via_) via_->close(stream_id_, generation_, base_);
  }
  opened_there(const opened_there&) = delete;
  opened_there& operator=(const opened_there&) = delete;
  void keep() { via_.reset(); }

 private:
  std::shared_ptr<link> via_;  // null: no gard opened it, or it is kept
  uint32_t stream_id_;
  uint32_t generation_;
  uint64_t base_;
};

}  // namespace

result<std::shared_ptr<stream>> client::open_stream(std::optional<device_stream> device,
                                                    const std::string& name) {
  uint64_t id = 0;
  {
    std::lock_guard lock(streams_lock_);
    if (streams_.size() >= link::streams_max) {
      return error(errc::LimitStreams, {std::to_string(link::streams_max)});
    }
    id = next_stream_id_++;
  }
  want_link(link_patience);
  // Tried here once, and not within somebody's first wait.
  process_word_waiter();
  sleeps();
  auto s = std::make_shared<stream>(id, std::move(device), name);
  result<std::optional<binding>> at = open_at_gard(s);
  if (!at) return at.error();
  if (!*at) {
    result<binding> own = bind_own(*s);
    if (!own) return own.error();
    *at = std::move(*own);
  }
  const std::shared_ptr<link> via = (*at)->via;
  take_up(s, std::move(**at));
  // A gard that came meanwhile has not heard of it.
  const std::shared_ptr<link> now_at = live_link();
  if (now_at && now_at != via && !via) reopen(s, now_at);
  return s;
}

void client::take_up(const std::shared_ptr<stream>& s, binding at) {
  const std::shared_ptr<link> via = at.via;
  const uint32_t stream_id = at.stream_id;
  const uint32_t generation = at.stream_generation;
  const std::optional<own_pages::place> own = at.own;
  const uint64_t base = at.base;
  opened_there there(via, stream_id, generation, base);
  s->attach(std::move(at));
  try {
    std::lock_guard lock(streams_lock_);
    streams_.emplace(s->id(), s);
  } catch (const std::bad_alloc&) {
    if (own) own_pages_.give_back(*own, base);
    throw;
  }
  there.keep();
  if (via) via->know(stream_id, generation, s);
}

result<std::optional<binding>> client::open_at_gard(const std::shared_ptr<stream>& s) {
  // gard could only look at a word that nobody stores into.
  if (s->stores_nothing()) return std::optional<binding>();
  const std::shared_ptr<link> via = live_link();
  if (!via || via->silent() || !service_.start()) return std::optional<binding>();
  const auto o = std::make_shared<opening>();
  via->open(0, s->word_is_authority(), s->name(), [o, via](link::opened_answer a) {
    std::lock_guard lock(o->mutex);
    if (o->abandoned) {
      if (a) via->close(a->stream, a->stream_generation, a->base);
      return;
    }
    o->answer = std::move(a);
    o->answered.notify_one();
  });
  std::unique_lock lock(o->mutex);
  o->abandoned = !o->answered.wait_for(lock, std::chrono::nanoseconds(open_patience.ns),
                                       [&] { return o->answer.has_value(); });
  if (o->abandoned) via->found_silent();
  // Refused for a limit, or lost: the stream works in-process.
  if (o->abandoned || !*o->answer) return std::optional<binding>();
  const proto::opened opened = **o->answer;
  lock.unlock();
  opened_there there(via, opened.stream, opened.stream_generation, opened.base);
  result<binding> bound = bind_at_gard(via, *s, opened);
  if (bound) {
    there.keep();
    return std::optional<binding>(std::move(*bound));
  }
  if (bound.error().code() == errc::MalformedMessage) return std::optional<binding>();
  return bound.error();
}

result<binding> client::bind_at_gard(const std::shared_ptr<link>& via, const stream& s,
                                     const proto::opened& o) {
  result<link::place> place = via->place_of(o);
  if (!place) return place.error();
  // Numbers are compared in wrapping order: behind such a jump what is pending would look done.
  const uint64_t ahead = o.base - s.last();
  if (ahead > base_ahead_max && !reached(s.last(), o.base)) {
    return error(errc::MalformedMessage, {"opened: its base is too far from the one asked for"});
  }
  binding b;
  b.page = place->page;
  b.word_index = place->word_index;
  b.base = o.base;
  b.via = via;
  b.stream_id = o.stream;
  b.stream_generation = o.stream_generation;
  if (!s.device()) return b;
  result<device_mappings::share> mapped =
      mappings_->get(*s.device(), b.page, b.page->host(), b.page->bytes());
  if (!mapped) return mapped.error();
  b.mapped = std::move(*mapped);
  result<device_mappings::share> bell =
      mappings_->get(*s.device(), via, via->bell().data(), via->bell().bytes());
  if (!bell) return bell.error();
  b.bell_mapped = std::move(*bell);
  return b;
}

result<binding> client::bind_own(const stream& s) {
  result<own_pages::place> place = own_pages_.take();
  if (!place) return place.error();
  binding b;
  b.page = place->page;
  b.word_index = place->word_index;
  b.base = place->base;
  b.own = *place;
  if (!s.device()) return b;
  result<device_mappings::share> mapped =
      mappings_->get(*s.device(), b.page, b.page->host(), b.page->bytes());
  if (!mapped) {
    own_pages_.give_back(*place, place->base);
    return mapped.error();
  }
  b.mapped = std::move(*mapped);
  return b;
}

// Without memory it is asked for again at the next call.
void client::reopen(const std::shared_ptr<stream>& s, const std::shared_ptr<link>& at) {
  if (s->stores_nothing() || !s->begin_opening(at)) return;
  try {
    ask_to_reopen(s, at);
  } catch (const std::bad_alloc&) {
    s->may_open_again();
  }
}

void client::ask_to_reopen(const std::shared_ptr<stream>& s, const std::shared_ptr<link>& at) {
  const std::weak_ptr<stream> weak = s;
  at->open(s->last(), s->word_is_authority(), s->name(),
           [this, weak, at](const link::opened_answer& a) {
             const std::shared_ptr<stream> open = weak.lock();
             if (!a) {
               // Refused: it stays where it is, and works in-process. Not sent: asked again.
               if (open && a.error().code() == errc::NotReachable) open->may_open_again();
             } else if (open) {
               finish_reopening(open, at, *a);
             } else {
               at->close(a->stream, a->stream_generation, a->base);
             }
           });
}

void client::finish_reopening(const std::shared_ptr<stream>& s, const std::shared_ptr<link>& at,
                              const proto::opened& o) {
  bool open = false;
  {
    std::lock_guard lock(streams_lock_);
    open = streams_.contains(s->id());
  }
  opened_there there(at, o.stream, o.stream_generation, o.base);
  if (!open) return;
  result<binding> bound = bind_at_gard(at, *s, o);
  if (!bound) return;
  s->attach(std::move(*bound), false);
  there.keep();
  at->know(o.stream, o.stream_generation, s);
}

result<uint64_t> client::record(const std::shared_ptr<stream>& s) {
  want_link_for(s);
  return s->record();
}

void client::let_go_settled(const std::shared_ptr<stream>& s) {
  if (!s->has_settled() || !service_.running()) return;
  service_.post([this, s] {
    for (const auto& b : s->take_settled()) let_go(b, s->last());
  });
}

void client::let_go(const std::shared_ptr<const binding>& b, uint64_t last) {
  if (b->own) own_pages_.give_back(*b->own, last);
  if (b->via) b->via->close(b->stream_id, b->stream_generation, last);
}

void client::leak(const std::shared_ptr<const binding>& b) {
  keep_for_ever(b);
  if (word_page::leak(b->page)) ++tally_.pages_leaked;
}

result<void> client::close_stream(const std::shared_ptr<stream>& s) noexcept {
  {
    std::lock_guard lock(streams_lock_);
    streams_.erase(s->id());
  }
  if (service_.running()) {
    // Behind that turn the service thread asks this stream nothing any more.
    s->stop_answering();
    service_.await_turn();
    end_async_of(s.get(), errc::Closed);
  }
  const bool hastily = planted(bug::slot_reused_with_store_pending);
  const result<void> settled = hastily ? result<void>() : s->settle();
  const uint64_t last = s->last();
  const auto bindings = s->let_go();
  for (const auto& b : bindings) settled ? let_go(b, last) : leak(b);
  if (settled) return {};
  try {
    return error(errc::SettleFailed, {std::to_string(bindings.size()), settled.error().text()},
                 settled.error().os_number());
  } catch (const std::bad_alloc&) {
    return error(errc::SettleFailed, {}, settled.error().os_number());
  }
}

}  // namespace gar::owner
