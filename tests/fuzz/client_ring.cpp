// A ring as its client reads it, from a gard that writes any byte of it at any time: a wait ends at
// most once, only if it was asked for; what cannot be loses all of them, and none is left behind.
//
// Input: operations of the client, of a gard that keeps to the protocol, and of one that scribbles.
// While nobody has scribbled, exactly those waits end that gard has ended.
#include <unistd.h>

#include <array>
#include <cstring>
#include <deque>
#include <set>

#include "clients/garclient/ring_waits.hpp"
#include "lib/linux/ring_page.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"

namespace gar::fuzz {
namespace {

constexpr uint32_t entries = proto::ring_entries_min;
constexpr size_t boxes_count = 80;  // more than there are slots

class rig {
 public:
  rig(input from, ring_page& gard) : from_(from), gard_(&gard), waits_(open_client(gard)) {}

  void run() {
    for (int i = 0; i < 400 && !from_.empty(); ++i) {
      act(from_.choice(14));
      check();
    }
    waits_.lose();
    must(waits_.broken());
    for (owner::mailbox& box : boxes_) must(box.slot == owner::mailbox::no_slot);
  }

 private:
  static owner::ring_waits open_client(ring_page& gard) {
    std::memset(gard.data(), 0, proto::ring_bytes(entries));
    result<ring_client> ring = ring_client::receive(unique_fd(::dup(gard.fd())),
                                                    unique_fd(::dup(gard.pipe_fd())), entries);
    must(ring.has_value());
    return owner::ring_waits(std::move(*ring));
  }

  void act(size_t what) {
    owner::mailbox& box = boxes_[from_.byte() % boxes_count];
    switch (what) {
      case 0:
      case 1:
        return submit(box);
      case 2:
        waits_.submit_point(1 + from_.byte(), "point");
        return;
      case 3:
        return forget(box, from_.flip());
      case 4:
        waits_.submit_cancels();
        return;
      case 5:
        return end_one();
      case 6:
      case 7:
        waits_.take(no_step_);
        return;
      case 8:
        return scribble(from_.number<uint16_t>(), from_.value());
      case 9:
        waits_.put_outcome({});
        if (from_.flip()) waits_.show_outcomes();
        return;
      case 10:
        return gard_takes();
      case 11:
        waits_.want_pipe();
        waits_.drain_pipe();
        waits_.heard_about(from_.byte() % 4, from_.byte(), instant{1});
        waits_.has_orphans(from_.byte() % 4);
        return;
      case 12:
        // Its time has passed: it looks and does not sleep.
        waits_.look_for_news(box, box.signal_now(), {}, no_step_);
        waits_.sleep_for_news(box, box.signal_now(), {}, no_step_);
        (void)waits_.took(box);
        (void)waits_.took_all();
        return;
      default:
        return scribble(proto::ring_complete_offset(entries) / 8 + from_.byte() % 32,
                        from_.value());
    }
  }

  void submit(owner::mailbox& box) {
    if (box.registered || box.lost || box.completion) return;
    proto::ring_request asked{};
    asked.stream = from_.byte() % 4;
    asked.target = from_.byte();
    if (!waits_.submit(box, asked)) return;
    must(box.slot < entries && !waits_.broken());
    must(slots_.insert(box.slot).second);
  }
  void forget(owner::mailbox& box, bool cancel) {
    if (!box.registered) return;
    waits_.forget(box, cancel);
    box = {};
  }
  void gard_takes() {
    if (soiled_) return;
    const auto* table = reinterpret_cast<proto::submission*>(base() + proto::ring_submit_offset);
    for (; header().submit_head != header().submit_tail; ++header().submit_head) {
      const proto::submission s = table[header().submit_head % entries];
      must(s.slot < entries);
      if (s.op != proto::submit_cancel) at_gard_.push_back(s.slot);
    }
    header().outcome_head = header().outcome_tail;
  }
  void end_one() {
    gard_takes();
    if (soiled_ || at_gard_.empty()) return;
    const uint16_t slot = at_gard_.front();
    at_gard_.pop_front();
    auto* ends = reinterpret_cast<uint32_t*>(base() + proto::ring_complete_offset(entries));
    ends[header().complete_tail++ % entries] = slot;
    slot_at(slot).completion = {};
    slot_at(slot).completion.wait_ns = slot;
  }
  void scribble(size_t at, uint64_t what) {
    constexpr size_t words = proto::ring_bytes(entries) / sizeof(what);
    std::memcpy(base() + at % words * sizeof(what), &what, sizeof(what));
    soiled_ = true;
  }

  void check() {
    must(!waits_.broken() || soiled_);
    slots_.clear();
    for (owner::mailbox& box : boxes_) {
      const bool waits = box.slot != owner::mailbox::no_slot;
      if (waits) must(box.registered && slots_.insert(box.slot).second);
      if (waits) must(!box.completion && !box.lost && !waits_.broken());
      if (box.completion) must(box.registered);
      if (box.completion && !soiled_) must(box.completion->wait_ns < entries);
      if (box.lost) must(waits_.broken());
      if (box.registered) must(waits || box.completion || box.lost);
    }
  }

  std::byte* base() const { return gard_->data(); }
  proto::ring_header& header() const { return *reinterpret_cast<proto::ring_header*>(base()); }
  proto::ring_slot& slot_at(uint16_t i) const {
    return reinterpret_cast<proto::ring_slot*>(base() + proto::ring_slots_offset(entries))[i];
  }

  input from_;
  ring_page* gard_;
  owner::ring_waits waits_;
  owner::step_function no_step_ = [](owner::async_wait&) {};
  std::array<owner::mailbox, boxes_count> boxes_;
  std::set<uint32_t> slots_;
  std::deque<uint16_t> at_gard_;
  bool soiled_ = false;
};

}  // namespace
}  // namespace gar::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace gar;
  static ring_page gard = *ring_page::make(fuzz::entries);
  fuzz::rig(fuzz::input(data, bytes), gard).run();
  return 0;
}
