// Virtual world: a clock that only the test moves, things that happen at instants, and the ports of
// a reactor and of a wait over it.
//
//     world.at(from_us(50), [&] { proto::store_word(word, 1); });
//
// Whoever waits moves the clock: event by event, up to what it waits for. So a scripted run is the
// same every time and takes no time.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/core/executor.hpp"
#include "lib/core/manual_time.hpp"
#include "lib/core/reactor.hpp"
#include "lib/core/wait.hpp"

namespace gar::test {

class virtual_world {
 public:
  manual_clock clock;

  instant now() const { return clock.now(); }

  void at(duration since_start, std::function<void()> what) {
    agenda_.push_back({instant{} + since_start, std::move(what)});
    std::stable_sort(agenda_.begin(), agenda_.end(),
                     [](const event& a, const event& b) { return a.when < b.when; });
  }

  // Moves the clock to `until`, doing on the way what is due; `stop()` after an event ends it
  // there. At instant::never() it ends after the last event.
  template <class Stop>
  void run_to(instant until, Stop&& stop) {
    while (!agenda_.empty() && agenda_.front().when <= until) {
      event next = std::move(agenda_.front());
      agenda_.erase(agenda_.begin());
      clock.advance_to(next.when);
      next.what();
      if (stop()) return;
    }
    if (until != instant::never()) clock.advance_to(until);
  }
  void run_to(instant until) {
    run_to(until, [] { return false; });
  }

 private:
  struct event {
    instant when;
    std::function<void()> what;
  };
  std::vector<event> agenda_;
};

struct world_clock {
  virtual_world* world;
  instant now() const { return world->now(); }
};

// What an idle port was asked, with the instants between which it was away.
struct idle_record {
  char what;  // 'p' park, 's' sleep, 'b' block
  instant from;
  instant until;  // asked for
  instant back;
};

// The idle port of a reactor in the world, and its faults.
struct idle_script {
  virtual_world* world;
  std::vector<idle_record> log;
  bool request = false;             // handed over: ends idles until the test clears it
  uint64_t prepared = 0;            // calls of prepare
  duration overshoot;               // each sleep and park ends this much late
  uint64_t spurious_parks = 0;      // so many parks end at once
  duration spurious_after{100};     // ... or after this
  std::vector<instant> expected{};  // calls of expect
};

struct world_idle {
  idle_script* script;

  void prepare() { ++script->prepared; }
  void expect() { script->expected.push_back(script->world->now()); }

  template <class Complete>
  void park(instant until, Complete&& complete) {
    idle_record r{'p', script->world->now(), until, {}};
    if (script->spurious_parks > 0) {
      --script->spurious_parks;
      script->world->run_to(std::min(until, r.from + script->spurious_after),
                            [&] { return complete() || script->request; });
    } else if (!complete() && !script->request) {
      script->world->run_to(until + script->overshoot,
                            [&] { return complete() || script->request; });
    }
    r.back = script->world->now();
    script->log.push_back(r);
  }
  void sleep_until(instant at) {
    idle_record r{'s', script->world->now(), at, {}};
    if (!script->request) {
      script->world->run_to(at + script->overshoot, [&] { return script->request; });
    }
    r.back = script->world->now();
    script->log.push_back(r);
  }
  void block() {
    idle_record r{'b', script->world->now(), instant::never(), {}};
    if (!script->request) {
      script->world->run_to(instant::never(), [&] { return script->request; });
    }
    r.back = script->world->now();
    script->log.push_back(r);
  }
};

using world_executor = basic_executor<world_clock, world_idle>;

// Everything a test of tasks needs, wired.
struct executor_world {
  virtual_world world;
  idle_script idle{&world, {}, false, 0, {}, 0, {100}};
  world_executor executor{{&world}, {&idle}};
};

// A device with one stream: when its work is done, when (and whether) the word says so, and which
// verb fails.
struct device_script {
  instant done_at = instant::never();
  instant store_at = instant::never();  // never: the store is lost
  instant fault_at = instant::never();  // from here on a query finds a device error
  std::string failing;                  // the verb that fails, or empty
  duration verb_takes;                  // every query and arm takes so long
  duration park_overshoots;
  uint32_t spurious_parks = 0;  // so many parks end at once, with nothing
  instant deadline = instant::never();

  std::string log;  // one letter a verb: Q query, B block, P poll, A arm, K park
  std::vector<park_bound> bounds;
  std::vector<instant> queried_at;
};

inline error device_error(const std::string& verb) {
  return error(errc::Backend, {"device_" + verb, "700"}, 700);
}

// The five verbs over that device, for a host that blocks.
class blocking_port {
 public:
  blocking_port(virtual_world& world, device_script& device) : world_(&world), device_(&device) {}

  result<bool> query(uint64_t) {
    step('Q');
    device_->queried_at.push_back(world_->now());
    if (device_->failing == "query" || world_->now() >= device_->fault_at) {
      return device_error("query");
    }
    return world_->now() >= device_->done_at;
  }
  result<bool> block(uint64_t) { return to_done('B', "block"); }
  result<bool> poll(uint64_t) { return to_done('P', "poll"); }
  result<void> arm() {
    step('A');
    if (device_->failing == "arm") return device_error("arm");
    return {};
  }
  result<park_answer> park(park_bound bound) {
    device_->log += 'K';
    device_->bounds.push_back(bound);
    if (device_->failing == "park") return device_error("park");
    if (device_->spurious_parks > 0) {
      --device_->spurious_parks;
      return park_answer{false, 1};
    }
    const instant until = world_->now() + bound.park;
    const bool arrives = device_->store_at <= until;
    world_->run_to(arrives ? std::max(device_->store_at, world_->now())
                           : until + device_->park_overshoots);
    return park_answer{arrives, 1};
  }

 private:
  void step(char verb) {
    device_->log += verb;
    world_->run_to(world_->now() + device_->verb_takes);
  }
  result<bool> to_done(char verb, const std::string& name) {
    device_->log += verb;
    if (device_->failing == name) return device_error(name);
    world_->run_to(std::max(world_->now(), std::min(device_->done_at, device_->deadline)));
    return world_->now() >= device_->done_at;
  }

  virtual_world* world_;
  device_script* device_;
};

static_assert(completion_port<blocking_port>);
static_assert(idle_port<world_idle>);
static_assert(clock_port<world_clock>);

}  // namespace gar::test
