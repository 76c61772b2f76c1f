// gard's messages with descriptors, as a client's link reads them from a real socket: whatever
// comes and whatever descriptors come with it, every request is answered once, every wait is told
// once, and no descriptor is left open.
//
// Input: operations: a right message or any bytes from gard, with any of a few descriptors; what
// the client asks meanwhile.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <map>

#include "clients/garclient/handshake.hpp"
#include "clients/garclient/link.hpp"
#include "lib/core/plan_cache.hpp"
#include "lib/linux/lines_page.hpp"
#include "lib/linux/ring_page.hpp"
#include "lib/linux/state_page.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"

namespace gar::fuzz {
namespace {

constexpr uint32_t entries = proto::ring_entries_min;

// What gard hands out, and what it should not; made once.
struct descriptors {
  lines_page lines = *lines_page::make();
  doorbell bell = *doorbell::make();
  state_page_owner state = *state_page_owner::make();
  ring_page ring = *ring_page::make(entries);
  unique_fd unsealed = *make_memory_file("unsealed", system_page_bytes());
  unique_fd null{::open("/dev/null", O_RDWR | O_CLOEXEC)};

  std::array<int, 7> all() const {
    return {lines.fd(),     bell.fd(),      state.fd(), ring.fd(),
            ring.pipe_fd(), unsealed.get(), null.get()};
  }
};

int lowest_free_descriptor() {
  const int fd = ::fcntl(0, F_DUPFD_CLOEXEC, 0);
  ::close(fd);
  return fd;
}

class rig {
 public:
  rig(input from, descriptors& of) : from_(from), of_(&of) {
    std::memset(of.ring.data(), 0, proto::ring_bytes(entries));
    int pair[2];
    must(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
    gard_ = unique_fd(pair[0]);
    client_ = unique_fd(pair[1]);
  }

  void run() {
    if (!shake_hands()) return;
    for (int i = 0; i < 200 && !from_.empty() && link_->alive(); ++i) {
      act(from_.choice(12));
      check();
    }
    link_->lose();
    must(answered_ == asked_);
    for (auto& [index, box] : boxes_) {
      must(box.lost || box.completion || box.refusal);
      link_->forget(box, false);
    }
  }

 private:
  bool shake_hands() {
    result<owner::handshake> hands =
        owner::handshake::start(std::move(client_), {1, 1, proto::feature_ring, "fuzz", {}});
    must(hands.has_value());
    for (int i = 0; i < 8 && !from_.empty(); ++i) {
      say(from_.choice(3) == 0 ? any_frame() : greeting(i));
      const result<bool> complete = hands->receive();
      drain();
      if (!complete) return false;
      if (!*complete) continue;
      owner::handshake::joined joined = hands->finish();
      for (const proto::plan_scope& p : joined.plans) {
        if (!plans_.publish(p)) return false;
      }
      link_ = joined.with;
      return true;
    }
    return false;
  }

  struct spoken {
    std::vector<std::byte> frame;
    std::vector<int> descriptors;
  };
  void say(const spoken& what) { (void)send_message(gard_.get(), what.frame, what.descriptors); }
  // What the client sent is nobody's.
  void drain() {
    std::array<std::byte, proto::frame_bytes_max> sink;
    while (::recv(gard_.get(), sink.data(), sink.size(), MSG_DONTWAIT) > 0) {
    }
  }

  spoken any_frame() {
    spoken s;
    const auto bytes = from_.piece(proto::frame_bytes_max);
    s.frame.assign(bytes.begin(), bytes.end());
    const size_t count = from_.choice(6);
    for (size_t i = 0; i < count; ++i) s.descriptors.push_back(of_->all()[from_.choice(7)]);
    return s;
  }
  spoken greeting(int step) {
    if (step > 0) return {proto::encode(a_plan(1)), {}};
    proto::welcome w;
    w.version = 1;
    w.plan_scopes = 1;
    w.features = from_.flip() ? proto::feature_ring : 0;
    w.client_id = 3;
    w.page_bytes = static_cast<uint32_t>(system_page_bytes());
    w.pages_max = 16;
    w.plan_generation = 1;
    w.word_wait = "software";
    w.executor = "naive";
    w.ring_entries = w.features ? entries : 0;
    spoken s{proto::encode(w), {of_->lines.fd(), of_->bell.fd(), of_->state.fd()}};
    if (w.features)
      s.descriptors.insert(s.descriptors.end(), {of_->ring.fd(), of_->ring.pipe_fd()});
    return s;
  }
  proto::plan_scope a_plan(uint64_t generation) {
    return {generation, proto::scope_default, 0, 1, {}, "block"};
  }

  void act(size_t what) {
    const uint64_t number = from_.value();
    switch (what) {
      case 0:
        return hear(any_frame());
      case 1:
        return ask_open(number);
      case 2:
        return ask_wait(number);
      case 3: {
        proto::opened o;
        o.cookie = number;
        o.stream = static_cast<uint32_t>(number);
        o.stream_generation = 1;
        o.page_index = from_.byte() % 16;
        o.line_index = from_.number<uint16_t>();
        o.slot = from_.byte() % 8;
        return hear({proto::encode(o), {}});
      }
      case 4: {
        proto::completion_entry e{};
        e.cookie = number;
        e.code = from_.number<uint16_t>();
        return hear({proto::encode(proto::completions{{e}}), {}});
      }
      case 5:
        return hear({proto::encode(proto::refusal{number, std::max<uint16_t>(1, from_.byte()), 0,
                                                  from_.choice(8) == 0, "no"}),
                     {}});
      case 6:
        return hear({proto::encode(a_plan(number)), {}});
      case 7:
        return hear({proto::encode(proto::page{static_cast<uint16_t>(1 + number % 15),
                                               static_cast<uint32_t>(system_page_bytes())}),
                     {of_->all()[from_.choice(7)]}});
      case 8:
        return hear({proto::encode(proto::probes{{{number, number, 0, 1}}}), {}});
      case 9:
        return soil_ring(number);
      case 10:
        link_->close(static_cast<uint32_t>(number), 1, number);
        link_->send_due(instant::never());
        return drain();
      default:
        link_->add_outcome({}, "point", {},
                           from_.flip() ? owner::booking::rehearsed : owner::booking::real);
        link_->send_due(instant::never());
        return drain();
    }
  }

  void hear(const spoken& what) {
    say(what);
    const auto publish = [this](const proto::plan_scope& p) -> result<void> {
      const result<bool> taken = plans_.publish(p);
      if (!taken) return taken.error();
      return {};
    };
    const result<std::vector<proto::probe_entry>> probes = link_->receive(publish);
    if (!probes) return link_->lose();
    std::vector<proto::status_entry> answers;
    for (const proto::probe_entry& p : *probes) {
      answers.push_back({p.probe_id, p.sequence, p.stream, p.stream_generation, 0, {}, 0, {}});
    }
    link_->answer(answers, {});
    link_->heard_about(answers, instant{1});
    drain();
  }
  void ask_open(uint64_t base) {
    ++asked_;
    link_->open(base, false, "s",
                [this, told = false](const owner::link::opened_answer& o) mutable {
                  must(!std::exchange(told, true));
                  ++answered_;
                  if (o) (void)link_->place_of(*o);
                });
    drain();
  }
  void ask_wait(uint64_t target) {
    if (boxes_.size() == 100) return;
    proto::wait w;
    w.target = target;
    owner::mailbox& box = boxes_[boxes_.size()];
    if (link_->register_wait(box, w, from_.flip() ? "point" : "")) boxes_.erase(boxes_.size() - 1);
    drain();
  }
  void soil_ring(uint64_t what) {
    const size_t at = from_.number<uint16_t>() % (proto::ring_bytes(entries) / sizeof(what));
    std::memcpy(of_->ring.data() + at * sizeof(what), &what, sizeof(what));
    link_->take_ring();
  }
  void check() {
    must(answered_ <= asked_);
    if (!link_->broken()) return;
    link_->lose();
  }

  input from_;
  descriptors* of_;
  unique_fd gard_;
  unique_fd client_;
  plan_cache plans_{*bands::parse(plan_as_shipped)};
  std::map<size_t, owner::mailbox> boxes_;
  std::shared_ptr<owner::link> link_;
  size_t asked_ = 0;
  size_t answered_ = 0;
};

}  // namespace
}  // namespace gar::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace gar::fuzz;
  static descriptors made;
  const int before = lowest_free_descriptor();
  rig(input(data, bytes), made).run();
  must(lowest_free_descriptor() == before);
  return 0;
}
