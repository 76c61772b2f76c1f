// The answers to clients' questions, and what of a user's may lie unread.
#include <utility>

#include "daemon/client_sockets.hpp"

namespace gar {

namespace {

// Of one user's connections together; with it a further answer is still given.
constexpr size_t answers_unread_max = 2 * proto::answer_bytes_max;

}  // namespace

// One for all connections of a user, as long as there is any.
std::shared_ptr<user_unread> client_sockets::unread_of(uint32_t uid, size_t bytes_max) {
  std::erase_if(unread_, [](const auto& each) { return each.second.expired(); });
  std::weak_ptr<user_unread>& kept = unread_[uid];
  std::shared_ptr<user_unread> of = kept.lock();
  if (!of) kept = of = std::make_shared<user_unread>(uid);
  of->bytes_max = bytes_max;
  return of;
}

// An answer has up to 16 MiB, and a user may have a thousand connections that read none.
result<void> client_sockets::may_ask(uint32_t uid) {
  const auto of = unread_.find(uid);
  const std::shared_ptr<user_unread> unread = of == unread_.end() ? nullptr : of->second.lock();
  if (!unread || unread->bytes <= answers_unread_max) return {};
  return error(errc::LimitPerUser, {std::to_string(uid), std::to_string(answers_unread_max),
                                    "bytes of answers not read"});
}

void client_sockets::refuse_ask(session_id to, uint64_t cookie, const error& why) {
  const auto at = clients_.find(to);
  if (at == clients_.end()) return;
  at->second.link->send(proto::encode(proto::refusal{
      cookie, why.number(), static_cast<uint16_t>(proto::message_type::ask), false, why.text()}));
  has_answered(to, at->second);
}

void client_sockets::has_answered(session_id to, client& c) {
  has_messages(to, c);
  if (c.link->has_unsent()) return;
  answer_sent(to);
  if (!c.by_ring) read_from(to);
}

void client_sockets::carry(effect::answer_ask& e) {
  const auto at = clients_.find(e.to);
  if (at == clients_.end()) return;
  if (result<void> may = may_ask(e.uid); !may) return refuse_ask(e.to, e.cookie, may.error());
  at->second.link->begin_answer();
  at->second.asked.push_back(to_.asked->ask(
      e.uid, [this, json = std::move(e.json), uid = e.uid] { return to_.answer(json, uid); },
      [this, to = e.to, cookie = e.cookie](const std::string& json) { answer(to, cookie, json); }));
}

// In the order of the questions, so that this one is the oldest. Since it was asked others of the
// user may have been answered, and not been read.
void client_sockets::answer(session_id to, uint64_t cookie, const std::string& json) {
  const auto at = clients_.find(to);
  if (at == clients_.end()) return;
  client& c = at->second;
  c.asked.erase(c.asked.begin());
  c.link->end_answer();
  GAR_ASSERT(!json.empty());
  if (result<void> may = may_ask(c.uid); !may) {
    refuse_ask(to, cookie, may.error());
  } else if (json.size() > proto::answer_bytes_max) {
    refuse_ask(to, cookie, error(errc::SlowReader, {std::to_string(proto::answer_bytes_max)}));
  } else {
    for (const proto::answer& part : proto::split_answer(cookie, json)) {
      c.link->send_uncounted(proto::encode(part));
    }
    has_answered(to, c);
  }
  carry_out();
}

}  // namespace gar
