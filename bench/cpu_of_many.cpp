// Question: what CPU time does a wait of 10 ms cost where 64 are waited for at once in 8 processes,
// the clients' and gard's together, under the plan as shipped and a gard as shipped?
// Floor: one spin of 10 ms, measured alone; 64 of them would cost 64 times that.
// Not measured: the producer. Each process starts its 8 waits one after the other and takes their
// ends from one descriptor.
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "bench/private_gard.hpp"
#include "bench/shared_words.hpp"
#include "bench/word_client.hpp"
#include "lib/linux/futex.hpp"
#include "lib/linux/unique_fd.hpp"
#include "proto/line.hpp"

namespace gar::bench {
namespace {

constexpr size_t processes = 8;
constexpr size_t streams_each = 8;
constexpr uint64_t work_ns = 10'000'000;
constexpr uint64_t jitter_ns = 20'000;  // each way
constexpr uint64_t lead_ns = 300'000;
constexpr uint64_t patience_ns = 5'000'000'000;

// Between the parent and one client process. Numbers rise; each is written by one side.
struct desk {
  uint32_t turn = 0;      // parent: begin the waits of this turn; a futex word
  uint32_t started = 0;   // client: all of them were started
  uint32_t finished = 0;  // client: all of them have ended
  std::array<store_order, streams_each> orders;  // with the client's addresses
  std::array<file_place, streams_each> words;
  file_place bell;
  uint64_t cpu_ns = 0;  // of the client process, so far
};

uint32_t load(const uint32_t& word) {
  return std::atomic_ref<uint32_t>(const_cast<uint32_t&>(word)).load(std::memory_order_acquire);
}

void publish(uint32_t& word, uint32_t value) {
  std::atomic_ref<uint32_t>(word).store(value, std::memory_order_release);
  futex_wake(word);
}

void await(const uint32_t& word, uint32_t value) {
  const uint64_t until = now_ns() + patience_ns;
  for (uint32_t seen = 0; (seen = load(word)) != value;) {
    futex_wait(word, seen, instant{now_ns()} + from_ms(100));
    if (now_ns() > until) throw cannot_measure("a client process does not answer");
  }
}

class waiting_process {
 public:
  waiting_process(desk& at, const std::string& socket, size_t index)
      : desk_(at),
        client_(socket, "gar-bench-" + std::to_string(index), streams_each),
        random_(static_cast<unsigned>(index + 1)) {}

  void serve() {
    watch();
    for (size_t i = 0; i < streams_each; ++i) {
      const store_order o = client_.record(i);
      desk_.words[i] = place_of(o.word);
      desk_.bell = place_of(o.bell);
      proto::store_word(*o.word, o.value);
    }
    publish(desk_.started, 1);
    for (uint32_t turn = 2;; ++turn) {
      while (load(desk_.turn) != turn) futex_wait(desk_.turn, turn - 1);
      start_waits();
      publish(desk_.started, turn);
      take_ends();
      desk_.cpu_ns = own_cpu_ns();
      publish(desk_.finished, turn);
    }
  }

 private:
  void watch() {
    epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
    epoll_event event{};
    event.events = EPOLLIN;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, gar_client_fd(client_.client()), &event) != 0) {
      throw cannot_measure("the client's descriptor cannot be watched");
    }
  }
  void start_waits() {
    for (size_t i = 0; i < streams_each; ++i) {
      store_order o = client_.record(i);
      o.at_ns = now_ns() + work_ns - jitter_ns + random_() % (2 * jitter_ns);
      must_be_ok(gar_wait_async(client_.stream(i), o.value, nullptr, nullptr, nullptr),
                 "gar_wait_async");
      desk_.orders[i] = o;
    }
  }
  void take_ends() {
    for (size_t left = streams_each; left > 0;) {
      std::array<gar_completion, streams_each> ends;
      size_t count = 0;
      epoll_event event{};
      ::epoll_wait(epoll_.get(), &event, 1, -1);
      must_be_ok(gar_take(client_.client(), ends.data(), ends.size(), &count), "gar_take");
      for (size_t i = 0; i < count; ++i) must_be_ok(ends[i].error, "a wait");
      left -= count;
    }
  }

  desk& desk_;
  word_client client_;
  std::minstd_rand random_;
  unique_fd epoll_;
};

// The parent's side of a client process: where it may store for it.
struct reach {
  std::array<uint64_t*, streams_each> words;
  uint64_t* bell;
};

using desks = std::array<desk, processes>;

reach reach_of(const desk& at, pid_t pid) {
  reach r{};
  for (size_t i = 0; i < streams_each; ++i) {
    r.words[i] = static_cast<uint64_t*>(map_place(pid, at.words[i]));
  }
  r.bell = static_cast<uint64_t*>(map_place(pid, at.bell));
  return r;
}

class crowd {
 public:
  explicit crowd(const private_gard& gard) : gard_(gard) {
    for (size_t i = 0; i < processes; ++i) {
      desk& at = (*desks_)[i];
      const std::string& socket = gard.socket();
      children_[i] = child([&at, &socket, i] { waiting_process(at, socket, i).serve(); });
    }
    for (size_t i = 0; i < processes; ++i) {
      desk& at = (*desks_)[i];
      await(at.started, 1);
      at.turn = 1;
      reach_[i] = reach_of(at, children_[i].pid());
    }
  }

  // CPU time of one of the 64 waits.
  uint64_t run(producer& by) {
    const uint64_t before = cpu_ns();
    ++turn_;
    for (desk& at : *desks_) publish(at.turn, turn_);
    std::vector<store_order> all;
    for (size_t i = 0; i < processes; ++i) {
      desk& at = (*desks_)[i];
      await(at.started, turn_);
      for (size_t j = 0; j < streams_each; ++j) {
        store_order o = at.orders[j];
        o.word = reach_[i].words[j];
        o.bell = reach_[i].bell;
        all.push_back(o);
      }
    }
    std::sort(all.begin(), all.end(),
              [](const store_order& a, const store_order& b) { return a.at_ns < b.at_ns; });
    by.order(all);
    for (desk& at : *desks_) await(at.finished, turn_);
    return (cpu_ns() - before) / (processes * streams_each);
  }

 private:
  uint64_t cpu_ns() const {
    uint64_t sum = gard_.cpu_ns();
    for (const desk& at : *desks_) sum += at.cpu_ns;
    return sum;
  }

  const private_gard& gard_;
  shared<desks> desks_;
  std::array<child, processes> children_;
  std::array<reach, processes> reach_{};
  uint32_t turn_ = 1;
};

uint64_t spin_once(producer& by, uint64_t& word) {
  store_order o;
  o.word = &word;
  o.value = word + 1;
  const uint64_t cpu = own_cpu_ns();
  o.at_ns = now_ns() + work_ns;
  by.order(o);
  while (proto::load_word(word) != o.value) {
  }
  return own_cpu_ns() - cpu;
}

}  // namespace

case_result run_cpu_of_many(const options& o) {
  const private_gard gard({"", machine_cores().gard});
  crowd waiting(gard);
  shared<uint64_t> word;
  *word = 0;
  const cores& c = machine_cores();
  producer beside_gard({c.producer.value_or(c.client), false, lead_ns});
  producer beside_client({c.producer.value_or(c.gard), false, lead_ns});
  samples wait_ns, spin_ns;
  for (int i = 0; i < (o.quick ? 2 : 20); ++i) waiting.run(beside_gard);
  for (int round = 0; round < (o.quick ? 2 : 20); ++round) {
    wait_ns.begin_round();
    spin_ns.begin_round();
    for (int i = 0; i < (o.quick ? 2 : 10); ++i) wait_ns.add(waiting.run(beside_gard));
    const on_core here(c.client);
    for (int i = 0; i < (o.quick ? 1 : 3); ++i) spin_ns.add(spin_once(beside_client, *word));
  }
  case_result r;
  r.rows = {{"CPU of one of 64 waits", wait_ns.all()}, {"floor: CPU of one spin", spin_ns.all()}};
  r.findings = {{"cpu_ratio_10ms_64", ratio(wait_ns, spin_ns, 0.5), {}}};
  return r;
}

}  // namespace gar::bench
