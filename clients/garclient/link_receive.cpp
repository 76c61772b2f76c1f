// What a link receives: the service thread alone reads the socket, and tells whom it concerns.
#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "clients/garclient/link.hpp"
#include "lib/linux/futex.hpp"
#include "lib/linux/steady_clock.hpp"

namespace gar::owner {
namespace {

template <class... F>
struct overloaded : F... {
  using F::operator()...;
};
template <class... F>
overloaded(F...) -> overloaded<F...>;

error not_ours(std::string_view message) {
  return error(errc::OutOfState, {std::string(message), "from gard after its welcome"});
}

// Then the thread's tasks have their turn, however much gard says.
constexpr int frames_per_turn = 64;

}  // namespace

result<std::vector<proto::probe_entry>> link::receive(const publish_function& publish) {
  std::vector<proto::probe_entry> probes;
  std::array<std::byte, proto::frame_bytes_max + 1> buffer;
  for (int i = 0; i < frames_per_turn; ++i) {
    result<reception> r = receive_message(socket_.get(), buffer);
    if (!r) return r.error();
    if (r->got == reception::what::ended) return lost_link();
    if (r->got == reception::what::nothing) return probes;
    silent_.store(false, std::memory_order_relaxed);
    result<proto::message> m = proto::decode({buffer.data(), r->bytes});
    if (!m) return m.error();
    result<void> taken = take(*m, *r, publish, probes);
    news_.tell(service_.step);
    if (!taken) return taken.error();
  }
  return probes;
}

result<void> link::take(const proto::message& m, reception& with, const publish_function& publish,
                        std::vector<proto::probe_entry>& probes) {
  const proto::message_type type = proto::type_of(m);
  if (with.descriptor_count != proto::descriptors_of(m)) {
    return error(errc::UnexpectedDescriptors,
                 {std::to_string(with.descriptor_count), std::string(proto::name_of(type)),
                  std::to_string(proto::descriptors_of(m))});
  }
  return std::visit(overloaded{
                        [&](const proto::page& p) { return take_page(p, with); },
                        [&](const proto::opened& o) { return take_opened(o); },
                        [&](const proto::closed&) -> result<void> { return {}; },
                        [&](const proto::plan_scope& s) { return publish(s); },
                        [&](const proto::completions& c) -> result<void> {
                          take_completions(c);
                          return {};
                        },
                        [&](const proto::probes& p) -> result<void> {
                          probes.insert(probes.end(), p.entries.begin(), p.entries.end());
                          return {};
                        },
                        [&](const proto::refusal& r) -> result<void> {
                          take_refusal(r);
                          if (r.fatal) return lost_link();
                          return {};
                        },
                        [&](const proto::bye&) -> result<void> { return lost_link(); },
                        [&](const auto&) -> result<void> { return not_ours(proto::name_of(type)); },
                    },
                    m);
}

result<void> link::take_page(const proto::page& m, reception& with) {
  std::lock_guard lock(pending_lock_);
  if (m.page_index != pages_.size() || pages_.size() >= proto::pages_per_client_max) {
    return error(errc::MalformedMessage, {"page: not the next one"});
  }
  result<std::shared_ptr<word_page>> page =
      word_page::of_gard(std::move(with.descriptors[0]), m.page_bytes);
  if (!page) return page.error();
  pages_.push_back(std::move(*page));
  return {};
}

result<void> link::take_opened(const proto::opened& m) {
  on_opened then;
  {
    std::lock_guard lock(pending_lock_);
    auto at = requests_.find(m.cookie);
    if (at == requests_.end()) return {};
    if (!streams_.try_emplace(stream_key(m.stream, m.stream_generation)).second) {
      return error(errc::MalformedMessage, {"opened: a stream that is open already"});
    }
    then = std::move(at->second);
    requests_.erase(at);
  }
  then(m);
  return {};
}

void link::take_refusal(const proto::refusal& m) {
  on_opened then;
  bool due = false;
  {
    std::lock_guard lock(pending_lock_);
    if (auto at = requests_.find(m.cookie); at != requests_.end()) {
      then = std::move(at->second);
      requests_.erase(at);
    } else if (mailbox* const box = take_pending(m.cookie)) {
      box->refusal = static_cast<errc>(m.code);
      give_news(*box);
    } else {
      due = adopt(m.cookie);
    }
  }
  if (due) send_ready_closes();
  if (then) then(error(static_cast<errc>(m.code), {m.text}));
}

void link::take_completions(const proto::completions& m) {
  bool due = false;
  {
    std::lock_guard lock(pending_lock_);
    for (const proto::completion_entry& entry : m.entries) {
      if (mailbox* const box = take_pending(entry.cookie)) {
        box->completion = entry;
        give_news(*box);
        continue;
      }
      due = adopt(entry.cookie) || due;
    }
  }
  if (due) send_ready_closes();
}

mailbox* link::take_pending(uint64_t cookie) {
  const auto at = pending_.find(cookie);
  if (at == pending_.end() || !at->second.box) return nullptr;
  mailbox* const box = at->second.box;
  pending_.erase(at);
  return box;
}

void link::give_news(mailbox& box) {
  if (box.stepped) {
    news_.add(*box.stepped);
    return;
  }
  std::atomic_ref<uint32_t>(box.signal).fetch_add(1, std::memory_order_release);
  futex_wake(box.signal);
}

void link::heard_about(const std::vector<proto::status_entry>& pending, instant now) {
  if (ring_) {
    for (const proto::status_entry& s : pending) ring_->heard_about(s.stream, s.sequence, now);
    return;
  }
  std::set<std::pair<uint32_t, uint64_t>> asked;
  for (const proto::status_entry& s : pending) asked.emplace(s.stream, s.sequence);
  std::lock_guard lock(pending_lock_);
  for (auto& [cookie, wait] : pending_) {
    mailbox* const box = wait.box;
    if (box && asked.contains({box->stream_id, box->target})) box->heard = now;
  }
}

}  // namespace gar::owner
