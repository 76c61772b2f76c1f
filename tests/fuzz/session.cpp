// Whole sessions against a live core: an input is a script of what clients, their devices, the
// person who runs the machine and time may do, in any order, with any numbers.
//
// Input: an operation's number and what it takes, one after the other. What holds is checked by
// live_core.hpp and ledger.hpp behind each; rings that nobody scribbled on are checked too: each
// slot that was asked for ends once, for a cause.
#include <array>
#include <boost/json/serialize.hpp>

#include "daemon/snapshot_json.hpp"
#include "lib/core/utf8.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/live_core.hpp"
#include "tests/fuzz/ring_hand.hpp"

namespace gar::fuzz {
namespace {

constexpr size_t operations_max = 400;

constexpr std::string_view plans[] = {
    plan_as_shipped,
    "block",
    "poll",
    "flag:park_us=1,backstop_us=1",
    "flag:park_us=100,backstop_us=10000",
    "poll+predict:margin_us=0,min_sleep_us=0,max_sleep_us=10000000,window=16",
    "block;rows>=1:poll;rows>=100:flag:park_us=10000,backstop_us=1000000",
};
constexpr std::string_view names[] = {"a", "b", "step", "\xc3\xa9"};

class script {
 public:
  script(const uint8_t* data, size_t bytes) : from_(data, bytes) {}

  void run() {
    for (size_t i = 0; i < operations_max && !from_.empty(); ++i) {
      const size_t which = from_.choice(std::size(operations));
      (this->*operations[which])();
      check_rings();
    }
    core_.end();
  }

 private:
  using operation = void (script::*)();

  // ---- Peers.
  void connect() {
    if (const session_id id = core_.connect(1000 + from_.byte() % 3)) sessions_.push_back(id);
  }
  void hello() {
    proto::hello m;
    m.features = from_.byte();
    m.client_name = names[from_.choice(std::size(names))];
    core_.receive(any_session(), m);
  }
  void join() {  // what nearly every client does first
    connect();
    if (sessions_.empty()) return;
    const session_id id = sessions_.back();
    core_.receive(id, proto::hello{1, 1, from_.byte(), "a", {}});
    note_opened(id);
  }
  void open() {
    const session_id id = any_session();
    proto::open m;
    m.cookie = from_.byte();
    m.base = from_.value();
    m.authority = from_.byte() & 1;
    core_.receive(id, m);
    note_opened(id);
  }
  void close() {
    const place& s = any_stream();
    core_.receive(s.of, proto::close{1, s.what.stream, s.what.stream_generation, from_.value()});
  }
  void wait() {
    proto::waits m;
    const session_id id = any_stream().of;
    const size_t count = 1 + from_.choice(4);
    for (size_t i = 0; i < count; ++i) m.entries.push_back(any_wait(any_stream()));
    core_.receive(id, m);
  }
  void cancel() {
    const session_id id = any_session();
    const uint64_t cookie = from_.byte();
    core_.books.cancels(id, cookie);
    core_.receive(id, proto::cancel{cookie});
  }
  void status() {
    const session_id id = any_session();
    proto::status_entry e{};
    if (const std::optional<proto::probe_entry> p = last_probe(id)) {
      e.probe_id = p->probe_id;
      e.sequence = p->sequence;
      e.stream = p->stream;
      e.stream_generation = p->stream_generation;
    }
    const uint8_t how = from_.byte();
    e.state = how % 3;
    e.status = how;
    if ((how & 0x10) != 0) e.probe_id += from_.value();
    if ((how & 0x20) != 0) e.sequence += from_.value();
    if ((how & 0x40) != 0) e.stream += from_.byte();
    if ((how & 0x80) != 0) e.stream_generation += from_.byte();
    core_.books.says(id, e);
    core_.receive(id, proto::statuses{{e}});
  }
  void outcome() {
    const place& s = any_stream();
    core_.receive(s.of, proto::outcomes{{any_outcome(s)}});
  }
  void point() {
    const session_id id = any_session();
    const uint32_t number = 1 + from_.byte();
    core_.receive(id, proto::point{number, std::string(names[from_.choice(std::size(names))])});
  }
  void say_little() {
    const session_id id = any_session();
    switch (from_.choice(4)) {
      case 0:
        return core_.receive(id, proto::bye{});
      case 1:
        return core_.receive(id, proto::kick{});
      case 2:
        return core_.receive(id, proto::ask{1, "{}"});
      default:
        core_.decisions.receive_failed(id, error(errc::MalformedMessage, {"too long"}));
        return core_.settle();
    }
  }
  void frame() {
    const session_id id = any_session();
    const size_t descriptors = from_.choice(6);
    const auto bytes = from_.piece(proto::frame_bytes_max + 1);
    const result<proto::message> m = proto::decode(bytes);
    if (m) note_said(id, *m);
    core_.receive(id, bytes, descriptors);
    note_opened(id);
  }
  void disconnect() {
    core_.decisions.disconnect(any_session());
    core_.settle();
  }

  // ---- Devices.
  void store() {
    const place& s = any_stream();
    store_word(s, from_.value());
  }
  void complete() {  // the next number, as a device stores it
    const place& s = any_stream();
    if (const uint64_t* word = word_of(s)) store_word(s, *word + 1);
  }

  // ---- Rings.
  void ask_by_ring() {
    const place& s = any_stream();
    ring_hand* hand = hand_of(s.of);
    const uint16_t slot = from_.byte() % shared_memory::ring_entries;
    const proto::wait w = any_wait(s);
    if (!hand || hand->in_flight(slot)) return;
    hand->ask(slot, w, expected(s, w));
    take(s.of);
  }
  void cancel_by_ring() {
    const session_id id = any_session();
    ring_hand* hand = hand_of(id);
    if (!hand) return;
    hand->cancel(from_.byte() % shared_memory::ring_entries);
    take(id);
  }
  void point_by_ring() {
    const session_id id = any_session();
    ring_hand* hand = hand_of(id);
    const uint16_t slot = from_.byte() % shared_memory::ring_entries;
    if (!hand || hand->in_flight(slot)) return;
    hand->name_point(slot, 1 + from_.byte(), names[from_.choice(std::size(names))]);
    take(id);
  }
  void outcome_by_ring() {
    const place& s = any_stream();
    ring_hand* hand = hand_of(s.of);
    if (hand) hand->add_outcome(any_outcome(s));
    take(s.of);
  }
  void scribble() {
    const session_id id = any_session();
    ring_hand* hand = hand_of(id);
    const uint16_t at = from_.number<uint16_t>();
    const uint64_t what = from_.value();
    if (hand) hand->scribble(at, what);
    if (from_.flip()) take(id);
  }
  void take_again() { take(any_session()); }

  // ---- The machine and who runs it.
  void pass() {
    constexpr duration steps[] = {{1},          from_us(1),  from_us(50),   from_us(100),
                                  from_us(950), from_ms(10), from_ms(1000), from_ms(100'000),
                                  from_us(20),  from_ms(1),  from_ms(100)};
    core_.pass(steps[from_.choice(std::size(steps))]);
  }
  void set_plan() {
    plan_scope scope;
    const uint8_t where = from_.byte();
    if (where & 1) scope.client = "a";
    if (where & 2) scope.point = names[where / 4 % std::size(names)];
    const bands to = *bands::parse(plans[from_.choice(std::size(plans))]);
    if (where & 0x80) {
      core_.decisions.configure({{{}, to}}, (where & 0x40) != 0);
    } else if (where & 0x20) {
      (void)core_.decisions.plan_unset(scope);
    } else {
      (void)core_.decisions.plan_set(scope, to);
    }
    core_.settle();
  }
  void set_limits() {
    node_limits l = live_core::small_limits();
    l.clients = 1 + from_.byte() % 8;
    l.streams_per_client = 1 + from_.byte();
    l.waits_per_client = 1 + from_.byte() % 16;
    l.runtime_plans = 1 + from_.byte() % 4;
    core_.decisions.set_limits(l);
  }
  void lose_memory() { core_.memory_can_be_had = from_.flip(); }
  void stop() {
    if (from_.byte() != 0) return;  // rare: little happens behind it
    core_.decisions.stop();
  }
  void say_bye() {
    if (from_.byte() != 0) return;
    core_.decisions.say_bye();
    core_.settle();
  }
  void look() {
    const std::optional<uint32_t> uid = from_.flip() ? std::optional<uint32_t>(1000) : std::nullopt;
    const instant now = core_.clock.now();
    status_snapshot status;
    core_.decisions.describe(status, uid, now);
    must(uid || status.waits.pending == core_.decisions.pending());
    const auto plain = [](const boost::json::object& o) {
      must(valid_plain_text(boost::json::serialize(o)));
    };
    plain(status_json(status));
    for (const client_snapshot& c : core_.decisions.clients(uid, now)) plain(client_json(c));
    for (const stream_snapshot& s : core_.decisions.streams(uid, now)) plain(stream_json(s));
    for (const point_snapshot& p : core_.decisions.points(uid)) plain(point_json(p));
  }

  static constexpr operation operations[] = {
      &script::join,          &script::connect,         &script::hello,
      &script::open,          &script::close,           &script::wait,
      &script::cancel,        &script::status,          &script::outcome,
      &script::point,         &script::say_little,      &script::frame,
      &script::disconnect,    &script::store,           &script::complete,
      &script::ask_by_ring,   &script::scribble,        &script::cancel_by_ring,
      &script::point_by_ring, &script::outcome_by_ring, &script::take_again,
      &script::pass,          &script::set_plan,        &script::set_limits,
      &script::stop,          &script::say_bye,         &script::look,
      &script::lose_memory,
  };

  // ---- Whom and what an operation is about.
  struct place {
    session_id of = 0;
    proto::opened what;
    bool word_authority = false;
  };

  session_id any_session() {
    const uint8_t which = from_.byte();
    return sessions_.empty() ? 0 : sessions_[which % sessions_.size()];
  }
  const place& any_stream() {
    static const place none{};
    const uint8_t which = from_.byte();
    return streams_.empty() ? none : streams_[which % streams_.size()];
  }
  void note_opened(session_id id) {
    for (const proto::message& m : core_.inbox[id]) {
      if (const auto* o = std::get_if<proto::opened>(&m)) streams_.push_back({id, *o});
      if (const auto* p = std::get_if<proto::plan_scope>(&m)) generation_ = p->generation;
      if (const auto* p = std::get_if<proto::probes>(&m)) probes_[id] = p->entries.back();
    }
    core_.inbox[id].clear();
  }
  std::optional<proto::probe_entry> last_probe(session_id id) {
    note_opened(id);
    const auto at = probes_.find(id);
    return at == probes_.end() ? std::nullopt : std::optional(at->second);
  }
  void note_said(session_id id, const proto::message& m) {
    if (const auto* c = std::get_if<proto::cancel>(&m)) core_.books.cancels(id, c->cookie);
    if (const auto* s = std::get_if<proto::statuses>(&m)) {
      for (const proto::status_entry& e : s->entries) core_.books.says(id, e);
    }
  }
  proto::wait any_wait(const place& s) {
    note_opened(s.of);
    proto::wait w;
    w.cookie = from_.byte();
    const uint8_t how = from_.byte();
    w.target = (how & 1) ? from_.value() : s.what.base + 1 + (how >> 5);
    if (how & 2) w.age_ns = from_.value();
    if (how & 4) w.timeout_ns = from_.value() * 1'000'000;
    if (how & 8) w.point_number = from_.byte();
    if (how & 16) w.rows = from_.byte();
    w.plan_generation = generation_ - ((how & 8) ? from_.byte() % 3 : 0);
    w.stream = s.what.stream;
    w.stream_generation = s.what.stream_generation;
    return w;
  }
  proto::outcome_entry any_outcome(const place& s) {
    proto::outcome_entry e{};
    e.stream = s.what.stream;
    e.stream_generation = s.what.stream_generation;
    e.point = from_.byte();
    e.sample_ns = from_.value();
    const uint8_t how = from_.byte();
    e.what = how % 3;
    e.kind = how / 4 % 4;
    e.sample = how / 16 % 3;
    e.code = (how & 0x80) ? from_.byte() : 0;
    return e;
  }
  uint64_t* word_of(const place& s) {
    const auto at = core_.memory.find(s.of);
    if (at == core_.memory.end()) return nullptr;
    return &at->second.pages.at(s.what.page_index)[s.what.line_index * 8u + s.what.slot];
  }
  void store_word(const place& s, uint64_t value) {
    if (uint64_t* word = word_of(s)) proto::store_word(*word, value);
    core_.settle();
  }

  // ---- Rings: their clients' side.
  ring_hand* hand_of(session_id id) {
    const auto at = core_.memory.find(id);
    if (at == core_.memory.end() || at->second.seat.session == 0) return nullptr;
    return &hands_.try_emplace(id, at->second.ring()).first->second;
  }
  wait_start expected(const place& s, const proto::wait& w) {
    wait_start e;
    e.session = s.of;
    e.stream = w.stream;
    e.stream_generation = w.stream_generation;
    const uint64_t* word = word_of(s);
    if (word) e.word = memory_descriptor(*word, w.target);
    e.how.start = core_.clock.now() - duration{std::min(w.age_ns, proto::age_ns_max)};
    if (w.timeout_ns != 0) e.how.deadline = e.how.start + duration{w.timeout_ns};
    return e;
  }
  void take(session_id id) { core_.take_ring(id); }
  void check_rings() {
    for (auto& [id, hand] : hands_) {
      if (core_.memory.at(id).seat.session == 0) continue;
      hand.check_ends([&](const wait_start& w, uint16_t code, bool cancelled) {
        core_.books.check_cause(w, code, cancelled, core_.clock.now());
      });
    }
  }

  input from_;
  live_core core_;
  std::vector<session_id> sessions_;
  std::vector<place> streams_;
  std::map<session_id, proto::probe_entry> probes_;
  std::map<session_id, ring_hand> hands_;
  uint64_t generation_ = 0;
};

}  // namespace
}  // namespace gar::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  gar::fuzz::script(data, bytes).run();
  return 0;
}
