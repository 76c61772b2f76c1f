#include "lib/core/owner_wait.hpp"

#include <algorithm>
#include <utility>

#include "lib/core/planted.hpp"
#include "lib/core/quantity.hpp"

namespace gar {
namespace {

bool is_limit(errc code) {
  const error_entry* entry = find_error(static_cast<uint16_t>(code));
  return entry && entry->class_ == "limit";
}

wait_kind kind_of(uint8_t wire) {
  return wire <= static_cast<uint8_t>(wait_kind::parked) ? static_cast<wait_kind>(wire)
                                                         : wait_kind::parked;
}

}  // namespace

void owner_wait::heard(instant at) {
  silent_at_ = std::max(silent_at_, at + silence_);
}

void owner_wait::completed(const proto::completion_entry& entry) {
  if (now_ != state::at_gard) return;
  const auto code = static_cast<errc>(entry.code);
  if (entry.code != 0 && code != errc::Backend && code != errc::TimedOut) {
    refused(code);
    return;
  }
  ending_.kind = kind_of(entry.kind);
  ending_.slept = {entry.slept_ns};
  ending_.parks = entry.parks;
  ending_.backstop_queries = entry.backstop_queries;
  ending_.by_gard = true;
  if (entry.code == 0 && (entry.confirmed || planted(bug::word_is_trusted))) {
    end(ending_.kind);
    return;
  }
  arrival_ = entry.code == 0 ? asking::word : asking::claim;
  now_ = state::arrived;
}

void owner_wait::refused(errc code) {
  if (now_ != state::at_gard) return;
  if (is_limit(code)) {
    leave(reason::limit);
  } else if (code == errc::StalePlan) {
    leave(reason::stale);
  } else {
    leave(reason::lost);
  }
}

void owner_wait::lost() {
  if (now_ == state::at_gard) leave(reason::lost);
}

void owner_wait::word_seen() {
  now_ = state::arrived;
}

owner_wait::step owner_wait::next(instant now) {
  switch (now_) {
    case state::ended:
      return {todo::end};
    case state::left:
      return {todo::leave};
    case state::arrived:
      return ask(now >= asked_.deadline ? asking::deadline : arrival_);
    case state::early:
      if (now >= asked_.deadline) return ask(asking::deadline);
      if (now >= next_look_) return ask(asking::pace);
      return {todo::sleep, std::min(next_look_, asked_.deadline)};
    case state::at_gard:
      break;
  }
  const instant last = asked_.deadline + deadline_grace;
  if (now >= last) return ask(asking::deadline);
  if (now >= silent_at_) return ask(asking::silence);
  return {todo::sleep, std::min(silent_at_, last)};
}

void owner_wait::answered(const result<bool>& authority, instant now) {
  const asking why = std::exchange(asking_, asking::nothing);
  // News that came between question and answer does not unmake the answer.
  if (now_ == state::ended || now_ == state::left) return;
  if (now_ == state::at_gard) ending_.cancel_at_gard = true;
  ending_.owner_backstop = why == asking::silence;
  if (!authority) {
    fail(authority.error());
    return;
  }
  if (*authority) {
    end(now_ == state::arrived ? ending_.kind : wait_kind::parked);
    return;
  }
  ending_.cancel_at_gard = ending_.owner_backstop = false;
  switch (why) {
    case asking::deadline:
      if (now_ == state::arrived && arrival_ == asking::word) ++ending_.early_words;
      ending_.cancel_at_gard = now_ == state::at_gard;
      fail(timed_out());
      break;
    case asking::silence:
      silent_at_ = now + silence_;
      break;
    case asking::word:
      ++ending_.early_words;
      now_ = state::early;
      next_look_ = now + pace_.next();
      break;
    case asking::claim:
      now_ = state::early;
      next_look_ = now + pace_.next();
      break;
    case asking::pace:
      next_look_ = now + pace_.next();
      break;
    case asking::nothing:
      break;
  }
}

owner_wait::step owner_wait::ask(asking why) {
  asking_ = why;
  return {todo::ask};
}

void owner_wait::end(wait_kind kind) {
  ending_.kind = kind;
  now_ = state::ended;
}

void owner_wait::fail(error why) {
  ending_.failure = std::move(why);
  now_ = state::ended;
}

void owner_wait::leave(reason why) {
  leaving_ = why;
  now_ = state::left;
}

error owner_wait::timed_out() const {
  return error(errc::TimedOut, {text_of(asked_.deadline - asked_.start)});
}

}  // namespace gar
