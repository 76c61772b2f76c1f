#include "lib/gpu/store_probe.hpp"

#include <array>
#include <chrono>
#include <thread>

#include "lib/core/query_pace.hpp"
#include "proto/line.hpp"

namespace gar {
namespace {

using steady = std::chrono::steady_clock;

constexpr uint64_t word_value = 0x6761'7264'0000'0001;  // what no fresh page holds
constexpr uint64_t bell_value = 0x6761'7264'0000'0002;
constexpr size_t bell_index = proto::words_per_line;  // on another line, as a doorbell is

class store_attempt {
 public:
  store_attempt(const stream_driver& driver, const domain_id& domain, const scratch_page& page)
      : driver_(driver), place_(driver, domain), page_(page) {}

  probed_store run() {
    if (!place_.entered()) return refused(place_.entered());
    if (driver_status made = driver_.create_stream(stream_); !made) return refused(made);
    probed_store answer = on_stream();
    (void)driver_.destroy_stream(stream_);
    return answer;
  }

 private:
  probed_store on_stream() {
    driver_status told = driver_.register_page(page_.writable, page_.bytes);
    if (!told) return refused(told, text_of_unregistered(driver_, told.number));
    probed_store answer = on_page();
    const bool pending = answer.still_used != nullptr;
    if (!pending && !driver_.unregister_page(page_.writable)) answer.still_used = page_.memory;
    return answer;
  }

  probed_store on_page() {
    uint64_t address = 0;
    if (driver_status found = driver_.device_address(page_.writable, address); !found) {
      return refused(found);
    }
    const std::array<device_store, 2> stores{
        device_store{address, word_value},
        device_store{address + bell_index * sizeof(uint64_t), bell_value}};
    if (driver_.has_batches() && driver_.store_batch(stream_, stores)) {
      return await(store_way::batch);
    }
    for (const device_store& one : stores) {
      if (driver_status stored = driver_.store(stream_, one); !stored) {
        probed_store answer = refused(stored);
        if (&one != stores.data()) answer.still_used = page_.memory;
        return answer;
      }
    }
    return await(store_way::single);
  }

  bool arrived() const {
    return proto::load_word(page_.seen[bell_index]) == bell_value &&
           proto::load_word(page_.seen[0]) == word_value;
  }

  probed_store await(store_way way) const {
    const auto until = steady::now() + std::chrono::nanoseconds(store_probe_ns_max);
    query_pace pace(from_ms(1));
    while (!arrived()) {
      if (steady::now() >= until) {
        return {store_way::none,
                "a store was taken but did not arrive within " +
                    std::to_string(store_probe_ns_max / 1'000'000) + " ms; " +
                    driver_.store_remedy(),
                page_.memory};
      }
      std::this_thread::sleep_for(std::chrono::nanoseconds(pace.next().ns));
    }
    return {way, {}, {}};
  }

  static probed_store refused(const driver_status& status, const std::string& text) {
    return {store_way::none,
            std::string(status.call) + " failed with status " + std::to_string(status.number) +
                " (" + text + ")",
            {}};
  }
  // Of a call that has to do with stores.
  probed_store refused(const driver_status& status) const {
    probed_store answer = refused(status, driver_.text_of(status.number));
    answer.why += "; " + driver_.store_remedy();
    return answer;
  }

  const stream_driver& driver_;
  driver_place place_;
  const scratch_page& page_;
  void* stream_ = nullptr;
};

}  // namespace

probed_store probe_store(const stream_driver& driver, const domain_id& domain,
                         const scratch_page& page) {
  return store_attempt(driver, domain, page).run();
}

}  // namespace gar
