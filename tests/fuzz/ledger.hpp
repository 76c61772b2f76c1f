// Ledger: what every connection asked for and what it was told, so that a completion nobody asked
// for, one too many, or one without a cause is seen where it leaves gard.
//
//   a wait by socket   started -> ended once, for a cause -> its cookie is free
//   a session          live -> fatal refusal -> closed; nothing is sent behind its close
//
// The causes: code 0, the word has reached the target or the owner said done; TimedOut, the
// deadline is behind; Cancelled, it was asked for; Backend, the owner said failed, about this very
// number.
//
// Threads: one. Ownership: the words outlive the waits on them.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "lib/core/codec.hpp"
#include "lib/core/delegated.hpp"
#include "tests/fuzz/target.hpp"

namespace gar::fuzz {

class ledger {
 public:
  using stream_name = std::tuple<session_id, uint32_t, uint32_t>;  // with index and generation

  // ---- What gard does.
  void started(const wait_start& w, size_t pending_max) {
    book& b = live(w.session);
    must(b.pending.size() < pending_max);
    must(b.pending.emplace(w.cookie, w).second);
  }
  void completed(session_id to, const proto::completion_entry& e, instant now) {
    book& b = live(to);
    const auto at = b.pending.find(e.cookie);
    must(at != b.pending.end());
    check_cause(at->second, e.code, b.cancelled.contains(e.cookie), now);
    must(e.kind <= proto::kind_parked && e.confirmed <= 1);
    b.cancelled.erase(e.cookie);
    b.pending.erase(at);
  }
  void refused(session_id to, const proto::refusal& r) {
    if (r.fatal) live(to).fatal = true;
  }
  void sent(session_id to) { live(to); }
  void dropped(session_id whom) { live(whom).pending.clear(); }
  void closed(session_id whom) {
    live(whom).closed = true;
    open_.erase(whom);
  }

  // ---- What its peers do.
  void connected(session_id whom) {
    must(books_.try_emplace(whom).second);
    open_.insert(whom);
  }
  void cancels(session_id whom, uint64_t cookie) { books_[whom].cancelled.insert(cookie); }
  void says(session_id whom, const proto::status_entry& e) {
    const stream_name of{whom, e.stream, e.stream_generation};
    if (e.state == proto::probe_done) done_[of].push_back(e.sequence);
    if (e.state == proto::probe_failed) failed_[of].insert(e.sequence);
  }

  // A ring's wait ends with the same causes.
  void check_cause(const wait_start& w, uint16_t code, bool cancelled, instant now) const {
    const stream_name of{w.session, w.stream, w.stream_generation};
    if (code == 0) {
      return must(w.word.complete() || (!w.word_authority && said_done(of, w.word.target())));
    }
    switch (static_cast<errc>(code)) {
      case errc::TimedOut:
        return must(now >= w.how.deadline);
      case errc::Cancelled:
        return must(cancelled);
      case errc::Backend: {
        const auto at = failed_.find(of);
        return must(!w.word_authority && at != failed_.end() &&
                    at->second.contains(w.word.target()));
      }
      default:
        broken("a wait ended with a code that no wait ends with", __FILE__, __LINE__);
    }
  }

  // Who was told a fatal error has been closed.
  void check_quiet() const {
    for (const auto& [id, b] : books_) must(!b.fatal || b.closed);
  }
  const std::set<session_id>& open() const { return open_; }
  size_t pending() const {
    size_t count = 0;
    for (const auto& [id, b] : books_) count += b.pending.size();
    return count;
  }
  std::vector<uint64_t> pending_of(session_id whom) const {
    std::vector<uint64_t> cookies;
    for (const auto& [cookie, w] : books_.at(whom).pending) cookies.push_back(cookie);
    return cookies;
  }

 private:
  struct book {
    std::map<uint64_t, wait_start> pending;
    std::set<uint64_t> cancelled;
    bool fatal = false;
    bool closed = false;
  };

  book& live(session_id whom) {
    const auto at = books_.find(whom);
    must(at != books_.end() && !at->second.closed);
    return at->second;
  }
  bool said_done(const stream_name& of, uint64_t target) const {
    const auto at = done_.find(of);
    return at != done_.end() && std::any_of(at->second.begin(), at->second.end(),
                                            [&](uint64_t s) { return reached(s, target); });
  }

  std::map<session_id, book> books_;
  std::set<session_id> open_;
  std::map<stream_name, std::vector<uint64_t>> done_;
  std::map<stream_name, std::set<uint64_t>> failed_;
};

}  // namespace gar::fuzz
