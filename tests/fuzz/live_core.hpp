// Live core: a whole gard without sockets and threads, on virtual time, for inputs to act upon.
//
// The node, its reactor, pages and rings are the real ones; pages and rings are plain memory of
// exactly their size, so that a sanitizer sees an access behind it. Every effect is carried out as
// gard does, and entered into the ledger on its way.
//
//   an input acts (connect, frame, store, scribble) -> settle -> checked -> acts ...
//
// Invariants after settle: node, board and reactor agree about how many waits there are; every
// message sent is one that its receiver can decode and only gard sends.
// Threads: one.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "lib/core/delegated_wait.hpp"
#include "lib/core/manual_time.hpp"
#include "lib/core/node.hpp"
#include "lib/core/ring_intake.hpp"
#include "proto/pages.hpp"
#include "tests/fuzz/ledger.hpp"

namespace gar::fuzz {

// One client's memory that it shares with gard.
struct shared_memory {
  struct alignas(64) line {
    std::byte bytes[64];
  };
  static constexpr uint32_t ring_entries = proto::ring_entries_min;
  static_assert(proto::ring_bytes(ring_entries) % sizeof(line) == 0);

  std::vector<std::unique_ptr<uint64_t[]>> pages;
  std::unique_ptr<line[]> ring_lines;
  ring_seat seat;

  std::byte* ring() { return reinterpret_cast<std::byte*>(ring_lines.get()); }
};

class live_core {
 public:
  explicit live_core(node_limits limits = small_limits()) : decisions(options(limits)) {
    decisions.configure({{{}, *bands::parse(plan_as_shipped)}}, false);
    settle();
  }

  // So small that an input of some hundred bytes meets each of them.
  static node_limits small_limits() {
    node_limits l;
    l.clients = 6;
    l.clients_per_user = 4;
    l.streams_per_client = 600;
    l.streams_per_user = 700;
    l.waits_per_client = 12;
    l.waits_per_user = 20;
    l.ring_entries = shared_memory::ring_entries;
    l.pages_per_client = 2;
    l.runtime_plans = 4;
    return l;
  }

  session_id connect(uint32_t uid) {
    const size_t before = decisions.sessions();
    const result<session_id> id = decisions.connect({uid, uid, 7}, clock.now());
    if (!id) {
      must(decisions.sessions() == before);
      return 0;
    }
    must(before < decisions.limits().clients);
    books.connected(*id);
    return *id;
  }
  void receive(session_id from, std::span<const std::byte> frame, size_t descriptors = 0) {
    decisions.receive(from, frame, descriptors, clock.now());
    settle();
  }
  void receive(session_id from, const proto::message& m) { receive(from, proto::encode(m)); }

  // As the reactor's thread, when the client's flag is set.
  void take_ring(session_id of) {
    const auto at = memory.find(of);
    if (at == memory.end() || at->second.seat.session == 0) return;
    if (!gar::take_ring(decisions, waits, at->second.seat, clock.now()))
      at->second.seat.session = 0;
    settle();
  }

  void settle() {
    int quiet = 0;
    for (int round = 0; quiet < quiet_rounds; ++round) {
      must(round < rounds_max);
      bool busy = flush();
      std::vector<effect::any> effects = decisions.take_effects();
      for (effect::any& e : effects) std::visit([this](auto& what) { carry(what); }, e);
      host.advance(clock.now());
      busy = host.look() > 0 || busy || !effects.empty();
      host.run_ready();
      must(!host.take_failure());
      quiet = busy ? 0 : quiet + 1;
    }
    must(decisions.pending() == waits.board().waits());
    must(host.tasks() == waits.board().waits());
    books.check_quiet();
  }

  // Moves the clock, stopping where something is due; after `stops_max` of those in one jump, as a
  // gard that did not get a CPU.
  void pass(duration by) {
    const instant until = clock.now() + by;
    for (int stops = 0; stops < stops_max; ++stops) {
      const instant next = std::min(host.earliest(), decisions.next_deadline());
      if (next > until) break;
      clock.advance_to(next);
      decisions.tick(clock.now());
      settle();
    }
    clock.advance_to(until);
    decisions.tick(clock.now());
    settle();
  }

  // What every input must leave behind once its peers are gone.
  void end() {
    for (const session_id id : std::set<session_id>(books.open())) {
      for (const uint64_t cookie : books.pending_of(id)) {
        books.cancels(id, cookie);
        receive(id, proto::cancel{cookie});
      }
    }
    must(books.pending() == 0);
    for (const session_id id : std::set<session_id>(books.open())) {
      decisions.disconnect(id);
      settle();
    }
    must(decisions.sessions() == 0 && decisions.pending() == 0 && host.tasks() == 0);
    must(decisions.clients({}, clock.now()).empty());
    must(decisions.next_deadline() == instant::never());
  }

  manual_clock clock;
  ledger books;
  std::map<session_id, shared_memory> memory;
  std::map<session_id, std::vector<proto::message>> inbox;  // all but completions
  std::vector<effect::answer_ask> asked;
  bool memory_can_be_had = true;
  node decisions;
  reactor host;
  delegated_waits waits{host};

 private:
  static constexpr int quiet_rounds = 3;  // a task that was spawned, one that it woke, their ends
  static constexpr int rounds_max = 1000;
  static constexpr int stops_max = 64;

  node_options options(node_limits limits) {
    node_options o;
    o.limits = limits;
    o.host = capabilities::all_available();
    o.word_wait = "software";
    o.executor = "gpu-reactor";
    o.make_page = [this](session_id of) -> result<lines_view> {
      if (!memory_can_be_had) return error(errc::SystemCall, {"memfd_create", "no room"});
      auto& pages = memory[of].pages;
      must(pages.size() < decisions.limits().pages_per_client);
      pages.push_back(std::make_unique<uint64_t[]>(proto::slots_per_page_min));
      return lines_view{pages.back().get(), proto::slots_per_page_min};
    };
    o.make_ring = [this](session_id of, uint32_t entries) -> result<uint32_t> {
      if (!memory_can_be_had) return error(errc::SystemCall, {"pipe2", "no room"});
      shared_memory& m = memory[of];
      constexpr size_t lines = proto::ring_bytes(shared_memory::ring_entries) / 64;
      m.ring_lines = std::make_unique<shared_memory::line[]>(lines);
      m.seat.session = of;
      m.seat.ring = client_ring(m.ring(), entries);
      m.seat.waits = &waits.board().attach(of, m.seat.ring);
      return static_cast<uint32_t>(of % proto::request_flags_max);
    };
    return o;
  }

  bool flush() {
    bool any = false;
    waits.board().flush(
        [&](const std::vector<wait_end>& ended) {
          any = true;
          for (const wait_end& e : ended) decisions.wait_ended(e);
        },
        [](session_id, client_ring& ring, uint32_t) { ring.raise_signal(); },
        [&](session_id to, const auto& completions, const auto& probes) {
          any = true;
          for (const proto::completion_entry& e : completions) {
            books.completed(to, e, clock.now());
          }
          if (!completions.empty()) must_decode(proto::completions{completions});
          if (probes.empty()) return;
          must_decode(proto::probes{probes});
          inbox[to].push_back(proto::probes{probes});
        });
    return any;
  }

  template <class Entries>
  static void must_decode(Entries all) {
    constexpr size_t entries_max = 46;  // of the largest kind of entry in one frame
    all.entries.resize(std::min(all.entries.size(), entries_max));
    must_decode(proto::message(std::move(all)));
  }
  static void must_decode(const proto::message& m) {
    const result<proto::message> read = proto::decode(proto::encode(m));
    must(read.has_value() && proto::type_of(*read) == proto::type_of(m));
    must(proto::sender_of(proto::type_of(m)) != proto::sender::client);
  }

  void carry(effect::send& e) {
    must_decode(e.what);
    books.sent(e.to);
    if (const auto* r = std::get_if<proto::refusal>(&e.what)) books.refused(e.to, *r);
    inbox[e.to].push_back(std::move(e.what));
  }
  void carry(effect::close& e) { books.closed(e.whom); }
  void carry(effect::start_wait& e) {
    books.started(e.what, decisions.limits().waits_per_client);
    waits.start(e.what);
  }
  void carry(effect::cancel_wait& e) { waits.cancel(e.which); }
  void carry(effect::answer_probe& e) { waits.answer(e.what); }
  void carry(effect::drop_waits& e) {
    books.dropped(e.of);
    waits.drop(e.of);
    const auto at = memory.find(e.of);
    if (at != memory.end()) at->second.seat.session = 0;
  }
  void carry(effect::look&) {}
  void carry(effect::answer_ask& e) {
    asked.push_back(e);
    decisions.answer_sent(e.to, clock.now());
  }
  void carry(effect::log& e) { must(!e.text.empty()); }
};

}  // namespace gar::fuzz
