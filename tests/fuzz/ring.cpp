// A client's ring and lines pages as gard reads them, scribbled over at any byte while in use: gard
// keeps its books and other clients their waits, and writes nowhere but into its own part.
//
// Input: operations, as in session.cpp, but all of them on the memory of one client; a second one
// has a wait pending that must end, and end right, whatever the first does.
#include <array>
#include <cstring>
#include <vector>

#include "tests/fuzz/input.hpp"
#include "tests/fuzz/live_core.hpp"

namespace gar::fuzz {
namespace {

constexpr uint32_t entries = shared_memory::ring_entries;

// What only the client writes, copied.
std::vector<std::byte> clients_part(const std::byte* ring) {
  std::vector<std::byte> part(ring, ring + offsetof(proto::ring_header, submit_head));
  const auto add = [&](size_t from, size_t bytes) {
    part.insert(part.end(), ring + from, ring + from + bytes);
  };
  add(proto::ring_outcomes_offset,
      proto::ring_complete_offset(entries) - proto::ring_outcomes_offset);
  for (size_t i = 0; i < entries; ++i) {
    add(proto::ring_slots_offset(entries) + i * sizeof(proto::ring_slot),
        sizeof(proto::ring_request));
  }
  return part;
}

class scribbler {
 public:
  explicit scribbler(input from) : from_(from) {
    bad_ = join();
    good_ = join();
    for (int i = 0; i < 3; ++i) open(bad_, i == 2);
    good_stream_ = open(good_, false);
    proto::wait w;
    w.cookie = 1;
    w.target = 1;
    w.plan_generation = core_.decisions.plans().publish_for("a")->generation();
    generation_ = w.plan_generation;
    w.stream = good_stream_.stream;
    w.stream_generation = good_stream_.stream_generation;
    core_.receive(good_, w_of(w));
    must(core_.books.pending_of(good_).size() == 1);
  }

  void run() {
    for (int i = 0; i < 300 && !from_.empty(); ++i) act(from_.choice(8));
    must(core_.books.pending_of(good_).size() == 1);
    uint64_t& word = page(good_)[good_stream_.line_index * 8u + good_stream_.slot];
    proto::store_word(word, 1);
    core_.settle();
    must(core_.books.pending_of(good_).empty());
    core_.end();
  }

 private:
  void act(size_t what) {
    switch (what) {
      case 0:
        return fill_request();
      case 1:
        return submit();
      case 2:
        return take();
      case 3:
        return put_word(from_.number<uint16_t>(), from_.value());
      case 4:
        return put_piece(from_.number<uint16_t>());
      case 5:
        header().submit_tail += from_.byte();
        header().outcome_tail += from_.byte();
        return;
      case 6:
        proto::store_word(page(bad_)[from_.byte()], from_.value());
        return core_.settle();
      default:
        return core_.pass(from_us(from_.value() % 100'000'000));
    }
  }

  void take() {
    const auto before = clients_part(ring());
    core_.take_ring(bad_);
    must(clients_part(ring()) == before);
  }
  void fill_request() {
    proto::ring_request r{};
    r.target = from_.value();
    r.stream = from_.byte() % 4;
    r.stream_generation = 1;
    r.plan_generation = generation_;
    const uint8_t more = from_.byte();
    if (more & 1) r.timeout_ns = from_.value();
    if (more & 2) r.age_ns = from_.value();
    if (more & 4) r.point = from_.byte();
    if (more & 8) r.rows = from_.byte();
    const size_t slot = from_.byte() % entries;
    std::memcpy(ring() + proto::ring_slots_offset(entries) + slot * sizeof(proto::ring_slot), &r,
                sizeof(r));
  }
  void submit() {
    const proto::submission s{from_.byte(), from_.byte()};
    const size_t at = header().submit_tail++ % entries;
    std::memcpy(ring() + proto::ring_submit_offset + at * sizeof(s), &s, sizeof(s));
  }
  void put_word(size_t at, uint64_t what) {
    constexpr size_t words = proto::ring_bytes(entries) / sizeof(what);
    std::memcpy(ring() + at % words * sizeof(what), &what, sizeof(what));
  }
  void put_piece(size_t at) {
    at %= proto::ring_bytes(entries);
    const auto piece = from_.piece(std::min<size_t>(256, proto::ring_bytes(entries) - at));
    if (!piece.empty()) std::memcpy(ring() + at, piece.data(), piece.size());
  }

  static proto::message w_of(const proto::wait& w) { return proto::waits(w); }
  session_id join() {
    const session_id id = core_.connect(1000);
    core_.receive(id, proto::hello{1, 1, proto::feature_ring, "a", {}});
    return id;
  }
  proto::opened open(session_id id, bool word_authority) {
    proto::open m;
    m.authority = word_authority ? proto::authority_word : proto::authority_owner;
    core_.receive(id, m);
    return std::get<proto::opened>(core_.inbox[id].back());
  }
  std::byte* ring() { return core_.memory.at(bad_).ring(); }
  proto::ring_header& header() { return *reinterpret_cast<proto::ring_header*>(ring()); }
  uint64_t* page(session_id id) { return core_.memory.at(id).pages[0].get(); }

  input from_;
  live_core core_;
  session_id bad_ = 0;
  session_id good_ = 0;
  proto::opened good_stream_;
  uint64_t generation_ = 0;
};

}  // namespace
}  // namespace gar::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  gar::fuzz::scribbler(gar::fuzz::input(data, bytes)).run();
  return 0;
}
