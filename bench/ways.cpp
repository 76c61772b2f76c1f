// Question: what do the ways in which people wait for a device today cost, beside gard's: CPU time
// of a wait of 10 ms, the process's own and gard's, and delay?
// Floor: the client spins, as a vendor's synchronize call does as it is shipped.
// The vendors' ways are imitated: a relay stands for the interrupt, and its own CPU time is counted
// for nobody. A blocking synchronize is one futex wake from it, a host callback a wake of the
// driver's thread, which calls back. A polling thread is real: it looks, and sleeps for 100 us.
// Not measured: a real driver's interrupt, its locks, what its calls cost.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bench/relay.hpp"
#include "bench/timed_work.hpp"
#include "lib/linux/thread_placement.hpp"
#include "proto/line.hpp"

namespace gar::bench {
namespace {

constexpr std::chrono::microseconds between_looks{100};
// As shipped, but for the client of this name, which polls behind its sleeps.
constexpr const char* polls = "polls";
constexpr const char* configuration =
    "[plan.clients]\n"
    "polls = \"poll+predict:margin_us=200,min_sleep_us=50,max_sleep_us=50000,window=8\"\n";

way relayed_way(relay& of, producer& by) {
  way w;
  w.by = &by;
  w.expect = [&of] { return of.expect(); };
  w.wait = [&of](const store_order&) {
    of.await();
    return false;
  };
  return w;
}

// A thread that polls for others, as an engine's or a runtime's does.
class polling_thread {
 public:
  polling_thread() : thread_([this] { poll(); }) {}
  ~polling_thread() {
    {
      const std::lock_guard held(lock_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  polling_thread(const polling_thread&) = delete;
  polling_thread& operator=(const polling_thread&) = delete;

  void await(const store_order& o) {
    std::unique_lock held(lock_);
    wanted_ = &o;
    changed_.notify_all();
    changed_.wait(held, [this] { return !wanted_; });
  }

 private:
  void poll() {
    (void)pin_thread(machine_cores().client).has_value();
    std::unique_lock held(lock_);
    for (;;) {
      changed_.wait(held, [this] { return wanted_ || ends_; });
      if (ends_) return;
      if (proto::load_word(*wanted_->word) == wanted_->value) {
        wanted_ = nullptr;
        changed_.notify_all();
        continue;
      }
      held.unlock();
      std::this_thread::sleep_for(between_looks);
      held.lock();
    }
  }

  std::mutex lock_;
  std::condition_variable changed_;
  const store_order* wanted_ = nullptr;
  bool ends_ = false;
  std::thread thread_;
};

way polled_way(word_client& client, size_t stream, polling_thread& thread, producer& by) {
  way w;
  w.by = &by;
  w.expect = [&client, stream] { return client.record(stream); };
  w.wait = [&thread](const store_order& o) {
    thread.await(o);
    return false;
  };
  return w;
}

}  // namespace

case_result run_ways(const options& o) {
  const private_gard gard({configuration, machine_cores().gard});
  word_client client(gard.socket(), "gar-bench", 3);
  word_client polling(gard.socket(), polls, 1);
  relay blocking(mechanism::futex);
  relay callback(mechanism::callback);
  producer beside_client(timed_producer_on(machine_cores().gard));
  producer beside_gard(timed_producer_on(machine_cores().client));
  polling_thread thread;
  struct named_way {
    std::string name;
    way by;
  };
  std::vector<named_way> ways;
  ways.push_back({"a spin", spinning_way(client, 0, beside_client)});
  ways.push_back({"a blocking synchronize", relayed_way(blocking, beside_gard)});
  ways.push_back({"a host callback", relayed_way(callback, beside_gard)});
  ways.push_back({"a polling thread", polled_way(client, 1, thread, beside_client)});
  ways.push_back({"gar_wait, plan poll+predict", library_way(polling, 0, beside_client)});
  ways.push_back({"gar_wait through gard", library_way(client, 2, beside_gard)});
  const on_core here(machine_cores().client);
  timed_work run(gard);
  const size_t rounds = o.quick ? 2 : 20;
  const size_t waits = o.quick ? 3 : 15;
  for (named_way& each : ways) run.run_round(each.by, o.quick ? 4 : 20, false);
  for (size_t i = 0; i < rounds; ++i) {
    for (named_way& each : ways) run.run_round(each.by, waits, true);
  }
  case_result r;
  for (const named_way& each : ways)
    r.rows.push_back({"CPU of " + each.name, each.by.cpu_ns.all()});
  for (const named_way& each : ways) {
    r.rows.push_back({"delay of " + each.name, each.by.delay_ns.all()});
  }
  for (const named_way& each : ways) {
    r.figures.push_back({"CPU of " + each.name + ", over a spin",
                         ratio(each.by.cpu_ns, ways[0].by.cpu_ns, 0.5), ""});
  }
  return r;
}

}  // namespace gar::bench
