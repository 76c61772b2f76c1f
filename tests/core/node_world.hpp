// A whole gard on one thread and virtual time: the node, its reactor, pages that are plain memory,
// and clients that are lists of what they were sent.
//
//     node_world world;
//     auto a = world.connect("a");          // hello, welcome, plans
//     world.run_to(from_ms(10));            // moves the clock event by event
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/core/delegated_wait.hpp"
#include "lib/core/manual_time.hpp"
#include "lib/core/node.hpp"

namespace gar::test {

inline constexpr std::string_view test_plan = "flag:park_us=100,backstop_us=10000";

inline node_options world_options(node_limits limits = {}) {
  node_options o;
  o.limits = limits;
  o.host = capabilities::all_available();
  o.word_wait = "software";
  o.executor = "gpu-reactor";
  return o;
}

class node_world {
 public:
  explicit node_world(node_options options = world_options()) : decisions(wire(options)) {
    decisions.configure({{{}, *bands::parse(test_plan)}}, false);
    settle();
  }

  struct client {
    session_id id = 0;
    proto::welcome welcome;
    uint64_t generation = 0;  // newest published
    uint64_t cookies = 0;

    proto::wait wait_for(const proto::opened& s, uint64_t target) {
      proto::wait w;
      w.cookie = ++cookies;
      w.target = target;
      w.plan_generation = generation;
      w.stream = s.stream;
      w.stream_generation = s.stream_generation;
      return w;
    }
  };

  result<session_id> knock(uint32_t uid = 1000) {
    return decisions.connect({uid, uid, 7}, clock.now());
  }
  client connect(const std::string& name, uint32_t uid = 1000, uint32_t features = 0) {
    client c;
    c.id = *knock(uid);
    say(c.id, proto::hello{1, 1, features, name, {}});
    std::optional<proto::welcome> w = heard<proto::welcome>(c.id);
    EXPECT_TRUE(w);
    if (w) c.welcome = *w;
    c.generation = heard_plans(c.id);
    return c;
  }
  // Takes the plan messages that came; the newest generation among them.
  uint64_t heard_plans(session_id id) {
    uint64_t newest = 0;
    while (std::optional<proto::plan_scope> p = heard<proto::plan_scope>(id)) {
      newest = p->generation;
    }
    return newest;
  }
  std::optional<proto::opened> open(client& c, uint8_t authority = proto::authority_owner,
                                    uint64_t base = 0) {
    say(c.id, proto::open{++c.cookies, base, authority, "s"});
    std::optional<proto::opened> o = heard<proto::opened>(c.id);
    if (o) store(c, *o, o->base);
    return o;
  }

  void say(session_id from, const proto::message& m, size_t descriptors = 0) {
    say_bytes(from, proto::encode(m), descriptors);
  }
  void say_bytes(session_id from, const std::vector<std::byte>& bytes, size_t descriptors = 0) {
    decisions.receive(from, bytes, descriptors, clock.now());
    settle();
  }
  // The oldest message of this type that was sent to the session and not taken yet.
  template <class M>
  std::optional<M> heard(session_id id) {
    std::deque<proto::message>& box = inbox[id];
    for (auto at = box.begin(); at != box.end(); ++at) {
      if (M* found = std::get_if<M>(&*at)) {
        M m = std::move(*found);
        box.erase(at);
        return m;
      }
    }
    return std::nullopt;
  }
  std::optional<proto::completion_entry> completion(session_id id) {
    std::deque<proto::completion_entry>& entries = completed_[id];
    while (std::optional<proto::completions> c = heard<proto::completions>(id)) {
      entries.insert(entries.end(), c->entries.begin(), c->entries.end());
    }
    if (entries.empty()) return std::nullopt;
    proto::completion_entry e = entries.front();
    entries.pop_front();
    return e;
  }
  // The same where one must have come.
  proto::completion_entry ended(session_id id) {
    const std::optional<proto::completion_entry> e = completion(id);
    if (!e) ADD_FAILURE() << "no completion came";
    proto::completion_entry none{};
    none.code = 0xffff;
    return e.value_or(none);
  }
  // The refusal's code; 0 where none came.
  uint16_t refused(session_id id, bool fatal = false) {
    std::optional<proto::refusal> r = heard<proto::refusal>(id);
    if (!r) return 0;
    EXPECT_EQ(r->fatal, fatal) << r->text;
    return r->code;
  }
  void answer(client& c, const proto::probe_entry& p, uint8_t state, int32_t status = 0,
              std::string_view call = {}) {
    proto::status_entry e{p.probe_id, p.sequence, p.stream, p.stream_generation,
                          state,      {},         status,   {}};
    proto::set_call(e.call, call);
    say(c.id, proto::statuses{{e}});
  }
  void store(client& c, const proto::opened& s, uint64_t value) {
    uint64_t* page = pages.at(c.id).at(s.page_index).get();
    proto::store_word(page[s.line_index * 8u + s.slot], value);
    settle();
  }

  // Lets everything happen that can happen now.
  void settle() {
    for (bool more = true; more;) {
      waits.board().flush(
          [this](const std::vector<wait_end>& ended) {
            for (const wait_end& e : ended) decisions.wait_ended(e);
          },
          [this](session_id of, client_ring&, uint32_t wants) {
            wakes.push_back({of, wants});
          },
          [this](session_id to, const auto& completions, const auto& probes) {
            if (!completions.empty()) inbox[to].push_back(proto::completions{completions});
            if (!probes.empty()) inbox[to].push_back(proto::probes{probes});
          });
      std::vector<effect::any> effects = decisions.take_effects();
      for (effect::any& e : effects) std::visit([this](auto& what) { carry(what); }, e);
      host.advance(clock.now());
      host.look();
      more = !effects.empty() || host.has_ready();
      if (host.has_ready()) {
        host.run_ready();
        if (host.has_ready() && effects.empty() && only_yields_) more = false;
      }
    }
  }
  // Moves the clock to `at`, stopping wherever something is due.
  void run_to(duration at) {
    const instant until = instant{} + at;
    for (;;) {
      settle();
      const instant next = std::min(host.earliest(), decisions.next_deadline());
      if (next > until) break;
      clock.advance_to(next);
      decisions.tick(clock.now());
    }
    clock.advance_to(until);
    settle();
  }
  wait_counts counts() {
    status_snapshot s;
    decisions.describe(s, std::nullopt, clock.now());
    return s.waits;
  }
  // A task that yields for ever (a poll wait) would never settle: one round is enough then.
  void polls_are_running() { only_yields_ = true; }

  manual_clock clock;
  std::map<session_id, std::vector<std::unique_ptr<uint64_t[]>>> pages;
  bool pages_can_be_had = true;
  bool answers_are_read = true;
  node decisions;
  reactor host;
  delegated_waits waits{host};
  std::map<session_id, std::deque<proto::message>> inbox;
  std::vector<session_id> closed;
  std::vector<effect::answer_ask> asked;
  std::vector<std::string> log;
  std::vector<std::pair<session_id, uint32_t>> wakes;  // what flush asked for
  size_t looks = 0;                                    // kicks that came through

 private:
  static constexpr size_t words_per_page = proto::slots_per_page_min;

  node_options wire(node_options o) {
    o.make_page = [this](session_id of) -> result<lines_view> {
      if (!pages_can_be_had) return error(errc::SystemCall, {"memfd_create", "no room"});
      auto& of_session = pages[of];
      of_session.push_back(std::make_unique<uint64_t[]>(words_per_page));
      return lines_view{of_session.back().get(), words_per_page};
    };
    return o;
  }

  void carry(effect::send& e) { inbox[e.to].push_back(std::move(e.what)); }
  void carry(effect::close& e) { closed.push_back(e.whom); }
  void carry(effect::start_wait& e) { waits.start(e.what); }
  void carry(effect::cancel_wait& e) { waits.cancel(e.which); }
  void carry(effect::answer_probe& e) { waits.answer(e.what); }
  void carry(effect::drop_waits& e) { waits.drop(e.of); }
  void carry(effect::look&) { ++looks; }
  void carry(effect::answer_ask& e) {
    asked.push_back(e);
    if (answers_are_read) decisions.answer_sent(e.to, clock.now());
  }
  void carry(effect::log& e) { log.push_back(e.text); }

  std::map<session_id, std::deque<proto::completion_entry>> completed_;
  bool only_yields_ = false;
};

}  // namespace gar::test
