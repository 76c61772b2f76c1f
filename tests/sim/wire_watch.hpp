// Wire watch: is every message legal in the state of its connection?
//
// It sees what both ends send, and what they write into the ring they share, and keeps by itself
// what either end may say next: which waits are in flight, what was probed, which stream has which
// word. What gard says is held against the words and the devices' truth, too.
//
//   connection   hello -> welcome -> opens, waits, probes ... -> bye, or ended
//   wait         in flight from its message (or submission) to its one completion or refusal
//   word         a stream's from `opened` to `close`; no other stream's store may land there
//
// Threads: one real thread. Ownership: the run's.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/core/codec.hpp"
#include "tests/sim/judge.hpp"
#include "tests/sim/kernel.hpp"

namespace gar::sim {

class wire_watch {
 public:
  wire_watch(kernel& k, judge& j, const run_settings& how) : kernel_(&k), judge_(&j), how_(&how) {}

  // From here on it is told of every message.
  void attach();
  // Of a new stream's stores.
  void follow(gpu_stream& stream);
  // After each event: the rings.
  void step();

 private:
  struct wait {
    uint64_t target = 0;
    uint32_t stream = 0;
    uint64_t seen_ns = 0;
    uint64_t deadline_ns = UINT64_MAX;
    uint64_t backstop_ns = 0;  // 0: not known
    bool is_point = false;     // a name's slot in the ring
  };
  struct stream {
    bool open = false;
    uint32_t generation = 0;
    bool word_authority = false;
    std::shared_ptr<memory_file> page;
    word_place at;
    uint64_t probe = 0;  // outstanding
  };
  struct ring {
    std::shared_ptr<memory_file> memory;
    uint32_t entries = 0;
    uint64_t submitted = 0;
    uint64_t completed = 0;
    uint64_t urgent = 0;           // behind the last submission that gard was told of
    uint64_t unseen_since_ns = 0;  // 0: gard has taken all of those
  };
  struct connection {
    uint64_t number = 0;
    bool greeted = false;
    bool welcomed = false;
    bool bye = false;
    std::vector<std::shared_ptr<memory_file>> pages;
    std::optional<ring> with_ring;
    std::map<uint32_t, stream> streams;
    std::map<uint64_t, bool> opens;  // by cookie: is the word the authority?
    std::map<uint64_t, wait> waits;  // by cookie, or by slot
    std::map<uint64_t, std::vector<proto::plan_scope>> plans;
    std::map<uint32_t, std::string> points;
  };
  // Whose a word is, of those that a gard gave out.
  struct holder {
    uint64_t connection = 0;
    uint32_t stream = 0;
    const gpu_stream* gpu = nullptr;  // that recorded there since
    bool closed = false;
  };

  void sent(socket_end& from, const std::vector<std::byte>& bytes,
            const std::vector<std::shared_ptr<open_file>>& files);
  void ended(socket_end& one, const char* why);

  void from_client(connection& c, const proto::message& m);
  void from_gard(connection& c, const proto::message& m,
                 const std::vector<std::shared_ptr<open_file>>& files);
  void opened(connection& c, const proto::opened& o);
  void closes(connection& c, const proto::close& m);
  void refused(connection& c, const proto::refusal& m);
  void probed(connection& c, const proto::probe_entry& p);
  void starts(connection& c, uint64_t key, const proto::wait& w);
  void ends(connection& c, uint64_t key, uint16_t code, bool confirmed);
  void arrived(connection& c, const wait& w, bool confirmed);
  uint64_t backstop_of(const connection& c, const proto::wait& w) const;
  void look_at_ring(connection& c);
  void submission(connection& c, ring& r, uint64_t index);
  void completion(connection& c, ring& r, uint64_t index);
  void landed(const gpu_stream& by, const word_place& into, uint64_t value);
  void illegal(const connection& c, const std::string& what);

  kernel* kernel_;
  judge* judge_;
  const run_settings* how_;
  std::map<uint64_t, connection> connections_;
  std::map<word_place, holder> words_;
  std::vector<gpu_stream*> streams_;
};

}  // namespace gar::sim
